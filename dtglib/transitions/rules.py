"""The array rules of all systems behind one number, so that kernels can be cached on disk (see basics/jit.py).

    number_of(arc_eager)                2: a kernel takes this number as its argument `system`,
    legal_row(system, row)              and calls the rules of the system by it.

A kernel that took the rules themselves as arguments would have to be compiled again in every process.
"""

from types import ModuleType

import dtglib.transitions.arc_eager as arc_eager  # not from the package, which imports this module
import dtglib.transitions.arc_hybrid as arc_hybrid
import dtglib.transitions.arc_standard as arc_standard
import dtglib.transitions.arc_swift as arc_swift
import dtglib.transitions.words as words
from dtglib.basics.jit import njit

ARC_STANDARD, ARC_HYBRID, ARC_EAGER, ARC_SWIFT, WORDS = range(5)
_IN_ORDER = (arc_standard, arc_hybrid, arc_eager, arc_swift, words)


def number_of(system: ModuleType) -> int:
    return _IN_ORDER.index(system)


@njit
def legal_row(system, row):
    """Return the legal actions of a state: `may`, and the reaches of left and right arcs as bits (see rows.py)."""
    if system == ARC_STANDARD:
        return arc_standard.legal_row(row)
    if system == ARC_HYBRID:
        return arc_hybrid.legal_row(row)
    if system == ARC_EAGER:
        return arc_eager.legal_row(row)
    if system == ARC_SWIFT:
        return arc_swift.legal_row(row)
    return words.legal_row(row)


@njit
def step_row(system, row, kind, reach):
    """Take an action: change the arrays of the row in place, and return depth, front and count after it."""
    if system == ARC_STANDARD:
        return arc_standard.step_row(row, kind, reach)
    if system == ARC_HYBRID:
        return arc_hybrid.step_row(row, kind, reach)
    if system == ARC_EAGER:
        return arc_eager.step_row(row, kind, reach)
    if system == ARC_SWIFT:
        return arc_swift.step_row(row, kind, reach)
    return words.step_row(row, kind, reach)


@njit
def wanted_row(system, row, tree):
    """Return the kind and the reach of the action that the oracle takes on its way to a tree."""
    if system == ARC_STANDARD:
        return arc_standard.wanted_row(row, tree)
    if system == ARC_HYBRID:
        return arc_hybrid.wanted_row(row, tree)
    if system == ARC_EAGER:
        return arc_eager.wanted_row(row, tree)
    return arc_swift.wanted_row(row, tree)

"""The array rules of every system behind one number, for kernels whose compiled form is kept (see jit.py).

    _compile_all(number_of(arc_eager), ...)        and in it        legal_row(system, stack, depth, front, heads, count)

A kernel that was handed the rules as functions would be compiled anew by every process.
"""

from types import ModuleType

from dtglib.jit import njit
from dtglib.transitions import arc_eager, arc_hybrid, arc_standard, arc_swift, words

ARC_STANDARD, ARC_HYBRID, ARC_EAGER, ARC_SWIFT, WORDS = range(5)
_IN_ORDER = (arc_standard, arc_hybrid, arc_eager, arc_swift, words)


def number_of(system: ModuleType) -> int:
    return _IN_ORDER.index(system)


@njit
def legal_row(system, stack, depth, front, heads, count):
    """What may come next in a state: `may`, and the reaches of left and right arcs as bits (see rows.py)."""
    if system == ARC_STANDARD:
        return arc_standard.legal_row(stack, depth, front, heads, count)
    if system == ARC_HYBRID:
        return arc_hybrid.legal_row(stack, depth, front, heads, count)
    if system == ARC_EAGER:
        return arc_eager.legal_row(stack, depth, front, heads, count)
    if system == ARC_SWIFT:
        return arc_swift.legal_row(stack, depth, front, heads, count)
    return words.legal_row(stack, depth, front, heads, count)


@njit
def step_row(system, stack, depth, front, heads, count, kind, reach):
    """Advance a state in place; returns its new depth, front and count."""
    if system == ARC_STANDARD:
        return arc_standard.step_row(stack, depth, front, heads, count, kind, reach)
    if system == ARC_HYBRID:
        return arc_hybrid.step_row(stack, depth, front, heads, count, kind, reach)
    if system == ARC_EAGER:
        return arc_eager.step_row(stack, depth, front, heads, count, kind, reach)
    if system == ARC_SWIFT:
        return arc_swift.step_row(stack, depth, front, heads, count, kind, reach)
    return words.step_row(stack, depth, front, heads, count, kind, reach)


@njit
def wanted_row(system, stack, depth, front, heads, count, tree, leftmost, rightmost):
    """The action that the oracle takes on its way to a tree: its kind and its reach."""
    if system == ARC_STANDARD:
        return arc_standard.wanted_row(stack, depth, front, heads, count, tree, leftmost, rightmost)
    if system == ARC_HYBRID:
        return arc_hybrid.wanted_row(stack, depth, front, heads, count, tree, leftmost, rightmost)
    if system == ARC_EAGER:
        return arc_eager.wanted_row(stack, depth, front, heads, count, tree, leftmost, rightmost)
    return arc_swift.wanted_row(stack, depth, front, heads, count, tree, leftmost, rightmost)

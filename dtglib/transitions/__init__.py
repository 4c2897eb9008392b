"""Transition systems, which write a sentence with its tree: legal actions, their effects, and the oracle.
In: heads, or actions. Out: actions, or heads.
Read first: protocol.py, then arc_standard.py and derivation.py.

    >>> actions = oracle(SYSTEMS["arc-standard"], (2, 0, 4, 2))        # There is a difference
    >>> print(*actions)
    GEN GEN LEFTARC GEN GEN LEFTARC RIGHTARC RIGHTARC END
    >>> replay(SYSTEMS["arc-standard"], actions)
    (2, 0, 4, 2)
"""

from dtglib.transitions import arc_eager, arc_hybrid, arc_standard, arc_swift
from dtglib.transitions.derivation import legal, oracle, replay, take
from dtglib.transitions.protocol import START, Action, IllegalAction, Kind, State

SYSTEMS = {system.NAME: system for system in (arc_standard, arc_hybrid, arc_eager, arc_swift)}

__all__ = ["START", "SYSTEMS", "Action", "IllegalAction", "Kind", "State", "legal", "oracle", "replay", "take"]

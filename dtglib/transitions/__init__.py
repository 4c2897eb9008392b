"""Generative transition systems for projective dependency trees (paper, sections 2 and 3.4).

>>> from dtglib.transitions import SYSTEMS, oracle, replay
>>> actions = oracle(SYSTEMS["arc-standard"], (2, 0, 4, 2))        # There is a difference
>>> print(*actions)
GEN GEN LEFTARC GEN GEN LEFTARC RIGHTARC RIGHTARC END
>>> replay(SYSTEMS["arc-standard"], actions)
(2, 0, 4, 2)
"""

from dtglib.transitions import arc_eager, arc_hybrid, arc_standard, arc_swift
from dtglib.transitions.protocol import START, Action, IllegalAction, Kind, State, oracle, replay, take

SYSTEMS = {system.NAME: system for system in (arc_standard, arc_hybrid, arc_eager, arc_swift)}

__all__ = ["START", "SYSTEMS", "Action", "IllegalAction", "Kind", "State", "oracle", "replay", "take"]

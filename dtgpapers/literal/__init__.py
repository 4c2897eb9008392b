"""Variants of DTG that follow the wording of its paper in three places where dtglib decided otherwise.

In: sentences with dependency trees. Out: families of models. Read first: family.py.
"""

from dtglib.basics.papers import Paper

PAPER = Paper("literal", families=("dtgpapers.literal.family:FAMILIES",))

"""How tight is the bound of a sum over some trees? A study of what section 4.1 of the DTG paper leaves open.

In: a trained DTG, a parser. Out: records for notebook 04. Read first: tightness.py.
"""

from dtglib.basics.papers import Paper

PAPER = Paper("bounds", families=(), records="dtgpapers.bounds.measured:RECORDS")

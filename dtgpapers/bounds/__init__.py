"""A study of lower bounds: the part of log p(words) that a sum over some trees lacks (section 4.1 of the DTG paper).

In: a trained DTG, a parser. Out: records for notebook 04. Read first: tightness.py.
"""

from dtglib.basics.papers import Paper

PAPER = Paper("bounds", families=(), records="dtgpapers.bounds.measured:RECORDS")

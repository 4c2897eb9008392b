"""Parsers, which score arcs or constituents and propose trees, and exact inference over all trees.
In: words. Out: trees (the best ones, or samples without replacement) with their log-probabilities.
Read first: projective.py, then trained.py and parser.py.
"""

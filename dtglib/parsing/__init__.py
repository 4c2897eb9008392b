"""Parsers, which score arcs and propose trees, and exact inference over the projective trees with these scores.
In: words. Out: trees (the best ones, or samples without replacement) with their log-probabilities.
Read first: projective.py, then trained.py.
"""

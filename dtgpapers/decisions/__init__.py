"""Models with a decision about each word: the search and the likelihood that Pushdown Layers and GiLT share.

Read first: stepper.py.
"""

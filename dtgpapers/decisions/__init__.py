"""What Pushdown Layers and GiLT share: a search with a decision about each word. In: a model, words. Out: derivations.

Read first: stepper.py.
"""

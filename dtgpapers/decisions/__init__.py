"""The search of models with a decision about each word, which Pushdown Layers and GiLT share.

Read first: stepper.py.
"""

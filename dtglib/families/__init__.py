"""The kinds of models, one record each; no other room needs to know which kind of model it handles.
In: the name of a family. Out: its training data, networks, searches and scores.
Read first: base.py, then dtg.py.
"""

"""The notebooks, run in their order: the models and scores that they need first, then each notebook.
In: a size. Out: runs/SIZE/ with the executed notebooks, their tables and figures.
Read first: run.py.
"""

"""From actions to the input of a network: columns of integers, and from these masks and relative positions.
In: words and heads. Out: `Sequences` of columns (columns.py), batches of them, and a `Structure` for attention.
Read first: compile.py, then visibility.py (the two formulas) and columns.py.
"""

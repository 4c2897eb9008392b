"""The command `dtglib`: a file per subject, with each command and its options.
In: the arguments of a shell. Out: tables or JSON on standard output, errors on standard error.
Read first: main.py.
"""

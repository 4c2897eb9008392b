"""The command `dtglib`: each file holds the commands of one subject, with their options beside what they do.
In: the arguments of a shell. Out: tables, or JSON, on standard output; complaints on standard error.
Read first: main.py.
"""

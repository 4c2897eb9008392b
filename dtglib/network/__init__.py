"""The Transformer: attention over a structure, layers, output layers over legal symbols, saved weights.
In: batches of columns with their structure. Out: log-probabilities of the next symbols.
Read first: attention.py, then transformer.py.
"""

"""The Transformer: attention over a structure, layers, an output layer over what is legal, weights as files.
In: batches of columns with their structure. Out: log-probabilities of what comes next.
Read first: attention.py, then transformer.py.
"""

"""From a trained network to derivations: beam search, sampling, and many trees of one sentence at once.
In: words, or nothing where sentences are drawn. Out: log-probabilities of beginnings and sentences, and trees.
Read first: stepper.py (what a search asks of a model), then beam.py.
"""

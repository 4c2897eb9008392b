"""From a network to derivations: beam search, sampling, and the scoring of many trees of one sentence.
In: words; nothing for sampling. Out: log-probabilities of prefixes and sentences, and trees.
Read first: stepper.py (the protocol between search and model), then beam.py.
"""

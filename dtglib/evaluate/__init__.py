"""Measures of a model: likelihood, perplexity, surprisal, test suites, minimal pairs, reranking.
In: a model, or any function that returns log-probabilities. Out: numbers, as rows for tables.
Read first: likelihood.py, then suites.py.
"""

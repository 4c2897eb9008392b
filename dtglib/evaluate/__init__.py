"""What a model is judged by: likelihood, perplexity, surprisal, test suites, minimal pairs, reranking of parses.
In: a model, or any function that gives log-probabilities. Out: numbers, as rows for tables.
Read first: likelihood.py, then suites.py.
"""

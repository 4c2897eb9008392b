"""From settings to results: data, trained models, scores, records, tables, and the notebooks; each is computed once.
In: a config. Out: folders in runs/, named by a hash of what they depend on, and records in results/.
Read first: settings.py, then prepare.py.
"""

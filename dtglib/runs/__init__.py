"""From settings to numbers: data, trained models and parsers, scores, ablations, records, tables; each computed once.
In: a config. Out: folders in runs/ that are found again by what they depend on, and records in results/.
Read first: settings.py, then prepare.py.
"""

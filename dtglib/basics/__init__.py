"""The basis of all other rooms: errors, atomic files, locks, progress bars, configs, records of runs.
In: nothing from dtglib. Out: functions that know nothing of language.
Read first: errors.py, then config.py.
"""

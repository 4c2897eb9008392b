"""The basis of every other room: errors for the user, atomic files, locks, progress bars, configs, records of runs.
In: nothing from dtglib. Out: functions that know nothing of language; `cache_folder` and `jit` keep compiled kernels.
Read first: errors.py, then config.py.
"""

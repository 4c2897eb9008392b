"""One training loop for every network with a `loss`: the schedule of steps, checkpoints, several processes.
In: a network and numbered examples. Out: a folder with the best weights and a record of the training.
Read first: loop.py, then schedule.py.
"""

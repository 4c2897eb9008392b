"""One training loop for every network with a `loss`: the plan of the steps, checkpoints, several processes.
In: a network and numbered examples. Out: a folder with the best weights and the record of the training.
Read first: loop.py, then schedule.py.
"""

"""Tuning: a trained model goes on learning, for a task about sentences that people have judged.

GiLT and UDGN are evaluated so; each brings ways to tune its models (`tunings` in its Paper). Read first: ways.py, then
tuning.py.
"""

"""Doors to tools of the field: models of dtglib where people already work, and their tools on models of dtglib.

In: a trained model. Out: what Hugging Face's transformers and other tools of the field read. Read first: commands.py.
"""

from dtglib.basics.papers import Paper

CHECKS = "dtgpapers.doors.validation:complain"
PAPER = Paper("doors", families=(), commands="dtgpapers.doors.commands:COMMANDS", checks=CHECKS)

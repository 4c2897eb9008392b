"""The commands about tools of the field; the options of each stand before it."""

from dtglib.cli.options import Command

COMMANDS: list[Command] = []

"""The released GiLT."""

from dtglib.runs.release import MINILANG, Release

RELEASES = {"gilt-minilang": Release(MINILANG, "gilt")}

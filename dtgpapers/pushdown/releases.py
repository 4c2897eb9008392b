"""The released model with Pushdown Layers."""

from dtglib.runs.release import MINILANG, Release

RELEASES = {"pushdown-minilang": Release(MINILANG, "pushdown")}

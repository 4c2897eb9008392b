"""Do language models predict how people read? Surprisals against the reading times of the UCL corpus.

In: reading times and EEG responses to words, surprisals. Out: gains of regressions. Read first: regression.py.
"""

from dtglib.basics.papers import Paper

PAPER = Paper(
    name="reading",
    families=(),
    compared=("dtg", "txl-trans", "txl-tokens"),
    notebooks="5",
    commands="dtgpapers.reading.commands:COMMANDS",
    jobs="dtgpapers.reading.measured:jobs_of",
)

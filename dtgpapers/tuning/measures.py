"""Scores of tuned networks as measures of tables."""

from dtglib.evaluate.measures import Measure, number


def _tuned(name: str, of_paper: str, task: str, on: str) -> Measure:
    """A score of a tuned network, in a line that has been given its record's task."""
    return Measure(name, (of_paper,), "", number(name.rpartition(" ")[2], 100, part="scores", task=task, on=on))


# The test parts of RTE and SST-2 have no public labels. What the paper calls their F1 is the accuracy in its code.
OF_TASKS = (
    _tuned("RTE, accuracy", "RTE/F1", "rte", "dev"),
    _tuned("SST-2, accuracy", "SST2/F1", "sst-2", "dev"),
    _tuned("MRPC, accuracy", "MRPC/acc", "mrpc", "test"),
    _tuned("MRPC, F1", "MRPC/F1", "mrpc", "test"),
    _tuned("STS-B, Pearson", "STS-B/pearson", "sts-b", "test"),
    _tuned("STS-B, Spearman", "STS-B/spearman", "sts-b", "test"),
)

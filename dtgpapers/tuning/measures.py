"""Scores of tuned networks as measures of tables."""

from dtglib.evaluate.measures import Measure, number


def _tuned(task: str, score: str, of_paper: str, on: str = "test") -> Measure:
    """A score of a tuned network, in a line that has been given its record's task."""
    value = number(score, 100, part="scores", task=task.lower(), on=on)
    return Measure(f"{task}, {score}", (of_paper,), "", value)


# The test parts of RTE and SST-2 have no public labels. What the paper calls their F1 is the accuracy in its code.
OF_TASKS = (
    _tuned("RTE", "accuracy", "RTE/F1", "dev"),
    _tuned("SST-2", "accuracy", "SST2/F1", "dev"),
    _tuned("MRPC", "accuracy", "MRPC/acc"),
    _tuned("MRPC", "F1", "MRPC/F1"),
    _tuned("STS-B", "Pearson", "STS-B/pearson"),
    _tuned("STS-B", "Spearman", "STS-B/spearman"),
)

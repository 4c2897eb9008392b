"""Scores of tuned networks as measures of tables."""

from collections.abc import Callable

from dtglib.evaluate.measures import Line, Measure


def _tuned(task: str, on: str, score: str) -> Callable[[Line], float | None]:
    """A score of a tuned network, of a line that has been given its record's task."""

    def value(line: Line) -> float | None:
        is_score = line["part"] == "scores" and (line["task"], line["on"]) == (task, on)
        return 100 * line[score] if is_score else None

    return value


# The test parts of RTE and SST-2 have no public labels. What the paper calls their F1 is the accuracy in its code.
OF_TASKS = (
    Measure("RTE, accuracy", ("RTE/F1",), "", _tuned("rte", "dev", "accuracy")),
    Measure("SST-2, accuracy", ("SST2/F1",), "", _tuned("sst-2", "dev", "accuracy")),
    Measure("MRPC, accuracy", ("MRPC/acc",), "", _tuned("mrpc", "test", "accuracy")),
    Measure("MRPC, F1", ("MRPC/F1",), "", _tuned("mrpc", "test", "F1")),
    Measure("STS-B, Pearson", ("STS-B/pearson",), "", _tuned("sts-b", "test", "Pearson")),
    Measure("STS-B, Spearman", ("STS-B/spearman",), "", _tuned("sts-b", "test", "Spearman")),
)

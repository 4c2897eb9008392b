"""Three classification tasks of GLUE (Wang et al. 2018), in the files that its own script downloads.

    SST-2/train.tsv    sentence, label                                    whether a phrase of a film review is positive
    RTE/train.tsv      index, sentence1, sentence2, label                 whether the first sentence entails the second
    MRPC/train.tsv     Quality, #1 ID, #2 ID, #1 String, #2 String        whether they say the same

and dev.tsv likewise. GLUE keeps the labels of its test parts to itself, so what is reported is of dev. MRPC is an
exception: its test part is older than GLUE, and lies beside the others as msr_paraphrase_test.txt, with its labels.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from dtgpapers.tuning.judged import Judged, Line, table

SST2_LABELS = ("0", "1")  # negative, positive
RTE_LABELS = ("entailment", "not_entailment")
MRPC_LABELS = ("0", "1")  # inequivalent, equivalent


def read_sst2(path: Path) -> list[Judged]:
    """A part of SST-2."""
    return list(_labelled(table(path, {1: "sentence", 2: "label"}), (1,), 2, SST2_LABELS))


def read_rte(path: Path) -> list[Judged]:
    """A part of RTE."""
    lines = table(path, {2: "sentence1", 3: "sentence2", 4: "label"})
    return list(_labelled(lines, (2, 3), 4, RTE_LABELS))


def read_mrpc(path: Path) -> list[Judged]:
    """A part of MRPC."""
    lines = table(path, {1: "Quality", 4: "#1 String", 5: "#2 String"})
    return list(_labelled(lines, (4, 5), 1, MRPC_LABELS))


def _labelled(lines: Iterator[Line], sentences: Sequence[int], label: int, labels: Sequence[str]) -> Iterator[Judged]:
    for line in lines:
        texts = tuple(line.text(column) for column in sentences)
        yield Judged(texts, line.label(label, labels), line.path.stem, line.id)

"""Prompts: a task about sentences is written as the beginning of a text, which ends where the answer is asked.

    Sentence1 : a plane is taking off . ; Sentence2 : an air plane is taking off . ; Score :

The texts are the paper's (appendix A), where semicolons stand because its model has learnt single sentences. A label is
the next word. Models here read words as treebanks write them, so that marks of punctuation are words of their own, and
a label stands after a blank.

    >>> filled = PROMPTS["sst-2"].filled([("There", "is", "a", "difference")])
    >>> filled.words, filled.first
    (('Sentence1', ':', 'There', 'is', 'a', 'difference', ';', 'Sentiment', ':'), (3,))
"""

from collections.abc import Sequence
from typing import NamedTuple

from dtglib.basics.errors import UserError
from dtglib.data.tokenize import tokenize
from dtglib.data.vocabulary import END, Vocabulary
from dtgpapers.tuning.tasks import Task


class Filled(NamedTuple):
    """The words of a prompt, and the number of the first word of each sentence, from 1."""

    words: tuple[str, ...]
    first: tuple[int, ...]


class Prompt(NamedTuple):
    """A text with {} for each sentence, and the words that answer it, in the order of the task's labels."""

    text: str
    labels: tuple[str, ...] = ()

    def filled(self, sentences: Sequence[Sequence[str]]) -> Filled:
        """The prompt for these sentences."""
        before, *others = map(tokenize, self.text.split("{}"))
        words, first = list(before), []
        for sentence, after in zip(sentences, others, strict=True):
            first.append(len(words) + 1)
            words += [*sentence, *after]
        return Filled(tuple(words), tuple(first))


SIMILARITY = Prompt("Sentence1:{}; Sentence2:{}; Score:")

# The paper's numbers for RTE do not say which label is which; here they are counted as GLUE lists them.
PROMPTS = {
    "sts-b": SIMILARITY,
    "sick": SIMILARITY,
    "sst-2": Prompt("Sentence1:{}; Sentiment:", ("0", "1")),
    "mrpc": Prompt("Sentence1:{}; Sentence2:{}; Label:", ("inequivalent", "equivalent")),
    "rte": Prompt("Sentence1:{}; Sentence2:{}; Label:", ("0", "1")),
}


def prompt_of(task: Task) -> Prompt:
    """The prompt of a task."""
    if task.name not in PROMPTS:
        raise UserError(f"there is no prompt for {task.name}; there is one for {', '.join(PROMPTS)}")
    return PROMPTS[task.name]


class Choice(NamedTuple):
    """The difference of two labels: the pieces that both begin with, and then a piece of each, or the end."""

    common: tuple[int, ...]
    pieces: tuple[int, int]


def choice_between(vocabulary: Vocabulary, labels: Sequence[str]) -> Choice:
    """The piece that tells two labels apart. The paper compares first pieces, and in its vocabulary they differ.

    In a small vocabulary "0" and "1" may both begin with the mark of a new word: then it belongs to the prompt.
    """
    one, other = ((*vocabulary.encode([label]).ids, END) for label in labels)
    differ = [place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    if not differ:
        raise UserError(f"the model's vocabulary does not tell {labels[0]!r} from {labels[1]!r}; take one of pieces")
    return Choice(one[: differ[0]], (one[differ[0]], other[differ[0]]))

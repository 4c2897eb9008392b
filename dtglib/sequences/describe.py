"""The structure of one sentence in readable form, for the command line and the notebooks.

>>> seen = show("arc-standard", ["There", "is", "a", "difference"], [2, 0, 4, 2])
>>> seen.inputs[3], seen.kinds[3], [seen.inputs[j] for j in seen.visible[3].nonzero()[0]]
('LEFTARC + is', 'COMPOSE', ['There', 'is', 'LEFTARC + is'])
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dtglib.basics.errors import UserError, require
from dtglib.data.symbols import MOST_PAIRS, arcs
from dtglib.data.vocabulary import Vocabulary
from dtglib.sequences.columns import NOTHING, STACK, Compiled
from dtglib.sequences.compile import Arcs, compile_arrays
from dtglib.sequences.labelled import with_labels
from dtglib.sequences.visibility import distance, sees
from dtglib.transitions import SYSTEMS, oracle

KINDS = ("STACK", "COMPOSE")
VECTORS = ("last", "height", "level", "settled", "top", "floor", "head_first", "head_last")


class Described(NamedTuple):
    """A compiled sentence; every list has an entry per position."""

    actions: list[Any]  # the actions of the derivation
    inputs: list[str]
    kinds: list[str]
    vectors: Compiled
    visible: np.ndarray  # row i: what i sees
    relpos: np.ndarray
    targets: list[str]  # "" for COMPOSE positions, which predict nothing
    pairs: Mapping[str, np.ndarray] = {}  # further numbers about pairs of positions, such as depths; like relpos


def show(
    system: str,
    words: Sequence[str],
    heads: Sequence[int],
    pieces: Sequence[int] | None = None,
    labels: Sequence[str] | None = None,
) -> Described:
    """Compile a sentence and its tree; `pieces` says into how many pieces each word is cut (default: one)."""
    require(system in SYSTEMS, f"there is no transition system {system!r}; there are {', '.join(SYSTEMS)}")
    require(len(heads) == len(words), f"{len(words)} words, but {len(heads)} heads; each word needs one")
    require(labels is None or len(labels) == len(words), "each word needs a label")
    pieces = pieces_for(words, pieces)
    actions = oracle(SYSTEMS[system], heads, labels)  # an error if this is no tree
    vocabulary = Vocabulary.of_words([words], arcs(MOST_PAIRS, sorted(set(labels or ()))))
    tree = with_labels(vocabulary.symbols, heads, labels or ())
    names = dict(enumerate(vocabulary.entries))
    ids = np.arange(len(vocabulary), len(vocabulary) + sum(pieces), dtype=np.int32)
    names |= dict(zip(ids.tolist(), piece_names(words, pieces), strict=True))
    sequences = compile_arrays(SYSTEMS[system], Arcs.of(vocabulary), [tree], ids, np.array(pieces, np.int32))
    return described(actions, sequences.sentence(0), names)


def pieces_for(words: Sequence[str], given: Sequence[int] | None) -> Sequence[int]:
    """The number of pieces of each word: one, unless given."""
    if given is None:
        return [1] * len(words)
    require(len(given) == len(words), f"{len(words)} words, but {len(given)} piece counts; each word needs one")
    require(all(count >= 1 for count in given), "every word has at least one piece")
    return given


def described(actions: list[Any], vectors: Compiled, names: Mapping[int, str] | Sequence[str]) -> Described:
    """Describe a compiled sentence, given the names of all ids."""
    visible, relpos = _all_pairs(vectors)
    return Described(
        actions,
        [_input_name(vectors, names, i) for i in range(vectors.length)],
        [KINDS[kind] for kind in vectors.kind],
        vectors,
        visible,
        relpos,
        [names[target] if target != NOTHING else "" for target in vectors.target.tolist()],
    )


def _all_pairs(v: Compiled) -> tuple[np.ndarray, np.ndarray]:
    """Return the mask and the relative positions; row i is what position i sees."""
    i, j = np.arange(v.length)[:, None], np.arange(v.length)
    visible = sees(i, j, v.last, v.height, v.floor[:, None])
    kind, top, head_first, head_last = (column[:, None] for column in (v.kind, v.top, v.head_first, v.head_last))
    return visible, distance(i, j, kind, top, v.level, v.settled, head_first, head_last)


def piece_names(words: Sequence[str], pieces: Sequence[int]) -> list[str]:
    """Names of pieces by number, because only their count is known: `difference/1`, `difference/2`."""
    return [
        word if count == 1 else f"{word}/{piece}"
        for word, count in zip(words, pieces, strict=True)
        for piece in range(1, count + 1)
    ]


def _input_name(vectors: Compiled, names: Mapping[int, str] | Sequence[str], i: int) -> str:
    token, arc = int(vectors.token[i]), int(vectors.arc[i])
    if arc == NOTHING:
        return names[token]
    if token == NOTHING:
        return names[arc]
    ((direction, rest),) = re.findall("^([A-Z]+)(.*)$", names[arc])  # [2] and a label
    copy = "2" if vectors.kind[i] == STACK else ""  # the paper calls the second copy of LEFTARC LEFTARC2
    return f"{direction}{copy}{rest} + {names[token]}"


def as_json(seen: Described) -> dict[str, Any]:
    """Return everything as lists; a relative position is None where nothing is visible."""

    def of_pairs(numbers: np.ndarray) -> list[list[int | None]]:
        return [
            [int(number) if visible else None for number, visible in zip(*row, strict=True)]
            for row in zip(numbers, seen.visible, strict=True)
        ]

    return {
        "actions": [str(action) for action in seen.actions],
        "inputs": seen.inputs,
        "kind": seen.kinds,
        **{name: getattr(seen.vectors, name).tolist() for name in VECTORS},
        "visible": seen.visible.astype(int).tolist(),
        "relpos": of_pairs(seen.relpos),
        "targets": seen.targets,
        **{name: of_pairs(numbers) for name, numbers in seen.pairs.items()},
    }


def as_rows(seen: Described) -> list[dict[str, Any]]:
    """Return a readable table: what each position reads, sees (with the relative position), and predicts."""
    return [
        {
            "i": i,
            "input": seen.inputs[i],
            "attention": seen.kinds[i],
            "sees (at relative position)": " ".join(
                f"{j}({seen.relpos[i, j]})" for j in np.flatnonzero(seen.visible[i])
            ),
            **{
                f"their {name}": " ".join(map(str, numbers[i, seen.visible[i]])) for name, numbers in seen.pairs.items()
            },
            "predicts": seen.targets[i] or "-",
        }
        for i in range(len(seen.inputs))
    ]


def numbers(text: str, what: str) -> list[int]:
    """Read `numbers("2 0 4 2", "heads")`; raise a UserError for anything that is no number."""
    wrong = [item for item in text.split() if not re.fullmatch("-?[0-9]+", item)]
    if wrong:
        raise UserError(f'{what}: {wrong[0]!r} is not a number; write them like "2 0 4 2"')
    return [int(item) for item in text.split()]

"""Slow definitions, as the truth for fast code.

`by_definition` makes a batch of literal stack operations (naive.py) and of what the transition systems say is legal,
for one sequence of actions at a time, and knows nothing of compile's vectors. `listed` sums over derivations by listing
them all.
"""

import ast
import itertools
import re
from collections.abc import Iterator
from collections.abc import Sequence as Row
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from naive import Input, simulate
from running import PACKAGE
from scalar_systems import Tokens, legal, oracle, step, take
from torch import Tensor
from toys import DTG, SYSTEM_OF, WORDS, model_of
from trees import Heads

from dtglib.data.conllu import find_cycle
from dtglib.data.vocabulary import END, PAD, ROOT, Vocabulary
from dtglib.network.output import Legal
from dtglib.network.transformer import Batch, Transformer
from dtglib.sequences.columns import NOTHING
from dtglib.sequences.structure import Structure
from dtglib.transitions import START, SYSTEMS, Action, Kind, State
from dtglib.transitions.rows import MAY_CONTINUE, MAY_END, MAY_GENERATE, MAY_POP

PIECE = "piece"  # a further piece of the word that has begun, beside the actions
SAME = {"abs": 1e-4}  # nats: so close are two sums over derivations that are the same


# ---- Trees


def all_trees_crossing_or_not(words: int) -> Iterator[tuple[int, ...]]:
    """Every tree over so many words, those with several roots included."""
    return (heads for heads in product(range(words + 1), repeat=words) if find_cycle(heads) is None)


def cross(one: tuple[int, int], other: tuple[int, int]) -> bool:
    (a, b), (c, d) = sorted([sorted(one), sorted(other)])
    return a < c < b < d


def crossings(heads: tuple[int, ...]) -> list:
    """The definition: all pairs of arcs that cross, with ROOT as word 0."""
    arcs = [(head, word) for word, head in enumerate(heads, start=1)]
    return [pair for pair in combinations(arcs, 2) if cross(*pair)]


def ancestors(heads: tuple[int, ...], word: int) -> list[int]:
    chain = [word]
    while chain[-1]:
        chain.append(heads[chain[-1] - 1])
    return chain


def spans_only_descendants(heads: tuple[int, ...]) -> bool:
    """The other definition: whatever lies under an arc descends from the arc's head."""
    return all(
        head in ancestors(heads, between)
        for word, head in enumerate(heads, start=1)
        for between in range(min(head, word) + 1, max(head, word))
    )


# ---- A batch by definition


def system_of(name: str):
    return SYSTEMS[SYSTEM_OF[name]] if name in SYSTEM_OF else Tokens


def by_definition(name: str, speaks: Vocabulary, ids: Tensor, counts: Row[int], actions: Row[Action]) -> Batch:
    """One sequence of actions, with other words in each row; `ids` are a row's pieces, `counts` how many a word has.

    The actions need not be an oracle's, and may stop anywhere: where nothing follows, <pad> does.
    """
    naive = simulate(SYSTEM_OF.get(name, "arc-standard"), actions, counts)
    first = [0, *itertools.accumulate(counts)]
    here = [i for i, kind in enumerate(naive.kind) if kind == "STACK" or name in DTG]

    def token(taken: Input) -> Tensor:
        if taken.word is None or (taken.action and name not in DTG):
            return torch.full((len(ids),), NOTHING)
        return ids[:, first[taken.word - 1] + taken.piece] if taken.word else torch.full((len(ids),), ROOT)

    arcs = [speaks.transition(plain_name(naive.inputs[i].action)) if naive.inputs[i].action else NOTHING for i in here]
    if name in DTG:
        visible = torch.tensor(naive.visible)
        relpos = torch.tensor([[r or 0 for r in row] for row in naive.relpos])
    else:
        relpos = torch.arange(len(here))[:, None] - torch.arange(len(here))
        visible = relpos >= 0
    predicts = torch.tensor([place for place, i in enumerate(here) if naive.kind[i] == "STACK"])
    legal = legal_bits(system_of(name), counts, actions)
    return Batch(
        torch.stack([token(naive.inputs[i]) for i in here], dim=1),
        torch.tensor(arcs).expand(len(ids), -1),
        Structure(*(part.expand(len(ids), -1, -1) for part in (visible, relpos))),
        int(relpos[visible].max()),
        (torch.arange(len(ids))[:, None] * len(here) + predicts).flatten(),
        Legal(*(row.repeat(len(ids)) for row in legal)),
        targets(speaks, ids, counts, actions).flatten(),
    )


def plain_name(action: str) -> str:
    """LEFTARC2[1], the second copy of LEFTARC[1], is the transition LEFTARC."""
    return re.sub(r"(?<=ARC)2", "", action).replace("[1]", "")


def legal_bits(system, counts: Row[int], actions: Row[Action]) -> Legal:
    """Of every position that is no COMPOSE copy, from the states."""
    bits = {Kind.GEN: MAY_GENERATE, Kind.POP: MAY_POP, Kind.END: MAY_END}
    state, rows = START, []

    def look(begun: int) -> None:
        actions = legal(system, state)
        may = sum(bits.get(action.kind, 0) for action in actions) + begun
        arcs = [sum(1 << (a.reach - 1) for a in actions if a.kind is kind) for kind in (Kind.LEFTARC, Kind.RIGHTARC)]
        rows.append((may, *arcs))

    look(0)
    for action in actions:
        if action.kind is not Kind.END:
            state = take(system, state, action)
            is_word = action.kind is Kind.GEN
            for _ in range(counts[len(state.heads) - 1] if is_word else 1):
                look(MAY_CONTINUE if is_word else 0)
    return Legal(*torch.tensor(rows).T)


def targets(speaks: Vocabulary, ids: Tensor, counts: Row[int], actions: Row[Action]) -> Tensor:
    """The symbol after each of these positions, in every row."""
    columns, left = [], iter(ids.T)
    lengths = iter(counts)
    for action in actions:
        if action.kind is Kind.GEN:
            columns += [next(left) for _ in range(next(lengths))]
        else:
            number = END if action.kind is Kind.END else speaks.transition(str(action))
            columns.append(torch.full((len(ids),), number))
    if not actions or actions[-1].kind is not Kind.END:
        columns.append(torch.full((len(ids),), PAD))
    return torch.stack(columns, dim=1)


def of_sentence(name: str, speaks: Vocabulary, words: Row[str], heads: Heads) -> Batch:
    """A sentence and its tree, by definition."""
    encoded = speaks.encode(words)
    counts = [stop - start for start, stop in encoded.spans]
    actions = oracle(system_of(name), heads) if name in SYSTEM_OF else [Action(Kind.GEN)] * len(words)
    if name not in SYSTEM_OF:
        actions.append(Action(Kind.END))
    return by_definition(name, speaks, torch.tensor([encoded.ids]), counts, actions)


# ---- Every legal sequence of actions


def sequences_of_moves(system, most_pieces: int, in_pieces: bool) -> Iterator[list[Action | str]]:
    """All that is legal with so many pieces at most; each goes on to its end, or to where it would need one more."""

    def grow(moves: list, state: State) -> Iterator[list]:
        is_full = pieces_in(moves) == most_pieces
        following = [action for action in legal(system, state) if not (is_full and action.kind is Kind.GEN)]
        may_continue = in_pieces and moves and moves[-1] in (Action(Kind.GEN), PIECE) and not is_full
        if not following and not may_continue:
            yield moves
        for action in following:
            yield from grow([*moves, action], step(system, state, action))
        if may_continue:
            yield from grow([*moves, PIECE], state)

    yield from grow([], START)


def pieces_in(moves: Row[Action | str]) -> int:
    return sum(move in (Action(Kind.GEN), PIECE) for move in moves)


def counts_in(moves: Row[Action | str]) -> list[int]:
    counts = []
    for move in moves:
        if move == Action(Kind.GEN):
            counts.append(1)
        elif move == PIECE:
            counts[-1] += 1
    return counts


def labelled(moves: Row[Action | str], labels: Row[str]) -> Iterator[tuple[Action | str, ...]]:
    """The same moves with every choice of labels for their arcs; only themselves, if there are no labels."""

    def choices(move: Action | str) -> list[Action | str]:
        is_arc = isinstance(move, Action) and move.kind in (Kind.LEFTARC, Kind.RIGHTARC)
        return [move._replace(label=label) for label in labels] if is_arc and labels else [move]

    return product(*map(choices, moves))


class Listed(NamedTuple):
    """Sums over all legal sequences of actions for the first words of a sentence, for each number of words."""

    log_prefix: list[float]  # up to each piece
    log_prob: list[float]
    heads: list[Heads]  # of the best derivation
    log_derivation: list[float]
    derivation: list[tuple[Action, ...]]


@torch.no_grad()
def by_enumeration(model: Transformer, words: Row[str]) -> Listed:
    """A derivation of the first words is a sequence that ends after them; what begins one is the start of many."""
    name, speaks = model.config.model, model.vocabulary
    system, encoded = system_of(name), speaks.encode(words)
    pieces = [stop - start for start, stop in encoded.spans]
    prefixes: list[dict[tuple, float]] = [{} for _ in encoded.ids]
    whole: list[dict[tuple, float]] = [{} for _ in words]
    every = (
        labelled(moves, speaks.symbols.labels) for moves in sequences_of_moves(system, len(words), in_pieces=False)
    )
    for moves in itertools.chain.from_iterable(every):
        counts = pieces[: moves.count(Action(Kind.GEN))]
        batch = by_definition(name, speaks, torch.tensor([encoded.ids[: sum(counts)]]), counts, moves)
        x = model(batch).flatten(0, 1)[batch.predicts]
        log_probs = model.output(x, model.embedding.weight, batch.legal).double()
        sums = log_probs.gather(1, batch.target[:, None])[:, 0].cumsum(0).tolist()
        place, piece, word = 0, 0, 0
        for length, move in enumerate(moves, start=1):
            if move == Action(Kind.GEN):
                for _ in range(counts[word]):
                    prefixes[piece][tuple(moves[:length])] = sums[place]
                    place, piece = place + 1, piece + 1
                word += 1
            elif move == Action(Kind.END):
                whole[word - 1][tuple(moves)] = sums[place]
            else:
                place += 1
    best = [max(derivations, key=derivations.get) for derivations in whole]
    return Listed(
        [total(prefix) for prefix in prefixes],
        [total(derivations) for derivations in whole],
        [heads_of(name, moves) for moves in best],
        [derivations[moves] for derivations, moves in zip(whole, best, strict=True)],
        best,
    )


def total(log_probs: dict[tuple, float]) -> float:
    return float(np.logaddexp.reduce(list(log_probs.values())))


def heads_of(name: str, moves: Row[Action]) -> Heads:
    state = START
    for move in moves:
        state = step(system_of(name), state, move)
    return state.heads


@cache
def listed(name: str, kind: str, output: str = "single") -> Listed:
    return by_enumeration(model_of(name, kind, output), WORDS)


# ---- Which module imports which


def module_of(path: Path) -> str:
    """A module by its place below the package: "sequences/compile"; a room by its name."""
    return path.relative_to(PACKAGE).with_suffix("").as_posix().removesuffix("/__init__")


MODULES = {module_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__", "__main__"}


def imports_of(path: Path) -> set[str]:
    """The modules of dtglib that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "dtglib":
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name.startswith("dtglib.")}
    return {name.removeprefix("dtglib.").replace(".", "/") for name in names} & MODULES

"""The target of a sentence in readable form, for the command line and the notebooks.

>>> seen = described(["There", "is", "a", "difference"], [2, 0, 4, 2], ["expl", "root", "det", "nsubj"])
>>> print(*seen.symbols)
There is L:expl a difference L:det R:nsubj
>>> seen.as_rows()[2]
{'position': 2, 'symbol': 'L:expl', 'new edges': '1->0 1->2 2->0', 'parents': '1 2'}
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from dtglib.basics.errors import require
from dtglib.sequences.describe import piece_names, pieces_for
from dtgpapers.translation.target import Does, TargetEdge, edges_of, parent_keys, read


class DescribedTarget(NamedTuple):
    """A target; the keys are those of PARENT's head when all symbols are known. Positions count from 0."""

    symbols: list[str]
    edges: list[TargetEdge]
    parent_keys: list[list[int]]

    def as_json(self) -> dict[str, Any]:
        """Everything as lists."""
        return {**self._asdict(), "edges": [list(edge[:3]) for edge in self.edges]}

    def as_rows(self) -> list[dict[str, Any]]:
        """A row for each position: its symbol, the edges that it makes, and what it sees."""
        return [
            {
                "position": position,
                "symbol": symbol,
                "new edges": " ".join(f"{e.origin}->{e.goal}" for e in self.edges if e.made_at == position),
                "parents": " ".join(map(str, self.parent_keys[position])),
            }
            for position, symbol in enumerate(self.symbols)
        ]


def described(
    words: Sequence[str], heads: Sequence[int], labels: Sequence[str], pieces: Sequence[int] | None = None
) -> DescribedTarget:
    """The target of a sentence; `pieces` says into how many pieces each word is cut (default: one)."""
    for what, values in (("heads", heads), ("labels", labels)):
        require(len(values) == len(words), f"{len(words)} words, but {len(values)} {what}; one is wanted for each word")
    pieces = pieces_for(words, pieces)
    symbols = read(pieces, heads, labels)
    names = iter(piece_names(words, pieces))
    edges = sorted(edges_of(symbols))
    return DescribedTarget(
        [symbol.name if symbol.does in (Does.LEFT, Does.RIGHT) else next(names) for symbol in symbols],
        edges,
        [sorted(keys) for keys in parent_keys(edges, len(symbols))],
    )

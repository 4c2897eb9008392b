"""The parser of UDGN: which word is the head of each word (the paper's sections 3.1 and 3.2).

    x = BiLSTM(E(words)),  (h^H, h^D) = W x + b        a vector as head, and one as dependent
    e_ij = h_i^D . h_j^H / sqrt(D)                     how well j would do as the head of i
    p_i = softmax(e_i),  q = p without its diagonal    the probability of "none", p_ii, is dropped
    m = q + q^T - q * q^T                              that one of i and j is the head of the other

So m is symmetric, from 0 to 1, and 0 on its diagonal. If every word has each of three as its head alike:

    >>> q = EDGES["softmax"](torch.zeros(1, 3, 3), torch.ones(1, 3, dtype=torch.bool), None)
    >>> mask_of(q)[0, 0]                               # 1/3 + 1/3 - 1/9 = 5/9
    tensor([0.0000, 0.5556, 0.5556])

The parser reads the same words as the layers, hidden ones included, by an embedding of its own. Nothing asks for a
tree while it is trained; `EDGES` has other ways to heads.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from dtglib.basics.errors import UserError
from dtglib.basics.shapes import Bool, Float, Int
from dtglib.network.dropout import Dropout
from dtgpapers.udgn.config import UdgnConfig

SPREAD = 0.1  # embeddings begin between minus and plus this
LEAST_ROOT = 1e-6  # of the probability of ROOT, where trees are summed over


class Parser(nn.Module):
    """Scores of the head of every word; their diagonal is that of no head."""

    def __init__(self, entries: int, config: UdgnConfig) -> None:
        super().__init__()
        width = config.width
        self.embedding = nn.Embedding(entries, width)
        self.tags = Tags(entries, config) if config.tags else None
        between = config.dropout if config.parser_layers > 1 else 0.0
        self.lstm = nn.LSTM(width, width, config.parser_layers, batch_first=True, dropout=between, bidirectional=True)
        self.out = nn.Linear(2 * width, 2 * width)
        self.dropout = Dropout(config.dropout)
        nn.init.uniform_(self.embedding.weight, -SPREAD, SPREAD)
        nn.init.xavier_uniform_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, token: Int[Tensor, "B T"], length: Int[Tensor, " B"]) -> Float[Tensor, "B T T"]:
        """The scores e; those of padding as heads or dependents mean nothing."""
        x = self.embedding(token) if self.tags is None else self.embedding(token) + self.tags(token)
        # Packed: no direction of the LSTM reads padding. The lengths must be on the CPU.
        packed = nn.utils.rnn.pack_padded_sequence(self.dropout(x), length.cpu(), True, enforce_sorted=False)
        x, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], True, total_length=token.shape[1])
        head, dependent = self.out(self.dropout(x)).chunk(2, dim=2)
        return dependent @ head.transpose(1, 2) / math.sqrt(head.shape[2])


class Tags(nn.Module):
    """A mixture of few vectors for each word, one of which is zero: classes that words are free to choose."""

    def __init__(self, entries: int, config: UdgnConfig) -> None:
        super().__init__()
        self.choice = nn.Embedding(entries, config.tags + 1)
        self.vectors = nn.Linear(config.tags, config.width, bias=False)
        nn.init.zeros_(self.choice.weight)
        nn.init.uniform_(self.vectors.weight, -SPREAD, SPREAD)

    def forward(self, token: Int[Tensor, "B T"]) -> Float[Tensor, "B T d"]:
        return self.vectors(self.choice(token).softmax(2)[..., 1:])


Scores = Float[Tensor, "B T T"]
Probabilities = Float[Tensor, "B T T"]  # row i has those of the heads of word i
Heads = Int[Tensor, "B T"] | None


def selected(e: Scores, there: Bool[Tensor, "B T"], heads: Heads) -> Probabilities:
    """A softmax over all words of the sentence, the word itself included, whose share is then dropped."""
    return _without_itself(_softmax(e.float(), there), there)


def marginal(e: Scores, there: Bool[Tensor, "B T"], heads: Heads) -> Probabilities:
    """The marginals of a distribution over dependency trees, by the matrix-tree theorem (Koo et al. 2007).

    Each tree has the product of its words' p_ij, with p_ii for words whose head is ROOT. The paper leaves that open,
    and how many words may have this head; here any number of them may. With the Laplacian L of i and its head j,

        L_ii = p_ii + sum_j p_ij = 1,   L_ij = -p_ij       so L = 1 - q, as every row of p sums to 1
        P(j is the head of i) = q_ij (X_ii - X_ji),  X = L^-1
    """
    # L is singular where no word wants ROOT at all, so that each wants it a little; in double precision that is enough.
    q = _without_itself(_softmax(e.double(), there), there)
    laplacian = (1 + LEAST_ROOT) * torch.eye(q.shape[1], dtype=q.dtype, device=q.device) - q
    inverse = torch.linalg.inv(laplacian)
    own = inverse.diagonal(dim1=1, dim2=2)[:, :, None]
    return (q * (own - inverse.transpose(1, 2))).float()


def detached(e: Scores, there: Bool[Tensor, "B T"], heads: Heads) -> Probabilities:
    """As `selected`, but the parser learns nothing of what is done with them."""
    return selected(e.detach(), there, heads)


def gold(e: Scores, there: Bool[Tensor, "B T"], heads: Heads) -> Probabilities:
    """The heads of the treebank, as probabilities of 1; a root has none."""
    if heads is None:
        raise UserError("the edges are those of the treebank, and these sentences have no heads; take others")
    columns = torch.arange(e.shape[1], device=e.device)
    return (heads[:, :, None] == columns).to(torch.float32)


def _softmax(e: Scores, there: Bool[Tensor, "B T"]) -> Float[Tensor, "B T T"]:
    return e.masked_fill(~there[:, None], -torch.inf).softmax(2)


def _without_itself(p: Float[Tensor, "B T T"], there: Bool[Tensor, "B T"]) -> Probabilities:
    """Without the diagonal, and without the rows of padding."""
    itself = torch.eye(p.shape[1], dtype=torch.bool, device=p.device)
    return p.masked_fill(itself | ~there[:, :, None], 0.0)


EDGES: dict[str, Callable[[Scores, Bool[Tensor, "B T"], Heads], Probabilities]] = {
    "softmax": selected,
    "kirchhoff": marginal,
    "detached": detached,
    "gold": gold,
}


def mask_of(q: Probabilities) -> Float[Tensor, "B T T"]:
    """The probability that one of two words is the head of the other, if both choose independently (eq. 6)."""
    return q + q.transpose(1, 2) - q * q.transpose(1, 2)

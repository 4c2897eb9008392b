"""GiLT: a Transformer-XL over words, the graph term in its attention, and the scorer that adds arcs (section 3).

    There      the scorer reads <ROOT> and E(There): how many arcs, and which; then There is read, with its tape
    is         ... reads There's vectors and E(is); 2 arcs, 2->1 and 0->2; then is is read, with its tape
    ...

So a word's arcs are known before the word is read, although its spelling only begins ("representation ahead of time",
RA). Two other representations of a word wait for its first piece (FTR) or for all of them (CTR); its arcs then change
the tape of later positions only. The vectors are those after layers L/2 and L - 1, side by side. (The published code
takes the layers 9 and 15 of 16; this is the paper's reading, 8 and 15.)

The loss of a sentence with N targets and M words has three parts, beta = 5/6 (eq. 6):

    sums     beta * tokens       +  (1 - beta) * (cells + numbers of arcs)          the default
    means    beta * tokens / N   +  (1 - beta) * (cells / M^2 + numbers / M)        eq. 6
    code     2 beta * tokens     +  4 (1 - beta) * (cells + numbers)                the published code

With means a long sentence counts as much as a short one, and a cell 1/M of a number. `sums` has the weights of eq. 6
and, as the code, sums. All parts are logged in nats, without weights.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from dtglib.basics.shapes import Float
from dtglib.data.vocabulary import Vocabulary
from dtglib.network.transformer import Batch, LayerInputs, LossPart, Readable, Transformer
from dtgpapers.gilt.attention import BLOCKS, VALUES, GraphBlock, Tape, tape_of
from dtgpapers.gilt.config import GiltConfig
from dtgpapers.gilt.examples import GraphBatch, Words
from dtgpapers.gilt.later import STEPPERS
from dtgpapers.gilt.scorer import ArcScorer
from dtgpapers.gilt.stepper import GraphStepper


class GiltOutput(NamedTuple):
    """The outputs of a network for a batch of sentences and graphs."""

    log_probs: Float[Tensor, " N"]  # of the targets
    arcs: Float[Tensor, " C"]  # log-odds
    counts: Float[Tensor, "W K"]  # log-probabilities


# The weights of the nats of tokens, cells and numbers of arcs, for sentences of N targets and M words.
WEIGHTINGS = {
    "sums": lambda beta, N, M: (beta, 1 - beta, 1 - beta),
    "means": lambda beta, N, M: (beta / N, (1 - beta) / M**2, (1 - beta) / M),
    "code": lambda beta, N, M: (2 * beta, 4 * (1 - beta), 4 * (1 - beta)),
}

REPRESENTATIONS = {
    "ra": lambda h, pieces, words: torch.cat([h[words.before], pieces[words.first]], 1),
    "ftr": lambda h, pieces, words: h[words.first],
    "ctr": lambda h, pieces, words: mean_of_words(h, words),
}


def mean_of_words(h: Float[Tensor, "P w"], words: Words) -> Float[Tensor, "W w"]:
    """The mean over each word's pieces."""
    sums = h.new_zeros(len(words.first), h.shape[1]).index_add(0, words.word, h[words.position])
    return sums / torch.bincount(words.word, minlength=len(words.first))[:, None]


class Gilt(Transformer):
    """The language model and the scorer."""

    def __init__(self, config: GiltConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.tables = nn.Parameter(torch.randn(len(config.read), VALUES, config.feature_width))
        self.scorer = ArcScorer(config)

    @staticmethod
    def block(config: GiltConfig) -> GraphBlock:
        """A new layer."""
        return BLOCKS[config.graph_keys](config)

    @torch.no_grad()
    def initialise(self) -> None:
        """As the other models; what reads the graph is initialised by PyTorch's defaults, as in the published code."""
        super().initialise()
        for block in self.blocks:
            for linear in block.fuse:
                linear.reset_parameters()

    def layer_inputs(self, batch: Readable) -> LayerInputs:
        """The inputs that all layers share; the batch's bias is its tape."""
        return super().layer_inputs(batch)._replace(bias=self.tape(batch.bias))

    def tape(self, features: Tensor) -> Tape:
        """The tape of the layers, from all features (B, F, T, S) as any type of integers."""
        return tape_of(features, self.config, self.tables, (self.u, self.w))

    def states(self, batch: Readable) -> list[Float[Tensor, "B T d"]]:
        """The vectors of all positions: the inputs, and those after each layer."""
        inputs, states = self.layer_inputs(batch), [self.dropout(self.embed(batch.token, batch.arc))]
        for block in self.blocks:
            states.append(block(states[-1], inputs))
        return states

    def forward(self, batch: Readable) -> Float[Tensor, "B T d"]:
        """The output vectors of all positions."""
        return self.states(batch)[-1]

    def compute(self, given: GraphBatch) -> GiltOutput:
        """The probabilities of tokens, arcs and numbers of arcs, given everything before them."""
        batch, states = given.batch, self.states(given.batch)
        log_probs = self.read_off(states[-1], batch)
        words = self.represented(states, batch, given.words)
        arcs, counts = self.scorer(words, given.cells, len(words), given.farthest)
        return GiltOutput(log_probs, arcs, counts)

    def represented(self, states: list[Float[Tensor, "B T d"]], batch: Batch, words: Words) -> Float[Tensor, "W w"]:
        """The vectors of each word that the scorer reads."""
        layers = self.config.layers
        h = torch.cat([states[layers // 2], states[layers - 1]], 2).flatten(0, 1)
        pieces = self.embed(batch.token, batch.arc).flatten(0, 1)
        return REPRESENTATIONS[self.config.word](h, pieces, words)

    def stepper(self) -> GraphStepper:
        """A stepper for one search."""
        return STEPPERS[self.config.word](self)

    def loss(self, given: GraphBatch) -> tuple[Float[Tensor, ""], dict[str, LossPart]]:
        """The weighted sum of the sentences' nats, and the nats of the three parts."""
        output, batch, words = self.compute(given), given.batch, given.words
        rows, T = batch.token.shape
        cells = nn.functional.binary_cross_entropy_with_logits(output.arcs.float(), given.is_arc, reduction="none")
        numbers = -output.counts.gather(1, given.count[:, None].long())[:, 0]
        row_of_cells = words.row[given.cells.step]
        parts = {
            "token": (-output.log_probs, batch.predicts // T),
            "arc": (cells, row_of_cells),
            "count": (numbers, words.row),
        }
        sums = [nats.new_zeros(rows).index_add(0, row, nats) for nats, row in parts.values()]
        N, M = (torch.bincount(row, minlength=rows) for row in (batch.predicts // T, words.row))
        weights = WEIGHTINGS[self.config.weighting](self.config.words_weight, N, M)
        nats = sum((weight * of_rows).sum() for weight, of_rows in zip(weights, sums, strict=True))
        logged = {name: LossPart(nats.detach().sum(), len(nats)) for name, (nats, _) in parts.items()}
        return nats, logged

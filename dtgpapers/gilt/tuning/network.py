"""GiLT-TXL: a trained Transformer-XL with the graph term in its last layers, which answers a prompt.

    Sentence1 : a plane is taking off . ; Sentence2 : an air plane is taking off . ; Score :
                                                                                          └ its vector gives the answer

All weights come from the trained model, but for those that read the graph and those of the score, which begin at
random. With `graph_layers: 0` it is the trained model itself, tuned in the same way, which the paper compares with.

    score    a linear function of the last vector; the loss is the squared error
    label    the next piece, among all that are legal there; the loss is its nats, and nothing else of the prompt counts

The squared error is, but for a constant, the nats of a normal distribution with variance 1/2; it is logged as nats.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from dtglib.basics.errors import UserError
from dtglib.basics.shapes import Float
from dtglib.data.vocabulary import Vocabulary
from dtglib.network.attention import Heads
from dtglib.network.saved import network_beside
from dtglib.network.transformer import Block, LayerInputs, LossPart, Readable, Transformer
from dtgpapers.gilt.attention import BLOCKS, VALUES, GraphBlock, Tape, tape_of
from dtgpapers.gilt.tuning.config import TunedConfig
from dtgpapers.gilt.tuning.examples import AskedBatch


class PlainBlock(Block):
    """A layer that does not read the tape."""

    def bias(self, qu: Heads, given: Tape | None) -> None:
        """Nothing is added to the scores."""
        return None


class GiltTxl(Transformer):
    """The body; how it answers, its subclasses say."""

    def __init__(self, config: TunedConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        shape = len(config.read), VALUES, config.feature_width
        self.tables = nn.Parameter(torch.randn(shape)) if config.graph_layers else None

    def block_at(self, layer: int, config: TunedConfig) -> Block:
        """A new layer, with the graph term if it is among the last ones."""
        has_graph = layer >= config.layers - config.graph_layers
        return BLOCKS[config.graph_keys](config) if has_graph else PlainBlock(config)

    @torch.no_grad()
    def initialise(self) -> None:
        """As the other models; what reads the graph is initialised by PyTorch's defaults, as in GiLT."""
        super().initialise()
        for block in self.blocks:
            for linear in block.fuse if isinstance(block, GraphBlock) else ():
                linear.reset_parameters()

    def layer_inputs(self, batch: Readable) -> LayerInputs:
        """The inputs that all layers share; the batch's bias is its tape."""
        inputs = super().layer_inputs(batch)
        if self.tables is None:
            return inputs
        return inputs._replace(bias=tape_of(batch.bias, self.config, self.tables, (self.u, self.w)))

    def asked(self, given: AskedBatch) -> Float[Tensor, "B d"]:
        """The vector of each prompt's last position."""
        return self(given.batch).flatten(0, 1)[given.batch.predicts]


class Scoring(GiltTxl):
    """Answers with scores."""

    def __init__(self, config: TunedConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.score = nn.Linear(config.width, 1)

    def answers(self, given: AskedBatch) -> Float[Tensor, " B"]:
        """The scores, as yet without bounds."""
        x = self.asked(given)
        with torch.autocast(x.device.type, enabled=False):  # bfloat16 has three digits: many scores would be equal
            return self.score(x.float())[:, 0]

    def loss(self, given: AskedBatch) -> tuple[Float[Tensor, ""], dict[str, LossPart]]:
        """The squared errors."""
        nats = (self.answers(given) - given.gold).square().sum()
        return nats, {"score": LossPart(nats.detach(), len(given.gold))}


class Labelling(GiltTxl):
    """Answers with one of two labels."""

    def log_probs_of_pieces(self, given: AskedBatch) -> Float[Tensor, "B V"]:
        """The log-probability of every entry of the vocabulary as the next one of each prompt."""
        return self.output(self.asked(given), self.embedding.weight, given.batch.legal)

    def answers(self, given: AskedBatch) -> Float[Tensor, " B"]:
        """The log-odds of the second label against the first one."""
        first, second = self.log_probs_of_pieces(given)[:, given.choices].unbind(1)
        return second - first

    def loss(self, given: AskedBatch) -> tuple[Float[Tensor, ""], dict[str, LossPart]]:
        """The nats of the labels."""
        nats = -self.log_probs_of_pieces(given).gather(1, given.batch.target[:, None]).sum()
        return nats, {"label": LossPart(nats.detach(), len(given.gold))}


NETWORKS: Mapping[str, type[GiltTxl]] = {"score": Scoring, "label": Labelling}


def tuned(config: TunedConfig, trained: Transformer) -> GiltTxl:
    """A network with the weights of a trained one, and new ones where it has none."""
    network = _built(config, trained.vocabulary)
    new, unknown = network.load_state_dict(trained.state_dict(), strict=False)
    if unknown or any(name.split(".")[0] not in ("tables", "score") and ".fuse." not in name for name in new):
        raise UserError(f"this trained model has other weights than a Transformer-XL: {', '.join([*unknown, *new])}")
    return network


def load_tuned(folder: Path, device: torch.device | str = "cpu") -> GiltTxl:
    """A tuned network from its folder."""
    return network_beside(folder, TunedConfig, _built).restore(folder, device)


def _built(config: TunedConfig, vocabulary: Vocabulary) -> GiltTxl:
    return NETWORKS[config.answers](config, vocabulary)

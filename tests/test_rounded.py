"""Linear maps in bfloat16: near the exact ones, in models of their own, and refused where they would be wrong."""

import math

import pytest
import torch
from toys import model_of

from dtglib.basics.errors import UserError
from dtglib.basics.released import cards
from dtglib.cli.main import main
from dtglib.data.corpora import load
from dtglib.decode.beam import Widths, in_parts, search
from dtglib.families.base import load_model
from dtglib.network.rounded import RoundedMap, round_maps
from dtglib.network.saved import CONFIG_FILE

pytestmark = pytest.mark.usefixtures("one_thread")

SENTENCES = [sentence.words for sentence in load("minilang", "test", 2).sentences]
SEARCHED = [name for name in cards("model") if name.endswith("-minilang") and not name.startswith("translator")]


def test_a_map_multiplies_rounded_numbers_and_adds_them_up_exactly():
    torch.manual_seed(1)
    exact = torch.nn.Linear(48, 5)
    x = torch.randn(3, 48)
    found = RoundedMap(exact)(x)
    # A product of two numbers with 8 bits each has 16 bits, so that float32 holds it whole.
    products = x.bfloat16().float()[:, None] * exact.weight.bfloat16().float()
    expected = (products.sum(2) + exact.bias.bfloat16().float()).bfloat16().float()
    torch.testing.assert_close(found, expected, rtol=2**-7, atol=1e-6)  # the last bit of bfloat16
    assert found.dtype == torch.float32


def test_a_rounded_map_learns_nothing_and_lets_gradients_through():
    x = torch.randn(3, 4, requires_grad=True)
    rounded = RoundedMap(torch.nn.Linear(4, 5))
    rounded(x).sum().backward()
    assert x.grad is not None
    assert [weight.requires_grad for weight in rounded.parameters()] == [False, False]


@pytest.mark.parametrize("name", SEARCHED)
def test_a_rounded_model_is_near_the_exact_one_and_comes_back_as_it_was_saved(name, tmp_path):
    exact, rounded = load_model(name), round_maps(load_model(name))
    rounded.save(tmp_path)
    again, widths = load_model(tmp_path), Widths(10, 10)
    found = ([one.log_prob for one in in_parts(search, model, SENTENCES, widths)] for model in (exact, rounded, again))
    by_exact, by_rounded, by_again = found
    assert by_again == by_rounded
    apart = [abs(one - other) for one, other in zip(by_exact, by_rounded, strict=True)]
    assert 0 < sum(apart) / sum(len(words) + 1 for words in SENTENCES) < 0.03
    maps = [module for module in again.modules() if isinstance(module, RoundedMap)]
    assert len(maps) >= 3 * again.config.layers
    assert all(one.weight.dtype == torch.bfloat16 for one in maps)
    assert not any(parameter.requires_grad for one in maps for parameter in one.parameters())


def test_there_are_families_to_ask():
    assert {"dtg-minilang", "gilt-minilang", "pushdown-minilang", "tg-minilang"} <= set(SEARCHED)


def test_the_weights_of_the_one_are_no_weights_of_the_other(tmp_path):
    round_maps(load_model("dtg-minilang")).save(tmp_path)
    config = tmp_path / CONFIG_FILE
    assert "linear_maps: bfloat16" in config.read_text()
    config.write_text(config.read_text().replace("bfloat16", "float32"))
    with pytest.raises(UserError, match=r"is torch.bfloat16, not torch.float32"):
        load_model(tmp_path)


def test_a_rounded_model_is_read_by_the_commands(tmp_path, capsys):
    out = tmp_path / "mine"
    round_maps(load_model("dtg-minilang")).save(out)
    assert main(["surprisal", "The dog sees a cat .", "--model", str(out), "--beam", "10"]) == 0
    assert "<END>" in capsys.readouterr().out


def test_a_rounded_model_is_not_tuned(tmp_path, capsys):
    round_maps(load_model("dtg-minilang")).save(tmp_path / "mine")
    arguments = ["tune", "configs/tuning/small.yaml", "--task", "sts-b", "--model", str(tmp_path / "mine")]
    assert main([*arguments, "--out", str(tmp_path / "other")]) != 0
    assert "name the model that it was made from" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_rounding_leaves_relative_positions_output_and_norms_as_they_are():
    model = round_maps(model_of("dtg"))
    exact = {name for name, weight in model.state_dict().items() if weight.dtype == torch.float32}
    assert {"embedding.weight", "u", "w", "blocks.0.places.weight", "blocks.1.after_inner.weight"} <= exact
    assert math.prod(model.blocks[0].qkv.weight.shape) == 3 * model.config.width**2

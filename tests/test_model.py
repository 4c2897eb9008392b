"""The model: its size and first weights, what it learns, whom it looks at, and that its probabilities sum to 1.

What it should do is taken from the definitions (reference.py): `by_definition` plays one sequence of actions at a time,
and knows nothing of compile's vectors.
"""

import itertools
import json
import math
import re
import shutil
from collections.abc import Sequence as Row
from functools import cache
from pathlib import Path
from random import Random

import pytest
import torch
import yaml
from conftest import slow
from reference import PIECE, by_definition, counts_in, of_sentence, pieces_in, sequences_of_moves, system_of
from torch import Tensor, nn
from toys import READINGS, SMALL, in_every_dtg, in_every_model, small_model, trees, vocabulary, with_both_outputs
from trees import Heads, random_tree

from dtglib.basics.errors import UserError
from dtglib.data.corpora import load
from dtglib.data.symbols import ARCS
from dtglib.data.vocabulary import PAD, ROOT, Vocabulary
from dtglib.families.base import build, load_model
from dtglib.network import attention
from dtglib.network.attention import sinusoids
from dtglib.network.transformer import REPRESENTATIONS, Batch, Transformer, TransformerConfig, batch_of
from dtglib.network.weights import write_compact
from dtglib.runs.settings import read_size
from dtglib.sequences.batches import pack, pad
from dtglib.sequences.columns import COMPOSE, NOTHING
from dtglib.sequences.structure import dense, flex
from dtglib.training.compiled import compiled_layers
from dtglib.transitions import Action, Kind

pytestmark = pytest.mark.usefixtures("one_thread")


def read(name: str, numbers: Row[int], form=dense, place=pad) -> Batch:
    """Some of the trees of toys.py, of 1 to 10 words, many of them in several pieces."""
    return batch_of(place(READINGS[name](vocabulary("pieces"), trees()), numbers), form)


# ---- Size and first weights


def test_at_paper_size_there_are_252_million_parameters():
    """Counted on the meta device, where a tensor takes no memory."""
    config = read_size("paper").model
    speaks = Vocabulary((*ARCS.entries, *(f"▁{number}" for number in range(32_768))))
    with torch.device("meta"):
        model = build(config, speaks)
    count = sum(parameter.numel() for parameter in model.parameters())
    d, inner = 1024, 4096
    layer = 3 * d * d + d * d + d * d + 2 * d * inner + inner + d + 2 * 2 * d  # q k v, out, places, the two maps, norms
    assert count == (67 + 32_768) * (d + 1) + 16 * layer + 2 * d  # embeddings and output bias, layers, u and w
    assert round(count / 1e6) == 252


def test_the_paper_size_is_that_of_the_paper():
    config = read_size("paper").model
    assert (config.layers, config.width, config.heads, config.inner, config.dropout) == (16, 1024, 8, 4096, 0)
    assert (config.model, config.arcs, config.output) == ("dtg", "w+arc", "single")


def test_the_five_models_are_one_body():
    """The same parameters with the same names and shapes, and from the same seed the same weights."""
    models = [small_model(name) for name in READINGS]
    for model in models[1:]:
        assert model.state_dict().keys() == models[0].state_dict().keys()
        assert all(mine.equal(theirs) for mine, theirs in zip(model.parameters(), models[0].parameters(), strict=True))


@pytest.fixture(scope="module")
def fresh() -> Transformer:
    torch.manual_seed(2)
    speaks = Vocabulary((*ARCS.entries, *(f"▁{number}" for number in range(4000))))
    return build(TransformerConfig(layers=4, width=256, heads=4, inner=1024, output="factored"), speaks)


def test_linear_maps_begin_with_the_variance_of_two_by_layers_by_inputs(fresh):
    maps = [(name, module) for name, module in fresh.named_modules() if isinstance(module, nn.Linear)]
    assert len(maps) == 4 * 5 + 1
    for name, module in maps:
        assert module.weight.var().item() == pytest.approx(2 / 4 / module.in_features, rel=0.05), name
        assert abs(module.weight.mean().item()) < 0.05 * module.weight.std().item(), name
        assert module.bias is None or not module.bias.any(), name


def test_embeddings_begin_uniform_and_padding_at_nothing(fresh):
    bound = math.sqrt(3 / 256)
    weight = fresh.embedding.weight[1:]
    assert 0.999 * bound < weight.max().item() <= bound
    assert -0.999 * bound > weight.min().item() >= -bound
    assert weight.var().item() == pytest.approx(1 / 256, rel=0.01)
    assert weight.abs().median().item() == pytest.approx(bound / 2, rel=0.01)
    assert not fresh.embedding.weight[PAD].any()


def test_u_and_w_begin_normal_with_the_variance_of_one_by_width_of_a_head(fresh):
    for bias in (fresh.u, fresh.w):
        assert bias.shape == (4, 1, 64)
        assert bias.var().item() == pytest.approx(1 / 64, rel=0.25)  # of 256 numbers
        assert bias.abs().max() > 2 / 8  # a uniform one of this variance has no such number
    assert not fresh.u.equal(fresh.w)


def test_norms_and_output_biases_begin_neutral(fresh):
    single = build(TransformerConfig(layers=1, width=8, heads=1, inner=1, output="single"), Vocabulary(ARCS.entries))
    assert not fresh.output.bias.any() and not single.output.bias.any()
    for module in fresh.modules():
        if isinstance(module, nn.LayerNorm):
            assert (module.weight == 1).all() and not module.bias.any()


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"width": 20, "heads": 4}, "even number per head, but 20 is shared by 4"),
        ({"layers": 0}, "layers must be at least 1"),
        ({"dropout": 1.0}, "dropout must be at least 0 and less than 1"),
    ],
)
def test_a_config_that_cannot_be_is_refused(wrong, complaint):
    with pytest.raises(UserError, match=complaint):
        TransformerConfig(**wrong)


# ---- What is read


def embeddings_of(arcs: str, token: int, arc: int) -> list[int]:
    """The ids whose embeddings the model adds up for one position."""
    speaks = Vocabulary.of_words([["is"]])
    model = build(TransformerConfig(layers=1, width=128, heads=1, inner=1, arcs=arcs), speaks)
    # Each entry has a place of its own, so that a sum shows what it is the sum of.
    with torch.no_grad():
        model.embedding.weight[:] = torch.eye(128)[: len(speaks)]
        model.embedding.weight[PAD] = 0
        found = model.embed(torch.tensor([[token]]), torch.tensor([[arc]]))
    return found[0, 0].nonzero()[:, 0].tolist()


def test_an_arc_is_read_as_its_head_and_itself_or_as_one_of_the_two():
    word, arc, pop = 67, 4, 6
    assert REPRESENTATIONS.keys() == {"w+arc", "arc", "w"}
    assert embeddings_of("w+arc", word, arc) == [arc, word]
    assert embeddings_of("arc", word, arc) == [arc]
    assert embeddings_of("w", word, arc) == [word]
    for arcs in REPRESENTATIONS:
        assert embeddings_of(arcs, word, NOTHING) == [word]
        assert embeddings_of(arcs, ROOT, NOTHING) == [ROOT]
        assert embeddings_of(arcs, NOTHING, pop) == [pop]  # it has no head
        assert embeddings_of(arcs, NOTHING, arc) == [arc]  # as TXL (trans) reads arcs
        assert embeddings_of(arcs, PAD, NOTHING) == []


@in_every_dtg
def test_the_two_copies_of_an_arc_read_the_same_and_see_and_say_different_things(name):
    model, batch = small_model(name), read(name, range(20))
    kinds = torch.from_numpy(pad(READINGS[name](vocabulary("pieces"), trees()), range(20)).kind)
    composes = (kinds == COMPOSE).nonzero().T
    first, second = tuple(composes), (composes[0], composes[1] + 1)
    assert composes.shape[1] == 110  # an arc a word
    embedded, outputs = model.embed(batch.token, batch.arc), model(batch)
    assert embedded[first].equal(embedded[second])
    assert (outputs[first] != outputs[second]).any(1).all()
    assert (batch.structure.visible[first] != batch.structure.visible[second]).any(1).all()


@in_every_model
def test_every_position_predicts_except_compose_positions_and_padding(name):
    numbers = range(20)
    vectors = pad(READINGS[name](vocabulary("pieces"), trees()), numbers)
    batch = read(name, numbers)
    says = torch.zeros(vectors.kind.size, dtype=torch.bool)
    says[batch.predicts] = True
    is_padding = (vectors.token == PAD) & (vectors.arc == NOTHING)
    assert is_padding.any()
    assert (says.view(vectors.kind.shape).numpy() == ((vectors.kind != COMPOSE) & ~is_padding)).all()
    assert not (batch.target == NOTHING).any()


# ---- What is computed


@in_every_model
def test_the_body_is_layers_of_attention_and_two_maps_each_followed_by_a_norm(name):
    model, batch = small_model(name), read(name, [4, 9])
    heads, size = 2, 16

    def split(x: Tensor) -> Tensor:
        return x.unflatten(-1, (heads, size // heads)).transpose(-2, -3)

    def norm(x: Tensor) -> Tensor:
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()

    x = model.embed(batch.token, batch.arc)
    for block, weights in zip(model.blocks, model.attention_weights(batch), strict=True):
        q, k, v = (split(x @ weight.T) for weight in block.qkv.weight.chunk(3))
        r = split(sinusoids(batch.farthest, size) @ block.places.weight.T)
        attended = attention.naive(q + model.u, q + model.w, k, v, r, batch.structure)
        torch.testing.assert_close(weights @ v, attended, rtol=1e-4, atol=1e-5)
        x = norm(x + attended.transpose(1, 2).flatten(2) @ block.out.weight.T)
        inner = (x @ block.up.weight.T + block.up.bias).clamp(min=0)
        x = norm(x + inner @ block.down.weight.T + block.down.bias)
    torch.testing.assert_close(model(batch), x, rtol=1e-4, atol=1e-5)


@with_both_outputs
@in_every_model
def test_the_loss_is_that_of_the_definitions_one_sentence_at_a_time(name, output, monkeypatch):
    """With the stack played in loops and attention in loops, against the vectors, in one padded batch."""
    model, numbers = small_model(name, output=output), range(0, 20, 2)
    nats, parts = model.loss(read(name, numbers))
    nats.backward()
    batched = {key: parameter.grad.clone() for key, parameter in model.named_parameters()}
    model.zero_grad()
    monkeypatch.setattr("dtglib.network.transformer.attend", attention.naive)
    alone = [model.loss(of_sentence(name, vocabulary("pieces"), *trees()[number])) for number in numbers]
    expected = torch.stack([loss for loss, _ in alone]).sum()
    expected.backward()
    assert nats.item() == pytest.approx(expected.item(), rel=1e-5)
    assert parts["transition"].events == sum(parts["transition"].events for _, parts in alone)
    for key, parameter in model.named_parameters():
        scale = parameter.grad.abs().max().item()
        torch.testing.assert_close(batched[key], parameter.grad, rtol=0, atol=1e-4 * scale, msg=key)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@in_every_model
def test_padding_and_packing_change_no_probability(name):
    """Sentences of 2 to 9 words, beside longer and shorter ones, or in rows of which none is quite full."""
    model, numbers = small_model(name), [8, 1, 4, 6]
    with torch.no_grad():
        alone = torch.cat([model.log_probs(read(name, [number])) for number in numbers])
        for form in (dense, flex):
            for place in (pad, lambda sequences, chosen: pack(sequences, chosen, 131)):
                found = model.log_probs(read(name, numbers, form, place))
                torch.testing.assert_close(found, alone, rtol=1e-4, atol=1e-5)


@in_every_model
def test_the_loss_is_the_sum_of_all_nats_with_the_number_of_events(name):
    model, batch = small_model(name), read(name, [2, 5])
    nats, parts = model.loss(batch)
    log_probs = model.log_probs(batch)
    assert (log_probs < 0).any() and (log_probs <= 0).all()
    assert nats.item() == pytest.approx(-log_probs.sum().item())
    assert parts == {"transition": (nats, len(log_probs))}
    assert batch.positions == batch.token.numel()


@in_every_model
def test_no_visible_position_is_farther_away_than_the_bound_of_the_batch(name):
    for place in (pad, lambda sequences, chosen: pack(sequences, chosen, 131)):
        batch = read(name, range(20), place=place)
        distances = batch.structure.relpos[batch.structure.visible]
        assert distances.min() >= attention.NEAREST and distances.max() <= batch.farthest


@in_every_model
def test_the_weights_of_attention_are_shares_of_what_is_visible(name):
    batch = read(name, [4, 9, 9], place=lambda sequences, chosen: pack(sequences, chosen, 131))
    found = small_model(name).attention_weights(batch)
    assert len(found) == SMALL["layers"]
    for weights in found:
        assert weights.shape == (batch.token.shape[0], SMALL["heads"], 131, 131)
        torch.testing.assert_close(weights.sum(3), torch.ones(weights.shape[:3]))
        assert (weights > 0).equal(batch.structure.visible[:, None].expand_as(weights))


def test_dropout_is_for_training_alone():
    model, batch = small_model("dtg", dropout=0.5), read("dtg", [7])
    assert not model(batch).equal(model(batch))
    model.eval()
    assert model(batch).equal(model(batch))
    assert small_model("dtg").eval()(batch).equal(model(batch))


# ---- Who sees whom


@pytest.mark.parametrize("layers", [1, 2])
@in_every_model
def test_the_gradient_of_an_invisible_position_is_exactly_zero(name, layers, monkeypatch):
    """For all pairs of a packed row: one layer looks as far as the structure says, two as far in two steps."""
    model = small_model(name, layers=layers)
    batch = read(name, [3, 6, 5], place=lambda sequences, chosen: pack(sequences, chosen, 131))
    embedded = model.embed(batch.token, batch.arc).detach().requires_grad_()
    monkeypatch.setattr(model, "embed", lambda token, arc: embedded)
    reaches = torch.linalg.matrix_power(batch.structure.visible[0].double(), layers) > 0
    direction = torch.randn(16)  # the sum of a normalised vector never changes
    for i, output in enumerate(model(batch)[0]):
        (of_inputs,) = torch.autograd.grad(output @ direction, embedded, retain_graph=True)
        assert (of_inputs[0] != 0).any(1).equal(reaches[i]), i


@in_every_dtg
def test_permuting_words_outside_its_operands_changes_no_compose_position_in_the_first_layer(name):
    """And changes the second copy just where the words that it sees are others."""
    random = Random(5)
    words = [f"word{number}" for number in range(9)]
    speaks = Vocabulary.of_words([words])
    model = small_model(name, speaks, layers=1)
    seen_changing = seen_staying = 0
    for _ in range(6):
        heads = random_tree(random, len(words))
        before = READINGS[name](speaks, [(words, heads)]).sentence(0)
        batch = batch_of(pad(READINGS[name](speaks, [(words, heads)]), [0]), dense)
        visible, outputs = batch.structure.visible[0], model(batch)[0]
        for compose in (before.kind == COMPOSE).nonzero()[0].tolist():
            operands = {speaks.entries[number] for number in batch.token[0, visible[compose]]}
            outside = [place for place, word in enumerate(words) if f"▁{word}" not in operands]
            permuted = list(words)
            for place, other in zip(outside, outside[1:] + outside[:1], strict=True):
                permuted[place] = words[other]
            changed = batch_of(pad(READINGS[name](speaks, [(permuted, heads)]), [0]), dense)
            after = model(changed)[0]
            assert after[compose].equal(outputs[compose])
            sees_others = (changed.token != batch.token)[0, visible[compose + 1]].any()
            assert after[compose + 1].equal(outputs[compose + 1]) != sees_others
            seen_changing += int(sees_others)
            seen_staying += int(not sees_others)
    assert seen_changing > 10 and seen_staying > 5


# ---- Probabilities


@torch.no_grad()
def probability_of_all(name: str, model: Transformer, most_pieces: int) -> tuple[float, float]:
    """Of all sentences with their trees and orders of transitions, up to so many pieces; and of all longer ones.

    What is longer has a next piece at some moment, whatever comes later: at the places where as many have come as may,
    one more is given some probability, and these moments exclude each other.
    """
    speaks, system = model.vocabulary, system_of(name)
    starts, continues = (flags.nonzero()[0].tolist() for flags in (speaks.starts_word, speaks.continues_word))
    complete, longer = 0.0, {}
    for moves in sequences_of_moves(system, most_pieces, bool(continues)):
        choices = [continues if move == PIECE else starts for move in moves if pieces_in([move])]
        ids = torch.tensor(list(itertools.product(*choices)))
        batch = by_definition(name, speaks, ids, counts_in(moves), [move for move in moves if move != PIECE])
        x = model(batch).flatten(0, 1)[batch.predicts]
        log_probs = model.output(x, model.embedding.weight, batch.legal).double().unflatten(0, (len(ids), -1))
        one_more = log_probs[:, :, starts + continues].logsumexp(2)
        taken = log_probs.gather(2, batch.target.view(len(ids), -1, 1))[:, :, 0]
        if moves[-1] == Action(Kind.END):
            complete += taken.sum(1).exp().sum().item()
        for place in range(taken.shape[1]):
            if pieces_in(moves[:place]) == most_pieces:
                longer[tuple(moves[:place])] = (taken[:, :place].sum(1) + one_more[:, place]).exp().sum().item()
    return complete, sum(longer.values())


@with_both_outputs
@in_every_model
def test_the_sentences_of_up_to_four_words_and_all_longer_ones_sum_to_1(name, output):
    """Over three words: <unknown> is one."""
    speaks = Vocabulary.of_words([["a", "b"]])
    assert speaks.starts_word.sum() == 3 and not speaks.continues_word.any()
    complete, longer = probability_of_all(name, small_model(name, speaks, output=output), most_pieces=4)
    assert complete > 1e-4 and longer > 1e-4  # neither could be missing
    assert complete + longer == pytest.approx(1, abs=1e-5)


@with_both_outputs
@in_every_model
def test_the_sentences_of_up_to_four_pieces_and_all_longer_ones_sum_to_1(name, output):
    """Two pieces start a word, two go on with one, and four pieces is the most."""
    speaks = Vocabulary((*ARCS.entries, "▁a", "b", "c"))
    assert speaks.starts_word.sum() == speaks.continues_word.sum() == 2
    complete, longer = probability_of_all(name, small_model(name, speaks, output=output), most_pieces=4)
    assert complete > 1e-4 and longer > 1e-4  # neither could be missing
    assert complete + longer == pytest.approx(1, abs=1e-5)


# ---- Learning

VARIANTS = [
    *({"model": name, "output": "single"} for name in READINGS),
    *({"model": "dtg"} | other for other in ({"output": "factored"}, {"arcs": "arc"}, {"arcs": "w"})),
]


@cache
def thirty_sentences() -> tuple[tuple[tuple[str, ...], Heads], ...]:
    """Different ones of up to eight words."""
    sentences = {sentence.words: sentence.heads for sentence in load("minilang", "train", 150).sentences}
    return tuple((words, heads) for words, heads in sentences.items() if len(words) <= 8)[:30]


@pytest.mark.parametrize("variant", [VARIANTS[0], *slow(VARIANTS[1:])], ids=lambda variant: "-".join(variant.values()))
def test_it_learns_thirty_sentences_by_heart(variant):
    """None of thirty different sequences can have more than 1/30, on average: so the loss is never below ln 30 each.

    A loss that is would be one of a model that sees what it predicts.
    """
    sentences = thirty_sentences()
    assert len(sentences) == 30
    speaks = Vocabulary.of_words(words for words, _ in sentences)
    batch = batch_of(pad(READINGS[variant["model"]](speaks, sentences), range(30)), dense)
    torch.manual_seed(1)
    # An arc that is read without its head is known from the words below it, which takes a layer for each arc.
    model = build(TransformerConfig(layers=3, width=32, heads=2, inner=128, **variant), speaks)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0)
    for _ in range(250):
        nats, parts = model.loss(batch)
        excess = (nats.item() - 30 * math.log(30)) / parts["transition"].events
        assert excess > -1e-6
        if excess < 0.02:
            break
        optimizer.zero_grad()
        (nats / 30).backward()
        optimizer.step()
    assert excess < 0.02


# ---- Saving and loading


@pytest.fixture
def saved(tmp_path) -> Path:
    small_model("dtg", Vocabulary.of_words([["There", "is", "a", "difference"]])).save(tmp_path / "dtg")
    return tmp_path / "dtg"


@with_both_outputs
@in_every_model
def test_a_model_comes_back_as_it_was_saved(name, output, tmp_path):
    model = small_model(name, output=output)
    model.save(tmp_path)
    back = load_model(tmp_path)
    assert (back.config, back.vocabulary.entries) == (model.config, model.vocabulary.entries)
    batch = read(name, range(20))
    assert back.log_probs(batch).equal(model.log_probs(batch))


def test_a_loaded_model_can_go_on_learning(tmp_path):
    model = small_model("dtg-eager")
    model.save(tmp_path)
    back = load_model(tmp_path)
    for each in (model, back):
        optimizer = torch.optim.AdamW(each.parameters(), lr=1e-2)
        each.loss(read("dtg-eager", range(5)))[0].backward()
        optimizer.step()
    for mine, theirs in zip(model.parameters(), back.parameters(), strict=True):
        assert mine.equal(theirs)
    untouched = load_model(tmp_path)
    assert not any(mine.equal(theirs) for mine, theirs in zip(back.parameters(), untouched.parameters(), strict=True))


def test_config_and_vocabulary_are_readable_and_the_weights_are_safetensors(saved):
    """And there is nothing else: no pickle."""
    names = {path.name for path in saved.iterdir()}
    assert names == {"model.yaml", "model.safetensors", "vocabulary.json", "words.txt"}
    assert yaml.safe_load((saved / "model.yaml").read_text())["model"] == "dtg"
    assert json.loads((saved / "vocabulary.json").read_text())["kind"] == "words"
    assert (saved / "words.txt").read_text().split() == ["There", "a", "difference", "is"]
    weights = (saved / "model.safetensors").read_bytes()
    header = json.loads(weights[8 : 8 + int.from_bytes(weights[:8], "little")])
    assert "embedding.weight" in header and not any(name.startswith("output.classes") for name in header)


def test_loading_draws_no_random_numbers(saved):
    before = torch.get_rng_state()
    load_model(saved)
    assert torch.get_rng_state().equal(before)


def test_saving_twice_gives_the_same_bytes(saved, tmp_path):
    load_model(saved).save(tmp_path / "again")
    for path in saved.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def complaint(folder: Path) -> str:
    with pytest.raises(UserError) as caught:
        load_model(folder)
    return str(caught.value)


@pytest.mark.parametrize("name", ["model.yaml", "model.safetensors", "vocabulary.json", "words.txt"])
def test_a_missing_file_is_named(saved, name):
    (saved / name).unlink()
    assert complaint(saved).startswith(f"{saved / name}: No such file")


def test_a_missing_folder_is_named(tmp_path):
    assert str(tmp_path / "nowhere") in complaint(tmp_path / "nowhere")


@pytest.mark.parametrize("share", [0, 0.0005, 0.01, 0.5, 0.9999])
def test_weights_that_end_too_early_are_refused(saved, share):
    path = saved / "model.safetensors"
    weights = path.read_bytes()
    path.write_bytes(weights[: int(share * len(weights))])
    assert re.match(rf"{re.escape(str(path))}: damaged, or only half of it", complaint(saved))


def test_weights_of_which_a_disk_has_changed_one_bit_are_refused(saved):
    path = saved / "model.safetensors"
    changed = bytearray(path.read_bytes())
    changed[-1] ^= 1
    path.write_bytes(changed)
    assert complaint(saved).startswith(f"{path}: damaged: its content is not what was written")


def test_weights_that_are_something_else_are_refused(saved):
    path = saved / "model.safetensors"
    torch.save({"u": torch.zeros(1)}, path)
    assert re.match(rf"{re.escape(str(path))}: damaged", complaint(saved))


@pytest.mark.parametrize("words", [["There", "is", "no", "difference"], ["There", "is", "difference"]])
def test_another_vocabulary_is_refused(saved, words):
    """Of the same size or not."""
    mine, other = load_model(saved).vocabulary, Vocabulary.of_words([words])
    other.save(saved)
    said = complaint(saved)
    assert str(saved) in said and mine.fingerprint in said and other.fingerprint in said


@pytest.mark.parametrize(
    "key, value",
    [("layers", 1), ("layers", 3), ("width", 32), ("heads", 1), ("inner", 64), ("output", "factored"),
     ("model", "dtg-eager"), ("arcs", "w")],
)  # fmt: skip
def test_weights_of_another_config_are_refused(saved, key, value):
    """Also where every tensor has the right shape."""
    path = saved / "model.yaml"
    settings = yaml.safe_load(path.read_text())
    assert settings[key] != value
    path.write_text(yaml.safe_dump({**settings, key: value}))
    assert complaint(saved).startswith(f"{saved}")


def test_weights_of_another_model_are_refused(saved, tmp_path):
    small_model("dtg", Vocabulary.of_words([["There", "is"]])).save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "model.safetensors", saved)
    assert complaint(saved).startswith(f"{saved / 'model.safetensors'}: these weights belong to another vocabulary")


def test_weights_of_another_vocabulary_of_the_same_size_are_refused(saved, tmp_path):
    """All shapes fit, and the model would speak gibberish."""
    model = load_model(saved)
    others = [[entry[1:] + "!" for entry in model.vocabulary.entries[len(model.vocabulary.reserved) :]]]
    build(model.config, Vocabulary.of_words(others)).save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "model.safetensors", saved)
    assert "belong to another vocabulary" in complaint(saved)


def test_weights_in_another_precision_are_refused(saved):
    load_model(saved).double().save(saved)
    assert "is torch.float64, not torch.float32" in complaint(saved)


def test_compact_weights_are_a_quarter_as_large_and_nearly_the_same(saved):
    path, model = saved / "model.safetensors", load_model(saved)
    size = path.stat().st_size
    write_compact(path, path)
    assert path.stat().st_size < 0.5 * size  # most of this small file is its header
    for (name, rounded), exact in zip(load_model(saved).state_dict().items(), model.state_dict().values(), strict=True):
        assert rounded.dtype == torch.float32
        if exact.dim() > 1:
            step = exact.abs().amax(-1, keepdim=True) / 127
            assert ((rounded - exact).abs() <= 0.501 * step).all(), name
        else:
            torch.testing.assert_close(rounded, exact, rtol=1e-3, atol=1e-6)


def test_rounding_twice_changes_nothing(saved):
    path = saved / "model.safetensors"
    write_compact(path, path)
    once = load_model(saved)
    once.save(saved)
    write_compact(path, path)
    for twice, before in zip(load_model(saved).parameters(), once.parameters(), strict=True):
        torch.testing.assert_close(twice, before, rtol=1e-5, atol=1e-7)


def test_a_loaded_model_drops_nothing_out(saved):
    assert not load_model(saved).training


@pytest.mark.parametrize("line, said", [("layerz: 2", "unknown key layerz"), ("width: broad", "width must be")])
def test_a_config_that_makes_no_sense_is_refused(saved, line, said):
    path = saved / "model.yaml"
    lines = [old for old in path.read_text().splitlines() if not old.startswith(line.split(":")[0])]
    path.write_text("\n".join([line, *lines]))
    assert complaint(saved).startswith(f"{path}: {said}")


# ---- CUDA


@pytest.mark.cuda
@in_every_model
def test_on_cuda_packed_rows_and_flex_give_the_loss_and_gradients_of_the_cpu(name):
    model, numbers = small_model(name, heads=1), range(20)

    def loss_and_gradients(batch: Batch) -> tuple[float, list[Tensor]]:
        model.zero_grad()
        nats, _ = model.loss(batch)
        nats.backward()
        return nats.item(), [parameter.grad.clone().cpu() for parameter in model.parameters()]

    expected, gradients = loss_and_gradients(read(name, numbers))
    model.cuda()
    sequences = READINGS[name](vocabulary("pieces"), trees())
    packed = batch_of(pack(sequences, numbers, 300), flex, "cuda")
    with compiled_layers(model):
        found, others = loss_and_gradients(packed)
    assert found == pytest.approx(expected, rel=1e-5)
    with torch.no_grad():
        assert model.loss(packed)[0].item() == pytest.approx(expected, rel=1e-5)
    for mine, theirs in zip(others, gradients, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-4 * theirs.abs().max().item())

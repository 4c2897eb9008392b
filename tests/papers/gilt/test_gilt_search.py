"""Searches of GiLT: sums over all numbers of arcs, and what a search computes piece by piece."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import slow
from kernels import assert_searched_alike
from toys import SENTENCES, vocabulary

from dtglib.cli.main import main
from dtglib.data.treebank import Sentence
from dtglib.data.vocabulary import END, UNKNOWN, Vocabulary
from dtglib.decode.beam import Widths, search
from dtglib.decode.sampling import generate
from dtglib.decode.word_by_word import search_beginnings
from dtglib.families.base import family
from dtglib.sequences.batches import pad
from dtglib.sequences.readings import tokens
from dtgpapers.gilt.config import GiltConfig
from dtgpapers.gilt.examples import GraphBatch, batch_with, counts
from dtgpapers.gilt.graphs import Graph
from dtgpapers.gilt.model import Gilt

CONFIG = GiltConfig(layers=2, width=16, heads=2, inner=24, feature_width=6, depth="root")
WORDS = ["a", "be", "see", "do"]
SMALL = Vocabulary.of_words([WORDS], counts(CONFIG.most_arcs))
IN_PIECES = vocabulary("pieces").with_symbols(counts(CONFIG.most_arcs))
ALL = Widths(10**6, 10**6, 0)

pytestmark = pytest.mark.usefixtures("one_thread")


def model(config: GiltConfig = CONFIG, speaks: Vocabulary = SMALL, seed: int = 1) -> Gilt:
    """One whose graph matters, and whose arcs are near even odds."""
    torch.manual_seed(seed)
    network = Gilt(config, speaks).eval()
    with torch.no_grad():
        network.embedding.weight *= 3
        network.scorer.count.weight *= 5
        network.output.bias[END] += 1
    return network


def batch_of_graph(network: Gilt, words: Sequence[str], graph: Graph) -> GraphBatch:
    compiled = pad(tokens(network.vocabulary, [(words, None)]), [0])
    return batch_with(compiled, [graph], network.config)


@torch.no_grad()
def forced(network: Gilt, words: Sequence[str], numbers: Sequence[int]) -> tuple[Graph, np.ndarray, np.ndarray]:
    """The definition: with these numbers of arcs, the graph that grows, and log p of each target and number.

    Whenever a word comes, everything is computed anew in the parallel form, from the graph of the words before it.
    """
    arcs: list[tuple[int, int]] = []
    for word, number in enumerate(numbers, start=1):
        given = batch_of_graph(network, words[:word], Graph.of(word, arcs))
        cells, logits = given.cells, network.compute(given).arcs
        (mine,) = torch.nonzero(cells.step == word - 1, as_tuple=True)
        best = mine[logits[mine].argsort(descending=True)[:number]]
        arcs += [(int(cells.head[cell]), int(cells.dependent[cell])) for cell in best]
    graph = Graph.of(len(words), arcs)
    found = network.compute(batch_of_graph(network, words, graph))
    of_numbers = found.counts[torch.arange(len(numbers)), torch.tensor(numbers)]
    return graph, found.log_probs.double().numpy(), of_numbers.double().numpy()


def possible(network: Gilt, words: int) -> list[tuple[int, ...]]:
    """All sequences of numbers of arcs."""
    fewer = 0 if network.config.root_arcs else 1
    return list(itertools.product(*(range(2 * word - fewer) for word in range(1, words + 1))))


def summed(network: Gilt, words: Sequence[str]) -> float:
    """log p(words) by listing."""
    joint = [np.concatenate(forced(network, words, numbers)[1:]).sum() for numbers in possible(network, len(words))]
    return float(np.logaddexp.reduce(joint))


# ---- Sums


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"root_arcs": False, "depth": "paper"},
        {"word": "ctr"},
        *slow([{"graph_keys": "content"}, {"word": "ftr"}]),
    ],
)
@pytest.mark.parametrize("words", [["be", "a"], *slow([["a"], ["see", "a", "see"]])])
def test_a_full_search_is_the_sum_over_all_numbers_of_arcs(words, changed):
    network = model(replace(CONFIG, **changed))
    (found,) = search(network.stepper(), SMALL, [words], ALL)
    assert found.log_prob == pytest.approx(summed(network, words), abs=1e-5)


# Slow: sums over all numbers of arcs, for choices that no fast test has.
@pytest.mark.slow
def test_a_full_search_with_the_published_codes_choices_is_the_sum():
    network = model(replace(CONFIG, biaffine="diagonal", counts="all"), seed=2)
    words = ["see", "a", "do"]
    (found,) = search(network.stepper(), SMALL, [words], ALL)
    assert found.log_prob == pytest.approx(summed(network, words), abs=1e-5)


def test_plain_kernels_search_as_compiled_ones_do():
    assert_searched_alike(model(), [["do", "be", "a", "see"], ["do"]])


def test_its_best_derivation_is_the_best_one_of_the_list():
    network, words = model(seed=3), ["do", "be", "a"]
    (found,) = search(network.stepper(), SMALL, [words], ALL)
    joint = {numbers: np.concatenate(forced(network, words, numbers)[1:]).sum() for numbers in possible(network, 3)}
    best = max(joint, key=joint.get)
    assert found.log_derivation == pytest.approx(joint[best], abs=1e-5)
    arcs = found.tree.reshape(-1, 2)
    assert sorted(arcs.tolist()) == sorted(forced(network, words, best)[0].arcs.tolist())


def test_narrow_searches_find_no_more():
    network, sentences = model(), [["see", "a", "see"], ["be", "do", "a", "be"], ["a"]]
    before = [-np.inf] * 3
    narrow = Widths(1, 1, score_beam=1), Widths(4, 4, score_beam=20), Widths(10**6, 10**6, score_beam=2)
    for widths in (*narrow, ALL):
        found = [one.log_prob for one in search(network.stepper(), SMALL, sentences, widths)]
        if widths == ALL:
            assert (np.array(found) > np.array(before) + 1e-6)[:2].all()
        elif widths.beam_width == 1:
            before = found
        assert all(value >= least - 1e-6 for value, least in zip(found, before, strict=True))


@pytest.mark.parametrize(
    ("kind", "word"), [("possible", "ra"), ("all", "ra"), ("possible", "ftr"), ("possible", "ctr")]
)
def test_probabilities_of_sentences_sum_to_one(kind, word):
    """All sentences of one and two words, and all beginnings of three; where impossible numbers count, less."""
    network = model(replace(CONFIG, counts=kind, word=word))
    listed = [list(map(list, itertools.product([*WORDS, "unheard-of"], repeat=n))) for n in (1, 2, 3)]
    whole = [one.log_prob for one in search(network.stepper(), SMALL, [*listed[0], *listed[1]], ALL)]
    begun = [one.log_prefix[-1] for one in search_beginnings(network.stepper(), SMALL, listed[2], ALL)]
    total = np.exp(whole).sum() + np.exp(begun).sum()
    assert total == pytest.approx(1, abs=1e-5) if kind == "possible" else total < 0.5


# ---- Piece by piece


VARIANTS = [
    {},
    {"graph_keys": "content"},
    {"root_arcs": False},
    {"depth": "paper", "layers": 3},
    {"most_arcs": 3},
    {"word": "ftr"},
    {"word": "ctr"},
    {"word": "ctr", "depth": "paper", "root_arcs": False},
    {"features": "distance subgraph"},
]
WHEN = {
    "ra": lambda piece, pieces: piece == 1,
    "ftr": lambda piece, pieces: piece == 1,
    "ctr": lambda *place: place[0] == place[1],
}


@torch.no_grad()
def stepped(network: Gilt, words: Sequence[str], number_of) -> tuple[list[int], np.ndarray, np.ndarray]:
    """The arcs, and log p of each target and number, where a function of the word chooses among possible numbers.

    Where the end of a word is decided before what follows, both are added up for what follows.
    """
    speaks, stepper, over = network.vocabulary, network.stepper(), 0.0
    state, row = stepper.init(len(words)), np.zeros(1, np.int64)
    of_tokens, of_numbers = [], []
    encoded = speaks.encode(words)
    for word, (start, stop) in enumerate(encoded.spans, start=1):
        for place, piece in enumerate(encoded.ids[start:stop], start=1):
            log_probs = stepper.log_probs(state)[0]
            assert log_probs.logsumexp(0).item() == pytest.approx(0, abs=1e-5), "what comes next sums to one"
            of_tokens.append(log_probs[piece].item() + over)
            state, over = stepper.step(state, row, np.array([piece])), 0.0
            if WHEN[network.config.word](place, stop - start):
                log_probs = stepper.log_probs(state)[0, stepper.silent]
                over = log_probs.logsumexp(0).item()  # 0 where nothing but a number may come
                number = min(number_of(word), int((log_probs > -torch.inf).sum()) - 1)
                of_numbers.append(log_probs[number].item() - over)
                state = stepper.step(state, row, stepper.silent[[number]])
    of_tokens.append(stepper.log_probs(state)[0, END].item() + over)
    return stepper.tree(state, 0).reshape(-1, 2).tolist(), np.array(of_tokens), np.array(of_numbers)


@pytest.mark.parametrize("changed", [*VARIANTS[:2], VARIANTS[-2], *slow([*VARIANTS[2:-2], VARIANTS[-1]])])
def test_step_by_step_it_computes_what_the_parallel_form_does(changed):
    """With pieces, arcs of ROOT, and the graph that it has built; the deviation is far below 0.0001 nats."""
    config = replace(CONFIG, **changed)
    network = model(config, IN_PIECES.with_symbols(counts(config.most_arcs)))
    for words in SENTENCES[:3]:
        arcs, of_tokens, of_numbers = stepped(network, words, lambda word: (word * 7) % 4)
        graph = Graph.of(len(words), map(tuple, arcs))
        found = network.compute(batch_of_graph(network, words, graph))
        gold = found.counts[torch.arange(len(words)), torch.from_numpy(graph.counts)]
        np.testing.assert_allclose(of_tokens, found.log_probs.detach().numpy(), atol=1e-5)
        np.testing.assert_allclose(of_numbers, gold.detach().numpy(), atol=1e-5)
        assert graph.counts.max() > 1 and len(of_tokens) > len(words) + 1


@pytest.mark.parametrize("word", ["ra", "ftr", "ctr"])
def test_a_search_of_pieces_is_that_of_its_best_derivations_graph(word):
    network, words = model(replace(CONFIG, word=word), IN_PIECES), SENTENCES[1]
    (found,) = search(network.stepper(), IN_PIECES, [words], Widths(1, 1, 0))
    graph = Graph.of(len(words), map(tuple, found.tree.reshape(-1, 2).tolist()))
    with torch.no_grad():
        computed = network.compute(batch_of_graph(network, words, graph))
    gold = computed.counts[torch.arange(len(words)), torch.from_numpy(graph.counts)]
    assert found.log_prob == pytest.approx((computed.log_probs.sum() + gold.sum()).item(), abs=1e-4)


@pytest.mark.parametrize("word", ["ra", *slow(["ftr", "ctr"])])
def test_sentences_are_searched_together_as_alone(word):
    network, sentences = model(replace(CONFIG, word=word), IN_PIECES), SENTENCES[:5]
    together = search(network.stepper(), IN_PIECES, sentences, Widths(5, 5))
    alone = [search(network.stepper(), IN_PIECES, [words], Widths(5, 5))[0] for words in sentences]
    for one, other in zip(together, alone, strict=True):
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)
        np.testing.assert_allclose(one.log_prefix, other.log_prefix, atol=1e-4)


@pytest.mark.parametrize("word", ["ra", "ftr", "ctr"])
def test_a_full_search_of_words_in_pieces_is_the_sum_over_all_numbers_of_arcs(word):
    network, words = model(replace(CONFIG, word=word, root_arcs=False), IN_PIECES), ["There", "was"]
    assert min(stop - start for start, stop in IN_PIECES.encode(words).spans) > 1
    (found,) = search(network.stepper(), IN_PIECES, [words], ALL)
    assert found.log_prob == pytest.approx(summed(network, words), abs=1e-5)


def test_only_the_most_probable_numbers_are_tried():
    """By listing: of each word, after each choice for the words before, only the best numbers count."""
    network, words = model(), ["be", "do", "a"]
    listed = {numbers: forced(network, words, numbers)[1:] for numbers in possible(network, 3)}

    def rank(numbers: tuple[int, ...], word: int) -> int:
        odds = {
            other[word]: of_numbers[word] for other, (_, of_numbers) in listed.items() if other[:word] == numbers[:word]
        }
        return sum(value > odds[numbers[word]] for value in odds.values())

    kept = [sum(map(np.sum, two)) for numbers, two in listed.items() if max(rank(numbers, n) for n in range(3)) < 2]
    (found,) = search(network.stepper(), SMALL, [words], ALL._replace(score_beam=2))
    assert found.log_prob == pytest.approx(np.logaddexp.reduce(kept), abs=1e-5)
    assert found.log_prob < search(network.stepper(), SMALL, [words], ALL)[0].log_prob - 1e-6


# ---- Uses


def test_hypotheses_of_which_only_some_take_a_position_get_what_each_gets_alone():
    stepper = model(replace(CONFIG, word="ftr"), IN_PIECES).stepper()
    first, inner, _ = IN_PIECES.encode(["see"]).ids
    no_arcs = int(stepper.silent[0])
    both = [first, no_arcs, inner, first], [first, no_arcs, first, no_arcs]

    def after(*rows: Sequence[int]) -> torch.Tensor:
        state = stepper.choose(stepper.init(5), np.zeros(len(rows), int))
        for symbols in zip(*rows, strict=True):
            state = stepper.step(state, np.arange(len(rows)), np.array(symbols))
        return stepper.log_probs(state)

    torch.testing.assert_close(after(*both), torch.cat([after(symbols) for symbols in both]))


@pytest.mark.parametrize("word", ["ra", "ftr", "ctr"])
def test_drawn_sentences_have_graphs_and_their_joint_probability(word):
    network = model(replace(CONFIG, word=word))
    with torch.no_grad():
        network.output.bias[UNKNOWN] -= 50
    drawn = list(generate(network.stepper(), SMALL, 8, torch.Generator().manual_seed(1), most_words=12))
    for one in drawn:
        arcs = one.tree.reshape(-1, 2).tolist()
        numbers = Graph.of(len(one.words), map(tuple, arcs)).counts.tolist()
        graph, *log_probs = forced(network, one.words, numbers)
        assert sorted(graph.arcs.tolist()) == sorted(arcs)
        assert one.log_prob == pytest.approx(np.concatenate(log_probs).sum(), abs=1e-4)
    assert max(len(one.words) for one in drawn) > 3


def test_its_likelihood_is_a_bound_by_beam_and_its_graph_is_shown():
    network = model()
    kind = family("gilt")
    (score,) = kind.likelihood.scores(network, [Sentence(("see", "a", "see"))], None)
    assert not kind.likelihood.is_exact and score.log_prob == pytest.approx(
        summed(network, ["see", "a", "see"]), abs=1e-5
    )
    arcs = [f"{head}->{dependent}" for head, dependent in np.reshape(score.best, (-1, 2))]
    assert kind.trees.shown(network.vocabulary, ["see", "a", "see"], score.best).split() == arcs


@pytest.mark.parametrize("word", ["ra", "ftr", "ctr"])
def test_commands_score_it(word, tmp_path, capsys):
    model(replace(CONFIG, word=word)).save(tmp_path)
    about = ["--model", str(tmp_path), "see a be", "--json"]
    assert main(["score", *about]) == 0
    (scored,) = json.loads(capsys.readouterr().out)["sentences"]
    surprisals = []
    for more in ([], ["--score-beam", "1"]):
        assert main(["surprisal", "--within", "none", *more, *about]) == 0
        (read,) = json.loads(capsys.readouterr().out)["sentences"]
        surprisals.append(sum(read["surprisals"]) + read["end"])
    assert surprisals[0] == pytest.approx(-scored["log_prob"], abs=1e-4) and surprisals[1] > surprisals[0]

"""Pushdown Layers: the stack tape, what models of it see and predict, and what a search finds."""

import json
import math
import random
from functools import cache

import numpy as np
import pytest
import torch
from conftest import slow
from kernels import assert_searched_alike
from running import assert_one_line
from torch import nn
from toys import TINY_SIZE, by_heart, never, symbols_in

from dtglib.basics.errors import UserError
from dtglib.cli.main import main
from dtglib.data.conllu import TreebankError
from dtglib.data.corpora import load
from dtglib.data.treebank import Sentence
from dtglib.data.vocabulary import END, UNKNOWN, Vocabulary
from dtglib.decode.beam import Widths, search
from dtglib.decode.sampling import generate
from dtglib.decode.trie import computed, planned
from dtglib.decode.word_by_word import search_beginnings
from dtglib.evaluate.likelihood import score_trees
from dtglib.families.base import build, family
from dtglib.network.attention import sinusoids
from dtglib.network.transformer import Transformer, TransformerConfig, batch_of
from dtglib.sequences.batches import pad
from dtglib.sequences.structure import dense, flex
from dtgpapers.constituency.bracketing import steps_of
from dtgpapers.pushdown.naive import simulate
from dtgpapers.pushdown.network import DEPTHS, PushdownModel
from dtgpapers.pushdown.paper import PaperHead
from dtgpapers.pushdown.reading import READING, SYMBOLS, taped_batch
from dtgpapers.pushdown.tape import MOST_BESIDE, attachments_of, reduces_of, taped, tapes
from dtgpapers.pushdown.trees import attachments_for, attachments_in, most_open, written

WORDS = ("There", "is", "a", "difference")
BRACKETS = "(S (NP (EX There)) (VP (VBZ is) (NP (DT a) (NN difference))))"
ALL = Widths(10**6, 10**6)

in_both = pytest.mark.parametrize("name", ["pushdown", "pushdown-paper"])


def speaking(words=WORDS) -> Vocabulary:
    return Vocabulary.of_words([words], SYMBOLS)


@cache
def in_pieces() -> Vocabulary:
    words = [sentence.words for sentence in load("minilang", "train", 300).sentences]
    return Vocabulary.train(words, 400, SYMBOLS)


def random_attachments(chance: random.Random, words: int) -> list[int]:
    """Every word is merged with any number of the constituents before it; many trees are deep."""
    reduces, items = [], 0
    for _ in range(words):
        reduces.append(chance.randint(0, items) if chance.random() < 0.5 else 0)
        items += 1 - reduces[-1]
    return attachments_of(reduces)


def all_attachments(words: int) -> list[tuple[int, ...]]:
    rows = [((), 0)]
    for _ in range(words):
        rows = [((*row, n), items + 1 - n) for row, items in rows for n in range(items + 1)]
    return [tuple(attachments_of(row)) for row, _ in rows]


# ---- The tape


@pytest.mark.parametrize(
    ("attachments", "expected"),
    [([1, 2, 3, 1], [[0], [0, 0], [0, 0, 0], [1, 2, 3, 3]]), ([1, 1, 3, 2], [[0], [1, 1], [1, 1, 0], [2, 2, 2, 2]])],
)
def test_the_tapes_of_the_examples(attachments, expected):
    assert tapes(attachments) == simulate(attachments) == expected


def test_tapes_are_those_of_lists_of_lists():
    """In training, with words of several pieces and padding: what the batch says of thousands of random trees."""
    chance, vocabulary = random.Random(1), in_pieces()
    sentences = [s.words for s in load("minilang", "dev", 200).sentences]
    for _ in range(100):
        pairs = []
        for _ in range(30):
            words = chance.choice(sentences)[: chance.randint(1, 14)]
            pairs.append((words, random_attachments(chance, len(words))))
        compiled = pad(READING.compile(vocabulary, pairs), range(30))
        found = taped(compiled)
        for row, (words, attachments) in enumerate(pairs):
            assert tapes(attachments) == simulate(attachments)
            pieces = [stop - start for start, stop in vocabulary.encode(words).spans]
            rows = simulate(attachments, pieces)
            assert [found.depth[row, i, 1 : i + 1].tolist() for i in range(1, len(rows) + 1)] == rows
            assert not found.depth[row, :, 0].any() and not found.depth[row, len(rows) + 1 :].any()
            assert (found.to[row, : len(words)] + 1).tolist() == list(attachments)


def test_what_is_open_is_the_right_edge_and_keeps_its_depth():
    """Legal attachments are those that the definition can follow; the depth of an open word is that of its own row."""
    for attachments in all_attachments(5):
        found = taped(pad(READING.compile(speaking("abcde"), [(tuple("abcde"), attachments)]), [0]))
        for word in range(5):
            before = list(attachments[:word])
            legal = []
            for to in range(1, word + 2):
                try:
                    reduces_of([*before, to])
                    legal.append(to - 1)
                except UserError:
                    pass
            assert np.flatnonzero(found.may[0, word]).tolist() == legal
            tape = simulate([*before, word + 1])[-1]
            for j in legal[:-1]:
                assert tape[j] == simulate(attachments)[j][j]


def test_attachments_become_a_tree_and_attachments_again():
    chance = random.Random(2)
    for _ in range(2000):
        words = chance.randint(1, 12)
        attachments = random_attachments(chance, words)
        tree = written([f"w{n}" for n in range(words)], attachments)
        # The last word is merged with everything, whatever it did before.
        reduces = reduces_of(attachments).tolist()
        whole = attachments_of([*reduces[:-1], words - 1 - sum(reduces[:-1])])
        labelled = tree.replace("(", "(X ") if words > 1 else f"(X {tree})"
        assert attachments_in(steps_of(labelled, has_tags=False)) == whole
        assert written([f"w{n}" for n in range(words)], whole) == tree


def test_trees_of_minilang_come_back():
    for sentence in load("minilang", "dev", 300).sentences:
        attachments = attachments_for(sentence)
        tree = written(sentence.words, attachments)
        labelled = tree.replace("(", "(X ") if len(attachments) > 1 else f"(X {tree})"
        assert attachments_in(steps_of(labelled, has_tags=False)) == attachments
        assert reduces_of(attachments).sum() == len(attachments) - 1


def test_a_constituent_of_many_parts_is_nested_and_chains_are_one():
    assert attachments_in(steps_of(BRACKETS)) == [1, 2, 3, 1]
    assert written("abcd", attachments_in(steps_of("(S a b c d)", False))) == "(a (b (c d)))"
    assert written("abcd", attachments_in(steps_of("(S (A (B a)) (C (A (B b) c)) d)", False))) == "(a ((b c) d))"
    assert attachments_in(steps_of("(UH Oh)")) == [1]


def test_there_are_as_many_sequences_and_trees_as_catalan_counted():
    counts, trees = [], []
    for words in range(1, 6):
        rows = all_attachments(words)
        counts.append(len(rows))
        trees.append(len({written("abcde"[:words], row) for row in rows}))
    assert counts == [1, 2, 5, 14, 42] and trees == [1, 1, 2, 5, 14]


def test_what_attaches_to_a_closed_word_is_named():
    with pytest.raises(UserError, match="word 4 attaches to word 2, which is not the last word of a constituent"):
        reduces_of([1, 2, 2, 2])
    with pytest.raises(UserError, match="sentence 1: no attachments: word 2 attaches to word 3"):
        READING.compile(speaking(), [(WORDS, [1, 3, 3, 4])])
    with pytest.raises(UserError, match="sentence 1: 4 words, but 2 attachments"):
        READING.compile(speaking(), [(WORDS, [1, 2])])


# ---- The network


@cache
def model(words=("a", "b"), name="pushdown", seed=3) -> PushdownModel:
    torch.manual_seed(seed)
    vocabulary = in_pieces() if words is None else speaking(words)
    network = build(TransformerConfig(name, layers=2, width=16, heads=2, inner=32), vocabulary)
    with torch.no_grad():
        network.embedding.weight *= 3
        network.output.bias.normal_(0, 0.5)
        for block in network.blocks:
            block.depths.weight *= 3
        for of, weight in network.head.named_parameters():
            if of.endswith("2.weight") and name == "pushdown":  # the paper's scores are large as they are
                weight *= 2
    return network.eval()


def batch(network, pairs):
    return taped_batch(pad(network.reading.compile(network.vocabulary, pairs), range(len(pairs))))


@torch.no_grad()
def joint(network, pairs) -> np.ndarray:
    return network.joint_log_probs(batch(network, pairs)).numpy()


@pytest.mark.parametrize("form", [dense, flex])
def test_the_bias_is_that_of_a_vector_for_every_pair(form):
    """Its values and gradients are those of keys with depths added to them."""
    chance, network = random.Random(3), model(None)
    sentences = [s.words[:9] for s in load("minilang", "dev", 6).sentences]
    pairs = [(words, random_attachments(chance, len(words))) for words in sentences]
    compiled = pad(network.reading.compile(network.vocabulary, pairs), range(6))
    words = batch(network, pairs).batch
    tape, block = words.bias, network.blocks[0]
    visible = words.structure.visible[:, None]
    q, _, _, _ = block.project(network.embed(words.token, words.arc), network.layer_inputs(words).places)
    q = q.detach().requires_grad_()
    fast = block.bias(q, tape)
    naive = torch.einsum("bhid,bijd->bhij", q, block.depths.weight[tape[:, 0]]) / q.shape[3] ** 0.5
    torch.testing.assert_close(fast, naive)
    some = torch.randn_like(fast) * visible
    of_both = [torch.autograd.grad((x * some).sum(), (q, block.depths.weight)) for x in (fast, naive)]
    for one, other in zip(*of_both, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
    with torch.no_grad():
        found = network(batch_of(compiled, form, bias=tape))
        expected = network(words)
    torch.testing.assert_close(found[visible[:, 0].any(2)], expected[visible[:, 0].any(2)], atol=1e-5, rtol=0)


def test_no_more_is_made_for_a_pair_of_positions_than_a_number_for_each_head():
    network, longest = model(), 0
    words = batch(network, [(["a"] * 40, [1, *range(1, 40)])]).batch
    block = network.blocks[0]
    q, _, _, _ = block.project(network.embed(words.token, words.arc), network.layer_inputs(words).places)

    class Watching(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), named=None):
            nonlocal longest
            found = function(*arguments, **(named or {}))
            if isinstance(found, torch.Tensor):
                longest = max(longest, found.numel())
            return found

    with Watching():
        block.bias(q, words.bias)
    B, H, T, _ = q.shape
    assert longest == B * H * T * max(T, DEPTHS)


def test_depths_beyond_the_table_share_its_last_entry():
    network, words = model(), 60
    deep = [1, *range(1, words)]  # ((((a a) a) a) ...
    given = batch(network, [(["a"] * words, deep)])
    tape = given.batch.bias
    assert int(tape.max()) > DEPTHS
    qu = torch.randn(1, network.config.heads, tape.shape[2], network.config.width // network.config.heads)
    for block in network.blocks:
        found = block.bias(qu, tape)
        assert found.equal(block.bias(qu, tape.clamp(max=DEPTHS - 1)))
        last = (qu @ block.depths.weight[-1]) / qu.shape[3] ** 0.5  # of any deeper one
        row, place = (int(x) for x in (tape[0, 0] > DEPTHS).nonzero()[0])
        torch.testing.assert_close(found[0, :, row, place], last[0, :, row])


def test_a_tree_that_is_wider_than_a_tape_has_room_for_is_refused(capsys):
    for words, status in ((65, 0), (66, 2)):
        tree = f"(S {' '.join(f'w{number}' for number in range(words))})"
        assert main(["structure", "--system", "pushdown", "--tree", tree, "--json"]) == status
    assert_one_line(capsys, "more than 64 constituents stand side by side")
    compiled = pad(READING.compile(speaking(), [(WORDS, [1, 2, 3, 1])]), [0])
    compiled.head_last[0, 4], compiled.head_first[0, 4] = 0, 0  # where nothing ends
    with pytest.raises(ValueError, match="sentence 1 of the batch attaches a word to none"):
        taped(compiled)


def plain(network: PushdownModel) -> Transformer:
    """TXL (tokens) with the same body."""
    found = build(TransformerConfig("txl-tokens", layers=2, width=16, heads=2, inner=32), network.vocabulary)
    found.load_state_dict({k: v for k, v in network.state_dict().items() if "depths" not in k and "head." not in k})
    return found.eval()


def test_without_its_tables_it_is_txl_and_the_words_teach_every_table():
    torch.manual_seed(4)
    network = build(TransformerConfig("pushdown", layers=2, width=16, heads=2, inner=32), speaking())
    for block in network.blocks:
        nn.init.zeros_(block.depths.weight)
    given = batch(network, [(WORDS, [1, 2, 3, 1]), (WORDS[:2], [1, 1])])
    log_probs, _ = network.scored(given)
    other = plain(network)
    compiled = pad(other.reading.compile(other.vocabulary, [(WORDS, None), (WORDS[:2], None)]), [0, 1])
    with torch.no_grad():
        torch.testing.assert_close(log_probs, other.log_probs(batch_of(compiled, dense)), atol=1e-6, rtol=0)
    log_probs.sum().backward()
    for block in network.blocks:
        assert block.depths.weight.grad.abs().sum() > 0


def test_an_attachment_changes_nothing_before_its_word_is_read_and_much_after():
    network = model(WORDS)
    pairs = [(WORDS, [1, 2, 3, 1]), (WORDS, [1, 2, 2, 1])]
    with torch.no_grad():
        one, other = network(batch(network, pairs).batch)
    assert one[:3].equal(other[:3])
    assert (one[3:] - other[3:]).abs().max() > 1e-2


@in_both
def test_attachments_sum_to_one_over_the_right_edge_and_the_word_itself(name):
    network, chance = model(WORDS, name), random.Random(5)
    pairs = [(WORDS[:words], random_attachments(chance, words)) for words in (1, 2, 3, 4) for _ in range(5)]
    given = batch(network, pairs)
    h = network(given.batch).flatten(0, 1)
    found = network.attachments(h, given.batch.token.flatten(), given.attachments).exp()
    torch.testing.assert_close(found.sum(2), torch.ones_like(found[:, :, 0]))
    assert (found > 0).equal(given.attachments.may)


@in_both
def test_its_scores_are_those_of_the_formula_for_every_pair(name):
    """Key by key, with the depth of the other word on the tape of the position that asks."""
    network, pairs = model(WORDS, name), [(WORDS, [1, 2, 2, 1])]
    given = batch(network, pairs)
    h = network(given.batch)[0]
    found = network.attachments(h, given.batch.token.flatten(), given.attachments)[0].exp()
    head, tape = network.head, given.batch.bias[0, 0]
    for word in range(4):
        asking, e = h[word], network.embedding(given.batch.token[0, word + 1])
        x = torch.cat([head.asking(asking), e])
        scores = torch.full((4,), -torch.inf)
        for j in torch.nonzero(given.attachments.may[0, word])[:, 0].tolist():
            key = head.key(torch.cat([head.asked(h[j + 1]), head.depths(tape[word, j + 1])]))
            query = head.query(x)
            if name == "pushdown":
                scores[j] = query @ (head.itself(x) if j == word else key) / math.sqrt(32)
            else:
                own = head.itself(torch.cat([query, e]))
                scores[j] = query @ ((own if j == word else key) + head.places(sinusoids(4, 16)[1 + word - j]))
        torch.testing.assert_close(found[word], scores.softmax(0))


def test_it_has_the_parameters_of_the_published_code():
    """251.94 and 34.38 million, at the paper's size: the body with its tables, and the head."""
    words = [f"w{number}" for number in range(32768 - len(SYMBOLS.entries))]
    with torch.device("meta"):
        network = build(TransformerConfig("pushdown"), speaking(words))
    of_head = sum(weight.numel() for weight in network.head.parameters())
    assert of_head == 34_380_160
    assert sum(weight.numel() for weight in network.parameters()) - of_head == 251_942_912


def test_the_papers_head_has_the_parameters_of_its_code_that_are_used():
    """38.6 million, of which 2.1 are never used."""
    with torch.device("meta"):
        head = PaperHead(TransformerConfig("pushdown-paper"))
    used = sum(weight.numel() for weight in head.parameters())
    assert used == 36_473_216 and round((used + 2 * 1024**2) / 1e6, 1) == 38.6


def test_the_papers_scores_have_no_biases_and_its_loss_is_two_means():
    network = model(WORDS, "pushdown-paper")
    assert not network.u.any() and not network.w.any()
    assert {"u", "w"}.isdisjoint(dict(network.named_parameters()))
    with torch.no_grad():
        nats, parts = network.loss(batch(network, [(WORDS, [1, 2, 3, 1]), (WORDS[:3], [1, 2, 1])]))
    means = [float(part.nats / part.events) for part in parts.values()]
    assert float(nats) / parts["word"].events == pytest.approx(sum(means), rel=1e-5)


def test_the_parts_of_the_loss_are_not_halved():
    network = model(WORDS)
    given = batch(network, [(WORDS, [1, 2, 3, 1]), (WORDS[:3], [1, 2, 1])])
    with torch.no_grad():
        nats, parts = network.loss(given)
        assert 2 * float(nats) == pytest.approx(-float(network.joint_log_probs(given).sum()), rel=1e-5)
    assert parts["word"].events == 5 + 4 and parts["attachment"].events == 3 + 2
    assert float(parts["word"].nats + parts["attachment"].nats) == pytest.approx(2 * float(nats), rel=1e-5)


def test_without_a_tape_it_says_what_it_wants():
    with pytest.raises(UserError, match="these layers want a tape, and the batch has none"):
        score_trees(model(WORDS), WORDS, [[1, 2, 3, 1]])


# ---- Step by step


@torch.no_grad()
def stepped(network, words, attachments) -> tuple[list[float], list[float]]:
    """The log-probabilities of the pieces and the end, and of the attachments, one after the other."""
    stepper, of_words, of_attachments = network.stepper(), [], []
    state, encoded = stepper.init(len(words)), network.vocabulary.encode(words)
    silent = stepper.silent[reduces_of(attachments)]

    def take(symbol: int, into: list[float]) -> None:
        nonlocal state
        log_probs = stepper.log_probs(state)[0]
        assert float(log_probs.exp().sum()) == pytest.approx(1, abs=1e-5)
        into.append(float(log_probs[symbol]))
        if symbol != END:
            state = stepper.step(state, np.array([0]), np.array([symbol]))

    for (start, stop), symbol in zip(encoded.spans, silent, strict=True):
        take(encoded.ids[start], of_words)
        take(symbol, of_attachments)
        for piece in encoded.ids[start + 1 : stop]:
            take(piece, of_words)
    take(END, of_words)
    assert stepper.tree(state, 0).tolist() == list(attachments)
    return of_words, of_attachments


@in_both
def test_step_by_step_is_the_same_as_all_at_once(name):
    """With words of several pieces, and with padding in the batch."""
    chance, network = random.Random(6), model(None, name)
    sentences = [s.words[:8] for s in load("minilang", "dev", 12).sentences]
    pairs = [(words, random_attachments(chance, len(words))) for words in sentences]
    assert any(len(network.vocabulary.encode(words).ids) > len(words) for words in sentences)
    given = batch(network, pairs)
    with torch.no_grad():
        of_words, of_attachments = network.scored(given)
    rows = given.batch.predicts // given.batch.token.shape[1]
    for row, (words, attachments) in enumerate(pairs):
        found = stepped(network, words, attachments)
        np.testing.assert_allclose(found[0], of_words[rows == row], atol=1e-5)
        np.testing.assert_allclose(found[1], of_attachments[row, : len(words)], atol=1e-5)


@in_both
def test_a_beam_without_limits_finds_the_sum_over_all_attachments(name):
    for network, words in (
        *((model(name=name), words) for words in (["a"], ["b", "a"], ["a", "b", "b"])),
        (model(None, name), ["There", "differences", "xyz"]),
    ):
        rows = all_attachments(len(words))
        expected = joint(network, [(words, row) for row in rows])
        (found,) = search(network.stepper(), network.vocabulary, [words], ALL)
        assert found.log_prob == pytest.approx(np.logaddexp.reduce(expected), abs=1e-5)
        assert tuple(found.tree.tolist()) == rows[int(expected.argmax())]
        assert found.log_derivation == pytest.approx(expected.max(), abs=1e-5)


def test_plain_kernels_search_as_compiled_ones_do():
    assert_searched_alike(model(), [["a", "b", "b", "a"], ["b"]])


def prefixes(network, words) -> tuple[list[float], list[float]]:
    """log p of each beginning by enumeration; and by a sum over what is expanded, in which a beginning counts once for
    each attachment of its last word."""
    ours, theirs = [], []
    for count in range(1, len(words) + 1):
        values, repeated = [], []
        for row in all_attachments(count - 1):
            pieces, attached = stepped(network, [*words[: count - 1], "a"], [*row, count])
            del pieces[-1], attached[-1]  # the end and the attachment of the last word are not in the beginning
            own, _ = stepped(network, words[:count], [*row, count])
            values.append(sum(own[:count]) + sum(attached))
            ways = len([one for one in all_attachments(count) if one[:-1] == row])
            repeated += [values[-1]] * ways
        ours.append(np.logaddexp.reduce(values))
        theirs.append(np.logaddexp.reduce(repeated))
    return ours, theirs


def test_sums_of_beginnings_are_over_derivations_and_not_over_what_is_expanded():
    network, words = model(), ["b", "a", "b"]
    expected, expanded = prefixes(network, words)
    (found,) = search(network.stepper(), network.vocabulary, [words], ALL)
    np.testing.assert_allclose(found.log_prefix, expected, atol=1e-5)
    assert expanded[1] - expected[1] == pytest.approx(math.log(2))


@pytest.mark.parametrize("before", [[], ["a"], ["b", "a"]])
def test_next_words_and_the_end_sum_to_one(before):
    network = model()
    beginnings = [[*before, word] for word in ("a", "b", "no word")]
    total = [one.log_prefix[-1] for one in search_beginnings(network.stepper(), network.vocabulary, beginnings, ALL)]
    so_far = 0.0
    if before:
        (whole,) = search(network.stepper(), network.vocabulary, [before], ALL)
        total.append(whole.log_prob)
        so_far = whole.log_prefix[-1]
    assert np.logaddexp.reduce(total) == pytest.approx(so_far, abs=1e-5)


def test_a_narrow_beam_is_a_bound_and_many_sentences_are_searched_like_one():
    network = model(None)
    sentences = [s.words[:6] for s in load("minilang", "dev", 5).sentences]
    together = search(network.stepper(), network.vocabulary, sentences, Widths(20, 20))
    for words, found in zip(sentences, together, strict=True):
        (alone,) = search(network.stepper(), network.vocabulary, [words], Widths(20, 20))
        assert found.log_prob == pytest.approx(alone.log_prob, abs=1e-4)
        (wide,) = search(network.stepper(), network.vocabulary, [words], ALL)
        assert found.log_prob <= wide.log_prob + 1e-5


def test_a_sentence_is_drawn_with_a_tree():
    """With words of several pieces, each with one attachment."""
    network = never(model(None, seed=8), UNKNOWN)
    with torch.no_grad():
        network.output.bias[END] += 6
    drawn = list(generate(network.stepper(), network.vocabulary, 10, torch.Generator().manual_seed(1), 6))
    assert all(len(reduces_of(one.tree.tolist())) == len(one.words) for one in drawn)


def test_what_is_drawn_has_the_probability_of_its_words_and_attachments():
    network = model(WORDS, seed=9)
    with torch.no_grad():
        network.output.bias[END] += 4
    drawn = list(generate(network.stepper(), network.vocabulary, 20, torch.Generator().manual_seed(1), 12))
    assert max(len(one.words) for one in drawn) > 3
    for one in drawn:
        assert one.log_prob == pytest.approx(joint(network, [(one.words, one.tree.tolist())])[0], abs=1e-4)


def test_in_a_trie_a_tape_is_gathered_with_the_keys():
    """The words of many trees of one sentence, in a trie whose bias is made of integers."""
    network, words = model(WORDS), list(WORDS)
    # Beginnings with the same words have the same tape only if they attach alike: so all are one tree here.
    pairs = [(words[:count], [1, 2, 3, 1][:count]) for count in (2, 3)] + [(words, [1, 2, 3, 3])]
    sequences = network.reading.compile(network.vocabulary, pairs)
    tries = planned(sequences, torch.device("cpu"), lambda compiled: taped(compiled).depth[:, None])
    found = computed(network, tries).numpy()
    with torch.no_grad():
        given = batch(network, pairs)
        log_probs, _ = network.scored(given)
    rows = (given.batch.predicts // given.batch.token.shape[1]).numpy()
    np.testing.assert_allclose(found, np.bincount(rows, log_probs.double().numpy()), atol=1e-4)


# ---- Training


@pytest.mark.parametrize("name", ["pushdown", *slow(["pushdown-paper"])])
def test_a_family_learns_the_sentences_that_it_reads(name):
    """Twelve different sentences cannot have more than a twelfth each: it comes near that, trees included."""
    network, treebank, parts = by_heart(name, 120)
    assert 0 < float(parts["word"].nats) - 12 * math.log(12) < 0.05 * parts["word"].events
    assert float(parts["attachment"].nats) < 0.05 * parts["attachment"].events
    sentence = treebank.sentences[0]
    (found,) = search(network.stepper(), network.vocabulary, [sentence.words], Widths(20, 20))
    assert found.tree.tolist() == attachments_for(sentence)


def test_sentences_that_it_cannot_read_are_left_out_by_reason():
    chosen, config = family("pushdown"), TransformerConfig("pushdown", layers=1, width=8, heads=1, inner=8)
    treebank = load("minilang", "train", 5)
    bare = Sentence(WORDS, (2, 0, 4, 2), id="bare")
    many = MOST_BESIDE + 2
    wide = Sentence(("a",) * many, (0, *range(1, many)), id="wide", brackets=f"(S {'(X a) ' * many})")
    assert most_open(attachments_in(steps_of(wide.brackets))) == MOST_BESIDE + 1
    with pytest.raises(TreebankError, match="'wide': more than 64 constituents side by side"):
        attachments_for(wide)
    all_of_them = treebank._replace(sentences=[*treebank.sentences, bare, wide])
    examples = chosen.examples(config, speaking(), all_of_them, None)
    assert len(examples) == 5
    assert examples.excluded["without constituents"] == examples.excluded["too wide a tree"] == 1
    with pytest.raises(UserError, match="no sentence is left for model pushdown; left out: 1 without constituents"):
        chosen.examples(config, speaking(), treebank._replace(sentences=[bare]), None)


def test_where_no_more_constituents_fit_a_word_must_attach():
    network, words = model(), MOST_BESIDE + 1
    attachments = [*range(1, words), words - 1]
    given = batch(network, [(["a"] * words, attachments)])
    assert not given.attachments.may[0, -1, -1] and given.attachments.may[0, -1, :-1].all()
    of_words, of_attachments = stepped(network, ["a"] * words, attachments)
    assert sum(of_words + of_attachments) == pytest.approx(joint(network, [(["a"] * words, attachments)])[0], abs=1e-3)
    with pytest.raises(UserError, match="word 65 attaches to word 65"):
        reduces_of(range(1, words + 1))


# ---- A language of brackets

KINDS = 8  # of brackets


def dyck(chance: random.Random, length: int, rises: float, deepest: int) -> list[str]:
    """A word of the Dyck language, no deeper than that; `rises` is how likely it opens where it may do both."""
    words, opened = [], []
    while len(words) < length:
        may_open = len(opened) < min(deepest, length - len(words))
        if may_open and (not opened or chance.random() < rises):
            opened.append(chance.randrange(KINDS))
            words.append(f"open{opened[-1]}")
        else:
            words.append(f"close{opened.pop()}")
    return words


def bracketed(words: list[str], name: str) -> Sentence:
    """Each pair of brackets is a constituent; that of the sentence holds them all. The heads are of no importance."""
    parts = (f"(X (T {word})" if word.startswith("open") else f"(T {word}))" for word in words)
    return Sentence(tuple(words), (0, *[1] * (len(words) - 1)), id=name, brackets=f"(S {' '.join(parts)})")


def depth_before(words: list[str]) -> np.ndarray:
    return np.cumsum([1 if word.startswith("open") else -1 for word in words]) + [w.startswith("close") for w in words]


def closed_rightly(name: str, train: list[Sentence], test: list[Sentence]) -> float:
    """The share of closing brackets that a trained model finds, at depths of 15 and more."""
    chosen, config = family(name), TransformerConfig(name, layers=3, width=64, heads=4, inner=128)
    treebank = load("minilang", "train", 1)
    entries = [f"{side}{kind}" for side in ("open", "close") for kind in range(KINDS)]
    vocabulary = Vocabulary.of_words([entries], symbols_in(chosen, config, treebank))
    torch.manual_seed(1)
    network, device, chance = build(config, vocabulary), torch.device("cpu"), np.random.default_rng(1)
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    examples, asked = (
        chosen.examples(config, vocabulary, treebank._replace(sentences=part), None) for part in (train, test)
    )
    for _ in range(5):
        for numbers in examples.plan(1500, chance, device):
            nats, _ = network.loss(examples.batch(numbers, 1500, device))
            optimizer.zero_grad()
            (nats / len(numbers) / 40).backward()
            optimizer.step()
    closing, found = torch.tensor(["close" in entry for entry in vocabulary.entries]), []
    network.eval()
    for number, sentence in enumerate(test):
        given = asked.batch([number], 10**6, device)
        words = given.batch if name == "pushdown" else given
        with torch.no_grad():
            h = network(words)[0]
            scores = network.output(h, network.embedding.weight, words.legal).masked_fill(~closing, -torch.inf)
        is_asked = (depth_before(sentence.words) >= 15) & [word.startswith("close") for word in sentence.words]
        found += (scores.argmax(1) == words.target)[:-1][torch.from_numpy(is_asked)].tolist()
    assert len(found) > 500
    return sum(found) / len(found)


# Slow: nothing faster shows what a tape is for.
@pytest.mark.slow
def test_deep_brackets_are_closed_better_with_a_tape_than_without():
    """Trained at depths up to 10, asked at depths of 15 to 50 (Murty et al. 2023, section 4.1)."""
    chance = random.Random(1)
    train = [bracketed(dyck(chance, 2 * chance.randint(10, 30), 0.5, 10), f"train-{n}") for n in range(1500)]
    test = [bracketed(dyck(chance, 100, 0.7, 50), f"test-{n}") for n in range(40)]
    assert max(depth_before(sentence.words).max() for sentence in train) == 10
    with_tape, without = (closed_rightly(name, train, test) for name in ("pushdown", "txl-tokens"))
    print(f"right: {with_tape:.3f} with a tape, {without:.3f} without")
    assert with_tape > without + 0.1


# ---- Commands


def test_the_structure_of_a_tree_has_its_attachments_and_tapes(capsys, tmp_path):
    tree = ["structure", "--system", "pushdown", "--tree", "(S (NP There) (VP is (NP a difference)))"]
    assert main([*tree, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["actions"] == ["1", "2", "3", "1"]
    assert found["head_first"] == [-1, 1, 2, 3, 1]
    assert [row[1:] for row in found["depth"]][1:] == [
        [0, None, None, None], [0, 0, None, None], [0, 0, 0, None], [1, 2, 3, 3],
    ]  # fmt: skip
    assert main([*tree, "--pieces", "1 1 1 2"]) == 0
    out = capsys.readouterr().out
    assert "actions: 1 2 3 1" in out and "0 1 2 3 3 3" in out and "difference/2" in out
    assert main([*tree, "--svg", str(tmp_path / "a.svg")]) == 0
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--tree", "(S (NP There) is"], "brackets that are not closed: 1"),
        (["--tree", "(S (NP) is)"], "after 0 words: the constituent is empty"),
        (["--tree", "(S is))"], "after 1 words: nothing is open"),
        (["--tree", "(S is) (S it)"], "2 roots"),
        (["--tree", ""], "the tree is empty"),
        (["--tree", "(S There)", "--pieces", "1 1"], "1 words, but 2 piece counts"),
        (["--tree", "(S There)", "--pieces", "0"], "at least one piece"),
    ],
)
def test_what_is_no_tree_is_one_line(arguments, complaint, capsys):
    assert main(["structure", "--system", "pushdown", *arguments]) == 2
    assert_one_line(capsys, complaint)


# Slow: whole commands, each of which has tests of its own, with other models.
@pytest.mark.slow
def test_a_model_is_trained_and_asked_by_the_commands(tmp_path, monkeypatch, capsys):
    """Training, scoring, surprisals, suites, pairs and sampling know nothing of attachments."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(TINY_SIZE)
    assert main(["train", "tiny.yaml", "--model", "pushdown", "--out", "own"]) == 0
    (tmp_path / "mine.txt").write_text("There is a cat .\n")
    capsys.readouterr()
    assert main(["surprisal", "--model", "own", "mine.txt", "--picture", "a.svg"]) == 0
    capsys.readouterr()
    assert main(["surprisal", "--model", "own", "mine.txt", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["sentences"]
    scored = {}
    for widths in ("--beam 1", "--beam 5", "--within none"):
        assert main(["score", "--model", "own", "mine.txt", "--json", *widths.split()]) == 0
        (scored[widths],) = (row["log_prob"] for row in json.loads(capsys.readouterr().out)["sentences"])
    total = sum(one["surprisals"]) + one["end"]
    assert scored["--beam 1"] < scored["--beam 5"] < scored["--within none"]
    assert scored["--within none"] >= -total - 1e-6  # where nothing is dropped more is found
    assert main(["sample", "--model", "own", "-n", "3", "--words", "9", "--json"]) == 0
    drawn = json.loads(capsys.readouterr().out)["sentences"]
    for sentence in drawn:
        assert sentence["tree"].replace("(", "").replace(")", "").split() == sentence["words"]
    from dtglib.data import minilang

    (tmp_path / "suite.json").write_text(minilang.suites()[0].as_json())
    assert main(["suites", "suite.json", "--model", "own", "--beam", "3"]) == 0
    assert main(["blimp", "minilang", "--model", "own", "--beam", "3", "--fraction", "0.01"]) == 0
    assert "paradigms" in capsys.readouterr().out

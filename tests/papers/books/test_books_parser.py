"""Vectors of words from their contexts, and a parser that is trained with them and saved as an ordinary one."""

from collections import Counter
from dataclasses import fields, replace

import numpy as np
import pytest
import torch
import yaml

from dtglib.basics.errors import UserError
from dtglib.basics.files import repository
from dtglib.data.treebank import Sentence, Treebank, sentence_from_rows
from dtglib.parsing.kinds import kind_of, load_trained
from dtglib.parsing.trained import Trained
from dtglib.runs.parsers import ParserSettings, TrainingData, read_parser_settings, train_parser_into
from dtglib.training.schedule import TrainConfig
from dtgpapers.books import parser, vectors
from dtgpapers.books.parser import BooksParser, BooksParserConfig, TaggedExamples, books_entries_of
from dtgpapers.books.vectors import WordVectors, learn

pytestmark = pytest.mark.usefixtures("one_thread")

CPU = torch.device("cpu")
TINY = BooksParserConfig(
    word_width=4, character_width=4, lstm_layers=2, lstm_width=6, arc_width=5, label_width=3, parser_dropout=0.2,
    rarest=2, averaged_steps=3,
)  # fmt: skip
HOW = TrainConfig(
    epochs=4, batch_positions=12, learning_rate=0.02, first_rate=1e-3, last_rate=1e-3, warmup_steps=2,
    embedding_rate=1.0, clip=5.0, precision="float32",
)  # fmt: skip


def tagged(*sentences: str) -> Treebank:
    """Sentences whose words, as "word/TAG", hang on the first one."""
    read = []
    for sentence in sentences:
        words = [word.split("/") for word in sentence.split()]
        arcs = [("0", "root"), *[("1", "dep")] * (len(words) - 1)]
        numbered = enumerate(zip(words, arcs, strict=True), start=1)
        read.append([(str(n), form, "_", tag, "_", "_", *arc, "_", "_") for n, ((form, tag), arc) in numbered])
    return Treebank([sentence_from_rows(rows) for rows in read], Counter())


BANK = tagged(
    "Dogs/N bark/V", "Dogs/N sleep/V", "dogs/N eat/V bones/N", "bark/V", "Cats/N eat/V fish/N", "eat/V", "fish/N bark/V"
)


@pytest.fixture
def known_from_books(monkeypatch) -> WordVectors:
    """The books know cats and wolves, of which the treebank has one and none."""
    learnt = WordVectors(
        ["cats", "wolves", "dogs"], np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    )
    monkeypatch.setattr(parser, "vectors_of", lambda corpus, **width: learnt)
    return learnt


def train(folder, config: BooksParserConfig = TINY):
    settings = ParserSettings(
        *read_parser_settings(repository() / "configs" / "parsers" / "books.yaml")[:2], config, HOW
    )
    entries = books_entries_of(BANK, config.rarest)
    examples = TaggedExamples(entries, BANK)
    train_parser_into(settings, TrainingData(entries, examples, examples), folder)
    return entries, examples


# --- vectors


def test_words_in_the_same_contexts_have_similar_vectors():
    random = np.random.default_rng(1)
    animals, deeds = ["dog", "cat", "cow", "hen"], ["eats", "sees", "hears", "finds"]
    text = [("A", random.choice(animals), random.choice(deeds), "the", random.choice(animals)) for _ in range(400)]
    words, matrix = learn(text, 10, 3)
    similarity = dict(zip(words, matrix @ matrix[words.index("dog")], strict=True))
    assert min(similarity[word] for word in animals) > max(similarity[word] for word in [*deeds, "a", "the"])
    np.testing.assert_allclose(np.square(matrix).mean(1), 1, rtol=1e-5)


def test_a_context_is_a_word_at_a_place_of_the_same_sentence():
    text, words = vectors._numbered([("a", "B"), ("b", "c", "rare")], 3)
    assert (words, text.tolist()) == (["b", "a", "c"], [1, 0, -1, -1, 0, 2, -1, -1, -1])
    table = vectors._informations(text, 3)
    places = {
        (int(row), vectors.PLACES[column // vectors.CONTEXTS]) for row, column in zip(*table.nonzero(), strict=True)
    }
    assert places == {(0, -1), (0, 1), (1, 1), (2, -1)}


def test_the_narrow_matrix_is_that_of_the_singular_value_decomposition():
    table = vectors.csr_array(np.random.default_rng(2).random((30, 50)))
    left, values, _ = np.linalg.svd(table.toarray(), full_matrices=False)
    exact = left[:, :5] * np.sqrt(values[:5])
    exact /= np.sqrt(np.square(exact).mean(1, keepdims=True))
    found = vectors._narrow(table, 5, more=25)
    np.testing.assert_allclose(found @ found.T, exact @ exact.T, atol=1e-4)


# --- the parser


def test_what_is_saved_is_an_ordinary_parser_with_the_same_losses(tmp_path, known_from_books):
    entries, examples = train(tmp_path)
    saved = load_trained(tmp_path)
    assert type(saved) is Trained and kind_of(tmp_path / "parser.yaml").network is Trained
    assert saved.entries["words"] == ["bark", "cats", "dogs", "eat", "fish", "wolves"]
    torch.manual_seed(1)
    ours = BooksParser("ours", replace(TINY, parser_dropout=0.0), entries)
    optimizer = torch.optim.Adam(ours.parameters(), lr=0.05)
    for numbers in 3 * examples.plan(12, np.random.default_rng(1), CPU):
        ours.loss(examples.batch(numbers, 12, CPU))[0].backward()
        optimizer.step()
        optimizer.zero_grad()
    ours.eval().save(tmp_path / "ours")
    theirs = load_trained(tmp_path / "ours")
    with torch.no_grad():
        for numbers in examples.plan(12, np.random.default_rng(1), CPU):
            batch = examples.batch(numbers, 12, CPU)
            of_ours, of_theirs = ours.loss(batch)[1], theirs.loss(batch)[1]
            for name in ("head", "label"):
                torch.testing.assert_close(of_ours[name].nats, of_theirs[name].nats)
            raw = ours(batch)[1]
            assert not torch.allclose(raw["head"].nats, of_ours["head"].nats)  # averages are other weights


def test_words_of_the_books_alone_share_the_correction_of_unknown_words(known_from_books):
    entries = books_entries_of(BANK, 2)
    embed = BooksParser("new", TINY, entries).network.word_embed
    with torch.no_grad():
        embed.correction.weight.normal_()
    field_numbers = {word: 3 + number for number, word in enumerate(sorted(entries["words"]))}
    table, unknown = embed.weight.detach(), embed.correction.weight[1].detach()
    spelled, matrix = known_from_books
    for word in ("cats", "wolves"):
        expected = torch.from_numpy(matrix[spelled.index(word)]) / 2 + unknown
        torch.testing.assert_close(table[field_numbers[word]], expected)
    torch.testing.assert_close(table[1], unknown)
    assert not torch.allclose(table[field_numbers["dogs"]], torch.from_numpy(matrix[2]) / 2 + unknown)


def test_rare_tags_lose_their_features_and_a_batch_has_one_length(known_from_books, monkeypatch):
    monkeypatch.setattr(parser, "RAREST_TAG", 6)
    entries = books_entries_of(BANK, 2)
    assert entries["tags"] == ["N|_", "V|_"]
    monkeypatch.setattr(parser, "RAREST_TAG", 9)
    assert books_entries_of(BANK, 2)["tags"] == ["N", "V"]
    examples = TaggedExamples(entries, BANK)
    assert examples.trees[2][2].tolist() == [-1, 0, 1, 0]
    plan = examples.plan(100, np.random.default_rng(1), CPU)
    assert sorted(len(set(examples.lengths[numbers])) for numbers in plan) == [1, 1, 1]
    assert Counter(np.concatenate(plan).tolist()) == Counter(range(len(BANK.sentences)))


def test_the_config_sets_every_key():
    path = repository() / "configs" / "parsers" / "books.yaml"
    known = {field.name for config in read_parser_settings(path) for field in fields(config)}
    assert set(yaml.safe_load(path.read_text())) == known


def test_tags_need_a_treebank_that_has_them():
    with pytest.raises(UserError, match="mine: has no tags; the treebank must be CoNLL-U"):
        parser.tags_of(Sentence(("Dogs",), (0,), id="mine"))

"""`dtglib score`: log p of each sentence and the perplexities of all, as a table and as JSON; mistakes are one line."""

import json
import math
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from running import without_conventions
from toys import SYSTEM_OF, by_kind, by_model

from dtglib.cli.main import main
from dtglib.data.corpora import load
from dtglib.data.symbols import arcs
from dtglib.data.treebank import Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.evaluate.perplexity import by_trees, exactly, perplexity
from dtglib.families.base import build, load_model
from dtglib.network.transformer import TransformerConfig
from dtglib.parsing.parser import load_parser
from dtglib.parsing.propose import METHODS, propose
from dtglib.parsing.trained import ParserConfig, Trained, entries_of

pytestmark = pytest.mark.usefixtures("one_thread")

MODELS = [*SYSTEM_OF, "txl-tokens"]
TEXT = "There is a difference.\nYes\n\nThe differentials don't differ.\n"
WORDS = [
    ("There", "is", "a", "difference", "."),
    ("Yes",),
    ("The", "differentials", "do", "n't", "differ", "."),
]


@pytest.fixture(scope="module")
def treebank() -> Treebank:
    return load("minilang", "train", 60)


@pytest.fixture(scope="module")
def vocabulary(treebank) -> Vocabulary:
    """Short pieces, so that most words are cut."""
    return Vocabulary.train([sentence.words for sentence in treebank.sentences], 256 + 70)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, treebank, vocabulary) -> Path:
    """A parser and the five models, all with the weights that they were born with."""
    folder = tmp_path_factory.mktemp("trained")
    small = {"word_width": 8, "character_width": 4, "lstm_layers": 1, "lstm_width": 8, "arc_width": 8, "label_width": 4}
    torch.manual_seed(5)
    Trained("x", ParserConfig(**small), entries_of(treebank, 1)).save(folder / "parser")
    for name in MODELS:
        build(TransformerConfig(model=name, layers=1, width=16, heads=2, inner=32), vocabulary).save(folder / name)
    return folder


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "mine.txt"
    path.write_text(TEXT)
    return path


def score(folder: Path, name: str, file: object, *more: object) -> int:
    parser = ["--parser", folder / "parser"] if name in SYSTEM_OF else []
    return main(["score", "--model", *map(str, [folder / name, *parser, file, *more])])


def as_json(capsys, folder: Path, name: str, file: object, *more: object) -> dict:
    assert score(folder, name, file, "--json", *more) == 0
    return json.loads(capsys.readouterr().out)


def by_hand(folder: Path, name: str, count: int = 300, method: str = "sample", seed: int = 1) -> list:
    """What the functions of the package say."""
    model = load_model(folder / name)
    if name not in SYSTEM_OF:
        return exactly(model, WORDS)
    proposed = propose(load_parser(folder / "parser"), WORDS, count, METHODS[method], seed)
    return list(by_trees(model, WORDS, (trees.heads for trees in proposed)))


def assert_one_line(capsys, *parts: str) -> None:
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("dtglib: ")
    for part in parts:
        assert part in line


# ---- Results


@pytest.mark.parametrize("name", by_kind(MODELS))
def test_json_has_of_every_sentence_and_of_all_what_the_functions_say(name, folder, file, capsys):
    found = as_json(capsys, folder, name, file)
    expected = by_hand(folder, name)
    assert [row["text"] for row in found["sentences"]] == [" ".join(words) for words in WORDS]
    for row, by_function in zip(found["sentences"], expected, strict=True):
        assert set(row) == {"text", "words", "pieces", "trees", "log_prob", "best", "ends", "unasked"}
        assert (row["words"], row["pieces"], row["trees"]) == by_function[:3]
        assert row["log_prob"] == pytest.approx(by_function.log_prob, abs=1e-6)
        assert row["best"] == (list(by_function.best) if by_function.best else None)
    total = perplexity(expected)
    assert found["totals"] == {
        "sentences": 3, "words": 12, "pieces": total.pieces, "ends": 3, "nats": pytest.approx(total.nats),
        "perplexity_per_piece": pytest.approx(math.exp(total.nats / (total.pieces + 3))),
        "perplexity_per_word": pytest.approx(math.exp(total.nats / (12 + 3))),
    }  # fmt: skip
    assert total.pieces > 20


@pytest.mark.parametrize("name", by_kind(MODELS))
def test_the_table_has_the_same_numbers(name, folder, file, capsys):
    assert score(folder, name, file, "--trees", 20) == 0
    (header, *rows, empty, totals, last), conventions = without_conventions(capsys.readouterr().out)
    assert f"model: {name}; text: {file}; unit: nats; beginning: <ROOT>, given; end: <END>, predicted" in conventions
    assert ("log p: a lower bound by 20 trees of" if name in SYSTEM_OF else "log p: exact") in conventions
    expected = by_hand(folder, name, 20)
    kind = "log p, at least" if name in SYSTEM_OF else "log p"
    assert header.split() == f"words pieces trees {kind} best tree sentence".split()
    for row, words, of_function in zip(rows, WORDS, expected, strict=True):
        best = map(str, of_function.best or ())
        counts = map(str, of_function[:3])
        assert row.split() == [*counts, str(round(of_function.log_prob, 4)), *best, *words]
    total = perplexity(expected)
    assert empty == ""
    assert totals == f"3 sentences, 12 words, {total.pieces} pieces, {total.nats:.3f} nats"
    kind = "at most " if name in SYSTEM_OF else ""
    per_piece, per_word = f"{kind}{total.per_piece:.3f} per piece", f"{kind}{total.per_word:.3f} per word"
    assert last == f"perplexity: {per_piece}, {per_word}, ends included"


def test_a_sentence_has_as_many_trees_as_are_asked_for_or_all_that_it_has(folder, file, capsys):
    def trees(*options: object) -> list[int]:
        return [row["trees"] for row in as_json(capsys, folder, "dtg", file, *options)["sentences"]]

    assert trees() == [143, 1, 300]
    assert trees("--trees", 7) == [7, 1, 7]
    assert trees("--trees", 1000) == [143, 1, 728]


@pytest.mark.parametrize("method", ["sample", "best"])
def test_the_trees_are_those_of_the_method_and_the_seed(method, folder, file, capsys):
    def log_probs(*options: object) -> list[float]:
        return [row["log_prob"] for row in as_json(capsys, folder, "dtg", file, "--trees", 5, *options)["sentences"]]

    found, other = log_probs("--method", method), log_probs("--method", method, "--seed", 2)
    assert found == pytest.approx([row.log_prob for row in by_hand(folder, "dtg", 5, method)], abs=1e-6)
    assert other == pytest.approx([row.log_prob for row in by_hand(folder, "dtg", 5, method, 2)], abs=1e-6)
    assert (found == other) == (method == "best")


def test_samples_are_what_is_drawn_unless_said_otherwise(folder, file, capsys):
    plain = as_json(capsys, folder, "dtg", file, "--trees", 5)
    assert plain == as_json(capsys, folder, "dtg", file, "--trees", 5, "--method", "sample", "--seed", 1)


def test_txl_tokens_needs_no_parser_and_is_not_held_up_by_one(folder, file, capsys):
    without = as_json(capsys, folder, "txl-tokens", file)
    assert without == as_json(capsys, folder, "txl-tokens", file, "--parser", "nowhere", "--trees", 2)
    assert score(folder, "txl-tokens", file, "--parser", "nowhere") == 0
    said = capsys.readouterr()
    assert "log p: exact" in without_conventions(said.out)[1]
    assert "without nowhere: TXL (tokens) sums over no parser's trees" in said.err


def test_a_sentence_is_scored_whether_its_own_tree_crosses_or_not_and_whether_it_has_one(folder, tmp_path, capsys):
    found = []
    for heads in ("3 4 0 3", "2 0 4 2", "_ _ _ _"):
        path = tmp_path / "mine.conllu"
        rows = zip(["There", "is", "a", "difference"], heads.split(), strict=True)
        path.write_text("".join(f"{n}\t{w}\t_\t_\t_\t_\t{h}\tdep\t_\t_\n" for n, (w, h) in enumerate(rows, 1)) + "\n")
        if heads[0] == "_":
            path.write_text(path.read_text().replace("\tdep", "\t_"))
        found.append(as_json(capsys, folder, "dtg", path))
    assert found[0] == found[1] == found[2]
    assert found[0]["totals"]["sentences"] == 1


def test_the_first_so_many_sentences_of_a_part_of_a_corpus(folder, capsys):
    found = as_json(capsys, folder, "dtg", "minilang", "--split", "dev", "--sentences", 3, "--trees", 4)
    words = [" ".join(sentence.words) for sentence in islice(load("minilang", "dev", 3).sentences, 3)]
    assert [row["text"] for row in found["sentences"]] == words


def test_what_is_left_out_is_said_beside_the_results(folder, file, capsys):
    assert score(folder, "txl-tokens", file) == 0
    assert capsys.readouterr().err == f"dtglib: {file}: 1 left out: empty line\n"


# ---- Unusual sentences


@pytest.mark.parametrize("name", by_kind(MODELS))
def test_one_word_has_one_tree(name, folder, tmp_path, capsys):
    path = tmp_path / "one.txt"
    path.write_text("Yes")
    (row,) = as_json(capsys, folder, name, path)["sentences"]
    assert (row["words"], row["trees"]) == ((1, 1) if name in SYSTEM_OF else (1, 0))
    assert row["best"] == ([0] if name in SYSTEM_OF else None)
    assert -1000 < row["log_prob"] < 0


@pytest.mark.parametrize("name", by_kind(MODELS))
def test_characters_that_nobody_knows_are_scored_in_bytes(name, folder, tmp_path, capsys):
    path = tmp_path / "strange.txt"
    path.write_text("日本語 😀 ∮\n")
    (row,) = as_json(capsys, folder, name, path, "--trees", 5)["sentences"]
    assert row["words"] == 3
    assert row["pieces"] >= len("日本語😀∮".encode())
    assert -1000 < row["log_prob"] < 0


def test_a_vocabulary_of_words_takes_them_for_its_unknown_word(folder, tmp_path, capsys):
    torch.manual_seed(5)
    vocabulary = Vocabulary.of_words([["There", "is"]])
    config = TransformerConfig(model="dtg", layers=1, width=16, heads=2, inner=32)
    build(config, vocabulary).save(tmp_path / "words")
    path = tmp_path / "strange.txt"
    path.write_text("There is\n日本語 😀\n∮ ∮\n")
    arguments = ["--model", tmp_path / "words", "--parser", folder / "parser", path, "--json"]
    assert main(["score", *map(str, arguments)]) == 0
    rows = json.loads(capsys.readouterr().out)["sentences"]
    assert [row["pieces"] for row in rows] == [2, 2, 2]
    assert rows[1]["log_prob"] == rows[2]["log_prob"] != rows[0]["log_prob"]


@pytest.mark.parametrize("name", by_kind(MODELS))
def test_200_words_are_scored(name, folder, tmp_path, capsys):
    path = tmp_path / "long.txt"
    path.write_text("the difference " * 100)
    (row,) = as_json(capsys, folder, name, path, "--trees", 3)["sentences"]
    assert (row["words"], row["trees"]) == (200, 3 if name in SYSTEM_OF else 0)
    assert -100_000 < row["log_prob"] < -200
    if name in SYSTEM_OF:
        assert len(row["best"]) == 200


@pytest.fixture
def short_of_reach(tmp_path) -> Path:
    """A model of arc-swift that can draw no arc beyond the next word."""
    vocabulary = Vocabulary.of_words([["There", "is"]], arcs(1))
    build(TransformerConfig(model="dtg-swift", layers=1, width=16, heads=2, inner=32), vocabulary).save(
        tmp_path / "short"
    )
    return tmp_path / "short"


def far_tree(folder: Path, words: tuple[str, ...]) -> int | None:
    """A seed by which the one tree that is drawn has an arc beyond the next word, for arc-swift."""
    for seed in range(50):
        (trees,) = propose(load_parser(folder / "parser"), [words], 1, METHODS["sample"], seed)
        if trees.heads[0].tolist() == [0, 1, 1]:  # the second word stands between the first and the third
            return seed
    return None


def test_a_sentence_without_a_possible_tree_has_an_infinite_perplexity(folder, short_of_reach, tmp_path, capsys):
    path = tmp_path / "mine.txt"
    path.write_text("There is difference\n")
    seed = far_tree(folder, ("There", "is", "difference"))
    arguments = ["--model", short_of_reach, "--parser", folder / "parser", path, "--trees", 1, "--seed", seed]
    assert main(["score", *map(str, arguments)]) == 0
    out = capsys.readouterr().out
    assert "-inf" in out
    assert out.splitlines()[-1] == "perplexity: at most inf per piece, at most inf per word, ends included"


def test_an_infinite_perplexity_is_printed_as_valid_json(folder, short_of_reach, tmp_path, capsys):
    path = tmp_path / "mine.txt"
    path.write_text("There is difference\n")
    seed = far_tree(folder, ("There", "is", "difference"))
    arguments = ["--model", short_of_reach, "--parser", folder / "parser", path, "--trees", 1, "--seed", seed]
    assert main(["score", *map(str, arguments), "--json"]) == 0

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    (row,) = found["sentences"]
    assert (row["trees"], row["log_prob"], row["best"]) == (1, None, None), "none of its trees is the best"
    totals = found["totals"]
    assert (totals["nats"], totals["perplexity_per_piece"], totals["perplexity_per_word"]) == (None, None, None)
    assert (totals["sentences"], totals["words"]) == (1, 3)


# ---- Mistakes


@pytest.mark.parametrize("name", by_model(SYSTEM_OF))
def test_who_sums_over_trees_asks_for_a_parser(name, folder, file, capsys):
    file.write_text("Yes\n")
    assert main(["score", "--model", str(folder / name), str(file)]) == 2
    assert_one_line(capsys, f"{name}: this model sums over trees, which a parser proposes; name one with --parser")


@pytest.mark.parametrize("text", ["\n\n\n", "", "  \n\t\n"])
def test_a_file_of_nothing_but_empty_lines_is_named(text, folder, file, capsys):
    file.write_text(text)
    assert score(folder, "txl-tokens", file) == 2
    assert_one_line(capsys, f"{file} is empty")


@pytest.mark.parametrize(("name", "text"), [("mine.txt", "\u00ad\n"), ("mine.conllu", "# text = There is\n\n")])
def test_a_file_that_looks_full_and_holds_no_sentence_is_named(name, text, folder, tmp_path, capsys):
    """A soft hyphen is no word, and a comment is no sentence."""
    path = tmp_path / name
    path.write_text(text)
    assert score(folder, "txl-tokens", path) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert str(path) in err.splitlines()[-1]
    assert "Traceback" not in err


def test_a_model_that_is_not_there_is_named(folder, file, tmp_path, capsys):
    """Before the file is read: nothing is said of its empty line, nor that another is not there."""
    for read in (file, tmp_path / "nowhere.txt"):
        assert score(tmp_path, "txl-tokens", read) == 2
        hint = "did you mean txl-tokens-ud? `dtglib train` makes one"
        assert_one_line(capsys, f"{tmp_path / 'txl-tokens'}: holds no model; {hint}")


def test_a_parser_that_is_not_there_is_named_with_the_way_out(folder, file, capsys):
    file.write_text("Yes\n")
    arguments = ["--model", folder / "dtg", "--parser", folder / "nowhere", file]
    assert main(["score", *map(str, arguments)]) == 2
    assert_one_line(capsys, "nowhere", "`dtglib train-parser` makes one")


def test_a_model_in_the_place_of_the_parser_and_the_other_way_round_is_one_line(folder, file, capsys):
    file.write_text("Yes\n")
    for model, parser in (("dtg", "txl-trans"), ("parser", "dtg")):
        arguments = ["--model", folder / model, "--parser", folder / parser, file]
        assert main(["score", *map(str, arguments)]) == 2
        assert_one_line(capsys, str(folder))


def test_a_file_that_is_not_there_is_named(folder, tmp_path, capsys):
    assert score(folder, "txl-tokens", tmp_path / "nowhere.txt") == 2
    assert_one_line(capsys, "nowhere.txt", "neither a file, a folder nor a corpus")


def test_a_file_that_is_no_text_is_named_with_its_line(folder, file, capsys):
    file.write_bytes(b"There is\n\xff\xfe\xff\n")
    assert score(folder, "txl-tokens", file) == 2
    assert_one_line(capsys, "mine.txt:2")


def test_which_part_of_a_corpus_must_be_said(folder, capsys):
    assert score(folder, "txl-tokens", "minilang") == 2
    assert_one_line(capsys, "minilang: say which split; it has train, dev, test")


@pytest.mark.parametrize("option", ["--trees=0", "--trees=many", "--method=worst", "--seed=x", "--seed=-1"])
def test_an_option_that_makes_no_sense_is_refused(option, folder, file, capsys):
    with pytest.raises(SystemExit) as stop:
        score(folder, "dtg", file, option)
    assert stop.value.code == 2
    assert option.partition("=")[0] in capsys.readouterr().err


def test_what_is_left_out_is_said_before_a_mistake_is(folder, file, capsys):
    assert main(["score", "--model", str(folder / "dtg"), str(file)]) == 2
    left_out, complaint = capsys.readouterr().err.splitlines()
    assert left_out == f"dtglib: {file}: 1 left out: empty line"
    assert "this model sums over trees" in complaint


def test_weights_that_are_no_numbers_are_one_line(folder, file, tmp_path, capsys):
    file.write_text("Yes\n")
    parser = load_parser(folder / "parser")
    with torch.no_grad():
        next(parser.network.parameters()).fill_(np.nan)
    parser.save(tmp_path / "broken")
    arguments = ["--model", folder / "dtg", "--parser", tmp_path / "broken", file]
    assert main(["score", *map(str, arguments)]) == 2
    assert_one_line(capsys, "'Yes' are no numbers; train it anew")

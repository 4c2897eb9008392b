"""Words, pieces and ids: every id has one class, every word comes back, and the same words give the same file."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import PIECES, SENTENCES

from dtglib.basics.errors import UserError
from dtglib.data import vocabulary as vocabulary_module
from dtglib.data.symbols import ARCS, arcs
from dtglib.data.vocabulary import END, MARK, PAD, ROOT, UNKNOWN, Vocabulary, VocabularyConfig


@pytest.fixture(scope="module")
def pieces() -> Vocabulary:
    return Vocabulary.train(SENTENCES, PIECES)


@pytest.fixture(scope="module")
def words() -> Vocabulary:
    return Vocabulary.of_words(SENTENCES)


@pytest.fixture(params=["pieces", "words"])
def vocabulary(request) -> Vocabulary:
    return request.getfixturevalue(request.param)


def test_a_run_gets_the_vocabulary_that_its_config_asks_for(words, pieces):
    assert Vocabulary.configured(VocabularyConfig("words"), SENTENCES) == words
    assert Vocabulary.configured(VocabularyConfig("pieces", PIECES), SENTENCES) == pieces


# The reserved ids


def test_the_reserved_entries_come_first_in_a_fixed_order(vocabulary):
    assert vocabulary.entries[:9] == (
        "<pad>", "<ROOT>", "<END>", "<unknown>", "LEFTARC", "RIGHTARC", "POP", "LEFTARC[2]", "RIGHTARC[2]"
    )  # fmt: skip
    assert (PAD, ROOT, END, UNKNOWN) == (0, 1, 2, 3)
    assert vocabulary.transition("RIGHTARC[31]") == len(vocabulary.reserved) - 1 == 66


def test_a_longer_reach_moves_no_reserved_id_that_a_shorter_one_has():
    assert arcs(10).entries[: len(arcs(2).entries)] == arcs(2).entries


def test_an_arc_beyond_the_reach_is_refused_with_the_way_out(words):
    with pytest.raises(UserError, match=r"no transition LEFTARC\[32\]: it has .* last is RIGHTARC\[31\]; build one"):
        words.transition("LEFTARC[32]")
    with pytest.raises(UserError, match="reach of arcs must be from 1 to 31, not 32"):
        arcs(32)


@pytest.mark.parametrize("name", ["<pad>", "<unknown>", "SHIFT", "LEFTARC[1]", "LEFTARC[0]", "There", ""])
def test_other_entries_are_no_transitions(words, name):
    with pytest.raises(UserError, match="no transition"):
        words.transition(name)


# Slow: all treebanks are read for one number, which only they have.
@pytest.mark.slow
def test_the_reach_is_enough_for_every_projective_tree_of_the_treebanks(data):
    """Arc-swift's k is the place of the other word on the stack, counted from the top."""
    deepest = 0
    for path in (data / "ud").glob("*/*.conllu"):
        for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
            heads = [int(row[6]) for row in (line.split("\t") for line in block.split("\n")) if row[0].isdigit()]
            deepest = max(deepest, deepest_arc(heads))
    assert deepest == 15
    assert deepest < len(ARCS.left)


def deepest_arc(heads: list[int]) -> int:
    stack, deepest = [0], 0
    for front, head in enumerate(heads, start=1):
        while dependents := [place for place, word in enumerate(stack) if word and heads[word - 1] == front]:
            if any(not 0 < heads[word - 1] < front for word in stack[dependents[-1] + 1 :]):
                return 0  # not projective: a word would be popped before it has its head
            deepest = max(deepest, len(stack) - dependents[-1])
            del stack[dependents[-1] :]
        if head < front:
            if head not in stack:
                return 0
            deepest = max(deepest, len(stack) - stack.index(head))
            del stack[stack.index(head) + 1 :]
        stack.append(front)
    return deepest


# Words and pieces


def test_a_word_level_vocabulary_has_one_piece_per_word(words):
    encoded = words.encode(["There", "is", "a", "difference"])
    assert encoded.spans == ((0, 1), (1, 2), (2, 3), (3, 4))
    assert [words.entries[number] for number in encoded.ids] == ["▁There", "▁is", "▁a", "▁difference"]


def test_a_word_level_vocabulary_lists_the_most_frequent_words_first():
    by_frequency = Vocabulary.of_words([["b", "c", "a"], ["c", "b"], ["c"]]).entries[len(ARCS.entries) :]
    assert by_frequency == ("▁c", "▁b", "▁a")


def test_a_word_that_the_training_words_lack_is_unknown_at_word_level(words):
    assert words.encode(["is", "Is", ""]).ids[1:] == (UNKNOWN, UNKNOWN)
    assert words.decode([UNKNOWN]) == ["<unknown>"]


def test_a_rare_word_is_cut_into_pieces_of_which_only_the_first_starts_a_word(pieces):
    ids, spans = pieces.encode(["The", "tables", "differ"])
    assert len(ids) > 3
    assert [stop for _, stop in spans[:-1]] == [start for start, _ in spans[1:]]
    assert spans[-1][1] == len(ids)
    starts = {start for start, _ in spans}
    assert [pieces.starts_word[number] for number in ids] == [place in starts for place in range(len(ids))]


def test_a_character_that_was_never_seen_is_spelled_in_bytes_after_the_bare_mark(pieces):
    encoded = pieces.encode(["☃"])
    assert [pieces.entries[number] for number in encoded.ids] == [MARK, "<0xE2>", "<0x98>", "<0x83>"]


awkward_words = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.text(st.sampled_from("The dif▁▅\u00a0\t\n\0ﬁ①e\u0301<0x41>unk☃🙂"), max_size=12),
    st.sampled_from(["<unknown>", "<pad>", "LEFTARC", "POP", "<0x41>", "▁", "▁▁a", " a", "a ", "\ufeff", "20 000"]),
)


@settings(max_examples=500, deadline=None)
@given(sentence=st.lists(awkward_words, max_size=5))
def test_every_word_comes_back_and_starts_with_the_only_word_starting_piece(pieces, sentence):
    ids, spans = pieces.encode(sentence)
    assert pieces.decode(ids) == sentence
    for start, stop in spans:
        assert pieces.starts_word[ids[start]]
        assert all(pieces.continues_word[number] for number in ids[start + 1 : stop])


def test_every_id_has_exactly_one_class(vocabulary):
    reserved = np.arange(len(vocabulary)) < len(vocabulary.reserved)
    reserved[UNKNOWN] = vocabulary.kind == "pieces"  # at word level, <unknown> is a word
    classes = np.stack([reserved, vocabulary.starts_word, vocabulary.continues_word])
    assert (classes.sum(axis=0) == 1).all()


def test_no_word_is_continued_in_a_word_level_vocabulary(words):
    assert not words.continues_word.any()


def test_decoding_passes_over_transitions_and_marks(pieces):
    ids = pieces.encode(["There", "is"]).ids
    assert pieces.decode([ROOT, *ids[:-1], pieces.transition("LEFTARC"), ids[-1], END, PAD]) == ["There", "is"]


def test_a_continuation_with_no_word_to_continue_is_an_error(pieces):
    with pytest.raises(ValueError, match="none has begun"):
        pieces.decode([int(np.flatnonzero(pieces.continues_word)[0])])


@pytest.mark.parametrize(("dangerous", "harmless"), [("<unk>", "<ank>"), ("<0x41>x", "<0x4l>x"), ("POPx", "PUPx")])
def test_words_that_look_like_reserved_entries_are_trained_on_like_others(dangerous, harmless):
    """SentencePiece cuts its training text in two wherever the name of a control piece occurs, so we define none."""
    model, other = (Vocabulary.train([*SENTENCES, *[[word]] * 9], PIECES) for word in (dangerous, harmless))
    assert len(model.encode([dangerous]).ids) == len(other.encode([harmless]).ids)


def test_pieces_are_learnt_from_an_even_selection_of_many_sentences(monkeypatch):
    rare = [["rarely"]] * len(SENTENCES)
    mixed = [sentence for pair in zip(SENTENCES, rare, strict=True) for sentence in pair]
    monkeypatch.setattr(vocabulary_module, "LEARNT_FROM", len(SENTENCES))
    assert Vocabulary.train(mixed, PIECES) == Vocabulary.train(SENTENCES, PIECES), "every second one"
    monkeypatch.setattr(vocabulary_module, "LEARNT_FROM", len(mixed))
    assert Vocabulary.train(mixed, PIECES) != Vocabulary.train(SENTENCES, PIECES), "all of them"


def test_a_sentence_with_a_sign_that_sentencepiece_reserves_is_not_lost():
    zebras = Vocabulary.train([*SENTENCES, *[["zebras", "and▅", "zebras"]] * 9], PIECES)
    assert len(zebras.encode(["zebras"]).ids) == 1


# Reproducible, and fast


def test_the_same_words_give_the_same_bytes_in_another_process(pieces):
    program = (
        "import sys, json; from dtglib.data.vocabulary import Vocabulary;"
        "sys.stdout.buffer.write(Vocabulary.train(json.load(sys.stdin), int(sys.argv[1])).model)"
    )
    other = subprocess.run(
        [sys.executable, "-c", program, str(PIECES)],
        input=json.dumps(SENTENCES).encode(),
        capture_output=True,
        check=True,
    )
    assert other.stdout == pieces.model == Vocabulary.train(SENTENCES, PIECES).model
    assert other.stderr == b"", "SentencePiece must be silent"


def test_the_module_does_not_need_torch():
    program = "import sys, dtglib.data.vocabulary, dtglib.data.tokenize; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


# Slow: it measures a time, beside which nothing may run.
@pytest.mark.alone
def test_a_hundred_thousand_words_a_second_are_encoded(pieces):
    sentences = SENTENCES * 1000
    pieces.encode(sentences[0])
    start = time.perf_counter()
    for sentence in sentences:
        pieces.encode(sentence)
    assert sum(map(len, sentences)) / (time.perf_counter() - start) > 100_000  # it is ten times as many


def test_the_words_of_a_treebank_come_back(data):
    lines = (data / "ud/UD_English-EWT/en_ewt-ud-dev.conllu").read_text(encoding="utf-8").split("\n")
    rows = (line.split("\t") for line in lines if line and line[0] != "#")
    treebank = [[row[1] for row in rows if row[0].isdigit()]]
    vocabulary = Vocabulary.train(treebank, 2000)
    assert len(vocabulary) == 2000 + len(vocabulary.reserved)
    assert vocabulary.decode(vocabulary.encode(treebank[0]).ids) == treebank[0]


# Too few words


def test_too_few_words_for_so_many_pieces_is_explained():
    with pytest.raises(UserError, match="too few for 8000 pieces: they yield at most 263"):
        Vocabulary.train([["There", "is"]], 8000)


def test_too_few_pieces_for_so_many_characters_is_explained():
    with pytest.raises(UserError, match=r"10 pieces are too few: .* need 263"):
        Vocabulary.train([["There", "is"]], 10)


@pytest.mark.parametrize("make", [Vocabulary.train, Vocabulary.of_words])
@pytest.mark.parametrize("nothing", [[], [[]]])
def test_no_words_at_all_is_explained(make, nothing):
    with pytest.raises(UserError, match="there are no words"):
        make(nothing)


# Files


def test_a_saved_vocabulary_is_loaded_as_it_was(vocabulary, tmp_path):
    vocabulary.save(tmp_path)
    loaded = Vocabulary.load(tmp_path)
    assert loaded == vocabulary
    assert loaded.fingerprint == vocabulary.fingerprint
    assert loaded.encode(SENTENCES[2]) == vocabulary.encode(SENTENCES[2])


def test_different_vocabularies_have_different_fingerprints(pieces, words):
    others = [
        Vocabulary.of_words(SENTENCES[:1]),
        Vocabulary.of_words(SENTENCES, arcs(5)),
        Vocabulary.train(SENTENCES, 300),
    ]
    assert len({vocabulary.fingerprint for vocabulary in [pieces, words, *others]}) == 5


def test_a_saved_word_list_has_one_word_per_line(words, tmp_path):
    words.save(tmp_path)
    lines = (tmp_path / "words.txt").read_text(encoding="utf-8").splitlines()
    assert [MARK + line for line in lines] == list(words.entries[len(words.reserved) :])


def test_a_word_with_a_line_break_cannot_be_in_a_word_list():
    with pytest.raises(UserError, match=r"'a\\nb' has a line break"):
        Vocabulary.of_words([["a\nb"]])


def file_of(vocabulary, folder):
    return folder / {"pieces": "pieces.model", "words": "words.txt"}[vocabulary.kind]


def cut_short(content: bytes) -> bytes:
    return content[:-5]


def altered(content: bytes) -> bytes:
    return content[:-1] + b"x"


def emptied(content: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [cut_short, altered, emptied])
def test_a_damaged_file_is_named(vocabulary, tmp_path, damage):
    vocabulary.save(tmp_path)
    path = file_of(vocabulary, tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UserError, match=rf"{path.name}: its checksum"):
        Vocabulary.load(tmp_path)


def test_a_missing_file_is_named(vocabulary, tmp_path):
    vocabulary.save(tmp_path)
    file_of(vocabulary, tmp_path).unlink()
    with pytest.raises(UserError, match=rf"{file_of(vocabulary, tmp_path).name}: No such file"):
        Vocabulary.load(tmp_path)


def test_a_folder_without_a_vocabulary_is_named(tmp_path):
    with pytest.raises(UserError, match=r"nowhere.vocabulary.json: No such file"):
        Vocabulary.load(tmp_path / "nowhere")


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "{}", '{"kind": "words"}', "\xff"])
def test_a_broken_description_is_named(words, tmp_path, text):
    words.save(tmp_path)
    (tmp_path / "vocabulary.json").write_text(text, encoding="latin-1")
    with pytest.raises(UserError, match=r"vocabulary.json: not the description of a vocabulary"):
        Vocabulary.load(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [("reserved", {"<pad>": 1}), ("kind", "letters"), ("file", "../words.txt"), ("symbols", arcs(5)._asdict())],
)
def test_a_vocabulary_of_another_make_is_refused(words, tmp_path, key, value):
    words.save(tmp_path)
    about = json.loads((tmp_path / "vocabulary.json").read_text(encoding="utf-8"))
    (tmp_path / "vocabulary.json").write_text(json.dumps(about | {key: value}), encoding="utf-8")
    with pytest.raises(UserError, match=r"vocabulary.json: its reserved ids are not those of this version"):
        Vocabulary.load(tmp_path)


def test_a_string_in_the_place_of_its_words_is_an_error():
    with pytest.raises(UserError, match="a string, not a list of words"):
        Vocabulary.of_words([["a"]]).encode("a a")

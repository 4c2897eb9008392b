"""Raw text to the words of a treebank: what a linguist expects, what the treebanks say, and what must never happen."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtglib.data.tokenize import detokenize, tokenize


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("There is a difference.", "There is a difference ."),
        ("The pilot didn't wait, and John's dog can't.", "The pilot did n't wait , and John 's dog ca n't ."),
        ("They're sure I'll go; she'd've gone.", "They 're sure I 'll go ; she 'd 've gone ."),
        ("We cannot, won't and DON'T.", "We can not , wo n't and DO N'T ."),
        ("I'm gonna go. You wanna? Gotta!", "I 'm gon na go . You wan na ? Got ta !"),
        ("It isn't the boys' fault.", "It is n't the boys ' fault ."),
        ("Don’t say “it’s mine”—ever…", "Do n’t say “ it ’s mine ” — ever …"),
        ('He said, "Go (now)!"', 'He said , " Go ( now ) ! "'),
        ("A well-known ex-wife's e-mail", "A well - known ex-wife 's e-mail"),
        ("Mr. J. Smith of the U.S. left at 9:30pm.", "Mr. J. Smith of the U.S. left at 9:30 pm ."),
        ("It cost $1,000.50, i.e. 5% of No. 5.", "It cost $ 1,000.50 , i.e. 5 % of No. 5 ."),
        ("In the 1960's and '90s, on 3/11/2004", "In the 1960's and '90s , on 3/11/2004"),
        ("O'Neill works for AT&T and/or example.com.", "O'Neill works for AT&T and / or example.com ."),
        (
            "See http://a.com/b-c?d=e. Ask name@a.com!",
            "See http://a.com/b-c?d=e . Ask name@a.com !",
        ),
        ("Wait...what?! Great!!! :-)", "Wait ... what ?! Great !!! :-)"),
        ("I was th- there.", "I was th- there ."),
    ],
)
def test_words_are_set_apart_as_in_ud_english(text, words):
    assert tokenize(text) == words.split()


@pytest.mark.parametrize(
    "words",
    [
        "The keys to the cabinet are on the table .",
        "I did n't , ca n't and wo n't say that it 's John 's .",
        "-LRB- He said : `` It 's the dogs ' food . '' -RRB-",
        "Mr. Smith of the U.S. met a well - known ex-wife at 9:30 pm .",
    ],
)
def test_text_that_is_already_tokenised_comes_back_unchanged(words):
    assert tokenize(words) == words.split()


@pytest.mark.parametrize("text", ["", " ", "\n\t  \u00a0"])
def test_no_text_has_no_words(text):
    assert tokenize(text) == []


def test_invisible_characters_are_dropped():
    assert tokenize("\ufeffThe dif\u00adfer\u200bence") == ["The", "difference"]


def test_an_accent_stays_with_its_letter_however_it_is_encoded():
    assert tokenize("café cafe\u0301.") == ["café", "cafe\u0301", "."]


def test_an_abbreviation_at_the_end_of_the_text_loses_its_period_to_the_sentence():
    assert tokenize("Ford Motor Co. and Ford Motor Co.")[-2:] == ["Co", "."]
    assert tokenize("Dogs, cats, etc.")[-1] == "etc."


BITS_OF_ENGLISH = """
    can't cannot gonna Mr. U.S. No. 5 ' '' `` -LRB- http://a.b/c www. a@b.c :) 9:30pm 1960's 3-4 ex- pre-war etc. J. A'D
    n't 's ’s n’t 555-1234 12-3-04 1/2 s/he w/o x.y AT&T #a @b <3 -- ... ?! 'em '90s The dog ran
"""
SIGNS_AND_LETTERS = " \t.,;:!?'\"-–—()[]$%&/_aAnNsStT01é\u0301“”‘’🙂"
english = st.lists(st.sampled_from(BITS_OF_ENGLISH.split() + list(SIGNS_AND_LETTERS)), max_size=12).map("".join)


@settings(max_examples=500, deadline=None)
@given(st.one_of(english, st.text(max_size=40)))
def test_tokenised_text_stays_as_it_is(text):
    words = tokenize(text)
    assert tokenize(" ".join(words)) == words


@settings(max_examples=300, deadline=None)
@given(english)
def test_no_character_is_lost_but_white_space(text):
    assert "".join(tokenize(text)) == "".join(text.split())


REPEATED = ["a", "a.", "-a", "n't", "'s", "@", "a@", "J. ", "1.", "1/", "1-", "pre-", "www.,", " "]


@pytest.mark.parametrize("unit", REPEATED)
def test_a_long_text_takes_a_time_that_is_linear_in_its_length(unit):
    start = time.perf_counter()
    tokenize(unit * (100_000 // len(unit)))
    assert time.perf_counter() - start < 5  # it takes 0.4 seconds at most; a quadratic rule would take far longer


@pytest.mark.parametrize(
    "text",
    [
        "There isn't a difference.",
        'He said, "Go (now)!" and didn\'t.',
        "A well-known ex-wife's e-mail cost $5 and/or 3%.",
        "I'm gonna see the boys' dogs.",
        "“It’s [sic] mine.”",
    ],
)
def test_words_are_written_as_running_text_again(text):
    assert detokenize(tokenize(text)) == text


def test_no_words_are_written_as_no_text():
    assert detokenize([]) == ""


def sentences_of(path):
    """(text, words) of every sentence; read here by hand, so that the test does not lean on our reader."""
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        lines = block.split("\n")
        text = next(line.removeprefix("# text = ") for line in lines if line.startswith("# text = "))
        rows = [line.split("\t") for line in lines if not line.startswith("#")]
        yield text, [row[1] for row in rows if row[0].isdigit()]


@pytest.mark.parametrize(
    ("treebank", "same_sentences", "unchanged_sentences"),
    [("UD_English-EWT/en_ewt", 0.93, 0.97), ("UD_English-GUM/en_gum", 0.965, 0.97)],
)
@pytest.mark.parametrize("part", ["dev", "test"])
def test_most_sentences_get_exactly_the_words_of_the_treebank(
    data, treebank, part, same_sentences, unchanged_sentences
):
    pairs = list(sentences_of(data / "ud" / f"{treebank}-ud-{part}.conllu"))
    assert sum(tokenize(text) == words for text, words in pairs) / len(pairs) >= same_sentences
    assert sum(tokenize(" ".join(words)) == words for _, words in pairs) / len(pairs) >= unchanged_sentences


@pytest.fixture(scope="module")
def blimp_sentences(data):
    files = sorted((data / "blimp").glob("*.jsonl"))
    pairs = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [pair[member] for pair in pairs for member in ("sentence_good", "sentence_bad")]


# Alone: it times the tokeniser on all of BLiMP.
@pytest.mark.alone
def test_no_word_of_blimp_is_left_with_a_contraction_or_a_full_stop_inside(blimp_sentences):
    assert len(blimp_sentences) == 134_000
    start = time.perf_counter()
    words = {word for sentence in blimp_sentences for word in tokenize(sentence)}
    assert time.perf_counter() - start < 15
    assert not {word for word in words if "n't" in word and word != "n't"}
    ex_wives = {word for word in words if word.startswith("ex-")}
    assert {word for word in words - ex_wives if not word.isalpha()} == {".", "?", "'", "'s", "n't"}


def test_a_syntaxgym_sentence_has_the_words_of_its_regions(data):
    for path in sorted((data / "sg" / "json").glob("*.json")):
        for item in json.loads(path.read_text(encoding="utf-8"))["items"]:
            for condition in item["conditions"]:
                regions = [region["content"] for region in condition["regions"]]
                by_region = [word for region in regions for word in tokenize(region)]
                assert tokenize(" ".join(regions)) == by_region, f"{path.name}, item {item['item_number']}"

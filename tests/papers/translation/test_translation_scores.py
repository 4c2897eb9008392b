"""Scores of translations against published values, sign tests, and what a translation keeps of its source."""

from math import comb

import pytest

from dtglib.basics.errors import UserError
from dtglib.cli.main import main
from dtgpapers.translation.german.challenge import challenge_sets
from dtgpapers.translation.kept_meaning import JUDGES, kept, roles
from dtgpapers.translation.object_first import object_first
from dtgpapers.translation.scores import scores_of, sign_test, signatures, two_sided

SETS = ["particle", "reflexive", "preposition", *(f"object-first-{marked}" for marked in ("object", "subject", "both"))]

# The unit test of chrF's first publication in a library, whose value others have reproduced.
FOUND = (
    "risk assessment must be made of those who are qualified and expertise in the sector - these are the scientists ."
)
REFERENCE = (
    "risk assessment has to be undertaken by those who are qualified and expert in that area - that is the scientists ."
)


def n_grams(units, n: int) -> list[tuple]:
    return [tuple(units[i : i + n]) for i in range(len(units) - n + 1)]


def chrf_by_definition(found: str, reference: str, word_order: int, beta: float, blanks: bool) -> float:
    """F of the means of precision and recall over all orders of characters and words."""
    orders = [(text if blanks else text.replace(" ", ""), n) for n in range(1, 7) for text in (found, reference)]
    pairs = [(orders[i][0], orders[i + 1][0], orders[i][1]) for i in range(0, len(orders), 2)]
    pairs += [(found.split(), reference.split(), n) for n in range(1, word_order + 1)]
    precisions, recalls = [], []
    for one, other, n in pairs:
        grams, wanted = n_grams(one, n), n_grams(other, n)
        common = sum(min(grams.count(gram), wanted.count(gram)) for gram in set(grams))
        precisions.append(common / len(grams))
        recalls.append(common / len(wanted))
    p, r = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    return (1 + beta**2) * p * r / (beta**2 * p + r)


def test_chrf_has_the_published_values():
    from sacrebleu.metrics import CHRF

    with_blanks = CHRF(char_order=6, word_order=0, beta=3, whitespace=True)
    assert with_blanks.corpus_score([FOUND], [[REFERENCE]]).score == pytest.approx(65.2414427449)
    assert chrf_by_definition(FOUND, REFERENCE, 0, 3, blanks=True) == pytest.approx(0.652414427449)
    assert chrf_by_definition(FOUND, REFERENCE, 0, 3, blanks=False) == pytest.approx(0.633617, abs=1e-6)


def test_the_papers_chrf_is_the_definition_with_its_parameters():
    scores = scores_of([FOUND], [REFERENCE])
    assert scores["chrF+"] == pytest.approx(62.79, abs=5e-3)
    assert scores["chrF+"] == pytest.approx(100 * chrf_by_definition(FOUND, REFERENCE, 1, 3, blanks=False), abs=1e-6)
    assert scores["chrF++"] == pytest.approx(100 * chrf_by_definition(FOUND, REFERENCE, 2, 2, blanks=False), abs=1e-6)


def test_what_is_the_same_has_all_points():
    assert scores_of([REFERENCE, FOUND], [REFERENCE, FOUND]) == pytest.approx(
        {"BLEU": 100, "chrF+": 100, "chrF++": 100}
    )


def test_signatures_say_with_which_parameters():
    found = signatures()
    assert "tok:13a" in found["BLEU"] and "nc:6|nw:1" in found["chrF+"] and "nc:6|nw:2" in found["chrF++"]


def test_translations_without_references_are_refused():
    with pytest.raises(UserError, match="1 translations, and 2 references"):
        scores_of(["a"], ["a", "b"])


# ---- Sign tests


@pytest.mark.parametrize(
    "wins, losses, p", [(15, 3, 0.00754), (18, 0, 7.63e-6), (34, 6, 8.4e-6), (27, 13, 0.0385), (26, 14, 0.0807)]
)
def test_sign_tests_have_the_papers_values(wins, losses, p):
    assert two_sided(wins, losses) == pytest.approx(p, rel=0.01)
    n, k = wins + losses, min(wins, losses)
    assert two_sided(wins, losses) == pytest.approx(2 * sum(comb(n, i) for i in range(k + 1)) / 2**n)


def test_ties_are_left_out_and_cells_must_be_the_same():
    one, other = {"a": 1.0, "b": 2.0, "c": 0.0, "d": 5.0}, {"a": 1.0, "b": 1.0, "c": 1.0, "d": 4.0}
    assert sign_test(one, other)[:2] == (2, 1) and sign_test(other, one)[:2] == (1, 2)
    assert sign_test({"a": 1.0}, {"a": 1.0}) == (0, 0, 1.0)
    with pytest.raises(UserError, match="the same cells"):
        sign_test(one, {"a": 1.0})


# ---- What is kept


@pytest.mark.parametrize(
    "text, verdict",
    [
        ("The father brings the ball .", "right"),
        ("the dad is bringing a ball .", "right"),
        ("The ball is brought by the father .", "right"),
        ("Will the ball get brought by the father ?", "right"),
        ("The ball was thrown to the ground by the father .", "right"),
        ("The ball brings the father .", "reversed"),
        ("The father is brought by the ball .", "reversed"),
        ("The ball stands by the father .", "reversed"),
        ("The ball is by the father .", "reversed"),
        ("The father brings the stone .", "other"),
        ("He brings the ball .", "other"),
    ],
)
def test_roles(text, verdict):
    assert roles(text.split(), {"father", "dad"}, {"ball"}) == verdict


def test_the_released_translator_says_who_brings_the_ball(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for german in ("Der Vater bringt den Ball .", "Den Ball bringt der Vater ."):
        assert main(["translate", german]) == 0
        assert roles(capsys.readouterr().out.split(), {"father"}, {"ball"}) == "right"


@pytest.mark.parametrize("name", SETS)
def test_the_references_of_all_challenge_sets_keep_what_they_must(name):
    items = challenge_sets()[name]
    truths = [item.truth for item in items]
    assert all(kept(name, [item.english for item in items], truths))
    if "object-first" in name:
        swapped = [
            [{item.truth["subject"]: item.truth["object"], item.truth["object"]: item.truth["subject"]}.get(w, w)
             for w in item.english] for item in items
        ]  # fmt: skip
        assert not any(kept(name, swapped, truths))
    else:
        without = [[word for word in item.english if word != item.truth[f"english {name}"]] for item in items]
        # A place may begin with the same word as what is lost: "waited for the bus for the boy" is rare.
        assert sum(kept(name, without, truths)) <= 2


def test_every_set_has_a_judge():
    assert list(challenge_sets()) == SETS
    assert all(any(name.startswith(start) for start in JUDGES) for name in SETS)


def test_the_sentences_of_the_paper():
    found = object_first()
    counts = {marked: sum(one.marked == marked for one in found) for marked in ("object", "subject", "both")}
    assert counts == {"object": 36, "subject": 27, "both": 36}
    texts = {" ".join(one.german): " ".join(one.plain_german) for one in found}
    assert len(texts) == 99
    assert texts["Den Ball bringt der Vater ."] == "Der Vater bringt den Ball ."
    assert texts["Das Pferd zieht der Student ."] == "Der Student zieht das Pferd ."
    for one in found:
        assert not one.subject & one.object

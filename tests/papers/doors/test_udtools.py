"""UD's own tools: attachment scores are those of its scorer, and `dtglib stats` reports what its validator finds."""

from dataclasses import replace

import pytest

from dtglib.cli.main import main
from dtglib.data import minilang
from dtglib.data.corpora import load, ud_treebanks
from dtglib.data.treebank import write_conllu
from dtglib.evaluate.attachment import attached
from dtglib.parsing.parser import load_parser

udeval = pytest.importorskip("udtools.udeval", reason="needs udtools")


# Slow: a parser reads a treebank.
@pytest.mark.slow
@pytest.mark.parametrize(("corpus", "parser"), [("minilang", "parser-minilang"), ("UD_English-PUD", "parser-ud")])
def test_uas_and_las_are_those_of_the_official_scorer(corpus, parser, tmp_path):
    if corpus != "minilang" and corpus not in ud_treebanks():
        pytest.skip(f"{corpus} is not here")
    gold = load(corpus, "test", 100).sentences
    parsed = load_parser(parser).parse(gold)
    scores = {}
    for name, sentences in (("gold", gold), ("parsed", parsed)):
        write_conllu(tmp_path / f"{name}.conllu", sentences)
        scores[name] = udeval.load_conllu_file(str(tmp_path / f"{name}.conllu"))
    official = udeval.evaluate(scores["gold"], scores["parsed"])
    # The official LAS leaves out subtypes of labels.
    plain = [replace(sentence, labels=[label.partition(":")[0] for label in sentence.labels]) for sentence in gold]
    labels = [[label.partition(":")[0] for label in sentence.labels] for sentence in parsed]
    ours = attached(plain, [sentence.heads for sentence in parsed], labels=labels)
    assert 0.5 < ours.las < ours.uas < 1
    assert official["UAS"].f1 == pytest.approx(ours.uas, abs=1e-12)
    assert official["LAS"].f1 == pytest.approx(ours.las, abs=1e-12)


ROWS = """\
# sent_id = one
# text = There is a difference
1\tThere\tthere\tPRON\t_\t_\t2\texpl\t_\t_
2\tis\tbe\tVERB\t_\t_\t0\troot\t_\t_
3\ta\ta\tDET\t_\t_\t4\tdet\t_\t_
4\tdifference\tdifference\tNOUN\t_\t_\t2\tnsubj\t_\t_

"""


@pytest.mark.parametrize("where", ["train.conllu", ""])
def test_stats_reports_the_validation_errors_of_a_file_or_folder(where, tmp_path, capsys):
    path = tmp_path / "train.conllu"
    path.write_text(ROWS)
    assert main(["stats", str(tmp_path / where)]) == 0
    assert capsys.readouterr().err == ""
    path.write_text(ROWS.replace("\tdet\t", "\tdeterminer\t") + ROWS.replace("# sent_id = one\n", ""))
    assert main(["stats", str(tmp_path / where)]) == 0
    out, err = capsys.readouterr()
    assert err == (
        f"dtglib: {path}: errors by UD's validator, level 3: 1 unknown-udeprel (line 5), 1 missing-sent-id (line 9)\n"
    )
    assert out.splitlines()[1].split()[2:4] == ["2", "8"]


def test_what_is_no_file_of_the_user_is_not_validated(monkeypatch, capsys):
    monkeypatch.setattr(minilang.corpus, "SPLITS", dict.fromkeys(minilang.SPLITS, 8))  # to draw all of them takes long
    assert main(["stats", "minilang"]) == 0
    assert capsys.readouterr().err == ""


def test_what_the_validator_cannot_read_is_counted_all_the_same(tmp_path, capsys):
    path = tmp_path / "parsed.conllu"  # as `dtglib parse` writes it
    path.write_text("1\tThere\t_\t_\t_\t_\t2\texpl\t_\t_\n2\tis\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    assert main(["stats", str(path)]) == 0
    out, err = capsys.readouterr()
    assert "parsed.conllu" in out and err.startswith(
        f"dtglib: {path}: UD's validator could not read it, most likely because"
    )

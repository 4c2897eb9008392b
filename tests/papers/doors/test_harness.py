"""Models in lm-evaluation-harness: its own BLiMP task on local files has the numbers of `dtglib blimp`."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import slow
from environments import environment
from toys import small_model

from dtglib.basics.errors import UserError
from dtglib.basics.released import folder_named
from dtglib.data.tokenize import tokenize
from dtglib.decode.beam import Widths, search
from dtglib.evaluate.blimp import all_pairs, read_pairs, rows_of_batch
from dtglib.evaluate.likelihood import score_words
from dtglib.evaluate.ways import ByBeam
from dtglib.families.base import load_model
from dtgpapers.doors.harness import Answers
from dtgpapers.doors.hugging_face import export
from dtgpapers.doors.next_piece import Derivations

pytestmark = pytest.mark.usefixtures("one_thread")
TEXT = ["The", "author", "is", "n't", "strange", "."]


def asked(*arguments: object) -> SimpleNamespace:
    """A request, of which only its arguments matter here."""
    return SimpleNamespace(args=arguments)


@pytest.fixture(scope="module")
def answers() -> Answers:
    return Answers("txl-tokens-minilang")


def test_without_a_context_the_score_is_that_of_the_whole_sentence(answers):
    ((log_p, is_greedy),) = answers.loglikelihood([asked("", " The author isn't strange.")])
    assert log_p == pytest.approx(score_words(answers.model, [TEXT])[0], abs=1e-4) and is_greedy is False
    searched, _ = answers.log_probs([("", "The author isn't strange."), ("The", " author.")])
    assert log_p == pytest.approx(searched, abs=1e-4)  # with a context among them, all are searched
    without_end = Answers("txl-tokens-minilang", beam=10, within="none", end=False)
    assert without_end.log_probs([("", "The author isn't strange.")])[0] > log_p


@pytest.mark.parametrize(
    ("context", "words"), [("The author", 2), ("The author is", 3), ("The author isn", 3), ("T", 0)]
)
def test_a_context_takes_the_probability_of_its_whole_words_away(answers, context, words):
    (found,) = search(answers.model.stepper(), answers.model.vocabulary, [TEXT], Widths(1, 1))
    pieces = len(answers.model.vocabulary.encode(TEXT[:words]).ids)
    rest = "The author isn't strange.".removeprefix(context)
    before = found.log_prefix[pieces - 1] if words else 0.0
    assert answers.log_probs([(context, rest)]) == pytest.approx([found.log_prob - before], abs=1e-4)


def test_the_lines_of_a_text_are_sentences(answers):
    both = answers.log_probs([("", "The author is strange ."), ("", "The dog is strange .")])
    rolled = answers.loglikelihood_rolling(
        [asked("The author is strange .\n \u200b\nThe dog is strange .\n"), asked("\n")]
    )
    assert rolled == pytest.approx([math.fsum(both), 0.0], abs=1e-4)


@pytest.mark.parametrize("name", ["txl-tokens-minilang", *slow(["dtg-minilang"])])
def test_greedy_decoding_writes_the_most_probable_pieces(name):
    answers = Answers(name, beam=20, end=False)
    (text, first) = answers.generate_until([asked("The author", {}), asked("The author", {"max_gen_toks": 1})])
    entries = np.flatnonzero(answers.model.vocabulary.starts_word)
    others = {f" {word}" for number in entries for word in answers.model.vocabulary.decode([number]) if word.isalpha()}
    assert len(others) > 100 and first in others and text.startswith(f"{first} ")
    value, *values = answers.log_probs([("The author", word) for word in [first, *sorted(others - {first})]])
    assert value > max(values) - 0.05  # a search that knows the next word keeps other derivations

    stopped = answers.generate_until([asked("The author", {"until": ["", ".", "!"]})])
    assert text.endswith(" .") and stopped == [text.removesuffix(".")]
    other = asked("The author", text.replace(" .", " !"))
    together = answers.loglikelihood(
        [asked("The author", text), other, asked("", "The author."), asked("The", " end.")]
    )
    assert [is_greedy for _, is_greedy in together] == [True, False, False, False]
    assert Answers(name, beam=20).loglikelihood([asked("The author", text)])[0][1] is True  # with its end


def test_an_impossible_text_has_no_probability_with_a_context_too(monkeypatch):
    import dtgpapers.doors.harness as harness

    monkeypatch.setattr(harness, "load_model", lambda folder, device: small_model("txl-tokens"))
    monkeypatch.setattr(
        harness, "search", lambda *_: [SimpleNamespace(log_prob=-np.inf, log_prefix=np.array([-np.inf]))]
    )
    assert harness.Answers("txl-tokens-minilang").log_probs([("There", " is")]) == [-np.inf]


def test_what_cannot_be_answered_is_named(answers):
    with pytest.raises(UserError, match="request 2 of lm_eval has no words to score"):
        answers.log_probs([("", "The author"), ("The author", " ")])
    with pytest.raises(UserError, match="set do_sample to false"):
        answers.generate_until([asked("The author", {"until": ["."], "do_sample": True})])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"model": "no-such-model"}, "no-such-model: holds no model; .* `dtglib models` lists"),
        ({"beams": 3}, "not beams"),
        ({"beam": 0}, "beam=0"),
        ({"within": "wide"}, "within=wide"),
    ],
)
def test_arguments_of_a_model_that_make_no_sense_are_named(arguments, complaint):
    with pytest.raises(UserError, match=complaint):
        Answers(**arguments)


# ---- In lm_eval itself, which takes long to import: one process does everything

PROGRAM = """
import json, sys
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from dtgpapers.doors.harness import main

texts, folder, *sys.argv[1:] = sys.argv[1:]
# It sets the beginning of the sentence itself, and would else do so twice.
lm = HFLM(pretrained=folder, trust_remote_code=True, add_bos_token=False, device="cpu", batch_size=2)
asked = [Instance("loglikelihood_rolling", {}, (text,), 0) for text in json.loads(texts)]
rolled = lm.loglikelihood_rolling(asked)
sys.argv[0] = "lm_eval"
main()
print(json.dumps(rolled))
"""
TEXTS = ["The farmer is tall.", "She isn't the guard that sleeps."]
NARROW = Widths(10, 10, within=6.0)
UIDS = ["wh_island", "existential_there_quantifiers_1"]
TASK = """
include: {template}
task: local_blimp_{uid}
dataset_path: json
dataset_kwargs: {{data_files: {{train: {file}}}}}
"""


@pytest.fixture(scope="module")
def by_lm_eval(data, tmp_path_factory) -> tuple[Path, list[float]]:
    """A folder with some pairs of BLiMP, in which `out` has what its task says of them; and its scores of TEXTS, by an
    exported model."""
    folder, lm_eval = tmp_path_factory.mktemp("lm_eval"), environment(["lm_eval[hf]==0.4.13"])
    (template,) = lm_eval.folder.glob("lib/python*/site-packages/lm_eval/tasks/blimp/_template_yaml")
    for uid in UIDS:
        file = folder / f"{uid}.jsonl"
        lines = (data / "blimp" / file.name).read_text("utf-8").splitlines(keepends=True)[:2]
        file.write_text("".join(lines))
        file.with_suffix(".yaml").write_text(TASK.format(template=template, uid=uid, file=file))
    export(folder_named("dtg-minilang"), folder / "export", NARROW)
    tasks = ",".join(f"local_blimp_{uid}" for uid in UIDS)
    arguments = ["--model", "dtglib", "--model_args", "model=dtg-ud,beam=50", "--tasks", tasks]
    arguments += ["--include_path", folder, "--output_path", folder / "out", "--log_samples"]
    said = lm_eval.run(PROGRAM, json.dumps(TEXTS), folder / "export", *arguments)
    return folder, json.loads(said.splitlines()[-1])


# Slow: packages are installed, and a search of a DTG.
@pytest.mark.slow
def test_its_task_blimp_gives_the_pairs_the_numbers_of_dtglib(by_lm_eval):
    folder, _ = by_lm_eval
    log_probs = ByBeam(Widths(50, 50, within=12.0)).log_probs(load_model("dtg-ud"))
    rows = rows_of_batch(all_pairs(read_pairs(folder)), log_probs)
    for uid in UIDS:
        (samples,) = (folder / "out").glob(f"*/samples_local_blimp_{uid}_*.jsonl")
        theirs = sorted(map(json.loads, samples.read_text().splitlines()), key=lambda sample: sample["doc_id"])
        ours = [row for row in rows if row["paradigm"] == uid]
        assert len(theirs) == len(ours) == 2
        for sample, row in zip(theirs, ours, strict=True):
            values = [float(log_p) for ((log_p, _),) in sample["resps"]]
            assert values == pytest.approx([row["good"], row["bad"]], abs=1e-4)
            assert sample["acc"] == (row["good"] > row["bad"])


@pytest.mark.slow
def test_an_exported_model_has_the_scores_of_this_package_without_ends(by_lm_eval):
    """`lm_eval --model hf` knows nothing of this package, and does not ask for ends."""
    _, rolled = by_lm_eval
    model = load_model("dtg-minilang")
    rows = [list(model.vocabulary.encode(tokenize(text)).ids) for text in TEXTS]
    for value, pieces, log_probs in zip(rolled, rows, Derivations(model, 2).read(rows, NARROW), strict=True):
        expected = math.fsum(log_probs[place, piece].item() for place, piece in enumerate(pieces))
        assert value == pytest.approx(expected, abs=1e-4)

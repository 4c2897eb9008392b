"""Models in the format of Hugging Face: the folder, and what transformers of two versions make of it."""

import itertools
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from environments import environment
from running import assert_one_line
from toys import model_of

import dtglib
from dtglib.cli.main import main
from dtglib.data.tokenize import tokenize
from dtglib.data.vocabulary import END, ROOT
from dtglib.decode.beam import Widths, search
from dtglib.evaluate.likelihood import score_words
from dtglib.families.base import load_model
from dtgpapers.doors import hugging_face
from dtgpapers.doors.hugging_face import network_of
from dtgpapers.doors.next_piece import Derivations

PROMPTS = ["The", "The farmer"]
TEXTS = ["The farmer is tall.", "She isn't the guard that sleeps."]
TEXTS += ["Well, the \"zygote\" (N. 3) isn’t Mr. O'Neill's: 1,000.50%!"]


def exported(name: str | Path, out: Path, *options: str) -> Path:
    assert main(["export", "--to", "hf", "--model", str(name), str(out), *options]) == 0
    return out


# ---- The folder


def test_the_folder_says_what_a_reader_of_it_must_know(tmp_path, capsys):
    out = exported("dtg-minilang", tmp_path / "out", "--beam", "20", "--within", "9")
    assert capsys.readouterr().out == f"{out}: dtg-minilang\n"
    config = json.loads((out / "config.json").read_text())
    assert (config["beam"], config["within"], config["exact"]) == (20, 9.0, False)
    card = (out / "README.md").read_text()
    for fact in ("`<ROOT>` stands before", "20 derivations", "9 nats", "no bounds", "Licence: MIT"):
        assert fact in card
    assert "dtg-ud" not in card
    exact = exported("txl-tokens-minilang", tmp_path / "exact")
    assert json.loads((exact / "config.json").read_text())["exact"]
    assert "which are exact" in (exact / "README.md").read_text()


def test_a_width_that_would_have_no_effect_is_no_option(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["export", "--model", "dtg-minilang", "--score-beam", "1", str(tmp_path / "out")])
    assert "--score-beam" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["dtg-minilang", "txl-tokens-ud"])  # of words, and of pieces
def test_the_network_of_a_folder_is_made_from_its_config_alone(tmp_path, name):
    config = json.loads((exported(name, tmp_path / "out") / "config.json").read_text())
    network, expected = network_of(config["files"]), load_model(name)
    assert network.config == expected.config
    assert network.vocabulary.fingerprint == expected.vocabulary.fingerprint
    assert network.state_dict().keys() == expected.state_dict().keys()


@pytest.mark.parametrize("name", ["translator-minilang", "parser-minilang", "nowhere"])
def test_what_cannot_be_exported_is_told_in_a_line(tmp_path, capsys, name):
    assert main(["export", "--model", name, str(tmp_path / "out")]) == 2
    assert_one_line(capsys, name)
    assert list(tmp_path.iterdir()) == []


def test_a_model_whose_probabilities_do_not_sum_to_one_is_not_exported(tmp_path, capsys):
    model_of("dtg", "words", "whole").save(tmp_path / "model")
    assert main(["export", "--model", str(tmp_path / "model"), str(tmp_path / "out")]) == 2
    assert_one_line(capsys, "sum to 1")


def test_a_folder_that_exists_is_left_as_it_is(tmp_path, capsys):
    (tmp_path / "out").mkdir()
    assert main(["export", "--model", "dtg-minilang", str(tmp_path / "out")]) == 2
    assert_one_line(capsys, "out: it exists already")
    assert list((tmp_path / "out").iterdir()) == []


def test_half_a_folder_is_never_left(tmp_path, capsys, monkeypatch):
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device", "out")

    monkeypatch.setattr(hugging_face, "_card", full)
    assert main(["export", "--model", "dtg-minilang", str(tmp_path / "out")]) == 2
    assert_one_line(capsys, "No space left")
    assert list(tmp_path.iterdir()) == []


# ---- In transformers

PROGRAM = """
import dtglib, json, sys, torch, transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline

torch.set_num_threads(1)
(texts, prompts), folders = json.loads(sys.argv[1]), sys.argv[2:]

def opened(folder):
    return [kind.from_pretrained(folder, trust_remote_code=True) for kind in (AutoModelForCausalLM, AutoTokenizer)]

def error_of(model, ids):
    try:
        model(torch.tensor([ids]))
    except Exception as error:
        return str(error)

def scores(model, batch):
    "log p of each piece and of the end, given what stands before it; and the sums of all probabilities."
    logits, rows = model(**batch).logits, []
    for ids, mask, of_row in zip(batch["input_ids"], batch["attention_mask"], logits):
        ids, of_row = ids[mask == 1], of_row[mask == 1].double()
        following = torch.cat([ids[1:], torch.tensor([model.config.eos_token_id])])
        rows.append([of_row.gather(1, following[:, None])[:, 0].tolist(), of_row.exp().sum(1).tolist()])
    return rows

def results_of(folder):
    model, tokenizer = opened(folder)
    results = {"is_training": model.training, "dtype": str(model.dtype)}
    ids = [tokenizer(text)["input_ids"] for text in texts]
    results["ids"] = ids
    results["decoded"] = [tokenizer.decode(row, skip_special_tokens=True) for row in ids]
    results["shown"] = tokenizer.decode(ids[0])
    results["pieces"] = [[tokenizer.decode([number]) for number in row] for row in ids]
    results["alone"] = [row for text in texts for row in scores(model, tokenizer([text], return_tensors="pt"))]
    results["marked"] = tokenizer("<ROOT> " + texts[0])["input_ids"]
    results["twice"] = error_of(model, [model.config.bos_token_id, *ids[0]])
    in_batch = tokenizer(prompts, return_tensors="pt", padding=True)
    for name, how in {"greedy": {}, "sampled": {"do_sample": True}, "beams": {"num_beams": 3}}.items():
        for use_cache in (True, False):
            torch.manual_seed(1)
            most = 4 if how else 12
            made = model.generate(**in_batch, max_new_tokens=most, use_cache=use_cache, **{"do_sample": False, **how})
            results[name + "-" + str(use_cache)] = made.tolist()
    writer = pipeline("text-generation", model=model, tokenizer=tokenizer)
    how = {"max_new_tokens": 12, "do_sample": False, "clean_up_tokenization_spaces": False}
    written = writer(prompts, batch_size=2, **how)
    results["written"] = [of_prompt["generated_text"] for (of_prompt,) in written]
    for side in ("right", "left"):
        tokenizer.padding_side = side
        batch = tokenizer(texts, return_tensors="pt", padding=True)
        results[side] = scores(model, batch)
    results["loss"] = model(**batch, labels=batch["input_ids"]).loss.item()
    results["tuple"] = len(model(**batch, labels=batch["input_ids"], return_dict=False))
    model.save_pretrained(folder + "-again")
    tokenizer.save_pretrained(folder + "-again")
    model, tokenizer = opened(folder + "-again")
    tokenizer.padding_side = "left"
    results["again"] = scores(model, tokenizer(texts, return_tensors="pt", padding=True))
    if folder == folders[0]:
        model.config.beam, model.config.within = 1000, 22.0
        results["wide"] = scores(model, tokenizer(texts[:1], return_tensors="pt"))
    return results

about = [transformers.__version__, torch.__version__, torch.__file__, dtglib.__file__]
print(json.dumps({"about": about, **{folder: results_of(folder) for folder in folders}}))
"""

WIDTHS = Widths(10, 10, within=6.0)


# With trees and without; of pieces and of words. The search of the first is also a wide one.
MODELS = {
    "transformers==4.57.6": ["dtg-ud", "txl-tokens-minilang"],
    "transformers==5.23.0": ["dtg-minilang", "txl-tokens-ud"],
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("exported")
    names = itertools.chain.from_iterable(MODELS.values())
    return {name: exported(name, folder / name, "--beam", "10", "--within", "6") for name in names}


@pytest.fixture(scope="module", params=MODELS)
def results(request, folders) -> dict[str, dict]:
    """By the name of the model; all packages but transformers are those of the running environment."""
    names = MODELS[request.param]
    ran = environment([request.param]).run(PROGRAM, json.dumps([TEXTS, PROMPTS]), *(folders[name] for name in names))
    found = json.loads(ran.splitlines()[-1])
    version, *others = found["about"]
    assert f"transformers=={version}" == request.param
    assert others == [torch.__version__, torch.__file__, dtglib.__file__]
    return {name: found[str(folders[name])] for name in names}


@cache
def expected_scores(name: str) -> list[list[float]]:
    model = load_model(name)
    rows = [list(model.vocabulary.encode(tokenize(text)).ids) for text in TEXTS]
    return [
        [log_probs[place, piece].item() for place, piece in enumerate([*pieces, END])]
        for pieces, log_probs in zip(rows, Derivations(model, len(rows)).read(rows, WIDTHS), strict=True)
    ]


# Slow, like all that follows: packages are installed.
@pytest.mark.slow
def test_transformers_give_the_log_probabilities_of_this_package(results):
    for name, found in results.items():
        assert (found["is_training"], found["dtype"]) == (False, "torch.float32")
        for side in ("alone", "right", "left", "again"):
            for (log_probs, sums), expected in zip(found[side], expected_scores(name), strict=True):
                assert log_probs == pytest.approx(expected, abs=1e-4)
                assert sums == pytest.approx([1.0] * len(sums), abs=1e-5)


@pytest.mark.slow
def test_a_model_without_trees_has_the_scores_of_this_package(results):
    _, name = results
    totals = [sum(log_probs) for log_probs, _ in results[name]["left"]]
    expected = score_words(load_model(name), [tokenize(text) for text in TEXTS])
    assert totals == pytest.approx(expected.tolist(), rel=1e-6)


@pytest.mark.slow
def test_with_wide_searches_a_sentence_has_the_log_probability_of_a_beam_search(results):
    name, found = next(iter(results.items()))
    model = load_model(name)
    (whole,) = search(model.stepper(), model.vocabulary, [tokenize(TEXTS[0])], Widths(1000, 1000, within=22.0))
    ((log_probs, _),) = found["wide"]
    assert sum(log_probs) == pytest.approx(whole.log_prob, abs=1e-5)


@pytest.mark.slow
def test_the_beginning_is_marked_once(results):
    for found in results.values():
        assert found["marked"] == found["ids"][0]
        assert found["twice"] == "<ROOT> cannot stand inside a sentence"


@pytest.mark.slow
def test_the_tokenizer_has_the_words_of_this_package(results):
    for name, found in results.items():
        vocabulary = load_model(name).vocabulary
        for ids, text, decoded in zip(found["ids"], TEXTS, found["decoded"], strict=True):
            pieces = vocabulary.encode(tokenize(text)).ids
            assert ids == [ROOT, *pieces]
            known = [word for word in vocabulary.decode(pieces) if word != "<unknown>"]  # a special token of theirs
            assert decoded == " ".join(known)
        assert found["shown"] == "<ROOT> The farmer is tall ."
    (spelled,) = (found for name, found in results.items() if name.endswith("-ud"))
    assert spelled["decoded"] == [" ".join(tokenize(text)) for text in TEXTS]  # no word is unknown
    assert [len(row) for row in spelled["pieces"]] == [len(row) for row in spelled["ids"]]


@pytest.mark.slow
def test_sentences_are_generated_up_to_their_ends(results):
    for found in results.values():
        for how in ("greedy", "sampled", "beams"):
            assert found[f"{how}-True"] == found[f"{how}-False"]
            for row in found[f"{how}-True"]:
                generated = row[3:]  # two positions of the prompts, padded, and the beginning
                assert END in generated or len(generated) == (12 if how == "greedy" else 4)
    with_trees, _ = results.values()
    assert any(END in row for row in with_trees["greedy-True"])


@pytest.mark.slow
def test_a_pipeline_writes_the_blanks_between_words(results):
    """Of prompts in a batch, too, which the tokenizer pads on the left."""
    for name, found in results.items():
        vocabulary = load_model(name).vocabulary
        assert found["written"] == [" ".join(vocabulary.decode(row)) for row in found["greedy-True"]]


@pytest.mark.slow
def test_the_loss_is_the_mean_over_pieces_that_are_no_padding(results):
    for found in results.values():
        log_probs = np.concatenate([of_row[:-1] for of_row, _ in found["left"]])  # the end is no label
        assert found["loss"] == pytest.approx(-log_probs.mean(), abs=1e-5)
        assert found["tuple"] == 2

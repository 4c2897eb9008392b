"""Files of supar's: their scores are supar's own, and whatever else stands in a file is not run.

supar writes a pickle. Here it builds its parsers for ten sentences of minilang and saves them itself.
"""

import contextlib
import io
import os
import pickle
import re
import urllib.error
import warnings
from collections.abc import Iterator
from pathlib import Path

import dill
import numpy as np
import pytest
import supar
import torch
from supar.utils import Config
from supar.utils.field import Field, SubwordField
from supar.utils.transform import CoNLL

import dtglib.parsing.published
from dtglib.basics.errors import UserError
from dtglib.data.corpora import load
from dtglib.data.treebank import Sentence, write_conllu
from dtglib.parsing.parser import load_parser
from dtglib.parsing.published import NAMES, load_published

pytestmark = pytest.mark.usefixtures("one_thread")

SENTENCES = [
    ("There", "is", "a", "difference"),
    ("Yes",),
    ("I", "a", "."),
    ("Þórr", "zebra", "日本語", "the"),
    ("antidisestablishmentarianism",) * 3,
    ("There", "is", "a", "difference") * 20,
]
SMALL = {
    "n_embed": 6, "n_pretrained": 6, "n_char_embed": 4, "n_char_hidden": 8, "n_feat_embed": 6, "n_arc_mlp": 8,
    "n_rel_mlp": 6, "n_lstm_hidden": 8, "n_lstm_layers": 1, "encoder": "lstm", "feat": ["char"], "embed": None,
    "unk": "unk", "min_freq": 2, "max_len": None, "build": True,
}  # fmt: skip


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """supar counts what it reads on standard error, and calls what PyTorch has renamed."""
    with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    write_conllu(folder / "train.conllx", load("minilang", "train", 10).sentences)
    (folder / "vectors.txt").write_text(
        "".join(f"{w} 0 1 2 3 4 {n}\n" for n, w in enumerate(["zebra", "the", "is", "unk"]))
    )
    return folder


def built(kind: type, folder: Path, **other: object) -> supar.Parser:
    """A parser as supar builds it, with weights that are no longer zero."""
    files = dict.fromkeys(("train", "dev", "test"), str(folder / "train.conllx"))
    torch.manual_seed(2)
    with silence():
        parser = kind.build(str(folder / "model"), **SMALL | files | other)
    with torch.no_grad():
        for parameter in parser.model.parameters():
            parameter.normal_(std=0.5)
    parser.model.cpu().eval()
    return parser


KINDS = {
    "biaffine": (supar.BiaffineDependencyParser, {}),
    "with embeddings from elsewhere": (supar.BiaffineDependencyParser, {"embed": "vectors.txt"}),
    "with projected embeddings from elsewhere": (
        supar.BiaffineDependencyParser,
        {"embed": "vectors.txt", "n_pretrained": 5},
    ),
    "crf": (supar.CRFDependencyParser, {}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_parser_that_supar_saved_scores_as_supars_own_does(kind, corpus, tmp_path):
    parser, other = KINDS[kind]
    if "embed" in other:
        other = other | {"embed": str(corpus / other["embed"])}
    theirs = built(parser, corpus, **other)
    theirs.save(str(tmp_path / "my.model"))
    ours = load_parser(tmp_path / "my.model")
    assert ours.labels == theirs.REL.vocab.itos
    for words, scores in zip(SENTENCES, ours.arc_scores(SENTENCES), strict=True):
        with silence(), torch.no_grad():
            fields = [field for field in theirs.transform.FORM if isinstance(field, Field)]
            word, *features = (field.compose(field.transform([words])).cpu() for field in fields)
            expected = theirs.model(word, features)[0][0].numpy()
        np.testing.assert_allclose(scores, expected.T, rtol=1e-4, atol=1e-5)
        assert np.ptp(scores) > 0.01, "a parser that finds all arcs equal would show nothing"


@pytest.fixture(scope="module")
def saved(corpus) -> Path:
    """A file of supar's."""
    path = corpus / "supar.model"
    built(supar.BiaffineDependencyParser, corpus).save(str(path))
    return path


def test_a_parser_from_a_file_of_supars_parses(saved):
    (parsed,) = load_parser(str(saved)).parse([Sentence(SENTENCES[0])])
    assert parsed.heads.count(0) == 1
    assert len(parsed.labels) == 4


def test_loading_prints_nothing_and_changes_no_global_state(saved, capsys):
    before = sorted(saved.parent.iterdir()), torch.get_num_threads()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_parser(saved)
    assert (sorted(saved.parent.iterdir()), torch.get_num_threads()) == before
    assert capsys.readouterr() == ("", "")


# ---- What is not read


class Evil:
    """Unpickled, it would write a file."""

    def __init__(self, path: Path) -> None:
        self.command = f"echo evil > {path}"

    def __reduce__(self) -> tuple:
        return os.system, (self.command,)


class EvilToo(Evil):
    def __reduce__(self) -> tuple:
        return eval, (f"__import__('os').system({self.command!r})",)


@pytest.mark.parametrize("evil", [Evil, EvilToo])
@pytest.mark.parametrize("pickled_by", [pickle, dill], ids=["pickle", "dill"])
@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("where", ["alone", "in a field", "in the arguments", "beside"])
def test_code_in_a_file_is_not_executed(where, zipped, pickled_by, evil, saved, tmp_path):
    trace, path = tmp_path / "trace", tmp_path / "evil.model"
    if where == "alone":
        state = evil(trace)
    else:
        field = Field("words")
        field.fn = evil(trace) if where == "in a field" else None
        arguments = Config(feat=evil(trace) if where == "in the arguments" else ["char"])
        transform = CoNLL(FORM=field)
        state = {"name": "biaffine-dependency", "args": arguments, "transform": transform, "pretrained": None}
        if where == "beside":
            state["more"] = evil(trace)
    torch.save(state, path, pickle_module=pickled_by, _use_new_zipfile_serialization=zipped)
    with pytest.raises(UserError, match=r"evil\.model: not a file of supar's that could be read safely") as refused:
        load_parser(path)
    assert not trace.exists()
    assert re.search(r"GLOBAL (\w+\.system|eval)\b", str(refused.value.__cause__)), "it was to be refused for just that"


@pytest.mark.parametrize(("evil", "named"), [(Evil, "system"), (EvilToo, "eval")])
def test_the_error_names_the_code_in_a_file_without_advice_to_execute_it(evil, named, tmp_path):
    torch.save(evil(tmp_path / "trace"), tmp_path / "evil.model")
    with pytest.raises(UserError) as refused:
        load_parser(tmp_path / "evil.model")
    assert named in str(refused.value)
    for advice in ("weights_only", "safe_globals", "likely succeed"):
        assert advice not in str(refused.value)


def test_the_evil_files_above_are_evil(tmp_path):
    # Or else the test above could not fail.
    torch.save(Evil(tmp_path / "trace"), tmp_path / "evil.model")
    torch.load(tmp_path / "evil.model", weights_only=False)
    assert (tmp_path / "trace").exists()


def a_state(**other: object) -> dict:
    return {"name": "biaffine-dependency", "args": Config(feat=["char"]), "transform": CoNLL(), **other}


def zipped(path: Path) -> None:
    with open(path, "wb") as file:
        np.savez(file, 1)


NOT_PARSERS = {
    "empty": lambda path: path.write_bytes(b""),
    "a text": lambda path: path.write_text("There is a difference.\n"),
    "a zip of something else": zipped,
    "a plain pickle": lambda path: path.write_bytes(pickle.dumps({"name": "biaffine-dependency"})),
    "a tensor": lambda path: torch.save(torch.zeros(3), path),
    "weights alone": lambda path: torch.save({"weight": torch.zeros(3)}, path),
    "no transform": lambda path: torch.save({"name": "biaffine-dependency", "args": Config()}, path),
}


@pytest.mark.parametrize("what", NOT_PARSERS)
def test_a_file_that_is_no_parser_is_an_error_of_one_line(what, tmp_path):
    path = tmp_path / "foreign.model"
    NOT_PARSERS[what](path)
    refused_in_one_line(path, "foreign.model: not a file of supar's that could be read safely")


def refused_in_one_line(path: Path, complaint: str) -> str:
    with pytest.raises(UserError) as refused:
        load_parser(path)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "weights_only" not in str(refused.value), "no advice to read it unsafely"
    return str(refused.value)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_truncated_file_is_an_error(share, saved, tmp_path):
    data = saved.read_bytes()
    (tmp_path / "half.model").write_bytes(data[: int(share * len(data))])
    refused_in_one_line(tmp_path / "half.model", "half.model: ")


OTHER_KINDS = ["crf-constituency", "vi-constituency", "biaffine", "mine", ""]


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_a_parser_of_another_kind_is_an_error_that_names_a_suitable_parser(kind, tmp_path):
    torch.save(a_state(name=kind), tmp_path / "other.model")
    complaint = refused_in_one_line(tmp_path / "other.model", f"holds a parser of kind {kind!r}; a dependency parser")
    assert NAMES[0] in complaint


@pytest.mark.parametrize(
    "kind", [supar.CRF2oDependencyParser, supar.VIDependencyParser, supar.BiaffineSemanticDependencyParser]
)
def test_a_real_parser_of_another_kind_is_an_error(kind, corpus, tmp_path):
    """Also one of trees that scores pairs of arcs beside the arcs, which would be lost."""
    built(kind, corpus).save(str(tmp_path / "other.model"))
    refused_in_one_line(tmp_path / "other.model", f"other.model: holds a parser of kind {kind.NAME!r}; a dependency")


@pytest.mark.parametrize("feature", ["tag", "lemma", "elmo"])
def test_a_parser_with_other_inputs_than_words_is_an_error(feature, saved, tmp_path):
    path = altered(saved, tmp_path / "other.model", args=Config(**SMALL | {"feat": ["char", feature]}))
    refused_in_one_line(path, f"other.model: this parser wants {feature}s, and we have words alone")


def test_a_real_parser_of_tags_is_an_error(corpus, tmp_path):
    built(supar.BiaffineDependencyParser, corpus, feat=["tag", "char"]).save(str(tmp_path / "tags.model"))
    refused_in_one_line(tmp_path / "tags.model", "tags.model: this parser wants tags")


def altered(saved: Path, path: Path, **other: object) -> Path:
    """supar's file with another thing in one of its places."""
    with silence():
        state = torch.load(saved, weights_only=False)
    torch.save(state | other, path, pickle_module=dill)
    return path


def test_weights_of_another_size_are_an_error(saved, tmp_path):
    path = altered(saved, tmp_path / "other.model", state_dict={"word_embed.weight": torch.zeros(2, 2)})
    refused_in_one_line(path, "other.model: its network cannot be built here (")


@pytest.mark.parametrize("missing", ["state_dict", "pretrained"])
def test_a_file_without_a_part_is_an_error(missing, saved, tmp_path):
    with silence():
        state = torch.load(saved, weights_only=False)
    del state[missing]
    torch.save(state, tmp_path / "other.model", pickle_module=dill)
    refused_in_one_line(tmp_path / "other.model", f"other.model: its network cannot be built here ('{missing}')")


def test_a_file_without_weights_is_an_error(saved, tmp_path):
    """What is not in the file would stay as it was drawn at random."""
    with silence():
        weights = torch.load(saved, weights_only=False)["state_dict"]
    assert len(weights) > 10
    for name in ("arc_attn.weight", "word_embed.weight"):
        path = altered(saved, tmp_path / "other.model", state_dict={k: v for k, v in weights.items() if k != name})
        refused_in_one_line(path, f"other.model: lacks 1 of its network's tensors, such as {name}; fetch it again")
    path = altered(saved, tmp_path / "other.model", state_dict={})
    refused_in_one_line(path, f"other.model: lacks {len(weights)} of its network's tensors")


@pytest.mark.parametrize("other", [{"args": {"feat": ["char"]}}, {"transform": None}], ids=str)
def test_a_file_with_parts_of_other_types_is_an_error(other, saved, tmp_path):
    refused_in_one_line(altered(saved, tmp_path / "other.model", **other), "other.model: ")


# ---- Names


@pytest.mark.parametrize("name", ["biafine-dep-en", "crf2o-dep-en", "runs/parsers/nowhere", "nowhere.model"])
def test_an_unknown_name_is_an_error_that_lists_the_known_ones(name):
    complaint = refused_in_one_line(name, f"{name!r} is neither a folder with a parser")
    assert "dtglib train-parser" in complaint
    for known in ("biaffine-dep-en", "biaffine-dep-roberta-en"):
        assert known in complaint


def test_the_parser_of_the_paper_is_among_the_names():
    assert "biaffine-dep-roberta-en" in NAMES
    assert all(name in supar.MODEL["github"] for name in NAMES)


def test_a_published_parser_is_downloaded_from_supars_address(saved, monkeypatch):
    asked = []

    def download(url):
        asked.append(url)
        return str(saved)

    monkeypatch.setattr(dtglib.parsing.from_supar, "download", download)
    parser = load_parser("biaffine-dep-en")
    assert asked == ["https://github.com/yzhangcs/parser/releases/download/v1.1.0/ptb.biaffine.dep.lstm.char.zip"]
    assert parser.name == "biaffine-dep-en"
    np.testing.assert_array_equal(
        parser.arc_scores(SENTENCES[:1])[0], load_published(saved).arc_scores(SENTENCES[:1])[0]
    )


@pytest.mark.parametrize(
    "trouble",
    [
        urllib.error.URLError("[Errno -2] Name or service not known"),
        RuntimeError("File https://example.org/x.zip unavailable. Please try other sources."),
        OSError(28, "No space left on device"),
        TimeoutError("timed out"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_failed_download_is_an_error_with_a_way_out(trouble, monkeypatch):
    def download(url):
        raise trouble

    monkeypatch.setattr(dtglib.parsing.from_supar, "download", download)
    complaint = refused_in_one_line("biaffine-dep-roberta-en", "biaffine-dep-roberta-en: could not be fetched (")
    assert "train one of your own with `dtglib train-parser`" in complaint


def test_an_incomplete_download_is_an_error(saved, tmp_path, monkeypatch):
    half = tmp_path / "half.zip"
    half.write_bytes(saved.read_bytes()[:1000])
    monkeypatch.setattr(dtglib.parsing.from_supar, "download", lambda url: str(half))
    refused_in_one_line("biaffine-dep-en", "half.zip: not a file of supar's")


# Slow: it imports transformers.
@pytest.mark.slow
def test_a_failed_download_of_the_encoder_is_an_error(saved, tmp_path, monkeypatch):
    # The tokeniser is looked up by its name while the file is read.
    def offline(*arguments, **more):
        raise OSError("We couldn't connect to the hub to load this file")

    transformers = pytest.importorskip("transformers")
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", offline)
    with silence():
        state = torch.load(saved, weights_only=False)
    field = state["transform"].FORM[2]
    assert isinstance(field, SubwordField)

    class Tokenizer:
        name_or_path = "roberta-large"

        def tokenize(self, word):
            return [word]

    Tokenizer.__module__ = Tokenizer.tokenize.__module__ = "transformers.fake"
    field.tokenize = Tokenizer().tokenize
    torch.save(state, tmp_path / "roberta.model", pickle_module=dill)
    complaint = refused_in_one_line(tmp_path / "roberta.model", "roberta.model: ")
    assert "couldn't connect to the hub" in complaint

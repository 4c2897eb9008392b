"""Every family of models at every size: on made data it is trained for two steps or more, and then measured.

The configs are those of the repository. In a copy of them all numbers are small, and one tiny parser of heads replaces
the others. A few sentences of minilang are written in the format of each corpus: the treebanks of UD English and GUM's
constituents, an ebook, Multi30k, BLLIP, a Penn Treebank in CoNLL-X, graphs in the format of SDP 2015, and a folder of
pairs as Moses' tokeniser writes them.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest
import yaml
from conftest import with_one_thread
from running import CONFIGS

from dtglib.basics.errors import UserError
from dtglib.basics.record import read_record
from dtglib.data import minilang
from dtglib.data.corpora import BLLIP_LG, UD_ENGLISH, load
from dtglib.data.treebank import Sentence, write_conllu
from dtglib.families.base import families
from dtglib.runs.parsers import trained_parser
from dtglib.runs.prepare import trained, trained_together
from dtglib.runs.recording import record_evaluation
from dtglib.runs.settings import read_size
from dtgpapers.books import corpus, works
from dtgpapers.gilt.measured import graphs_of
from dtgpapers.translation import challenges
from dtgpapers.udgn.measured import induction_of

pytestmark = pytest.mark.slow

SIZES = sorted(path.stem for path in CONFIGS.glob("*.yaml") if path.stem != "translation")  # that one is an example
PAPERS = sorted({kind.paper for kind in families()})

# The sizes that are none of a paper's, and the error. Whoever adds a size makes all models run there, or adds it here.
WHY_NOT = {
    **dict.fromkeys([(size, "translation") for size in ("short", "gum", "ewt-gum", "books-small")], "has no source"),
    ("ewt-gum", "constituency"): "without constituents; set parsed_by to a parser",
}

# ---- Made data

COUNTS = {"train": 8, "dev": 3, "test": 3}
IN_ENGLISH = '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" xml:lang="en-US">'
PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="text/one.xhtml"/></manifest>
<spine><itemref idref="a"/></spine></package>"""


@cache
def parts() -> dict[str, list[Sentence]]:
    """Some sentences of minilang, which are drawn when a test asks for them."""
    return {part: load("minilang", part, count).sentences for part, count in COUNTS.items()}


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def put_treebanks(data: Path) -> None:
    """Six treebanks, two of which have graphs, and GUM's constituents, all with one label, a document for each part."""
    for part, sentences in parts().items():
        for number, name in enumerate(UD_ENGLISH):
            few = [replace(one, id=f"GUM_{part}-{n}", rows=None, comments=()) for n, one in enumerate(sentences, 1)]
            plain = few if number < 2 else [replace(one, enhanced=None) for one in few]
            (data / "ud" / name).mkdir(parents=True, exist_ok=True)
            write_conllu(data / "ud" / name / f"x-ud-{part}.conllu", plain)
        trees = [re.sub(r"\(\S+ (?=\()", "(S ", one.brackets) for one in sentences]  # so few
        put(data / "gum_const" / f"GUM_{part}.ptb", "".join(f"(ROOT {tree})\n" for tree in trees))


def put_tests(data: Path) -> None:
    """A test suite of one item, and a minimal pair."""
    regions = {verb: [{"region_number": 1, "content": "This"}, {"region_number": 2, "content": verb}] for verb in WORDS}
    suite = {
        "meta": {"name": "number_prep", "metric": "sum"},
        "region_meta": {"1": "before", "2": "verb"},
        "predictions": [{"type": "formula", "formula": "(2;%is%) < (2;%are%)"}],
        "items": [
            {"item_number": 1, "conditions": [{"condition_name": verb, "regions": regions[verb]} for verb in WORDS]}
        ],
    }
    put(data / "sg" / "json" / "number_prep.json", json.dumps(suite))
    pair = {name: f"There {verb} him ." for name, verb in zip(("sentence_good", "sentence_bad"), WORDS, strict=True)}
    put(data / "blimp" / "a.jsonl", json.dumps(pair | {"UID": "a", "linguistics_term": "b", "field": "c"}) + "\n")


WORDS = ("is", "are")


def put_bllip(folder: Path) -> None:
    for part, (sections, _) in BLLIP_LG.items():
        for number, section in enumerate(sections):
            brackets = parts()[part][number % COUNTS[part]].brackets
            put(folder / f"198{section[1]}" / section / f"{section}.000", f"(S1 {brackets})\n")


def put_ptb(folder: Path) -> None:
    """Dependencies in CoNLL-X."""
    for part, section in {"train": "02", "dev": "22", "test": "23"}.items():
        rows = [
            [(*row[:2], "_", row[4], row[4], "_", *row[6:8], "_", "_") for row in one.rows] for one in parts()[part]
        ]
        blocks = ["".join("\t".join(row) + "\n" for row in sentence) for sentence in rows]
        put(folder / section / f"wsj_{section}01.dep", "\n".join(blocks))


def as_sdp(sentence: Sentence) -> str:
    arcs = [{int(edge.head): edge.label for edge in edges} for edges in sentence.enhanced]
    predicates = sorted({head for of_word in arcs for head in of_word} - {0})
    rows = [
        [str(number), word, word, "X", "+" if 0 in of_word else "-", "+" if number in predicates else "-", "_"]
        + [of_word.get(head, "_") for head in predicates]
        for number, (word, of_word) in enumerate(zip(sentence.words, arcs, strict=True), start=1)
    ]
    return "\n".join([f"#{sentence.id}", *map("\t".join, rows), "", ""])


def put_pairs(data: Path, wmt: Path) -> None:
    """Pairs of German and English, as a folder and as Multi30k."""
    names = {"train": ["train"], "dev": ["val"], "test": ["test_2016_flickr", "test_2017_flickr", "test_2017_mscoco"]}
    names["test"].append("test_2018_flickr")
    for part, count in COUNTS.items():
        pairs = load("minilang:de-en", part, count).sentences
        for language, sides in {"en": [one.words for one in pairs], "de": [one.translation for one in pairs]}.items():
            text = "".join(" ".join(words) + "\n" for words in sides).replace("'", "&apos;")
            put(wmt / f"{part}.tok.{language}", text)
            for name in names[part]:
                put(data / "multi30k" / "tok" / f"{name}.lc.norm.tok.{language}", text.lower())


def put_books(data: Path) -> list[works.Work]:
    """Ebooks with the sentences of a part each."""
    books = []
    for part, sentences in parts().items():
        paragraphs = "".join(f"<p>{one.text}</p>" for one in sentences)
        text = f"{IN_ENGLISH}<body epub:type='bodymatter'><section>{paragraphs}</section></body></html>"
        files = {"src/epub/content.opf": PACKAGE.encode(), "src/epub/text/one.xhtml": text.encode()}
        book = works.Work(f"standardebooks/{part}", "0" * 40, "", "", "1903", "", "1", works.digest(files))
        (data / book.archive).parent.mkdir(parents=True, exist_ok=True)
        (data / book.archive).write_bytes(works._packed(files))
        books.append(book)
    return books


# ---- Small configs

SMALL = {
    **{"layers": 1, "width": 8, "heads": 2, "inner": 8, "heads_width": 8, "parser_layers": 1, "convolution": 3},
    **{"graph_layers": 1, "feature_width": 4, "most_arcs": 9, "pieces": 310, "rarest": 1},
    **{"train_sentences": None, "dev_sentences": 3, "test_sentences": 3, "scored_sentences": 2},
    **{"epochs": 2, "batch_positions": 10**6, "batches_per_step": 1, "longest": 500, "evaluate_every": None},
    **{"learning_rate": 1e-3, "first_rate": 1e-3, "last_rate": 1e-3, "embedding_rate": 1.0, "warmup_steps": 2},
    **{"dropout": 0.1, "attention_dropout": 0.1, "smoothing": 0.1, "weight_decay": 0.0, "clip": 1.0, "patience": None},
    **{"slowed_by": 0.5, "slowed_after": 2, "trees": 3, "beam": 2, "within": 4.0, "score_beam": None},
    **{"items": 0.01, "pairs": 0.01, "compared_seeds": 1, "released": None},
    **{"word_width": 8, "character_width": 4, "lstm_layers": 1, "lstm_width": 8, "label_width": 4, "arc_width": 8},
    **{"span_width": 8, "parser_dropout": 0.1, "prefixes": 1.0},
}
OF_PARSERS = ("parsed_by", "strong_parser", "weak_parser")


def small(path: Path, parser: str) -> dict:
    """A config with small numbers, also for keys that other families have, and with this parser of heads."""
    config = yaml.safe_load(path.read_text())
    known = {field for kind in families() for field in (*kind.config.__dataclass_fields__, *config)}
    config |= {key: value for key, value in SMALL.items() if key in (known if path.parent == CONFIGS else config)}
    if str(config.get("corpus")).startswith("minilang"):  # which has no end
        config |= {"train_sentences": 12}
    elif "corpus" not in config:
        config.pop("train_sentences", None)
    if "label_width" in config:  # a parser must know some labels
        config |= {"epochs": 6, "learning_rate": 0.05}
    return config | {key: parser for key in OF_PARSERS if config.get(key) and ":" not in config[key]}


def put_configs(folder: Path, parser: str) -> None:
    for path in CONFIGS.rglob("*.yaml"):
        put(folder / "configs" / path.relative_to(CONFIGS), yaml.safe_dump(small(path, parser)))


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Iterator[Path]:
    """A repository with small configs, and all data."""
    folder = tmp_path_factory.mktemp("repository")
    data = folder / "data"
    for put_some in (put_treebanks, put_tests, partial(put_pairs, wmt=folder / "wmt16")):
        put_some(data)
    put_bllip(folder / "bllip")
    put_ptb(folder / "ptb")
    for part, sentences in parts().items():
        put(folder / "graphs" / f"{part}.sdp", "#SDP 2015\n" + "".join(map(as_sdp, sentences)))
    books, pairs, suites = put_books(data), minilang.minimal_pairs()[0], minilang.suites()[0]
    sets = {name: items[:1] for name, items in challenges.challenge_sets().items()}
    with pytest.MonkeyPatch.context() as patch, with_one_thread():
        (folder / "notebooks").mkdir()
        patch.chdir(folder)
        for name, value in {"DTG_DATA": data, "BLLIP": folder / "bllip", "PTB": folder / "ptb"}.items():
            patch.setenv(name, str(value))
        patch.setattr(corpus, "all_works", lambda: books)
        patch.setattr(corpus, "HELD_OUT", {"dev": "dev", "test": "test"})
        patch.setattr(corpus, "sentences_of_tests", dict)
        patch.setattr(minilang, "minimal_pairs", lambda: [replace(pairs, pairs=pairs.pairs[:1])])
        patch.setattr(minilang, "suites", lambda: [replace(suites, items=suites.items[:1])])
        patch.setattr(challenges, "challenge_sets", lambda: sets)
        put_configs(folder, "strong")
        put_configs(folder, str(trained_parser("strong", read_size("mini"))))
        yield folder


# ---- What runs

EVALUATIONS = {"gilt": ("sentences", "graphs"), "udgn": ("sentences", "induction"), "translation": ("translation",)}
SEEN: set[str] = set()


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("size", SIZES)
def test_every_model_runs_to_its_end_or_says_why_it_cannot(size, paper, repository, tmp_path):
    names, why_not = [kind.name for kind in families() if kind.paper == paper], WHY_NOT.get((size, paper))
    if why_not:
        for name in names:
            with pytest.raises(UserError, match=why_not):
                trained(read_size(size, model=name))
        return
    chosen = [read_size(size, model=name) for name in names]
    if SEEN.issuperset(map(str, chosen)):
        pytest.skip("a size before it has the same settings, but for numbers")
    folders = list(trained_together(chosen))
    assert all(read_record(folder).metrics[0]["steps"] > 1 for folder in folders)
    measured = names if len(names) < 4 else [names[SIZES.index(size) % len(names)]]  # of many, another one at each size
    record_evaluation(size, [1], measured, tmp_path / "record", EVALUATIONS.get(paper, ("sentences",)))
    SEEN.update(map(str, chosen))


@pytest.mark.parametrize(
    ("model", "other", "measured"),
    [
        ("gilt", {"corpus": "graphs", "parsed_by": None}, graphs_of),
        ("gilt", {"corpus": "bllip-xs", "parsed_by": "graphs:graphs"}, graphs_of),
        ("udgn", {"corpus": "ptb", "counted_in": None}, induction_of),
        ("udgn", {"corpus": "bllip-xs"}, induction_of),
    ],
)
def test_at_size_paper_users_may_name_other_corpora(model, other, measured, repository):
    settings = read_size("paper", model=model, **other)
    assert measured(settings, trained(settings))

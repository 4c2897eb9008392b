"""Commands of translators: translate, challenge, compare-translators.

dtglib translate --model my-translator "Den Ball bringt der Vater ." --trees
dtglib translate --model my-translator minilang:de-en --split test
dtglib challenge --model my-translator                       minilang's challenge sets, and the paper's 99 sentences
dtglib compare-translators my-vanilla my-parent --on minilang:de-en --split test
"""

import argparse
import json
import sys
from typing import TYPE_CHECKING

from dtglib.basics.errors import UserError, require, shortened
from dtglib.cli.options import (
    Command,
    add_json,
    add_sentences,
    count,
    in_a_line,
    model_folder,
    nats,
    print_conventions,
    print_table,
    sentences_of,
)
from dtgpapers.translation.target_command import COMMANDS as TARGET

if TYPE_CHECKING:
    from dtgpapers.translation.translation import Translation, TranslationBeam


def add_search(sub: argparse.ArgumentParser) -> None:
    """Options of the search for translations; see `beam_from`."""
    sub.add_argument("--beam", type=count, default=5, metavar="N", help="hypotheses that are kept (default: 5)")
    alpha = "the exponent of the length by which log p is divided; 0: by nothing (default: 0.6)"
    sub.add_argument("--alpha", type=nats, default=0.6, metavar="A", help=alpha)
    sub.add_argument("--legal", action="store_true", help="take only transitions that lead to a tree")


def beam_from(options: argparse.Namespace) -> "TranslationBeam":
    """The widths of the search that the options ask for."""
    from dtgpapers.translation.translation import TranslationBeam

    return TranslationBeam(options.beam, options.alpha, options.legal)


def _conventions(options: argparse.Namespace, model: str, text: str, scored_by: dict[str, str]) -> dict[str, str]:
    """The search for translations, and the signatures of their scores."""
    search = f"beam {options.beam}, log p divided by length to the power of {options.alpha:g}"
    search += ", legal transitions only" if options.legal else ""
    return {"model": model, "text": text, "search": search, **scored_by}


def _translate_options(sub: argparse.ArgumentParser) -> None:
    add_sentences(sub)
    what = "a translator: its name (`dtglib models`), or the folder of a trained one (default: translator-minilang)"
    sub.add_argument("--model", metavar="NAME", help=what)
    sub.add_argument("--trees", action="store_true", help="with the tree of each translation, as the model wrote it")
    add_search(sub)
    add_json(sub)


def translate(options: argparse.Namespace) -> None:
    """Translate a sentence, or those of a file or corpus."""
    from dtglib.data.corpora import UD_CORPORA
    from dtgpapers.translation.family import require_languages
    from dtgpapers.translation.scores import signatures
    from dtgpapers.translation.translations import measured, translations_of, unknown_words

    folder = model_folder(options, "minilang", "translator")
    require_languages(folder, options.text)
    sentences = sentences_of(options)
    has_references = all(sentence.translation is not None for sentence in sentences)
    is_english = options.text == "minilang" or options.text in UD_CORPORA or options.text.startswith("UD_English")
    require(not is_english, f"{options.text}: is English; a corpus of pairs is minilang:de-en")
    sources = [s.translation if has_references and s.translation is not None else s.words for s in sentences]
    translations = translations_of(folder, sources, beam_from(options))
    if unknown := unknown_words(folder, sources):
        print(f"dtglib: {folder.name} does not know {shortened(unknown)}", file=sys.stderr)
    scores = measured(translations, sentences) if has_references else {}
    if options.json:
        about = _conventions(options, folder.name, options.text, signatures() if has_references else {})
        report = {"conventions": about, "translations": [one._asdict() for one in translations], **scores}
        print(json.dumps(report, ensure_ascii=False))
        return
    for one in translations:
        print(" ".join(one.words))
        if options.trees:
            print(" ".join(one.symbols), _tree(one), "", sep="\n")
    if has_references:
        shown = {key: round(value, 2) if isinstance(value, float) else value for key, value in scores.items()}
        print(*(f"{key} {value}" for key, value in shown.items()), sep=", ", file=sys.stderr)
        for metric, signature in signatures().items():
            print(f"{metric}: {signature}", file=sys.stderr)


def _tree(found: "Translation") -> str:
    """Heads and labels in two lines."""
    if found.heads is None:
        return "this model writes no trees"
    return f"{in_a_line(list(found.heads))}\n{' '.join(found.labels or ())}" if found.heads else "no whole tree"


def _challenge_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("name", nargs="?", metavar="SET", help="a set (default: the names of all, with their sizes)")
    sub.add_argument("--items", type=count, metavar="N", help="the first N items (default: all)")
    what = "a translator; print how many items of each set it masters, and of particles and the like by distance"
    sub.add_argument("--model", metavar="NAME", help=what)
    add_search(sub)
    add_json(sub)


def challenge(options: argparse.Namespace) -> None:
    """Show minilang's challenge sets for translation, or how a translator does on them."""
    from dtgpapers.translation.german.challenge import challenge_sets

    sets = challenge_sets()
    if options.name is not None and options.name not in sets:
        raise UserError(f"there is no challenge set {options.name!r}; there are {', '.join(sets)}")
    if options.model is not None:
        _challenged(options)
        return
    require(options.items is None or options.name is not None, "--items are of one set; name the set, too")
    if options.name is None:
        rows = [
            {"set": name, "items": len(items), "example": " ".join(items[0].german)} for name, items in sets.items()
        ]
        if options.json:
            print(json.dumps({"sets": rows}, indent=2, ensure_ascii=False))
        else:
            print_table(rows)
        return
    shown = [item.as_json() for item in sets[options.name][: options.items]]
    if options.json:
        print(json.dumps({"items": shown}, indent=2, ensure_ascii=False))
        return
    for item in shown:
        print("\n".join(f"{name:20} {value}" for name, value in item.items()), end="\n\n")


def _challenged(options: argparse.Namespace) -> None:
    """The results of a model on all sets and on the paper's sentences, or on one set by distance."""
    from dtgpapers.translation.challenges import by_distance, challenged, turned_round
    from dtgpapers.translation.family import require_languages

    folder, beam = model_folder(options), beam_from(options)
    require_languages(folder, "minilang:de-en")
    if options.items is not None:
        raise UserError("--items chooses which items are printed; with --model all of them are translated")
    if options.name is None:
        tables = {"sets": challenged(folder, beam), "object first": turned_round(folder, beam)}
    else:
        tables = {"distances": by_distance(folder, options.name, beam)}
    unit = "percent of items" if options.name else "percent of items (sets), sentences (object first)"
    about = _conventions(options, folder.name, "minilang:de-en", {"unit": unit})
    if options.json:
        print(json.dumps({"conventions": about, **tables}))
        return
    for rows in tables.values():
        print_table([_rounded(row) for row in rows])
    print_conventions(about)


def _rounded(row: dict[str, object]) -> dict[str, object]:
    """A row for a table."""
    return {k: "" if v is None else round(v, 2) if isinstance(v, float) and k != "p" else v for k, v in row.items()}


def _compare_options(sub: argparse.ArgumentParser) -> None:
    what = "translators; the first is the one that the others are compared with"
    sub.add_argument("models", nargs="+", metavar="NAME", help=what)
    corpora = "corpora of pairs, such as minilang:de-en or NAME:de-en for NAME.de and NAME.en"
    sub.add_argument("--on", nargs="+", required=True, metavar="CORPUS", help=corpora)
    sub.add_argument("--split", metavar="NAME", help="the part of each corpus: train, dev or test")
    add_search(sub)
    add_json(sub)


def compare(options: argparse.Namespace) -> None:
    """Score translators side by side, with sign tests."""
    from dtgpapers.translation.scores import signatures
    from dtgpapers.translation.translations import compared

    corpora = [(corpus, options.split) for corpus in options.on]
    folders = [model_folder(argparse.Namespace(model=model)) for model in options.models]
    rows = compared(folders, corpora, beam_from(options))
    about = _conventions(options, ", ".join(options.models), ", ".join(options.on), signatures())
    if options.json:
        print(json.dumps({"conventions": about, "rows": rows}))
        return
    tests = [row for row in rows if "against" in row]
    print_table([_rounded({"trees": None, "same trees": None, **row}) for row in rows if "against" not in row], about)
    if tests:
        print_table([_rounded(row) for row in tests])


COMMANDS = [
    *TARGET,
    Command("translate", _translate_options, translate),
    Command("challenge", _challenge_options, challenge),
    Command("compare-translators", _compare_options, compare),
]

"""The corpora of books, from the archives to words, on a chapter of Jack London's and a textbook of our own."""

import json
import os
import subprocess
import zipfile
from types import SimpleNamespace

import pytest

from dtglib.basics.code import RUNNING
from dtglib.basics.errors import UserError
from dtglib.cli.main import main
from dtglib.data.corpora import CorpusConfig, corpora, corpus_checksum, load, part_of, stream
from dtglib.data.downloads import FAILED, FETCHED, THERE
from dtglib.runs import prepare
from dtglib.runs.settings import read_size
from dtgpapers.books import corpus, ebooks, textbooks, with_trees, works
from dtgpapers.books.markup import clean, count_words
from dtgpapers.books.sentences import sentences
from dtgpapers.books.with_trees import WITH_TREES
from dtgpapers.books.works import Work, all_works, digest, fetch_works, files_of

# Jack London, The Call of the Wild (1903), in the public domain; the verse at its head is by John Myers O'Hara (1902).
CHAPTER = """<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" xml:lang="en-US">
<head><title>I</title></head><body epub:type="bodymatter z3998:fiction"><section epub:type="chapter">
<hgroup><h2 epub:type="z3998:roman">I</h2><p epub:type="title">Into the Primitive</p></hgroup>
<blockquote epub:type="epigraph z3998:verse"><p><span>Old longings nomadic leap,</span></p></blockquote>
<p>Buck lived at a big house in the sun-kissed Santa Clara Valley. Judge Miller\u2019s place, it was
  <em>called</em>.<a epub:type="noteref">1</a> There were other dogs\u2060\u2014strange creatures. A
  <abbr>St.</abbr> Bernard weighed<br/>one hundred and forty pounds.</p>
<p>\u201cTwist it, an\u2019 you\u2019ll choke \u2019m plentee,\u201d said Manuel.</p>
<p epub:type="z3998:signature">Jack London</p>
<blockquote xml:lang="fr"><p>Sacredam, quoth he.</p></blockquote><p>* * *</p>
</section></body></html>"""
PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf"><manifest>
<item id="a" href="text/title.xhtml"/><item id="b" href="text/one.xhtml"/></manifest>
<spine><itemref idref="a"/><itemref idref="b"/></spine></package>"""
TITLE = CHAPTER.replace("bodymatter", "frontmatter")
EBOOK = {"src/epub/content.opf": PACKAGE, "src/epub/text/title.xhtml": TITLE, "src/epub/text/one.xhtml": CHAPTER}
EBOOK = {name: text.encode() for name, text in EBOOK.items()}

MODULE = """<document xmlns="http://cnx.rice.edu/cnxml" xmlns:m="http://www.w3.org/1998/Math/MathML">
<title>Heat</title><content><figure><caption>No caption is a paragraph of the text.</caption></figure>
<para>Heat flows from hot to cold bodies (see <link target-id="f"/>). It never flows back by itself.<footnote>No.
</footnote> In signs, <m:math/>. See www.heat.org. Everybody knows that it does not.<newline/>A cup of tea cools down.
<list><item>The milk is cold before it is poured.</item><item>sugar</item></list></para>
<para>and this begins in the middle of a sentence.</para><para>Watch this film about heat and cold.</para>
<para>The field is 10<sup>3</sup> times as strong as was thought.</para>
<para>It was measured in the year before.<sup>3</sup> Isotopes such as <sup>14</sup>C are rare in nature.</para>
<section class="review-questions"><para>Why does tea cool down in a cup?</para></section>
<section><title>Key Terms:</title><para>Heat is a form of energy that flows.</para></section>
<note class="boxed"><title>Rumford</title><para>Count Rumford bored cannons and felt them grow hot.</para></note>
</content></document>"""
COLLECTION = """<collection xmlns="http://cnx.rice.edu/collxml"><content><module document="m0"/>
<subcollection><content><module document="m1"/><module document="m1"/><module document="m2"/></content></subcollection>
</content></collection>"""
TEXTBOOK = {
    "collections/heat.collection.xml": COLLECTION,
    "modules/m1/index.cnxml": MODULE,
    "modules/m0/index.cnxml": MODULE,
}
TEXTBOOK = {name: text.encode() for name, text in TEXTBOOK.items()}


def work(repository: str, files: dict[str, bytes], commit: str = "0" * 40) -> Work:
    return Work(repository, commit, "A Title", "An Author", "1903", "public domain", "1", digest(files))


def put(folder, book: Work, files: dict[str, bytes]) -> None:
    path = folder / book.archive
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(works._packed(files))


# --- paragraphs


def test_running_prose_of_an_ebook_is_its_paragraphs():
    first, second = ebooks.paragraphs(EBOOK)
    assert first.startswith("Buck lived at a big house in the sun-kissed Santa Clara Valley.")
    assert first.endswith("Judge Miller’s place, it was called. There were other dogs—strange creatures. "
                          "A St. Bernard weighed one hundred and forty pounds.")  # fmt: skip
    assert second == "“Twist it, an’ you’ll choke ’m plentee,” said Manuel."


def test_a_textbook_loses_sentences_with_holes_and_what_is_no_prose():
    assert list(textbooks.paragraphs(TEXTBOOK)) == [
        "Heat flows from hot to cold bodies. It never flows back by itself. Everybody knows that it does not.",
        "A cup of tea cools down.",
        "The milk is cold before it is poured.",
        "It was measured in the year before. Isotopes such as 14C are rare in nature.",
        "Count Rumford bored cannons and felt them grow hot.",
    ]


def test_invisible_characters_are_removed_and_a_word_has_a_letter_or_digit():
    assert clean("co\u00adoperate \u2060 e\u0301\u200a\u201d a\u200ab \u2011 ") == "cooperate é” a b -"
    assert count_words("It — was 5 * * *") == 3


# --- sentences and words


@pytest.mark.parametrize(
    ("paragraph", "words"),
    [
        ("He left. She did not.", ["He left .", "She did not ."]),
        ("“What?” said Mr. J. B. Brown. “No.”", ['" What ? " said Mr. J. B. Brown .', '" No . "']),
        ("“Who is it?” Cayley asked. “Oh!” I cried.", ['" Who is it ? " Cayley asked .', '" Oh ! " I cried .']),
        ("It was 5 p.m. The U.S. Senate met (p. 12).", ["It was 5 p.m.", "The U.S. Senate met ( p . 12 ) ."]),
        ("“No!—Never!” he said…", ['" No ! --', 'Never ! " he said ...']),
        ("She couldn’t—’tis well-known.", ["She could n't -- 't is well - known ."]),
        ("Goin’ with ’em, the dogs’ tails up.", ["Goin' with 'em , the dogs ' tails up ."]),
        ("“He said ‘no one’ in 1914–18 – once.”", ["\" He said ' no one ' in 1914 - 18 -- once . \""]),
    ],
)
def test_words_are_those_of_ud_english(paragraph, words):
    assert [" ".join(sentence) for sentence in sentences(paragraph)] == words


# --- the corpus


@pytest.fixture
def shelf(tmp_path, monkeypatch) -> SimpleNamespace:
    """A data folder with three works, the Brown corpus, and one test sentence; an empty cache."""
    books = {"standardebooks/call": EBOOK, "openstax/heat": TEXTBOOK, "openstax/dev": TEXTBOOK}
    all_of_them = [work(name, files) for name, files in books.items()]
    for book, files in zip(all_of_them, books.values(), strict=True):
        put(tmp_path, book, files)
    (tmp_path / "nltk").mkdir()
    (tmp_path / "blimp").mkdir()
    with zipfile.ZipFile(tmp_path / "nltk" / "brown.zip", "w") as archive:
        for number in range(1, 4):
            archive.writestr(f"brown/ca0{number}", f"\n\n\tIt/pps didn't/dod* stop/vb {number}/cd ?/. ?/.\n``/`` !/.\n")
    pair = {"sentence_good": "A cup of tea cools down.", "sentence_bad": "A cup of tea cool down."}
    (tmp_path / "blimp" / "a.jsonl").write_text(json.dumps(pair))
    monkeypatch.setenv("DTG_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(corpus, "all_works", lambda: all_of_them)
    monkeypatch.setattr(corpus, "HELD_OUT", {"dev": "dev"})
    monkeypatch.setattr(corpus, "TESTS", {"blimp": corpus.TESTS["blimp"]})
    monkeypatch.setattr(corpus, "read_registry", lambda: {"blimp": [SimpleNamespace(path="blimp/a.jsonl")]})
    caches = (corpus.sentences_of_tests, corpus.cache_folder)
    for cache in caches:
        cache.cache_clear()
    yield SimpleNamespace(folder=tmp_path, works=all_of_them)
    for cache in caches:
        cache.cache_clear()


def test_books_can_be_read_where_nothing_can_be_cached(shelf):
    (shelf.folder / "cache").write_text("a file where the folder would be")
    assert len(stream("books", "train").sentences) == 5 + 8 - 1


def test_train_lacks_the_sentences_of_tests_and_the_works_of_dev(shelf):
    train = stream("books", "train")
    assert train.excluded == {"in blimp": 1}
    assert len(train.sentences) == 5 + 8 - 1
    assert {sentence.heads for sentence in train.sentences} == {None}
    assert {sentence.id for sentence in train.sentences} >= {"call-1", "heat-8"}
    assert len(part_of(CorpusConfig("books", dev_sentences=3), "dev").sentences) == 3
    assert len(stream("books-openstax", "dev").sentences) == 8
    assert stream("books-ebooks", "train").sentences[-1].words[:4] == ('"', "Twist", "it", ",")


def test_a_work_is_read_from_the_cache_the_second_time(shelf, monkeypatch):
    first = stream("books", "train").sentences
    monkeypatch.setattr(corpus, "words_of_work", lambda work: pytest.fail("made again"))
    assert stream("books", "train").sentences == first


def test_statistics_of_the_corpora(shelf, capsys):
    assert main(["stats", "books", "--json"]) == 0
    train, dev, test = json.loads(capsys.readouterr().out)["stats"]
    assert (train["sentences"], train["excluded"]) == (12, {"in blimp": 1, "no tree": 12})
    assert (dev["sentences"], test["sentences"]) == (8, 0)
    assert corpus_checksum("books") != corpus_checksum("books-ebooks")


def test_brown_is_split_by_document_and_tokenised_again(shelf):
    read = {
        name: [" ".join(sentence.words) for sentence in stream("brown", name).sentences] for name in ("dev", "train")
    }
    assert read == {"dev": ["It did n't stop 1 ?"], "train": ["It did n't stop 3 ?"]}


def test_books_have_the_parsers_trees_after_copies_of_a_treebank_with_its_own(shelf, monkeypatch):
    monkeypatch.chdir(shelf.folder)  # where runs/trees will be
    treebank = shelf.folder / "treebank"
    treebank.mkdir()
    for split in ("train", "dev", "test"):
        rows = f"1\tBuck\t_\t_\t_\t_\t2\tnsubj\t_\t_\n2\t{split}\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
        (treebank / f"{split}.conllu").write_text(rows)
    made = WITH_TREES["books-and-ud"]._replace(treebank=str(treebank), copies=3)
    monkeypatch.setitem(WITH_TREES, "books-and-ud", made)
    with monkeypatch.context() as patched:
        patched.setattr(corpus, "_work", lambda work, split: pytest.fail("read in vain"))
        assert [s.heads for s in load("books-and-ud", "train", 2).sentences] == [(2, 0)] * 2
    train = stream("books-and-ud", "train").sentences
    assert [sentence.heads for sentence in train[:3]] == [(2, 0)] * 3
    assert [sentence.words for sentence in train[3:]] == [s.words for s in stream("books", "train").sentences]
    assert all(len(sentence.heads) == len(sentence.words) for sentence in train[3:])
    assert [sentence.words for sentence in stream("books-and-ud", "dev").sentences] == [("Buck", "dev")]
    known = corpus_checksum("books-and-ud")
    monkeypatch.setattr(with_trees, "PARSER", "parser-minilang")
    assert corpus_checksum("books-and-ud") != known


def test_public_domain_text_is_masc_and_then_the_ebooks_with_trees(shelf, monkeypatch):
    monkeypatch.chdir(shelf.folder)
    assert "not found; run `make data`" in {c.name: c.where for c in corpora()}["public-domain"]
    monkeypatch.setattr("dtglib.data.corpora.UD_ENGLISH", ())  # whose sentences of dev and test train must not have
    assert {c.name: c.where for c in corpora()}["public-domain"] == "not found; run `dtglib data nltk`"
    with zipfile.ZipFile(shelf.folder / "nltk" / "masc_tagged.zip", "w") as archive:
        for number in range(3):
            archive.writestr(f"masc_tagged/written/a{number}.txt", f"you_PRP ca_MD n't_RB know_VB {number}_CD\n")
    assert {c.name: c.where for c in corpora()}["public-domain"] == str(shelf.folder / "books")
    train = stream("public-domain", "train").sentences
    ebooks = stream("books-ebooks", "train").sentences
    assert [s.words for s in train] == [("you", "ca", "n't", "know", "2"), *(s.words for s in ebooks)]
    assert all(len(sentence.heads) == len(sentence.words) for sentence in train)
    (dev,) = stream("public-domain", "dev").sentences[:1]
    assert (dev.words[-1], len(dev.heads)) == ("0", 5)


def test_stored_sequences_depend_on_the_code_that_reads_the_books_and_on_no_other_readers(shelf, monkeypatch):
    settings = read_size("smoke", corpus="books")
    before = prepare._identity(settings, "train")
    monkeypatch.setitem(RUNNING, "dtgpapers/udgn/bllip", "edited")
    assert prepare._identity(settings, "train") == before
    monkeypatch.setitem(RUNNING, "dtgpapers/books/sentences", "edited")
    assert prepare._identity(settings, "train") != before


def test_a_missing_archive_and_missing_tests_name_the_way_out(shelf):
    with pytest.raises(UserError, match=r"masc_tagged.zip is missing; run `dtglib data nltk`"):
        stream("masc", "train")
    (shelf.folder / shelf.works[0].archive).unlink()
    with pytest.raises(UserError, match=r"call.tar.xz: A Title is missing; run `dtglib data books`"):
        stream("books", "train")
    assert {c.name: c.where for c in corpora()}["books"] == "not found; run `dtglib data books`"
    (shelf.folder / "blimp" / "a.jsonl").unlink()
    corpus.sentences_of_tests.cache_clear()
    with pytest.raises(UserError, match="train has no sentence of blimp; run `make data`"):
        stream("brown", "train")


# --- fetching


@pytest.fixture
def server(tmp_path) -> SimpleNamespace:
    """A folder of repositories that git serves over file://; one of them holds a picture beside its texts."""
    folder = tmp_path / "server" / "openstax" / "heat"
    files = TEXTBOOK | {"LICENSE": b"CC BY\n"}
    for name, content in {**files, "media/large.jpg": b"x" * 100, "README.md": b"Read me.\n"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)

    def git(*arguments: str) -> str:
        author = {f"GIT_{who}_{what}": "t@t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        command = ["git", "-C", str(folder), "-c", "init.defaultBranch=main", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | author).stdout

    git("init", "--quiet")
    git("config", "uploadpack.allowFilter", "true")
    git("add", ".")
    git("commit", "--quiet", "-m", "texts")
    commit = git("rev-parse", "HEAD").strip()
    git("commit", "--quiet", "--allow-empty", "-m", "something newer")
    return SimpleNamespace(url=f"file://{tmp_path}/server", files=files, commit=commit, data=tmp_path / "data")


def test_the_texts_of_a_repository_are_fetched_at_their_commit(server):
    book = work("openstax/heat", server.files, server.commit)
    assert works._packed(server.files) == works._packed(dict(reversed(server.files.items())))
    assert [result.outcome for result in fetch_works([book], server.data, server.url)] == [FETCHED]
    assert files_of(book, server.data) == server.files
    assert [result.outcome for result in fetch_works([book], server.data, "file:///nowhere")] == [THERE]


def test_a_work_that_cannot_be_fetched_does_not_stop_the_others(server):
    wrong, right = (work("openstax/heat", files, server.commit) for files in ({}, server.files))
    absent = work("openstax/cold", server.files, server.commit)
    results = fetch_works([wrong, absent, right], server.data, server.url)
    assert [result.outcome for result in results] == [FAILED, FAILED, FETCHED]
    assert "wrong files at" in results[0].why
    assert "openstax/cold: git fetch failed" in results[1].why
    assert "delete it and fetch it again" in fetch_works([wrong], server.data, server.url)[0].why
    for damaged in (b"", (server.data / right.archive).read_bytes()[:-100]):
        (server.data / right.archive).write_bytes(damaged)
        assert "is damaged" in fetch_works([right], server.data, server.url)[0].why
    assert fetch_works([], server.data, server.url) == []


@pytest.mark.parametrize("setting", ["autocrlf = true", "eol = crlf"])
def test_settings_of_git_that_change_line_ends_change_no_text(setting, server, tmp_path, monkeypatch):
    (tmp_path / "settings").write_text(f"[core]\n\t{setting}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "settings"))
    (result,) = fetch_works([work("openstax/heat", server.files, server.commit)], server.data, server.url)
    assert result.outcome == FETCHED


# --- the real works


def test_works_are_listed_with_their_commits_and_the_split_names_some_of_them():
    assert len(all_works()) == 263
    assert all(len(work.commit) == 40 and len(work.digest) == 64 and work.licence for work in all_works())
    assert corpus.HELD_OUT.keys() < {work.name for work in all_works()}


@pytest.mark.parametrize("name", ["osbooks-business-law", "jack-london_the-call-of-the-wild"])
def test_words_of_real_works_are_within_one_per_cent_of_the_list(data, name):
    (book,) = (work for work in all_works() if work.name == name)
    if not (data / book.archive).is_file():
        pytest.skip(f"{data} has no {book.archive}: run `dtglib data books`")
    files = files_of(book, data)
    assert digest(files) == book.digest
    source = textbooks if book.source == "openstax" else ebooks
    assert sum(map(count_words, source.paragraphs(files))) == pytest.approx(int(book.words), rel=0.01)

"""The registry of public data: what it lists, how official files become ours, and how the right file is known."""

import hashlib
import json

import pytest

from dtglib.data.registry import RECIPES, DataFile, checksum_of, digest, read_registry, trees_digest

OFFICIAL = b"""\
# newdoc id = weblog
# sent_id = weblog-1
# newpar id = weblog-p1
# text = There is a difference
# text_en = There is a difference
#s_type=decl
1\tThere\tthere\tPRON\tEX\t_\t2\texpl\t2:expl\t_
2\tis\tbe\tVERB\tVBZ\t_\t0\troot\t0:root\t_
3\ta\ta\tDET\tDT\t_\t4\tdet\t4:det\t_
4\tdifference\tdifference\tNOUN\tNN\t_\t2\tnsubj\t2:nsubj\t_

# sent_id = weblog-2
# child_name = Eve
# speaker_role = Mother
# text = # no .
1\t#\t#\tSYM\tNFP\t_\t2\tpunct\t2:punct\t_
2\tno\tno\tINTJ\tUH\t_\t0\troot\t0:root\t_
3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t2:punct\t_

"""
FIRST, SECOND = (block + b"\n\n" for block in OFFICIAL.split(b"\n\n")[:2])


def comments(conllu: bytes) -> list[str]:
    return [line.decode() for line in conllu.splitlines() if line.startswith(b"#")]


def test_the_registry_lists_treebanks_paradigms_suites_pairs_of_sentences_and_reading_times():
    registry = read_registry()
    counts = {name: len(entries) for name, entries in registry.items()}
    assert counts == {"ud-english": 24, "blimp": 67, "sg": 35, "sts": 65, "reading": 1, "nltk": 2}


def test_every_file_has_a_pinned_url_a_size_a_digest_a_licence_and_a_place_of_its_own():
    entries = [entry for entries in read_registry().values() for entry in entries]
    for entry in entries:
        _, _, _, owner, repository, commit, _ = entry.url.split("/", 6)
        assert owner and repository and len(commit) == 40, entry.url
        assert entry.size > 0 and entry.licence and entry.recipe in RECIPES, entry.path
        assert entry.digest.partition(":")[0] in ("sha256", "trees") and len(entry.digest.partition(":")[2]) == 64
    assert len({entry.path for entry in entries}) == len(entries)


def test_a_treebank_keeps_three_comments_and_every_token_line():
    ours = RECIPES["conllu-comments"](OFFICIAL)
    assert comments(ours) == [
        "# newdoc id = weblog",
        "# sent_id = weblog-1",
        "# text = There is a difference",
        "# sent_id = weblog-2",
        "# text = # no .",
    ]
    assert [line for line in ours.split(b"\n") if line[:1] != b"#"] == [
        line for line in OFFICIAL.split(b"\n") if line[:1] != b"#"
    ]


def test_childes_keeps_the_child_and_the_role_of_the_speaker():
    assert comments(RECIPES["childes-comments"](SECOND)) == [
        "# sent_id = weblog-2",
        "# child_name = Eve",
        "# speaker_role = Mother",
        "# text = # no .",
    ]


def test_a_blimp_pair_keeps_seven_fields_in_one_order():
    official = {
        "pairID": "7",
        "sentence_good": "There is a difference.",
        "sentence_bad": "There are a difference.",
        "field": "syntax",
        "linguistics_term": "agreement",
        "UID": "toy",
        "simple_LM_method": True,
        "one_prefix_method": False,
    }
    ours = RECIPES["blimp-fields"](json.dumps(official).encode())
    assert ours == (
        b'{"sentence_good": "There is a difference.", "sentence_bad": "There are a difference.", "field": "syntax", '
        b'"linguistics_term": "agreement", "UID": "toy", "simple_LM_method": true, "pair_id": "7"}\n'
    )
    assert RECIPES["blimp-fields"](ours) == ours


def test_the_digest_of_trees_ignores_order_comments_and_features():
    reordered = SECOND + FIRST
    bare = b"".join(line + b"\n" for line in OFFICIAL.split(b"\n")[:-1] if not line.startswith(b"#"))
    featured = OFFICIAL.replace(b"\tEX\t_\t", b"\tEX\tExtPos=PRON\t").replace(b"0:root\t_", b"0:root\tSpaceAfter=No")
    windows = OFFICIAL.replace(b"\n", b"\r\n")
    assert {trees_digest(other) for other in (reordered, bare, featured, windows)} == {trees_digest(OFFICIAL)}


@pytest.mark.parametrize(
    "other",
    [
        FIRST,
        OFFICIAL + FIRST,
        OFFICIAL.replace(b"\t4\tdet\t4:det", b"\t2\tdet\t4:det"),
        OFFICIAL.replace(b"\tnsubj\t2", b"\tobj\t2"),
        OFFICIAL.replace(b"4\tdifference", b"4\tdeference"),
    ],
    ids=["a sentence less", "a sentence twice", "another head", "another label", "another word"],
)
def test_the_digest_of_trees_depends_on_all_else(other):
    assert other != OFFICIAL
    assert trees_digest(other) != trees_digest(OFFICIAL)


# Slow: all files of the data folder, which no change of the code touches.
@pytest.mark.slow
def test_the_files_used_here_have_the_digests_of_the_registry_and_every_recipe_leaves_them_as_they_are(data):
    def agrees(entry: DataFile) -> bool:
        content = (data / entry.path).read_bytes()
        actual = (RECIPES[entry.recipe](content), digest(entry, content), len(content))
        return actual == (content, entry.digest, entry.size)

    assert [entry.path for entries in read_registry().values() for entry in entries if not agrees(entry)] == []


def test_the_checksum_of_a_collection_is_that_of_its_files_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setenv("DTG_DATA", str(tmp_path))
    (entry,) = read_registry()["reading"]
    assert checksum_of("reading") is None
    path = tmp_path / entry.path
    path.parent.mkdir(parents=True)
    found = []
    for content in (b"There is a difference", b"There is no difference"):
        path.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        found.append(checksum_of("reading"))
        assert found[-1] == hashlib.sha256(f"sha256:{digest}".encode()).hexdigest()
    assert found[0] != found[1]

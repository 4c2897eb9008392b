"""Training data larger than memory: read in blocks, compiled into files once, in training the same as in memory."""

import multiprocessing
import os
import re
import signal
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import slow
from running import bits, lines, together, written
from toys import TINY, compiled, in_every_system, random_sentences

from dtglib.basics.errors import UserError
from dtglib.data import corpora, streamed, treebank
from dtglib.data.corpora import load, stream
from dtglib.data.minilang import corpus as minilang
from dtglib.data.streamed import Streamed
from dtglib.data.treebank import ReadsBlock, Sentence, Treebank, TreebankError, read_conllu, write_conllu
from dtglib.data.vocabulary import Vocabulary
from dtglib.parsing.parser import load_parser
from dtglib.runs.prepare import prepare, read_corpus, trained
from dtglib.runs.settings import Settings, read_settings
from dtglib.sequences.batches import pack, pad
from dtglib.sequences.readings import WORDS, on_a_stack
from dtglib.sequences.stored import CompiledPart, Stored, build
from dtglib.training.distributed import processes
from dtglib.training.examples import Examples

SEQUENCES = compiled("arc-standard", random_sentences(7, 12, most_words=20))
NAMES = [f"sentence-{number}" for number in range(len(SEQUENCES))]
CPU = torch.device("cpu")


def parts(sequences=SEQUENCES, size: int = 5) -> list[partial]:
    """Some sentences at a time; of each part one more was left out."""
    return [
        partial(
            CompiledPart, sequences.chosen(numbers), [NAMES[n] for n in numbers], Counter({"non-projective": 1}), []
        )
        for numbers in np.array_split(np.arange(len(sequences)), range(size, len(sequences), size))
    ]


def same(one: Iterable[np.ndarray], other: Iterable[np.ndarray]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(one, other, strict=True))


# ---- Shards


@in_every_system
def test_batches_of_stored_sentences_are_those_of_sentences_in_memory(name, tmp_path):
    sequences = compiled(name, random_sentences(7, 12, most_words=20))
    stored = build(tmp_path, {}, parts(sequences))
    assert len(stored.shards) == 3
    for numbers in ([0], [11, 4, 4, 7, 0], range(12), []):
        assert same(pad(stored, numbers), pad(sequences, numbers))
        assert same(pack(stored, numbers, 256, 3), pack(sequences, numbers, 256, 3))
    assert (len(stored), stored.highest) == (len(sequences), sequences.vectors.top.max())
    assert np.array_equal(stored.lengths, sequences.lengths)
    assert stored.lengths.itemsize + stored.offsets.itemsize == 8


def test_names_and_what_was_left_out_are_read_from_the_files(tmp_path):
    stored = build(tmp_path, {}, parts())
    assert list(stored.names) == NAMES
    assert stored.excluded == {"non-projective": 3}


def test_numbers_beyond_the_last_sentence_are_an_error(tmp_path):
    stored = build(tmp_path, {}, parts())
    for wrong in ([12], [-1], [3, 99]):
        with pytest.raises(IndexError, match="there are 12 sentences"):
            pad(stored, wrong)
    with pytest.raises(IndexError, match="there are 12 sentences"):
        stored.names[12]


def refuse() -> CompiledPart:
    raise AssertionError("it is compiled again")


def test_a_stopped_build_goes_on_with_the_next_shard(tmp_path):
    def stop() -> CompiledPart:
        raise KeyboardInterrupt

    first, second, third = parts()
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "stopped", {}, [first, second, stop])
    again = build(tmp_path / "stopped", {}, [refuse, refuse, third])
    assert again.checksum == build(tmp_path / "at once", {}, parts()).checksum
    before = written(tmp_path / "stopped")
    assert build(tmp_path / "stopped", {}, [refuse] * 3).checksum == again.checksum
    assert written(tmp_path / "stopped") == before


def test_a_shard_that_lost_a_bit_is_named_and_made_again_when_it_is_deleted(tmp_path, monkeypatch, capsys):
    whole = build(tmp_path, {}, parts())
    path = tmp_path / "00001.safetensors"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"00001\.safetensors: damaged: .*; delete it, and it is made again"):
        build(tmp_path, {}, [refuse] * 3)
    path.unlink()
    monkeypatch.setattr("dtglib.basics.progress.SECONDS_BEFORE_A_BAR", 0)
    monkeypatch.delenv("CI", raising=False)
    assert build(tmp_path, {}, [refuse, parts()[1], refuse]).checksum == whole.checksum
    assert re.search(r"checking sentences: 100%.* 3/3 \[.*(shard/s|s/shard)", capsys.readouterr().err)


def test_a_damaged_manifest_and_one_of_something_else_are_named(tmp_path):
    build(tmp_path, {"corpus": "here"}, parts())
    with pytest.raises(UserError, match=r"manifest\.json: it was made from other data or settings; delete its folder"):
        build(tmp_path, {"corpus": "there"}, [refuse] * 3)
    (tmp_path / "manifest.json").write_text('{"identity"')
    with pytest.raises(UserError, match=r"manifest\.json: damaged .*; delete its folder, and it is made again"):
        build(tmp_path, {"corpus": "here"}, [refuse] * 3)


def test_a_full_disk_is_named_and_the_build_goes_on_when_there_is_room(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    first, second, third = parts()

    def on_a_full_disk() -> CompiledPart:
        # What is written beside the file lands on a device that is always full.
        (tmp_path / f"00001.safetensors.{os.getpid()}.part").symlink_to("/dev/full")
        return second()

    with pytest.raises(UserError, match=r"00001\.safetensors: No space left on device"):
        build(tmp_path, {}, [first, on_a_full_disk, third])
    assert {path.name for path in tmp_path.iterdir()} == {".lock", "00000.safetensors", "manifest.json"}
    assert len(build(tmp_path, {}, [refuse, second, third])) == len(SEQUENCES)


def killed_while_it_writes(folder: Path) -> None:
    """The third file that is flushed is the second shard: it is complete, and does not have its name yet."""
    flushed, flush = [], os.fsync

    def die(number: int) -> None:
        flushed.append(number)
        if len(flushed) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        flush(number)

    os.fsync = die
    build(folder, {}, parts())


def test_a_killed_build_leaves_no_half_shard(tmp_path):
    builder = multiprocessing.get_context("fork").Process(target=killed_while_it_writes, args=(tmp_path,))
    builder.start()
    builder.join()
    assert builder.exitcode == -signal.SIGKILL
    assert [path.name for path in tmp_path.glob("*.safetensors")] == ["00000.safetensors"]
    assert len(list(tmp_path.glob("*.part"))) == 1
    assert len(build(tmp_path, {}, [refuse, *parts()[1:]])) == len(SEQUENCES)
    assert not list(tmp_path.glob("*.part"))


# ---- Files in pieces


def conllu(folder: Path, text: bytes) -> Treebank:
    path = folder / "train.conllu"
    path.write_bytes(text)
    return read_conllu(path)


@pytest.mark.parametrize("piece", [11, 100])
def test_a_file_in_pieces_is_the_file_as_a_whole(piece, tmp_path, monkeypatch):
    write_conllu(tmp_path / "whole.conllu", minilang.split("dev", 5))
    text = (tmp_path / "whole.conllu").read_bytes()
    whole = conllu(tmp_path, text)
    monkeypatch.setattr(treebank, "PIECE", piece)
    for other in (text, b"\xef\xbb\xbf" + text, text.replace(b"\n", b"\r\n"), b"\n" + text.replace(b"\n\n", b"\n\n\n")):
        assert conllu(tmp_path, other) == whole
    assert len(list(treebank.conllu_blocks(tmp_path / "whole.conllu"))) > 1


@pytest.mark.parametrize("piece", [7, 2**20])
def test_errors_in_pieces_have_the_lines_of_the_file(piece, tmp_path, monkeypatch):
    write_conllu(tmp_path / "whole.conllu", minilang.split("dev", 3))
    text = (tmp_path / "whole.conllu").read_bytes()
    line = text.count(b"\n") + 1
    monkeypatch.setattr(treebank, "PIECE", piece)
    with pytest.raises(TreebankError, match=rf"train\.conllu:{line}: .* 1 column instead of 10"):
        conllu(tmp_path, text + b"wrong\n\n")
    with pytest.raises(TreebankError, match=rf"train\.conllu:{line - 2}: .* the file ends here"):
        conllu(tmp_path, text[:-1])
    for empty in (b"", b"\n\n", b"\xef\xbb\xbf", b" \n"):
        with pytest.raises(TreebankError, match=r"train\.conllu is empty"):
            conllu(tmp_path, empty)


def test_raw_text_in_pieces_is_the_text_as_a_whole(tmp_path, monkeypatch):
    path = tmp_path / "mine.txt"
    path.write_bytes(b"There is a difference.\n\nThere is none\r\n\nIs there")
    whole = load(path)
    assert [sentence.id for sentence in whole.sentences] == ["mine-1", "mine-3", "mine-5"]
    for piece in (1, 9, 30):
        monkeypatch.setattr(treebank, "PIECE", piece)
        assert load(path) == whole


def test_minilang_in_blocks_is_minilang(monkeypatch):
    monkeypatch.setattr(corpora, "SENTENCES_PER_BLOCK", 10)
    blocks = [block().sentences for block in corpora.find("minilang", 27)["dev"]()]
    assert [len(block) for block in blocks] == [10, 10, 7]
    assert [sentence for block in blocks for sentence in block] == minilang.split("dev", 27)


# ---- From a corpus to a training


@pytest.fixture
def repository(tmp_path, monkeypatch) -> Path:
    """A repository as `trained` knows one."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "tiny.yaml").write_text(TINY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def with_little_memory(monkeypatch) -> None:
    """Ten sentences fit into memory; dev has ten."""
    for module in (streamed, corpora):
        monkeypatch.setattr(module, "MOST_IN_MEMORY", 10)
    monkeypatch.setattr(corpora, "SENTENCES_PER_BLOCK", 16)


def settings(repository: Path, **other) -> Settings:
    return read_settings(repository / "configs" / "tiny.yaml", other)


def test_training_on_stored_sentences_gives_the_same_losses_and_weights(repository, request, one_thread):
    expected = trained(settings(repository))
    request.getfixturevalue("with_little_memory")
    prepared = prepare(settings(repository))
    assert isinstance(prepared.train.sequences, Stored)
    assert not isinstance(prepared.dev.sequences, Stored)
    found = trained(settings(repository), prepared)
    assert found != expected
    assert lines(found, "train", "dev") == lines(expected, "train", "dev")
    assert bits(found) == bits(expected)


@pytest.mark.parametrize("model", ["txl-tokens", *slow(["dtg-eager"])])
def test_examples_are_the_same_in_files_as_in_memory(model, repository, request):
    check_examples_in_files(settings(repository, model=model, longest=60), request)


def check_examples_in_files(chosen: Settings, request: pytest.FixtureRequest) -> None:
    """The examples are the same in memory and, once there is little of it, in files."""
    expected = prepare(chosen).train
    request.getfixturevalue("with_little_memory")
    found = prepare(chosen).train
    assert isinstance(found.sequences, Stored) and type(found) is type(expected)
    assert found.summary == expected.summary
    assert (list(found.names), found.too_long) == (expected.names, expected.too_long)
    assert found.farthest == expected.farthest
    plans = [examples.plan(256, np.random.default_rng(1), CPU) for examples in (found, expected)]
    assert same(*plans)
    for numbers in plans[0][:3]:
        for one, other in zip(
            *(flat(examples.batch(numbers, 256, CPU)) for examples in (found, expected)), strict=True
        ):
            assert one.equal(other)


def flat(batch: object) -> list[torch.Tensor]:
    """All tensors of a batch."""
    if isinstance(batch, torch.Tensor):
        return [batch]
    return [tensor for part in batch for tensor in flat(part)] if isinstance(batch, tuple) else []


def test_what_is_made_of_a_large_corpus_is_made_once(repository, with_little_memory, monkeypatch):
    first = prepare(settings(repository))

    for made_by in ("dtglib.data.vocabulary.Vocabulary.save", "dtglib.sequences.stored._write_shard"):
        monkeypatch.setattr(made_by, lambda *arguments: refuse())
    again = prepare(settings(repository))
    assert again.vocabulary.entries == first.vocabulary.entries
    assert again.train.checksum == first.train.checksum


def test_a_parser_is_loaded_once_for_all_blocks(repository, with_little_memory, monkeypatch):
    loaded = []

    def load(name):
        loaded.append(name)
        return load_parser(name)

    monkeypatch.setattr("dtglib.runs.trees.load_parser", load)
    chosen = settings(repository, parsed_by="parser-minilang", dev_sentences=5)
    train = read_corpus(chosen).train
    assert sum(1 for _ in train.sentences) == 40
    assert len([name for name in loaded if str(name).endswith("parser-minilang")]) == 2, "for train and for dev"


def prepare_with_little_memory(repository: Path) -> None:
    """As one of several processes; the checksum of what it has found goes to a file."""
    for module in (streamed, corpora):
        module.MOST_IN_MEMORY = 10
    corpora.SENTENCES_PER_BLOCK = 16
    os.chdir(repository)
    with processes() as ours:
        found = prepare(settings(repository, parsed_by="parser-minilang"))
    (repository / f"found-by-{ours.rank}").write_text(f"{found.train.checksum} {found.vocabulary.fingerprint}")


@pytest.mark.slow
def test_several_processes_prepare_a_large_corpus_that_a_parser_reads(repository, tmp_path):
    """They share the parsing, so that none may wait for another that has a lock."""
    assert together(2, tmp_path, prepare_with_little_memory, repository) == [0, 0]
    first, second = ((repository / f"found-by-{rank}").read_text() for rank in (0, 1))
    (repository / "runs").rename(repository / "runs of two")
    assert together(1, tmp_path, prepare_with_little_memory, repository) == [0]
    assert first == second == (repository / "found-by-0").read_text()


def test_other_settings_of_a_large_corpus_have_another_folder(repository, with_little_memory):
    folders = {
        prepare(settings(repository, **other)).train.sequences.folder
        for other in ({}, {"longest": 30}, {"model": "txl-trans"}, {"train_sentences": 39})
    }
    assert len(folders) == 4
    assert folders == {path for path in (repository / "runs" / "sequences").iterdir() if "train" in path.name}


@pytest.mark.parametrize("model", ["dtg", "txl-tokens"])
def test_models_of_all_sizes_share_the_sequences_of_a_large_corpus(repository, with_little_memory, model):
    assert folders_of_sizes(repository, model) == 1


def folders_of_sizes(repository: Path, model: str) -> int:
    """The number of folders with sequences for models of two sizes, and for another training."""
    small, large = ({"width": width, "layers": width // 16, "learning_rate": 0.01 / width} for width in (16, 32))
    folders = {
        prepare(settings(repository, model=model, **other)).train.sequences.folder
        for other in (small, large, {"seed": 7, "epochs": 3})
    }
    return len(folders)


def test_families_of_ones_own_have_sequences_of_their_own(repository, with_little_memory, monkeypatch):
    """Two readings in one module, one of which has the name of a family of the package."""
    (repository / "mine.py").write_text(
        "from dtglib.families.sequence_model import sequence_family\n"
        "from dtglib.sequences.readings import on_a_stack\n"
        "ONE, OTHER = (\n"
        "    sequence_family('dtg', 'Mine', on_a_stack(name), 'dtg') for name in ('arc-standard', 'arc-eager')\n"
        ")\n"
    )
    monkeypatch.syspath_prepend(repository)
    folders = {
        prepare(settings(repository, model=model)).train.sequences.folder for model in ("dtg", "mine:ONE", "mine:OTHER")
    }
    assert len(folders) == 3


def test_files_are_streamed_in_pieces(repository, with_little_memory, monkeypatch):
    (repository / "corpus").mkdir()
    for part, count in (("train", 30), ("dev", 5)):
        write_conllu(repository / "corpus" / f"{part}.conllu", minilang.split(part, count))
    monkeypatch.setattr(treebank, "PIECE", 4000)
    found = prepare(settings(repository, corpus=str(repository / "corpus"), train_sentences=None)).train
    assert len(found) == 30
    assert len(found.sequences.shards) > 3
    assert found.names[29] == minilang.split("train", 30)[29].id


def test_whoever_needs_all_sentences_gets_them_in_memory(repository, with_little_memory):
    whole = load("minilang", "train", 40)
    assert read_corpus(settings(repository), 0.5).train.sentences == whole.sentences[::2]


def test_a_stream_has_no_length_and_says_what_to_do(with_little_memory):
    sentences = stream("minilang", "train", 11).sentences
    wanted = r"minilang, train: has more than 10 sentences, which are not in memory; set train_sentences to 10"
    for asks in (len, lambda sentences: sentences[0], list):
        with pytest.raises(UserError, match=wanted):
            asks(sentences)


def test_a_corpus_that_fits_is_a_list(with_little_memory):
    assert stream("minilang", "train", 10) == load("minilang", "train", 10)
    assert isinstance(stream("minilang", "train", 11).sentences, Streamed)
    assert list(iter(stream("minilang", "train", 11).sentences)) == load("minilang", "train", 11).sentences


HEADS, RAW = Sentence(("There", "is"), (2, 0), id="with"), Sentence(("There", "is"), id="without")
CROSSING = Sentence(("on", "it", "worked", "we"), (3, 4, 0, 3), id="crossing")


def examples_of(folder: Path, *blocks: list[Sentence], reading=WORDS) -> Examples:
    def read() -> Iterable[ReadsBlock]:
        return (partial(Treebank, block, Counter()) for block in blocks)

    speaks = Vocabulary.of_words([("There", "is")])
    return Examples.of("txl-tokens", reading, speaks, Treebank(Streamed("here", read, folder), Counter()), 4)


def test_a_block_of_which_nothing_is_left_is_counted_and_no_error(tmp_path):
    found = examples_of(tmp_path, [HEADS], [CROSSING, RAW], [], [HEADS] * 2)
    assert len(found) == 3
    assert found.summary == "3 sentences, 9 positions; left out: 1 non-projective, 1 no tree"
    assert len(examples_of(tmp_path / "raw", [RAW], [RAW])) == 2


def test_if_nothing_is_left_of_all_blocks_that_is_an_error(tmp_path):
    with pytest.raises(UserError, match="no sentence is left for model txl-tokens; left out: 2 non-projective"):
        examples_of(tmp_path / "crossing", [CROSSING], [CROSSING])
    long = Sentence(("is",) * 4, (2, 3, 4, 0), id="long")
    with pytest.raises(UserError, match="1 non-projective, 2 more than 4 positions; set longest higher"):
        examples_of(tmp_path / "long", [long, CROSSING], [long], reading=on_a_stack("arc-standard"))


def test_heads_that_come_late_are_an_error(tmp_path):
    with pytest.raises(UserError, match="here: sentence 'with' has heads, and the first ones have none; parse them"):
        examples_of(tmp_path, [RAW], [RAW, HEADS])

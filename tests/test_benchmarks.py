"""The benchmarks stay alive: the one for CUDA where there is no GPU, and with little installed."""

import random
import re
import subprocess
import sys

import pytest
import torch
from conftest import BENCHMARKS

from dtglib.data.vocabulary import UNKNOWN
from dtglib.families.base import build

CUDA = BENCHMARKS / "cuda.py"

# All that a bare machine has: what PyTorch, numba and SentencePiece bring along, and three small packages.
NEEDED = ("torch", "numba", "sentencepiece", "numpy", "pyyaml", "safetensors", "tqdm")

# Anything else that is installed is not found, as if it were not.
BARE = f"""
import importlib.metadata as installed, re, runpy, sys
from importlib.machinery import PathFinder

def needed_by(name, found):
    name = re.sub("[-_.]+", "-", name).lower()
    if name not in found:
        found.add(name)
        try:
            asked = installed.requires(name) or []
        except installed.PackageNotFoundError:
            return
        for line in asked:
            if "extra ==" not in line:
                needed_by(re.split(r"[ ;<>=!~\\[(]", line)[0], found)

there = {{"dtglib", "setuptools"}}
for name in {NEEDED!r}:
    needed_by(name, there)
packages = installed.packages_distributions()
missing = {{
    module for module, names in packages.items()
    if not any(re.sub("[-_.]+", "-", name).lower() in there for name in names)
}}
assert {{"conllu", "nltk", "pandas", "supar", "jaxtyping", "scipy"}} <= missing

found = PathFinder.find_spec

def find_spec(name, path=None, target=None):
    return None if name.split(".")[0] in missing else found(name, path, target)

PathFinder.find_spec = find_spec
sys.path.insert(0, {str(BENCHMARKS)!r})
sys.argv = ["cuda.py", "--dry-run"]
runpy.run_path({str(CUDA)!r}, run_name="__main__")
"""


def output_of(*command: str) -> str:
    ran = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("script", sorted(BENCHMARKS.glob("[a-z]*.py")), ids=lambda path: path.stem)
def test_a_benchmark_asks_for_what_all_share_before_anything_that_imports_pytorch(script):
    """Which would find cuda.py beside it, and take it for something else."""
    first = re.search(r"^(?:import|from) (_common|torch|dtglib|growth_curves|precisions)\b", script.read_text(), re.M)
    assert first[1] == "_common"


# Slow: nothing faster runs what is measured on a GPU.
@pytest.mark.slow
def test_the_dry_run_checks_first_and_does_everything_once_where_little_is_installed():
    lines = output_of("-W", "ignore", "-c", BARE).splitlines()
    for first, title in ((0, "DTG"), (4, "TXL (trans)"), (8, "TXL (tokens)")):
        of_model = lines[first : first + 4]
        assert all(line.startswith(f"dry run: {title}, check: ") and "  log_probs " in line for line in of_model)
    done = "\n".join(lines[12:])
    for part in (
        "copy on the device", "products 128 x 128", "TXL (tokens), training: useful positions",
        "DTG, training: useful positions", "scoring, 5 trees, float32",
        "scoring, 5 trees, bfloat16", "beam 3: words", "beam 3, within 8 nats: words", "training, dense, 3 words",
        "training, in loops, 3 words", "scoring, as a trie, 3 trees", "beam, from the cache, width 3",
    ):  # fmt: skip
        assert f"dry run: {part}" in done
    for name in ("hours_for_bllip", "minutes_for_blimp", "minutes_for_suites", "changed_decisions", "share"):
        assert f"  {name} " in done


# Slow: what a benchmark says where it cannot run.
@pytest.mark.slow
def test_without_a_gpu_nothing_is_measured():
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA GPU here")
    assert output_of(str(CUDA)) == "there is no CUDA GPU here: nothing is measured, and nothing recorded\n"


def test_made_up_words_agree_with_their_heads_and_a_pair_differs_in_one_word(benchmarks):
    cuda, chance = benchmarks("cuda"), random.Random(1)
    vocabulary = benchmarks("_common").made_up_vocabulary(cuda.TINY.pieces)
    for length in (1, 2, 9, 30):
        sentence = cuda.agreeing(length, chance)
        classes = [int(word) % cuda.CLASSES for word in sentence.words]
        for of, head in zip(classes, sentence.heads, strict=True):
            assert not head or of == (classes[head - 1] + 1) % cuda.CLASSES
        other = cuda.disagreeing(sentence, chance)
        ((one, wrong),) = [pair for pair in zip(sentence.words, other.words, strict=True) if pair[0] != pair[1]]
        assert UNKNOWN not in vocabulary.encode([one, wrong]).ids
        assert int(one) // cuda.CLASSES == int(wrong) // cuda.CLASSES
        assert other.heads == sentence.heads


def test_what_a_search_would_read_again_is_every_hypothesis_from_its_beginning(benchmarks):
    """With one hypothesis and no choice, the steps read 2, 3, 5, ... positions: a word adds one, an arc two."""
    common, growth = benchmarks("_common"), benchmarks("growth_curves")
    from dtglib.decode.beam import Widths, search
    from dtglib.network.transformer import TransformerConfig

    torch.manual_seed(1)
    model = build(TransformerConfig(layers=1, width=16, heads=1, inner=16), common.made_up_vocabulary(6000)).eval()
    stepper = growth.Rereading(model)
    search(stepper, model.vocabulary, [["1"]], Widths(1, 1))
    assert stepper.read_again == 2 + 4  # <ROOT> 1, and after ROOT's arc with its copy
    assert stepper.positions == 1 + 1 + 2


def test_without_any_of_its_steps_a_search_finds_the_same(benchmarks):
    from dtglib.decode.beam import Widths, search
    from dtglib.network.transformer import TransformerConfig

    steps, vocabulary = benchmarks("steps"), benchmarks("_common").made_up_vocabulary(6000)
    torch.manual_seed(1)
    model = build(TransformerConfig(layers=1, width=16, heads=1, inner=16), vocabulary)
    (as_it_is,) = search(model.eval().stepper(), model.vocabulary, [["1", "2"]], Widths(9, 9))
    for undone in steps.UNDONE.values():
        with undone():
            (found,) = search(model.stepper(), model.vocabulary, [["1", "2"]], Widths(9, 9))
        assert found.log_prob == pytest.approx(as_it_is.log_prob, abs=1e-4)


def test_memory_that_is_kept_to_go_backwards_is_counted_once(benchmarks):
    layer, x, y = torch.nn.Linear(10, 10), torch.zeros(10, requires_grad=True), torch.ones(10)

    def work() -> None:
        (layer(x) + x * y + x * y).sum()

    # x, as the layer's weight needs it, and y; the weights themselves are there anyway.
    assert benchmarks("growth_curves").memory_of(work, layer) == 80

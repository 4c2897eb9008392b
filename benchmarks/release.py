"""How long a beam search takes here, and in the program that the paper's authors have released, on one core.

    git clone https://github.com/zhaoyd1/Dep_Transformer_Grammars FOLDER
    python benchmarks/release.py FOLDER

One sentence of 10 words of one piece out of 8,000, in arc-standard; d 256, 6 layers, 8 heads, inner width 1024, random
weights; beam and word beam as in benchmarks/beam.py. Both searches run in this process, one after the other, and the
figures are seconds of the processor, so that other work on the machine counts little. Ours is the best of three runs;
the release is run once, because it takes minutes.

The release is not changed. It expects a GPU and an extension in C++ that only training needs: tensors stay where they
are when it asks for the GPU, and the extension is an empty module.
"""

import _common  # isort: skip

import argparse
import os
import random
import sys
import time
import types
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from dtglib.decode.beam import Widths, search
from dtglib.families.base import build
from dtglib.network.transformer import TransformerConfig

SIZE = {"layers": 6, "width": 256, "heads": 8, "inner": 1024}
SETTINGS, WORDS = (Widths(20, 20), Widths(100, 10), Widths(300, 300)), 10

BOS, EOS, PAD, LEFT, RIGHT, POP = 1, 2, 0, 3, 4, 5  # the release's symbols; words come after them
PIECES = 8000
MOST_ACTIONS = 15  # between two words, as in its script


def processor_seconds(work: Callable[[], object]) -> float:
    """The seconds of the processor that a piece of work takes."""
    began = time.process_time()
    work()
    return time.process_time() - began


def search_of_release(folder: Path, length: int) -> Callable[[int, int], None]:
    """The release's search of one sentence, by beam and word beam."""
    sys.path.insert(0, str(folder))
    sys.modules["masking_bllip.cpp_masking"] = types.ModuleType("masking_bllip.cpp_masking")
    torch.Tensor.cuda = lambda tensor: tensor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of old syntax
        import beam_search_standard as release
        from model_dep_gen_first import TransformerGrammar
    starts_word = [0] * (POP + 1) + [1] * (PIECES - POP - 1)
    model = TransformerGrammar(
        PIECES, SIZE["width"], SIZE["heads"], SIZE["width"] // SIZE["heads"], SIZE["inner"], SIZE["layers"], 0.0, 0.0,
        PAD, BOS, EOS, LEFT, RIGHT, POP, starts_word,
    ).eval()  # fmt: skip
    for parameter in model.parameters():
        if parameter.ndim == 2:
            torch.nn.init.normal_(parameter, std=0.02)
    chance = random.Random(1)
    tokens = torch.tensor([[BOS, *(chance.randrange(POP + 1, PIECES) for _ in range(length)), POP, EOS]])
    begins = torch.tensor([[False] + [True] * (length + 2)])
    ranges, actions = release.TokenTypeRanges(BOS, PAD, PIECES, LEFT, RIGHT), release.VocabMeta((LEFT, RIGHT + 1))
    longest = tokens.shape[1] + 2 * (length - 1)

    def run(beam: int, word_beam: int) -> None:
        release.word_sync_beam_search(
            model, ranges, tokens, begins, starts_word, PIECES, beam, word_beam, 0, longest, MOST_ACTIONS, actions
        )

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a clone of the authors' release")
    folder = parser.parse_args().folder
    os.environ["NUMBA_NUM_THREADS"] = (
        "1"  # its parallel kernel would give PyTorch two threads, which wait for each other
    )
    torch.set_num_threads(1)
    words = _common.made_up_words(WORDS, random.Random(1))
    torch.manual_seed(1)
    model = build(TransformerConfig(model="dtg", **SIZE), _common.made_up_vocabulary()).eval()
    of_release = search_of_release(folder, WORDS)
    of_release(2, 2)
    for _ in range(3):  # until all kernels are compiled (basics/jit.py)
        search(model.stepper(), model.vocabulary, [words], Widths(100, 10))
    with _common.benchmark("release", "How long does a beam search take, here and in the authors' release?") as report:
        for widths in SETTINGS:
            beam = f"{widths.beam_width}/{widths.word_beam_width}"
            here = partial(search, model.stepper(), model.vocabulary, [words], widths)
            there = partial(of_release, widths.beam_width, widths.word_beam_width)
            seconds = min(processor_seconds(here) for _ in range(_common.RUNS))
            report(f"ours, {beam}", len(words), seconds, form="ours", beam=beam)
            report(f"release, {beam}", len(words), processor_seconds(there), form="the authors' release", beam=beam)


if __name__ == "__main__":
    main()

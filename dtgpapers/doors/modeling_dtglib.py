"""A model of dtglib as transformers knows models: configuration, causal language model, tokenizer.

This file stands in every folder that `dtglib export --to hf` writes, and needs dtglib to be installed.
"""

from itertools import groupby
from pathlib import Path

import torch
from torch import nn
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel, PreTrainedTokenizer
from transformers.modeling_outputs import CausalLMOutputWithPast

from dtglib.basics.errors import require, shortened
from dtglib.data.tokenize import tokenize
from dtglib.data.vocabulary import END, MARK, PAD, ROOT, UNKNOWN, Vocabulary
from dtglib.decode.beam import Widths
from dtgpapers.doors.hugging_face import network_of
from dtgpapers.doors.next_piece import Derivations


class DtglibConfig(PretrainedConfig):
    """The network, by the files that dtglib reads, and the widths of the search over its derivations."""

    model_type = "dtglib"

    def __init__(self, files=None, beam=300, within=12.0, **others):
        self.files, self.beam, self.within = files or {}, beam, within
        super().__init__(**others)


class DtglibForCausalLM(PreTrainedModel, GenerationMixin):
    """Logits are log p(next piece | pieces so far), marginal over derivations."""

    config_class = DtglibConfig

    def __init__(self, config):
        super().__init__(config)
        with torch.device("cpu"):  # transformers makes networks without memory, but this one computes constants
            self.network = network_of(config.files)
        # transformers 5 empties all buffers that are in no file.
        self.constants = {
            module: {name: module.get_buffer(name) for name in module._non_persistent_buffers_set}
            for module in self.network.modules()
        }
        self.post_init()

    def _init_weights(self, module):
        """Put back the constants; weights come from a file."""
        for name, constant in self.constants.get(module, {}).items():
            setattr(module, name, constant.to(module.get_buffer(name).device))

    def get_input_embeddings(self):
        """The embeddings of pieces and of symbols of trees."""
        return self.network.embedding

    @torch.no_grad()
    def forward(
        self, input_ids, attention_mask=None, labels=None, past_key_values=None, use_cache=False, return_dict=True
    ):
        """Logits after each position, and the mean loss of the labels, each of which is predicted a position earlier.

        At positions that the mask leaves out, logits are 0; after <END>, and padding that it does not leave out, <END>
        is certain. <ROOT> and symbols of trees inside a sentence are an error. `past_key_values` is advanced.
        """
        new, is_first = input_ids.shape[1], past_key_values is None
        cache = Cache(self.network, len(input_ids)) if is_first else past_key_values
        is_read = torch.ones_like(input_ids) if attention_mask is None else attention_mask[:, -new:]
        rows = [ids[mask != 0].tolist() for ids, mask in zip(input_ids, is_read, strict=True)]
        pieces = [ids[1:] if is_first and ids[:1] == [ROOT] else ids for ids in rows]
        is_piece, entries = cache.derivations.is_piece, self.network.vocabulary.entries
        inside = {number for ids in pieces for number in ids if not is_piece[number]} - {PAD, END}
        names = shortened([entries[number] for number in sorted(inside)])
        require(not inside, f"{names} cannot stand inside a sentence")
        widths = Widths(self.config.beam, self.config.beam, within=self.config.within)
        logits = torch.zeros(*input_ids.shape, self.config.vocab_size, device=self.device)
        for row, (ids, after) in enumerate(zip(rows, cache.derivations.read(pieces, widths), strict=True)):
            logits[row, is_read[row] != 0] = after[len(after) - len(ids) :]
        cache.positions += new
        loss = None
        if labels is not None:
            is_counted = (is_read[:, :-1] != 0) & (is_read[:, 1:] != 0)
            following = labels[:, 1:].masked_fill(~is_counted, -100)  # which transformers use for no label
            loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), following.flatten())
        output = CausalLMOutputWithPast(loss=loss, logits=logits, past_key_values=cache if use_cache else None)
        return output if return_dict else output.to_tuple()

    def prepare_inputs_for_generation(
        self, input_ids, past_key_values=None, attention_mask=None, use_cache=True, **others
    ):
        """The arguments of `forward` for the next piece; with a cache, the positions that it has not read yet."""
        read = past_key_values.get_seq_length() if past_key_values else 0
        return {
            "input_ids": input_ids[:, read:], "attention_mask": attention_mask, "past_key_values": past_key_values,
            "use_cache": use_cache,
        }  # fmt: skip

    @classmethod
    def _supports_default_dynamic_cache(cls):
        """`generate` makes no cache of keys and values: `forward` returns one of derivations."""
        return False


class Cache:
    """The derivations of a batch, by the names that transformers has for caches."""

    def __init__(self, network, rows):
        self.derivations, self.positions = Derivations(network, rows), 0

    def get_seq_length(self, layer=0):
        """The number of positions that were read, padding included."""
        return self.positions

    def reorder_cache(self, rows):
        """Go on with these rows."""
        self.derivations.choose(rows.tolist())


class DtglibTokenizer(PreTrainedTokenizer):
    """Text as words of a treebank (`There is n't`), and these as pieces; `<ROOT>` stands before them."""

    vocab_files_names = {  # noqa: RUF012 (transformers asks for this form)
        "vocabulary_file": "vocabulary.json", "words_file": "words.txt", "pieces_file": "pieces.model",
    }  # fmt: skip
    model_input_names = ["input_ids", "attention_mask"]  # noqa: RUF012

    def __init__(self, vocabulary_file, words_file=None, pieces_file=None, **others):
        self.dtglib = Vocabulary.load(Path(vocabulary_file).parent)
        self.ids = {entry: number for number, entry in enumerate(self.dtglib.entries)}
        self.first = len(self.dtglib.reserved)  # the first id of a piece
        super().__init__(**others)

    @property
    def vocab_size(self):
        """The number of entries."""
        return len(self.dtglib)

    def get_vocab(self):
        """The ids of entries."""
        return dict(self.ids)

    def _tokenize(self, text, **others):
        return [self.dtglib.entries[number] for number in self.dtglib.encode(tokenize(text)).ids]

    def _convert_token_to_id(self, token):
        return self.ids.get(token, UNKNOWN)

    def _convert_id_to_token(self, index):
        return self.dtglib.entries[index]

    def convert_tokens_to_string(self, tokens):
        """The words with blanks between them; the names of special tokens count as words."""
        words = []
        for is_piece, run in groupby(map(self._convert_token_to_id, tokens), lambda number: number >= self.first):
            ids = list(run)
            words += self._words(ids) if is_piece else [self.dtglib.entries[number] for number in ids]
        return " ".join(words)

    def _decode(self, token_ids, **options):
        """The text; a word at its beginning has a blank before it, unless <ROOT> or padding comes first."""
        text = super()._decode(token_ids, **options)
        first = token_ids if isinstance(token_ids, int) else next(iter(token_ids), PAD)
        return f" {text}" if text and self.dtglib.starts_word[first] else text

    def _words(self, ids):
        """The words of pieces; the first one may have begun before."""
        begun = [self.ids[MARK]] if self.dtglib.continues_word[ids[0]] else []
        return self.dtglib.decode([*begun, *ids])

    def build_inputs_with_special_tokens(self, token_ids_0, token_ids_1=None):
        """The pieces after <ROOT>, which the text may have already."""
        ids = [*token_ids_0, *(token_ids_1 or [])]
        return ids if ids[:1] == [ROOT] else [ROOT, *ids]

    def save_vocabulary(self, save_directory, filename_prefix=None):
        """Write the files of the vocabulary; they have no prefix."""
        self.dtglib.save(save_directory)
        return tuple(
            str(path) for path in map(Path(save_directory).joinpath, self.vocab_files_names.values()) if path.exists()
        )

"""Tokenizer files without a disk, and small `tokenizer.json` files made on the spot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from ngramdb.tokenizers import FileContent

PROSE = (
    "The quick brown fox jumps over the lazy dog. It isn't the dog's fault, they'd say;\n\n"
    "the fox had 12,345 reasons and no time at all.\tNaïve café owners — 東京 — don't care: 👩‍🚀!\n"
)


@dataclass
class MemoryFile:
    """A file for `open_tokenizer`, with the content that a tokenizer returned."""

    sections: dict[str, Any]
    properties: dict[str, Any] = field(default_factory=dict)
    path: str = "memory"

    def has(self, name: str) -> bool:
        return name in self.sections

    def array(self, name: str) -> np.ndarray:
        stored = self.sections[name].copy()
        stored.flags.writeable = False
        return stored


@pytest.fixture
def as_file() -> Callable[[FileContent], MemoryFile]:
    return lambda content: MemoryFile(dict(content.sections), dict(content.properties))


@pytest.fixture(scope="session")
def byte_level_json() -> bytes:
    """Return a byte-level BPE of 400 tokens with one special token, like GPT-2's except for its size."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    library = Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    library.train_from_iterator([PROSE] * 3, trainer)
    return library.to_str().encode()


@pytest.fixture(scope="session")
def word_piece_json() -> bytes:
    """A tokenizer that loses white space and case, and has an unknown token."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    vocabulary = ["[UNK]", "the", "quick", "fox", "jump", "##s", "##ing", "dog", ".", ","]
    library = Tokenizer(models.WordPiece({word: k for k, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer()
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece()
    return library.to_str().encode()

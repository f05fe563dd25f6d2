"""Small tokenizer.json files: byte-level sub-words, and words at blanks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]


def write_tokenizer(path: Path, merges: Sequence[str] = ("Ġ f", "Ġf o", "Ġfo x")) -> Path:
    """A BPE tokenizer of all bytes and of what the merges make of them; by default of ` f`, ` fo`, ` fox`."""
    others = iter(range(256, 512))
    alphabet = [chr(byte) if byte in PRINTABLE else chr(next(others)) for byte in range(256)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    parts = [*alphabet, *(merge.replace(" ", "") for merge in merges)]
    vocabulary = {part: i for i, part in enumerate(parts)}
    model = {"type": "BPE", "vocab": vocabulary, "merges": list(merges)}
    definition = {"version": "1.0", "pre_tokenizer": level, "decoder": level, "model": model}
    path.write_text(json.dumps(definition), encoding="utf-8")
    return path


def word_level(path: Path, words: Sequence[str]) -> Path:
    """A tokenizer of words at blanks, and `?` for those that are not in its vocabulary."""
    vocabulary = {word: i for i, word in enumerate(["?", *words])}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "?"}
    definition = {"version": "1.0", "pre_tokenizer": {"type": "WhitespaceSplit"}, "model": model}
    path.write_text(json.dumps(definition), encoding="utf-8")
    return path

"""Indexes of other programs, written here after their layouts: tests do not need their packages."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import numpy as np

from ngramdb._cext.segment.kinds import TableIndex
from ngramdb.tokenizers.registry import create_tokenizer


def stream_of(documents, dtype, reverse=False):
    """infini-gram's text: for each document a separator, all ones, and its tokens; where documents begin."""
    separator = int(np.iinfo(dtype).max)
    symbols, offsets = [], []
    for document in documents:
        offsets.append(len(symbols) * np.dtype(dtype).itemsize)
        symbols += [separator, *(reversed(document) if reverse else document)]
    return np.array(symbols, dtype=dtype), np.array(offsets, dtype=np.uint64)


def packed_pointers(pointers, width):
    """Pointers of `width` bytes each."""
    wide = np.asarray(pointers, dtype="<u8").view(np.uint8).reshape(-1, 8)
    assert not wide[:, width:].any()
    return np.ascontiguousarray(wide[:, :width]).reshape(-1)


def table_of(text, width=None):
    """infini-gram's suffix array of a text: sorted by its bytes to its end, pointers to bytes."""
    data, size = text.tobytes(), text.dtype.itemsize
    pointers = sorted(range(0, len(data), size), key=lambda at: data[at:])
    width = width or max(1, math.ceil(math.log2(len(data)) / 8))
    return packed_pointers(pointers, width)


def infini_gram_index(documents, dtype=np.uint16, width=None, reverse=False):
    """The documents as one shard of infini-gram's; in reverse as in its version 5."""
    text, offsets = stream_of(documents, dtype, reverse)
    separator = int(np.iinfo(dtype).max)
    return TableIndex(text, table_of(text, width), True, True, separator, offsets, "shard", reverse)


def tokengrams_arrays(documents, dtype=np.uint16, separator=None):
    """tokengrams' text and table: sorted by numbers to its end, pointers to tokens."""
    ends = [] if separator is None else [separator]
    text = np.array([token for document in documents for token in [*document, *ends]], dtype=dtype)
    tokens = text.tolist()
    return text, np.array(sorted(range(len(tokens)), key=lambda at: tokens[at:]), dtype="<u8").view(np.uint8)


def write_infini_gram(folder, documents, dtype=np.uint16, shards=1, metadata=None, version=4):
    """An index in a folder, documents dealt in turns, as infini-gram's builder writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    for shard in range(shards):
        mine = list(range(shard, len(documents), shards))
        text, offsets = stream_of([documents[i] for i in mine], dtype, version == 5)
        parts = {"tokenized": text, "table": table_of(text), "offset": offsets}
        if metadata is not None:
            records = [{"path": "0.jsonl", "linenum": i, "metadata": metadata[i]} for i in mine]
            lines = [json.dumps(record) + "\n" for record in records]
            starts = np.cumsum([0, *map(len, lines)], dtype=np.uint64)[:-1]
            parts |= {"metadata": np.frombuffer("".join(lines).encode(), np.uint8), "metaoff": starts}
        place, suffix = (folder, f".{shard}") if version != 6 else (folder / f"shard{shard}", "")
        place.mkdir(exist_ok=True)
        for name, data in parts.items():
            (place / f"{name}{suffix}").write_bytes(data.tobytes())
    return folder


DATA = Path(__file__).parents[1] / "language" / "data"


def write_example(folder):
    """The index that the pages attach: sayings, in two shards, with the tokenizer that made their ids."""
    records = [json.loads(line) for line in (DATA / "sayings.jsonl").read_text(encoding="utf-8").splitlines()]
    pieces = create_tokenizer(DATA / "pieces.tokenizer.json")
    documents = [pieces.encode(record.pop("text")).tolist() for record in records]
    write_infini_gram(folder, documents, np.uint16, 2, records)
    shutil.copy(DATA / "pieces.tokenizer.json", folder / "tokenizer.json")

"""Documents as files of token ids, as training code reads them: Megatron, nanoGPT.

    x.bin with x.idx    Megatron: the ids, and an index with the type and the bounds of sequences
    x.bin               nanoGPT: the ids alone, with a separator after each document

Each piece of a broken document is a document of its own, so that no n-gram crosses a break. Documents without
tokens are left out: training code does not expect them. `ngramdb.ingest.readers.token_files` reads the files.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ngramdb.api.verbs.whole_files import replacing
from ngramdb.errors import InvalidArgument
from ngramdb.questions.document_tokens import Lengths, Pieces, pieces_of
from ngramdb.registries import GROWING_TOKENIZERS
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus

# The index of Megatron-LM (core/datasets/indexed_dataset.py): magic, version, type, numbers of lists.
_MAGIC = b"MMIDIDX\0\0"
_VERSION = 1
_TYPES = {"uint16": 8, "int32": 4}


class Layout(NamedTuple):
    """A format: the types that ids may have, in order of preference, and the function that writes files."""

    types: tuple[str, ...]
    needs_separator: bool
    write: Callable[[str, Iterable[Pieces], np.dtype[Any]], tuple[int, int]]


class WrittenIds(NamedTuple):
    """The outcome: the numbers of documents and tokens, separators included, and the type of ids."""

    documents: int
    tokens: int
    dtype: str


def write_token_files(
    corpus: Corpus,
    wanted: Iterable[tuple[Segment, int]],
    name: str,
    kind: str,
    separator: int | None,
    dtype: str | None,
) -> WrittenIds:
    """Write documents as token ids.

    Parameters
    ----------
    wanted : the documents, in order: segment and number
    name : the file of ids
    kind : 'megatron' or 'nanogpt'
    separator : the id after each document; Megatron needs none
    dtype : the type of ids; by default the narrowest that holds the vocabulary

    Raises
    ------
    InvalidArgument
        The corpus has ids of its own, a type that does not hold an id, a missing separator, or a name that
        does not end in .bin.
    ExecutionError
        A file cannot be written; nothing is left of it.

    Notes
    -----
    Cost: about 5 ns per token, and 1 µs per document in the order of ids, 10 µs in another.
    """
    layout = LAYOUTS[kind]
    if corpus.tokenizer.kind in GROWING_TOKENIZERS:
        raise InvalidArgument(
            f"the corpus has the tokenizer {corpus.tokenizer.kind!r}, whose ids have no meaning elsewhere; "
            "write a corpus with a tokenizer.json, bytes or tokens"
        )
    if layout.needs_separator and separator is None:
        raise InvalidArgument(
            f"{kind} files need the id that ends a document as SEPARATOR (separator): 50256 is that of GPT-2"
        )
    if dtype is not None and dtype not in layout.types:
        raise InvalidArgument(f"the ids of {kind} files are {' or '.join(layout.types)}, not {dtype}")
    chosen = np.dtype(dtype or _narrowest(corpus, layout.types, separator)).newbyteorder("<")
    if separator is not None and separator > np.iinfo(chosen).max:
        raise InvalidArgument(f"the separator {separator} does not fit into ids of the type {chosen.name}")
    pieces = (_typed(one, chosen) for one in _ended(pieces_of(wanted), separator))
    return WrittenIds(*layout.write(name, pieces, chosen), chosen.name)


def _narrowest(corpus: Corpus, types: tuple[str, ...], separator: int | None) -> str:
    """Return the first type that holds all ids of the vocabulary, or of the documents if that has no end."""
    if corpus.tokenizer.kind == "tokens":
        largest = max((segment.largest_id() for segment in corpus.segments), default=0)
    else:
        largest = corpus.tokenizer.n_vocabulary - 1
    largest = max(largest, separator or 0)
    return next((one for one in types if largest <= np.iinfo(one).max), types[-1])


# ---- The documents


def _ended(pieces: Iterable[Pieces], separator: int | None) -> Iterator[Pieces]:
    """Yield documents, each with the separator after it."""
    for ids, lengths in pieces:
        if separator is None:
            yield Pieces(ids, lengths)
        else:
            ended = np.insert(ids.astype(np.int64), np.cumsum(lengths), separator)
            yield Pieces(ended, lengths + 1)


def _typed(given: Pieces, dtype: np.dtype[Any]) -> Pieces:
    largest = int(given.ids.max()) if len(given.ids) else 0
    if largest > np.iinfo(dtype).max:
        raise InvalidArgument(f"the token id {largest} does not fit into ids of the type {dtype.name}")
    return Pieces(given.ids.astype(dtype), given.lengths)


# ---- The files


def _write_ids(file: Any, pieces: Iterable[Pieces], lengths: list[Lengths]) -> int:
    """Write all ids, and keep the lengths of documents; return the number of ids."""
    n_tokens = 0
    for one in pieces:
        file.write(one.ids.tobytes())
        lengths.append(one.lengths)
        n_tokens += len(one.ids)
    return n_tokens


def _write_nanogpt(name: str, pieces: Iterable[Pieces], dtype: np.dtype[Any]) -> tuple[int, int]:
    lengths: list[Lengths] = []
    n_tokens = replacing(name, lambda file: _write_ids(file, pieces, lengths))
    return sum(map(len, lengths)), n_tokens


def _write_megatron(name: str, pieces: Iterable[Pieces], dtype: np.dtype[Any]) -> tuple[int, int]:
    """Write the ids and their index: the index is gone before an earlier file of ids is replaced."""
    stem, ending = os.path.splitext(name)
    if ending != ".bin":
        raise InvalidArgument(f"{name}: the name of a megatron file must end in .bin; the index ends in .idx")
    parts: list[Lengths] = []
    n_tokens = 0

    def write_ids(file: Any) -> int:
        n = _write_ids(file, pieces, parts)
        file.flush()
        os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{stem}.idx")
        return n

    def write_index(file: Any) -> int:
        nonlocal n_tokens
        n_tokens = replacing(name, write_ids)
        lengths = np.concatenate([np.empty(0, np.int64), *parts])
        if len(lengths) and lengths.max() > np.iinfo(np.int32).max:
            raise InvalidArgument(
                f"a document has {lengths.max():,} tokens, more than megatron's index can hold"
            )
        file.write(
            _MAGIC + struct.pack("<QBQQ", _VERSION, _TYPES[dtype.name], len(lengths), len(lengths) + 1)
        )
        file.write(lengths.astype("<i4").tobytes())
        file.write(((np.cumsum(lengths) - lengths) * dtype.itemsize).astype("<i8").tobytes())
        file.write(np.arange(len(lengths) + 1, dtype="<i8").tobytes())
        return len(lengths)

    n_documents = replacing(f"{stem}.idx", write_index)
    return n_documents, n_tokens


LAYOUTS = {
    "megatron": Layout(("uint16", "int32"), False, _write_megatron),
    "nanogpt": Layout(("uint16", "uint32"), True, _write_nanogpt),
}

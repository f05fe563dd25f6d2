"""Files of token ids, as training code writes them: OLMo and Dolma, Megatron, datatrove, nanoGPT, llm.c.

Each is an array of ids, with information on the ends of documents in it:

    x.npy with x.csv.gz       OLMo, Dolma: rows of start, end, id, src, loc; no header, in spite of the name
    x.bin with x.idx          Megatron: the index has lengths of sequences, and the sequences of documents
    x.ds with x.ds.index      datatrove: 64-bit ends of documents
    x.bin, x.npy alone        nanoGPT, llm.c (with a header), numpy: an id separates documents

If the id between documents, or at the end of each, is given as the separator, it belongs to none of them.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.errors import LoadError
from ngramdb.formats import named
from ngramdb.ingest.documents import Document, ErrorLog, TokenIds, unknown_id
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.readers.columns import Columns, MetadataColumns, Row
from ngramdb.ingest.readers.lines import opened
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import Meter, read_chunks
from ngramdb.lazy import lazy_module
from ngramdb.limits import MAX_TOKEN_ID

pyarrow = lazy_module("pyarrow")
pyarrow_csv = lazy_module("pyarrow.csv")

UNIT = named("tokens").unit
# Tokens that are looked at, and documents that are given, at a time.
CHUNK_TOKENS = 1 << 20
CHUNK_DOCUMENTS = 1 << 14

_NUMPY = b"\x93NUMPY"
# llm.c: 256 integers of 32 bits, of which the first is one of these, the third the number of tokens.
_LLM_C = {20240520: "uint16", 20240801: "uint32"}
_LLM_C_HEADER = 1024
# Megatron: the index begins with 9 bytes and a version, 1; then a type, and two numbers.
_MEGATRON = b"MMIDIDX\0\0"
_MEGATRON_HEADER = 34
_MEGATRON_TYPES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 8: "uint16"}
# The columns of Dolma's tables beside its files.
_DOLMA_COLUMNS = ("start", "end", "id", "src", "loc")


@dataclass(frozen=True)
class _Bounds:
    """The bounds of documents in the tokens, and their metadata, if any."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    columns: Columns | None = None


def read_tokens(source: Source, options: ReadOptions, errors: ErrorLog, meter: Meter) -> Iterator[Document]:
    """Yield the documents of one file of token ids; `Document.line` is the number of the document.

    Raises LoadError with file and document at the first one that has an id beyond the vocabulary, unless
    `options.on_error` is "skip": then `errors` counts it.
    Cost: the file is mapped; memory for about a million tokens.
    """
    if source.is_remote:
        raise LoadError(
            "files of token ids are memory-mapped: download it, and load the copy", source=source.label
        )
    with opened(source) as file:
        tokens, every = _opened(file, source, options, errors)
        before, n_bytes = meter.bytes_read, source.n_bytes or 0
        number = 0
        for bounds in every:
            interrupts.check()
            yield from _documents(tokens, bounds, number, source, options, errors)
            number += len(bounds.starts)
            if len(bounds.stops) and len(tokens):
                meter.bytes_read = before + n_bytes * int(bounds.stops[-1]) // len(tokens)
        meter.bytes_read = before + n_bytes


def files_beside(path: str) -> frozenset[str]:
    """Return the names of files that may belong to a file of token ids, without documents of their own."""
    stem = os.path.splitext(path)[0]
    return frozenset((f"{stem}.csv.gz", f"{stem}.idx", f"{path}.index", f"{path}.loss", f"{path}.metadata"))


def _documents(
    tokens: NDArray[Any],
    bounds: _Bounds,
    before: int,
    source: Source,
    options: ReadOptions,
    errors: ErrorLog,
) -> Iterator[Document]:
    """Yield consecutive documents; `before` documents precede the first."""
    n = len(bounds.starts)
    passed = min(max(source.after_line - before, 0), n)
    if passed == n:
        return
    low, high = int(bounds.starts[passed:].min()), int(bounds.stops[passed:].max())
    ids = tokens[low:high]
    n_ids = min(options.n_ids, MAX_TOKEN_ID + 1)
    is_sound = not len(ids) or (int(ids.max()) < n_ids and (ids.dtype.kind == "u" or int(ids.min()) >= 0))
    unsigned = _unsigned(ids) if is_sound else None
    starts, stops = (bounds.starts - low).tolist(), (bounds.stops - low).tolist()
    label, columns = source.label, bounds.columns
    for i in range(passed, n):
        if unsigned is not None:
            own = unsigned[starts[i] : stops[i]]
        elif (wrong := _wrong_id(ids[starts[i] : stops[i]], n_ids)) is None:
            own = _unsigned(ids[starts[i] : stops[i]])
        else:
            message = unknown_id("ids", wrong, n_ids)
            error = LoadError(message, source=label, line=before + i + 1, unit=UNIT)
            if options.on_error != "skip":
                raise error
            errors.add(error)
            continue
        metadata = {} if columns is None else Row(columns, i)
        yield Document(None, own, metadata, label, before + i + 1, None, UNIT)


def _wrong_id(ids: NDArray[Any], n_ids: int) -> int | None:
    wrong = ids[(ids.astype(np.int64) < 0) | (ids.astype(np.int64) >= n_ids)]
    return int(wrong[0]) if len(wrong) else None


def _unsigned(ids: NDArray[Any]) -> TokenIds:
    if ids.dtype.kind == "u" and ids.dtype.itemsize <= 4:
        return ids
    return ids.astype(np.uint32)


# ---- what a file is -------------------------------------------------------------------------------------


def _opened(
    file: BinaryIO, source: Source, options: ReadOptions, errors: ErrorLog
) -> tuple[NDArray[Any], Iterator[_Bounds]]:
    """Return the tokens of a file, and the bounds of its documents."""
    separator = _separator(options)
    stem = os.path.splitext(source.path)[0]
    if os.path.exists(f"{stem}.idx") and source.path.endswith(".bin"):
        return _megatron(source, f"{stem}.idx", options, separator)
    if os.path.exists(f"{source.path}.index"):
        return _datatrove(source, options, separator)
    has_table = os.path.exists(f"{stem}.csv.gz")
    tokens = _array_of(file.read(_LLM_C_HEADER), source, options, has_table)
    if has_table:
        return tokens, _dolma(tokens, source, f"{stem}.csv.gz", separator, options)
    if separator is None:
        raise LoadError(
            "no file beside it has the ends of its documents; give the id between them as SEPARATOR "
            "('50256' is that of GPT-2)",
            source=source.label,
        )
    if separator > np.iinfo(tokens.dtype).max:
        raise LoadError(
            f"its ids are {tokens.dtype}, too narrow for SEPARATOR {separator}", source=source.label
        )
    return tokens, _between(tokens, separator, source, errors)


def _array_of(head: bytes, source: Source, options: ReadOptions, has_table: bool) -> NDArray[Any]:
    """Return the tokens of a file that begins with `head`; with a table beside it, it has no llm.c header."""
    if head.startswith(_NUMPY):
        tokens = _of_numpy(source)
        _check_dtype(options, tokens.dtype, "its header", source)
    elif not has_table and len(head) == _LLM_C_HEADER and int.from_bytes(head[:4], "little") in _LLM_C:
        tokens = _mapped(source, _LLM_C[int.from_bytes(head[:4], "little")], _LLM_C_HEADER)
        _expect(source, "tokens", int.from_bytes(head[8:12], "little"), len(tokens))
        _check_dtype(options, tokens.dtype, "its header", source)
    else:
        tokens = _mapped(source, _dtype(source, options))
    return tokens


def _separator(options: ReadOptions) -> int | None:
    if options.separator is None:
        return None
    if not options.separator.isascii() or not options.separator.isdigit():
        raise LoadError(f"in files of token ids SEPARATOR must be an id, not {options.separator!r}")
    return int(options.separator)


def _dtype(source: Source, options: ReadOptions) -> str:
    """Return the type of the ids: the given one, else the one that the vocabulary needs."""
    if options.dtype is not None:
        return options.dtype
    if options.n_ids > MAX_TOKEN_ID:
        raise LoadError(
            "the file does not record the type of its ids; give DTYPE 'uint16' or 'uint32'",
            source=source.label,
        )
    return "uint16" if options.n_ids <= 1 << 16 else "uint32"


def _check_dtype(options: ReadOptions, found: np.dtype[Any], where: str, source: Source) -> None:
    """Raise LoadError if the given type differs from the one in the file."""
    if options.dtype is None:
        return
    given = np.dtype(options.dtype)
    if (given.kind, given.itemsize) != (found.kind, found.itemsize):
        raise LoadError(
            f"its ids are {found.name} by {where}, and not {given.name}; leave DTYPE out", source=source.label
        )


def _mapped(source: Source, dtype: str, offset: int = 0) -> NDArray[Any]:
    """Map the ids of a file, from `offset` on."""
    kind = np.dtype(dtype).newbyteorder("<")
    n_bytes = (source.n_bytes or 0) - offset
    if n_bytes % kind.itemsize:
        raise LoadError(
            f"{n_bytes:,} bytes is not a multiple of the size of an id, {kind.itemsize}: it was cut short, "
            "or DTYPE is wrong",
            source=source.label,
        )
    if not n_bytes:
        return np.zeros(0, kind)
    # As a plain array: slices of a map take four times as long to make.
    mapped: NDArray[Any] = np.memmap(source.path, kind, "r", offset).view(np.ndarray)
    return mapped


def _of_numpy(source: Source) -> NDArray[Any]:
    try:
        tokens: NDArray[Any] = np.load(source.path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise LoadError(f"cannot be read as an array of numpy: {error}", source=source.label) from None
    if tokens.ndim != 1 or tokens.dtype.kind not in "iu":
        message = f"is an array of shape {tokens.shape} and type {tokens.dtype}, not one of token ids"
        raise LoadError(message, source=source.label)
    return tokens.view(np.ndarray)


# ---- where documents end --------------------------------------------------------------------------------


def _between(tokens: NDArray[Any], separator: int, source: Source, errors: ErrorLog) -> Iterator[_Bounds]:
    """Yield documents with an id between them; ids at the beginning and the end make no empty documents.

    So the id may be before each document, as in files of llm.c, or after each, as in those of nanoGPT.
    """
    start = 0
    for chunk in range(0, len(tokens), CHUNK_TOKENS):
        found = np.flatnonzero(tokens[chunk : chunk + CHUNK_TOKENS] == separator).astype(np.int64) + chunk
        if not len(found):
            continue
        starts = np.concatenate((np.array([start], np.int64), found[:-1] + 1))
        is_empty_first = int(start == 0 and found[0] == 0)
        yield _Bounds(starts[is_empty_first:], found[is_empty_first:])
        start = int(found[-1]) + 1
    if start == 0 and len(tokens):
        errors.remark(f"{source.label} does not contain {separator}, the SEPARATOR: it is one document")
    if start < len(tokens):
        yield _Bounds(np.array([start]), np.array([len(tokens)]))


def _listed(
    tokens: NDArray[Any], starts: NDArray[np.int64], stops: NDArray[np.int64], separator: int | None
) -> Iterator[tuple[slice, _Bounds]]:
    """Yield documents with known bounds, in chunks, without their final separator."""
    for first in range(0, len(starts), CHUNK_DOCUMENTS):
        part = slice(first, first + CHUNK_DOCUMENTS)
        low, high = starts[part], stops[part]
        if separator is not None:
            last = tokens[np.maximum(high - 1, 0)] if len(tokens) else np.zeros(len(high))
            high = high - ((high > low) & (last == separator))
        yield part, _Bounds(low, high)


def _check_bounds(
    source: Source, beside: str, starts: NDArray[np.int64], stops: NDArray[np.int64], n_tokens: int
) -> None:
    wrong = np.flatnonzero((starts < 0) | (stops < starts) | (stops > n_tokens))
    if len(wrong):
        i = int(wrong[0])
        raise LoadError(
            f"document {i + 1} is from token {int(starts[i]):,} to {int(stops[i]):,}, and "
            f"{source.label} has {n_tokens:,} tokens: the two do not belong together, or one was cut short",
            source=beside,
        )


def _expect(source: Source, what: str, expected: int, found: int) -> None:
    if expected != found:
        raise LoadError(
            f"{found:,} {what}, but {expected:,} were expected: it was cut short", source=source.label
        )


def _megatron(
    source: Source, path: str, options: ReadOptions, separator: int | None
) -> tuple[NDArray[Any], Iterator[_Bounds]]:
    head = _bytes_of(path, 0, _MEGATRON_HEADER)
    version, code = int.from_bytes(head[9:17], "little"), head[17] if len(head) > 17 else 0
    if len(head) < _MEGATRON_HEADER or not head.startswith(_MEGATRON) or version != 1:
        raise LoadError("is not an index of Megatron, or was cut short", source=path)
    if code not in _MEGATRON_TYPES:
        raise LoadError(f"ids must be integers, not values of type {code}", source=path)
    n_sequences, n_documents = (int.from_bytes(head[k : k + 8], "little") for k in (18, 26))
    wanted = _MEGATRON_HEADER + 12 * n_sequences + 8 * n_documents
    if os.path.getsize(path) < wanted:
        raise LoadError(f"has fewer than the {wanted:,} bytes of its lists: it was cut short", source=path)
    tokens = _mapped(source, _MEGATRON_TYPES[code])
    _check_dtype(options, tokens.dtype, os.path.basename(path), source)
    lists = _bytes_of(path, _MEGATRON_HEADER, wanted - _MEGATRON_HEADER)
    lengths = np.frombuffer(lists, "<i4", n_sequences).astype(np.int64)
    offsets = np.frombuffer(lists, "<i8", n_sequences, 4 * n_sequences)
    firsts = np.frombuffer(lists, "<i8", n_documents, 12 * n_sequences)
    begins = np.append(offsets // tokens.itemsize, (offsets // tokens.itemsize + lengths)[-1:])
    if n_documents and (firsts.min() < 0 or firsts.max() > n_sequences or np.any(np.diff(firsts) < 0)):
        raise LoadError("its list of documents is not ascending: it is damaged", source=path)
    starts, stops = begins[firsts[:-1]], begins[firsts[1:]]
    _check_bounds(source, path, starts, stops, len(tokens))
    return tokens, (bounds for _, bounds in _listed(tokens, starts, stops, separator))


def _datatrove(
    source: Source, options: ReadOptions, separator: int | None
) -> tuple[NDArray[Any], Iterator[_Bounds]]:
    path = f"{source.path}.index"
    content = _bytes_of(path, 0, -1)
    if len(content) % 8:
        raise LoadError("is not a list of 64-bit numbers: it was cut short", source=path)
    stops = np.frombuffer(content, "<u8").astype(np.int64)
    n_tokens = int(stops[-1]) if len(stops) else 0
    n_bytes = source.n_bytes or 0
    width = n_bytes // n_tokens if n_tokens else 2
    if width * n_tokens != n_bytes or width not in (1, 2, 4):
        raise LoadError(
            f"ends at token {n_tokens:,}, but {source.label} has {n_bytes:,} bytes: the two do "
            "not belong together, or one was cut short",
            source=path,
        )
    if options.dtype is not None and np.dtype(options.dtype).itemsize != width:
        raise LoadError(
            f"its ids have {width} byte{'' if width == 1 else 's'} by {os.path.basename(path)}, and are not "
            f"{options.dtype}; leave DTYPE out",
            source=source.label,
        )
    tokens = _mapped(source, options.dtype or f"uint{8 * width}")
    starts = np.concatenate((np.zeros(1, np.int64), stops[:-1])) if len(stops) else stops
    _check_bounds(source, path, starts, stops, len(tokens))
    return tokens, (bounds for _, bounds in _listed(tokens, starts, stops, separator))


def _dolma(
    tokens: NDArray[Any], source: Source, path: str, separator: int | None, options: ReadOptions
) -> Iterator[_Bounds]:
    content = b"".join(read_chunks(Source(path, path, "text"), options.limits, Meter()))
    if not content:
        return
    # Columns are counted in the first row, not the first line: quoted names may have commas and line ends.
    text = io.TextIOWrapper(io.BytesIO(content), "utf-8", "replace", newline="")
    try:
        n_columns = max(1, len(next(csv.reader(text))))
    except csv.Error as error:
        raise LoadError(f"cannot be read as rows of start, end, id, src, loc: {error}", source=path) from None
    names = [
        *_DOLMA_COLUMNS[:n_columns],
        *(f"column {k}" for k in range(len(_DOLMA_COLUMNS) + 1, n_columns + 1)),
    ]
    try:
        table = pyarrow_csv.read_csv(
            pyarrow.BufferReader(content),
            read_options=pyarrow_csv.ReadOptions(column_names=names),
            # Only if necessary: it keeps the parser from working on several blocks at once.
            parse_options=pyarrow_csv.ParseOptions(newlines_in_values=b'"' in content),
            convert_options=pyarrow_csv.ConvertOptions(
                column_types={
                    "start": pyarrow.int64(),
                    "end": pyarrow.int64(),
                    "id": pyarrow.string(),
                    "src": pyarrow.string(),
                }
            ),
        ).combine_chunks()
        starts, stops = table["start"].to_numpy(), table["end"].to_numpy()
    except (pyarrow.ArrowException, KeyError) as error:
        raise LoadError(f"cannot be read as rows of start, end, id, src, loc: {error}", source=path) from None
    _check_bounds(source, path, starts, stops, len(tokens))
    fields = table.drop_columns(["start", "end"])
    kept = None if options.metadata is None else [(name,) for name in options.metadata]
    metadata = MetadataColumns(fields.schema, None, kept)
    for part, bounds in _listed(tokens, starts, stops, separator):
        rows = fields.slice(part.start, len(bounds.starts)).combine_chunks().to_batches()
        columns = metadata.of(rows[0])[0] if rows else None
        yield _Bounds(bounds.starts, bounds.stops, columns)


def _bytes_of(path: str, offset: int, n_bytes: int) -> bytes:
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(n_bytes)
    except OSError as error:
        raise LoadError(f"cannot be read: {error.strerror or error}", source=path) from error

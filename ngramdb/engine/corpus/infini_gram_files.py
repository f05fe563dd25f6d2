"""Writing a corpus as files for infini-gram: version 4, and version 5, whose documents are reversed.

Shard s has a stream `tokenized.s`, for each document the separator (all bits set) and then its tokens;
`table.s`, the suffix array of that stream, in byte offsets as wide as the largest one needs;
`offset.s`, where documents begin; `metadata.s` with a line of JSON for each document, `metaoff.s`, where
lines begin; and `unigram.s`, the count of every token id.

There, suffixes run across documents to the stream's end, and are compared by the bytes of the file: this
order differs from that of our rows, so the table is sorted again.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.sort.construction import suffix_array
from ngramdb.errors import ExecutionError, InvalidArgument
from ngramdb.segments.attached import JsonMetadata

if TYPE_CHECKING:
    from ngramdb.source import Corpus

# Versions of the peer's files, and whether documents are reversed in them.
VERSIONS = {4: False, 5: True}

DTYPES = {"u8": "<u1", "u16": "<u2", "u32": "<u4"}

# Rows of a suffix array have 32 bits, and one more symbol than the stream is sorted.
MAX_STREAM = 2**32 - 3

# Offsets that are converted and written together.
CHUNK = 1 << 20


@dataclass(frozen=True)
class Layout:
    """The layout of the files: see `write_index`."""

    version: int = 4
    shards: int = 1
    token_dtype: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.version, (int, np.integer)) or self.version not in VERSIONS:
            raise InvalidArgument(f"infini-gram's files are written in version 4 or 5, not {self.version!r}")
        if type(self.shards) is not int or self.shards < 1:
            raise InvalidArgument(f"shards must be a whole number of at least 1, not {self.shards!r}")
        if self.token_dtype is not None and (
            type(self.token_dtype) is not str or self.token_dtype not in DTYPES
        ):
            raise InvalidArgument(f"token_dtype must be u8, u16 or u32, not {self.token_dtype!r}")


def metadata_line(view: Corpus, s: int, i: int) -> str:
    """Return the line of `metadata.s` for document i of segment s: its corpus, id and metadata.

    For an attached index, return its original line.
    """
    segment = view.segments[s]
    if isinstance(segment.metadata, JsonMetadata):
        return segment.metadata.line(i)
    (record,) = metadata_records(view, s, [i])
    return json.dumps(record, default=str) + "\n"


def metadata_records(view: Corpus, s: int, numbers: list[int]) -> Iterator[Any]:
    """Yield the content of `metadata_line` of documents (ascending numbers) of segment s.

    Dates and other values outside JSON are not converted. Cost: see `MetadataReader.rows`.
    """
    segment = view.segments[s]
    if isinstance(segment.metadata, JsonMetadata):
        yield from (json.loads(segment.metadata.line(i) or "{}") for i in numbers)
        return
    for i, row in zip(numbers, segment.metadata.rows(numbers), strict=True):
        yield {"path": view.corpus_of(s), "linenum": segment.doc_id(i), "metadata": row}


def write_index(view: Corpus, folder: str | os.PathLike[str], layout: Layout) -> int:
    """Write a corpus's documents as an index, without removed ones; return their number.

    Each piece of a broken document becomes a document, with the same metadata: no n-gram crosses a break.

    Parameters
    ----------
    folder : is created, with everything in it or not at all
    layout : the version, the number of shards, and the width of token ids, which depends on the largest
     id by default

    Raises
    ------
    InvalidArgument
        Token ids do not fit, the folder exists, a shard would be too large, or empty.
    ExecutionError
        The files cannot be written.

    Notes
    -----
    Cost: that of building an index. Memory: about 20 bytes per token of a shard.
    """
    target = Path(folder)
    if os.path.lexists(target):
        raise InvalidArgument(f"{target} already exists; name a new folder")
    dtype = _dtype(view, layout.token_dtype)
    n_documents = sum(segment.n_documents - len(view.removed(s)) for s, segment in enumerate(view.segments))
    if n_documents < layout.shards:
        raise InvalidArgument(
            f"each shard needs at least one document, and the corpus has {n_documents:,}"
            + (f"; write at most {n_documents:,} shards, not {layout.shards:,}" if n_documents else "")
        )
    try:
        made = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise ExecutionError(f"cannot make {target}: {error.strerror}") from error
    except ValueError as error:  # a name that is invalid on every file system
        raise ExecutionError(f"cannot make {str(target)!r}: {error}") from error
    try:
        n = 0
        for shard in range(layout.shards):
            n += _write_shard(view, made, shard, layout, dtype)
        made.chmod(0o755)
        made.rename(target)
    except OSError as error:
        raise ExecutionError(f"cannot write {target}: {error.strerror}") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return n


def _dtype(view: Corpus, name: str | None) -> np.dtype[Any]:
    largest = max((segment.largest_id() for segment in view.segments), default=-1)
    chosen = name or ("u16" if largest < 2**16 - 1 else "u32")
    dtype = np.dtype(DTYPES[chosen])
    separator = int(np.iinfo(dtype).max)
    if largest >= separator:
        raise InvalidArgument(
            f"the corpus has the token id {largest}, and {chosen} has room for ids below {separator}, "
            "which separates documents"
        )
    return dtype


def _write_shard(view: Corpus, folder: Path, shard: int, layout: Layout, dtype: np.dtype[Any]) -> int:
    separator = np.array([np.iinfo(dtype).max], dtype=dtype)
    parts, starts, lines, line_starts = [], [], [], []
    n_tokens = n_bytes = 0
    for number, (s, i) in enumerate(_kept(view)):
        interrupts.check()
        if number % layout.shards != shard:
            continue
        line = metadata_line(view, s, i).encode()
        for tokens in view.segments[s].pieces(i):
            parts += [separator, (tokens[::-1] if VERSIONS[layout.version] else tokens).astype(dtype)]
            starts.append(n_tokens * dtype.itemsize)
            n_tokens += 1 + len(tokens)
            lines.append(line)
            line_starts.append(n_bytes)
            n_bytes += len(line)
        if n_tokens > MAX_STREAM:
            raise InvalidArgument(
                f"a shard has at most {MAX_STREAM:,} tokens; write more shards than {layout.shards}"
            )
    stream = np.concatenate(parts) if parts else np.empty(0, dtype=dtype)
    stream.tofile(folder / f"tokenized.{shard}")
    np.array(starts, dtype="<u8").tofile(folder / f"offset.{shard}")
    (folder / f"metadata.{shard}").write_bytes(b"".join(lines))
    np.array(line_starts, dtype="<u8").tofile(folder / f"metaoff.{shard}")
    _write_counts(folder / f"unigram.{shard}", stream)
    _write_table(folder / f"table.{shard}", stream)
    return len(starts)


def _kept(view: Corpus) -> Iterator[tuple[int, int]]:
    """Yield segment and number of every document that was not removed, in order."""
    for s, segment in enumerate(view.segments):
        removed = set(view.removed(s).tolist())
        yield from ((s, i) for i in range(segment.n_documents) if i not in removed)


def _write_counts(path: Path, stream: NDArray[Any]) -> None:
    tokens, counts = np.unique(stream, return_counts=True)
    lines = (f"{token} {count}\n" for token, count in zip(tokens.tolist(), counts.tolist(), strict=True))
    path.write_text("".join(lines), encoding="ascii")


def _write_table(path: Path, stream: NDArray[Any]) -> None:
    """Write the stream's suffix array, in the order of its bytes, shorter suffixes first."""
    width = pointer_width(stream.nbytes)
    with path.open("wb") as file:
        if not len(stream):
            return
        rows = suffix_array(*_symbols(stream))
        for start in range(0, len(rows), CHUNK):
            interrupts.check()
            offsets = rows[start : start + CHUNK].astype("<u8") * stream.itemsize
            file.write(offsets.view(np.uint8).reshape(-1, 8)[:, :width].tobytes())


def pointer_width(n_bytes: int) -> int:
    """Return the bytes per offset into a stream, by infini-gram's formula."""
    return math.ceil(math.log2(n_bytes) / 8) if n_bytes > 1 else 1


def _symbols(stream: NDArray[Any]) -> tuple[NDArray[np.uint32], int]:
    """Return the stream as symbols from 1 on ordered by tokens' bytes, with a final 0; and their number."""
    tokens, ranks = np.unique(stream.byteswap(), return_inverse=True)
    symbols = np.zeros(len(stream) + 1, dtype=np.uint32)
    symbols[:-1] = ranks.reshape(-1) + 1
    return symbols, len(tokens) + 1

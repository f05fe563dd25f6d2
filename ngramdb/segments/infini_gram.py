"""infini-gram's files: what they are called, how they are laid out, and which sizes must agree.

Version 4 has numbered files, a number for each shard, in one folder: `tokenized.0` (a separator, all ones,
and the tokens of each document), `table.0` (pointers to bytes, packed), `offset.0` (where documents begin),
and perhaps `metadata.0` with `metaoff.0`. Version 5 has the same files, with the tokens of each document in
reverse. Version 6 has a folder for each shard, without numbers. The files do not declare the width of tokens;
it follows from the sizes, since pointers are as wide as the text needs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.errors import CorruptionError, InvalidArgument
from ngramdb.registries import DTYPE_BYTES, INFINI_GRAM_VERSIONS
from ngramdb.segments.attached import TableFiles, contradiction

OpenFile = Callable[[str], memoryview]

# Documents whose offsets are looked at when an index is opened.
_LOOKED_AT = 64
_NUMBERED = re.compile(r"(tokenized|table|offset)\.(0|[1-9][0-9]*)")


def shards_of(
    folder: str,
    dtype: str | None,
    version: int | None,
    open_file: OpenFile,
    identity_of: Callable[..., str],
) -> list[TableFiles]:
    """Return the shards of the index in a folder, by their numbers or names.

    Parameters
    ----------
    dtype : u8, u16 or u32; None: derived from the sizes
    version : 5 if documents are stored in reverse (the files do not declare it); None: by file names
    open_file : maps the file at a path; raises FileNotFoundError
    identity_of : what a cache knows files by

    Raises
    ------
    InvalidArgument
        The folder has no such index, or one of another version.
    CorruptionError
        A file is missing, or sizes and offsets contradict each other.
    """
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise InvalidArgument(f"cannot read the folder {folder!r}: {error.strerror}") from error
    is_reversed = INFINI_GRAM_VERSIONS[version or 4]

    def shard(place: str, suffix: str) -> TableFiles:
        _check_version(place, suffix, version)
        return replace(_shard(place, suffix, dtype, open_file, identity_of), is_reversed=is_reversed)

    if "tokenized" in names:
        return [shard(folder, "")]
    numbers = sorted({int(found[2]) for name in names if (found := _NUMBERED.fullmatch(name))})
    if numbers:
        if numbers != list(range(len(numbers))):
            missing = next(i for i in range(numbers[-1]) if i not in numbers)
            raise CorruptionError(
                f"{folder}: shard {missing} is missing: tokenized.{missing} not found",
                path=folder,
            )
        return [shard(folder, f".{number}") for number in numbers]
    inner = [name for name in names if os.path.exists(os.path.join(folder, name, "tokenized"))]
    if not inner:
        raise InvalidArgument(
            f"{folder!r} is not an infini-gram index: it has neither tokenized.0 (version 4 or 5) "
            "nor tokenized (version 6)"
        )
    return [shard(os.path.join(folder, name), "") for name in inner]


def _check_version(folder: str, suffix: str, version: int | None) -> None:
    """Raise InvalidArgument if files are not named as in that version.

    Documents of version 6 may be stored in reverse, too: then give 5.
    """
    named = 6 if suffix == "" else 4
    if version not in (None, 5, named):
        raise InvalidArgument(
            f"{os.path.join(folder, 'tokenized' + suffix)} is named as in version {named}, not {version}; "
            "leave VERSION out, or give VERSION 5 if documents are stored in reverse"
        )


def _shard(
    folder: str, suffix: str, dtype: str | None, open_file: OpenFile, identity_of: Callable[..., str]
) -> TableFiles:
    path = os.path.join(folder, f"tokenized{suffix}")
    opened: dict[str, memoryview] = {}
    for name in ("tokenized", "table", "offset", "metadata", "metaoff"):
        file = os.path.join(folder, name + suffix)
        try:
            opened[name] = open_file(file)
        except FileNotFoundError as error:
            if name in ("metadata", "metaoff"):
                continue
            raise CorruptionError(
                f"{file} is missing: an index has tokenized, table and offset for each shard", path=file
            ) from error
    size = sum(map(len, opened.values()))
    text_bytes, table = opened["tokenized"], np.frombuffer(opened["table"], dtype=np.uint8)
    width = _token_bytes(path, len(text_bytes), len(table), dtype)
    text: NDArray[Any] = np.frombuffer(text_bytes, dtype=f"<u{width}")
    offsets = _whole_numbers(opened["offset"], os.path.join(folder, f"offset{suffix}"))
    separator = int(np.iinfo(text.dtype).max)
    _check_offsets(os.path.join(folder, f"offset{suffix}"), offsets, text, separator)
    starts = None
    metadata, metaoff = (os.path.join(folder, name + suffix) for name in ("metadata", "metaoff"))
    if "metadata" in opened and "metaoff" in opened:
        starts = _whole_numbers(opened["metaoff"], metaoff)
        if len(starts) != len(offsets):
            raise contradiction(metaoff, f"it has {len(starts):,} entries for {len(offsets):,} documents")
        _check_last_line(metadata, opened["metadata"], int(starts[-1]))
    elif "metadata" in opened or "metaoff" in opened:
        missing, other = (metaoff, metadata) if "metadata" in opened else (metadata, metaoff)
        raise CorruptionError(
            f"{missing} is missing: metadata are both files, and {other} is there", path=missing
        )
    identity = identity_of(path, os.path.join(folder, f"table{suffix}"))
    lines = opened.get("metadata")
    return TableFiles(path, text, table, True, True, separator, offsets, size, identity, lines, starts)


def pointer_bytes(n_bytes: int) -> int:
    """Return the width of pointers to `n_bytes` bytes: log256 rounded up, but at least 1."""
    return max(1, ((n_bytes - 1).bit_length() + 7) // 8)


def _token_bytes(path: str, n_text: int, n_table: int, dtype: str | None) -> int:
    """Return the width of tokens. Raises CorruptionError if the sizes of text and table fit none."""
    if n_text == 0:
        raise contradiction(path, "it is empty")
    fitting = [width for width in DTYPE_BYTES.values() if width * n_table == n_text * pointer_bytes(n_text)]
    if not fitting:
        raise contradiction(
            path,
            f"its {n_text:,} bytes and the {n_table:,} bytes of its table are not of one index: a token has "
            f"1, 2 or 4 bytes, and a pointer to it {pointer_bytes(n_text)}",
        )
    if dtype is not None and fitting != [DTYPE_BYTES[dtype]]:
        found = next(name for name, width in DTYPE_BYTES.items() if width == fitting[0])
        raise contradiction(path, f"its tokens are {found} by the size of its table, not {dtype}")
    return fitting[0]


def _check_last_line(path: str, lines: memoryview, start: int) -> None:
    """Raise CorruptionError if the last document's metadata, which begins at `start`, is incomplete."""
    last = bytes(lines[start:])
    if not last:
        raise contradiction(path, f"it has {len(lines):,} bytes, and its last line begins at {start:,}")
    if last.endswith(b"\n"):
        return
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        raise contradiction(path, "it ends in the middle of a line") from None


def _whole_numbers(data: memoryview, path: str) -> NDArray[np.uint64]:
    if len(data) % 8:
        raise contradiction(path, f"its {len(data):,} bytes are not a multiple of 8")
    return np.frombuffer(data, dtype="<u8")


def _check_offsets(path: str, offsets: NDArray[np.uint64], text: NDArray[Any], separator: int) -> None:
    """Check some of the offsets: each is that of a separator, the first one the beginning of the text."""
    width = text.dtype.itemsize
    # Not np.unique, which imports numpy.ma: that takes longer than all else here.
    looked_at = np.linspace(0, len(offsets) - 1, min(_LOOKED_AT, len(offsets))).astype(np.int64)
    found = offsets[looked_at]
    places = found // np.uint64(width)
    if not len(offsets) or found[0] != 0 or (found[1:] <= found[:-1]).any():
        raise contradiction(path, "its offsets do not ascend from 0")
    if (places >= len(text)).any() or (found % np.uint64(width)).any() or (text[places] != separator).any():
        raise contradiction(path, "an offset is not that of a separator in the text")


# ---- tokengrams' files: a file of tokens, and beside it its suffix array, as 8-byte numbers of tokens.


_POINTER_BYTES = 8


def files_of(
    path: str,
    index: str | None,
    dtype: str | None,
    separator: int | None,
    open_file: Callable[[str], memoryview],
    identity_of: Callable[..., str],
) -> list[TableFiles]:
    """Return the index of a file of tokens, as one shard.

    Parameters
    ----------
    index : the file of the suffix array; None: the tokens' file with the ending .idx
    dtype : u16 or u32; None: derived from the sizes
    separator : the token that ends documents; None: all is one document
    open_file : maps the file at a path; raises FileNotFoundError
    identity_of : what a cache knows files by

    Raises
    ------
    InvalidArgument
        A file is missing.
    CorruptionError
        Their sizes contradict each other.
    """
    index = index or f"{os.path.splitext(path)[0]}.idx"
    try:
        data, table = open_file(path), open_file(index)
    except FileNotFoundError as error:
        raise InvalidArgument(
            f"file not found: {error.filename!r}; a tokengrams index is a file of tokens and one of "
            "pointers, beside it or named by INDEX"
        ) from error
    n_tokens, rest = divmod(len(table), _POINTER_BYTES)
    width = len(data) // n_tokens if n_tokens else 0
    if rest or width not in DTYPE_BYTES.values() or width * n_tokens != len(data):
        raise contradiction(
            path, f"its {len(data):,} bytes and the {len(table):,} of {index} are not of one index"
        )
    if dtype is not None and DTYPE_BYTES[dtype] != width:
        raise contradiction(path, f"its tokens have {width} bytes by the size of {index}, and {dtype} others")
    if separator is not None and separator >= 256**width:
        raise InvalidArgument(f"SEPARATOR {separator} does not fit the {width}-byte tokens of {path}")
    text: NDArray[Any] = np.frombuffer(data, dtype=f"<u{width}")
    pointers = np.frombuffer(table, dtype=np.uint8)
    size = len(data) + len(table)
    return [TableFiles(path, text, pointers, False, False, separator, None, size, identity_of(path, index))]

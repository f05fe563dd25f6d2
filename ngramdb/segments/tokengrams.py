"""tokengrams' files: a file of tokens, and beside it its suffix array, as 8-byte numbers of tokens.

There are no documents but where a token separates them, and no metadata.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.errors import InvalidArgument
from ngramdb.kinds import DTYPE_BYTES
from ngramdb.segments.attached import TableFiles, contradiction

_POINTER_BYTES = 8


def files_of(
    path: str,
    index: str | None,
    dtype: str | None,
    separator: int | None,
    open_file: Callable[[str], memoryview],
    identity_of: Callable[..., str],
) -> list[TableFiles]:
    """The index of a file of tokens, as one shard.

    Parameters
    ----------
    index : the file of the suffix array; None: the tokens' file with the ending .idx
    dtype : u16 or u32; None for what the sizes say
    separator : the token that ends documents; None: all is one document
    open_file : maps the file at a path; raises FileNotFoundError
    identity_of : what a cache knows files by

    Raises
    ------
    InvalidArgument
        There are no such files.
    CorruptionError
        Their sizes contradict each other.
    """
    index = index or f"{os.path.splitext(path)[0]}.idx"
    try:
        data, table = open_file(path), open_file(index)
    except FileNotFoundError as error:
        raise InvalidArgument(
            f"there is no file {error.filename!r}; an index of tokengrams is a file of tokens and one of "
            "pointers, beside it or as INDEX says"
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
        raise InvalidArgument(f"SEPARATOR {separator} is no token of {width} bytes, as those of {path} are")
    text: NDArray[Any] = np.frombuffer(data, dtype=f"<u{width}")
    pointers = np.frombuffer(table, dtype=np.uint8)
    size = len(data) + len(table)
    return [TableFiles(path, text, pointers, False, False, separator, None, size, identity_of(path, index))]

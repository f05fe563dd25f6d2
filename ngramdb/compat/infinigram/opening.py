"""What an engine is opened on: corpora of a database of ours, or the peer's own indexes, where they lie."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ngramdb.api import connect
from ngramdb.compat.paths import parts_of
from ngramdb.errors import InvalidArgument, NotADatabase

#: Largest ids by the type of tokens, which separators have.
LARGEST_IDS = {"u8": 2**8 - 1, "u16": 2**16 - 1, "u32": 2**32 - 1}
#: Bytes of a token, by which pointers count.
TOKEN_BYTES = {"u8": 1, "u16": 2, "u32": 4}

# The version whose documents stand in reverse, which the files do not say.
_REVERSED = 5


def paths_of(index_dir: str | Iterable[str]) -> list[str]:
    """One path or several as a list. Raises InvalidArgument."""
    paths = [index_dir] if isinstance(index_dir, str) else list(index_dir)
    if not paths or not all(isinstance(path, str) for path in paths):
        raise InvalidArgument(f"index_dir is a path or a list of paths, not {index_dir!r}")
    return paths


def opened(
    added: list[str], subtracted: list[str], version: int, token_dtype: str | None
) -> tuple[Any, Any, str]:
    """A connection, a view of the first corpora without the others, and the type of token ids.

    Parameters
    ----------
    version, token_dtype : of the peer's indexes; the type is found by their sizes, and otherwise by the
        vocabulary, where it is None

    Raises
    ------
    InvalidArgument
        No such type, ids that it has no room for, several databases, or folders of other things.
    """
    if token_dtype is not None and token_dtype not in LARGEST_IDS:
        raise InvalidArgument(f"token_dtype is u8, u16 or u32, not {token_dtype!r}")
    asked = [(1, *parts_of(path, ("corpus",))) for path in added]
    asked += [(-1, *parts_of(path, ("corpus",))) for path in subtracted]
    try:
        connection = connect(asked[0][1], read_only=True)
    except NotADatabase as error:
        return _attached(asked, version, token_dtype, error)
    folders = {folder for _, folder, _ in asked}
    if len(folders) > 1:
        raise InvalidArgument(
            f"corpora that are asked together are in one database, and these are in {len(folders)}: "
            + ", ".join(sorted(folders))
        )
    view = connection.snapshot.algebra(
        [(sign, connection.corpus(given.get("corpus")).name, None) for sign, _, given in asked]
    )
    return connection, view, _checked_dtype(view, token_dtype)


def _checked_dtype(view: Any, token_dtype: str | None) -> str:
    n_vocabulary = view.tokenizer.n_vocabulary
    dtype = token_dtype or ("u16" if n_vocabulary < 2**16 else "u32")
    if n_vocabulary > LARGEST_IDS[dtype] and view.tokenizer.kind != "tokens":
        raise InvalidArgument(f"the corpus has {n_vocabulary:,} token ids, too many for {dtype}")
    return dtype


def _attached(
    asked: list[tuple[int, str, dict[str, str]]], version: int, token_dtype: str | None, error: NotADatabase
) -> tuple[Any, Any, str]:
    connection = connect()
    terms: list[tuple[int, str, None]] = []
    widths: set[int] = set()
    for sign, folder, _ in asked:
        name = f"index {len(terms)}"
        given: dict[str, Any] = {"version": _REVERSED} if version == _REVERSED else {}
        if token_dtype is not None:
            given["dtype"] = token_dtype
        try:
            connection.attach(folder, name, **given)
        except InvalidArgument as wrong:
            raise wrong if len(terms) else InvalidArgument(f"{error}; {wrong}") from error
        terms.append((sign, name, None))
        segments: Any = connection.snapshot.view(name).segments
        widths |= {segment.token_bytes for segment in segments}
    if len(widths) > 1:
        raise InvalidArgument(
            f"indexes that are asked together have tokens of one width, and these of {sorted(widths)} bytes"
        )
    width = widths.pop()
    dtype = next(name for name, n in TOKEN_BYTES.items() if n == width)
    return connection, connection.snapshot.algebra(terms), dtype

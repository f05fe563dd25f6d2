"""Conversion of documents given in Python for a corpus."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ngramdb.errors import InvalidArgument, LoadError
from ngramdb.ingest.documents import Document, ErrorLog, infinite, is_finite, token_ids, without_nan
from ngramdb.ingest.readers.arrow_data import SOURCE, is_table, rows_of
from ngramdb.questions import packing
from ngramdb.questions.packing import is_iterable, iterates_over_names

_IDS_WANTED = "this corpus takes token ids: give a pair of ids and metadata"
# Types of a single document; for others, the slower check for tables follows.
_SINGLE = frozenset((str, dict, tuple, list, bytes, np.ndarray))
# Types whose values all have a form in JSON.
_PLAIN = frozenset((str, int, bool, type(None)))


def as_documents(given: Any, kind: str, n_vocabulary: int) -> tuple[Iterator[Document], ErrorLog]:
    """Return an iterator of documents in the form that a load needs, and the log of remarks on them.

    Parameters
    ----------
    given : str, dict with `text` (or `ids`) and metadata, `(ids, metadata)` or `(text, metadata)`; or a table
    kind : the corpus's kind of tokenizer; `tokens` accepts ids only
    n_vocabulary : ids given to another tokenizer's corpus must be below it

    Raises
    ------
    InvalidArgument
        `given` is one document rather than an iterable of documents, or iterates over names.
    LoadError
        An invalid document; the message has its position, counted from 1.
    """
    errors = ErrorLog()
    if is_table(given):
        return _sound_rows(rows_of(given, kind, n_vocabulary, errors), kind), errors
    each = each_of(given, "append takes an iterable of documents", kind)
    return _each(each, kind, n_vocabulary, errors), errors


def each_of(given: Any, wanted: str, kind: str) -> Iterable[Any]:
    """Return an iterable of documents unchanged, and the rows of a table as `Document`s.

    Raises
    ------
    InvalidArgument
        A single document, which should be in a list; or an iterable of column names. `wanted` begins
        the message.
    """
    if is_table(given):
        return rows_of(given, kind)
    if isinstance(given, (str, bytes, Mapping)) or not is_iterable(given):
        several = isinstance(given, Mapping) and any(map(is_table, given.values()))
        hint = "append its tables one by one" if several else "put one document in a list"
        raise InvalidArgument(f"{wanted}, not {type(given).__name__}; {hint}")
    if packing.could_be_packed(given):
        raise InvalidArgument(
            f"{wanted}, but this tuple could be flat ids and offsets: give documents as a list, such as "
            "np.split(ids, offsets[1:-1])"
        )
    if iterates_over_names(given):
        raise InvalidArgument(
            f"{wanted}, but a {type(given).__name__} iterates over the names of its columns; give "
            "a table that has __arrow_c_stream__, or its rows as dicts"
        )
    items: Iterable[Any] = packing.items_of(given)
    return items


def as_path(given: Any) -> str:
    """Return the path of a file or folder as a str. Raises InvalidArgument for other types."""
    path = os.fspath(given) if isinstance(given, (str, os.PathLike)) else given
    if not isinstance(path, str):
        raise InvalidArgument(f"a path must be a str or a pathlib.Path, not {type(given).__name__}")
    return path


def as_paths(given: Any, wanted: str) -> list[str]:
    """Return a path, or several, as a list of str.

    Raises
    ------
    InvalidArgument
        Something else, such as documents or a table of them, or a str that cannot be a path. `wanted` begins
        the message.
    """
    paths = _texts_of(given, wanted)
    for path in paths:
        if "\0" in path:
            raise InvalidArgument(f"{path!r} cannot be a path: there is a null character in it")
    return paths


def _texts_of(given: Any, wanted: str) -> list[str]:
    if isinstance(given, (str, os.PathLike)):
        return [os.fspath(given)]
    if is_table(given) or iterates_over_names(given):
        raise InvalidArgument(f"{wanted}, not {type(given).__name__}")
    if not is_iterable(given):
        raise InvalidArgument(f"{wanted}, not {type(given).__name__}")
    paths: list[str] = []
    for number, item in enumerate(given, start=1):
        path = os.fspath(item) if isinstance(item, (str, os.PathLike)) else item
        if not isinstance(path, str):
            raise InvalidArgument(
                f"{wanted}; item {number} of the {type(given).__name__} is {type(item).__name__}, not a path"
            )
        paths.append(path)
    return paths


def _each(given: Iterable[Any], kind: str, n_vocabulary: int, errors: ErrorLog) -> Iterator[Document]:
    number = 0
    for item in given:
        if type(item) not in _SINGLE and is_table(item):  # a record batch, or a frame
            for row in _sound_rows(rows_of(item, kind, n_vocabulary, errors), kind):
                number += 1
                row.line = number
                yield row
            continue
        number += 1
        try:
            document = _as_document(item, kind)
            _check(document, kind, n_vocabulary, errors)
        except LoadError as error:
            raise LoadError(f"document {number}: {error.message}", source=SOURCE) from error
        document.source = f"{SOURCE}: document {number}"
        yield document


def _sound_rows(rows: Iterator[Document], kind: str) -> Iterator[Document]:
    """Yield the rows of a table, already checked, unless they are texts and the corpus needs ids."""
    for row in rows:
        if row.ids is None and kind == "tokens":
            raise row.error(_IDS_WANTED)
        yield row


def _as_document(item: Any, kind: str) -> Document:
    # Abstract types are checked last: that takes as long as all else.
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], (dict, Mapping)):
        content, metadata = item
        if isinstance(content, (str, bytes)):
            return Document(_utf8(content), None, dict(metadata), SOURCE)
        return Document(None, token_ids(content, "ids"), dict(metadata), SOURCE)
    if isinstance(item, (str, bytes)):
        return Document(_utf8(item), None, {}, SOURCE)
    if isinstance(item, (list, tuple, np.ndarray)):
        return Document(None, token_ids(item, "ids"), {}, SOURCE)
    if isinstance(item, (dict, Mapping)):
        fields = dict(item)
        if "text" in fields and not (kind == "tokens" and "ids" in fields):
            return Document(_utf8(fields.pop("text")), None, fields, SOURCE)
        if "ids" in fields:
            return Document(None, token_ids(fields.pop("ids"), "ids"), fields, SOURCE)
        raise LoadError(
            f"a dict needs 'text' or 'ids'; this one has {', '.join(map(str, fields)) or 'nothing'}"
        )
    raise LoadError(
        f"a document must be text, a dict, or a pair of ids and metadata, not {type(item).__name__}"
    )


def _utf8(text: Any) -> bytes:
    try:
        if isinstance(text, bytes):
            text.decode("utf-8")
            return text
        if isinstance(text, str):
            return text.encode("utf-8")
    except UnicodeError as error:
        reason = getattr(error, "reason", str(error))
        raise LoadError(
            f"the text is not valid Unicode at position {getattr(error, 'start', 0)} ({reason})"
        ) from error
    raise LoadError(f"the text must be a string, not {type(text).__name__}")


def _check(document: Document, kind: str, n_vocabulary: int, errors: ErrorLog) -> None:
    gaps: dict[str, Any] = {}
    for key, value in document.metadata.items():
        if not isinstance(key, str):
            raise LoadError("the names of metadata fields must be strings")
        if type(value) in _PLAIN:
            continue
        known = without_nan(value)
        if known is not value:
            gaps[key] = known
        if not is_finite(known):
            raise LoadError(infinite(key))
    if gaps:
        document.metadata = {**document.metadata, **gaps}
        errors.remark_gaps(gaps)
    if document.ids is None:
        if kind == "tokens":
            raise LoadError(_IDS_WANTED)
    elif kind != "tokens" and len(document.ids) and int(document.ids.max()) >= n_vocabulary:
        raise LoadError(
            f"token id {int(document.ids.max())} is not below the vocabulary's size, {n_vocabulary}"
        )

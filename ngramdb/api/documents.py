"""Documents given in Python, on their way into a corpus."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ngramdb.errors import InvalidArgument, LoadError
from ngramdb.ingest.documents import Document, token_ids

SOURCE = "append"

# Levels of metadata that are looked through; no more are stored.
DEEPEST = 100
# Of these every value has a form in JSON.
_PLAIN = frozenset((str, int, bool, type(None)))


def as_documents(given: Iterable[Any], kind: str, n_vocabulary: int) -> Iterator[Document]:
    """Documents in the form that a load takes, made one at a time.

    Parameters
    ----------
    given : str, dict with `text` (or `ids`) and metadata, `(ids, metadata)` or `(text, metadata)`
    kind : the corpus's kind of tokenizer; `tokens` takes ids only
    n_vocabulary : ids given to another tokenizer's corpus must be below it

    Raises
    ------
    InvalidArgument
        `given` is one document rather than an iterable of documents.
    LoadError
        Something that is no document; names its position, counted from 1.
    """
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise InvalidArgument(
            f"append takes an iterable of documents, not {type(given).__name__}; put one document in a list"
        )
    return _each(given, kind, n_vocabulary)


def _each(given: Iterable[Any], kind: str, n_vocabulary: int) -> Iterator[Document]:
    for number, item in enumerate(given, start=1):
        try:
            document = _as_document(item, kind)
            _check(document, kind, n_vocabulary)
        except LoadError as error:
            raise LoadError(f"document {number}: {error.message}", source=SOURCE) from error
        document.source = f"{SOURCE}: document {number}"
        yield document


def _as_document(item: Any, kind: str) -> Document:
    # Types that may be anything's are asked for last: that takes as long as all else.
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
    raise LoadError(f"a document is text, a dict, or a pair of ids and metadata, not {type(item).__name__}")


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
    raise LoadError(f"the text is a string, not {type(text).__name__}")


def _is_finite(value: Any, depth: int = 0) -> bool:
    """Whether all numbers in a value are finite. What is nested too deeply is refused when it is stored."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, float):
        return math.isfinite(value)
    if depth > DEEPEST or not isinstance(value, (list, tuple, Mapping)):
        return True
    items = value.values() if isinstance(value, Mapping) else value
    return all(_is_finite(item, depth + 1) for item in items)


def _check(document: Document, kind: str, n_vocabulary: int) -> None:
    for key, value in document.metadata.items():
        if not isinstance(key, str):
            raise LoadError("the names of metadata fields are strings")
        if type(value) not in _PLAIN and not _is_finite(value):
            raise LoadError(f"metadata field {key!r} has a number that JSON has no form for: NaN or infinity")
    if document.ids is None:
        if kind == "tokens":
            raise LoadError("this corpus takes token ids: give a pair of ids and metadata")
    elif kind != "tokens" and len(document.ids) and int(document.ids.max()) >= n_vocabulary:
        raise LoadError(
            f"token id {int(document.ids.max())} is not below the vocabulary's size, {n_vocabulary}"
        )

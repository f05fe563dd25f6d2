"""Documents as all readers yield them, and the log of those that could not be read.

Invariant: a `Document` carries text or token ids, never both and never neither; text is valid UTF-8.
"""

from __future__ import annotations

import difflib
import math
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ngramdb.errors import LoadError
from ngramdb.ingest.streams import CONVERT
from ngramdb.limits import MAX_TOKEN_ID, MAX_VALUE_DEPTH
from ngramdb.segments.metadata_columns import Path, path_of
from ngramdb.types import refuse_masked

# Reasons beyond the first few repeat themselves, and a load may skip millions of lines.
KEPT_REASONS = 5
# Files that cannot be read are named, though they be many; they come first.
KEPT_FILES = 100

# The types of pandas' missing values, which is not imported for them.
_PANDAS_GAPS = frozenset(("NaTType", "NAType"))

# Of 8, 16 or 32 bits, as in the input.
TokenIds: TypeAlias = NDArray[np.unsignedinteger[Any]]


@dataclass(slots=True)
class Document:
    """One document on its way into a corpus.

    text : bytes | None - the document as given, valid UTF-8; None if it was given as token ids.
    ids : (n,) uint8, uint16 or uint32 | None - the token ids, when it came as such.
    metadata : mapping - everything beside the text: JSON values under string keys, possibly nested; of a row
    of a table a `ngramdb.ingest.readers.columns.Row`.
    source : str - the file as the user named it; line : int | None - its first line there, from 1.
    form : bytes | None - its form in its line of JSON (`ngramdb.ingest.readers.lines`), if it has one.
    unit : str - the unit of `line`: lines, or rows of a table.
    """

    text: bytes | None
    ids: TokenIds | None
    metadata: Mapping[str, Any]
    source: str
    line: int | None = None
    form: bytes | None = None
    unit: str = "line"

    def error(self, message: str) -> LoadError:
        """Return an error that names the document's place."""
        return LoadError(message, source=self.source, line=self.line, unit=self.unit)


@dataclass(slots=True)
class ErrorLog:
    """The number of skipped documents, and the first few reasons. Threads may share a log.

    `files` of them are files that cannot be read, or not to their end: the number of their documents is
    unknown. Their reasons come first. `remarks`, without repetition, are on data that was read otherwise than
    it may seem.
    """

    count: int = 0
    reasons: list[str] = field(default_factory=list)
    files: int = 0
    remarks: dict[str, None] = field(default_factory=dict)
    _n_named: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(self, error: LoadError) -> None:
        """Take down one skipped document."""
        with self._lock:
            self.count += 1
            if len(self.reasons) - self._n_named < KEPT_REASONS:
                self.reasons.append(str(error))

    def add_file(self, error: LoadError) -> None:
        """Record a file that cannot be read or, if the error has a line, not from there on."""
        place = None if error.line is None else f"{error.unit} {error.line:,}"
        lost = "none of it is loaded" if place is None else f"nothing from {place} on is loaded"
        with self._lock:
            self.count += 1
            self.files += 1
            if self._n_named < KEPT_FILES:
                self.reasons.insert(self._n_named, f"{error}; {lost}")
                self._n_named += 1

    def remark(self, text: str) -> None:
        """Take down a remark for the load's reader."""
        self.remarks[text] = None

    def remark_gaps(self, fields: Iterable[str]) -> None:
        """Take down the fields in which a NaN was taken for no value."""
        for name in fields:
            self.remark(f"NaN in the field {name} was read as NULL")

    def after(self, n_lines: int) -> Callable[[LoadError], None]:
        """Return a function that records errors beyond the first `n_lines` lines of a file.

        Others were recorded before.
        """
        return lambda error: None if (error.line or 0) <= n_lines and n_lines else self.add(error)


def located(error: LoadError, source: str, line: int | None) -> LoadError:
    """Return the error with the file and line that its raiser could not know."""
    return LoadError(
        error.message,
        source=error.source or source,
        line=line if error.line is None else error.line,
        unit=error.unit,
    )


def without_nan(value: Any, depth: int = 0) -> Any:
    """Return the value with None for each NaN, and for NaT and NA of pandas: frames mark gaps so.

    A value without any is returned as the same object.
    """
    if type(value).__name__ in _PANDAS_GAPS and type(value).__module__.startswith("pandas."):
        return None
    plain = value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value
    if isinstance(plain, float):
        return None if math.isnan(plain) else value
    if plain is None:  # a missing time
        return None
    if depth > MAX_VALUE_DEPTH or not isinstance(plain, (list, tuple, Mapping)):
        return value
    if isinstance(plain, Mapping):
        items = {key: without_nan(item, depth + 1) for key, item in plain.items()}
        return items if any(items[key] is not item for key, item in plain.items()) else value
    found = [without_nan(item, depth + 1) for item in plain]
    return found if any(new is not old for new, old in zip(found, plain, strict=True)) else value


def is_finite(value: Any, depth: int = 0) -> bool:
    """Return True if all numbers in a value are finite; too deep nesting is rejected when it is stored."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, float):
        return math.isfinite(value)
    if depth > MAX_VALUE_DEPTH or not isinstance(value, (list, tuple, Mapping)):
        return True
    items = value.values() if isinstance(value, Mapping) else value
    return all(is_finite(item, depth + 1) for item in items)


def infinite(name: str) -> str:
    """Return the message for a field with a number that is not finite."""
    return f"metadata field {name!r} has an infinite number, which JSON cannot represent"


def token_ids(values: object, field_name: str) -> TokenIds:
    """Return token ids (a list, tuple or integer array) as a (n,) array of their own.

    It is uint32, or narrower if the given array is.

    Raises LoadError naming the first position that is not an integer from 0 to 2**32 - 1.
    Cost: O(n); arrays are copied once.
    """
    if isinstance(values, np.ndarray):
        refuse_masked(values, LoadError, f"field {field_name!r}")
        return _ids_of_array(values, field_name)
    if not isinstance(values, (list, tuple)):
        raise LoadError(f"field {field_name!r} holds {describe(values)}, not a list of token ids")
    kinds = set(map(type, values))
    if not kinds <= {int}:
        wrong = {kind for kind in kinds if kind is not int and not issubclass(kind, np.integer)}
        if wrong:  # True and False are ints to Python, but no token ids
            position = next(i for i, value in enumerate(values) if type(value) in wrong)
            raise _bad_id(field_name, position, describe(values[position]))
        values = [int(value) for value in values]
    if values and (min(values) < 0 or max(values) > MAX_TOKEN_ID):
        position = next(i for i, value in enumerate(values) if not 0 <= value <= MAX_TOKEN_ID)
        raise _bad_id(field_name, position, _shortened(values[position]))
    return np.array(values, dtype=np.uint32)


def _ids_of_array(values: NDArray[Any], field_name: str) -> TokenIds:
    if values.ndim != 1 or (values.dtype.kind not in "iu" and values.size):
        found = f"an array of shape {values.shape} and type {values.dtype}"
        raise LoadError(f"field {field_name!r} holds {found}, not a one-dimensional array of integers")
    if values.dtype.kind == "u" and values.dtype.itemsize <= 4:
        # Any such value is an id.
        return values.astype(values.dtype.newbyteorder("="), order="C")
    wrong = np.flatnonzero((values < 0) | (values > MAX_TOKEN_ID))
    if wrong.size:
        raise _bad_id(field_name, int(wrong[0]), str(values[wrong[0]]))
    return values.astype(np.uint32)


def _bad_id(field_name: str, position: int, found: str) -> LoadError:
    return LoadError(
        f"field {field_name!r}, item {position} (from 0): {found}; "
        f"a token id must be an integer from 0 to {MAX_TOKEN_ID}"
    )


def unknown_id(field_name: str, token_id: int, n_ids: int) -> str:
    """Return the message for a token id that the corpus's vocabulary does not have."""
    return f"field {field_name!r}: token id {token_id} is not below the vocabulary's size, {n_ids}"


def describe(value: object) -> str:
    """Return what a JSON value is, in a few words, for an error message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"the number {_shortened(value)}"
    if isinstance(value, str):
        return f"the string {_shortened(value)}"
    if isinstance(value, (list, tuple)):
        return f"an array of {len(value)} items" if len(value) != 1 else "an array of 1 item"
    if isinstance(value, dict):
        return "an object"
    return f"a Python {type(value).__name__}"


def _shortened(value: object) -> str:
    # Cut a string before repr(): it may be a whole document.
    text = repr(value[:41] if isinstance(value, str) else value)
    return text if len(text) <= 42 else text[:39] + "..."


def invalid_utf8(error: UnicodeDecodeError, offset: int, of: str = " of the line") -> str:
    """Return the message for bytes that are not UTF-8; `offset` is the invalid byte's place in `of`."""
    byte = error.object[error.start]
    return (
        f"invalid UTF-8: byte 0x{byte:02x} at offset {offset}{of} ({error.reason}); if the file has another "
        f"encoding, {CONVERT.format('LATIN1')}"
    )


# ---- Paths to fields of a JSON object: "a.b" is the field b of the object a.


# More names than these make an error message longer than helpful.
SHOWN_FIELDS = 12


def own_or_nested(record: dict[str, Any], path: Path) -> Path:
    """Return the path, or, without a nested field there, the key spelled like it, as in columns of tables."""
    if len(path) > 1 and not has_field(record, path) and (name := ".".join(path)) in record:
        return (name,)
    return path


def has_field(record: dict[str, Any], path: Path) -> bool:
    """Return True if the record has a field at `path`."""
    value: Any = record
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True


def take(record: dict[str, Any], path: Path) -> Any:
    """Remove the field at `path` and return its value; objects on the way that become empty go too.

    Raises KeyError if the field is missing; the record is then unchanged.
    """
    key = path[0]
    if len(path) == 1:
        return record.pop(key)
    inner = record[key]
    if not isinstance(inner, dict):
        raise KeyError(key)
    value = take(inner, path[1:])
    if not inner:
        del record[key]
    return value


def select(record: dict[str, Any], paths: Iterable[Path]) -> dict[str, Any]:
    """Return a new object with just the fields at `paths`; a path to an object keeps all that is in it."""
    kept: dict[str, Any] = {}
    for path in paths:
        path = own_or_nested(record, path)
        value: Any = record
        for key in path:
            if not isinstance(value, dict) or key not in value:
                break
            value = value[key]
        else:
            target = kept
            for key in path[:-1]:
                target = target.setdefault(key, {})
            target[path[-1]] = value
    return kept


def field_paths(record: dict[str, Any], prefix: Path = ()) -> list[str]:
    """Return the paths of all fields that are not objects, in the record's order."""
    paths: list[str] = []
    for key, value in record.items():
        if isinstance(value, dict) and len(prefix) < SHOWN_FIELDS:
            paths.extend(field_paths(value, (*prefix, key)))
        else:
            paths.append(path_of((*prefix, key)))
    return paths


@lru_cache(maxsize=256)
def missing_field(wanted: str, present: tuple[str, ...]) -> str:
    """Return the message for a missing field: the nearest name, and the existing ones.

    Cached, since a file read with errors skipped may lack the field on every line.
    """
    if not present:
        return f"no field {wanted!r}: the object is empty"
    folded = {name.lower(): name for name in present}
    near = difflib.get_close_matches(wanted.lower(), folded, n=1)
    hint = f" (did you mean {folded[near[0]]!r}?)" if near else ""
    shown = ", ".join(repr(name) for name in present[:SHOWN_FIELDS])
    more = f" and {len(present) - SHOWN_FIELDS} more" if len(present) > SHOWN_FIELDS else ""
    return f"no field {wanted!r}{hint}; the fields are {shown}{more}"


# ---- Notes on texts that are probably not meant to be loaded as they are, from a sample of the documents.


# The sample: the first documents and then one at regular intervals; the first bytes of each.
FIRST = 100
EVERY = 64
MOST_BYTES = 1 << 13
# Documents by which a file is recognized that has been loaded before.
RECOGNIZED = 16

# Markup has end tags or line breaks; type parameters such as `Vec<T>` lack both.
_TAG = re.compile(rb"</?[A-Za-z][^<>]{0,1000}>|<!--|<![A-Z]")
_MARKUP = re.compile(rb"</[A-Za-z]|<br\b")
_LEAST_TAGS = 10
_LEAST_SHARE = 0.05
# The end of a line that ends no sentence, before one that is not indented; whether that continues it.
_LINE_BREAK = re.compile(r"(?<=[\w,;:-])\r?\n(?:(?P<continued>[^\W\d_A-Z])|(?=\w))")
_LEAST_BREAKS = 20
_LEAST_LINE = 40  # bytes, on average: lists of words are not paragraphs
_INVISIBLE = {
    "\u00ad": "soft hyphens (U+00AD)",
    "\u200b": "zero-width spaces (U+200B)",
    "\ufeff": "byte order marks (U+FEFF)",
}


class Samples:
    """Counts over a sample of the documents of one load. Cost: some 30 µs per KB of the sample."""

    def __init__(self) -> None:
        #: The first documents, of which texts longer than `MOST_BYTES` are cut.
        self.first: list[Document] = []
        self._n_seen = 0
        self._n_bytes = 0
        self._n_tag_bytes = 0
        self._tags: dict[str, None] = {}
        self._n_tags = 0
        self._has_markup = False
        self._n_lines = 0
        self._n_breaks = 0
        self._n_continued = 0
        self._invisible: dict[str, None] = {}

    def through(self, documents: Iterator[Document]) -> Iterator[Document]:
        """Yield the documents, and count over some of them."""
        for document in documents:
            if document.text and (self._n_seen < FIRST or self._n_seen % EVERY == 0):
                self._see(document.text[:MOST_BYTES])
            if self._n_seen < RECOGNIZED:
                text = document.text
                self.first.append(replace(document, text=None if text is None else text[:MOST_BYTES]))
            self._n_seen += 1
            yield document

    def notes(self, splits_words: bool, finds_sentences: bool) -> Iterator[str]:
        """Yield a sentence for each peculiarity.

        Parameters
        ----------
        splits_words : invisible characters are tokens of their own, as under `words`
        finds_sentences : the corpus records where sentences begin
        """
        share = self._n_tag_bytes / max(self._n_bytes, 1)
        if self._has_markup and self._n_tags >= _LEAST_TAGS and share >= _LEAST_SHARE:
            yield (
                f"{share:.0%} of the text is tags of HTML or XML ({', '.join(self._tags)}), which are loaded "
                "as text; remove them beforehand if they should not count"
            )
        if finds_sentences and self._is_wrapped():
            yield (
                f"paragraphs have line breaks within sentences ({self._n_continued / self._n_breaks:.0%} of "
                "lines without a mark at their end continue in lower case), and every line break ends a "
                "sentence; join the lines of a paragraph beforehand if sentences matter"
            )
        if splits_words and self._invisible:
            yield (
                f"texts have {' and '.join(self._invisible)}, which are tokens of their own and divide "
                "words; remove them beforehand if they should not count"
            )

    def _see(self, content: bytes) -> None:
        self._n_bytes += len(content)
        if b"<" in content:
            self._has_markup = self._has_markup or _MARKUP.search(content) is not None
            for tag in _TAG.finditer(content):
                self._n_tags += 1
                self._n_tag_bytes += len(tag[0])
                if len(self._tags) < 3 and len(tag[0]) <= 30:
                    self._tags[tag[0].decode("utf-8", "replace")] = None
        text = content.decode("utf-8", "ignore")
        self._n_lines += 1 + content.count(b"\n")
        for found in _LINE_BREAK.finditer(text):
            self._n_breaks += 1
            self._n_continued += (found["continued"] or "").islower()
        if not text.isascii():
            self._invisible.update((name, None) for mark, name in _INVISIBLE.items() if mark in text)

    def _is_wrapped(self) -> bool:
        return (
            self._n_breaks >= _LEAST_BREAKS
            and self._n_continued * 2 >= self._n_breaks
            and self._n_breaks * 3 >= self._n_lines
            and self._n_bytes >= _LEAST_LINE * self._n_lines
        )

"""What every reader of this package yields, and the account of what it could not read.

Invariant: a `Document` carries text or token ids, never both and never neither; text is valid UTF-8.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ngramdb.errors import LoadError
from ngramdb.ingest.streams import CONVERT
from ngramdb.limits import MAX_TOKEN_ID, MAX_VALUE_DEPTH

# Reasons beyond the first few repeat themselves, and a load may skip millions of lines.
KEPT_REASONS = 5
# Files that cannot be read are named, though they be many; they come first.
KEPT_FILES = 100

# The types of pandas' missing values, which is not imported for them.
_PANDAS_GAPS = frozenset(("NaTType", "NAType"))

# Of 8, 16 or 32 bits: as wide as they came.
TokenIds: TypeAlias = NDArray[np.unsignedinteger[Any]]


@dataclass(slots=True)
class Document:
    """One document on its way into a corpus.

    text : bytes | None - the document as it came, valid UTF-8; None when it came as token ids.
    ids : (n,) uint8, uint16 or uint32 | None - the token ids, when it came as such.
    metadata : mapping - everything beside the text: JSON values under string keys, possibly nested; of a row
    of a table a `ngramdb.ingest.readers.columns.Row`.
    source : str - the file as the user named it; line : int | None - where it begins there, from 1.
    form : bytes | None - how it stood in its line of JSON (`ngramdb.ingest.readers.line_forms`), if in one.
    unit : str - what `line` counts: lines, or the rows of a table.
    """

    text: bytes | None
    ids: TokenIds | None
    metadata: Mapping[str, Any]
    source: str
    line: int | None = None
    form: bytes | None = None
    unit: str = "line"

    def error(self, message: str) -> LoadError:
        """An error that names the document's place."""
        return LoadError(message, source=self.source, line=self.line, unit=self.unit)


@dataclass(slots=True)
class ErrorLog:
    """How many documents were skipped, and the first few reasons. Threads may share a log.

    `files` of them are files that cannot be read, or not to their end: nobody knows how many documents they
    have. Their reasons stand before the others. `remarks` are on what was read otherwise than it might seem,
    each once.
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
        """Take down a file that cannot be read or, where the error has a line, not from there on."""
        lost = (
            "none of it is loaded" if error.line is None else f"nothing from line {error.line:,} on is loaded"
        )
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
            self.remark(f"NaN in the field {name} is no value: it is NULL there")

    def after(self, n_lines: int) -> Callable[[LoadError], None]:
        """What records errors beyond the first `n_lines` lines of a file.

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
    if plain is None:  # a time that is none
        return None
    if depth > MAX_VALUE_DEPTH or not isinstance(plain, (list, tuple, Mapping)):
        return value
    if isinstance(plain, Mapping):
        items = {key: without_nan(item, depth + 1) for key, item in plain.items()}
        return items if any(items[key] is not item for key, item in plain.items()) else value
    found = [without_nan(item, depth + 1) for item in plain]
    return found if any(new is not old for new, old in zip(found, plain, strict=True)) else value


def is_finite(value: Any, depth: int = 0) -> bool:
    """Whether all numbers in a value are finite. What is nested too deeply is refused when it is stored."""
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
    return f"metadata field {name!r} has an infinite number, for which JSON has no form"


def token_ids(values: object, field_name: str) -> TokenIds:
    """Return token ids (a list, tuple or integer array) as a (n,) array of their own.

    It is uint32, or narrower where the given array is.

    Raises LoadError naming the first position that is not an integer from 0 to 2**32 - 1.
    Cost: O(n); arrays are copied once.
    """
    if isinstance(values, np.ndarray):
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
        # Whatever they are, they are ids.
        return values.astype(values.dtype.newbyteorder("="), order="C")
    wrong = np.flatnonzero((values < 0) | (values > MAX_TOKEN_ID))
    if wrong.size:
        raise _bad_id(field_name, int(wrong[0]), str(values[wrong[0]]))
    return values.astype(np.uint32)


def _bad_id(field_name: str, position: int, found: str) -> LoadError:
    return LoadError(
        f"field {field_name!r}, item {position} (from 0): {found}; "
        f"a token id is an integer from 0 to {MAX_TOKEN_ID}"
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

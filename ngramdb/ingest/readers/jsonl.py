"""JSON lines: one JSON object a line, a document each.

Stricter than Python's own reader about values that could not be exported again: no NaN or Infinity, no
number beyond a 64-bit float, no unpaired surrogate, no bytes that are not UTF-8. Of a key that comes twice
the last counts.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ngramdb.errors import LoadError, ResourceError
from ngramdb.ingest.documents import (
    Document,
    ErrorLog,
    describe,
    field_paths,
    has_field,
    invalid_utf8,
    located,
    missing_field,
    own_or_nested,
    select,
    take,
    token_ids,
    unknown_id,
)
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.readers.lines import FormFinder, LineReader, is_blank
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import Meter, text_chunks
from ngramdb.limits import MAX_VALUE_DEPTH
from ngramdb.segments.metadata_columns import split_path

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Characters shown on either side of the place at which a line is invalid.
EXCERPT_CHARS = 20
# The scalar types of JSON.
_SCALARS = frozenset((str, int, float, bool, type(None)))


def read_jsonl(source: Source, options: ReadOptions, errors: ErrorLog, meter: Meter) -> Iterator[Document]:
    """Yield the documents of one file of JSON lines; blank lines and a byte order mark are skipped.

    Raises LoadError with file and line at the first invalid line, and ResourceError at one
    whose text is longer than the limit, unless `options.on_error` is "skip": then `errors` counts it.
    Damaged compressed data count as one, and end the file.
    Cost: about the time of decompressing and `json.loads`; memory for the longest line.
    """
    parser = LineParser(options)
    label = source.label
    skip = options.on_error == "skip"
    chunks = text_chunks(source, options.limits, meter)
    lines = LineReader(
        chunks, label, options.limits.of_lines, errors.after(source.after_line) if skip else None
    )
    try:
        for line in lines:
            if lines.number <= source.after_line:
                continue
            if is_blank(line):
                continue
            try:
                document = parser.parse(line, label, lines.number)
            except LoadError as error:
                place = located(_explained(error, line, lines), label, lines.number)
                if not skip and error.message.startswith("longer than"):
                    raise ResourceError(str(place), limit=options.limits.document_bytes) from None
                if not skip:
                    raise place from error.__cause__
                errors.add(place)
                continue
            meter.line = line
            yield document
    except LoadError as error:
        # Malformed lines were dealt with above: with `skip`, this is the stream itself. Damaged data are
        # skipped, a file that cannot be read at all is not.
        if not skip or isinstance(error.__cause__, OSError):
            raise
        errors.add_file(error)


def _explained(error: LoadError, line: bytes, lines: LineReader) -> LoadError:
    """Add what the line alone does not show: the file ends in it, or has another format."""
    if lines.unterminated and _is_cut_short(error.__cause__):
        return LoadError(f"the file ends in the middle of this line: {error.message}")
    if lines.number == 1 and line.strip() in (b"[", b"{"):
        return LoadError(
            "the JSON value continues on the next line; JSON lines have one whole object on each line "
            "(`jq -c .` writes an object so, `jq -c '.[]'` the items of an array)"
        )
    if lines.number == 1 and line.lstrip().startswith(b"[{"):
        return LoadError(f"{error.message}; `jq -c '.[]'` writes each item on a line of its own")
    return error


def _is_cut_short(cause: BaseException | None) -> bool:
    """Return True if more text could complete the line, which has no whole value yet."""
    return isinstance(cause, ValueError) and getattr(cause, "msg", "") != "Extra data"


class LineParser:
    """Converts lines to documents. Its errors describe the problem; the caller adds file and line."""

    def __init__(self, options: ReadOptions) -> None:
        self._is_of_labels = options.text_field is None
        self._field = (options.text_field if options.ids_field is None else options.ids_field) or ""
        self._path = split_path(self._field)
        self._wants_ids = options.ids_field is not None
        self._instead = options.ids_instead
        self._n_ids = options.n_ids
        self._limits = options.limits
        self._forms = FormFinder()
        self._kept = None if options.metadata is None else sorted(map(split_path, options.metadata))

    def parse(self, line: bytes, source: str, number: int) -> Document:
        """Return the document of one line.

        Raises LoadError without a place; its cause is a ValueError if the line is not JSON in UTF-8.
        """
        record = parse_object(line)
        text = ids = form = None
        if not self._is_of_labels:
            form = self._form(line, record)
            field, value = self._content(record)
            if self._wants_ids:
                ids = self._known_ids(value, field)
            else:
                text = self._encoded(value)
        if self._kept is not None:
            record = select(record, self._kept)
        if record:
            _check_metadata(record, line)
        return Document(text, ids, record, source, number, form)

    def _form(self, line: bytes, record: dict[str, Any]) -> bytes | None:
        """Return the form of the document in its line.

        None if the line is not kept whole, or will turn out to be invalid.
        """
        if self._kept is not None:
            return None
        for path in (self._path, None if self._instead is None else split_path(self._instead)):
            if path is None:
                continue
            path = own_or_nested(record, path)
            if has_field(record, path):
                return self._forms.find(line, record, path, self._wants_ids)
        return None

    def _content(self, record: dict[str, Any]) -> tuple[str, Any]:
        """Take the text or ids out of the record: the name of their field, and its value."""
        try:
            return self._field, take(record, own_or_nested(record, self._path))
        except KeyError:
            if self._instead is not None:
                with contextlib.suppress(KeyError):
                    instead = own_or_nested(record, split_path(self._instead))
                    return self._instead, take(record, instead)
            raise LoadError(missing_field(self._field, tuple(field_paths(record)))) from None

    def _known_ids(self, value: object, field: str) -> NDArray[np.uint32]:
        ids = token_ids(value, field)
        if ids.size and int(ids.max()) >= self._n_ids:
            raise LoadError(unknown_id(field, int(ids.max()), self._n_ids))
        return ids

    def _encoded(self, value: object) -> bytes:
        if type(value) is not str:
            raise LoadError(f"field {self._field!r} holds {describe(value)}, not a string")
        try:
            text = value.encode()
        except UnicodeEncodeError as error:
            raise LoadError(_surrogate(self._field, value, error)) from None
        if len(text) > self._limits.document_bytes:
            raise LoadError(f"longer than {self._limits.most}")
        return text


def parse_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object that a line holds.

    Raises LoadError (without a place) for anything else.
    """
    try:
        record = _DECODER.decode(line.decode())
    except UnicodeDecodeError as error:
        raise LoadError(invalid_utf8(error, error.start)) from error
    except json.JSONDecodeError as error:
        raise LoadError(_malformed(error)) from error
    except RecursionError:
        raise LoadError("arrays or objects nested too deeply to be read") from None
    except ValueError:
        # Python refuses to read integers of more than 4,300 digits, since that takes quadratic time.
        raise LoadError(
            f"a number with too many digits: at most {sys.get_int_max_str_digits():,} are read"
        ) from None
    if type(record) is not dict:
        raise LoadError(f"expected a JSON object with a field for the text, found {describe(record)}")
    return record


def _malformed(error: json.JSONDecodeError) -> str:
    line = error.doc
    excerpt = line[max(0, error.pos - EXCERPT_CHARS) : error.pos + EXCERPT_CHARS]
    reason = error.msg[:1].lower() + error.msg[1:]
    where = f"near {excerpt!r}" if excerpt else "at its end"
    return f"malformed JSON at column {error.pos + 1}: {reason}, {where}"


def _refuse_constant(name: str) -> NoReturn:
    raise LoadError(f"{name} is not a JSON value; write null for a missing number")


def _finite_float(digits: str) -> float:
    value = float(digits)
    if value - value != 0.0:
        raise LoadError(f"the number {digits[:40]} is beyond the range of a 64-bit float")
    return value


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite_float)


def _check_metadata(record: dict[str, Any], line: bytes) -> None:
    """Refuse unpaired surrogates and excessive depth.

    Walks nested values only if the line could have either.
    """
    # Going through the line, text and all, costs more than a look at a few values that are not nested.
    is_flat = _SCALARS.issuperset(map(type, record.values()))
    if is_flat or b"\\ud" in line or b"\\uD" in line or line.count(b"[") + line.count(b"{") > MAX_VALUE_DEPTH:
        for key, value in record.items():
            _check_value(key, key, 1)
            _check_value(key, value, 1)


def _check_value(field: str, value: object, depth: int) -> None:
    if depth > MAX_VALUE_DEPTH:
        raise LoadError(f"field {field!r} is nested more than {MAX_VALUE_DEPTH} levels deep")
    if isinstance(value, str):
        if value.isascii():
            return
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise LoadError(_surrogate(field, value, error)) from None
    elif isinstance(value, list):
        for item in value:
            _check_value(field, item, depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_value(field, key, depth + 1)
            _check_value(field, item, depth + 1)


def _surrogate(field: str, value: str, error: UnicodeEncodeError) -> str:
    return (
        f"field {field!r} has an unpaired surrogate \\u{ord(value[error.start]):04x} "
        f"at character {error.start}, which cannot be stored as UTF-8"
    )

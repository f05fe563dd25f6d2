"""Tables as text: CSV and TSV, whose first row has the names of the columns. Every other row is a document.

All values are text. A column of metadata becomes one of integers, numbers or booleans if all its values are
written as such (and no `007` would become 7); so the file is read once before it is loaded. An empty field is
a missing value, in quotes it is an empty text. NaN in a column of numbers is a missing value, too.
"""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from ngramdb import interrupts
from ngramdb.errors import LoadError
from ngramdb.ingest.documents import Document, ErrorLog, invalid_utf8
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.readers.tables import TableReader
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import ChunkFile, LentFile, Limits, Loans, Meter, text_chunks
from ngramdb.lazy import lazy_module
from ngramdb.segments.metadata_columns import path_of

pyarrow = lazy_module("pyarrow")
pyarrow_csv = lazy_module("pyarrow.csv")

DELIMITERS = {"csv": ",", "tsv": "\t"}
# Bytes that are parsed at a time; no row may be longer.
BLOCK_BYTES = 1 << 24
# Bytes in which the row of the names ends.
MOST_OF_HEADER = 1 << 20
# The message for a text with nothing between the delimiters.
_NO_TEXT = 'missing: the field is empty; an empty text is ""'
_MALFORMED = re.compile(r"CSV parse error: (?:Row #\d+: )?")
# Seconds that Arrow's threads have to release a file.
MOST_WAITED = 5.0
# Arrow's own message for such a row if it is not UTF-8: it cannot be passed to `_Text.refuse`.
_NO_ROW = re.compile(r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+)")


def read_delimited(
    source: Source, options: ReadOptions, errors: ErrorLog, meter: Meter
) -> Iterator[Document]:
    """Yield the documents of one CSV or TSV file; `Document.line` is the number of its row, below the names.

    Raises LoadError with file and row at the first row that is not a document, unless `options.on_error` is
    "skip": then `errors` counts it.
    """
    names = _names(source, options)
    if names is None:  # an empty file
        return
    reader = TableReader(_schema(names, {}), options, source.label)
    fields = [name for name in reader.metadata_names if name != options.text_field]
    types = _types(_batches(_Text(source, names, options, Meter(), None), fields), fields)
    reader = TableReader(_schema(names, types), options, source.label, null=_NO_TEXT)
    skipped = errors if options.on_error == "skip" else None
    text = _Text(source, names, options, meter, skipped)
    try:
        for batch, row in text.numbered(_batches(text, reader.names)):
            passed = min(max(source.after_line - row + 1, 0), batch.num_rows)
            rest = _typed(batch.slice(passed), types, source.label, errors)
            yield from reader.documents(rest, row + passed, source.label, errors)
    except LoadError as error:
        if skipped is None or error.line is not None or isinstance(error.__cause__, OSError):
            raise
        errors.add_file(error)


class _Text(ChunkFile):
    """A file's content as Arrow's parser reads it, and the rows of it that are malformed."""

    def __init__(
        self, source: Source, names: list[str], options: ReadOptions, meter: Meter, skipped: ErrorLog | None
    ) -> None:
        chunks = _ended(text_chunks(source, options.limits, meter))
        if options.quotes:
            chunks = checked(chunks, DELIMITERS[source.format], source.label, BLOCK_BYTES)
        super().__init__(chunks)
        self.source = source
        self.names = names
        self.has_quotes = options.quotes
        # Future ones, ascending: rows are parsed in order, and ahead of time.
        self._malformed: deque[int] = deque()
        self.skips = options.on_error == "skip"
        self._skipped = skipped

    def refuse(self, row: Any) -> str:
        """Handle a row whose number of fields differs from that of names; called by Arrow."""
        number = row.number - 1  # without the names
        message = _of_fields(row.actual_columns, row.expected_columns)
        error = LoadError(message, source=self.source.label, line=number, unit="row")
        if not self.skips:
            self.failure = error
            return "error"
        self._malformed.append(number)
        if self._skipped is not None:
            self._skipped.after(self.source.after_line)(error)
        return "skip"

    def numbered(self, batches: Iterator[Any]) -> Iterator[tuple[Any, int]]:
        """Parts of batches, and the number of the first row of each; malformed rows are counted as well."""
        row = 1
        for batch in batches:
            while batch.num_rows:
                while self._malformed and self._malformed[0] <= row:
                    row += self._malformed.popleft() == row
                n_whole = self._malformed[0] - row if self._malformed else batch.num_rows
                part = batch.slice(0, n_whole)
                yield part, row
                row += part.num_rows
                batch = batch.slice(part.num_rows)


def _ended(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Return a file with a final line end. Without it, Arrow reads an empty last field as a quoted one."""
    last = b"\n"
    for chunk in chunks:
        yield chunk
        last = chunk[-1:] or last
    if last not in b"\r\n":
        yield b"\n"


def _names(source: Source, options: ReadOptions) -> list[str] | None:
    """Return the names of the columns, None for an empty file."""
    head = b""
    for chunk in _peeked(source, options.limits):
        head += chunk
        is_open = options.quotes and head.count(b'"') % 2 == 1
        if len(head) >= MOST_OF_HEADER or (b"\n" in head and not is_open):
            break
    text = head.decode("utf-8", "surrogateescape")
    try:
        lines = io.StringIO(text, newline="")
        rows = csv.reader(
            lines,
            delimiter=DELIMITERS[source.format],
            quoting=csv.QUOTE_MINIMAL if options.quotes else csv.QUOTE_NONE,
        )
        names = next((row for row in rows if row), None)
    except csv.Error as error:
        raise LoadError(f"the names of the columns cannot be read: {error}", source=source.label) from None
    for name in names or ():
        try:
            name.encode("utf-8", "surrogateescape").decode()
        except UnicodeDecodeError as error:
            message = invalid_utf8(error, error.start, f" of a column's name, {name!r}")
            raise LoadError(message, source=source.label) from error
    return names


def _peeked(source: Source, limits: Limits) -> Iterator[bytes]:
    if not source.can_be_read_again:
        raise LoadError(
            "a table as text is read twice, for the types of its columns, which a pipe does not allow; save "
            "it as a file and load that",
            source=source.label,
        )
    return text_chunks(source, limits, Meter())


def _schema(names: Sequence[str], types: dict[str, str]) -> Any:
    kinds = {"int64": pyarrow.int64(), "float64": pyarrow.float64(), "bool": pyarrow.bool_()}
    return pyarrow.schema([(name, kinds.get(types.get(name, ""), pyarrow.string())) for name in names])


def _batches(text: _Text, wanted: Sequence[str]) -> Iterator[Any]:
    """Return the rows as record batches of strings, NULL for empty fields."""
    table = None
    loans = Loans()
    lent, refuse = LentFile(text, loans), partial(text.refuse)
    loans.note(refuse)
    try:
        table = pyarrow_csv.open_csv(
            lent,
            read_options=pyarrow_csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
            parse_options=pyarrow_csv.ParseOptions(
                delimiter=DELIMITERS[text.source.format],
                quote_char='"' if text.has_quotes else False,
                newlines_in_values=text.has_quotes,
                invalid_row_handler=refuse,
            ),
            convert_options=pyarrow_csv.ConvertOptions(
                check_utf8=False,
                column_types=_schema(text.names, {}),
                include_columns=list(wanted),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        yield from table
    except (pyarrow.ArrowException, OSError, ValueError, LoadError) as error:
        if text.failure is not None:
            raise text.failure from text.failure.__cause__
        if (found := _NO_ROW.match(str(error))) is not None:
            row, n_columns, n_fields = map(int, found.groups())
            message = f"{_of_fields(n_fields, n_columns)}; it has bytes that are not UTF-8"
            if text.skips:  # the file, from this row on: the parser cannot continue
                raise LoadError(f"row {row - 1}: {message}", source=text.source.label) from None
            raise LoadError(message, source=text.source.label, line=row - 1, unit="row") from None
        raise LoadError(_explained(str(error)), source=text.source.label) from None
    finally:
        lent.end()
        del lent, refuse, table
        loans.wait(MOST_WAITED)


def _of_fields(n_fields: int, n_columns: int) -> str:
    return f"the row has {n_fields} field{'' if n_fields == 1 else 's'}, but there are {n_columns} columns"


def _explained(message: str) -> str:
    if "straddling" in message:
        return f"a row of more than {BLOCK_BYTES:,} bytes, or one with a quote that is not closed"
    return _MALFORMED.sub("malformed: ", message)


def _types(batches: Iterator[Any], names: Sequence[str]) -> dict[str, str]:
    """Return the type of each column whose values are all written as values of that type."""
    if not names:
        return {}
    written = WrittenTypes()
    for batch in batches:
        interrupts.check()
        for name in names:
            written.see(name, batch.column(name))
    return written.types()


def _typed(batch: Any, types: dict[str, str], label: str, errors: ErrorLog) -> Any:
    """Return the batch with columns of their types."""
    schema = _schema(batch.schema.names, types)
    arrays = []
    try:
        for field, array in zip(schema, batch.columns, strict=True):
            known = without_nan(array) if field.name in types else array
            if known is not array:
                errors.remark_gaps([path_of((field.name,))])
            arrays.append(known.cast(field.type))
    except pyarrow.ArrowException as error:
        raise LoadError(f"the file has changed while it was loaded: {error}", source=label) from None
    return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


# ---- Quotes in tables as text, which Arrow's parser takes as they come: it reads `"a"b` as `ab`.


def checked(chunks: Iterator[bytes], delimiter: str, label: str, most_bytes: int) -> Iterator[bytes]:
    """Yield the same pieces after checking their quotes.

    most_bytes : of a quoted field; a longer one is left to the parser, which refuses it.

    Raises LoadError, with the number of the line, if a quoted field continues after its closing quote, or
    has none.
    Cost: 0.4 µs per quoted field, nothing for pieces without a quote.
    """
    sign = re.escape(delimiter).encode()
    # Up to the closing quote of a field and the character after it, or to the end of the data read.
    behind = rb'[^"]*(?:""[^"]*)*(?:(")([^"' + sign + rb"\r\n]?)|\Z)"
    # It fits at every quote that begins a field, so that it never begins within one.
    field = re.compile(rb'"(?<=[' + sign + rb'\r\n]")' + behind)
    remainder = re.compile(behind)
    rest, line = b"\n", 0  # the first field of all is behind a line end, too
    is_open, first_line, n_bytes = False, 0, 0  # of a field whose end was not read yet
    for chunk in chunks:
        interrupts.check()
        text = rest + chunk
        ended, rest = 0, b""
        if is_open:
            found = remainder.match(text)
            assert found is not None, "it fits anywhere"
            _refuse_more(found, text, line, label)
            ended = found.end()
            n_bytes += ended
            is_open, rest = ended == len(text), found[1] or b""
        if not is_open and b'"' in text:
            for found in field.finditer(text, ended):
                _refuse_more(found, text, line, label)
                if found.end() == len(text):
                    is_open, rest, n_bytes = True, found[1] or b"", len(found[0])
                    first_line = line + text.count(b"\n", 0, found.start())
        # An open field's last quote may be half of a doubled one; the character before the next field shows
        # its start.
        rest = rest if is_open else text[-1:]
        line += text.count(b"\n", 0, len(text) - len(rest))
        yield chunk
        if is_open and n_bytes > most_bytes:
            yield from chunks
            return
    if is_open and not rest:
        raise LoadError(
            f"line {first_line}: the quote that begins a field here is never closed, so it contains "
            "all that follows; was the file cut short?",
            source=label,
        )


def _refuse_more(found: re.Match[bytes], text: bytes, line: int, label: str) -> None:
    """Raise LoadError if something follows the closing quote of a field. `line` is that of the text."""
    if found[2]:
        line += text.count(b"\n", 0, found.end())
        raise LoadError(
            f"line {line}: a field continues after its closing quote; write each quote within a quoted field "
            "twice, or use QUOTES FALSE (--no-quotes) if the file does not quote fields",
            source=label,
        )


# ---- The types of values that are written as text: integers, numbers, booleans, else texts.


compute = lazy_module("pyarrow.compute")

# The type of a column whose values all match; the first of several. Numbers that would lose digits are texts.
_WRITTEN = {
    "int64": r"^(0|-?[1-9][0-9]{0,18})$",
    "float64": r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?$",
    "bool": r"^(true|false|True|False|TRUE|FALSE)$",
}
# Missing numbers among others: pandas writes the first, numpy the second.
_NAN = ("NaN", "nan")
# The characters of a number that are not significant digits; the digits that a float preserves.
_NO_DIGITS = r"^-?0*\.?0*|\.|[eE].*$"
_MOST_DIGITS = 17
# Numbers that a float holds exactly as written: few digits, neither very large nor close to zero.
_HELD = r"^-?(0|[1-9][0-9]{0,14})(\.|[eE]|$)"
_LEAST = 1e-290


class WrittenTypes:
    """The types that are possible for columns, after the values seen so far."""

    def __init__(self) -> None:
        self._possible: dict[str, set[str]] = {}
        self._has_values: set[str] = set()

    def see(self, name: str, values: Any) -> None:
        """Add an array of a column's strings; missing values are NULL."""
        numbers = without_nan(values)
        if numbers.null_count < len(numbers):
            self._has_values.add(name)
        self._possible[name] = {
            kind
            for kind in self._possible.get(name, _WRITTEN)
            if _is_written(values if kind == "bool" else numbers, kind)
        }

    def types(self) -> dict[str, str]:
        """Return the type of each column that has one other than text: "int64", "float64" or "bool"."""
        return {
            name: next(kind for kind in _WRITTEN if kind in possible)
            for name, possible in self._possible.items()
            if possible and name in self._has_values
        }


def converted(text: str, kind: str | None) -> Any:
    """Convert a text to a value of its column's type `kind`; return None (NULL) if it has no value."""
    if kind is None:
        return text
    if not text or text in _NAN:
        return None
    return text.lower() == "true" if kind == "bool" else int(text) if kind == "int64" else float(text)


def without_nan(values: Any) -> Any:
    """Return the values with missing numbers replaced by NULL."""
    missing = compute.is_in(values, value_set=pyarrow.array(_NAN))
    return compute.if_else(missing, None, values) if compute.any(missing).as_py() else values


def _is_written(values: Any, kind: str) -> bool:
    matching = compute.match_substring_regex(values.cast(pyarrow.binary(), safe=False), _WRITTEN[kind])
    if compute.all(matching).as_py() is False:
        return False
    if kind == "bool":
        return True
    if kind == "int64":
        return _fits(values)
    floats = values.cast(kind)
    if compute.all(compute.is_finite(floats)).as_py() is False:  # written as numbers, and beyond them
        return False
    digits = compute.binary_length(compute.replace_substring_regex(values, _NO_DIGITS, ""))
    is_held = compute.and_(
        compute.match_substring_regex(values, _HELD), compute.less_equal(digits, _MOST_DIGITS)
    )
    is_tiny = compute.and_(compute.less(compute.abs(floats), _LEAST), compute.greater(digits, 0))
    others = values.filter(compute.invert(compute.and_not(is_held, is_tiny)))
    return all(map(_is_exact, others.to_pylist()))


def _is_exact(text: str) -> bool:
    """Return True if a float holds the written value exactly and it is not written as a long integer."""
    return not text.lstrip("-").isdigit() and Decimal(repr(float(text))) == Decimal(text)


def _fits(values: Any) -> bool:
    """Return True if all texts of digits are integers of 64 bits."""
    if (compute.max(compute.binary_length(values)).as_py() or 0) < 19:
        return True
    try:
        values.cast("int64")
    except pyarrow.ArrowInvalid:
        return False
    return True

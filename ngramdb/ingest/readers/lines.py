"""Lines of a byte stream, without their line feed, in memory bounded by the longest line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

from ngramdb.errors import LoadError, ResourceError
from ngramdb.formats import format_of_beginning, named
from ngramdb.ingest import remote
from ngramdb.ingest.documents import Document, ErrorLog, invalid_utf8
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import MAGIC_BYTES, Limits, Meter, compression_of, text_chunks
from ngramdb.segments.metadata_columns import MAX_OBJECT_DEPTH, Path
from ngramdb.strict_reading import open_named


def is_blank(line: bytes) -> bool:
    """Return True if a line has nothing but white space, that of Unicode included."""
    rest = line.strip()
    # No character of white space but those of ASCII begins with a byte below 0xc2.
    return not rest or (rest[0] >= 0xC2 and not rest.decode("utf-8", "replace").strip())


class LineReader:
    """Iterates over the lines of `chunks`; a carriage return before the line feed stays.

    number : int - the number of the line yielded last, from 1, or after `before` lines.
    unterminated : bool - True if the line yielded last was at the end of the file and had no line feed.
    pass_over : called with the error for each line that is too long, which is left out; None: it ends all.
    """

    def __init__(
        self,
        chunks: Iterable[bytes],
        label: str,
        limits: Limits,
        pass_over: Callable[[LoadError], None] | None = None,
        before: int = 0,
    ) -> None:
        self.number = before
        self.unterminated = False
        self._chunks = chunks
        self._label = label
        self._limits = limits
        self._max_line_bytes = limits.document_bytes
        self._pass_over = pass_over

    def __iter__(self) -> Iterator[bytes]:
        """Yield every line; there is no empty line after a final line feed.

        Raises ResourceError for a line that is too long; LoadError (with the line) from the stream below.
        """
        pending: list[bytes] = []
        n_pending = 0
        is_over = False  # the line that has begun is too long, and counted already
        try:
            # Splitting whole chunks costs a fifth of asking for one line at a time.
            for chunk in self._chunks:
                lines = chunk.split(b"\n")
                tail = lines.pop()
                if lines:
                    if is_over:
                        del lines[0]
                        is_over = False
                    else:
                        pending.append(lines[0])
                        lines[0] = b"".join(pending)
                    pending.clear()
                    n_pending = 0
                    for line in lines:
                        self.number += 1
                        if len(line) > self._max_line_bytes:
                            self._refuse(len(line))
                        else:
                            yield line
                if is_over:
                    continue
                pending.append(tail)
                n_pending += len(tail)
                if n_pending > self._max_line_bytes:
                    self.number += 1
                    self._refuse(n_pending)
                    is_over = True
                    pending.clear()
                    n_pending = 0
        except LoadError as error:
            raise LoadError(error.message, source=error.source, line=self.number + 1) from error.__cause__
        if n_pending:
            self.number += 1
            self.unterminated = True
            yield b"".join(pending)

    def _refuse(self, n_bytes: int) -> None:
        """Say that the line `number` is too long."""
        message = f"longer than {self._limits.most}"
        error = LoadError(message, source=self._label, line=self.number)
        if self._pass_over is None:
            raise ResourceError(str(error), limit=self._max_line_bytes, asked=n_bytes)
        self._pass_over(error)


# ---- The original form of a document's line of JSON, so that the line can be written again byte for byte.


# Options of json.dumps per style: escapes beyond ASCII or not, blanks after separators or not.
STYLES: dict[bytes, dict[str, Any]] = {
    b"A": {"ensure_ascii": True},
    b"B": {"ensure_ascii": False},
    b"C": {"ensure_ascii": True, "separators": (",", ":")},
    b"D": {"ensure_ascii": False, "separators": (",", ":")},
}
_QUOTED = {b"T": b"A", b"U": b"B"}
# Objects nested deeper than this are stored as one value.

# Placeholder for a text. (If a record contains it, lines are compared as a whole.)
_MARK = "ngramdb: the text"
_QUOTED_MARK = b'"ngramdb: the text"'
_VALUE, _TEXT, _IDS = 0, 1, 2


class FormFinder:
    """Finds the forms of lines; remembers what the last lines were like, since others will be like them."""

    def __init__(self) -> None:
        self._styles = list(STYLES)
        self._known: dict[bytes, bytes] = {}

    def find(self, line: bytes, record: Mapping[str, Any], path: Path, has_ids: bool) -> bytes:
        """Return the form of a line that holds `record`, with the text (or token ids) at `path`.

        Cost: writing its metadata once, as a rule, and some looks at the text.
        """
        text = _at(record, path)
        for k, style in enumerate(self._styles):
            quick = _is_written_so(line, record, path, style) if type(text) is str else None
            if quick or (quick is None and _dumps(record, style) == line):
                if k:
                    self._styles.insert(0, self._styles.pop(k))
                return style + _dumps(_skeleton(record, path, _IDS if has_ids else _TEXT), b"D")
        return _literal(line, text)


def line_of(form: bytes, metadata: Mapping[str, Any], text: str | None, ids: Sequence[int] | None) -> bytes:
    """Return the line of a document: bytes without a line end.

    Raises ValueError, KeyError or TypeError for a form that does not belong to the document.
    """
    kind, rest = form[:1], form[1:]
    if kind == b"L":
        return rest
    if kind in _QUOTED:
        head, _, content = rest.partition(b":")
        n = int(head)
        return content[:n] + _dumps(text, _QUOTED[kind]) + content[n:]
    return _dumps(_filled(json.loads(rest), metadata, text, ids), kind)


def plain_line(metadata: Mapping[str, Any], text: str | None, ids: Sequence[int] | None) -> bytes:
    """Return the line of a document that did not come from one: text or ids first, then its metadata."""
    content: dict[str, Any] = {"ids": ids} if text is None else {"text": text}
    return _dumps({**content, **{key: value for key, value in metadata.items() if key not in content}}, b"B")


def _dumps(value: Any, style: bytes) -> bytes:
    return json.dumps(value, **STYLES[style]).encode("utf-8", "surrogatepass")


def _is_written_so(line: bytes, record: Mapping[str, Any], path: Path, style: bytes) -> bool | None:
    r"""Return True if the line is the record in this style, without writing its text; None if undecided.

    The parts before and after the text are compared. Its JSON string equals that of json.dumps if all
    escapes are short: JSON has only \u and \/ besides, and required escapes are always there. The end of the
    string is verified by its length, which grows with every character and every escape.
    """
    around = _dumps(_with_mark(record, path), style)
    if around.count(_QUOTED_MARK) != 1:
        return None
    before, _, behind = around.partition(_QUOTED_MARK)
    if not (line.startswith(before) and line.endswith(behind) and len(line) > len(before) + len(behind) + 1):
        return False
    inner = line[len(before) + 1 : len(line) - len(behind) - 1]
    if b"\\u" in inner or b"\\/" in inner:
        return None
    # The styles that escape all but ASCII escape U+007F, too.
    if STYLES[style]["ensure_ascii"] and not (inner.isascii() and b"\x7f" not in inner):
        return None
    text = _at(record, path)
    n_bytes = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    n_escapes = inner.count(b"\\") - inner.count(b"\\\\")
    quotes = line[len(before) : len(before) + 1], line[len(line) - len(behind) - 1 :][:1]
    return True if quotes == (b'"', b'"') and len(inner) - n_escapes == n_bytes else None


def _with_mark(record: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the record with a mark in place of its text."""
    rest = path[1:]
    return {**record, path[0]: _with_mark(record[path[0]], rest) if rest else _MARK}


def _at(record: Mapping[str, Any], path: Path) -> Any:
    for key in path:
        record = record[key]
    return record


def _literal(line: bytes, text: Any) -> bytes:
    """Return a line's form that stores the line itself."""
    if isinstance(text, str):
        for kind, style in _QUOTED.items():
            quoted = _dumps(text, style)
            if len(quoted) > 2 and line.count(quoted) == 1:
                n = line.index(quoted)
                return b"%c%d:" % (ord(kind), n) + line[:n] + line[n + len(quoted) :]
    return b"L" + line


def _skeleton(record: Mapping[str, Any], path: Path | None, content: int, depth: int = 1) -> dict[str, Any]:
    """Return the record with numbers in place of values."""
    found: dict[str, Any] = {}
    for key, value in record.items():
        inner = path[1:] if path is not None and path[0] == key else None
        if inner == ():
            found[key] = content
        elif type(value) is dict and (inner is not None or depth < MAX_OBJECT_DEPTH):
            found[key] = _skeleton(value, inner, content, depth + 1)
        else:
            found[key] = None if value is None else _VALUE
    return found


def _filled(
    skeleton: Mapping[str, Any], metadata: Any, text: str | None, ids: Sequence[int] | None
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, place in skeleton.items():
        if isinstance(place, dict):
            inner = metadata.get(key) if isinstance(metadata, dict) else None
            found[key] = _filled(place, inner, text, ids)
        elif place is None:
            found[key] = None
        else:
            found[key] = text if place == _TEXT else ids if place == _IDS else metadata[key]
    return found


# ---- Files that are not a stream of text, opened for random access.


@contextmanager
def opened(source: Source) -> Iterator[BinaryIO]:
    """Open the file of a source at its beginning.

    Raises LoadError when it cannot be opened, is standard input or a pipe, is compressed as a whole, or is of
    another format that shows in its first bytes.
    """
    wanted = named(source.format)
    if source.is_stdin or not source.can_be_read_again:
        raise LoadError(
            f"{wanted.title} are not read from beginning to end, so a pipe cannot be used; save it as a file "
            "and load that",
            source=source.label,
        )
    try:
        path = source.path
        file = remote.opened(path) if source.is_remote else open(open_named(path), "rb")  # noqa: SIM115
    except OSError as error:
        raise LoadError(f"cannot be read: {error.strerror or error}", source=source.label) from error
    with file:
        first = file.read(MAGIC_BYTES)
        file.seek(0)
        _check_beginning(first, source)
        yield file


def _check_beginning(first: bytes, source: Source) -> None:
    wanted = named(source.format)
    if not first:
        raise LoadError(f"is empty, which {wanted.kind} never is: it was cut short", source=source.label)
    if (compression := compression_of(first)) is not None:
        raise LoadError(
            f"is compressed by {compression}, and {wanted.kind} is read in place: unpack it first",
            source=source.label,
        )
    found = format_of_beginning(first)
    if found is not None and found.name != wanted.name:
        raise LoadError(
            f"is {found.kind}, not {wanted.kind}; give the format {found.name} to read it as such",
            source=source.label,
        )


# ---- Plain text: a document per file, per line, or between separator lines. Text is kept byte for byte.


def read_text(source: Source, options: ReadOptions, errors: ErrorLog, meter: Meter) -> Iterator[Document]:
    """Yield the documents of one text file.

    With a separator, a line that equals it (ignoring a carriage return at its end) is between two documents
    and belongs to neither; two in a row have an empty document between them; what comes before the first and
    after the last one counts only if it is not empty. Without one, the file is the document, even when it is
    empty.

    Raises LoadError with file and line for bytes that are not UTF-8, and ResourceError for a document that
    is longer than the limit, unless `options.on_error` is "skip": then `errors` counts the document.
    Compressed data that are damaged count as one, and end the file.
    """
    read = _whole if options.separator is None else _separated
    pieces = read(source, options, errors, meter)
    yield from _documents(pieces, source, options, errors, meter)


def read_lines(source: Source, options: ReadOptions, errors: ErrorLog, meter: Meter) -> Iterator[Document]:
    """Yield a document for each line of a text file, without its end; blank lines are skipped.

    Raises as `read_text`.
    """
    pieces = _lines(source, options, errors, meter)
    yield from _documents(pieces, source, options, errors, meter, by_line=True)


def _documents(
    pieces: Iterator[tuple[bytes, int | None]],
    source: Source,
    options: ReadOptions,
    errors: ErrorLog,
    meter: Meter,
    by_line: bool = False,
) -> Iterator[Document]:
    """Yield documents of texts and the lines on which they begin."""
    skip = options.on_error == "skip"
    try:
        for text, line in pieces:
            if line is not None and line <= source.after_line:
                continue
            error = _encoding_error(text, source.label, line or 1)
            if error is None:
                metadata = {"path": source.name, **({"line": line} if by_line else {"size": len(text)})}
                if options.metadata is not None:
                    metadata = {key: value for key, value in metadata.items() if key in options.metadata}
                # An empty document has no line: the line with its number is the separator after it.
                meter.line = text.partition(b"\n")[0] if text and line is not None else None
                yield Document(text, None, metadata, source.label, line)
            elif skip:
                errors.add(error)
            else:
                raise error
    except LoadError as error:
        # Bad encoding was dealt with above: with `skip`, this is the stream itself. Damaged data are skipped,
        # a file that cannot be read at all is not.
        if not skip or isinstance(error.__cause__, OSError):
            raise
        errors.add_file(error)


Pieces = Iterator[tuple[bytes, int | None]]


def _lines(source: Source, options: ReadOptions, errors: ErrorLog, meter: Meter) -> Pieces:
    skip = options.on_error == "skip"
    chunks = text_chunks(source, options.limits, meter)
    passed_over = errors.after(source.after_line) if skip else None
    lines = LineReader(chunks, source.label, options.limits, passed_over, source.lines_before)
    for line in lines:
        text = line.removesuffix(b"\r")
        if not is_blank(text):
            yield text, lines.number


def _whole(source: Source, options: ReadOptions, errors: ErrorLog, meter: Meter) -> Pieces:
    limit = options.limits.document_bytes
    chunks: list[bytes] = []
    n_bytes = 0
    for chunk in text_chunks(source, options.limits, meter):
        chunks.append(chunk)
        n_bytes += len(chunk)
        if n_bytes > limit:
            error = LoadError(_too_long(options), source=source.label)
            _refuse(error, source, options, errors, n_bytes)
            return
    yield b"".join(chunks), None


def _separated(source: Source, options: ReadOptions, errors: ErrorLog, meter: Meter) -> Pieces:
    assert options.separator is not None
    separator = options.separator.encode()
    separators = (separator, separator + b"\r")
    limit = options.limits.document_bytes
    # Every line of the document so far, and then an empty one, so that joining puts a line feed after each.
    piece: list[bytes] = []
    n_bytes = 0
    first_line = 1
    is_over = False  # the document is too long, which was reported already

    def pass_over(_: LoadError) -> None:
        over(limit + 1)

    def over(n_bytes: int) -> None:
        nonlocal is_over
        if not is_over:
            error = LoadError(_too_long(options), source=source.label, line=first_line)
            _refuse(error, source, options, errors, n_bytes)
        is_over = True
        piece.clear()

    chunks = text_chunks(source, options.limits, meter)
    lines = LineReader(
        chunks, source.label, options.limits, pass_over if options.on_error == "skip" else None
    )
    for line in lines:
        if line in separators:
            if not is_over and (piece or lines.number > 1):
                yield b"\n".join([*piece, b""]), first_line
            piece.clear()
            n_bytes = 0
            first_line = lines.number + 1
            is_over = False
        elif not is_over:
            piece.append(line)
            n_bytes += len(line) + 1
            if n_bytes - lines.unterminated > limit:
                over(n_bytes)
    if piece and first_line == 1 and not options.of_many:
        errors.remark(f"no line of {source.label} is the SEPARATOR {options.separator!r}: it is one document")
    if piece:
        yield b"\n".join(piece if lines.unterminated else [*piece, b""]), first_line


def _too_long(options: ReadOptions) -> str:
    reason = options.limits.reason
    return f"a document of more than {options.limits.document_bytes:,} bytes" + (
        f": {reason}" if reason else ""
    )


def _refuse(error: LoadError, source: Source, options: ReadOptions, errors: ErrorLog, n_bytes: int) -> None:
    """Take down a document that is too long, or raise ResourceError."""
    if options.on_error != "skip":
        raise ResourceError(str(error), limit=options.limits.document_bytes, asked=n_bytes)
    errors.after(source.after_line)(error)


def _encoding_error(text: bytes, label: str, first_line: int) -> LoadError | None:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        line = first_line + text.count(b"\n", 0, error.start)
        offset = error.start - (text.rfind(b"\n", 0, error.start) + 1)
        return LoadError(invalid_utf8(error, offset), source=label, line=line)
    return None

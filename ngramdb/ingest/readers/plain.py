"""Plain text: a document per file, per line, or between separator lines. Text is kept byte for byte.

A byte order mark at the beginning belongs to no text.

Every document's metadata are `path` (the file's name relative to the folder or glob that found it) and
`size` (bytes of its text); of a line, `line` (its number, from 1) instead of its size.
"""

from __future__ import annotations

from collections.abc import Iterator

from ngramdb.errors import LoadError, ResourceError
from ngramdb.ingest.documents import Document, ErrorLog, invalid_utf8
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.readers.lines import LineReader, is_blank
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import Meter, text_chunks


def read_text(source: Source, options: ReadOptions, errors: ErrorLog, meter: Meter) -> Iterator[Document]:
    """Yield the documents of one text file.

    With a separator, a line that equals it (a carriage return at its end aside) stands between two documents
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
    """Yield a document for each line of a text file, without its end; blank lines are passed over.

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
    """Documents of texts and the lines that they begin in."""
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
                # An empty document has no line: what stands at its number is the separator after it.
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
    is_over = False  # the document is too long, which has been said

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
        errors.remark(
            f"no line of {source.label} is the SEPARATOR {options.separator!r}: all of it is one document"
        )
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

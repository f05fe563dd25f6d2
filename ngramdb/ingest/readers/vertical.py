"""Vertical text (CWB, Sketch Engine): a word a line, structures as tags on lines of their own.

    <text id="1" year="1930">
    <s>
    time	NN	time
    flies	VBZ	fly
    </s>
    </text>

The outermost structure is a document, whatever it is called; its attributes are metadata, of the types that
columns of CSV have, for which a file is read twice. Of each word the first column counts; words have a blank
between them, unless `<g/>` joins them, and sentences (any structure within) a line feed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from ngramdb import interrupts
from ngramdb.errors import LoadError, ResourceError
from ngramdb.ingest.documents import Document, ErrorLog, invalid_utf8
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.readers.delimited import WrittenTypes, converted
from ngramdb.ingest.readers.lines import LineReader
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import Meter, text_chunks
from ngramdb.lazy import lazy_module

pyarrow = lazy_module("pyarrow")

# A tag has a line of its own; a word may begin with "<" too.
_NAME = r"<(?P<close>/?)(?P<name>[A-Za-z_][\w.:-]*)"
_TAG = re.compile(_NAME + r"""(?P<attributes>(?:\s(?:[^<>"']|"[^"]*"|'[^']*')*)?)(?P<empty>/?)>\s*""")
# One whose quotes do not close, so that it is an error and no word.
_BROKEN_TAG = re.compile(_NAME + r"(?P<attributes>(?:\s[^<>]*)?)(?P<empty>/?)>\s*")
_ATTRIBUTE = re.compile(r"""([\w.:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_GLUE = "g"
# Structures around documents.
_AROUND = frozenset(("corpus", "collection"))
# Tags whose attributes are looked at together.
_SOME_TAGS = 4096
_ONLY_TEXT = (
    "of vertical text the first column is loaded, as text with a line for each sentence; its tokens and "
    "sentences are those of the corpus's tokenizer, and other columns and the attributes of inner structures "
    "are left out"
)
_UNTYPED = "the attributes of {} are texts: a pipe cannot be read twice, as their types need"


def read_vertical(source: Source, options: ReadOptions, errors: ErrorLog, meter: Meter) -> Iterator[Document]:
    """Yield the documents of one file of vertical text; `Document.line` is that of the opening tag.

    Raises LoadError with file and line at a word outside of any structure, a structure that does not end, and
    bytes that are not UTF-8, unless `options.on_error` is "skip": then `errors` counts it.
    """
    skip = options.on_error == "skip"
    chunks = text_chunks(source, options.limits, meter)
    lines = LineReader(
        chunks, source.label, options.limits.of_lines, errors.after(source.after_line) if skip else None
    )
    reader = _Reader(source, options, _types(source, options, errors))
    try:
        for line in lines:
            try:
                document = reader.take(line, lines.number)
            except LoadError as error:
                if not skip:
                    raise
                if lines.number > source.after_line:
                    errors.add(error)
                continue
            if document is not None and (document.line or 0) > source.after_line:
                errors.remark(_ONLY_TEXT)
                meter.line = reader.opening
                yield document
        reader.end()
    except LoadError as error:
        if not skip or isinstance(error.__cause__, OSError):
            raise
        errors.add_file(error)


def _types(source: Source, options: ReadOptions, errors: ErrorLog) -> dict[str, str]:
    """Return the types of the attributes of documents, those that are not texts.

    Errors are left to the reader.
    """
    if not source.can_be_read_again:
        errors.remark(_UNTYPED.format(source.label))
        return {}
    written = WrittenTypes()
    structure, depth = None, 0
    some: list[dict[str, str]] = []
    lines = LineReader(
        text_chunks(source, options.limits, Meter()), source.label, options.limits.of_lines, lambda _: None
    )
    try:
        for line in lines:
            tag = _TAG.fullmatch(line.decode("utf-8", "replace")) if line.startswith(b"<") else None
            if tag is None or tag["name"] in (*_AROUND, _GLUE):
                continue
            is_empty = tag["empty"] or tag["attributes"].endswith("/")
            structure = structure or (None if is_empty else tag["name"])
            if tag["name"] != structure:
                continue
            if not depth and not tag["close"]:
                some.append(_attributes(tag))
                if len(some) == _SOME_TAGS:
                    _see(written, some)
            depth += 0 if is_empty else -1 if tag["close"] else 1
    except LoadError:
        return {}
    _see(written, some)
    return written.types()


def _see(written: WrittenTypes, some: list[dict[str, str]]) -> None:
    interrupts.check()
    for name in dict.fromkeys(name for one in some for name in one):
        written.see(name, pyarrow.array([one[name] for one in some if one.get(name)], pyarrow.string()))
    some.clear()


def _attributes(tag: re.Match[str]) -> dict[str, str]:
    return {key: unescape(one or other) for key, one, other in _ATTRIBUTE.findall(tag["attributes"])}


class _Reader:
    """The document at hand, and the line that opened it. After an error the rest of it is skipped."""

    def __init__(self, source: Source, options: ReadOptions, types: dict[str, str]) -> None:
        self._source = source
        self._types = types
        self._options = options
        self._structure: str | None = None  # that of documents
        self._metadata: dict[str, Any] = {}
        self.opening = b""
        self._line = 0
        self._depth = 0
        self._text: list[str] = []
        self._n_bytes = 0
        self._is_passed_over = False
        self._early: dict[str, int] = {}  # lines of empty tags before it is known what documents are

    def take(self, line: bytes, number: int) -> Document | None:
        """Take a line; the document that it ends, if it does."""
        try:
            text = line.decode().removesuffix("\r")
        except UnicodeDecodeError as error:
            raise self._error(invalid_utf8(error, error.start), number) from error
        if not text or text.isspace() or text.startswith(("<?", "<!--")):
            return None
        tag = _TAG.fullmatch(text) or _BROKEN_TAG.fullmatch(text)
        if tag is None:
            self._word(text.partition("\t")[0], number)
            return None
        if tag["empty"] or tag["attributes"].endswith("/"):
            if tag["name"] == _GLUE:
                self._text.append("")
            elif not self._depth and tag["name"] not in _AROUND:
                return self._take_empty(tag, number)
            return None
        if tag["close"]:
            return self._close(tag["name"])
        self._open(tag, number)
        return None

    def _take_empty(self, tag: re.Match[str], number: int) -> Document | None:
        """Take a document without words, if its structure is that of documents."""
        if self._structure is None:
            self._early.setdefault(tag["name"], number)
        if tag["name"] != self._structure:
            return None
        self._begin(tag, number)
        self._check_attributes(tag, number)
        return self._document()

    def _check_attributes(self, tag: re.Match[str], number: int) -> None:
        left = _ATTRIBUTE.sub("", tag["attributes"].removesuffix("/")).strip()
        if left:
            raise self._error(f'{left[:40]!r} is not an attribute; write name="value"', number)

    def _document(self) -> Document:
        text = "".join(self._text).strip()
        return Document(text.encode(), None, dict(self._metadata), self._source.label, self._line)

    def end(self) -> None:
        """Raise LoadError if a document has not ended."""
        if self._depth:
            raise self._error(f"missing end of <{self._structure}>: the file was cut short", self._line)

    def _open(self, tag: re.Match[str], number: int) -> None:
        name = tag["name"]
        if not self._depth:
            if name in _AROUND and name != self._structure:
                return
            self._structure = self._structure or name
            self._begin(tag, number)
        if name == self._structure:
            self._depth += 1
            if self._depth == 1:
                self._check_attributes(tag, number)
                if (line := self._early.pop(name, None)) is not None:
                    what = f"<{name}/> is a document without words, and the first one cannot be written so"
                    what = f"{what}: put <{name} …> and </{name}> on two lines"
                    raise LoadError(what, source=self._source.label, line=line)
        else:
            self._break()

    def _begin(self, tag: re.Match[str], number: int) -> None:
        found = {key: converted(text, self._types.get(key)) for key, text in _attributes(tag).items()}
        kept = self._options.metadata
        self._metadata = found if kept is None else {key: found[key] for key in kept if key in found}
        self._line, self._text, self._n_bytes, self._is_passed_over = number, [], 0, False
        self.opening = tag[0].encode()

    def _close(self, name: str) -> Document | None:
        if name != self._structure or not self._depth:
            self._break()
            return None
        self._depth -= 1
        if self._depth or self._is_passed_over:
            return None
        return self._document()

    def _word(self, word: str, number: int) -> None:
        if not self._depth:
            raise self._error(
                f"the word {word[:40]!r} is outside any structure; a document begins with a tag, "
                'such as <text id="1">',
                number,
            )
        last = self._text[-1] if self._text else "\n"
        # An empty piece is what stands for <g/>.
        piece = unescape(word) if last in ("\n", "") else f" {unescape(word)}"
        self._text.append(piece)
        self._n_bytes += len(piece.encode("utf-8", "surrogatepass"))
        if self._n_bytes > self._options.limits.document_bytes:
            self._refuse()

    def _break(self) -> None:
        if self._text and self._text[-1] != "\n":
            self._text.append("\n")

    def _refuse(self) -> None:
        if self._is_passed_over:
            return
        self._is_passed_over = True
        self._text.clear()
        limits = self._options.limits
        error = self._error(f"longer than {limits.most}", self._line)
        if self._options.on_error != "skip":
            raise ResourceError(str(error), limit=limits.document_bytes, asked=self._n_bytes)
        raise error

    def _error(self, message: str, line: int) -> LoadError:
        self._is_passed_over = True
        return LoadError(message, source=self._source.label, line=line)

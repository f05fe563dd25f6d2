"""The manifest: what a version of the database consists of, as immutable values with a strict JSON form.

A version is the whole truth: every corpus, every file with its size and checksum. What the files hold is not
known here. `from_json` takes nothing on trust: wrong types, impossible numbers and names that could lead out
of the database's folder raise CorruptionError. Keys that it does not know are skipped; a program that adds
one sets a feature flag, so that an older program will not drop it when it writes the next version
(FORMAT.md).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias, TypeVar

from ngramdb.errors import CorruptionError
from ngramdb.segments.container import FileInfo, parse_json

OptionValue: TypeAlias = "str | int | float | bool"

TOKENIZER_KINDS = ("words", "chars", "bytes", "tokens", "json")
_FILE_NAME = re.compile(r"(segments|vocabularies|tokenizers)/[0-9a-f]{8,64}\.[a-z]{1,20}")
_ID = re.compile(r"[0-9a-f]{32}")
#: Everything that is counted or measured fits a signed 64-bit integer.
_MAX_INT = 2**63 - 1

_T = TypeVar("_T")


@dataclass(frozen=True)
class FileRef:
    """A finished file: `name` within the database, `size` in bytes, `crc` of its footer."""

    name: str
    size: int
    crc: int

    @property
    def info(self) -> FileInfo:
        return FileInfo(self.size, self.crc)


@dataclass(frozen=True)
class SegmentEntry:
    """One segment of a corpus; `sign` is +1, or -1 where its counts are subtracted."""

    file: FileRef
    sign: int
    n_tokens: int
    n_documents: int
    first_doc_id: int
    created_version: int


@dataclass(frozen=True)
class TokenizerEntry:
    """How a corpus tokenizes: `file` for a tokenizer of its own, `vocabulary` files in the order of their
    ids.
    """

    kind: str
    file: FileRef | None
    vocabulary: tuple[FileRef, ...]
    n_vocabulary: int


@dataclass(frozen=True)
class CorpusEntry:
    """One corpus: `id` stays when it is renamed; `next_doc_id` is above every id ever given."""

    name: str
    id: str
    tokenizer: TokenizerEntry
    segments: tuple[SegmentEntry, ...]
    next_doc_id: int
    options: Mapping[str, OptionValue]

    def files(self) -> Iterator[FileRef]:
        """Every file that the corpus needs."""
        for segment in self.segments:
            yield segment.file
        yield from self.tokenizer.vocabulary
        if self.tokenizer.file is not None:
            yield self.tokenizer.file


@dataclass(frozen=True)
class Manifest:
    """One version: made at `created` (seconds since 1970, UTC) by `action`, with these corpora by name."""

    version: int
    created: float
    action: str
    corpora: Mapping[str, CorpusEntry]

    def files(self) -> dict[str, FileRef]:
        """Every file that the version needs, by name (corpora may share files)."""
        return {ref.name: ref for corpus in self.corpora.values() for ref in corpus.files()}

    def check(self) -> None:
        """Raises ValueError or TypeError unless `from_json` would give the same manifest back."""
        try:
            copy = Manifest.from_json(self.to_json(), "manifest")
        except CorruptionError as error:
            raise ValueError(f"expected {error.expected}, found {error.found!r:.80}") from error
        if copy != self:
            raise ValueError("the manifest has values of another type, or a corpus under another's name")

    def to_json(self) -> bytes:
        """The manifest as UTF-8 JSON text. Raises ValueError or TypeError for what JSON cannot hold."""
        value = {
            "version": self.version,
            "created": self.created,
            "action": self.action,
            "corpora": [_corpus_to_json(corpus) for corpus in self.corpora.values()],
        }
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")

    @classmethod
    def from_json(cls, text: bytes, path: str) -> Manifest:
        """The manifest in `text`. Raises CorruptionError naming `path` and the place within the JSON."""
        try:
            value = parse_json(text)
        except ValueError as error:
            raise CorruptionError(
                f"{path}: the manifest is no JSON text: {error}; restore the file from a backup", path=path
            ) from error
        top = _Reader(value, path, "manifest")
        corpora = top.items("corpora", _read_corpus)
        names = [corpus.name for corpus in corpora]
        if len(set(names)) != len(names):
            top.fail("corpora", "names that differ", names)
        manifest = cls(
            version=top.integer("version", 1),
            created=top.number("created"),
            action=top.text("action"),
            corpora={corpus.name: corpus for corpus in corpora},
        )
        for corpus in corpora:
            if any(segment.created_version > manifest.version for segment in corpus.segments):
                top.fail("corpora", "segments no newer than the version", corpus.name)
        return manifest


def _corpus_to_json(corpus: CorpusEntry) -> dict[str, Any]:
    # By hand: dataclasses.asdict copies deeply, which took ten times as long with a thousand segments.
    tokenizer = corpus.tokenizer
    return {
        **vars(corpus),
        "tokenizer": {
            **vars(tokenizer),
            "file": None if tokenizer.file is None else vars(tokenizer.file),
            "vocabulary": [vars(ref) for ref in tokenizer.vocabulary],
        },
        "segments": [{**vars(segment), "file": vars(segment.file)} for segment in corpus.segments],
        "options": dict(corpus.options),
    }


class _Reader:
    """Reads the fields of one JSON object and fails with a message that says where."""

    def __init__(self, value: Any, path: str, place: str) -> None:
        self.path = path
        self.place = place
        if not isinstance(value, dict):
            raise CorruptionError(
                f"{path}: {place} is {value!r:.80}, expected a JSON object; restore the file from a backup",
                path=path,
                expected="a JSON object",
                found=value,
            )
        self._value: dict[str, Any] = value

    def fail(self, key: str, expected: str, found: object) -> NoReturn:
        raise CorruptionError(
            f"{self.path}: {self.place}.{key} is {found!r:.80}, expected {expected}; "
            "restore the file from a backup",
            path=self.path,
            expected=expected,
            found=found,
        )

    def get(self, key: str) -> Any:
        if key not in self._value:
            self.fail(key, "a value", None)
        return self._value[key]

    def integer(self, key: str, low: int = 0, high: int = _MAX_INT) -> int:
        value = self.get(key)
        if type(value) is not int or not low <= value <= high:
            self.fail(key, f"an integer from {low} to {high}", value)
        return value

    def number(self, key: str) -> float:
        value = self.get(key)
        if type(value) not in (int, float) or not 0 <= value <= _MAX_INT:
            self.fail(key, "a number of seconds", value)
        return float(value)

    def text(self, key: str) -> str:
        value = self.get(key)
        if not isinstance(value, str) or not value:
            self.fail(key, "a text", value)
        return value

    def matching(self, key: str, pattern: re.Pattern[str]) -> str:
        value = self.text(key)
        if not pattern.fullmatch(value):
            self.fail(key, f"a text like {pattern.pattern}", value)
        return value

    def items(self, key: str, read: Callable[[_Reader], _T]) -> tuple[_T, ...]:
        value = self.get(key)
        if not isinstance(value, list):
            self.fail(key, "a JSON array", value)
        return tuple(
            read(_Reader(item, self.path, f"{self.place}.{key}[{i}]")) for i, item in enumerate(value)
        )

    def child(self, key: str) -> _Reader:
        return _Reader(self.get(key), self.path, f"{self.place}.{key}")

    def options(self, key: str) -> dict[str, OptionValue]:
        options = self.child(key)._value
        for name, value in options.items():
            plain = isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))
            if not plain:
                self.fail(f"{key}.{name}", "a text, a number or a truth value", value)
        return options


def _read_file(reader: _Reader) -> FileRef:
    return FileRef(
        name=reader.matching("name", _FILE_NAME),
        size=reader.integer("size", 1),
        crc=reader.integer("crc", 0, 2**32 - 1),
    )


def _read_segment(reader: _Reader) -> SegmentEntry:
    sign = reader.integer("sign", -1, 1)
    if sign == 0:
        reader.fail("sign", "1 or -1", sign)
    return SegmentEntry(
        file=_read_file(reader.child("file")),
        sign=sign,
        n_tokens=reader.integer("n_tokens"),
        n_documents=reader.integer("n_documents"),
        first_doc_id=reader.integer("first_doc_id"),
        created_version=reader.integer("created_version", 1),
    )


def _read_tokenizer(reader: _Reader) -> TokenizerEntry:
    kind = reader.text("kind")
    if kind not in TOKENIZER_KINDS:
        reader.fail("kind", f"one of {', '.join(TOKENIZER_KINDS)}", kind)
    return TokenizerEntry(
        kind=kind,
        file=None if reader.get("file") is None else _read_file(reader.child("file")),
        vocabulary=reader.items("vocabulary", _read_file),
        n_vocabulary=reader.integer("n_vocabulary"),
    )


def _read_corpus(reader: _Reader) -> CorpusEntry:
    corpus = CorpusEntry(
        name=reader.text("name"),
        id=reader.matching("id", _ID),
        tokenizer=_read_tokenizer(reader.child("tokenizer")),
        segments=reader.items("segments", _read_segment),
        next_doc_id=reader.integer("next_doc_id"),
        options=reader.options("options"),
    )
    for segment in corpus.segments:
        if segment.first_doc_id + segment.n_documents > corpus.next_doc_id:
            reader.fail("next_doc_id", "an integer above every document's id", corpus.next_doc_id)
    return corpus

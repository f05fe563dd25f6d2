"""The manifest: the content of a version of the database, as immutable values with a strict JSON form.

A version is self-contained: every corpus, every file with its size and checksum. The content of the files is
not known here. `from_json` trusts nothing: wrong types, impossible numbers and names that could lead out
of the database's folder raise CorruptionError. Unknown keys are skipped; a program that adds
one sets a feature flag, so that an older program will not drop it when it writes the next version
(FORMAT.md).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any, NamedTuple, TypeAlias

from ngramdb.errors import BindError, CorruptionError
from ngramdb.fork_safety import cached_property
from ngramdb.lazy import dataclass
from ngramdb.registries import TOKENIZER_KINDS
from ngramdb.segments.container import (
    CHANGED_FIELDS,
    DOCUMENT_SETS,
    DROPPED_CORPORA,
    FREQUENT_NGRAMS,
    KEPT_VERSIONS,
    LOAD_RECORDS,
    NATIVE,
    SEGMENT_KINDS,
    STATISTICS,
    FileInfo,
)
from ngramdb.strict_reading import JsonObject, is_integers

OptionValue: TypeAlias = "str | int | float | bool"
_Four: TypeAlias = "tuple[int, int, int, int]"

_FILE_NAME = re.compile(r"(segments|fields|vocabularies|tokenizers|audits)/[0-9a-f]{8,64}\.[a-z]{1,20}")
_ID = re.compile(r"[0-9a-f]{32}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
#: Digits of the SHA-256 of a file's path: two of a million files collide with a probability of 1 in 500.
NAME_DIGITS = 12
_NAMES = re.compile(rf"(?:[0-9a-f]{{{NAME_DIGITS}}})*")
_KIND = re.compile(r"[a-z][a-z0-9-]{0,30}")
#: Most names of versions in a message.
_MOST_NAMES = 10
#: Ids of documents stay far enough below that for offsets to be added.
_MAX_DOC_ID = 2**61
#: Seconds since 1970: the last time with a year of four digits.
MAX_TIME = 253_402_300_799


class FileRef(NamedTuple):
    """A finished file: `name` within the database, `size` in bytes, `crc` of its footer."""

    name: str
    size: int
    crc: int

    @property
    def info(self) -> FileInfo:
        return FileInfo(self.size, self.crc)


@dataclass(frozen=True)
class SegmentEntry:
    """One segment of a corpus; `sign` is +1, or -1 if its counts are subtracted.

    A subtracted segment holds the documents that were removed, under their ids. `doc_id_offset` is added to
    all ids in its file (which was another corpus's); `first_doc_id` includes it. `kind` selects the code
    that opens its file (`ngramdb.segments.segment`). `fields` is the file with the metadata fields that were
    added, changed or dropped after loading (`ngramdb.segments.fields_file`).
    """

    file: FileRef
    sign: int
    n_tokens: int
    n_documents: int
    first_doc_id: int
    created_version: int
    doc_id_offset: int = 0
    kind: str = NATIVE
    fields: FileRef | None = None

    def files(self) -> Iterator[FileRef]:
        """Yield every file of the segment."""
        yield self.file
        if self.fields is not None:
            yield self.fields


@dataclass(frozen=True)
class TokenizerEntry:
    """The tokenizer of a corpus.

    `file` holds a tokenizer's own definition, `vocabulary` has files in the order of their ids.
    """

    kind: str
    file: FileRef | None
    vocabulary: tuple[FileRef, ...]
    n_vocabulary: int


class StatisticsEntry(NamedTuple):
    """The statistics that ANALYZE has recorded for a corpus, at `created` (seconds since 1970, UTC).

    `segments` is the SHA-256 of the names, sizes, checksums and signs of the segments that they describe;
    for any others they are invalid. `n_types[i]` is the number of different n-grams of length i + 1;
    `continuation[i]` how many of them have 1, 2, 3 and 4 different left neighbours, `raw[i]` occurrences.
    `frequent` are the most frequent n-grams, each as its nine numbers and its tokens (FORMAT.md).
    """

    created: float
    segments: str
    n_tokens: int
    n_documents: int
    n_left_of_end: int
    n_types: tuple[int, ...]
    continuation: tuple[_Four, ...]
    raw: tuple[_Four, ...]
    frequent: tuple[tuple[int, ...], ...] = ()


class LoadRecord(NamedTuple):
    """The position of a load of files that commits on its way, or may be resumed later.

    `paths` is the SHA-256 of the paths that the user gave, `options` of how they are read. The corpus has the
    first `n_files` files, and of the next one everything that begins in the first `n_lines` lines:
    `n_documents` documents in total. `files` is the SHA-256 of the paths and sizes of those files, and of the
    path of that next one. `mark` is the CRC-32 of the last of those lines; None if its format has no lines,
    and in older records. `names` has NAME_DIGITS hexadecimal digits for the path of each of all these files;
    None in older records.
    """

    paths: str
    options: str
    files: str
    n_files: int
    n_lines: int
    n_documents: int
    mark: int | None = None
    names: str | None = None


@dataclass(frozen=True)
class CorpusEntry:
    """One corpus: `id` is unchanged if it is renamed; `next_doc_id` is above every id ever assigned.

    Added segments are in the order of their documents' ids, and no two share a range of ids. `audits` are the
    records of removals, oldest first. `statistics` are those of the last ANALYZE, perhaps of an
    earlier version. No two `loads` have the same paths.
    """

    name: str
    id: str
    tokenizer: TokenizerEntry
    segments: tuple[SegmentEntry, ...]
    next_doc_id: int
    options: Mapping[str, OptionValue]
    audits: tuple[FileRef, ...] = ()
    statistics: StatisticsEntry | None = None
    loads: tuple[LoadRecord, ...] = ()

    @property
    def added(self) -> tuple[SegmentEntry, ...]:
        """The segments whose documents count, removed ones included."""
        return tuple(segment for segment in self.segments if segment.sign > 0)

    @property
    def subtracted(self) -> tuple[SegmentEntry, ...]:
        """The segments of removed documents."""
        return tuple(segment for segment in self.segments if segment.sign < 0)

    @property
    def sentence_separator(self) -> str | None:
        """Text of the token between sentences, for language models, or None."""
        value = self.options.get("sentence_separator")
        return None if value is None else str(value)

    @property
    def wants_sentences(self) -> bool:
        """True if the beginnings of sentences are stored."""
        return self.tokenizer.kind != "tokens" and self.options.get("sentences", True) is True

    @property
    def n_documents(self) -> int:
        """Net number of documents."""
        return sum(segment.sign * segment.n_documents for segment in self.segments)

    @property
    def n_tokens(self) -> int:
        """Net number of tokens, separators not counted."""
        return sum(segment.sign * segment.n_tokens for segment in self.segments)

    def without_documents(self) -> CorpusEntry:
        """Return what outlives the documents: the ids that were given, the vocabulary, audit records."""
        return replace(self, segments=(), statistics=None, loads=())

    def files(self) -> Iterator[FileRef]:
        """Every file that the corpus needs."""
        for segment in self.segments:
            yield from segment.files()
        yield from self.tokenizer.vocabulary
        yield from self.audits
        if self.tokenizer.file is not None:
            yield self.tokenizer.file


@dataclass(frozen=True)
class Manifest:
    """One version: made at `created` (seconds since 1970, UTC) by `action`, with these corpora by name.

    `by` is who made it, as user@host, or "" if that is unknown. `kept` are earlier versions by the names
    under which they are kept, whatever becomes of their own manifests; their own `kept` is empty. `dropped`
    has, by id, the last entry of each corpus of these versions that has been dropped, without documents.
    """

    version: int
    created: float
    action: str
    corpora: Mapping[str, CorpusEntry]
    by: str = ""
    kept: Mapping[str, Manifest] = field(default_factory=dict)
    dropped: Mapping[str, CorpusEntry] = field(default_factory=dict)

    @property
    def flags(self) -> int:
        """Feature flags that a program must know to read this version (FORMAT.md)."""
        needed = any(
            segment.sign < 0 or segment.doc_id_offset
            for corpus in self.corpora.values()
            for segment in corpus.segments
        )
        audited = any(corpus.audits for corpus in self.corpora.values())
        kinds = {segment.kind for corpus in self.corpora.values() for segment in corpus.segments}
        return (
            (DOCUMENT_SETS if needed or audited else 0)
            | (SEGMENT_KINDS if kinds - {NATIVE} else 0)
            | (CHANGED_FIELDS if self._has_changed_fields else 0)
        )

    @property
    def _has_changed_fields(self) -> bool:
        segments = (segment for corpus in self.corpora.values() for segment in corpus.segments)
        return any(segment.fields is not None for segment in segments)

    @property
    def writer_flags(self) -> int:
        """Feature flags that a program must know to write its successor."""
        statistics = [c.statistics for c in self.corpora.values() if c.statistics is not None]
        counted = any(entry.frequent for entry in statistics)
        loaded = any(corpus.loads for corpus in self.corpora.values())
        return (
            self.flags
            | (STATISTICS if statistics else 0)
            | (FREQUENT_NGRAMS if counted else 0)
            | (LOAD_RECORDS if loaded else 0)
            | (KEPT_VERSIONS if self.kept else 0)
            | (DROPPED_CORPORA if self.dropped else 0)
            | (CHANGED_FIELDS if any(one.flags & CHANGED_FIELDS for one in self.kept.values()) else 0)
        )

    def files(self) -> Mapping[str, FileRef]:
        """Return every file that this version and those kept by name need (corpora may share files)."""
        return self._files

    @cached_property
    def _files(self) -> dict[str, FileRef]:
        corpora = [corpus for one in (self, *self.kept.values()) for corpus in one.corpora.values()]
        return {ref.name: ref for corpus in (*corpora, *self.dropped.values()) for ref in corpus.files()}

    def dropped_before(
        self, corpora: Mapping[str, CorpusEntry], kept: Mapping[str, Manifest]
    ) -> dict[str, CorpusEntry]:
        """Return what the successor of this version with these corpora and kept versions has as `dropped`."""
        last = {**self.dropped, **{corpus.id: corpus.without_documents() for corpus in self.corpora.values()}}
        ids = {corpus.id for one in kept.values() for corpus in one.corpora.values()}
        ids -= {corpus.id for corpus in corpora.values()}
        return {corpus_id: last[corpus_id] for corpus_id in sorted(ids & last.keys())}

    def names_of(self, version: int) -> list[str]:
        """Return the names under which a version is kept, in alphabetical order."""
        return sorted(name for name, one in self.kept.items() if one.version == version)

    def number_of(self, name: str) -> int:
        """Return the number of the version that is kept under a name, or raise BindError."""
        found = self.kept.get(name)
        if found is not None:
            return found.version
        known = ", ".join(sorted(self.kept)[:_MOST_NAMES]) or "none (KEEP VERSION n AS 'name' names one)"
        raise BindError(f"no version is kept as {name!r}; kept: {known}")

    def kept_version(self, version: int) -> Manifest | None:
        """Return the version of this number if it is kept by name."""
        return next((one for one in self.kept.values() if one.version == version), None)

    def check(self) -> None:
        """Raise ValueError or TypeError unless `from_json` would return the same manifest."""
        try:
            copy = Manifest.from_json(self.to_json(), "manifest")
        except CorruptionError as error:
            raise ValueError(f"expected {error.expected}, found {error.found!r:.80}") from error
        if copy != self:
            raise ValueError("the manifest has values of another type, or a corpus under another's name")

    def to_json(self) -> bytes:
        """Return the manifest as UTF-8 JSON. Raises ValueError or TypeError for values outside JSON."""
        value = _version_to_json(self)
        if self.kept:
            value["kept"] = [
                {"name": name, "version": _version_to_json(one)} for name, one in self.kept.items()
            ]
        if self.dropped:
            value["dropped"] = [_corpus_to_json(corpus) for corpus in self.dropped.values()]
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")

    @classmethod
    def from_json(cls, text: bytes, path: str) -> Manifest:
        """Parse a manifest. Raises CorruptionError naming `path` and the place within the JSON."""
        top = JsonObject.parse(text, path, "manifest")
        manifest = _read_version(top)
        if top.has("dropped"):
            dropped = top.items("dropped", _read_corpus)
            manifest = replace(manifest, dropped={corpus.id: corpus for corpus in dropped})
        if not top.has("kept"):
            return manifest
        kept = top.items("kept", lambda one: (one.text("name"), _read_version(one.child("version"))))
        if len(dict(kept)) != len(kept):
            top.fail("kept", "names that differ", [name for name, _ in kept])
        if any(one.version >= manifest.version for _, one in kept):
            top.fail("kept", "versions before this one", [one.version for _, one in kept])
        return replace(manifest, kept=dict(kept))


def _version_to_json(manifest: Manifest) -> dict[str, Any]:
    return {
        "version": manifest.version,
        "created": manifest.created,
        "action": manifest.action,
        "by": manifest.by,
        "corpora": [_corpus_to_json(corpus) for corpus in manifest.corpora.values()],
    }


def _corpus_to_json(corpus: CorpusEntry) -> dict[str, Any]:
    # By hand: dataclasses.asdict copies deeply, which took ten times as long with a thousand segments.
    tokenizer = corpus.tokenizer
    value = {
        **vars(corpus),
        "tokenizer": {
            **vars(tokenizer),
            "file": None if tokenizer.file is None else tokenizer.file._asdict(),
            "vocabulary": [ref._asdict() for ref in tokenizer.vocabulary],
        },
        "segments": [_segment_to_json(segment) for segment in corpus.segments],
        "options": dict(corpus.options),
        "audits": [ref._asdict() for ref in corpus.audits],
    }
    del value["statistics"], value["loads"]
    if corpus.loads:
        records = (record._asdict() for record in corpus.loads)
        value["loads"] = [
            {key: part for key, part in record.items() if part is not None} for record in records
        ]
    if corpus.statistics is not None:
        value["statistics"] = corpus.statistics._asdict()
        if not corpus.statistics.frequent:
            del value["statistics"]["frequent"]
    return value


def _segment_to_json(segment: SegmentEntry) -> dict[str, Any]:
    value = {**vars(segment), "file": segment.file._asdict()}
    # As in manifests from before there were other kinds, and fields beside segments.
    if segment.kind == NATIVE:
        del value["kind"]
    if segment.fields is None:
        del value["fields"]
    else:
        value["fields"] = segment.fields._asdict()
    return value


def _read_file(reader: JsonObject) -> FileRef:
    return FileRef(
        name=reader.matching("name", _FILE_NAME),
        size=reader.integer("size", 1),
        crc=reader.integer("crc", 0, 2**32 - 1),
    )


def _read_segment(reader: JsonObject) -> SegmentEntry:
    sign = reader.integer("sign", -1, 1)
    if sign == 0:
        reader.fail("sign", "1 or -1", sign)
    return SegmentEntry(
        file=_read_file(reader.child("file")),
        sign=sign,
        n_tokens=reader.integer("n_tokens"),
        n_documents=reader.integer("n_documents"),
        first_doc_id=reader.integer("first_doc_id", 0, _MAX_DOC_ID),
        created_version=reader.integer("created_version", 1),
        # Version 1 began without this key, and without "audits" and "by".
        doc_id_offset=reader.integer("doc_id_offset", 0, _MAX_DOC_ID) if reader.has("doc_id_offset") else 0,
        kind=reader.matching("kind", _KIND) if reader.has("kind") else NATIVE,
        fields=_read_file(reader.child("fields")) if reader.has("fields") else None,
    )


def _read_tokenizer(reader: JsonObject) -> TokenizerEntry:
    kind = reader.text("kind")
    if kind not in TOKENIZER_KINDS:
        reader.fail("kind", f"one of {', '.join(TOKENIZER_KINDS)}", kind)
    return TokenizerEntry(
        kind=kind,
        file=None if reader.get("file") is None else _read_file(reader.child("file")),
        vocabulary=reader.items("vocabulary", _read_file),
        n_vocabulary=reader.integer("n_vocabulary"),
    )


def _read_statistics(reader: JsonObject) -> StatisticsEntry:
    n_types = reader.integers("n_types")
    if len(n_types) < 2:
        reader.fail("n_types", "numbers for at least two lengths", list(n_types))
    tables = [_read_table(reader, key, n_types) for key in ("continuation", "raw")]
    if reader.integer("n_left_of_end") > n_types[0]:
        reader.fail("n_left_of_end", f"no more than the {n_types[0]} types", reader.get("n_left_of_end"))
    return StatisticsEntry(
        created=reader.number("created", MAX_TIME),
        segments=reader.matching("segments", _DIGEST),
        n_tokens=reader.integer("n_tokens"),
        n_documents=reader.integer("n_documents"),
        n_left_of_end=reader.integer("n_left_of_end"),
        n_types=n_types,
        continuation=tables[0],
        raw=tables[1],
        frequent=_read_frequent(reader) if reader.has("frequent") else (),
    )


def _read_frequent(reader: JsonObject) -> tuple[tuple[int, ...], ...]:
    """Read the frequent n-grams: nine possible numbers, and tokens."""
    value = reader.get("frequent")
    if not isinstance(value, list):
        reader.fail("frequent", "an array", value)
    for i, row in enumerate(value):
        if not is_integers(row) or len(row) < 10 or not _is_possible(row):
            reader.fail(f"frequent[{i}]", "possible counts of an n-gram, and its tokens", row)
    return tuple(map(tuple, value))


def _is_possible(row: list[int]) -> bool:
    count, n_left, total = row[:3]
    different = sum(row[3:6])
    return 0 < n_left <= count and different == sum(row[6:9]) and 0 < different <= total <= count


def _read_load(reader: JsonObject) -> LoadRecord:
    paths, options, files = (reader.matching(key, _DIGEST) for key in ("paths", "options", "files"))
    n_files, n_lines, n_documents = (reader.integer(key) for key in ("n_files", "n_lines", "n_documents"))
    mark = reader.integer("mark") if reader.has("mark") else None
    names = reader.matching("names", _NAMES) if reader.has("names") else None
    return LoadRecord(paths, options, files, n_files, n_lines, n_documents, mark, names)


def _read_table(reader: JsonObject, key: str, n_types: tuple[int, ...]) -> tuple[_Four, ...]:
    """Read four numbers per length, with a sum of at most its number of n-grams."""
    n_lengths = len(n_types)
    value = reader.get(key)
    rows = [row for row in value if is_integers(row) and len(row) == 4] if isinstance(value, list) else []
    if not isinstance(value, list) or len(rows) != len(value) or len(rows) != n_lengths:
        reader.fail(key, f"{n_lengths} rows of four integers", value)
    for i, (row, n) in enumerate(zip(rows, n_types, strict=True)):
        if sum(row) > n:
            reader.fail(f"{key}[{i}]", f"numbers that add up to at most {n}", row)
    return tuple((row[0], row[1], row[2], row[3]) for row in rows)


def _read_version(reader: JsonObject) -> Manifest:
    corpora = reader.items("corpora", _read_corpus)
    names = [corpus.name for corpus in corpora]
    if len(set(names)) != len(names):
        reader.fail("corpora", "names that differ", names)
    manifest = Manifest(
        version=reader.integer("version", 1),
        created=reader.number("created", MAX_TIME),
        action=reader.text("action"),
        corpora={corpus.name: corpus for corpus in corpora},
        by=reader.text("by", empty=True) if reader.has("by") else "",
    )
    for corpus in corpora:
        if any(segment.created_version > manifest.version for segment in corpus.segments):
            reader.fail("corpora", "segments no newer than the version", corpus.name)
    return manifest


def _read_options(reader: JsonObject) -> dict[str, OptionValue]:
    for name, value in reader.value.items():
        plain = isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))
        if not plain:
            reader.fail(name, "a text, a number or a boolean", value)
    return reader.value


def _read_corpus(reader: JsonObject) -> CorpusEntry:
    corpus = CorpusEntry(
        name=reader.text("name"),
        id=reader.matching("id", _ID),
        tokenizer=_read_tokenizer(reader.child("tokenizer")),
        segments=reader.items("segments", _read_segment),
        next_doc_id=reader.integer("next_doc_id", 0, _MAX_DOC_ID),
        options=_read_options(reader.child("options")),
        audits=reader.items("audits", _read_file) if reader.has("audits") else (),
        statistics=_read_statistics(reader.child("statistics")) if reader.has("statistics") else None,
        loads=reader.items("loads", _read_load) if reader.has("loads") else (),
    )
    if len({record.paths for record in corpus.loads}) < len(corpus.loads):
        reader.fail("loads", "records of different paths", reader.get("loads"))
    for segment in corpus.segments:
        if segment.first_doc_id + segment.n_documents > corpus.next_doc_id:
            reader.fail("next_doc_id", "an integer above every document's id", corpus.next_doc_id)
    return corpus

"""A load as a statement, a verb or a build requests it, and the keys that identify its documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ngramdb import interrupts
from ngramdb.engine.changes.change import Change
from ngramdb.engine.changes.sizing import DocumentLimits
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.storage.manifest import TokenizerEntry
from ngramdb.errors import InvalidArgument, LoadError
from ngramdb.ingest.documents import Document, ErrorLog, describe
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.streams import Limits
from ngramdb.registries import ON_CONFLICT
from ngramdb.segments.metadata_builder import BATCH_DOCUMENTS
from ngramdb.segments.metadata_columns import path_of, split_path
from ngramdb.types import Docs

# The field that a corpus of token ids reads from JSON lines; a line without it has
# the ids in the field for texts.
DEFAULT_IDS_FIELD = "ids"
DEFAULT_TEXT_FIELD = "text"


@dataclass(frozen=True)
class LoadRequest:
    """The paths of a load, and the options of COPY … FROM under their names; None if not given.

    `skip_errors`: count what cannot be read, and continue.
    """

    paths: tuple[str, ...] = ()
    skip_errors: bool = False
    format: str | None = None
    text: str | None = None
    ids: str | None = None
    metadata: tuple[str, ...] | None = None
    limit: int | None = None
    separator: str | None = None
    dtype: str | None = None
    quotes: bool | None = None
    max_document_bytes: int | None = None
    commit_every: int | None = None
    resume: bool | None = None
    key: str | None = None
    on_conflict: str | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The options that are given, by name."""
        fields = vars(self).items()
        return {k: value for k, value in fields if k not in ("paths", "skip_errors") and value is not None}

    def keys(self) -> DocumentKeys | None:
        """Return new keys of documents; None without `key`. Raises InvalidArgument."""
        return DocumentKeys.of(self.key, self.on_conflict)

    def reading(self, tokenizer: TokenizerEntry, memory_limit: int = 0) -> ReadOptions:
        """Return the options for the readers.

        A corpus of token ids reads them from the field given by IDS, else from the one given by TEXT; without
        either, from `ids` or `text`.
        """
        if self.ids is not None and self.text is not None:
            raise InvalidArgument(
                f"IDS names the field with the documents' content, {self.ids!r}, and so does TEXT, "
                f"{self.text!r}; leave one out"
            )
        takes_ids = tokenizer.kind == "tokens"
        ids_field = self.ids
        if takes_ids and ids_field is None:
            ids_field = DEFAULT_IDS_FIELD if self.text is None else self.text
        is_open = takes_ids and self.ids is None and self.text is None
        return ReadOptions(
            text_field=DEFAULT_TEXT_FIELD if self.text is None else self.text,
            ids_field=ids_field,
            ids_instead=DEFAULT_TEXT_FIELD if is_open else None,
            n_ids=tokenizer.n_vocabulary,
            metadata=self.metadata,
            separator=self.separator,
            dtype=self.dtype,
            quotes=self.quotes is not False,
            limit=self.limit,
            on_error="skip" if self.skip_errors else "fail",
            limits=self._limits(memory_limit),
        )

    def _limits(self, memory_limit: int) -> Limits:
        given = self.max_document_bytes
        limits = Limits() if given is None else Limits(given)
        room = DocumentLimits.of(memory_limit)
        if room.n_bytes is None:
            return limits
        if room.n_bytes < limits.document_bytes:
            limits = Limits(document_bytes=room.n_bytes, reason=room.said(room.n_bytes, "bytes"))
        return replace(limits, line_bytes=min(limits.line_bytes, room.n_bytes))


# ---- Keys of documents: a metadata field that identifies them, so that no document is loaded twice.


Key = str | int
_FIRST_OF_INTEGERS = frozenset("-0123456789")


class DocumentKeys:
    """The keys of a corpus during one load, which may have several commits.

    Parameters
    ----------
    field : path of the metadata field, as DESCRIBE shows it, or a name with dots if documents lack
        that path; its values are strings or integers
    on_conflict : 'error'; 'skip' leaves a document out whose key has occurred, in the corpus or in this load;
        'replace' removes the earlier one

    Attributes
    ----------
    duplicates, replaced : numbers of documents left out, and of earlier documents removed
    twins : number of documents whose key an earlier one has as the other type, such as 1 and "1"; `twin` is
        the first such key

    Notes
    -----
    Cost: reads the field of the whole corpus once, about 0.2 µs and 100 bytes per document. After a conflict
    under 'replace' it is read again before the commit.
    """

    def __init__(self, field: str, on_conflict: str) -> None:
        self.field = field
        self.duplicates = self.replaced = self.twins = 0
        self.twin: Key | None = None
        self._path = split_path(field)
        # The path, and the name that reads like it, as `own_or_nested` has it; both as columns are called.
        name = ".".join(self._path)
        self._columns = tuple(dict.fromkeys((field, path_of((name,)))))
        self._on_conflict = on_conflict
        self._known: set[Key] | None = None
        self._repeated: set[Key] = set()

    @classmethod
    def of(cls, field: Any, on_conflict: Any) -> DocumentKeys | None:
        """Return the keys for the arguments of a load, None without a field. Raises InvalidArgument."""
        known = on_conflict is None or (isinstance(on_conflict, str) and on_conflict in ON_CONFLICT)
        if not known:
            raise InvalidArgument(f"on_conflict must be one of {', '.join(ON_CONFLICT)}, not {on_conflict!r}")
        if field is None:
            if on_conflict not in (None, "error"):
                raise InvalidArgument(
                    f"on_conflict={on_conflict!r} needs key, the field that identifies documents"
                )
            return None
        if not isinstance(field, str) or not field:
            raise InvalidArgument(f"key must be the path of a metadata field, not {field!r}")
        return cls(field, on_conflict or "error")

    def through(
        self, documents: Iterator[Document], view: CorpusView, skipped: ErrorLog | None
    ) -> Iterator[Document]:
        """Return the documents to add to the corpus `view`. Documents without a valid key are errors.

        `skipped` records those instead and leaves them out.

        Raises
        ------
        LoadError
            From the iterator: no valid key, or a conflict under 'error'; the message names the document.
        """
        if self._known is None:
            self._known = {key for i in range(len(view.segments)) for _, key in self._keys(view, i)}
        return self._through(documents, self._known, skipped)

    def drop_replaced(self, change: Change) -> None:
        """Remove from `change.entry` all but the newest of the documents that share a repeated key."""
        if not self._repeated:
            return
        view = CorpusView(change.store, change.entry)
        found: list[tuple[Docs, list[tuple[Key, int]]]] = []
        newest: dict[Key, int] = {}
        for i, segment in enumerate(view.segments):
            pairs = [(number, key) for number, key in self._keys(view, i) if key in self._repeated]
            numbers = np.array([number for number, _ in pairs], dtype=np.uint32)
            ids = zip((key for _, key in pairs), segment.doc_ids(numbers).tolist(), strict=True)
            found.append((numbers, list(ids)))
            for key, doc_id in found[-1][1]:
                newest[key] = max(doc_id, newest.get(key, doc_id))
        chosen = [
            numbers[np.array([newest[key] != doc_id for key, doc_id in ids], dtype=np.bool_)]
            for numbers, ids in found
        ]
        notes = [{"key": key} for _, ids in found for key, doc_id in ids if newest[key] != doc_id]
        change.remove(chosen, notes, view=view, reason=f"replaced by documents with the same {self.field}")
        self.replaced += sum(map(len, chosen))
        self._repeated.clear()

    def _through(
        self, documents: Iterator[Document], known: set[Key], skipped: ErrorLog | None
    ) -> Iterator[Document]:
        for n, document in enumerate(documents):
            if n % BATCH_DOCUMENTS == 0:  # if none is yielded, nothing else checks
                interrupts.check()
            try:
                key = self._key_of(document)
            except LoadError as error:
                if skipped is None:
                    raise
                skipped.add(error)
                continue
            if key not in known:
                known.add(key)
                if _twin(key) in known:
                    self.twins += 1
                    self.twin = key if self.twin is None else self.twin
            elif self._on_conflict == "error":
                raise document.error(
                    f"the corpus, or this load, already has a document whose {self.field} is {key!r}; use "
                    "on_conflict skip to leave it out, or replace to remove the earlier one"
                )
            elif self._on_conflict == "skip":
                self.duplicates += 1
                continue
            else:
                self._repeated.add(key)
            yield document

    def _key_of(self, document: Document) -> Key:
        value = _value(document.metadata, self._path)
        if isinstance(value, np.generic):
            value = value.item()
        if value is None:
            raise document.error(f"no value in the field {self.field}, which is the key of documents")
        if not _is_key(value):
            raise document.error(
                f"the field {self.field} holds {describe(value)}; a key must be a string or an integer"
            )
        return value  # type: ignore[no-any-return]

    def _keys(self, view: CorpusView, i: int) -> Iterator[tuple[int, Key]]:
        """Yield the number and the key of each document of segment i that has a key and was not removed."""
        segment = view.segments[i]
        metadata = segment.metadata
        fields = metadata.fields()
        names = [name for name in self._columns if name in fields or metadata.rest_has(name)]
        if not names:
            return
        is_kept = np.zeros(segment.n_documents, dtype=np.bool_)
        is_kept[view.kept(i)] = True
        is_plain = len(names) == 1 and fields.get(names[0]) in ("int64", "string")
        column = metadata.column(names[0]) if is_plain else None
        for start in range(0, segment.n_documents, BATCH_DOCUMENTS):
            interrupts.check()
            numbers = range(start, min(start + BATCH_DOCUMENTS, segment.n_documents))
            if column is not None:
                values = column.slice(start, len(numbers)).to_pylist()
            else:  # of several types, or without a column
                values = [_value(row, self._path) for row in metadata.rows(numbers)]
            for number, value in zip(numbers, values, strict=True):
                if is_kept[number] and _is_key(value):
                    yield number, value


def _value(metadata: Any, path: tuple[str, ...]) -> Any:
    found = metadata
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return metadata.get(".".join(path)) if found is None and len(path) > 1 else found


def _is_key(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _twin(key: Key) -> Key | None:
    """Return the key of the other type that is written alike, or None."""
    with suppress(ValueError):  # no number, or one with too many digits
        if isinstance(key, int):
            return str(key)
        if key[:1] in _FIRST_OF_INTEGERS and str(number := int(key)) == key:
            return number
    return None

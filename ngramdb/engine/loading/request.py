"""A load as a statement, a verb or a build requests it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ngramdb.engine.changes.hardware import DocumentLimits
from ngramdb.engine.loading.document_keys import DocumentKeys
from ngramdb.engine.storage.manifest import TokenizerEntry
from ngramdb.errors import InvalidArgument
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.streams import Limits

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

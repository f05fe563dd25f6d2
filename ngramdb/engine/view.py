"""One corpus at one version: its segments, its tokenizer, and one index over all segments.

Everything is opened when it is first asked for, so that opening a database costs the same whatever its size.
"""

from __future__ import annotations

from functools import cached_property

from ngramdb._cext.index import Index
from ngramdb.engine.manifest import CorpusEntry
from ngramdb.engine.store import Store
from ngramdb.engine.vocabulary import tokenizer_of
from ngramdb.errors import CorruptionError
from ngramdb.segments.builder import KIND
from ngramdb.segments.segment import Segment
from ngramdb.tokenizers.base import Tokenizer


class CorpusView:
    """A corpus as its catalog entry describes it. Immutable; safe to share between threads."""

    def __init__(self, store: Store, entry: CorpusEntry) -> None:
        self._store = store
        self.entry = entry

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return tokenizer_of(self._store, self.entry.tokenizer)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The added segments, in the order of their documents' ids."""
        return tuple(self._open(i) for i, entry in enumerate(self.entry.segments) if entry.sign > 0)

    @cached_property
    def index(self) -> Index:
        """Counts over all segments, each with its sign."""
        segments = [self._open(i) for i in range(len(self.entry.segments))]
        return Index([segment.index for segment in segments], [entry.sign for entry in self.entry.segments])

    @property
    def n_documents(self) -> int:
        return sum(entry.sign * entry.n_documents for entry in self.entry.segments)

    @property
    def n_tokens(self) -> int:
        """Net number of tokens, separators not counted."""
        return sum(entry.sign * entry.n_tokens for entry in self.entry.segments)

    def check(self) -> None:
        """Verifies every segment and the tokenizer. Raises CorruptionError at the first thing wrong."""
        for i in range(len(self.entry.segments)):
            self._open(i).check()
        self.tokenizer.check()

    def _open(self, i: int) -> Segment:
        entry = self.entry.segments[i]
        segment = self._opened.get(i)
        if segment is None:
            segment = Segment(
                self._store.read(entry.file, KIND), self._store.directory.path_of(entry.file.name)
            )
            numbers = (segment.n_tokens, segment.n_documents, segment.first_doc_id)
            expected = (entry.n_tokens, entry.n_documents, entry.first_doc_id)
            if numbers != expected:
                raise CorruptionError(
                    f"segment {segment.path} says (tokens, documents, first id) {numbers}, "
                    f"but the manifest {expected}; restore the file from a backup",
                    path=segment.path,
                    expected=expected,
                    found=numbers,
                )
            self._opened[i] = segment
        return segment

    @cached_property
    def _opened(self) -> dict[int, Segment]:
        return {}

"""Documents as the peer gives them: excerpts around a place, with their metadata as a line of JSON.

A shard is a segment. A rank is a row of its suffix array; a pointer is a token's position in the segment,
times the bytes of a token (the peer's are offsets in its files).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ngramdb.compat.infinigram.answers import DocAnswer
from ngramdb.engine.corpus.infini_gram_files import metadata_line


class Documents:
    """The documents of a corpus by number: segment after segment, removed ones included."""

    def __init__(self, view: Any) -> None:
        self._view = view
        self.segments: tuple[Any, ...] = view.segments
        sizes = [segment.n_documents for segment in self.segments]
        self._first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.n_documents = int(self._first[-1])

    def at(self, s: int, position: int, before: int, after: int) -> DocAnswer:
        """The document of a token, from `before` tokens before it up to `after` tokens from it on."""
        index = self.segments[s].index
        # In the peer's files the first document's separator stands before all tokens.
        position = max(position, int(index.document_bounds(np.zeros(1, dtype=np.uint32))[0][0]))
        i = int(index.documents_at(np.array([position], dtype=index.position_type))[0])
        start = int(index.document_bounds(np.array([i]))[0][0])
        offset = position - start
        return self._excerpt(s, i, max(0, offset - before), offset + after, offset)

    def at_rank(self, s: int, rank: int, before: int, after: int) -> DocAnswer:
        """The same by a row of the suffix array."""
        return self.at(s, int(self.segments[s].index.positions(rank, rank + 1)[0]), before, after)

    def by_number(self, number: int, length: int) -> DocAnswer:
        """The first tokens of a document."""
        s = int(np.searchsorted(self._first, number, side="right")) - 1
        return self._excerpt(s, number - int(self._first[s]), 0, length, 0)

    def _excerpt(self, s: int, i: int, start: int, stop: int, needle: int) -> DocAnswer:
        segment = self.segments[s]
        removed = self._view.removed(s)
        place = int(np.searchsorted(removed, i))
        blocked = place < len(removed) and int(removed[place]) == i
        tokens = [] if blocked else segment.index.document_tokens(i, start, stop).tolist()
        return {
            "doc_ix": int(self._first[s]) + i,
            "doc_len": segment.document_length(i),
            "disp_len": len(tokens),
            "needle_offset": max(0, needle - start),
            "metadata": "" if blocked else metadata_line(self._view, s, i),
            "token_ids": tokens,
            "blocked": blocked,
        }

"""A second kind of segments, the plainest there is: documents in memory. It proves that nothing asks a
segment for more than its interface.

Its files are those of the native kind, for what stands beside the tokens; its index is made of the documents,
and knows neither the stored symbols nor the suffix array.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from ngramdb.segments.base import Segment
from ngramdb.segments.builder import KIND
from ngramdb.segments.registry import Kind, register
from ngramdb.segments.segment import NativeSegment
from ngramdb.segments.testing import plain_index


class PlainSegment(Segment):
    """What must be answered, and what documents have besides tokens; all else by default."""

    def __init__(self, container, path, doc_id_offset):
        self._stored = NativeSegment(container, path, doc_id_offset)
        numbers = (self._stored.n_tokens, self._stored.n_documents, self._stored.first_doc_id)
        super().__init__(path, *numbers)

    @cached_property
    def index(self):
        return plain_index([self._stored.document(i).tolist() for i in range(self.n_documents)])

    @property
    def size_bytes(self):
        return self._stored.size_bytes

    def check(self):
        self._stored.check()

    @property
    def metadata(self):
        return self._stored.metadata

    @property
    def ids(self):
        return self._stored.ids

    def stored_text(self, i):
        return self._stored.stored_text(i)

    def form(self, i):
        return self._stored.form(i)


def make_plain(store, every=2):
    """Commits a version in which every so many of a corpus's segments, the second first, are of this kind."""
    register(Kind("plain", KIND, PlainSegment))
    with store.begin() as transaction:
        corpora = {
            name: replace(
                entry,
                segments=tuple(
                    replace(segment, kind="plain") if (i + 1) % every == 0 else segment
                    for i, segment in enumerate(entry.segments)
                ),
            )
            for name, entry in transaction.manifest.corpora.items()
        }
        transaction.commit(corpora, "segments made plain")

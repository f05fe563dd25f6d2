"""Other kinds of segments: the simplest one, documents in memory, and one whose rows are in another
order, as infini-gram's are. They prove that only a segment's interface is used.

Their files are those of the native kind, for the data besides the tokens; their index is built from the
documents, and knows neither the stored symbols nor the suffix array.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from ngramdb.segments.base import Segment
from ngramdb.segments.far_index import KIND
from ngramdb.segments.segment import Kind, NativeSegment, register
from ngramdb.segments.testing import plain_index
from support.foreign_indexes import infini_gram_index


class PlainSegment(Segment):
    """The required methods, and the data of documents besides tokens; everything else is the default."""

    def __init__(self, container, path, doc_id_offset):
        self._stored = NativeSegment(container, path, doc_id_offset)
        numbers = (self._stored.n_tokens, self._stored.n_documents, self._stored.first_doc_id)
        super().__init__(path, *numbers)

    @cached_property
    def index(self):
        return plain_index(self.documents())

    def documents(self):
        return [self._stored.document(i).tolist() for i in range(self.n_documents)]

    @property
    def size_bytes(self):
        return self._stored.size_bytes

    def check(self):
        self._stored.check()

    @property
    def own_metadata(self):
        return self._stored.own_metadata

    @property
    def ids(self):
        return self._stored.ids

    def stored_text(self, i):
        return self._stored.stored_text(i)

    def own_form(self, i):
        return self._stored.own_form(i)

    @property
    def has_sentences(self):
        return self._stored.has_sentences

    def sentence_flags(self, numbers):
        return self._stored.sentence_flags(numbers)

    @cached_property
    def sentences(self):
        """The stored bits, at the positions that this index gives its tokens."""
        if self._stored.sentences is None:
            return None
        every = np.arange(self.n_documents, dtype=np.uint32)
        flags = self.sentence_flags(every)
        starts, stops = (bounds.astype(np.int64) for bounds in self.index.document_bounds(every))
        placed = np.zeros(int(stops.max(initial=0)) + 1, dtype=np.bool_)
        for start, stop, first in zip(starts, stops, np.cumsum(self.lengths(every) + 1), strict=True):
            placed[start : stop + 1] = flags[first - 1 - (stop - start) : first]
        return np.packbits(placed, bitorder="little")


class ByteSortedSegment(PlainSegment):
    """The same, but rows are sorted by the bytes of little-endian tokens, and documents' ends come last."""

    @cached_property
    def index(self):
        documents = self.documents()
        if not documents:
            return plain_index(documents)
        index = infini_gram_index(documents, np.uint32)
        index.use_keys(index.sample())
        return index


KINDS = {"plain": PlainSegment, "byte-sorted": ByteSortedSegment}


def make_plain(store, every=2, kind="plain"):
    """Commit a version in which every `every`-th segment of a corpus, from the second on, is of a kind."""
    register(Kind(kind, KIND, KINDS[kind]))
    with store.begin() as transaction:
        corpora = {
            name: replace(
                entry,
                segments=tuple(
                    replace(segment, kind=kind) if (i + 1) % every == 0 else segment
                    for i, segment in enumerate(entry.segments)
                ),
            )
            for name, entry in transaction.manifest.corpora.items()
        }
        transaction.commit(corpora, f"segments made {kind}")

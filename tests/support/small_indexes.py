"""Adversarial small indexes and questions to them, for Hypothesis."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st

from ngramdb._cext.corpus.index import Index
from ngramdb._cext.segment.segment_index import SuffixIndex
from ngramdb._cext.sort.construction import key_directory, mark_lcps, suffix_array
from ngramdb.segments.container.layout import SymbolBuilder, dense_ranks
from support.indexes import packed

# Ends of the widths that symbols are stored in, and their neighbours.
IDS = (0, 1, 2, 3, 253, 254, 255, 256, 65533, 65534, 65535, 65536, 2**31, 2**32 - 3, 2**32 - 2, 2**32 - 1)


@st.composite
def documents_of(draw, ids=IDS, max_documents=7, max_length=12):
    """Documents over at most four ids, often one or two, so that n-grams repeat; some several times."""
    alphabet = draw(st.lists(st.sampled_from(ids), min_size=1, max_size=4, unique=True))
    document = st.lists(st.sampled_from(alphabet), max_size=max_length)
    documents = draw(st.lists(document, max_size=max_documents))
    if documents and draw(st.booleans()):
        documents += [draw(st.sampled_from(documents))] * draw(st.integers(1, 4))
    return documents


@st.composite
def corpora(draw, ids=IDS):
    """Segments, and their signs; what is subtracted is a part of what the others hold."""
    segments = [draw(documents_of(ids)) for _ in range(draw(st.integers(1, 4)))]
    signs = [1] * len(segments)
    documents = [document for documents in segments for document in documents]
    if draw(st.booleans()):
        removed = draw(st.lists(st.booleans(), min_size=len(documents), max_size=len(documents)))
        gone = [document for document, away in zip(documents, removed, strict=True) if away]
        half = draw(st.integers(0, len(gone)))
        segments += [gone[:half], gone[half:]]
        signs += [-1, -1]
    return segments, signs


@st.composite
def questions(draw, segments, max_length=14, max_questions=8):
    """Token sequences: pieces of the documents, perhaps with one id changed, and some that are nowhere."""
    documents = [document for documents in segments for document in documents if document]
    asked = []
    for _ in range(draw(st.integers(0, max_questions))):
        if documents and draw(st.booleans()):
            document = draw(st.sampled_from(documents))
            start = draw(st.integers(0, len(document) - 1))
            piece = document[start : start + draw(st.integers(0, max_length))]
            if piece and draw(st.integers(0, 3)) == 0:
                piece = [*piece[:-1], draw(any_id())]
        else:
            piece = draw(st.lists(any_id(), max_size=max_length))
        asked.append(piece)
    return asked


def any_id():
    return st.sampled_from((-1, *IDS))


def index_by_builder(segments, signs):
    """The index as loading makes it: every segment in the narrowest width, with a gap of its own."""
    widths = itertools.cycle((7, 0, 5))
    return Index([segment_by_builder(documents, next(widths))[0] for documents in segments], signs)


def segment_by_builder(documents, lcp_width=0):
    builder = SymbolBuilder()
    flat, offsets = packed(documents)
    builder.add(flat.astype(np.uint32), offsets)
    stream, starts, gap, _ = builder.finish()
    rows = suffix_array(*dense_ranks(stream))
    mark_lcps(stream, rows, lcp_width)
    directory = key_directory(stream, rows, lcp_width=lcp_width)
    return SuffixIndex(stream, rows, *directory, starts, gap, "", lcp_width), stream, rows

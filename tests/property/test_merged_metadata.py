"""Metadata carried over as columns: the file that adding the documents one by one makes, byte for byte."""

from contextlib import contextmanager

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngramdb.segments import metadata_builder as stored
from ngramdb.segments.base import Part
from ngramdb.segments.merging import merged_metadata
from ngramdb.segments.metadata import MetadataReader
from ngramdb.segments.metadata_builder import MetadataBuilder

PLAIN = {
    "year": st.integers(-5, 2000),
    "large": st.integers(2**53 - 1, 2**63 - 1),
    "score": st.floats(allow_nan=False, allow_infinity=False),
    "source": st.sampled_from(["a", "b"]),
    "title": st.text(max_size=12),
    "kept": st.booleans(),
    "tags": st.lists(st.sampled_from(["x", "yy"]), max_size=2),
}
ANY = PLAIN | {
    "mixed": st.one_of(st.integers(0, 3), st.text(max_size=3)),
    "number": st.one_of(st.integers(0, 3), st.floats(0, 1)),
    "object": st.one_of(st.just({}), st.fixed_dictionaries({"a": st.integers(0, 3)})),
}


class Segment:
    """A segment with the interface that merging metadata needs."""

    path = "a segment"

    def __init__(self, documents):
        builder = MetadataBuilder()
        for document in documents:
            builder.add(document)
        self.n_documents = len(documents)
        self.metadata = MetadataReader(builder.finish(), len(documents))

    def verify_metadata(self):
        self.metadata.check()

    def n_symbols(self, numbers):
        return np.full(len(numbers), 2, dtype=np.int64)


def documents(values):
    return st.lists(st.fixed_dictionaries({}, optional=values), max_size=9)


def parts_of(segments):
    return st.tuples(
        *(
            st.lists(st.booleans(), min_size=len(segment), max_size=len(segment)).map(np.flatnonzero)
            for segment in segments
        )
    )


@contextmanager
def batches_of(n_documents, n_chars):
    before = stored.BATCH_DOCUMENTS, stored.BATCH_CHARS
    stored.BATCH_DOCUMENTS, stored.BATCH_CHARS = n_documents, n_chars
    try:
        yield
    finally:
        stored.BATCH_DOCUMENTS, stored.BATCH_CHARS = before


@pytest.mark.parametrize("values", [PLAIN, ANY], ids=["plain", "any"])
@pytest.mark.parametrize("chars", [1 << 26, 20])
@settings(deadline=None)
@given(data=st.data())
def test_columns_make_the_file_of_rows(values, chars, data):
    segments = data.draw(st.lists(documents(values), min_size=1, max_size=4))
    all_of_them = data.draw(st.booleans())
    chosen = [np.arange(len(s)) for s in segments] if all_of_them else data.draw(parts_of(segments))
    parts = [Part(Segment(docs), numbers) for docs, numbers in zip(segments, chosen, strict=True)]
    parts = [part for part in parts if len(part.numbers)]
    by_rows = MetadataBuilder()
    with batches_of(3, chars):
        for part in parts:
            by_rows.declare(part.segment.metadata.fields())
        for part in parts:
            for fields in part.segment.metadata.rows(part.numbers.tolist()):
                by_rows.add(fields)
        merged = merged_metadata(parts)
        assert merged.n_documents == by_rows.n_documents
        assert merged.finish() == by_rows.finish()


def test_no_value_becomes_an_object():
    docs = [{"year": i, "source": "ab"[i % 2]} for i in range(20_000)]
    segments = [Segment(docs[:9000]), Segment(docs[9000:])]
    for segment in segments:
        segment.metadata.rows = None  # asking for them would fail
    parts = [Part(segment, np.arange(segment.n_documents)) for segment in segments]
    content = merged_metadata(parts).finish()
    file = pyarrow.ipc.open_file(content)
    assert [file.get_batch(k).num_rows for k in range(file.num_record_batches)] == [8192, 8192, 3616]
    assert list(MetadataReader(content, len(docs)).rows(range(len(docs)))) == docs

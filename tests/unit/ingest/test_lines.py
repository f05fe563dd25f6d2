"""Lines of a stream: the same however it is cut into chunks, those that are too long passed over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngramdb.errors import ResourceError
from ngramdb.ingest.readers.lines import LineReader
from ngramdb.ingest.streams import Limits

CHUNKS = st.lists(st.binary(min_size=1, max_size=6).map(lambda raw: bytes(b"ab\n"[b % 3] for b in raw)))


@given(chunks=CHUNKS, limit=st.integers(1, 7))
def test_lines_are_those_of_the_whole_text(chunks, limit):
    expected = b"".join(chunks).split(b"\n")
    if not expected[-1]:
        expected.pop()
    numbered = list(enumerate(expected, start=1))
    errors = []
    reader = LineReader(chunks, "file", Limits(limit), errors.append)
    assert [(reader.number, line) for line in reader] == [
        (number, line) for number, line in numbered if len(line) <= limit
    ]
    long = [number for number, line in numbered if len(line) > limit]
    assert [error.line for error in errors] == long
    if long:
        with pytest.raises(ResourceError, match=f"file, line {long[0]}: longer than {limit} bytes"):
            list(LineReader(chunks, "file", Limits(limit)))

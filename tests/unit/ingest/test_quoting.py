"""Quotes of CSV and TSV: what Arrow would misread is refused, however a file is cut into pieces."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngramdb import LoadError
from ngramdb.ingest.readers.delimited import checked


def look(text: bytes, delimiter: str = ",", size: int = 1 << 20) -> bytes:
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    return b"".join(checked(iter(pieces), delimiter, "x.csv", 1 << 24))


def wrong(text: bytes, delimiter: bytes) -> str | None:
    """Return the defect of quoted fields, by character: text after the last quote, or no last quote."""
    state = "begin"  # "in" quotes, just "behind" one in quotes, "plain" or at the "begin" of a field
    for i in range(len(text)):
        sign = text[i : i + 1]
        ends = sign in (delimiter, b"\r", b"\n")
        if state == "in":
            state = "behind" if sign == b'"' else "in"
        elif state == "behind" and sign == b'"':
            state = "in"
        elif ends:
            state = "begin"
        elif state == "behind":
            return "a field continues after its closing quote"
        elif state == "begin":
            state = "in" if sign == b'"' else "plain"
    return "the quote that begins a field here is never closed" if state == "in" else None


@given(
    st.text(alphabet='",\n\ra', max_size=30).map(str.encode),
    st.sampled_from([1, 2, 3, 7, 100]),
)
def test_every_text_in_any_pieces(text, size):
    message = wrong(text, b",")
    if message is not None:
        with pytest.raises(LoadError, match=message):
            look(text, size=size)
    else:
        assert look(text, size=size) == text


# Python 3.10 cannot write NUL.
FIELDS = st.text(st.characters(blacklist_characters="\0"), max_size=8)


@given(st.lists(st.lists(FIELDS, min_size=1, max_size=3), max_size=5), st.sampled_from(",\t"))
def test_what_a_program_writes_is_taken(rows, delimiter):
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows(rows)
    text = file.getvalue().encode("utf-8", "replace")
    assert look(text, delimiter, 5) == text


def test_the_line_is_named():
    text = b'text,n\n"a\nb",1\n"c",2\n5" disk,3\n"d" e,4\n'
    for size in (1, 4, 100):
        with pytest.raises(LoadError, match="line 6: a field continues after"):
            look(text, size=size)
        with pytest.raises(LoadError, match="line 5: the quote that begins a field here is never closed"):
            look(b'text,n\n"a\nb",1\n"c",2\n3,"d ""\n4,e\n', size=size)

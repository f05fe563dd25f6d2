"""Places of a stored text in the text that is shown of it, bytes that are not UTF-8 among them."""

from __future__ import annotations

import random

import pytest

from ngramdb.questions.kwic_text import ShownPlaces

PIECES = (
    b"a",
    b"\xff",
    b"\x80",
    "\xe9".encode(),
    "\u2014".encode(),
    "\U0001d11e".encode(),
    b"\xf0\x9d",
    b"\xed\xa0\x80",
)


def shown(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")


@pytest.mark.parametrize("seed", range(20))
def test_places_are_those_of_the_shown_text(seed: int) -> None:
    drawn = random.Random(seed)
    content = b"".join(drawn.choices(PIECES[: 1 if seed == 0 else None], k=12))
    text = content.decode("utf-8", "surrogateescape")
    places = ShownPlaces(content)
    # Before and behind each character: bytes, and shown characters.
    ends = [len(text[:n].encode("utf-8", "surrogateescape")) for n in range(len(text) + 1)]
    expected = [len(shown(content[:end])) for end in ends]
    for start in range(len(text)):
        for stop in range(start + 1, len(text) + 1):
            whole = (expected[start], expected[stop])
            assert places.of_characters(start, stop) == whole
            for first in range(ends[start], ends[start + 1]):
                for last in range(ends[stop - 1] + 1, ends[stop] + 1):
                    assert places.of_bytes(first, last) == whole

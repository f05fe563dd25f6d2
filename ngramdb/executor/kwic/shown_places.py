"""Places of a document's stored text, converted to places of the text that is shown."""

from __future__ import annotations

import numpy as np

# A byte that is not UTF-8 is a surrogate in decoded text (PEP 383), and is shown as `\\xff`.
FIRST_SURROGATE, LAST_SURROGATE = 0xD800, 0xDFFF
SHOWN_BYTE = len(r"\xff")


class ShownPlaces:
    """Converts places in a stored text, given in bytes or in characters.

    Cost: a pass over the text; then a search for each place. Memory: 16 bytes a
    character, unless all are ASCII.
    """

    def __init__(self, content: bytes) -> None:
        self._is_ascii = content.isascii()
        if self._is_ascii:
            return
        text = content.decode("utf-8", "surrogateescape")
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        is_byte = (codes >= FIRST_SURROGATE) & (codes <= LAST_SURROGATE)
        sizes = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
        self._bytes_before = np.append(0, np.cumsum(np.where(is_byte, 1, sizes)))
        self._shown_before = np.append(0, np.cumsum(np.where(is_byte, SHOWN_BYTE, 1)))

    def of_characters(self, start: int, stop: int) -> tuple[int, int]:
        """The shown characters of the characters [start, stop)."""
        if self._is_ascii:
            return start, stop
        return int(self._shown_before[start]), int(self._shown_before[stop])

    def of_bytes(self, start: int, stop: int) -> tuple[int, int]:
        """The shown characters that the bytes [start, stop) are in, each one in full."""
        if self._is_ascii:
            return start, stop
        first = int(np.searchsorted(self._bytes_before, start, side="right")) - 1
        last = int(np.searchsorted(self._bytes_before, stop, side="left"))
        return self.of_characters(first, last)

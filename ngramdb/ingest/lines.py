"""Lines of a byte stream, without their line feed, in memory bounded by the longest line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ngramdb.errors import LoadError, ResourceError


class LineReader:
    """Iterates over the lines of `chunks`; a carriage return before the line feed stays.

    number : int - the number of the line given last, from 1.
    unterminated : bool - whether the line given last was the end of the file and had no line feed.
    """

    def __init__(self, chunks: Iterable[bytes], label: str, max_line_bytes: int) -> None:
        self.number = 0
        self.unterminated = False
        self._chunks = chunks
        self._label = label
        self._max_line_bytes = max_line_bytes

    def __iter__(self) -> Iterator[bytes]:
        """Yield every line; a file that ends with a line feed has no empty line after it.

        Raises - ResourceError for a line that is too long; LoadError (with the line) from the stream below.
        """
        pending: list[bytes] = []
        n_pending = 0
        try:
            # Splitting whole chunks costs a fifth of asking for one line at a time.
            for chunk in self._chunks:
                lines = chunk.split(b"\n")
                if len(lines) > 1:
                    pending.append(lines[0])
                    lines[0] = b"".join(pending)
                    pending.clear()
                    n_pending = 0
                    tail = lines.pop()
                    for line in lines:
                        self.number += 1
                        if len(line) > self._max_line_bytes:
                            raise self._too_long(len(line))
                        yield line
                    lines = [tail]
                pending.append(lines[0])
                n_pending += len(lines[0])
                if n_pending > self._max_line_bytes:
                    self.number += 1
                    raise self._too_long(n_pending)
        except LoadError as error:
            raise LoadError(error.message, source=error.source, line=self.number + 1) from error.__cause__
        if n_pending:
            self.number += 1
            self.unterminated = True
            yield b"".join(pending)

    def _too_long(self, n_bytes: int) -> ResourceError:
        return ResourceError(
            f"{self._label}, line {self.number}: longer than {self._max_line_bytes:,} bytes, "
            "the most for one document",
            limit=self._max_line_bytes,
            asked=n_bytes,
        )

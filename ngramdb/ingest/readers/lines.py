"""Lines of a byte stream, without their line feed, in memory bounded by the longest line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ngramdb.errors import LoadError, ResourceError
from ngramdb.ingest.streams import Limits


def is_blank(line: bytes) -> bool:
    """Return True if a line has nothing but white space, that of Unicode included."""
    rest = line.strip()
    # No character of white space but those of ASCII begins with a byte below 0xc2.
    return not rest or (rest[0] >= 0xC2 and not rest.decode("utf-8", "replace").strip())


class LineReader:
    """Iterates over the lines of `chunks`; a carriage return before the line feed stays.

    number : int - the number of the line given last, from 1, or after `before` lines.
    unterminated : bool - whether the line given last was the end of the file and had no line feed.
    pass_over : called with the error for each line that is too long, which is left out; None: it ends all.
    """

    def __init__(
        self,
        chunks: Iterable[bytes],
        label: str,
        limits: Limits,
        pass_over: Callable[[LoadError], None] | None = None,
        before: int = 0,
    ) -> None:
        self.number = before
        self.unterminated = False
        self._chunks = chunks
        self._label = label
        self._limits = limits
        self._max_line_bytes = limits.document_bytes
        self._pass_over = pass_over

    def __iter__(self) -> Iterator[bytes]:
        """Yield every line; a file that ends with a line feed has no empty line after it.

        Raises ResourceError for a line that is too long; LoadError (with the line) from the stream below.
        """
        pending: list[bytes] = []
        n_pending = 0
        is_over = False  # the line that has begun is too long, and counted already
        try:
            # Splitting whole chunks costs a fifth of asking for one line at a time.
            for chunk in self._chunks:
                lines = chunk.split(b"\n")
                tail = lines.pop()
                if lines:
                    if is_over:
                        del lines[0]
                        is_over = False
                    else:
                        pending.append(lines[0])
                        lines[0] = b"".join(pending)
                    pending.clear()
                    n_pending = 0
                    for line in lines:
                        self.number += 1
                        if len(line) > self._max_line_bytes:
                            self._refuse(len(line))
                        else:
                            yield line
                if is_over:
                    continue
                pending.append(tail)
                n_pending += len(tail)
                if n_pending > self._max_line_bytes:
                    self.number += 1
                    self._refuse(n_pending)
                    is_over = True
                    pending.clear()
                    n_pending = 0
        except LoadError as error:
            raise LoadError(error.message, source=error.source, line=self.number + 1) from error.__cause__
        if n_pending:
            self.number += 1
            self.unterminated = True
            yield b"".join(pending)

    def _refuse(self, n_bytes: int) -> None:
        """Say that the line `number` is too long."""
        message = f"longer than {self._limits.most}"
        error = LoadError(message, source=self._label, line=self.number)
        if self._pass_over is None:
            raise ResourceError(str(error), limit=self._max_line_bytes, asked=n_bytes)
        self._pass_over(error)

"""What this machine has."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from ngramdb.errors import ResourceError

# What a container may use, in control groups of version 2 and 1; "max" or a huge number where it is not
# limited.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_LARGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"


@lru_cache(maxsize=1)
def memory_bytes() -> int | None:
    """How much memory this process may have: the machine's or its container's; None where that is unknown."""
    found = []
    with contextlib.suppress(AttributeError, OSError, ValueError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in _LIMITS:
        with contextlib.suppress(OSError, ValueError), open(path) as file:
            found.append(int(file.read()))
    return min((n for n in found if n > 0), default=None)


@lru_cache(maxsize=1)
def has_large_pages() -> bool:
    """Whether large arrays are in pages of megabytes, which numpy asks for: on Linux, unless turned off."""
    with contextlib.suppress(OSError, ValueError), open(_LARGE_PAGES) as file:
        return "[never]" not in file.read()
    return False


# ---- How much memory building segments may take, and the error when memory runs out.


# Building a segment peaks at 7 bytes a token (16-bit ids; 11 for 32-bit ones); texts and metadata on their
# way come on top, and allocators keep some of what is given back.
BYTES_PER_TOKEN = 16
# Libraries, batches that are read and tokenized ahead.
BASE_BYTES = 1 << 27
# A document while it is read and tokenized: its line, the text that is parsed from it, their bytes, and the
# same of the documents that are read ahead. Its tokens come on top.
BYTES_PER_TEXT_BYTE = 8
# Below this a load would make thousands of files.
MIN_SEGMENT_TOKENS = 1024


def bounded(segment_tokens: int, threads: int, memory_limit: int, others: int = 0) -> tuple[int, int]:
    """Tokens of a segment, and segments built at a time, within a limit in bytes (0: none).

    `others` are the bytes that a load takes besides, for its tokenizer. Fewer threads come before smaller
    segments, since those make every question slower.

    Raises
    ------
    ResourceError
        the limit has no room for the smallest segment
    """
    if not memory_limit:
        return segment_tokens, threads
    base = BASE_BYTES + others
    room = (memory_limit - base) // BYTES_PER_TOKEN
    if room < 2 * MIN_SEGMENT_TOKENS:
        least = base + 2 * MIN_SEGMENT_TOKENS * BYTES_PER_TOKEN
        raise ResourceError(
            f"memory_limit is {memory_limit:,} bytes, and building a segment takes {least:,}; raise it",
            limit=memory_limit,
            asked=least,
        )
    # One segment fills up while the others are built.
    threads = max(1, min(threads, room // segment_tokens - 1))
    return max(min(segment_tokens, room // (threads + 1)), MIN_SEGMENT_TOKENS), threads


@dataclass(frozen=True)
class DocumentLimits:
    """The largest document that a memory limit has room for, in bytes of text and in tokens; None: any."""

    memory_limit: int
    n_bytes: int | None = None
    n_tokens: int | None = None

    @classmethod
    def of(cls, memory_limit: int, threads: int = 1, others: int = 0) -> DocumentLimits:
        """What a limit in bytes (0: none) leaves for a document, with so many segments being built.

        `others` are the bytes that a load takes for its tokenizer.
        """
        if not memory_limit:
            return cls(0)
        room = max(memory_limit - BASE_BYTES - others, 0)
        return cls(
            memory_limit,
            max(room // BYTES_PER_TEXT_BYTE, 1),
            max(room // BYTES_PER_TOKEN // (threads + 1), 1),
        )

    def refusal(self, n_bytes: int, n_tokens: int) -> str | None:
        """Why a document of this size is refused; None when there is room for it."""
        for found, most, unit in ((n_bytes, self.n_bytes, "bytes"), (n_tokens, self.n_tokens, "tokens")):
            if most is not None and found > most:
                return f"a document of {found:,} {unit}, and {self.said(most, unit)}"
        return None

    def said(self, most: int, unit: str) -> str:
        """How many units are the most, and what to do."""
        return f"memory_limit = {self.memory_limit:,} has room for {most:,} {unit}; raise it"


@contextmanager
def memory_errors(doing: str, segment_tokens: int) -> Iterator[None]:
    """Raise a MemoryError of the block as a ResourceError that says what to do."""
    try:
        yield
    except MemoryError as error:
        raise ResourceError(
            f"memory ran out in {doing}; nothing has been changed. Segments of at most {segment_tokens:,} "
            "tokens were to be built: SET memory_limit or segment_tokens lower, or threads = 1"
        ) from error

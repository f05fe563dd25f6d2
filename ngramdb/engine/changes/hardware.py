"""Memory and page sizes of this machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from ngramdb.errors import ResourceError

# Memory limit of a container, in control groups of version 2 and 1; "max" or a huge number if
# unlimited.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_LARGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"


@lru_cache(maxsize=1)
def memory_bytes() -> int | None:
    """Return the memory limit of this process: the machine's or its container's; None if unknown."""
    found = []
    with contextlib.suppress(AttributeError, OSError, ValueError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in _LIMITS:
        with contextlib.suppress(OSError, ValueError), open(path) as file:
            found.append(int(file.read()))
    return min((n for n in found if n > 0), default=None)


@lru_cache(maxsize=1)
def has_large_pages() -> bool:
    """Return True if large arrays get huge pages, which numpy requests: on Linux, unless turned off."""
    with contextlib.suppress(OSError, ValueError), open(_LARGE_PAGES) as file:
        return "[never]" not in file.read()
    return False


# ---- Memory that building segments may use, and the error if memory runs out.


# Building a segment peaks at 7 bytes per token (16-bit ids; 11 for 32-bit ones); texts and metadata on their
# way are added to that, and allocators keep some of what is freed.
BYTES_PER_TOKEN = 16
# Libraries, and batches that are read and tokenized ahead.
BASE_BYTES = 1 << 27
# A document while it is read and tokenized: its line, the text that is parsed from it, their bytes, and the
# same for the documents that are read ahead. Its tokens are added to that.
BYTES_PER_TEXT_BYTE = 8
# Below this a load would make thousands of files.
MIN_SEGMENT_TOKENS = 1024


def bounded(segment_tokens: int, threads: int, memory_limit: int, others: int = 0) -> tuple[int, int]:
    """Return tokens per segment, and segments built at a time, within a limit in bytes (0: none).

    `others` are the bytes that a load needs for its tokenizer. Threads are reduced before segments, because
    small segments make every query slower.

    Raises
    ------
    ResourceError
        the limit is too small for the smallest segment
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
    """The largest document that fits a memory limit, in bytes of text and in tokens; None: any."""

    memory_limit: int
    n_bytes: int | None = None
    n_tokens: int | None = None

    @classmethod
    def of(cls, memory_limit: int, threads: int = 1, others: int = 0) -> DocumentLimits:
        """Return the limits of a document for a memory limit in bytes (0: none) and this many threads.

        `others` are the bytes that a load needs for its tokenizer.
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
        """Return the reason for rejecting a document of this size; None if it fits."""
        for found, most, unit in ((n_bytes, self.n_bytes, "bytes"), (n_tokens, self.n_tokens, "tokens")):
            if most is not None and found > most:
                return f"a document of {found:,} {unit}, and {self.said(most, unit)}"
        return None

    def said(self, most: int, unit: str) -> str:
        """Describe the limit in these units, and what to do."""
        return f"memory_limit = {self.memory_limit:,} has room for {most:,} {unit}; raise it"


@contextmanager
def memory_errors(doing: str, segment_tokens: int) -> Iterator[None]:
    """Convert a MemoryError in the block to a ResourceError with advice."""
    try:
        yield
    except MemoryError as error:
        raise ResourceError(
            f"memory ran out in {doing}; nothing has been changed. Segments of at most {segment_tokens:,} "
            "tokens were to be built: SET memory_limit or segment_tokens lower, or threads = 1"
        ) from error

"""What this machine has."""

from __future__ import annotations

import contextlib
import os
from functools import lru_cache

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

"""How much of this process's memory is in large pages."""

from __future__ import annotations

from pathlib import Path

# The sums over all of the process's memory; Linux only.
_SUMS = Path("/proc/self/smaps_rollup")


def bytes_in_large_pages() -> int | None:
    """Bytes that the system holds in pages of megabytes; None where it does not say.

    It gives arrays such pages as far as it has some left. Cost: milliseconds a gigabyte of memory.
    """
    try:
        lines = _SUMS.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(":")
        if name == "AnonHugePages":
            return int(value.removesuffix("kB")) * 1024
    return None

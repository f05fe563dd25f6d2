"""Read-only maps of files that hold no file descriptor.

A database of thousands of segments has more files than a process may have open (1,024 on most systems), and a
map needs none. Python's own `mmap` (on Windows there is nothing else) keeps a copy of the descriptor before
3.13; so files are mapped by a kernel, on each Python.

A search reads at places far from each other. So of large files the system is told to read just the page that
is needed, where it would read dozens around it; before whole sections are read, it is told so
(`ngramdb._cext.base.pages`).
"""

from __future__ import annotations

import sys

# Files with fewer are read in a few pieces, whatever the pieces are.
_FEWEST_BYTES = 1 << 20


def map_file(fd: int, n_bytes: int) -> memoryview:
    """The first `n_bytes` bytes of an open file, mapped; the descriptor may be closed at once.

    The view keeps the map alive and the map the file, even one that has been removed meanwhile.

    Parameters - n_bytes : at least 1, and no more than the file has
    Raises OSError: the system refuses, say for want of address space
    """
    if sys.platform == "win32":
        import mmap

        return memoryview(mmap.mmap(fd, n_bytes, access=mmap.ACCESS_READ))

    from ngramdb._cext.base import pages

    mapped = memoryview(pages.FileMap(fd, n_bytes))
    if n_bytes >= _FEWEST_BYTES:  # a wish: whether it is heard does not matter
        pages.advise(mapped, "at random")
    return mapped

"""Read-only maps of files that hold no file descriptor.

A database of thousands of segments has more files than a process may have open (1,024 on most systems), and a
map needs none. Python's own `mmap` keeps a copy of the descriptor nevertheless, and can be asked not to from
3.13 on; before, the system is called directly.

A search reads at places far from each other. So of large files the system is told to read just the page that
is needed, where it would read dozens around it; before whole sections are read, it is told so
(`ngramdb._cext.base.pages`).
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import sys
import weakref

# Files with fewer are read in a few pieces, whatever the pieces are.
_FEWEST_BYTES = 1 << 20


def map_file(fd: int, n_bytes: int) -> memoryview:
    """The first `n_bytes` bytes of an open file, mapped; the descriptor may be closed at once.

    The view keeps the map alive and the map the file, even one that has been removed meanwhile.

    Parameters - n_bytes : at least 1, and no more than the file has
    Raises OSError: the system refuses, say for want of address space
    """
    mapped = _mapped(fd, n_bytes)
    if n_bytes >= _FEWEST_BYTES:  # a wish: whether it is heard does not matter
        from ngramdb._cext.base import pages

        pages.advise(mapped, "at random")
    return mapped


def _mapped(fd: int, n_bytes: int) -> memoryview:
    if sys.platform == "win32":
        return memoryview(mmap.mmap(fd, n_bytes, access=mmap.ACCESS_READ))
    if sys.version_info >= (3, 13):
        return memoryview(mmap.mmap(fd, n_bytes, access=mmap.ACCESS_READ, trackfd=False))
    return _map(fd, n_bytes)


def _map(fd: int, n_bytes: int) -> memoryview:
    """What mmap.mmap does, by mmap(2)."""
    system = ctypes.CDLL(None, use_errno=True)
    system.mmap.restype = ctypes.c_void_p
    # The offset's type, off_t, is as wide as a long wherever a database of more than 2 GB can be mapped.
    system.mmap.argtypes = (
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    )
    system.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    address = system.mmap(None, n_bytes, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    if address == ctypes.c_void_p(-1).value:
        number = ctypes.get_errno() or errno.ENOMEM
        raise OSError(number, os.strerror(number))
    mapped = (ctypes.c_ubyte * n_bytes).from_address(address)
    # Every view refers to `mapped`, so that it goes with the last of them.
    unmap = weakref.finalize(mapped, system.munmap, address, n_bytes)
    # At the end of the process other threads may still be reading, and the system unmaps everything itself.
    unmap.atexit = False
    return memoryview(mapped).toreadonly().cast("B")

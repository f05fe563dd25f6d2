"""Read-only maps of files that hold no file descriptor.

A database of thousands of segments has more files than a process may have open (1,024 on most systems), and a
map needs none. Python's own `mmap` keeps a copy of the descriptor nevertheless, and can be asked not to from
3.13 on; before, the system is called directly.

The system is asked for large pages where it has them for files (Linux 6 with ext4, XFS, tmpfs): a search
reads at places far from each other, and finds each through one table less. What is not in memory yet is then
read in larger pieces, so this is for files that memory has room for.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import sys
import weakref

# A few large pages, of 2 MB on most machines.
_FEWEST_BYTES = 8 << 20


def map_file(fd: int, n_bytes: int) -> memoryview:
    """The first `n_bytes` bytes of an open file, mapped; the descriptor may be closed at once.

    The view keeps the map alive and the map the file, even one that has been removed meanwhile.

    Parameters - n_bytes : at least 1, and no more than the file has
    Raises OSError: the system refuses, say for want of address space
    """
    if sys.platform == "win32":
        return memoryview(mmap.mmap(fd, n_bytes, access=mmap.ACCESS_READ))
    if sys.version_info >= (3, 13):
        whole = mmap.mmap(fd, n_bytes, access=mmap.ACCESS_READ, trackfd=False)
        if _wants_large_pages(n_bytes):
            with contextlib.suppress(OSError):
                whole.madvise(mmap.MADV_HUGEPAGE)
        return memoryview(whole)
    return _map(fd, n_bytes)


def _wants_large_pages(n_bytes: int) -> bool:
    """Whether a file is large enough for them, and small enough to stay in memory."""
    if not hasattr(mmap, "MADV_HUGEPAGE") or n_bytes < _FEWEST_BYTES:
        return False
    return n_bytes <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4


def _map(fd: int, n_bytes: int) -> memoryview:
    """What `map_file` does, by mmap(2)."""
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
    if _wants_large_pages(n_bytes):  # a wish: whether it is heard does not matter
        system.madvise(ctypes.c_void_p(address), ctypes.c_size_t(n_bytes), mmap.MADV_HUGEPAGE)
    mapped = (ctypes.c_ubyte * n_bytes).from_address(address)
    # Every view refers to `mapped`, so that it goes with the last of them.
    unmap = weakref.finalize(mapped, system.munmap, address, n_bytes)
    # At the end of the process other threads may still be reading, and the system unmaps everything itself.
    unmap.atexit = False
    return memoryview(mapped).toreadonly().cast("B")

"""Asking the system to begin writing a file to the disk while more of it is made.

It is a hint, and promises nothing about durability: `sync` has less to wait for then. Linux only; Python has
no call for it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache

# SYNC_FILE_RANGE_WRITE of sync_file_range(2): begin to write what is not being written yet.
_BEGIN_WRITING = 2


def begin_writing(fd: int, start: int, n_bytes: int) -> None:
    """Bytes start … start + n_bytes - 1 of a file, which have been written to it, may go to the disk."""
    call = _sync_file_range()
    if call is not None:
        call(fd, start, n_bytes, _BEGIN_WRITING)


@cache
def _sync_file_range() -> Callable[[int, int, int, int], int] | None:
    # Offsets are 64 bits wide there, and a long on 64-bit machines only.
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_long) < 8:
        return None
    try:
        call = ctypes.CDLL(None).sync_file_range
    except (OSError, AttributeError):
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_long, ctypes.c_long, ctypes.c_uint)
    call.restype = ctypes.c_int
    return call

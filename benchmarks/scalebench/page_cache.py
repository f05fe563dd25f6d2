"""A page cache without free room, as it is on a machine that has worked for a while.

A virtual machine gets memory from its host when it first writes to it, at a tenth of the usual speed, and the
host takes back what is free for some seconds. What is measured would depend on what has run before.
"""

from __future__ import annotations

from pathlib import Path

MEMINFO = Path("/proc/meminfo")
PIECE = 1 << 26
#: Bytes that stay free: below that the system begins to make room.
LEFT = 1 << 29


def fill(scratch: Path) -> None:
    """Reads a file that takes no place on the disk, until nearly all memory is in use.

    The system gives up that part of the cache first.
    """
    give_back(scratch)  # what is read a second time would be kept longer
    with _file(scratch).open("ab") as file:
        file.truncate(_sizes()["MemTotal"])
    piece = bytearray(PIECE)
    with _file(scratch).open("rb", buffering=0) as file:
        while _sizes()["MemFree"] > LEFT and file.readinto(piece):
            pass


def give_back(scratch: Path) -> None:
    """Frees what `fill` took."""
    _file(scratch).unlink(missing_ok=True)


def _file(scratch: Path) -> Path:
    return scratch / "page-cache"


def _sizes() -> dict[str, int]:
    """The machine's memory, in bytes."""
    lines = (line.split() for line in MEMINFO.read_text().splitlines())
    return {words[0][:-1]: int(words[1]) * 1024 for words in lines if words[-1] == "kB"}

"""The machine that a run was made on, and how much of it other processes took meanwhile."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

# Above this share of the machine's time in other hands, a run is not fit to be kept as a record.
MAX_FOREIGN_SHARE = 0.03


def description() -> str:
    """Processor, cores and memory; no names of hosts, users or folders."""
    model = next(
        (line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.machine(),
    )
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    caches = f", {cache} last-level cache" if (cache := _last_level_cache()) else ""
    software = f"{platform.system()}, Python {platform.python_version()}"
    return f"{model}, {cores} cores, {memory_gib:.0f} GiB{caches}, {software}"


class ForeignLoad:
    """Processor time that went to other processes since the object was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._busy_s, self._own_s = _busy_seconds(), _own_seconds()

    def share(self) -> float:
        """Other processes' part of all cores' time, 0 to 1."""
        elapsed_s = (time.perf_counter() - self._start) * (os.cpu_count() or 1)
        foreign_s = (_busy_seconds() - self._busy_s) - (_own_seconds() - self._own_s)
        return max(0.0, foreign_s / elapsed_s)


def verdict(foreign_share: float) -> str:
    """A sentence on how quiet the machine was."""
    text = f"Other processes took {foreign_share:.1%} of the machine's time during the run."
    if foreign_share > MAX_FOREIGN_SHARE:
        text += (
            " **Too busy to be a record**: infini-gram, which starts threads in every call,"
            " suffers most, so ratios against it flatter us."
        )
    return text


def _busy_seconds() -> float:
    """Time that all cores spent in user, nice, system and interrupt mode since the machine started."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _idle, _wait, interrupt, soft_interrupt = fields[:7]
    return (user + nice + system + interrupt + soft_interrupt) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    """Processor time of this process and of the children it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _last_level_cache() -> str:
    folders = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
    return (folders[-1] / "size").read_text().strip() if folders else ""


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []

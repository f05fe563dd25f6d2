"""Wall time, CPU time and the largest memory of a piece of work, within its process.

Two figures of memory. `own` is what the process cannot do without: anonymous and shared pages (`RssAnon`,
`RssShmem`), sampled every 5 ms. `resident` is the kernel's high-water mark `VmHWM`, which also counts the
pages of mapped files that are in memory: they belong to the page cache, and the kernel drops them without
writing when it needs the room. Limits apply to `own`; `resident` stands beside it.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType

from peerbench.builders import cpu_seconds

SAMPLED_S = 0.005
STATUS = Path("/proc/self/status")


class Watch:
    """Measures the block: `wall_s`, `cpu_s`, and bytes `own_before`, `own`, `resident` (the largest ones)."""

    def __enter__(self) -> Watch:
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts from here
        self.own_before = self.own = _own()
        self._over = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()
        self._cpu, self._start = cpu_seconds(), time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wall_s = time.perf_counter() - self._start
        self.cpu_s = cpu_seconds() - self._cpu
        self._over.set()
        self._sampler.join()
        self.resident = _fields()["VmHWM"]

    def figures(self) -> dict[str, float]:
        """All that was measured."""
        names = ("wall_s", "cpu_s", "own_before", "own", "resident")
        return {name: getattr(self, name) for name in names}

    def _sample(self) -> None:
        while not self._over.wait(SAMPLED_S):
            self.own = max(self.own, _own())


def _own() -> int:
    fields = _fields()
    return fields["RssAnon"] + fields["RssShmem"]


def _fields() -> dict[str, int]:
    """Sizes of this process in bytes."""
    lines = (line.split() for line in STATUS.read_text().splitlines())
    return {words[0][:-1]: int(words[1]) * 1024 for words in lines if words[-1] == "kB"}

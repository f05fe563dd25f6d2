"""Values that were used recently, up to a number of bytes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

from ngramdb.fork_safety import lock

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """The values that were used last, by pairs of numbers. Threads may share it."""

    def __init__(self, most_bytes: int) -> None:
        """Keep up to `most_bytes`."""
        self._most_bytes = most_bytes
        self._kept: OrderedDict[tuple[int, int], tuple[Value, int]] = OrderedDict()
        self._n_bytes = 0
        self._lock = lock()

    def get(self, key: tuple[int, int]) -> Value | None:
        """Return a value, or None if it is not kept."""
        found = self._kept.get(key)
        return None if found is None else found[0]

    def keep(self, key: tuple[int, int], value: Value, n_bytes: int) -> None:
        """Keep a value of this size in bytes as the one that was used last."""
        with self._lock:
            before = self._kept.pop(key, None)
            self._n_bytes += n_bytes - (0 if before is None else before[1])
            self._kept[key] = value, n_bytes
            while self._n_bytes > self._most_bytes:
                self._n_bytes -= self._kept.popitem(last=False)[1][1]

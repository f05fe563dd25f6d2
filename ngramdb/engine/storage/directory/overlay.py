"""Changes to a directory that go elsewhere: for trying a change and dropping it."""

from __future__ import annotations

import builtins
import errno
import os
from collections.abc import Callable

from ngramdb.engine.storage.directory.base import Directory, WritableFile, WriterLock, split_name
from ngramdb.segments.container import Source


class OverlayDirectory(Directory):
    """The files that a directory has now, which are only read, and new files in another directory.

    Files that others add to the first directory later are not seen. The writer's lock is that of the second.
    """

    def __init__(self, below: Directory, above: Directory) -> None:
        self._below, self._above = below, above
        self._visible = set(below.list())
        self.is_remote = below.is_remote

    @property
    def description(self) -> str:
        return self._below.description

    def path_of(self, name: str) -> str:
        return self._of(name).path_of(name)

    def root_entries(self) -> builtins.list[str] | None:
        return sorted({name.partition("/")[0] for name in self.list()})

    def make_root(self) -> None:
        self._above.make_root()

    def exists(self, name: str) -> bool:
        return self._of(name).exists(name)

    def size(self, name: str) -> int:
        return self._of(name).size(name)

    def identity(self, name: str) -> object | None:
        return self._of(name).identity(name)

    def list(self, prefix: str = "") -> builtins.list[str]:
        below = (name for name in self._visible if name.startswith(prefix))
        return sorted({*below, *self._above.list(prefix)})

    def open_read(self, name: str) -> memoryview:
        return self._of(name).open_read(name)

    def open_parts(self, name: str) -> tuple[memoryview, Source | None]:
        return self._of(name).open_parts(name)

    def set_cache_limit(self, limit: Callable[[], int]) -> None:
        self._below.set_cache_limit(limit)

    def create(self, name: str) -> WritableFile:
        self._require_free(name)
        return self._above.create(name)

    def publish(self, temp: str, final: str) -> None:
        self._require_free(final)
        self._above.publish(temp, final)

    def remove(self, name: str) -> None:
        split_name(name)
        if name in self._visible:
            self._visible.remove(name)
        else:
            self._above.remove(name)

    def hold(self, name: str) -> object | None:
        return self._of(name).hold(name)

    def is_held(self, name: str) -> bool:
        return name not in self._visible and self._above.is_held(name)

    def sync_folder(self, folder: str = "") -> None:
        pass  # nothing here outlives the process

    @property
    def boot(self) -> str:
        return self._above.boot

    def lock_writer(self, timeout_s: float | None = 0.0) -> WriterLock:
        return self._above.lock_writer(timeout_s)

    def _of(self, name: str) -> Directory:
        return self._below if name in self._visible else self._above

    def _require_free(self, name: str) -> None:
        if name in self._visible:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)

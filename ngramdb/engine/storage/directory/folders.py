"""One folder of a database on disk, opened without following links; names in it are resolved from there.

So a symbolic link in the place of a folder (another database's, say) is an error for every operation, and
whatever is created, removed or renamed lies in the database itself, also when somebody replaces the folder
by a link at that very moment. The database's own folder may be reached through links: its path is the user's.
"""

from __future__ import annotations

import errno
import os
import stat
from types import TracebackType

from ngramdb._cext.base.descriptors import Descriptor

_BY_DESCRIPTOR = os.open in os.supports_dir_fd  # all systems but Windows, where nothing is ever written


class Folder:
    """An open folder; use it in a `with` block.

    `at(name)` and `fd` are what functions of `os` take as path and `dir_fd`.
    """

    def __init__(self, root: str, name: str = "") -> None:
        """Open the folder `name` of the database in `root`, or `root` itself.

        Raises FileNotFoundError, NotADirectoryError, and OSError with ELOOP for a link.
        """
        self.path = f"{root}/{name}" if name else root
        self.fd: int | None = None
        self._file: Descriptor | None = None
        if not _BY_DESCRIPTOR:
            if name:
                _require_folder(os.lstat(self.path), self.path)
            return
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (os.O_NOFOLLOW if name else 0)
        try:
            self._file = Descriptor(os.open(self.path, flags))
            self.fd = self._file.fd
        except OSError as error:
            # Systems differ in what they report for a link.
            if name and error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
                _require_folder(os.lstat(self.path), self.path)
            raise

    def at(self, name: str) -> str:
        """The path under which the system finds the file `name`, from `fd`."""
        return name if self.fd is not None else f"{self.path}/{name}"

    def entries(self) -> list[str]:
        """The names of all that is in the folder."""
        return os.listdir(self.path if self.fd is None else self.fd)

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()


def make_folder(root: str, name: str) -> bool:
    """Make the folder `name` in `root` unless it exists; returns whether it was made.

    Raises OSError if a link or something else stands in its place.
    """
    with Folder(root) as top:
        try:
            os.mkdir(top.at(name), dir_fd=top.fd)
        except FileExistsError:
            _require_folder(os.stat(top.at(name), dir_fd=top.fd, follow_symlinks=False), f"{root}/{name}")
            return False
    return True


def _require_folder(status: os.stat_result, path: str) -> None:
    name = os.path.basename(path)
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, f"its folder {name} is a symbolic link, which is not followed", path)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, f"{name} is not a folder", path)

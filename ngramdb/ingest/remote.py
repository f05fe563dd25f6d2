"""Files by URL: whatever the library fsspec opens (`s3://`, `https://`, `hf://`, `zip://…`), an extra."""

from __future__ import annotations

import glob
import io
import re
from collections.abc import Callable
from typing import Any, BinaryIO, TypeVar

from ngramdb.errors import LoadError, QueryCancelled
from ngramdb.lazy import lazy_module

core = lazy_module("fsspec.core")

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::|://)")
# Bytes that are fetched at a time, at least.
BLOCK_BYTES = 1 << 20

T = TypeVar("T")


def is_url(path: str) -> bool:
    """Return True for a URL. One letter and a colon are a drive of Windows."""
    return _URL.match(path) is not None


def found(url: str) -> tuple[str, list[tuple[str, int | None]]]:
    """Return the files of a URL: a file, the files of a folder, or those that a glob matches.

    Returns the URL of the folder that they are in, and the URL and size of each (None if unknown), sorted.

    Raises LoadError if nothing matches, or if there is no library for such URLs.
    """
    return _asked(url, lambda: _found(url))


def opened(url: str) -> BinaryIO:
    """Open the file of a URL for reading. Raises OSError."""
    try:
        system, path = core.url_to_fs(url)
        file = system.open(path, "rb", block_size=BLOCK_BYTES)
    except (OSError, QueryCancelled):
        raise
    except Exception as error:  # each system has errors of its own
        raise OSError(_said(error)) from error
    return io.BufferedReader(_Remote(file), BLOCK_BYTES)


class _Remote(io.RawIOBase):
    """A file of fsspec, all of whose errors are OSErrors."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def readinto(self, buffer: Any) -> int:
        content: bytes = self._tried(lambda: self._file.read(len(buffer)))
        buffer[: len(content)] = content
        return len(content)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._tried(lambda: int(self._file.seek(offset, whence)))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()

    @staticmethod
    def _tried(read: Callable[[], T]) -> T:
        try:
            return read()
        except (OSError, QueryCancelled):
            raise
        except Exception as error:
            raise OSError(_said(error)) from error


def _found(url: str) -> tuple[str, list[tuple[str, int | None]]]:
    system, path = core.url_to_fs(url)
    if "::" in url:  # a file within another
        return "", [(url, system.info(path).get("size"))]
    if glob.has_magic(path) and not system.exists(path):
        every = {
            name: info for name, info in system.glob(path, detail=True).items() if info["type"] == "file"
        }
        base = path
        while glob.has_magic(base):
            base = base.rpartition("/")[0]
    elif system.isdir(path):
        every, base = system.find(path, detail=True), path
    else:
        return "", [(url, system.info(path).get("size"))]
    if not every:
        raise LoadError("there are no files", source=url)
    listed = [(system.unstrip_protocol(name), every[name].get("size")) for name in sorted(every)]
    return system.unstrip_protocol(base).rstrip("/") + "/", listed


def _asked(url: str, ask: Callable[[], T]) -> T:
    try:
        return ask()
    except (LoadError, QueryCancelled):
        raise
    except FileNotFoundError as error:
        raise LoadError("no such file or folder", source=url) from error
    except ModuleNotFoundError as error:
        extra = error.name == "fsspec"
        needed = "pip install 'ngramdb[remote]'" if extra else f"{error}"
        raise LoadError(f"files by URL need a library that is not installed: {needed}", source=url) from error
    except Exception as error:  # each system has errors of its own
        raise LoadError(f"cannot be read: {_said(error)}", source=url) from error


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__

"""Which files a load reads: paths, globs, folders and "-" become an ordered list of sources.

Nothing is opened here; a path that leads to no file is an error at once, before anything is loaded.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

from ngramdb.errors import InvalidArgument, LoadError
from ngramdb.formats import (
    MARKER,
    OTHERWISE,
    READ,
    VAGUE_ENDINGS,
    endings_of,
    format_of_beginning,
    format_of_ending,
    named,
)
from ngramdb.ingest import remote
from ngramdb.ingest.remote import is_url
from ngramdb.strict_reading import inherited_descriptor, open_named, require_regular

PathLike = str | os.PathLike[str]

STDIN = "-"
# Enough of a file's beginning to know its format by.
BEGINNING_BYTES = 16


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read.

    path : str - what to open, or "-" for standard input.
    name : str - the file's name relative to the folder or glob that it was found by, with forward slashes;
    relative to the folder that all files are in, if the names of two files would be the same otherwise.
    format : str - one of `ngramdb.formats.READ`.
    size : int | None - the bytes of a file by URL, if known.
    after_line : int - documents that begin in a line (or are a row) up to this one are skipped.
    start, stop : int - the bytes that are read of an uncompressed file of lines; stop None: to its end.
    lines_before : int - the number of lines before `start`, if needed.
    """

    path: str
    name: str
    format: str
    after_line: int = 0
    size: int | None = None
    start: int = 0
    stop: int | None = None
    lines_before: int = 0

    @property
    def is_remote(self) -> bool:
        """True for a URL."""
        return is_url(self.path)

    @property
    def is_stdin(self) -> bool:
        return self.path == STDIN

    @property
    def label(self) -> str:
        """The file as an error message names it."""
        if self.is_stdin:
            return "standard input"
        # Lines are counted from there.
        counted_anew = self.start > 0 and not self.lines_before
        return f"{self.path} from byte {self.start:,} on" if counted_anew else self.path

    @property
    def can_be_read_again(self) -> bool:
        """True for a file, False for standard input and for a pipe made by a shell."""
        if self.is_stdin:
            return False
        if self.is_remote:
            return True
        try:
            return stat.S_ISREG(os.stat(self.path).st_mode)
        except OSError:  # removed since it was found: reading it will fail
            return True

    @property
    def n_bytes(self) -> int | None:
        """The number of bytes to read as stored (compressed), or None if unknown, as for a pipe."""
        if self.stop is not None:
            return self.stop - self.start
        if self.is_stdin or self.is_remote:
            return self.size
        try:
            status = os.stat(self.path)
        except OSError:  # removed since it was found: reading it will fail
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None


def expand(
    paths: PathLike | Iterable[PathLike], format: str | None = None, left_out: list[str] | None = None
) -> list[Source]:
    """Return the files of the paths, in their order; those of a folder or glob sorted by path.

    paths - a path or several: a file; a folder (read recursively, without hidden files and linked
        folders); a glob (`**` for any depth; it matches files only); "-" for standard input.
    format - one of `ngramdb.formats.READ`, or None to detect it by a file's ending (before one of a
        compression), else by its first bytes; the default is text, of standard input JSON lines. Of a folder
        the files with an ending of the format are read; with None, those of the format that any of the
        endings has (not a README, for example; `.json` counts only if there is nothing else), or all, as
        text.
    left_out - receives the files of folders that are left out because of their ending.

    Raises LoadError for a path that does not exist, a glob without a match, a folder without a file to
    load, or with files of several formats; InvalidArgument for an unknown format, no path at all, or
    standard input given twice.
    """
    if format is not None and (not isinstance(format, str) or format not in READ):
        raise InvalidArgument(f"unknown format {format!r}; the formats are {', '.join(READ)}")
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise InvalidArgument("no file to load: the list of paths is empty")
    names = [os.fspath(path) for path in given]
    if names.count(STDIN) > 1:
        raise InvalidArgument("standard input ('-') can be read only once")
    unread = [] if left_out is None else left_out
    return _distinct([source for name in names for source in _expand_one(name, format, unread)])


def _distinct(sources: list[Source]) -> list[Source]:
    """Return the files with names of their own: two folders may have files of the same names."""
    known: dict[str, str] = {}
    if all(known.setdefault(source.name, source.path) == source.path for source in sources):
        return sources
    local = {source.path: os.path.abspath(source.path) for source in sources if not _has_no_folder(source)}
    base = os.path.commonpath([os.path.dirname(path) for path in local.values()]) if local else ""
    return [
        replace(source, name=_portable(os.path.relpath(local[source.path], base)))
        if source.path in local
        else replace(source, name=source.path)
        for source in sources
    ]


def _has_no_folder(source: Source) -> bool:
    return source.is_stdin or source.is_remote


def repeated(sources: Iterable[Source]) -> list[Source]:
    """Return the files that come more than once, by whatever names, each by its first one."""
    firsts: dict[str, Source] = {}
    found: dict[str, Source] = {}
    for source in sources:
        if source.can_be_read_again:
            path = os.path.realpath(source.path)
            if path in firsts:
                found[path] = firsts[path]
            firsts.setdefault(path, source)
    return list(found.values())


def total_size(sources: Iterable[Source]) -> int | None:
    """Return how many bytes there are to read, as stored (compressed); None if that of any is unknown."""
    sizes = [source.n_bytes for source in sources]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _expand_one(path: str, format: str | None, left_out: list[str]) -> list[Source]:
    if not path:
        raise LoadError("an empty path names no file")
    if path == STDIN:
        return [Source(STDIN, STDIN, format or "jsonl")]
    if is_url(path):
        return _expand_url(path, format)
    path = os.path.expanduser(path)
    if os.path.isdir(path):
        if os.path.lexists(os.path.join(path, MARKER)):
            raise LoadError(
                "the folder is a database, not documents; its corpora are written to files by "
                "COPY (DOCS …) TO or ngramdb export, and those can be loaded",
                source=path,
            )
        return _expand_folder(path, format, left_out)
    # A file whose name has brackets is a file first.
    if os.path.exists(path):
        _require_readable(path)
        return [Source(path, _portable(os.path.basename(path)), format or _format_of(path))]
    if glob.has_magic(path):
        return _expand_glob(path, format)
    raise LoadError(_absence(path), source=path)


def _expand_url(url: str, format: str | None) -> list[Source]:
    base, every = remote.found(url)
    sizes = dict(every)
    if not base:
        return [_of_url(url, url.rpartition("/")[2], format, sizes[url])]
    if glob.has_magic(url):
        return [_of_url(file, file.removeprefix(base), format, size) for file, size in every]
    format, chosen = _chosen(url, list(sizes)) if format is None else (format, list(sizes))
    if endings := named(format).endings:
        chosen = [file for file in chosen if _has_ending(file, endings)]
    if not chosen:
        raise LoadError(f"none of its {len(every)} files is of the format {format}", source=url)
    return [_of_url(file, file.removeprefix(base), format, sizes[file]) for file in chosen]


def _of_url(url: str, name: str, format: str | None, size: int | None) -> Source:
    return Source(url, name, format or format_of_ending(url) or OTHERWISE, size=size)


def _require_readable(path: str) -> None:
    """Raise LoadError for named pipes, sockets and devices: opening one may wait for ever."""
    if inherited_descriptor(path) is not None:
        return
    try:
        require_regular(os.stat(path), path)
    except OSError as error:
        raise LoadError(
            f"cannot be read: {error.strerror}; pass a pipe as standard input ('-') or as <(command)",
            source=path,
        ) from error


def _expand_folder(folder: str, format: str | None, left_out: list[str]) -> list[Source]:
    files = sorted(_walk(folder))
    if not files:
        raise LoadError("the folder is empty", source=folder)
    if format is None:
        format, chosen = _chosen(folder, files)
    elif endings := named(format).endings:
        chosen = [file for file in files if _has_ending(file, endings)]
        if not chosen:
            listed = ", ".join(endings)
            packed = "" if named(format).is_packed else " (or with .gz, .zst, .bz2, .xz)"
            message = f"none of the folder's {len(files)} files ends in {listed}{packed}"
            raise LoadError(message, source=folder)
    else:
        chosen = files
    if len(chosen) < len(files):
        kept = set(chosen)
        left_out.extend(file for file in files if file not in kept)
    return [Source(file, _portable(os.path.relpath(file, folder)), format) for file in chosen]


def _chosen(folder: str, files: list[str]) -> tuple[str, list[str]]:
    """Return the format of a folder's files by their endings, and the files of that format.

    Raises LoadError if they have several formats.
    """
    found: dict[str, list[str]] = {}
    for file in files:
        found.setdefault(format_of_ending(file) or OTHERWISE, []).append(file)
    clear = {
        name: [file for file in of_format if not _has_ending(file, VAGUE_ENDINGS)]
        for name, of_format in found.items()
        if named(name).is_of_folders
    }
    clear = {name: of_format for name, of_format in clear.items() if of_format}
    if len(clear) > 1:  # perhaps by chance: inputrc.arrows is not an Arrow file
        clear = {name: of_format for name, of_format in clear.items() if _any_begins_as(name, of_format)}
    if len(clear) > 1:
        listed = ", ".join(f"{name}: {min(of_format)}" for name, of_format in sorted(clear.items()))
        raise LoadError(
            f"the folder has files of several formats ({listed}): give the one to load, or a glob of its "
            "files",
            source=folder,
        )
    if clear:
        return clear.popitem()
    return (next(iter(found)) if len(found) == 1 else OTHERWISE), files


def _any_begins_as(name: str, files: list[str]) -> bool:
    """Return True if one of the files begins as files of the format do, or is remote."""
    beginnings = named(name).beginnings
    return not beginnings or any(is_url(file) or _beginning(file).startswith(beginnings) for file in files)


def _beginning(path: str) -> bytes:
    try:
        with open(open_named(path), "rb") as file:
            return file.read(BEGINNING_BYTES)
    except OSError:  # reading it will fail
        return b""


def _format_of(path: str) -> str:
    """Return the format of a file: by its ending, else by its first bytes."""
    if (name := format_of_ending(path)) is not None:
        return name
    if endings_of(path)[1] or inherited_descriptor(path) is not None:
        return OTHERWISE
    known = format_of_beginning(_beginning(path))
    return OTHERWISE if known is None else known.name


def _walk(folder: str) -> Iterator[str]:
    """Yield the regular files below a folder, and links that lead nowhere; nothing that begins with a dot."""
    for parent, folders, files in os.walk(folder, onerror=_raise_unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = os.path.join(parent, name)
            if name.startswith("."):
                continue
            # A dangling link is a file that cannot be read: an error if it is chosen.
            if os.path.isfile(path) or _leads_nowhere(path):
                yield path


def _leads_nowhere(path: str) -> bool:
    return os.path.islink(path) and not os.path.exists(path)


def _raise_unreadable(error: OSError) -> None:
    raise LoadError(f"cannot be read: {error.strerror}", source=str(error.filename)) from error


def _expand_glob(pattern: str, format: str | None) -> list[Source]:
    found = sorted(set(_globbed(pattern)))
    files = [path for path in found if not os.path.isdir(path)]
    if not files:
        what = "matches only folders; add /**/* to reach their files" if found else "matches no file"
        raise LoadError(f"the glob {what}", source=pattern)
    for file in files:
        _require_readable(file)
    base = _fixed_part(pattern)
    return [
        Source(file, _portable(os.path.relpath(file, base or ".")), format or _format_of(file))
        for file in files
    ]


def _globbed(pattern: str) -> Iterator[str]:
    """Yield the matches of a glob; `**` matches folders at any depth, each of them once.

    `glob` itself goes through a link to a folder above it again and again, until the path is too long.
    """
    head, found, rest = f"/{pattern}/".partition("/**/")
    if not found:
        yield from glob.iglob(pattern)
        return
    head = head[1:] or ("/" if pattern.startswith("/") else "")
    roots = glob.glob(head) if glob.has_magic(head) else [head]
    for root in roots:
        for folder in _folders(root, ()):
            yield from _globbed(os.path.join(glob.escape(folder), rest[:-1] if rest else "*"))


def _folders(folder: str, above: tuple[str, ...]) -> Iterator[str]:
    """Yield a folder and those below it, except hidden ones and links to a folder above them."""
    real = os.path.realpath(folder)
    if any(one == real or one.startswith(os.path.join(real, "")) for one in above):
        return
    yield folder
    try:
        inner = sorted(entry.name for entry in os.scandir(folder or ".") if entry.is_dir())
    except OSError:  # nothing of it can be read
        return
    for name in inner:
        if not name.startswith("."):
            yield from _folders(os.path.join(folder, name), (*above, real))


def _fixed_part(pattern: str) -> str:
    """Return the folder before the first part with a wildcard: "data/en" for "data/en/*/x?.txt"."""
    head, _ = os.path.split(pattern)
    while glob.has_magic(head):
        head, _ = os.path.split(head)
    return head


def _has_ending(path: str, endings: tuple[str, ...]) -> bool:
    return endings_of(path)[0] in endings


def _portable(name: str) -> str:
    """Return a name with forward slashes that can be written as UTF-8, whatever bytes the file system has."""
    return os.fsencode(PurePath(name).as_posix()).decode("utf-8", "backslashreplace")


def _absence(path: str) -> str:
    """Say how far the path leads, so that the wrong part of a long one is plain."""
    if os.path.islink(path):
        return "is a dangling symbolic link"
    parent = os.path.dirname(path) or "."
    if os.path.isdir(parent):
        return "no such file or folder"
    return f"no such file or folder (nor is there a folder {parent!r})"

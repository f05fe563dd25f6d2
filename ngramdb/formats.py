"""The formats of files that go into the database and come out of it: the one place that knows their names."""

from __future__ import annotations

import os
from typing import NamedTuple

from ngramdb.errors import InvalidArgument

# After a format's ending. Reading goes by the first bytes, whatever the name says.
COMPRESSIONS = (".gz", ".zst", ".zstd", ".bz2", ".xz")
# The file by which a folder is known for a database.
MARKER = "NGRAMDB"


def database_around(path: str) -> str | None:
    """The database in whose folder a file would be, links followed; None for none."""
    folder = os.path.realpath(os.path.dirname(path))
    while not os.path.lexists(os.path.join(folder, MARKER)):
        folder, before = os.path.dirname(folder), folder
        if folder == before:
            return None
    return folder


# The options of a load that not all formats take, and what those that take it have.
OF_SOME = {
    "text": "field that holds the text",
    "ids": "field that holds token ids",
    "separator": "separator",
    "dtype": "choice of the type of ids",
    "quotes": "quotes around fields",
    "max_document_bytes": "limit on the bytes of a document",
}


class Format(NamedTuple):
    """A format: its name, the endings of its files, and what can be done with it.

    `is_packed`: its files are compressed in themselves, and take no `.gz` or `.zst` after. `title`: what its
    files are read as, in the plural; `kind`: what one of them is. `has_fields`: documents have fields, and
    one of them may be token ids. `options`: those of `OF_SOME` that a load of such files takes.
    `needs_seek`: files are not read from their beginning to their end, so that a pipe is of no use.
    `begins_with`: the first bytes by which a file is known, whatever its name. `beginnings`: all first bytes
    that its files can have, () if these can be any. `is_of_folders`: a folder
    with such files is read for them, and other files, such as a README, are left aside. `is_cut`: a line, or
    a part of it, is a document, whatever stands before, so that builds in parts cut such files. `unit` is
    that of places in files.
    """

    name: str
    endings: tuple[str, ...]
    is_read: bool = False
    is_written: bool = False
    is_packed: bool = False
    title: str = ""
    kind: str = ""
    has_fields: bool = False
    options: tuple[str, ...] = ()
    needs_seek: bool = False
    begins_with: bytes = b""
    beginnings: tuple[bytes, ...] = ()
    is_of_folders: bool = False
    is_cut: bool = False
    unit: str = "line"


REGISTRY = (
    Format(
        "jsonl",
        (".jsonl", ".ndjson", ".json"),
        is_read=True,
        is_written=True,
        title="JSON lines",
        kind="a file of JSON lines",
        has_fields=True,
        is_of_folders=True,
        is_cut=True,
        options=("text", "ids", "max_document_bytes"),
    ),
    Format("text", (), is_read=True, title="text", kind="text", options=("separator", "max_document_bytes")),
    Format(
        "lines", (), is_read=True, title="lines", kind="text", options=("max_document_bytes",), is_cut=True
    ),
    Format(
        "parquet",
        (".parquet",),
        is_read=True,
        is_written=True,
        is_packed=True,
        title="Parquet files",
        kind="a Parquet file",
        has_fields=True,
        needs_seek=True,
        begins_with=b"PAR1",
        beginnings=(b"PAR1",),
        is_of_folders=True,
        options=("text", "ids", "max_document_bytes"),
        unit="row",
    ),
    Format(
        "arrow",
        (".arrow", ".feather", ".arrows", ".ipc"),
        is_read=True,
        is_written=True,
        is_packed=True,
        title="Arrow files",
        kind="an Arrow file",
        has_fields=True,
        needs_seek=True,
        begins_with=b"ARROW1",
        beginnings=(b"ARROW1", b"FEA1", b"\xff\xff\xff\xff"),
        is_of_folders=True,
        options=("text", "ids", "max_document_bytes"),
        unit="row",
    ),
    Format(
        "csv",
        (".csv",),
        is_read=True,
        is_written=True,
        title="tables of comma-separated values",
        kind="CSV",
        has_fields=True,
        options=("text", "quotes", "max_document_bytes"),
        unit="row",
    ),
    Format(
        "tokens",
        (".npy", ".bin", ".ds"),
        is_read=True,
        is_packed=True,
        title="token ids",
        kind="a file of token ids",
        has_fields=True,
        needs_seek=True,
        is_of_folders=True,
        options=("separator", "dtype"),
        unit="document",
    ),
    Format(
        "tsv",
        (".tsv",),
        is_read=True,
        is_written=True,
        title="tables of tab-separated values",
        kind="TSV",
        has_fields=True,
        options=("text", "quotes", "max_document_bytes"),
        unit="row",
    ),
    Format(
        "vrt",
        (".vrt", ".vert"),
        is_read=True,
        title="vertical text",
        kind="vertical text",
        is_of_folders=True,
        options=("max_document_bytes",),
    ),
    Format(
        "warc",
        (".warc", ".wet"),
        is_read=True,
        title="web archives",
        kind="a web archive",
        is_of_folders=True,
        options=("max_document_bytes",),
        unit="record",
    ),
)
# The types of ids in files that do not say it.
ID_TYPES = ("uint8", "uint16", "uint32", "int32", "int64")
# What files are read as whose ending is that of no format.
OTHERWISE = "text"
# In a folder these endings say little: a .json is often one value over many lines.
VAGUE_ENDINGS = (".json",)
READ = tuple(one.name for one in REGISTRY if one.is_read)
WRITTEN = tuple(one.name for one in REGISTRY if one.is_written)
# Of these a document can be loaded again as it was, texts and all.
OF_DOCUMENTS = ("jsonl", "parquet")


def endings_and_titles() -> list[tuple[str, str]]:
    """The endings that tell what a file is read as, and that, for lists in help and messages."""
    return [(_enumerated(one.endings), one.title) for one in REGISTRY if one.is_read and one.endings]


def _enumerated(names: tuple[str, ...]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def named(name: str) -> Format:
    """The format of a name."""
    return next(one for one in REGISTRY if one.name == name)


def read_format(path: str) -> str:
    """The format that a file is read in when none was asked for: by its name's ending."""
    return format_of_ending(path) or OTHERWISE


def format_of_ending(path: str) -> str | None:
    """The format that is read and has the ending of a file's name; None where none has."""
    ending = endings_of(path)[0]
    return next((one.name for one in REGISTRY if one.is_read and ending in one.endings), None)


def format_of_beginning(first: bytes) -> Format | None:
    """The format whose files begin with these bytes; None where that of none does."""
    return next((one for one in REGISTRY if one.begins_with and first.startswith(one.begins_with)), None)


def written_format(
    path: str,
    asked: str | None = None,
    among: tuple[str, ...] = WRITTEN,
    otherwise: str = "a format is given",
) -> str:
    """The format that a file is to be written in: the one asked for, else by its name's ending.

    JSON lines, plain or compressed, where the name has no ending. `otherwise` is how an error says that a
    format may be asked for.

    Raises
    ------
    InvalidArgument
        No such format, or an ending that is not one of `among`.
    """
    if asked is not None:
        if not isinstance(asked, str) or asked not in among:
            raise InvalidArgument(f"the format is one of {', '.join(among)}, not {asked!r}")
        return asked
    ending, compression = endings_of(path)
    if not ending:
        return "jsonl"
    for one in REGISTRY:
        if one.name in among and ending in one.endings:
            if compression and one.is_packed:
                raise InvalidArgument(
                    f"{path}: {one.name} files are compressed in themselves; leave {compression} out"
                )
            return one.name
    known = f"names end in {_listed(among)}"
    if among == WRITTEN:
        known += f", or {otherwise}: {', '.join(among)}"
    raise InvalidArgument(f"{path}: nothing is written in the format of {ending}; {known}")


def endings_of(path: str) -> tuple[str, str]:
    """The ending of a file's name, in small letters and "" for none, and that of a compression after it."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    compression = next((ending for ending in COMPRESSIONS if name.endswith(ending)), "")
    _, dot, ending = name.removesuffix(compression).rpartition(".")
    return (dot + ending if dot and ending else ""), compression


def _listed(among: tuple[str, ...]) -> str:
    """The endings of these formats, and which of them may have one of a compression after."""
    chosen = [one for one in REGISTRY if one.name in among]
    packed = [ending for one in chosen if not one.is_packed for ending in one.endings]
    others = [ending for one in chosen if one.is_packed for ending in one.endings]
    after = " (or with .gz, .zst, .bz2, .xz after)"
    return " or ".join(filter(None, (", ".join(packed) + after, ", ".join(others))))

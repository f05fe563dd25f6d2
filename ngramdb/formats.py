"""The formats of files for loading and export: the only definition of their names."""

from __future__ import annotations

import os
from typing import NamedTuple

from ngramdb.errors import InvalidArgument

# Extensions of compressed files. Reading detects compression by the first bytes, whatever the name.
COMPRESSIONS = (".gz", ".zst", ".zstd", ".bz2", ".xz")
# The file that identifies the folder of a database.
MARKER = "NGRAMDB"


def database_around(path: str) -> str | None:
    """Return the database whose folder would contain a file, following links; None if there is none."""
    folder = os.path.realpath(os.path.dirname(path))
    while not os.path.lexists(os.path.join(folder, MARKER)):
        folder, before = os.path.dirname(folder), folder
        if folder == before:
            return None
    return folder


# The options of a load that only some formats support, with descriptions.
OF_SOME = {
    "text": "field that holds the text",
    "ids": "field that holds token ids",
    "separator": "separator",
    "dtype": "choice of the type of ids",
    "quotes": "quotes around fields",
    "max_document_bytes": "limit on the bytes of a document",
}


class Format(NamedTuple):
    """A format: its name, the extensions of its files, and its properties.

    is_packed : its files are compressed internally, and their names cannot end in `.gz` or `.zst`
    title, kind : the names of its files and of one of them in messages
    has_fields : documents have fields, of which one may be token ids
    options : those of `OF_SOME` that apply to a load of such files
    needs_seek : files are not read sequentially, so that pipes cannot be used
    begins_with : the first bytes that identify a file, whatever its name
    beginnings : all possible first bytes of its files, () if they are arbitrary
    is_of_folders : only such files of a folder are read, and others, such as a README, are ignored
    is_cut : a line or a part of it is a document, independent of the preceding ones, so that builds in
        parts split such files
    is_of_ids : documents are written as token ids alone, without text and fields
    unit : that of places in files
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
    is_of_ids: bool = False
    is_of_ranges: bool = False
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
    # Both are read as `tokens`.
    Format("megatron", (), is_of_ids=True, title="token ids of Megatron"),
    Format("nanogpt", (), is_of_ids=True, title="token ids of nanoGPT"),
    Format("bsade", (), is_of_ranges=True, title="sa_remove_ranges of bsade"),
    Format("dolma", (), is_of_ranges=True, title="attributes of Dolma"),
    Format("google", (), is_of_ranges=True, title="byte ranges of deduplicate-text-datasets"),
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
# The ways in which an ARPA file writes tokens.
ARPA_SYMBOLS = ("text", "nemo")
# The types of ids in files that do not record it.
ID_TYPES = ("uint8", "uint16", "uint32", "int32", "int64")
# The format of files with an unknown extension.
OTHERWISE = "text"
# In a folder these extensions are ambiguous: a .json is often one value over many lines.
VAGUE_ENDINGS = (".json",)
READ = tuple(one.name for one in REGISTRY if one.is_read)
WRITTEN = tuple(one.name for one in REGISTRY if one.is_written)
# Formats of token ids, for training.
OF_IDS = tuple(one.name for one in REGISTRY if one.is_of_ids)
# Formats of what a removal takes out of texts.
OF_RANGES = tuple(one.name for one in REGISTRY if one.is_of_ranges)
# Formats from which a document can be loaded again unchanged, including its text.
OF_DOCUMENTS = ("jsonl", "parquet")


def endings_and_titles() -> list[tuple[str, str]]:
    """Return extensions with the formats they are read as, for lists in help and messages."""
    return [(_enumerated(one.endings), one.title) for one in REGISTRY if one.is_read and one.endings]


def _enumerated(names: tuple[str, ...]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def named(name: str) -> Format:
    """Return the format with this name."""
    return next(one for one in REGISTRY if one.name == name)


def format_of_ending(path: str) -> str | None:
    """Return the format with the extension of a file's name, or None."""
    ending = endings_of(path)[0]
    return next((one.name for one in REGISTRY if one.is_read and ending in one.endings), None)


def format_of_beginning(first: bytes) -> Format | None:
    """Return the format with these first bytes, or None."""
    return next((one for one in REGISTRY if one.begins_with and first.startswith(one.begins_with)), None)


def written_format(
    path: str,
    asked: str | None = None,
    among: tuple[str, ...] = WRITTEN,
    otherwise: str = "a format is given",
) -> str:
    """Return the format for writing a file: the given one, else the one with its name's extension.

    Without an extension it is JSON lines, plain or compressed. `otherwise` is how an error describes that a
    format may be given.

    Raises
    ------
    InvalidArgument
        There is no such format, or the extension is not one of `among`.
    """
    if asked is not None:
        if not isinstance(asked, str) or asked not in among:
            raise InvalidArgument(f"the format must be one of {', '.join(among)}, not {asked!r}")
        return asked
    ending, compression = endings_of(path)
    if not ending:
        return "jsonl"
    for one in REGISTRY:
        if one.name in among and ending in one.endings:
            if compression and one.is_packed:
                raise InvalidArgument(f"{path}: {one.name} files are already compressed; omit {compression}")
            return one.name
    known = f"names end in {_listed(among)}"
    if set(among) >= set(WRITTEN):
        known += f", or {otherwise}: {', '.join(among)}"
    raise InvalidArgument(f"{path}: unsupported output format {ending}; {known}")


def endings_of(path: str) -> tuple[str, str]:
    """Return the extension of a file's name in lower case, and that of a compression; "" for none."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    compression = next((ending for ending in COMPRESSIONS if name.endswith(ending)), "")
    _, dot, ending = name.removesuffix(compression).rpartition(".")
    return (dot + ending if dot and ending else ""), compression


def _listed(among: tuple[str, ...]) -> str:
    """List the extensions of these formats, and those that a compression may follow."""
    chosen = [one for one in REGISTRY if one.name in among]
    packed = [ending for one in chosen if not one.is_packed for ending in one.endings]
    others = [ending for one in chosen if one.is_packed for ending in one.endings]
    after = " (or with .gz, .zst, .bz2, .xz after)"
    return " or ".join(filter(None, (", ".join(packed) + after, ", ".join(others))))

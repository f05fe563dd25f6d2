"""The formats of files that go into the database and come out of it: the one place that knows their names."""

from __future__ import annotations

from dataclasses import dataclass

from ngramdb.errors import InvalidArgument

# Behind a format's ending; reading tells by the first bytes, too.
COMPRESSIONS = (".gz", ".zst", ".zstd")
# The file by which a folder is known for a database.
MARKER = "NGRAMDB"


@dataclass(frozen=True)
class Format:
    """A format: its name, the endings of its files, and what can be done with it.

    `is_packed`: its files are compressed in themselves, and take no `.gz` or `.zst` behind.
    """

    name: str
    endings: tuple[str, ...]
    is_read: bool = False
    is_written: bool = False
    is_packed: bool = False


REGISTRY = (
    Format("jsonl", (".jsonl", ".ndjson", ".json"), is_read=True, is_written=True),
    Format("text", (), is_read=True),
    Format("lines", (), is_read=True),
    Format("parquet", (".parquet",), is_written=True, is_packed=True),
)
READ = tuple(one.name for one in REGISTRY if one.is_read)
WRITTEN = tuple(one.name for one in REGISTRY if one.is_written)


def written_format(path: str, asked: str | None = None, among: tuple[str, ...] = WRITTEN) -> str:
    """The format that a file is to be written in: the one asked for, else by its name's ending.

    JSON lines, plain or compressed, where the name has no ending.

    Raises
    ------
    InvalidArgument
        No such format, or an ending that is not one of `among`.
    """
    if asked is not None:
        if asked not in WRITTEN:
            raise InvalidArgument(f"an export's format is one of {', '.join(WRITTEN)}, not {asked!r}")
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
        known += f", or a format is given: {', '.join(among)}"
    raise InvalidArgument(f"{path}: nothing is written in the format of {ending}; {known}")


def endings_of(path: str) -> tuple[str, str]:
    """The ending of a file's name, in small letters and "" for none, and that of a compression behind it."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    compression = next((ending for ending in COMPRESSIONS if name.endswith(ending)), "")
    _, dot, ending = name.removesuffix(compression).rpartition(".")
    return (dot + ending if dot and ending else ""), compression


def _listed(among: tuple[str, ...]) -> str:
    endings: list[str] = []
    for one in REGISTRY:
        if one.name in among:
            packed = "" if one.is_packed else " (or with .gz, .zst behind)"
            endings.append(f"{', '.join(one.endings)}{packed}")
    return " or ".join(endings)

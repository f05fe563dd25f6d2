"""Files that a load has begun: how they are known again, and whether they are as they were up to there."""

from __future__ import annotations

import zlib

from ngramdb.formats import named
from ngramdb.ingest.readers import arrow_files, parquet
from ngramdb.ingest.readers.binary import opened
from ngramdb.ingest.readers.jsonl import BYTE_ORDER_MARK
from ngramdb.ingest.readers.lines import LineReader
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import Limits, Meter, read_chunks

# Bytes of its beginning by which a file is known again: its size may change where a line is mended.
MOST_OF_BEGINNING = 1 << 16

_N_ROWS_OF = {"parquet": parquet.n_rows_of, "arrow": arrow_files.n_rows_of}


def beginning(source: Source) -> bytes:
    """A file's first line, without its line feed; of a long one, or one that has none, the first 64 KiB."""
    if named(source.format).needs_seek:
        with opened(source) as file:
            return file.read(MOST_OF_BEGINNING)
    head = b""
    for chunk in read_chunks(source, Limits(), Meter()):
        head += chunk
        if b"\n" in head or len(head) > MOST_OF_BEGINNING:
            break
    return head.partition(b"\n")[0][:MOST_OF_BEGINNING]


def has_lines(source: Source, n_lines: int) -> bool:
    """Whether a file has so many lines, or rows. Cost: reads it until then, unless it says how many.

    Of token ids nobody can say without reading: whoever reads them finds what there is.
    """
    if named(source.format).needs_seek:
        return source.format not in _N_ROWS_OF or _N_ROWS_OF[source.format](source) >= n_lines
    n, is_open = 0, False
    for chunk in read_chunks(source, Limits(), Meter()):
        n += chunk.count(b"\n")
        if n >= n_lines:
            return True
        is_open = not chunk.endswith(b"\n")
    return n + is_open >= n_lines


def line_of(source: Source, number: int) -> bytes | None:
    """A line of a file, from 1, without its line feed; None where the file has fewer.

    Cost: reads the file until then.
    """
    lines = LineReader(read_chunks(source, Limits(), Meter()), source.label, Limits(), lambda too_long: None)
    return next((line for line in lines if lines.number == number), None)


def mark_of(line: bytes) -> int:
    """What a record keeps of a line, to know it again: its CRC-32, without byte order mark and line end."""
    return zlib.crc32(line.removeprefix(BYTE_ORDER_MARK).removesuffix(b"\r"))

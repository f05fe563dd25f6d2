"""The one file format: a container of named sections, checked from end to end.

Every file of a database is a container: segments, vocabularies, tokenizers, manifests, and the marker of the
database itself. A file is written once, and never changed.

    header 64 B | sections (64-byte aligned, 64 zero bytes after each) | TOC | block checksums | footer 64 B

The main invariant: `Container.open` believes no size, offset or name before it has been checked against the
length of the file, and every byte is covered by some checksum, so that `verify` finds any damage. The byte
tables are in FORMAT.md. What the sections mean is defined by their writers.

>>> directory = MemoryDirectory()
>>> writer = ContainerWriter(directory.create("a.segment"), kind="SEGM")
>>> writer.add("tokens", np.array([1, 2, 3], dtype="u2"))
>>> info = writer.finish({"n_tokens": 3})
>>> Container.open(directory.open_read("a.segment"), "a.segment", kind="SEGM", expect=info).array("tokens")
array([1, 2, 3], dtype=uint16)
"""

from ngramdb.segments.container.layout import (
    BLOCK_SIZE,
    BROKEN_DOCUMENTS,
    CHANGED_FIELDS,
    DOCUMENT_SETS,
    DROPPED_CORPORA,
    FREQUENT_NGRAMS,
    KEPT_VERSIONS,
    KNOWN_WRITER_FLAGS,
    LOAD_RECORDS,
    NATIVE,
    SEGMENT_KINDS,
    SMALL_BLOCK_SIZE,
    STATISTICS,
    VERIFIED_AT_USE,
    FileInfo,
    Section,
    Source,
    item_size,
)
from ngramdb.segments.container.reader import Container, check_flags
from ngramdb.segments.container.writer import Ahead, AheadSection, ContainerWriter, Scratch, Sink

__all__ = [
    "BLOCK_SIZE",
    "BROKEN_DOCUMENTS",
    "CHANGED_FIELDS",
    "DOCUMENT_SETS",
    "DROPPED_CORPORA",
    "FREQUENT_NGRAMS",
    "KEPT_VERSIONS",
    "KNOWN_WRITER_FLAGS",
    "LOAD_RECORDS",
    "NATIVE",
    "SEGMENT_KINDS",
    "SMALL_BLOCK_SIZE",
    "STATISTICS",
    "VERIFIED_AT_USE",
    "Ahead",
    "AheadSection",
    "Container",
    "ContainerWriter",
    "FileInfo",
    "Scratch",
    "Section",
    "Sink",
    "Source",
    "check_flags",
    "item_size",
]

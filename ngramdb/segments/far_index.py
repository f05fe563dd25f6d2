"""The far index of a segment: sections for queries from a remote store; and far LCPs alone.

A segment gets a far index on demand: its file is copied with the sections added (FORMAT.md,
"Far index"). If the rows have no bits for LCPs, it has far LCPs alone, and searches use them wherever the
file is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.sort.construction import CoreBudget, far_index
from ngramdb.interrupts import Interrupt
from ngramdb.segments.container import (
    BROKEN_DOCUMENTS,
    DOCUMENT_SETS,
    SMALL_BLOCK_SIZE,
    Container,
    ContainerWriter,
    FileInfo,
    Sink,
)

#: The sections: long keys, and far LCPs.
KEYS, LCPS = "far.keys", "far.lcps"
#: The property with the number of rows from one long key to the next.
STRIDE = "far_rows"
#: The far LCPs of 2**14 rows are fetched together anyway; long keys then take 2 bytes per 1,024 tokens.
ROWS = 1 << 14

# Bytes copied and verified at a time.
_PIECE = 1 << 22


def write_with_far_index(
    file: Sink,
    container: Container,
    summary: SegmentSummary,
    lcp_width: int,
    threads: int = 1,
    stop: Interrupt | None = None,
) -> SegmentSummary:
    """Copy a native segment's file, and add a far index.

    Parameters
    ----------
    summary, lcp_width : properties of the segment

    Raises
    ------
    CorruptionError
        the file is damaged
    Interrupted
        the work was interrupted

    Cost
        A pass over the file, and a random read of the text a token, shared by the threads. Memory: a byte a
        token. The new file is larger by as much.
    """
    writer = segment_writer(file, DOC_IDS in container.sections, BREAKS in container.sections)
    for name, place in container.sections.items():
        if name in (KEYS, LCPS):
            continue
        writer.begin(name, place.dtype)
        values = container.sliced(name)
        step = _PIECE // values.itemsize
        for start in range(0, len(values), step):
            end = min(start + step, len(values))
            container.verify_part(name, start, end)
            writer.write(values[start:end])
        writer.end()
    cores = CoreBudget(threads)
    with cores:
        keys, lcps = _made(container, lcp_width, ROWS, stop, cores)
    writer.add(LCPS, lcps)
    writer.add(KEYS, keys)  # last: they are fetched with the file's end
    info = writer.finish({**container.properties, "header": writer.header.hex(), STRIDE: ROWS})
    return SegmentSummary(info, summary.n_tokens, summary.n_documents, summary.first_doc_id)


def lcps_of(
    tokens: NDArray[Any], rows: NDArray[np.uint32], stop: Interrupt | None, cores: CoreBudget | None
) -> NDArray[np.uint8]:
    """Return far LCPs of rows without bits for LCPs: (n,) uint8. Cost: a random read of the text per row."""
    return far_index(tokens, rows, max(len(rows), 1), 0, stop, cores)[1]


def arrays_of(
    container: Container, with_keys: bool = True
) -> tuple[NDArray[np.uint64] | None, NDArray[np.uint8], int] | None:
    """Return long keys, far LCPs, and the number of rows per key; None without far LCPs.

    Keys are None, and the number is 1, if there are none or without `with_keys`. Raises ValueError if
    the parts contradict each other.
    """
    if not container.has(LCPS):
        return None
    lcps = container.unverified(LCPS)
    if lcps.dtype != np.uint8:
        raise ValueError(f"its section {LCPS} is of type {lcps.dtype}")
    if not (with_keys and container.has(KEYS)):
        return None, lcps, 1
    stride: Any = container.properties.get(STRIDE)
    if not isinstance(stride, int) or isinstance(stride, bool) or not 0 < stride < 1 << 32:
        raise ValueError(f"its property {STRIDE} is {stride!r}")
    keys = container.unverified(KEYS)
    if keys.dtype != np.uint64:
        raise ValueError(f"its section {KEYS} is of type {keys.dtype}")
    return keys, lcps, stride


def is_right(container: Container, lcp_width: int) -> bool:
    """Return True if a far index belongs to the suffix array beside it. Cost: as much as making it."""
    there = arrays_of(container)
    if there is None or there[0] is None:
        return True
    keys, lcps = _made(container, lcp_width, there[2], None, None)
    return np.array_equal(keys, there[0]) and np.array_equal(lcps, there[1])


def _made(
    container: Container, lcp_width: int, stride: int, stop: Interrupt | None, cores: CoreBudget | None
) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    tokens, rows = container.sliced("tokens"), container.sliced("suffix_array")
    return far_index(tokens, rows, stride, lcp_width, stop, cores)


# ---- The file of a native segment: the names in it, which its builder writes and its reader looks for.


#: The container's kind.
KIND = "SEGM"
#: The section with the documents' ids, if they are not consecutive.
DOC_IDS = "documents.ids"
#: The prefix of the sections with the forms of documents' lines.
FORM = "form"


#: The sections with the places where documents are broken: their positions in `tokens`, and the bytes of the
#: document's text before each of them.
BREAKS, BREAK_BYTES = "breaks.positions", "breaks.bytes"


def segment_writer(file: Sink, has_ids: bool, has_breaks: bool) -> ContainerWriter:
    """Begin the file of a segment, with the flags of its sections DOC_IDS and BREAKS."""
    flags = (DOCUMENT_SETS if has_ids else 0) | (BROKEN_DOCUMENTS if has_breaks else 0)
    return ContainerWriter(file, KIND, reader_flags=flags, block_size=SMALL_BLOCK_SIZE)


class SegmentSummary(NamedTuple):
    """Summary of a written segment: its file's size and checksum, and its counts."""

    file: FileInfo
    n_tokens: int
    n_documents: int
    first_doc_id: int

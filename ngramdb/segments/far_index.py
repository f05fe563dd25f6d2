"""The far index of a segment: sections at the end of its file by which it is asked from far away.

A segment has one where that was asked for: its file is copied, and the sections are added (FORMAT.md, "Far
index"). Whoever reads the file where it lies does not need them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.sort.construction import CoreBudget, far_index
from ngramdb.interrupts import Interrupt
from ngramdb.segments.container import DOCUMENT_SETS, SMALL_BLOCK_SIZE, Container, ContainerWriter, Sink
from ngramdb.segments.native import DOC_IDS, KIND, SegmentSummary

#: The sections: long keys, and far LCPs.
KEYS, LCPS = "far.keys", "far.lcps"
#: The property that says how many rows there are from one long key to the next.
STRIDE = "far_rows"
#: Of 2**14 rows the far LCPs are fetched at once anyway; long keys then take 2 bytes per 1,024 tokens.
ROWS = 1 << 14

# What is copied, and verified, at a time.
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
    summary, lcp_width : what the segment says of itself

    Raises
    ------
    CorruptionError
        the file is damaged
    Interrupted
        the work was asked to stop

    Cost
        A pass over the file, and a random read of the text a token, shared by the threads. Memory: a byte a
        token. The new file is larger by as much.
    """
    has_ids = DOC_IDS in container.sections
    writer = ContainerWriter(
        file, KIND, reader_flags=DOCUMENT_SETS if has_ids else 0, block_size=SMALL_BLOCK_SIZE
    )
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


def arrays_of(container: Container) -> tuple[NDArray[np.uint64], NDArray[np.uint8], int] | None:
    """Long keys, far LCPs, and the rows from one key to the next; None where there is no far index.

    Raises ValueError when its parts contradict each other.
    """
    if not (container.has(KEYS) and container.has(LCPS)):
        return None
    stride: Any = container.properties.get(STRIDE)
    if not isinstance(stride, int) or isinstance(stride, bool) or not 0 < stride < 1 << 32:
        raise ValueError(f"its property {STRIDE} is {stride!r}")
    keys, lcps = container.unverified(KEYS), container.unverified(LCPS)
    if keys.dtype != np.uint64 or lcps.dtype != np.uint8:
        raise ValueError(f"its sections {KEYS} and {LCPS} are of types {keys.dtype} and {lcps.dtype}")
    return keys, lcps, stride


def is_right(container: Container, lcp_width: int) -> bool:
    """Whether a far index is that of the suffix array beside it. Cost: as that of making it."""
    there = arrays_of(container)
    if there is None:
        return True
    keys, lcps = _made(container, lcp_width, there[2], None, None)
    return np.array_equal(keys, there[0]) and np.array_equal(lcps, there[1])


def _made(
    container: Container, lcp_width: int, stride: int, stop: Interrupt | None, cores: CoreBudget | None
) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    tokens, rows = container.sliced("tokens"), container.sliced("suffix_array")
    return far_index(tokens, rows, stride, lcp_width, stop, cores)

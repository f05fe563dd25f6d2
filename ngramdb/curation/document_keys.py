"""Keys of documents, by which a later delivery finds its counterparts without reading all texts.

A key is a 64-bit hash: of an n-gram of words, of a band of minimal hashes, of a normalized text. The keys of
a segment's documents are kept in a file beside it, in the order of keys, and searched for those of the
delivery. The file is written when it is first needed, again if it is missing, stale or damaged, and verified
when it is read. FORMAT.md, "Cache", has its layout.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.base.checksums import FileChecksums
from ngramdb._cext.corpus.document_keys import find_documents
from ngramdb.errors import CorruptionError
from ngramdb.segments.base import Segment
from ngramdb.segments.container import Container, ContainerWriter
from ngramdb.source import Corpus
from ngramdb.tokenizers.base import Tokenizer

KIND = "DKEY"
SECTION = "records"
#: The version of the keys: of the hashes, and of how texts are normalized.
VERSION = 1
#: Tokens of a segment from which on its keys are kept: those of smaller ones take less than 50 ms.
FEWEST_TOKENS = 1 << 14
#: A document that does not count.
NO_RANK = 2**32 - 1

# Records that are sorted at a time: 20 MB, 50 ms.
_RUN = 1 << 19
# Parts of the range of keys, by which sorted runs are merged.
_PARTS = 1024
# Wanted keys that are searched for at a time.
_WANTED = 1 << 18
_RECORD = np.dtype([("key", "<u8"), ("document", "<u4")])
_Records = NDArray[Any]
_Words = NDArray[np.uint32]


class Keys(NamedTuple):
    """A kind of keys.

    name : in names of files: small letters, digits and hyphens
    properties : what determines the keys, besides their version
    of : the keys of a document of a segment, all different: (k,) uint64
    """

    name: str
    properties: Mapping[str, Any]
    of: Callable[[Segment, int, Tokenizer], NDArray[np.uint64]]

    @property
    def stored(self) -> dict[str, Any]:
        """The properties of a file. Unicode's tables determine case, composition and letters."""
        return {"version": VERSION, "unicode": unicodedata.unidata_version, **self.properties}


def counterparts(
    corpus: Corpus,
    i: int,
    keys: Keys,
    wanted: NDArray[np.uint64],
    ranks: _Words,
    most: int,
) -> Iterator[tuple[NDArray[np.uint64], _Words, _Words]]:
    """Yield the documents of segment i of a corpus that have wanted keys.

    Parameters
    ----------
    wanted : (k,) uint64, ascending
    ranks : the number to return for each document of the segment, or NO_RANK if it does not count
    most : the documents per key, the first ones

    Yields
    ------
    keys, which, found : some of the wanted keys; the place in these of a key, and the rank of a document that
        has it

    Notes
    -----
    Cost: 30 to 200 ns per wanted key; once per segment, reading all of its texts. Memory: 20 MB.
    """
    segment = corpus.segments[i]
    sources = _sources(segment, keys, corpus.tokenizer, wanted, ranks)
    records, checksums = next(sources)
    start = 0
    while start < len(wanted):
        interrupts.check()
        some = wanted[start : start + _WANTED]
        try:
            which, found = find_documents(records, some, ranks, most, checksums)
        except (CorruptionError, ValueError):
            if checksums is None:
                raise
            records, checksums = next(sources)
            continue
        yield some, which, found
        start += _WANTED


def _sources(
    segment: Segment, keys: Keys, tokenizer: Tokenizer, wanted: NDArray[np.uint64], ranks: _Words
) -> Iterator[tuple[_Words, FileChecksums | None]]:
    """Yield the records of the file, of a new file, and in memory: the next ones replace damaged ones."""
    cache = segment.cache if segment.n_tokens >= FEWEST_TOKENS else None
    if cache is not None:
        container = cache.open(keys.name, KIND, keys.stored)
        if container is not None:
            yield from _records_in(container)

        def fill(writer: ContainerWriter, file: Any) -> None:
            _write(writer, file, segment, keys, tokenizer)

        container = cache.write(keys.name, KIND, keys.stored, fill)
        if container is not None:
            yield from _records_in(container)
    yield _computed(segment, keys, tokenizer, wanted, ranks), None


def _records_in(container: Container) -> Iterator[tuple[_Words, FileChecksums]]:
    try:
        yield container.unverified(SECTION).astype(np.uint32, copy=False), container.checksums
    except (CorruptionError, KeyError):
        return


def _computed(
    segment: Segment, keys: Keys, tokenizer: Tokenizer, wanted: NDArray[np.uint64], ranks: _Words
) -> _Words:
    """Return the records of documents that count, of wanted keys only."""
    found = []
    numbers = np.flatnonzero(ranks != NO_RANK).tolist()
    for k, number in enumerate(numbers):
        interrupts.step(k, len(numbers))
        own = keys.of(segment, number, tokenizer)
        if len(wanted):
            own = own[wanted[np.minimum(np.searchsorted(wanted, own), len(wanted) - 1)] == own]
            found.append(_of_document(own, number))
    return _words(_sorted(found))


# ---- Writing the file


def _write(writer: ContainerWriter, file: Any, segment: Segment, keys: Keys, tokenizer: Tokenizer) -> None:
    """Write the records of all documents: runs are sorted in memory, and merged by parts of the range."""
    scratch = file.scratch()
    try:
        runs = []
        for records in _runs(segment, keys, tokenizer):
            runs.append(_parts_of(records))
            scratch.write(records.tobytes())
        writer.begin(SECTION, "u4")
        for parts in _rounds(runs):
            interrupts.check()
            pieces, before = [], 0
            for bounds in runs:
                start, stop = int(bounds[parts.start]), int(bounds[parts.stop])
                scratch.seek((before + start) * _RECORD.itemsize)
                piece = scratch.read((stop - start) * _RECORD.itemsize)
                pieces.append(np.frombuffer(piece, dtype=_RECORD))
                before += int(bounds[-1])
            writer.write(_words(_sorted(pieces)))
        writer.end()
    finally:
        scratch.close()


def _runs(segment: Segment, keys: Keys, tokenizer: Tokenizer) -> Iterator[_Records]:
    """Yield sorted records, about _RUN of them at a time."""
    waiting: list[_Records] = []
    n_waiting = 0
    for number in range(segment.n_documents):
        interrupts.step(number, segment.n_documents)
        own = keys.of(segment, number, tokenizer)
        waiting.append(_of_document(own, number))
        n_waiting += len(own)
        if n_waiting >= _RUN:
            yield _sorted(waiting)
            waiting, n_waiting = [], 0
    yield _sorted(waiting)


def _rounds(runs: list[NDArray[np.int64]]) -> Iterator[slice]:
    """Yield ranges of parts that have at most _RUN records in all runs, or are one part."""
    n_before = np.sum(runs, axis=0)
    start = 0
    while start < _PARTS:
        stop = int(np.searchsorted(n_before, n_before[start] + _RUN, side="right")) - 1
        stop = min(max(stop, start + 1), _PARTS)
        yield slice(start, stop)
        start = stop


def _parts_of(records: _Records) -> NDArray[np.int64]:
    """Return the records before each part of the range of keys: (_PARTS + 1,)."""
    limits = np.arange(1, _PARTS, dtype=np.uint64) * np.uint64(2**64 // _PARTS)
    inner = np.searchsorted(np.ascontiguousarray(records["key"]), limits)
    return np.concatenate([[0], inner, [len(records)]]).astype(np.int64)


def _of_document(own: NDArray[np.uint64], number: int) -> _Records:
    records = np.empty(len(own), dtype=_RECORD)
    records["key"], records["document"] = own, number
    return records


def _sorted(pieces: list[_Records]) -> _Records:
    """Return the records of documents in ascending order by key, those of a key in this order."""
    every = np.concatenate([np.empty(0, dtype=_RECORD), *pieces])
    return every[np.argsort(np.ascontiguousarray(every["key"]), kind="stable")]


def _words(records: _Records) -> _Words:
    return records.view("<u4")

"""Cutting tokens out of documents: each keeps its id and its metadata, and is broken at the cut.

A cut is a range of tokens. Its place in the document's text follows from the tokens' places there, never from
a search. A cut grows to whole characters where tokens are parts of characters, so that the remaining text
is valid. Tokens that stay are not tokenized again. Texts of cut documents are made when they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.segment.segment_index import SegmentIndex
from ngramdb.conditions.byte_places import byte_places
from ngramdb.curation.windows import Ranges
from ngramdb.errors import InvalidArgument
from ngramdb.fork_safety import cached_property
from ngramdb.segments.base import NONE_BROKEN, Breaks, Numbers, Segment
from ngramdb.segments.container.layout import piece_offsets
from ngramdb.segments.metadata import MetadataReader
from ngramdb.segments.text import with_separators
from ngramdb.source import Corpus
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.types import Docs

Places = NDArray[np.int64]


class CutDocument(NamedTuple):
    """The tokens that are cut out of a document, and the breaks of the rest.

    starts, stops : (k,) int64, ascending, the tokens of each cut; none of them touch
    bytes : (k, 2) int64, the bytes of each cut in the text; zeros without a text
    breaks : of the rest, as places in its tokens and its text
    """

    starts: Places
    stops: Places
    bytes: Places
    breaks: Breaks

    @property
    def n_tokens(self) -> int:
        """The number of tokens that are cut."""
        return int((self.stops - self.starts).sum())


class Change(Protocol):
    """A change of a corpus, as cutting uses it (`ngramdb.engine.changes.change`)."""

    @property
    def view(self) -> Corpus: ...
    def replace_segments(self, sources: Sequence[Any], *, statement: str = "", reason: str = "") -> Any: ...


class CutReport(NamedTuple):
    """The outcome of cutting.

    documents : documents that lost tokens
    removed : those of them of which nothing is left
    tokens : the number of tokens that were cut
    pieces : the number of pieces that the other cut documents consist of now
    version : the version of the database after it
    """

    documents: int
    removed: int
    tokens: int
    pieces: int
    version: int


def cut(change: Change, ranges: Sequence[Ranges], *, statement: str = "", reason: str = "") -> CutReport:
    """Cut tokens out of the documents of a corpus, and commit. Documents that are cut whole are removed.

    Parameters
    ----------
    change : the change of the corpus
    ranges : the tokens to cut, per added segment of `change.view`
    statement, reason : the statement that cuts, and why, for the audit record

    Raises
    ------
    InvalidArgument
        a range of a document that was removed, or across documents
    ExecutionError
        the text of a document has other tokens than those stored

    Cost: that of writing each segment with a cut again, about 80 ns per token; a pass over the texts of cut
    documents. Memory: 7 bytes per token that is sorted at a time.
    """
    view = change.view
    segments = [
        CutSegment(segment, found, view.tokenizer) if len(found.starts) else None
        for segment, found in zip(view.segments, ranges, strict=True)
    ]
    for i, segment in enumerate(segments):
        if segment is not None and np.isin(segment.touched, view.removed(i), assume_unique=True).any():
            raise InvalidArgument("a document that was removed before cannot be cut")
    made = [segment for segment in segments if segment is not None]
    outcome = change.replace_segments(segments, statement=statement, reason=reason)
    left = [one for segment in made for one in segment.cuts.values()]
    pieces = sum(1 + len(one.breaks.tokens) for one in left)
    removed = sum(len(segment.gone) for segment in made)
    return CutReport(len(left) + removed, removed, outcome.tokens, pieces, outcome.version)


class CutSegment(Segment):
    """A segment without some of its tokens, as a source of documents for a new segment.

    `touched` are the documents with a cut, `gone` those that are cut as a whole, and `cuts` the others.
    Numbers of documents are those of the segment that it is made of; those in `gone` have no content.
    """

    def __init__(self, segment: Segment, ranges: Ranges, tokenizer: Tokenizer) -> None:
        super().__init__(segment.path, segment.n_tokens, segment.n_documents, segment.first_doc_id)
        self._whole = segment
        self._tokenizer = tokenizer
        self.n_breaks = segment.n_breaks
        self.cuts: dict[int, CutDocument] = {}
        gone = []
        owners, starts = segment.index.places_at(ranges.starts)
        lasts, stops = segment.index.places_at(ranges.stops - np.uint32(1))
        if not np.array_equal(owners, lasts):
            raise InvalidArgument("a range of tokens must lie within a document")
        numbers, firsts = np.unique(owners, return_index=True)
        bounds = np.append(firsts, len(owners))
        for k, i in enumerate(numbers.tolist()):
            interrupts.step(k, len(numbers))
            some = slice(bounds[k], bounds[k + 1])
            found = self._cut(i, starts[some].astype(np.int64), stops[some].astype(np.int64) + 1)
            if found.n_tokens == segment.document_length(i):
                gone.append(i)
            elif found.n_tokens:
                self.cuts[i] = found
                self.n_breaks += len(found.breaks.tokens)
        self.gone: Docs = np.array(gone, dtype=np.uint32)

    def _cut(self, i: int, starts: Places, stops: Places) -> CutDocument:
        segment = self._whole
        content = segment.text(i, self._tokenizer)
        places = None if content is None else byte_places(segment, self._tokenizer, i, content)
        if content is not None and places is not None:
            starts, stops = _on_characters(starts, stops, content, *places)
        spans = np.zeros((len(starts), 2), dtype=np.int64)
        if places is not None and len(starts):
            spans = np.stack([places[0][starts], places[1][stops - 1]], axis=1)
        n_tokens = segment.document_length(i)
        before, at_bytes = segment.breaks_of(np.array([i], dtype=np.uint32))
        tokens = np.concatenate([_left(before, starts, stops), _left(starts, starts, stops)])
        inner = np.concatenate([_left(at_bytes, *spans.T), _left(spans[:, 0], *spans.T)])
        # An earlier break comes first, so that a text keeps its place.
        tokens, first = np.unique(tokens, return_index=True)
        kept = (tokens > 0) & (tokens < n_tokens - int((stops - starts).sum()))
        return CutDocument(starts, stops, spans, Breaks(tokens[kept], inner[first][kept]))

    @property
    def touched(self) -> Docs:
        """The documents of which something is cut: (k,) uint32, ascending."""
        return np.union1d(np.array(list(self.cuts), dtype=np.uint32), self.gone)

    def notes(self) -> list[tuple[int, dict[str, int]]]:
        """Return the documents that are left, and the details of each for the audit record."""
        return [
            (i, {"tokens_cut": one.n_tokens, "pieces": 1 + len(one.breaks.tokens)})
            for i, one in self.cuts.items()
        ]

    # ---- the interface of segments

    @property
    def index(self) -> SegmentIndex:
        raise NotImplementedError("a source of documents has no index")

    @property
    def size_bytes(self) -> int:
        return self._whole.size_bytes

    def check(self) -> None:
        self._whole.check()

    @cached_property
    def metadata(self) -> MetadataReader:
        """The documents' metadata."""
        return self._whole.metadata

    @property
    def ids(self) -> NDArray[np.int64] | None:
        return self._whole.ids

    def stored_text(self, i: int) -> bytes | None:
        if i not in self.cuts:
            return self._whole.stored_text(i)
        text = self.text(i, self._tokenizer)
        return None if text is None or self._tokenizer.decode_exact(self.document(i)) == text else text

    def text(self, i: int, tokenizer: object) -> bytes | None:
        """Return what is left of the text of document i, None for documents loaded as token ids."""
        content = self._whole.text(i, self._tokenizer)
        if content is None or i not in self.cuts:
            return content
        bounds = np.concatenate([[0], self.cuts[i].bytes.ravel(), [len(content)]]).reshape(-1, 2)
        return b"".join(content[start:stop] for start, stop in bounds.tolist())

    def own_form(self, i: int) -> bytes | None:
        return None

    def form(self, i: int) -> bytes | None:
        return None if i in self.cuts else self._whole.form(i)

    def document(self, i: int) -> NDArray[np.uint32]:
        ids = self._whole.document(i)
        return ids[self._kept_of(i)] if i in self.cuts else ids

    def _kept_of(self, i: int) -> NDArray[np.bool_]:
        """Return which tokens of document i are left."""
        steps = np.zeros(self._whole.document_length(i) + 1, dtype=np.int8)
        steps[self.cuts[i].starts] += 1
        steps[self.cuts[i].stops] -= 1
        kept: NDArray[np.bool_] = np.cumsum(steps[:-1]) == 0
        return kept

    def document_length(self, i: int) -> int:
        return self._whole.document_length(i) - (self.cuts[i].n_tokens if i in self.cuts else 0)

    def lengths(self, numbers: Numbers) -> NDArray[np.int64]:
        lengths: NDArray[np.int64] = self._whole.lengths(numbers).copy()
        for k, i in self._cut_of(numbers):
            lengths[k] -= self.cuts[i].n_tokens
        return lengths

    def n_symbols(self, numbers: Numbers) -> NDArray[np.int64]:
        symbols: NDArray[np.int64] = self._whole.n_symbols(numbers).copy()
        for k, i in self._cut_of(numbers):
            breaks = self._whole.breaks(i)
            symbols[k] += len(self.cuts[i].breaks.tokens) - len(breaks) - self.cuts[i].n_tokens
        return symbols

    def breaks_of(self, numbers: Numbers) -> Breaks:
        offsets = np.concatenate([[0], np.cumsum(self.lengths(numbers))])
        found = [NONE_BROKEN]
        for k, i in enumerate(numbers.tolist()):
            one = self.cuts[i].breaks if i in self.cuts else self._whole.breaks_of(numbers[k : k + 1])
            found.append(Breaks(one.tokens + offsets[k], one.bytes))
        return Breaks(*(np.concatenate(columns).astype(np.int64) for columns in zip(*found, strict=True)))

    def _cut_of(self, numbers: Numbers) -> list[tuple[int, int]]:
        """Return the documents with a cut: their places among `numbers`, and their numbers."""
        return [(k, i) for k, i in enumerate(numbers.tolist()) if i in self.cuts]

    @property
    def has_sentences(self) -> bool:
        return self._whole.has_sentences

    @property
    def sentences(self) -> NDArray[np.uint8] | None:
        return self._whole.sentences

    def sentence_flags(self, numbers: Numbers) -> NDArray[np.bool_]:
        found = [np.empty(0, dtype=np.bool_)]
        for k, i in enumerate(numbers.tolist()):
            flags = self._whole.sentence_flags(numbers[k : k + 1])
            if i in self.cuts and flags[0]:
                before = _pieces(self._whole, i)
                of_tokens = np.delete(flags, before[1:] + np.arange(len(before) - 1))
                flags = with_separators(of_tokens[self._kept_of(i)], _pieces(self, i))
                flags[0] = True
            elif i in self.cuts:
                flags = np.zeros(self.document_length(i) + len(_pieces(self, i)) - 1, dtype=np.bool_)
            found.append(flags)
        return np.concatenate(found)


def _pieces(segment: Segment, i: int) -> Places:
    ends = np.array([0, segment.document_length(i)], dtype=np.int64)
    return piece_offsets(ends, segment.breaks(i))


def _left(places: Places, starts: Places, stops: Places) -> Places:
    """Return places as they are once ranges are cut; those within a range move to its place."""
    before = np.concatenate([[0], np.cumsum(stops - starts)])
    n = np.searchsorted(starts, places, side="right")
    inside = np.append(stops, 0)[n - 1] - places
    return np.asarray(places - before[n] + np.where(n > 0, np.maximum(inside, 0), 0))


def _on_characters(
    starts: Places, stops: Places, content: bytes, begins: Places, ends: Places
) -> tuple[Places, Places]:
    """Return cuts grown to whole characters; those that then overlap or touch are one."""
    data = np.frombuffer(content + b" ", dtype=np.uint8)
    # True for each token before which text may be cut, and for the end.
    clean = np.ones(len(begins) + 1, dtype=np.bool_)
    clean[:-1] = (data[begins] & 0xC0) != 0x80
    clean[1:] &= (data[ends] & 0xC0) != 0x80
    clean[1:-1] &= ends[:-1] <= begins[1:]
    whole = np.flatnonzero(clean)
    starts = whole[np.searchsorted(whole, starts, side="right") - 1]
    stops = whole[np.searchsorted(whole, stops, side="left")]
    if not len(starts):
        return starts, stops
    first = np.append(True, starts[1:] > stops[:-1])
    return starts[first], stops[np.append(first[1:], True)]

"""Cutting tokens out of documents: each keeps its id and its metadata, and is broken at the cut.

A cut is a range of tokens. Its place in the document's text follows from the tokens' places there, never from
a search. A cut grows to whole characters where tokens are parts of characters, so that the remaining text
is valid. Tokens that stay are not tokenized again. Texts of cut documents are made when they are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.segment.segment_index import SegmentIndex
from ngramdb.conditions.byte_places import byte_places
from ngramdb.curation.cut_rules import ON_CHARACTERS, CutRule, TextCuts, bridged, on_borders, words_apart
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

# Parts of a text that are joined between two interrupt checks.
CHECK_PARTS = 1 << 14

Places = NDArray[np.int64]


class CutDocument(NamedTuple):
    """The tokens that are cut out of a document, and the breaks of the rest.

    starts, stops : (k,) int64, ascending, the tokens of each cut; none of them touch
    bytes : (k, 2) int64, the bytes of each cut in the text; zeros without a text
    breaks : of the rest, as places in its tokens and its text
    inserted : (k, 2) int64, the token and the byte of the rest after each replacement
    """

    starts: Places
    stops: Places
    bytes: Places
    breaks: Breaks
    inserted: Places = np.zeros((0, 2), dtype=np.int64)

    @property
    def n_tokens(self) -> int:
        """The number of tokens that are cut."""
        return int((self.stops - self.starts).sum())


class Replacement(NamedTuple):
    """The text that replaces cuts, and its tokens: (r,) uint32."""

    content: bytes
    ids: NDArray[np.uint32]


class Change(Protocol):
    """A change of a corpus, as cutting uses it (`ngramdb.engine.changes.change`)."""

    @property
    def view(self) -> Corpus: ...
    def replace_segments(self, sources: Sequence[Any], *, statement: str = "", reason: str = "") -> Any: ...
    def encoded(self, text: str) -> tuple[Tokenizer, NDArray[np.uint32]]: ...


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


def cut(
    change: Change,
    ranges: Sequence[Ranges],
    rule: CutRule = ON_CHARACTERS,
    *,
    statement: str = "",
    reason: str = "",
) -> CutReport:
    """Cut tokens out of the documents of a corpus, and commit. Documents that are cut whole are removed.

    Parameters
    ----------
    change : the change of the corpus
    ranges : the tokens to cut, per added segment of `change.view`
    rule : where cuts begin and end, and which documents are cut as a whole
    statement, reason : the statement that cuts, and why, for the audit record

    Raises
    ------
    InvalidArgument
        a range of a document that was removed, or across documents; a document without a text, so that it
        has no words or lines
    ExecutionError
        the text of a document has other tokens than those stored

    Cost: that of writing each segment with a cut again, about 80 ns per token; a pass over the texts of cut
    documents. Memory: 7 bytes per token that is sorted at a time.
    """
    segments = cut_segments(change.view, ranges, rule)
    made = [segment for segment in segments if segment is not None]
    if rule.replacement is not None and made:
        tokenizer, ids = change.encoded(rule.replacement)
        for segment in made:
            segment.replace_cuts(Replacement(rule.replacement.encode(), ids), tokenizer)
    outcome = change.replace_segments(segments, statement=statement, reason=reason)
    left = [one for segment in made for one in segment.cuts.values()]
    pieces = sum(1 + len(one.breaks.tokens) for one in left)
    removed = sum(len(segment.gone) for segment in made)
    return CutReport(len(left) + removed, removed, outcome.tokens, pieces, outcome.version)


def cut_segments(view: Corpus, ranges: Sequence[Ranges], rule: CutRule) -> list[CutSegment | None]:
    """Return each segment of a corpus without tokens in ranges, None for one that stays. Raises as `cut`."""
    segments: list[CutSegment | None] = []
    for i, (segment, found) in enumerate(zip(view.segments, ranges, strict=True)):
        source = CutSegment(segment, found, view.tokenizer, rule) if len(found.starts) else None
        if source is not None and np.isin(source.touched, view.removed(i), assume_unique=True).any():
            raise InvalidArgument("a document that was removed before cannot be cut")
        segments.append(source if source is not None and len(source.touched) else None)
    return segments


_NOTHING = Replacement(b"", np.empty(0, dtype=np.uint32))


class CutSegment(Segment):
    """A segment without some of its tokens, as a source of documents for a new segment.

    `touched` are the documents with a cut, `gone` those that are cut as a whole, and `cuts` the others.
    Numbers of documents are those of the segment that it is made of; those in `gone` have no content.
    """

    def __init__(self, segment: Segment, ranges: Ranges, tokenizer: Tokenizer, rule: CutRule) -> None:
        super().__init__(segment.path, segment.n_tokens, segment.n_documents, segment.first_doc_id)
        self._whole = segment
        self._tokenizer = tokenizer
        self._rule = rule
        self.n_breaks = segment.n_breaks
        self._replacement = _NOTHING
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
        segment, rule = self._whole, self._rule
        content = segment.text(i, self._tokenizer)
        places = None
        if content is not None:
            places = TextCuts(content, *byte_places(segment, self._tokenizer, i, content))
        interrupts.check()
        if places is not None:
            starts, stops = on_borders(starts, stops, places, rule.on)
        elif rule.on != "characters":
            what = f"{segment.path}: document {segment.doc_id(i)} has token ids without a text"
            raise InvalidArgument(f"{what}, so it has no {rule.on}; omit ON {rule.on.upper()}")
        if rule.gap_share is not None:
            starts, stops = bridged(starts, stops, rule.gap_share)
            if rule.on == "words" and places is not None:
                starts, stops = words_apart(starts, stops, places)
        interrupts.check()
        found = self._broken(i, starts, stops, places)
        interrupts.check()
        if places is not None and self._tokenizer.has_places and len(found.starts):
            found = self._settled(i, found, places)
        n_tokens = segment.document_length(i)
        if found.n_tokens and rule.takes_all(n_tokens, found.n_tokens, 1 + len(found.breaks.tokens)):
            return self._broken(i, np.array([0]), np.array([n_tokens]), places)
        return found

    def _settled(self, i: int, found: CutDocument, text: TextCuts) -> CutDocument:
        """Return the cuts of document i, grown until each piece of what is left has its tokens.

        Many tokenizers divide a part of a text otherwise than the whole. If one does so at a cut, the cut
        grows by a token, then by two, by four, …
        """
        ids, n_more = self._whole.document(i), 1
        while True:
            is_left = _is_left(found, len(ids))
            grown = is_left.copy()
            for kept, content in _pieces_left(found, is_left, text.content):
                interrupts.check()
                placed = self._tokenizer.places(content.decode("utf-8", "surrogateescape"))
                if placed is not None and not np.array_equal(placed[0], ids[kept]):
                    at_start, at_end = _sides_to_grow(placed[0], ids, kept, is_left)
                    grown[kept[: n_more * at_start]] = False
                    grown[kept[len(kept) - min(n_more, len(kept)) * at_end :]] = False
            edges = np.flatnonzero(np.diff(grown, prepend=True, append=True))
            starts, stops = on_borders(edges[::2], edges[1::2], text, "characters")
            if np.array_equal(starts, found.starts) and np.array_equal(stops, found.stops):
                return found
            found, n_more = self._broken(i, starts, stops, text), 2 * n_more

    def _broken(self, i: int, starts: Places, stops: Places, text: TextCuts | None) -> CutDocument:
        spans = np.zeros((len(starts), 2), dtype=np.int64)
        if text is not None and len(starts):
            ends = text.ends[stops - 1]
            if self._rule.on == "lines":  # white space between tokens belongs to the line before
                ends = np.append(text.begins, len(text.content))[stops]
            spans = np.stack([text.begins[starts], ends], axis=1)
        before, at_bytes = self._whole.breaks_of(np.array([i], dtype=np.uint32))
        tokens = np.concatenate([_left(before, starts, stops), _left(starts, starts, stops)])
        inner = np.concatenate([_left(at_bytes, *spans.T), _left(spans[:, 0], *spans.T)])
        # An earlier break comes first, so that a text keeps its place.
        tokens, first = np.unique(tokens, return_index=True)
        n_left = self._whole.document_length(i) - int((stops - starts).sum())
        kept = (tokens > 0) & (tokens < n_left)
        return CutDocument(starts, stops, spans, Breaks(tokens[kept], inner[first][kept]))

    def replace_cuts(self, replacement: Replacement, tokenizer: Tokenizer) -> None:
        """Replace each cut by a text, with breaks around it; `tokenizer` knows its tokens."""
        self._replacement, self._tokenizer = replacement, tokenizer
        for k, (i, one) in enumerate(self.cuts.items()):
            interrupts.step(k, len(self.cuts))
            content = self._whole.text(i, tokenizer)
            n_left = self._whole.document_length(i) - one.n_tokens
            if content is None:
                found = _with_replacements(one, n_left, 0, Replacement(b"", replacement.ids), True)
            else:
                in_place = tokenizer.has_own_words
                found = _with_replacements(one, n_left, len(content), replacement, in_place)
            self.n_breaks += len(found.breaks.tokens) - len(one.breaks.tokens)
            self.cuts[i] = found

    @property
    def n_inserted(self) -> int:
        """The number of tokens in all replacements."""
        return sum(len(one.inserted) for one in self.cuts.values()) * len(self._replacement.ids)

    def _gained(self, i: int) -> int:
        """Return the number of tokens that a document with a cut has more than before."""
        one = self.cuts[i]
        return len(one.inserted) * len(self._replacement.ids) - one.n_tokens

    def _replaced(self, i: int, values: NDArray[Any], inserted: NDArray[Any]) -> NDArray[Any]:
        """Return what is left of a value per token of document i, with those of replacements."""
        left, places = values[self._kept_of(i)], self.cuts[i].inserted[:, 0]
        return np.insert(left, np.repeat(places, len(inserted)), np.tile(inserted, len(places)))

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
        left, places = _text_left(self.cuts[i], content), self.cuts[i].inserted[:, 1].tolist()
        pieces = (left[start:stop] for start, stop in pairwise([0, *places, len(left)]))
        return self._replacement.content.join(pieces)

    def own_form(self, i: int) -> bytes | None:
        return None

    def form(self, i: int) -> bytes | None:
        form = self._whole.form(i)
        # A form that begins with L is the whole line, its text included.
        return None if form is None or (i in self.cuts and form.startswith(b"L")) else form

    def document(self, i: int) -> NDArray[np.uint32]:
        ids = self._whole.document(i)
        return self._replaced(i, ids, self._replacement.ids) if i in self.cuts else ids

    def _kept_of(self, i: int) -> NDArray[np.bool_]:
        return _is_left(self.cuts[i], self._whole.document_length(i))

    def document_length(self, i: int) -> int:
        return self._whole.document_length(i) + (self._gained(i) if i in self.cuts else 0)

    def lengths(self, numbers: Numbers) -> NDArray[np.int64]:
        lengths: NDArray[np.int64] = self._whole.lengths(numbers).copy()
        for k, i in self._cut_of(numbers):
            lengths[k] += self._gained(i)
        return lengths

    def n_symbols(self, numbers: Numbers) -> NDArray[np.int64]:
        symbols: NDArray[np.int64] = self._whole.n_symbols(numbers).copy()
        for k, i in self._cut_of(numbers):
            breaks = self._whole.breaks(i)
            symbols[k] += len(self.cuts[i].breaks.tokens) - len(breaks) + self._gained(i)
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
                of_replacement = np.zeros(len(self._replacement.ids), dtype=np.bool_)
                flags = with_separators(self._replaced(i, of_tokens, of_replacement), _pieces(self, i))
                flags[0] = True
            elif i in self.cuts:
                flags = np.zeros(self.document_length(i) + len(_pieces(self, i)) - 1, dtype=np.bool_)
            found.append(flags)
        return np.concatenate(found)


def _is_left(found: CutDocument, n_tokens: int) -> NDArray[np.bool_]:
    """Return which tokens of a document are left."""
    steps = np.zeros(n_tokens + 1, dtype=np.int8)
    steps[found.starts] += 1
    steps[found.stops] -= 1
    left: NDArray[np.bool_] = np.cumsum(steps[:-1]) == 0
    return left


def _text_left(found: CutDocument, content: bytes) -> bytes:
    bounds = np.concatenate([[0], found.bytes.ravel(), [len(content)]]).reshape(-1, 2)
    parts = []
    for k in range(0, len(bounds), CHECK_PARTS):
        interrupts.check()
        parts += [content[start:stop] for start, stop in bounds[k : k + CHECK_PARTS].tolist()]
    return b"".join(parts)


def _with_replacements(
    found: CutDocument, n_left: int, n_bytes: int, replacement: Replacement, in_place: bool
) -> CutDocument:
    """Return cuts with a replacement in the place of each, and breaks before and after it.

    n_left : the number of tokens that are left
    n_bytes : the size of the whole text
    in_place : a replacement stays behind white space that begins the text, and before that which ends it;
        otherwise it is the first or the last of the text, so that other pieces keep their tokens
    """
    tokens = found.starts - _before(found.stops - found.starts)
    sizes = found.bytes[:, 1] - found.bytes[:, 0]
    places = found.bytes[:, 0] - _before(sizes)
    inner = (tokens > 0) & (tokens < n_left)
    at = np.searchsorted(found.breaks.tokens, tokens[inner])
    places[inner] = found.breaks.bytes[at] if len(found.breaks.bytes) else 0
    if not in_place:
        places[tokens == 0] = 0
        places[tokens == n_left] = n_bytes - int(sizes.sum())
    others = ~np.isin(found.breaks.tokens, tokens)
    n_before = np.searchsorted(tokens, found.breaks.tokens[others])
    n, number = len(replacement.ids), np.arange(len(tokens))
    size = len(replacement.content)
    every = np.concatenate([found.breaks.tokens[others] + n_before * n, tokens + number * n])
    every = np.append(every, tokens + (number + 1) * n)
    of_text = np.concatenate([found.breaks.bytes[others] + n_before * size, places + number * size])
    of_text = np.append(of_text, places + (number + 1) * size)
    every, first = np.unique(every, return_index=True)
    kept = (every > 0) & (every < n_left + len(tokens) * n)
    breaks = Breaks(every[kept], of_text[first][kept])
    return found._replace(breaks=breaks, inserted=np.stack([tokens, places], axis=1))


def _before(sizes: Places) -> Places:
    """Return the sum of the sizes before each one."""
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)


def _pieces_left(
    found: CutDocument, is_left: NDArray[np.bool_], content: bytes
) -> Iterator[tuple[Places, bytes]]:
    """Yield the tokens and the text of each piece of what is left of a document that has any."""
    kept, text = np.flatnonzero(is_left), _text_left(found, content)
    tokens = [0, *found.breaks.tokens.tolist(), len(kept)]
    places = [0, *found.breaks.bytes.tolist(), len(text)]
    for (first, stop), (start, end) in zip(pairwise(tokens), pairwise(places), strict=True):
        if first < stop:
            yield kept[first:stop], text[start:end]


def _sides_to_grow(
    again: NDArray[Any], ids: NDArray[Any], kept: Places, is_left: NDArray[np.bool_]
) -> tuple[bool, bool]:
    """Return if the cuts before and after a piece must grow, which has other tokens when it stands alone.

    again : these tokens; kept : the piece's tokens in the document
    """
    first, last = int(kept[0]), int(kept[-1])
    is_cut_before = first > 0 and not is_left[first - 1]
    is_cut_after = last + 1 < len(ids) and not is_left[last + 1]
    differs_first = not len(again) or again[0] != ids[first]
    differs_last = not len(again) or again[-1] != ids[last]
    if not differs_first and not differs_last:
        return is_cut_before, is_cut_after
    at_start = is_cut_before and (differs_first or not is_cut_after)
    return at_start, is_cut_after and (differs_last or not is_cut_before)


def _pieces(segment: Segment, i: int) -> Places:
    ends = np.array([0, segment.document_length(i)], dtype=np.int64)
    return piece_offsets(ends, segment.breaks(i))


def _left(places: Places, starts: Places, stops: Places) -> Places:
    """Return places as they are once ranges are cut; those within a range move to its place."""
    before = np.concatenate([[0], np.cumsum(stops - starts)])
    n = np.searchsorted(starts, places, side="right")
    inside = np.append(stops, 0)[n - 1] - places
    return np.asarray(places - before[n] + np.where(n > 0, np.maximum(inside, 0), 0))

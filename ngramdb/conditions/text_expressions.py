"""Regular expressions that are searched for in the texts of documents: `TEXT ~ /colou?r/`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.text.expressions import TextProgram
from ngramdb.conditions.byte_places import byte_places, other_tokens
from ngramdb.conditions.stored_text import CHECK_DOCUMENTS, Places, token_places
from ngramdb.patterns import StoredExpression, text_literals, text_programs
from ngramdb.segments.base import Segment
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.types import Docs

# The search of a larger text may need much memory.
LARGE_TEXT = 1 << 20
# Bytes [start, stop) of a text: (n, 2) int64.
Spans = NDArray[np.int64]

NO_SPANS = np.empty((0, 2), dtype=np.int64)
NO_PLACES = Places(
    np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.uint32), np.empty((0, 2), dtype=np.int64)
)


class Expression:
    """An expression, ready to be searched for in texts. Matches of no character are not counted."""

    def __init__(self, pattern: StoredExpression) -> None:
        self._shown = pattern.shown
        self._program = _program(pattern.expression, pattern.flags)
        self._literals = text_literals.in_bytes(pattern.expression, pattern.flags)

    def occurs_in(self, content: bytes) -> bool:
        """Return True if the text has a match, even of no character."""
        return self._may_occur_in(content) and self._program.occurs_in(content)

    def spans(self, content: bytes) -> Spans:
        """Return the matches of the text that have a character, in order."""
        return self._program.spans(content) if self._may_occur_in(content) else NO_SPANS

    def _may_occur_in(self, content: bytes) -> bool:
        """Return False for a text that lacks a string which every match contains."""
        if len(content) > LARGE_TEXT:
            interrupts.require_memory(
                self._program.memory_bytes(len(content)),
                f"the search of a text of {len(content):,} bytes for {self._shown}",
            )
        return all(any(text in content for text in texts) for texts in self._literals)


@lru_cache(maxsize=64)
def _program(expression: str, flags: int) -> TextProgram:
    return TextProgram(*text_programs.compiled(expression, flags))


class ExpressionMatches:
    """Looks for expressions in one segment's texts."""

    def __init__(self, segment: Segment, tokenizer: Tokenizer) -> None:
        self._segment = segment
        self._tokenizer = tokenizer
        self._found: dict[tuple[StoredExpression, bytes], Places] = {}

    def documents(self, pattern: StoredExpression, docs: Docs) -> Docs:
        """Return those of the documents (ascending) with a match. Cost: reads their texts."""
        expression = Expression(pattern)
        found = [
            i
            for i, content in self._texts(docs)
            if any(expression.occurs_in(piece.content) for piece in self._segment.text_pieces(i, content))
        ]
        return np.array(found, dtype=np.uint32)

    def count(self, pattern: StoredExpression, docs: Docs) -> int:
        """Count the matches in these documents. Cost: reads their texts."""
        expression = Expression(pattern)
        return sum(len(self._spans(expression, i, content)) for i, content in self._texts(docs))

    def find(self, pattern: StoredExpression, docs: Docs) -> Places:
        """Return the matches in these documents (ascending).

        A match that holds no token is at the token after it, or at the document's last one. `cuts` are in
        bytes if tokens spell the text, else in characters, and below zero for text beside the tokens.

        Cost: reads their texts; a pass over each that has a match.
        """
        key = (pattern, docs.tobytes())
        if key not in self._found:
            self._found[key] = self._find(Expression(pattern), docs)
        return self._found[key]

    def _texts(self, docs: Docs) -> Iterator[tuple[int, bytes]]:
        """Yield the documents with their texts, without those that have none."""
        for n, i in enumerate(docs.tolist()):
            if n % CHECK_DOCUMENTS == 0:
                interrupts.step(n, len(docs))
            content = self._segment.text(i, self._tokenizer)
            if content is not None:
                yield i, content

    def _spans(self, expression: Expression, i: int, content: bytes) -> Spans:
        """Return the matches in the text of document i."""
        found, before = [NO_SPANS], 0
        for piece in self._segment.text_pieces(i, content):
            found.append(expression.spans(piece.content) + before)
            before += len(piece.content)
        return np.concatenate(found)

    def _find(self, expression: Expression, docs: Docs) -> Places:
        found = [NO_PLACES]
        for i, content in self._texts(docs):
            spans = self._spans(expression, i, content)
            if len(spans):
                found.append(self._placed(i, content, spans))
        return Places(*map(np.concatenate, zip(*found, strict=True)))

    def _placed(self, i: int, content: bytes, spans: Spans) -> Places:
        """Return the tokens that overlap the matches of document i, at least one each."""
        begins, ends, spans = self._tokens(i, content, spans)
        first_position = int(self._segment.index.document_bounds(np.array([i], dtype=np.uint32))[0][0])
        n = len(begins)
        interrupts.check()
        if not n:
            place = np.full(len(spans), first_position, dtype=np.uint32)
            length = len(content if self._is_spelled else content.decode("utf-8", "surrogateescape"))
            cuts = np.stack([spans[:, 0], length - spans[:, 1]], axis=1)
            return Places(place, place + np.uint32(1), cuts)
        first = np.minimum(np.searchsorted(ends, spans[:, 0], side="right"), n - 1)
        last = np.maximum(np.searchsorted(begins, spans[:, 1], side="left"), first + 1)
        interrupts.check()
        cuts = np.stack([spans[:, 0] - begins[first], ends[last - 1] - spans[:, 1]], axis=1)
        interrupts.check()
        breaks = self._segment.breaks(i)
        starts = first + np.searchsorted(breaks, first, side="right") + first_position
        stops = last + np.searchsorted(breaks, last - 1, side="right") + first_position
        return Places(starts.astype(np.uint32), stops.astype(np.uint32), cuts)

    @property
    def _is_spelled(self) -> bool:
        """True if tokens spell the text, and cuts are in bytes."""
        return self._tokenizer.token_bytes is not None or self._tokenizer.kind == "chars"

    def _tokens(self, i: int, content: bytes, spans: Spans) -> tuple[Spans, Spans, Spans]:
        """Return where tokens of document i begin and end, and the matches, in bytes or in characters."""
        if self._is_spelled or content.isascii():
            return *byte_places(self._segment, self._tokenizer, i, content), spans
        text = content.decode("utf-8", "surrogateescape")
        places = token_places(self._segment, self._tokenizer, i, text)
        if places is None:
            raise other_tokens(self._segment, i)
        return places.starts, places.stops, _in_characters(content, spans)


def _in_characters(content: bytes, spans: Spans) -> Spans:
    """Return ranges of bytes of a text as ranges of characters. Cost: a pass over it."""
    bounds, places = np.unique(spans, return_inverse=True)
    pieces = pairwise([0, *bounds.tolist()])
    lengths = [len(content[start:stop].decode("utf-8", "surrogateescape")) for start, stop in pieces]
    return np.cumsum(lengths, dtype=np.int64)[places.reshape(spans.shape)]


def holds_token(
    segment: Segment,
    tokenizer: Tokenizer,
    starts: NDArray[np.uint32],
    stops: NDArray[np.uint32],
    cuts: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return which matches, given as by `find`, have a part of a token: (n,) bool; others are beside it.

    Cost: a pass over the text of each document with a match that begins or ends beside its only token.
    """
    held = np.ones(len(starts), dtype=np.bool_)
    owners = segment.index.documents_at(starts)
    is_empty = segment.lengths(owners) == 0
    held[is_empty] = False
    doubtful = np.flatnonzero((stops - starts == 1) & (cuts < 0).any(axis=1) & ~is_empty)
    for i in np.unique(owners[doubtful]).tolist():
        interrupts.check()
        here = doubtful[owners[doubtful] == i]
        content = segment.text(i, tokenizer) or b""
        places = token_places(segment, tokenizer, i, content.decode("utf-8", "surrogateescape"))
        if places is not None:
            _, tokens = segment.index.places_at(starts[here])
            lengths = (places.stops - places.starts)[tokens.astype(np.int64)]
            held[here] = (cuts[here] < lengths[:, None]).all(axis=1)
    return held

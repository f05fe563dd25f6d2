"""Ranges of texts that a removal takes out of documents, in bytes and in characters, for other programs.

Nothing is removed here. A range of a document that is removed as a whole is all of its text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.curation.cut_rules import CutRule
from ngramdb.curation.cutting import CutDocument, cut_segments
from ngramdb.curation.windows import Ranges
from ngramdb.errors import InvalidArgument
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus
from ngramdb.types import Docs

Spans = NDArray[np.int64]

_NONE: Spans = np.zeros((0, 2), dtype=np.int64)


@dataclass(frozen=True)
class Marks:
    """The documents of a segment that a removal takes, `gone`, and those it cuts, with their cuts."""

    gone: Docs
    cuts: Mapping[int, CutDocument] = field(default_factory=dict)


def of_documents(chosen: Sequence[Docs]) -> list[Marks]:
    """Return the marks of documents that are removed as a whole, given per segment."""
    return [Marks(docs) for docs in chosen]


def of_cuts(view: Corpus, ranges: Sequence[Ranges], rule: CutRule) -> list[Marks]:
    """Return what `cutting.cut` would cut. Raises like it."""
    made = cut_segments(view, ranges, rule)
    nothing = np.empty(0, dtype=np.uint32)
    return [Marks(nothing) if one is None else Marks(one.gone, one.cuts) for one in made]


class MarkedText(NamedTuple):
    """A document, its text, and the ranges of it that are removed, (k, 2) each, ascending and disjoint.

    The ranges are half-open, in bytes of UTF-8 and in characters.
    """

    segment: Segment
    number: int
    content: bytes
    bytes: Spans
    characters: Spans


def marked_texts(
    view: Corpus, marks: Sequence[Marks], documents: Iterator[tuple[Segment, int]]
) -> Iterator[MarkedText]:
    """Yield documents with what is removed from them. Raises InvalidArgument for one without a text.

    Cost: reading the texts.
    """
    of_segments = {
        id(segment): (frozenset(one.gone.tolist()), one.cuts)
        for segment, one in zip(view.segments, marks, strict=True)
    }
    for k, (segment, i) in enumerate(documents):
        if k % 256 == 0:
            interrupts.check()
        gone, cuts = of_segments[id(segment)]
        content = segment.text(i, view.tokenizer)
        if content is None:
            raise InvalidArgument(
                f"document {segment.doc_id(i)} has token ids without a text, so no range of it can be written"
            )
        spans = _NONE
        if i in gone:
            spans = np.array([[0, len(content)]], dtype=np.int64)
        elif i in cuts:
            spans = _filled(cuts[i].bytes)
        yield MarkedText(segment, i, content, spans, _in_characters(spans, content))


def _filled(spans: Spans) -> Spans:
    return spans[spans[:, 0] < spans[:, 1]]


def _in_characters(spans: Spans, content: bytes) -> Spans:
    if not len(spans):
        return _NONE
    data = np.frombuffer(content, dtype=np.uint8)
    before = np.concatenate([[0], np.cumsum((data & 0xC0) != 0x80)]).astype(np.int64)
    return before[spans]

"""Sums and differences of corpora, presented as one corpus: `FROM pile + c4 - takedown`.

The counts of all segments are summed with their signs. For each document of a subtracted corpus, one equal
document of the rest is left out of listings. A net count below zero means that the subtracted corpus is not
part of the rest: this raises an error that names the n-gram. Sums without a subtraction pay nothing
for the check.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, SupportsInt

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.index import Index
from ngramdb.engine.corpus.common import Listed, Matches, common_tokenizer, match_documents, translated
from ngramdb.engine.corpus.slice import (
    SentenceView,
    SliceView,
    forget_slices,
    in_sentences,
    prefers_slice,
    slice_of,
)
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.storage.manifest import SegmentEntry
from ngramdb.errors import ExecutionError
from ngramdb.fork_safety import cached_property
from ngramdb.segments.base import Segment
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.types import Docs

if TYPE_CHECKING:
    from ngramdb._cext.corpus.index import Estimates, ManyNextTokens
    from ngramdb._cext.segment.segment_index import Offsets, TokenIds

# Characters of a document that a message quotes.
SHOWN_CHARACTERS = 60
#: A limit for `Index.dist` that wants the next tokens of a context however often it occurs.
NO_LIMIT = 2**63 - 1


@dataclass(frozen=True)
class Term:
    """One corpus of a sum: `sign` is 1 or -1; `version` is None for the current one."""

    sign: int
    view: CorpusView
    version: int | None = None

    @property
    def label(self) -> str:
        name = self.view.entry.name
        return name if self.version is None else f"{name} AT VERSION {self.version}"


@dataclass(frozen=True)
class SumEntry:
    """The entry of a sum, as plans show it."""

    name: str
    segments: tuple[SegmentEntry, ...]


class AlgebraView:
    """Corpora with signs, at given versions, as one corpus. Immutable; safe to share between threads.

    Raises
    ------
    BindError
        the corpora do not share a tokenizer
    ResourceError
        vocabularies differ, and too many tokens would have to be translated
    """

    def __init__(self, terms: Sequence[Term]) -> None:
        self.terms = tuple(terms)
        first, *others = self.terms
        name = first.label if first.sign > 0 else f"- {first.label}"
        name += "".join(f" {'+' if term.sign > 0 else '-'} {term.label}" for term in others)
        segments = tuple(
            replace(segment, sign=term.sign * segment.sign)
            for term in self.terms
            for segment in term.view.entry.segments
        )
        self.entry = SumEntry(name, segments)
        self._tokenizer, self._maps = common_tokenizer([(term.label, term.view) for term in self.terms])

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    @property
    def n_added(self) -> int:
        return sum(term.sign > 0 for term in self.terms)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The segments of the added corpora, one corpus after the other."""
        return tuple(segment for term in self._opened if term.sign > 0 for segment in term.added)

    @cached_property
    def index(self) -> Index:
        """Counts over all segments, each with its sign. Net counts below zero raise errors."""
        segments, signs = [], []
        for term in self._opened:
            segments += [segment.index for segment in (*term.added, *term.subtracted)]
            signs += [term.sign] * len(term.added) + [-term.sign] * len(term.subtracted)
        if all(term.sign > 0 for term in self.terms):
            return Index(segments, signs)
        index = NetIndex(segments, signs)
        index.corpus = self
        return index

    @cached_property
    def n_documents(self) -> int:
        """Number of listed documents."""
        return sum(
            segment.n_documents - len(removed)
            for segment, removed in zip(self.segments, self._removed, strict=True)
        )

    @property
    def n_tokens(self) -> int:
        """Net number of tokens, separators not counted."""
        return sum(term.sign * term.view.n_tokens for term in self.terms)

    def removed(self, i: int) -> Docs:
        """Return the numbers of segment i's documents that do not count: removed or subtracted."""
        return self._removed[i]

    def corpus_of(self, i: int) -> str:
        """Return the corpus that segment i belongs to."""
        return self._names[i]

    def sliced(self, chosen: Sequence[Docs], shown: str, /) -> SliceView:
        """Return some of the listed documents as a corpus (`SliceView`)."""
        return slice_of(self, chosen, shown)

    def prefers_slice(self, chosen: Sequence[Docs], work: int, worth: int, /) -> bool:
        """Return True if the slice of these documents should answer (`Slices.prefers`)."""
        return prefers_slice(self, chosen, work, worth)

    def in_sentences(self) -> SentenceView:
        """Return the sentences as a corpus, one document per sentence (`SentenceView`)."""
        return in_sentences(self)

    def forget_slices(self) -> None:
        """Release the cached slices, which refer to this view."""
        forget_slices(self)

    @cached_property
    def _names(self) -> list[str]:
        return [term.label for term in self.terms if term.sign > 0 for _ in term.view.entry.added]

    @cached_property
    def _opened(self) -> list[_Opened]:
        return [
            _Opened(
                term.sign,
                term.view.entry.id,
                translated(term.view.segments, ids),
                translated(term.view.subtracted, ids),
                [term.view.removed(i) for i in range(len(term.view.segments))],
            )
            for term, ids in zip(self.terms, self._maps, strict=True)
        ]

    def lacking(self) -> str | None:
        """Describe the first subtracted document that the rest lacks; None if there is none.

        Cost: finding the documents that are not listed, once.
        """
        if self._matches is None or not self._matches.missing:
            return None
        first = self._matches.missing[0]
        text = self.tokenizer.decode(first.segment.document(int(first.numbers[0])))
        shown = text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"
        subtracted = " and ".join(term.label for term in self.terms if term.sign < 0)
        return f'{subtracted} is not part of the rest, which lacks its document "{shown}"'

    def check_difference(self) -> None:
        """Raise ExecutionError if a subtracted document is not part of the rest.

        Single counts are rejected when they are below zero. Callers that use many counts at once, such as
        language models, or the occurrences in listed documents, call this instead. Cost: that of `lacking`.
        """
        lacking = self.lacking()
        if lacking is not None:
            raise ExecutionError(f"{lacking}: {self.entry.name} has counts of single n-grams only")

    @cached_property
    def _matches(self) -> Matches | None:
        """The documents of the rest that equal the subtracted ones; None if nothing is subtracted."""
        rest = [listed for term in self._opened if term.sign > 0 for listed in term.listed()]
        wanted = [listed for term in self._opened if term.sign < 0 for listed in term.listed()]
        return match_documents(rest, wanted) if wanted else None

    @cached_property
    def _removed(self) -> list[Docs]:
        removed = [docs for term in self._opened if term.sign > 0 for docs in term.removed]
        if self._matches is None:
            return removed
        taken = self._matches.found
        return [np.union1d(own, other) for own, other in zip(removed, taken, strict=True)]


@dataclass(frozen=True)
class _Opened:
    """The segments of a term, in the ids of the common tokenizer."""

    sign: int
    corpus: str
    added: list[Segment]
    subtracted: list[Segment]
    removed: list[Docs]

    def listed(self) -> list[Listed]:
        """Return the documents that count in the corpus itself."""
        return [
            Listed(segment, np.delete(np.arange(segment.n_documents, dtype=np.uint32), removed), self.corpus)
            for segment, removed in zip(self.added, self.removed, strict=True)
        ]


class NetIndex(Index):
    """An index whose answers must not be below zero. Errors refer to `corpus`."""

    corpus: AlgebraView

    def count(self, ids: TokenIds, /) -> int:
        count: int = super().count(ids)
        if count < 0:
            self._refuse(ids, count)
        return count

    def count_many(self, flat: TokenIds, offsets: Offsets) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = super().count_many(flat, offsets)
        if len(counts) and counts.min() < 0:
            i = int(np.argmin(counts))
            self._refuse(flat[offsets[i] : offsets[i + 1]], int(counts[i]))
        return counts

    def prob(
        self, context: TokenIds, token: int, infgram: bool = False, order: int = 0
    ) -> tuple[int, int, int, bool]:
        step = super().prob(context, token, infgram, order)
        if not 0 <= step[0] <= step[1]:
            self._refuse_step([*context, token], step)
        return step

    def prob_many(
        self, flat: TokenIds, offsets: Offsets, tokens: TokenIds, infgram: bool = False, order: int = 0
    ) -> Estimates:
        steps = super().prob_many(flat, offsets, tokens, infgram, order)
        i = _wrong(steps)
        if i is not None:
            context = list(flat[offsets[i] : offsets[i + 1]])
            self._refuse_step([*context, tokens[i]], [column[i] for column in steps])
        return steps

    def score(
        self, flat: TokenIds, offsets: Offsets, infgram: bool = False, order: int = 0, least: int = 1
    ) -> Estimates:
        steps = super().score(flat, offsets, infgram, order, least)
        i = _wrong(steps)
        if i is not None:
            self._refuse_step(list(flat[: i + 1]), [column[i] for column in steps])
        return steps

    def dist(self, context: TokenIds, infgram: bool = False, order: int = 0, most: int = NO_LIMIT) -> Any:
        found = super().dist(context, infgram, order, most)
        if found is None:
            return None
        ids, counts, n_end, context_count, length = found
        used = list(context)[len(context) - length :]
        if context_count < 0 or n_end < 0:
            self._refuse(used, min(context_count, n_end))
        if len(counts) and counts.min() < 0:
            i = int(np.argmin(counts))
            self._refuse([*used, ids[i]], int(counts[i]))
        return found

    def dist_many(
        self, flat: TokenIds, offsets: Offsets, infgram: bool = False, order: int = 0
    ) -> ManyNextTokens:
        found = super().dist_many(flat, offsets, infgram, order)
        starts, _, counts, n_end, context_count, _ = found
        below = np.flatnonzero(counts < 0)
        wrong = (n_end < 0) | (context_count < 0)
        wrong[np.searchsorted(starts, below, side="right") - 1] = True
        for i in np.flatnonzero(wrong)[:1].tolist():
            self.dist(list(flat[offsets[i] : offsets[i + 1]]), infgram, order)  # raises the precise error
        return found

    def _refuse_step(self, ngram: Sequence[int], step: Sequence[Any]) -> NoReturn:
        """Raise for the part of an estimate that is below zero: its context, or that with the last token.

        If neither is, the n-gram occurs more often than its context: then another continuation of that
        context is below zero.
        """
        used = ngram[len(ngram) - int(step[2]) :]
        if 0 <= step[1] < step[0]:
            self.dist(used[:-1])
        self._refuse(used[:-1] if step[1] < 0 else used, int(min(step[0], step[1])))

    def _refuse(self, ids: Iterable[SupportsInt], count: int) -> NoReturn:
        tokenizer = self.corpus.tokenizer
        shown = tokenizer.decode(np.array([int(i) for i in ids], dtype=np.uint32))
        subtracted = " and ".join(term.label for term in self.corpus.terms if term.sign < 0)
        raise ExecutionError(
            f'"{shown}" would occur {count:,} times in {self.corpus.entry.name}: '
            f"{subtracted} is not part of the rest"
        )


def _wrong(steps: Sequence[NDArray[Any]]) -> int | None:
    """Return the first estimate with a count below zero, or above that of its context."""
    wrong = (steps[0] < 0) | (steps[1] < steps[0])
    return int(np.argmax(wrong)) if wrong.any() else None

"""Evaluating occurrence expressions on one segment: how many, in which documents, at which positions.

A place that several alternatives of OR find counts once.

An occurrence is the piece of text that it takes up. `"a" OR "a b"` finds two at the same place, `"a" OR "A"
IGNORE CASE` one. If all alternatives are exact n-grams, or sequences of tokens that spell a string, they
become one list of n-grams without repetition, which is counted by the index; others whose occurrences cannot
be the same are added up, and what is left is compared place by place (`distinct` in `occurrences`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.joins import documents_covered, unite, values_within, windows_with
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.interruptible_sort import counted, each_once, order_of
from ngramdb.conditions.occurrences import Finder, Occurrences, Positions, Windows, distinct, limited, summed
from ngramdb.conditions.stored_text import WHITE_SPACE, Cuts, spelled_cuts
from ngramdb.errors import CorruptionError, InvalidArgument
from ngramdb.patterns import Gapped, Gram, Pattern, StoredText, StoredWords, TokenPattern, Variants, one_case
from ngramdb.planner import choices
from ngramdb.planner.plan import (
    Among,
    AnyOf,
    DocExpr,
    InDocs,
    Nearby,
    NearTo,
    OccurrencesOf,
    Occurring,
    PlanMeter,
    Several,
)
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.types import Docs

_WHITE_SPACE = re.compile(f"[{WHITE_SPACE}]+")

Key = tuple[int, ...]


def united(expr: Occurring, tokenizer: Tokenizer) -> Occurring:
    """Return the expression with the alternatives of each OR merged into one pattern where possible.

    Cost: what comparing the n-grams costs; strings are looked for within n-grams that several alternatives
    have.
    """
    if isinstance(expr, AnyOf):
        return _united(tuple(united(operand, tokenizer) for operand in expr.operands), tokenizer)
    if isinstance(expr, Several):
        return replace(expr, operands=tuple(united(operand, tokenizer) for operand in expr.operands))
    if isinstance(expr, (Among, InDocs, NearTo)):
        what = united(expr.what, tokenizer)
        return expr if what is expr.what else replace(expr, what=what)
    return expr


def _united(operands: tuple[Occurring, ...], tokenizer: Tokenizer) -> Occurring:
    patterns = [item.pattern for item in operands if isinstance(item, OccurrencesOf)]
    texts = _unimplied([item for item in patterns if isinstance(item, StoredText)])
    exact = [item for item in patterns if isinstance(item, (Gram, Variants))]
    kept: list[Occurring] = [OccurrencesOf(text) for text in texts]
    if exact:
        found = _merged(exact, tokenizer)
        if found.grams:
            kept.append(OccurrencesOf(found))
    for item in operands:
        if not isinstance(item, OccurrencesOf) or not isinstance(item.pattern, (Gram, StoredText, Variants)):
            kept.append(item)
    return kept[0] if len(kept) == 1 else AnyOf(tuple(kept))


def _unimplied(texts: Sequence[StoredText]) -> list[StoredText]:
    """Return the strings that no other one covers, in any case of their letters."""
    any_case = {one_case(text.text) for text in texts if text.ignore_case}
    kept: dict[tuple[str, bool], StoredText] = {}
    for text in texts:
        if text.ignore_case:
            kept.setdefault((one_case(text.text), True), text)
        elif one_case(text.text) not in any_case:
            kept.setdefault((text.text, False), text)
    return list(kept.values())


def _merged(patterns: Sequence[Gram | Variants], tokenizer: Tokenizer) -> Variants:
    """Merge the n-grams of all patterns, each as often as strings begin in it at different places."""
    merged: dict[Key, tuple[Gram, int, list[Gram | Variants]]] = {}
    for pattern in patterns:
        grams = (pattern,) if isinstance(pattern, Gram) else pattern.grams
        weights = (1,) if isinstance(pattern, Gram) else pattern.weights
        for gram, weight in zip(grams, weights, strict=True):
            if not gram.known:
                continue
            known = merged.get(gram.key)
            if known is None:
                merged[gram.key] = gram, weight, [pattern]
            else:
                known[2].append(pattern)
    cuts = [_cuts_of(gram, owners, weight, tokenizer) for gram, weight, owners in merged.values()]
    return Variants(
        " or ".join(pattern.shown for pattern in patterns),
        tuple(gram for gram, _, _ in merged.values()),
        tuple(map(len, cuts)),
        cuts=tuple(cuts),
    )


def _cuts_of(gram: Gram, owners: Sequence[Gram | Variants], weight: int, tokenizer: Tokenizer) -> Cuts:
    """Which parts of an n-gram's text its patterns find, without repetition."""
    found: dict[tuple[int, int], None] = {}
    for owner in owners:
        sought = owner.sought if isinstance(owner, Variants) else None
        found.update(dict.fromkeys(spelled_cuts(gram, sought, tokenizer)))
    return tuple(found) if len(owners) > 1 or len(found) == weight else ((0, 0),) * weight


def net_count(corpus: Corpus, expr: Occurring) -> int | None:
    """Return the count of an expression from the index alone; None if it is no sum of n-grams' counts."""
    if isinstance(expr, AnyOf):
        if not are_apart(expr.operands, corpus.tokenizer):
            return None
        counts = [net_count(corpus, operand) for operand in expr.operands]
        return None if None in counts else sum(n for n in counts if n is not None)
    pattern = expr.pattern if isinstance(expr, OccurrencesOf) else None
    if isinstance(pattern, Gram):
        return int(corpus.index.count(pattern.ids))
    if isinstance(pattern, Variants):
        pairs = zip(pattern.grams, pattern.weights, strict=True)
        return sum(weight * int(corpus.index.count(gram.ids)) for gram, weight in pairs)
    return None


def are_apart(operands: Sequence[Occurring], tokenizer: Tokenizer) -> bool:
    """Return True if no two of them can share an occurrence, so that counts add up."""
    keys: set[Key] = set()
    texts: list[StoredText] = []
    for operand in operands:
        patterns = _patterns_of(operand)
        if len(operands) > 1 and any(
            isinstance(item, (Gapped, StoredWords, TokenPattern)) for item in patterns
        ):
            return False
        texts += [item for item in patterns if isinstance(item, StoredText)]
        own = {key for item in patterns if isinstance(item, (Gram, Variants)) for key in _keys(item)}
        if not keys.isdisjoint(own):
            return False
        keys |= own
    if len(_unimplied(texts)) < len(texts):
        return False
    spelled = {one_case(_solid(text.text)) for text in texts}
    return not spelled or spelled.isdisjoint(one_case(_spelled(key, tokenizer)) for key in keys)


def _patterns_of(expr: Occurring) -> list[Pattern]:
    """Return the patterns of an expression's occurrences; for an OR, those of all operands."""
    if isinstance(expr, OccurrencesOf):
        return [expr.pattern]
    if isinstance(expr, AnyOf):
        return [pattern for operand in expr.operands for pattern in _patterns_of(operand)]
    return _patterns_of(expr.what) if isinstance(expr, (Among, InDocs, NearTo)) else []


def _keys(pattern: Gram | Variants) -> set[Key]:
    return {pattern.key} if isinstance(pattern, Gram) else {gram.key for gram in pattern.grams}


def _solid(text: str) -> str:
    return _WHITE_SPACE.sub("", text)


def _spelled(key: Key, tokenizer: Tokenizer) -> str:
    return "".join(map(tokenizer.token_text, key)) if min(key, default=0) >= 0 else ""


# ---- Evaluation on one segment.


Counts = tuple[Docs, NDArray[np.int64]]


class DocumentConditions(choices.Sizes, Protocol):
    """The evaluation of conditions on the segment's documents."""

    def evaluate(self, expr: DocExpr, /) -> DocSet: ...
    def restrict(self, expr: DocExpr, candidates: Docs, /) -> Docs: ...


class Expressions:
    """Evaluates occurrence expressions. `within` limits any of them to some documents; None means all."""

    def __init__(
        self, finder: Finder, conditions: DocumentConditions, meter: PlanMeter | None, tokenizer: Tokenizer
    ) -> None:
        self._finder = finder
        self._tokenizer = tokenizer
        self._apart: dict[int, bool] = {}
        self._conditions = conditions
        self._meter = meter

    def bound(self, expr: Occurring) -> int:
        """At most how many occurrences there are. Cost: a search per n-gram, the first time."""
        return choices.bound(expr, self._conditions)

    def keep_cuts(self) -> None:
        """Make all occurrences record which part of their tokens they cover (`Occurrences.cuts`)."""
        self._finder.cutting = True

    # ---- how many ---------------------------------------------------------------------------------------

    def total(self, expr: Occurring, within: DocSet | None = None) -> int:
        """Return the number of occurrences."""
        if self._meter is None:
            return self._total(expr, within)
        with self._meter.timed(expr) as actual:
            found = self._total(expr, within)
            actual.rows += found
        return found

    def _total(self, expr: Occurring, within: DocSet | None) -> int:
        whole = within is None or (within.negated and not len(within.docs))
        if isinstance(expr, OccurrencesOf) and whole:
            return self._finder.count(expr.pattern)
        if isinstance(expr, AnyOf):
            if self._are_apart(expr):
                return sum(self.total(operand, within) for operand in expr.operands)
            return len(self._occurrences(expr, within, None))
        if isinstance(expr, InDocs):
            found = self._in_documents(expr, within)
            if expr.difference and found.negated and self.bound(expr.what):
                left_out = DocSet(found.docs, found.n_documents)
                return self.total(expr.what) - self._left_out(expr.what, left_out)
            return self._sum(expr.what, found)
        return self._sum(expr, within)

    def _left_out(self, expr: Occurring, documents: DocSet) -> int:
        """Return the occurrences that are subtracted from all."""
        if self._meter is None:
            return self._total(expr, documents)
        with self._meter.aside():
            return self._total(expr, documents)

    def _sum(self, expr: Occurring, within: DocSet | None) -> int:
        if isinstance(expr, NearTo):
            return len(self.occurrences(expr, within))
        return int(self.counts(expr, within)[1].sum())

    def counts(self, expr: Occurring, within: DocSet | None = None) -> Counts:
        """Documents with occurrences, ascending, and how many: (k,) uint32 and (k,) int64."""
        if self._meter is None:
            return self._counts(expr, within)
        with self._meter.timed(expr) as actual:
            found = self._counts(expr, within)
            actual.rows += int(found[1].sum())
        return found

    def _counts(self, expr: Occurring, within: DocSet | None) -> Counts:
        if isinstance(expr, OccurrencesOf):
            return self._finder.counts(expr.pattern, within)
        if isinstance(expr, AnyOf):
            if not self._are_apart(expr):
                return self._counted(self._occurrences(expr, within, None))
            parts = [self.counts(operand, within) for operand in expr.operands]
            return summed([docs for docs, _ in parts], [counts for _, counts in parts])
        if isinstance(expr, InDocs):
            if self._occurrences_first(expr):
                docs, counts = self.counts(expr.what, within)
                kept = self._conditions.restrict(expr.docs, docs)
                return limited(docs, counts, DocSet(kept, self._finder.n_documents))
            return self.counts(expr.what, self._documents_first(expr, within))
        return self._counted(self._occurrences(expr, within, None))

    def _counted(self, found: Occurrences) -> Counts:
        return counted(self._finder.documents_at(found))

    def _are_apart(self, expr: AnyOf) -> bool:
        """Return True if the counts of the alternatives add up."""
        apart = self._apart.get(id(expr))
        if apart is None:
            apart = self._apart[id(expr)] = are_apart(expr.operands, self._tokenizer)
        return apart

    # ---- in documents -----------------------------------------------------------------------------------

    def documents(self, expr: Occurring) -> Docs:
        """Return the documents with an occurrence: (k,) uint32, ascending."""
        if isinstance(expr, OccurrencesOf):
            return self._finder.documents(expr.pattern)
        if isinstance(expr, AnyOf):
            return reduce(unite, map(self.documents, expr.operands))
        return self.counts(expr)[0]

    def _occurrences_first(self, expr: InDocs) -> bool:
        path = choices.in_docs_path(expr, self._conditions)
        if self._meter is not None:
            self._meter.note(expr, path)
        return path == choices.OCCURRENCES_FIRST

    def _in_documents(self, expr: InDocs, within: DocSet | None) -> DocSet:
        """Return the documents of an InDocs, or, if there are too many, only those that have occurrences."""
        if self._occurrences_first(expr):
            docs = self.documents(expr.what)
            if within is not None:
                docs = (DocSet(docs, self._finder.n_documents) & within).docs
            return DocSet(self._conditions.restrict(expr.docs, docs), self._finder.n_documents)
        return self._documents_first(expr, within)

    def _documents_first(self, expr: InDocs, within: DocSet | None) -> DocSet:
        found = self._conditions.evaluate(expr.docs)
        return found if within is None else found & within

    # ---- where ------------------------------------------------------------------------------------------

    def occurrences(
        self, expr: Occurring, within: DocSet | None = None, windows: Windows | None = None
    ) -> Occurrences:
        """Return the occurrences, or only those that start in the windows, if given."""
        if self._meter is None:
            return self._occurrences(expr, within, windows)
        with self._meter.timed(expr) as actual:
            found = self._occurrences(expr, within, windows)
            actual.rows += len(found)
        return found

    def _occurrences(self, expr: Occurring, within: DocSet | None, windows: Windows | None) -> Occurrences:
        if isinstance(expr, OccurrencesOf):
            if windows is None:
                return self._finder.within(expr.pattern, within)
            return self._finder.limited(self._finder.occurrences(expr.pattern, windows), within)
        if isinstance(expr, AnyOf):
            self._finder.cutting = True
            return distinct([self.occurrences(operand, within, windows) for operand in expr.operands])
        if isinstance(expr, InDocs):
            return self.occurrences(expr.what, self._in_documents(expr, within), windows)
        if isinstance(expr, NearTo):
            found = self._near(expr, within)
            return found if windows is None else found[values_within(found.starts, windows.lo, windows.hi)]
        return Occurrences.none()

    def _near(self, expr: NearTo, within: DocSet | None) -> Occurrences:
        if any(not self.bound(other) for other in (expr.what, *expr.others)):
            return Occurrences.none()
        operands = (expr.what, *expr.others, *expr.apart)
        order = choices.near_order_of(expr, self._conditions)
        if self._meter is not None:
            self._meter.order(expr, order)
        found = self._inside(self.occurrences(operands[order[0]], within), expr.tokens)
        for i in order[1:]:
            if i == 0:
                # The first operand is looked for only in what starts near the seed; so the seed is done.
                found = self._around(found, expr.what, within, expr.tokens)
            else:
                near = self._is_near(found, operands[i], within, expr.tokens)
                found = found[near if i <= len(expr.others) else ~near]
        return found

    def _around(
        self, seed: Occurrences, expr: Occurring, within: DocSet | None, tokens: int | None
    ) -> Occurrences:
        """Return the occurrences of an expression that start near one of the seed's."""
        lo, hi = self._windows(seed, tokens)
        return self._inside(self.occurrences(expr, within, Windows.around(lo, hi)), tokens)

    def _windows(self, found: Occurrences, tokens: int | None) -> tuple[Positions, Positions]:
        """Return a window around each occurrence: this many tokens on either side, or its sentence."""
        if tokens is None:
            return self._finder.sentences_of(found)
        return self._finder.windows_around(found.starts, tokens, tokens)

    def _inside(self, found: Occurrences, tokens: int | None) -> Occurrences:
        """Drop occurrences that leave their sentence, if `tokens` is None."""
        return found if tokens is not None else found[found.stops <= self._finder.sentences_of(found)[1]]

    def _is_near(
        self, found: Occurrences, other: Occurring, within: DocSet | None, tokens: int | None
    ) -> NDArray[np.bool_]:
        """Which of the occurrences have one of the other near them."""
        if not len(found):
            return np.empty(0, dtype=np.bool_)
        lo, hi = self._windows(found, tokens)
        near = self._inside(self.occurrences(other, within, Windows.around(lo, hi)), tokens)
        return np.asarray(windows_with(near.starts, lo, hi))

    # ---- documents whose operands are near each other ---------------------------------------------------

    def nearby(self, expr: Nearby, candidates: Docs | None) -> Docs:
        """Return the documents of a Nearby, among all or among candidates."""
        within = None if candidates is None else DocSet(candidates, self._finder.n_documents)
        order = choices.order_of(expr, self._conditions).numbers
        if self._meter is not None:
            self._meter.order(expr, order)
        operands = [expr.operands[i] for i in order]
        lists = [self._inside(self.occurrences(operands[0], within), expr.tokens)]
        for operand in operands[1:]:
            if not len(lists[0]):
                return np.empty(0, dtype=np.uint32)
            lists.append(self._around(lists[0], operand, within, expr.tokens))
        return self._covered(lists, expr.tokens)

    def _covered(self, lists: list[Occurrences], tokens: int | None) -> Docs:
        if tokens is None:  # within a sentence any distance counts
            values = np.concatenate([self._finder.sentences_of(found)[0] for found in lists])
        else:
            values = np.concatenate([found.starts for found in lists])
        numbers = np.repeat(np.arange(len(lists), dtype=np.uint32), [len(found) for found in lists])
        order = order_of(values)
        values, numbers = values[order], numbers[order]
        documents, pieces = self._finder.pieces_at(values)
        found = documents_covered(values, numbers, pieces, len(lists), tokens or 0)
        docs: Docs = each_once(documents[np.searchsorted(pieces, found)])
        return docs


# ---- Token ids that an index gave and the vocabulary lacks: the fault of a file, not of the question.


@contextmanager
def from_files(tokenizer: Tokenizer, segments: Sequence[Segment]) -> Iterator[None]:
    """Guard code that turns ids of segments into text.

    Raises CorruptionError in place of InvalidArgument if a segment has an id beyond the vocabulary.
    Cost: nothing; after an error a pass over the segments' tokens.
    """
    try:
        yield
    except InvalidArgument as error:
        n_vocabulary = tokenizer.n_vocabulary
        for segment in segments:
            largest = segment.largest_id()
            if largest >= n_vocabulary:
                raise CorruptionError(
                    f"segment {segment.path} is damaged: it has the token id {largest}, and the vocabulary "
                    f"{n_vocabulary} ids; restore the file from a backup, or load its documents again",
                    path=segment.path,
                    expected=f"an id below {n_vocabulary}",
                    found=largest,
                ) from error
        raise

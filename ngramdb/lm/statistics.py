"""Counts of counts of a corpus and their discounts: computed by ANALYZE and stored in the catalog.

Source: Chen & Goodman 1999, section 3.3 (discounts from counts of counts); adjusted counts as in Heafield et
al. 2013, section 3. Without a limit on order: Shareghi et al. 2016, section 4, the discounts of the last
length for which they can be estimated are reused above.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any
from weakref import WeakKeyDictionary

from ngramdb import fork_safety
from ngramdb._cext.lm.models import LanguageIndex
from ngramdb.errors import InvalidArgument
from ngramdb.lm.spec import MAX_ANALYZED_ORDER, View, separator_of
from ngramdb.registries import CHARACTER_TOKENIZERS

# Default lengths up to which discounts are estimated, by kind of token; the last
# ones are reused above.
MAX_LENGTH = 10
MAX_LENGTH_OF_CHARACTERS = 50

# KenLM's discounts for lengths for which they cannot be estimated (its option --discount_fallback).
FALLBACK = (0.5, 1.0, 1.5)

# The version of the stored form.
FORMAT = 1

Discount = tuple[float, float, float]


def fingerprint(view: View, separator: int | None = None) -> tuple[str, ...]:
    """Identify the segments of a corpus with their signs, and the sentences they are cut into.

    Statistics are valid for exactly these.

    Files are distinguished by name, size and checksum, slices of a corpus by their `identity`; segments
    without a file by their numbers of documents and tokens. separator : the token between sentences; by
    default the corpus's own, if it has one.
    """
    if separator is None:
        separator = separator_of(view)
    cut = () if separator is None else (f"separator:{separator}",)
    return _segments(view) + cut


def _segments(view: View) -> tuple[str, ...]:
    identity = getattr(view, "identity", None)
    if identity is not None:
        return (identity,)
    entry = getattr(view, "entry", None)
    if entry is not None and all(hasattr(segment, "file") for segment in entry.segments):
        return tuple(
            f"{'+' if s.sign > 0 else '-'}{s.file.name}:{s.file.size}:{s.file.crc:08x}"
            for s in entry.segments
        )
    parts = zip(view.index.segments, view.index.signs, strict=True)
    return tuple(f"{'+' if sign > 0 else '-'}{s.n_documents}:{s.n_tokens}" for s, sign in parts)


@dataclass(frozen=True)
class Statistics:
    """Counts of counts by n-gram length, from 1 on.

    Attributes
    ----------
    continuation : for each length, the numbers of n-grams with an adjusted count of 1, 2, 3, 4: that is the
        number of different left neighbours, or of occurrences for n-grams that begin with `<s>`
    raw : the same by occurrences
    n_types : different n-grams of each length, `<s>` and `</s>` being tokens
    n_left_of_end : different tokens before `</s>`
    segments : the fingerprint of the segments and sentences from which they were computed
    frequent : the most frequent n-grams, as returned by `LanguageIndex.counts_of_counts`, so that a model
        need not pass over all of their occurrences
    """

    max_length: int
    n_tokens: int
    n_documents: int
    n_left_of_end: int
    n_types: tuple[int, ...]
    continuation: tuple[tuple[int, int, int, int], ...]
    raw: tuple[tuple[int, int, int, int], ...]
    segments: tuple[str, ...]
    frequent: tuple[tuple[int, ...], ...] = ()

    def describes(self, view: View, separator: int | None = None) -> bool:
        """Return True if the corpus still consists of the segments and sentences of these statistics."""
        return self.segments == fingerprint(view, separator)

    def as_dict(self) -> dict[str, Any]:
        """Return numbers, strings and lists: ready for JSON."""
        plain = {name: _as_lists(value) for name, value in asdict(self).items()}
        return {"format": FORMAT, **plain}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Statistics:
        """Invert `as_dict`. Raises InvalidArgument for any other mapping."""
        names = [field.name for field in fields(cls) if field.name in stored or field.name != "frequent"]
        if stored.get("format") != FORMAT or any(name not in stored for name in names):
            raise InvalidArgument(
                "these are not statistics of a corpus, or those of a newer version; run ANALYZE again"
            )
        return cls(**{name: _as_tuples(stored[name]) for name in names})

    def discount(self, length: int, *, raw: bool = False) -> Discount:
        """Return D1, D2, D3+ of an n-gram length.

        Parameters
        ----------
        length : beyond max_length, the discounts of the last length for which they can be estimated are used
        raw : count occurrences instead of adjusted counts
        """
        table = self.raw if raw else self.continuation
        if length <= self.max_length:
            return discounts_of(table[length - 1])[0]
        return next(
            (found for found, is_estimated in map(discounts_of, reversed(table)) if is_estimated), FALLBACK
        )

    def discounts(self) -> tuple[Discount, ...]:
        """Discounts of lengths 1 … max_length, by adjusted counts."""
        return tuple(self.discount(length) for length in range(1, self.max_length + 1))

    def fallbacks(self, order: int | None = None) -> tuple[int, ...]:
        """Return lengths (of a model of that order) whose discounts are the fallback 0.5, 1, 1.5.

        The usual reason is a small corpus; others are word classes and unusual tokens.
        """
        return tuple(n for n, (_, is_estimated) in self._estimates(order).items() if not is_estimated)

    def zeros(self, order: int | None = None) -> tuple[int, ...]:
        """Return lengths (of a model of that order) with a discount of 0, which KenLM uses, too.

        A context whose successors all have such a count leaves nothing to other words.
        """
        return tuple(n for n, (found, _) in self._estimates(order).items() if min(found) == 0)

    def _estimates(self, order: int | None) -> dict[int, tuple[Discount, bool]]:
        lengths = range(1, (self.max_length if order is None else min(order, self.max_length)) + 1)
        return {n: discounts_of((self.raw if n == order else self.continuation)[n - 1]) for n in lengths}

    def note(self, order: int | None = None) -> str | None:
        """Return a remark on lengths (of a model of that order) with unusual discounts, or None."""
        said = []
        if lengths := self.fallbacks(order):
            said.append(
                f"the corpus is too small (or unusual) to estimate Kneser-Ney discounts for n-grams of "
                f"length {_listed(lengths)}; "
                f"{FALLBACK[0]}, {FALLBACK[1]:g} and {FALLBACK[2]} stand in"
            )
        if lengths := self.zeros(order):
            said.append(
                f"a discount is 0 for n-grams of length {_listed(lengths)}, so that after some contexts "
                "words have probability 0"
            )
        if order is not None and order > self.max_length:
            most = min(order, MAX_ANALYZED_ORDER)
            said.append(
                f"Kneser-Ney discounts were counted for n-grams of up to {self.max_length} tokens, and "
                f"longer ones reuse the last that could be estimated; ANALYZE … ORDER {most} counts more"
            )
        return ". ".join(said) or None

    def reusing(self) -> Statistics:
        """Return the same with Shareghi et al.'s discounts for lengths for which none can be estimated.

        They are those of the last shorter length for which they can, in place of KenLM's 0.5, 1 and 1.5.
        """
        return _ReusingStatistics(**{field.name: getattr(self, field.name) for field in fields(self)})

    @property
    def empty_context(self) -> tuple[int, int, int, int]:
        """The sum of adjusted unigram counts, and how many are 1, 2 and 3 or more: for the empty context."""
        ones, twos = self.continuation[0][:2]
        return self.n_types[1], ones, twos, self.n_types[0] - ones - twos


class _ReusingStatistics(Statistics):
    def discount(self, length: int, *, raw: bool = False) -> Discount:
        table = (self.raw if raw else self.continuation)[: min(length, self.max_length)]
        estimates = map(discounts_of, reversed(table))
        return next((found for found, is_estimated in estimates if is_estimated), FALLBACK)

    def fallbacks(self, order: int | None = None) -> tuple[int, ...]:
        lengths = super().fallbacks(order)
        return tuple(n for n in lengths if self.discount(n, raw=n == order) == FALLBACK)

    def note(self, order: int | None = None) -> str | None:
        lengths = [n for n in super().fallbacks(order) if n not in self.fallbacks(order)]
        reused = (
            f"Kneser-Ney discounts of n-grams of length {_listed(lengths)} cannot be estimated: they are "
            f"those of the last shorter length for which they can"
        )
        notes = (reused if lengths else None, super().note(order))
        return ". ".join(note for note in notes if note) or None


def discounts_of(counts: Iterable[int]) -> tuple[Discount, bool]:
    """Return D1, D2, D3+ from t1 … t4, and True if they could be estimated.

    Y = t1 / (t1 + 2 t2), D_k = k - (k + 1) Y t_{k+1} / t_k. They cannot if t1, t2 or t3 is 0, or a D_k is
    outside [0, k].

    Notes
    -----
    Source: Chen & Goodman 1999, equation 26.
    """
    t1, t2, t3, t4 = counts
    if min(t1, t2, t3) <= 0:
        return FALLBACK, False
    y = t1 / (t1 + 2 * t2)
    d1, d2, d3 = 1 - 2 * y * t2 / t1, 2 - 3 * y * t3 / t2, 3 - 4 * y * t4 / t3
    if not (0 <= d1 <= 1 and 0 <= d2 <= 2 and 0 <= d3 <= 3):
        return FALLBACK, False
    return (d1, d2, d3), True


def max_length_of(view: View) -> int:
    """Return the length up to which discounts are estimated for this kind of tokens."""
    return MAX_LENGTH_OF_CHARACTERS if view.tokenizer.kind in CHARACTER_TOKENIZERS else MAX_LENGTH


def take_statistics(view: View, index: LanguageIndex, max_length: int | None = None) -> Statistics:
    """Compute the statistics of a corpus. Cost: one pass over its suffix arrays; less than building them."""
    length = max_length_of(view) if max_length is None else max_length
    continuation, raw, n_types, n_left_of_end, frequent = index.counts_of_counts(length)
    return Statistics(
        max_length=length,
        n_tokens=index.n_tokens,
        n_documents=index.n_sentences,
        n_left_of_end=n_left_of_end,
        n_types=_as_tuples(n_types.tolist()),
        continuation=_as_tuples(continuation.tolist()),
        raw=_as_tuples(raw.tolist()),
        segments=fingerprint(view, index.separator),
        frequent=tuple(frequent),
    )


def _listed(numbers: Sequence[int]) -> str:
    """Return ascending numbers, three or more in a row as a range: `1, 3 to 10`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run) for run in runs)
    return ", ".join(part for some in parts for part in some)


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, (list, tuple)) else value


def _as_lists(value: Any) -> Any:
    return list(map(_as_lists, value)) if isinstance(value, (list, tuple)) else value


# ---- Data shared by all models over one corpus, computed once and cached while the corpus is in use.


_LOCK = fork_safety.lock()
# Indexes by view and by the token between sentences.
_INDEXES: WeakKeyDictionary[View, dict[int | None, LanguageIndex]] = WeakKeyDictionary()


def language_index(view: View, separator: int | None = None) -> LanguageIndex:
    """Return the corpus as indexed for language models; the first call passes over the suffix arrays.

    separator : the token between sentences; by default the corpus's own, if it has one

    Raises
    ------
    InvalidArgument
        the corpus has token ids that are too large; the corpora of a sum have different
        separators
    """
    if separator is None:
        separator = separator_of(view)
    with _LOCK:
        found = _INDEXES.get(view, {}).get(separator)
    if found is not None:
        return found
    try:
        made = LanguageIndex(view.index.segments, view.index.signs, separator)
    except ValueError as error:
        raise InvalidArgument(str(error)) from error
    with _LOCK:
        return _INDEXES.setdefault(view, {}).setdefault(separator, made)


def carry_over(before: View, after: View) -> None:
    """Let a view use the cached data of another one with the same segments."""
    with _LOCK:
        found = _INDEXES.get(before)
        if found is not None:
            _INDEXES.setdefault(after, dict(found))


def analyze(view: View, max_length: int | None = None, *, separator: int | None = None) -> Statistics:
    """Compute counts of counts of a corpus, for Kneser-Ney, as ANALYZE does.

    max_length: the greatest n-gram length; 10 by default, 50 if tokens are characters or bytes.
    separator: the token between sentences; by default the corpus's own, if it has one.
    Cost: one pass over the suffix arrays; less than building them. Stops and reports according to
    `ngramdb.interrupts`.
    """
    return take_statistics(view, language_index(view, separator), max_length)

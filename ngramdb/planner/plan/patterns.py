"""Patterns: what is looked for. An exact n-gram, several, parts with gaps, or a string of stored texts."""

from __future__ import annotations

from dataclasses import dataclass, field

from ngramdb.planner.plan.grams import Gram


@dataclass(frozen=True)
class Variants:
    """Several exact n-grams whose occurrences are counted together: MATCH TEXT, IGNORE CASE.

    `weights[i]` is in how many places the string begins within the first token of variant i (the string `a`
    begins thrice in the token `aaa`); so often each of its occurrences counts. `counts` are the n-grams' own.
    `sought` is the string where it may be a part of its tokens' text, None where they are all of it. `cuts`,
    where they are known, are for each n-gram how many bytes at its beginning and end are not the string's, a
    pair for each place.
    """

    shown: str = field(compare=False)
    grams: tuple[Gram, ...]
    weights: tuple[int, ...]
    counts: tuple[int, ...] = field(default=(), compare=False)
    sought: StoredText | None = field(default=None, compare=False)
    cuts: tuple[tuple[tuple[int, int], ...], ...] | None = field(default=None, compare=False)

    @property
    def known(self) -> bool:
        """Whether it can occur."""
        return bool(self.grams)

    def details(self) -> tuple[str, ...]:
        """A line for each variant, the most frequent first."""
        rows = sorted(zip(self.counts, self.grams, self.weights, strict=True), key=lambda row: -row[0])
        return tuple(
            f"{gram.shown} {gram_ids(gram)}: {count:,}" + (f", counted {weight} times" if weight > 1 else "")
            for count, gram, weight in rows
        )


@dataclass(frozen=True)
class StoredText:
    """A string that is looked for in the documents' stored texts, where tokens don't spell the text.

    Only documents that have one n-gram of each clause of `needs` can contain it.
    """

    shown: str = field(compare=False)
    text: str
    ignore_case: bool = False
    needs: tuple[tuple[Gram, ...], ...] = field(default=(), compare=False)

    @property
    def known(self) -> bool:
        """Whether it can occur."""
        return all(self.needs)

    def details(self) -> tuple[str, ...]:
        """What is read."""
        shown = [
            clause[0].shown if len(clause) == 1 else f"one of {len(clause):,} words" for clause in self.needs
        ]
        where = f"documents with {' and '.join(shown)}" if shown else "all documents"
        return (f"looks for {self.shown} in the texts of {where}",)


Simple = Gram | Variants | StoredText


@dataclass(frozen=True)
class Gapped:
    """Parts with gaps: between the end of part i and the start of the next stand low … high tokens."""

    parts: tuple[Simple, ...]
    gaps: tuple[tuple[int, int], ...]

    @property
    def shown(self) -> str:
        """As the language writes it."""
        pieces = [self.parts[0].shown]
        for (low, high), part in zip(self.gaps, self.parts[1:], strict=True):
            pieces.append(f"[{low}]" if low == high else f"[{low}..{high}]")
            pieces.append(part.shown)
        return " ".join(pieces)

    @property
    def known(self) -> bool:
        """Whether it can occur."""
        return all(part.known for part in self.parts)

    def details(self) -> tuple[str, ...]:
        """The variants of its parts."""
        return tuple(line for part in self.parts if not isinstance(part, Gram) for line in part.details())


Pattern = Gram | Variants | StoredText | Gapped


def gram_ids(gram: Gram) -> str:
    """A variant's token ids, which distinguish variants that read the same."""
    return "[" + ", ".join(map(str, gram.key)) + "]"

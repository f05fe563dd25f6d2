"""NOVELTY: the n-grams of texts that a corpus does not have, by length.

A row per length n. `share` is the n-novelty of Merrill et al. 2024 ("Evaluating n-gram novelty of language
models using Rusty-DAWG"): the part of the text's n-grams that do not occur. `uniqueness` is the L-uniqueness
of Lu et al. 2024 ("AI as Humanity's Salieri", arXiv 2410.04265) for L = n: the part of the tokens that are in
no n-gram of L tokens or more that occurs; the creativity index is its sum over L.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.conditions.stored_text import longest_matches
from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.executor.result import Result, Row
from ngramdb.interrupts import check
from ngramdb.language import ast
from ngramdb.lazy import dataclass, lazy_pattern
from ngramdb.lm.group_measures import grown
from ngramdb.lm.models import pack
from ngramdb.planner.plan import Plan
from ngramdb.planner.scope import Scope
from ngramdb.questions import to_ast
from ngramdb.questions.definition import Definition, Help, Tool
from ngramdb.questions.measured import By, Measured, Texts, bind_measured, tree_of, unit_tree
from ngramdb.questions.perplexity import Batch, Groups, batches_of
from ngramdb.questions.plans import SliceQuery
from ngramdb.questions.requests import Condition, Parameter, Spelling, Statement
from ngramdb.questions.score import SHOWN_UNKNOWN
from ngramdb.questions.verbs import Asking

if TYPE_CHECKING:
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions.signatures import Ngram
    from ngramdb.questions.verbs import Asking as Corpus

# The columns after the group, and their types.
COLUMNS = {
    "n": int,
    "ngrams": int,
    "novel": int,
    "share": float,
    "uniqueness": float,
    "creativity_index": float,
}
# The same with BY TOKENS, after the document.
MATCH_COLUMNS = {"position": int, "token": str, "token_id": int, "length": int, "count": int}
# Lengths without NGRAMS, and those of the creativity index.
LENGTHS = (1, 20)
CREATIVE = (5, 12)
_LENGTHS = lazy_pattern(r"[0-9]{1,9}(\.\.[0-9]{1,9})?")
# Longer n-grams are not compared.
LONGEST = 1000


class LengthRange(Spelling):
    """Lengths of n-grams: one, or a range."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "lengths", "lengths of n-grams: 5, or 1..20", "1..20"),)

    def argument(self, name: str, given: Any) -> dict[str, Any]:
        text = str(given[name])
        if _LENGTHS.fullmatch(text) is None:
            raise InvalidArgument(f"{name} must be the length of n-grams, or a range as 1..20, not {text!r}")
        low, _, high = text.partition("..")
        return {name: (int(low), int(high or low))}

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        low, high = arguments[name]
        statement.add(f"NGRAMS {low}..{high}")


class Verbs(Asking):
    """Verbs of a corpus."""

    def novelty(
        self,
        of: Ngram | Corpus,
        n: int | tuple[int, int] = (1, 20),
        *,
        by: str | None = None,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """Return the share of the n-grams of texts that do not occur in the corpus, by length: NOVELTY.

        Parameters
        ----------
        of : text or token ids; a path object, whose documents are read as by COPY; a corpus of the database
        n : the length of n-grams, or the least and the greatest
        by : 'documents', 'lines', or what GROUP BY takes (of a corpus): a curve for each value; 'tokens': the
            longest match that ends with each token
        where, params : only documents that meet this condition count as the corpus

        Returns
        -------
        A row per group and length: the group, `n`, `ngrams`, `novel`, `share`; `uniqueness`, the share of
        tokens that are in no n-gram of n tokens that occurs; `creativity_index`, the sum of it over lengths
        from 5 to 12 for the group. `summary` has the number of tokens, and mean and greatest length of
        the longest match at each token. With `by="tokens"` a row per token: `document`, `position`, `token`,
        `token_id`, and `length` and `count` of the longest n-gram that ends with it and occurs.

        Raises
        ------
        InvalidArgument
            A length below 1 or above 1,000.

        Notes
        -----
        Cost: about 1 µs per token and segment, and some ns per token and length.
        """
        low, high = n if isinstance(n, tuple) else (n, n)
        to_ast.whole(1, "n", low), to_ast.whole(1, "n", high)
        lengths = ast.Lengths(int(low), int(high))
        if by == "tokens":
            tree = ast.Novelty(tree_of(self._bound, of), None, ast.Name(by))
        else:
            tree = ast.Novelty(tree_of(self._bound, of), lengths, unit_tree(by))
        return self._bound.ask(tree, where, params)


DEFINITION = Definition(
    Verbs,
    "novelty",
    "NOVELTY",
    "The n-grams of texts that the corpus does not have, by length: NOVELTY.",
    {
        "of": Texts(),
        "where": Condition(),
        "n": LengthRange(),
        "by": By("documents, lines, a field of the texts' corpus, or tokens"),
    },
    tool=Tool(
        "novelty",
        "How much of a text is new: the share of its n-grams that do not occur in a corpus, by length, and "
        "the creativity index.",
    ),
    help=Help(
        "NOVELTY OF texts [FROM source [WHERE condition]] [NGRAMS n | n..m]\n"
        "  [BY DOCUMENTS | LINES | TOKENS | group]",
        ('NOVELTY OF "a generated text" NGRAMS 1..20', "the share of its n-grams that are new"),
    ),
)


def bind(scope: Scope, node: ast.Novelty) -> Plan:
    """Bind NOVELTY."""
    corpus = scope.corpus(node.source)
    if isinstance(node.by, ast.Name) and node.by.value == "tokens":
        if node.ngrams is not None:
            scope.fail(PlanError, "BY TOKENS lists the longest matches: leave NGRAMS out", node.ngrams)
        of = bind_measured(scope, node.of, ast.Name("documents"), corpus)
        return MatchesQuery(corpus, of, where=scope.among(node.where, corpus))
    low, high = LENGTHS
    if isinstance(node.ngrams, ast.Lengths):
        low, high = node.ngrams.low, node.ngrams.high
    elif node.ngrams is not None:
        low = high = scope.number(node.ngrams, "the length of NGRAMS", 1) or 1
    if not 1 <= low <= high <= LONGEST:
        what = f"lengths of n-grams go from 1 to {LONGEST:,}, not from {low:,} to {high:,}"
        scope.refuse(what, node.ngrams or node)
    of = bind_measured(scope, node.of, node.by, corpus)
    return NoveltyQuery(corpus, of, low, high, where=scope.among(node.where, corpus))


@dataclass(frozen=True)
class NoveltyQuery(SliceQuery):
    """NOVELTY: n-grams of `low` to `high` tokens."""

    of: Measured
    low: int
    high: int

    @property
    def path(self) -> str | None:
        """The file that is read besides the database."""
        return self.of.path

    def label(self) -> str:
        return f"novelty of {self.of} ({self.low} to {self.high} tokens)"

    def answer_whole(self) -> Result:
        """Return a row per group and length."""
        self.corpus.check_difference()
        groups, counts = Groups(), _Counts(self.low, self.high)
        for batch in batches_of(self.of, self.corpus, groups):
            counts.add(self.corpus.index, batch)
        rows = [(*group, *row) for number, group in groups.listed(self.of) for row in counts.rows(number)]
        return Result(
            (*self.of.columns, *COLUMNS),
            iter([rows]),
            summary=counts.summary(),
            n_rows=len(rows),
            types=(*self.of.types, *COLUMNS.values()),
        )


@dataclass(frozen=True)
class MatchesQuery(SliceQuery):
    """NOVELTY BY TOKENS: the longest n-gram of the corpus that ends with each token of the texts."""

    of: Measured

    @property
    def path(self) -> str | None:
        """The file that is read besides the database."""
        return self.of.path

    def label(self) -> str:
        return f"longest matches in {self.of}"

    def answer_whole(self) -> Result:
        """Return a row per token."""
        self.corpus.check_difference()
        return Result(
            (*self.of.columns, *MATCH_COLUMNS),
            self._batches(),
            types=(*self.of.types, *MATCH_COLUMNS.values()),
        )

    def _batches(self) -> Iterator[list[Row]]:
        tokenizer = self.corpus.tokenizer
        for item in self.of.items(self.corpus):
            position = 0
            for ids in item.pieces:
                found, counts = longest_matches(self.corpus.index, ids, np.array([0, len(ids)]))
                named = (ids >= 0) & (ids < tokenizer.n_vocabulary)
                texts = iter(tokenizer.token_texts(ids[named]))
                rows = zip(ids.tolist(), named.tolist(), found[1:].tolist(), counts[1:].tolist(), strict=True)
                yield [
                    (
                        *item.group,
                        position + i,
                        next(texts) if known else SHOWN_UNKNOWN,
                        token if token >= 0 else None,
                        length,
                        count if length else 0,
                    )
                    for i, (token, known, length, count) in enumerate(rows)
                ]
                position += len(ids)


class _Counts:
    """Numbers by group and length: n-grams and those that occur, and tokens in those."""

    def __init__(self, low: int, high: int) -> None:
        self._low, self._high = low, high
        self._lengths = sorted({*range(low, high + 1), *range(CREATIVE[0], CREATIVE[1] + 1)})
        self._tables = [np.zeros((0, len(self._lengths)), dtype=np.int64) for _ in range(3)]
        self._tokens: NDArray[np.int64] = np.zeros((0, 1), dtype=np.int64)
        self._sum = self._longest = 0

    def add(self, index: Any, batch: Batch) -> None:
        """Add pieces of texts."""
        flat, offsets = pack(batch.pieces)
        found, _ = longest_matches(index, flat, offsets)
        # The longest match that ends with each token, and the tokens of its piece up to it.
        lengths = np.delete(found, offsets[:-1] + np.arange(len(offsets) - 1))
        sizes = np.diff(offsets)
        places = np.arange(len(flat)) - np.repeat(offsets[:-1], sizes) + 1
        owners = np.repeat(batch.groups, sizes)
        self._sum += int(lengths.sum())
        self._longest = max(self._longest, int(lengths.max(initial=0)))
        self._tokens = grown(self._tokens, batch.groups)
        self._tokens[:, 0] += np.bincount(owners, minlength=len(self._tokens))
        self._tables = [grown(table, batch.groups) for table in self._tables]
        for i, n in enumerate(self._lengths):
            check()
            known = lengths >= n
            kinds = (places >= n, known, _covered(known, n))
            for table, chosen in zip(self._tables, kinds, strict=True):
                table[:, i] += np.bincount(owners[chosen], minlength=len(table))

    def rows(self, number: int) -> list[Row]:
        """Return the rows of a group."""
        if number >= len(self._tokens):
            every, known, covered, n_tokens = [0] * len(self._lengths), [], [], 0
            known = covered = every
        else:
            every, known, covered = (table[number].tolist() for table in self._tables)
            n_tokens = int(self._tokens[number, 0])
        unique = [None if not n_tokens else (n_tokens - part) / n_tokens for part in covered]
        by_length = dict(zip(self._lengths, zip(every, known, unique, strict=True), strict=True))
        summed = [by_length[n][2] for n in range(CREATIVE[0], CREATIVE[1] + 1)]
        index = None if not n_tokens else float(sum(part for part in summed if part is not None))
        return [
            (n, total, total - seen, (total - seen) / total if total else None, part, index)
            for n, (total, seen, part) in by_length.items()
            if self._low <= n <= self._high
        ]

    def summary(self) -> dict[str, Any]:
        """Return facts about the longest matches."""
        n = int(self._tokens.sum())
        return {"tokens": n, "longest_match": self._longest, "mean_match": self._sum / n if n else 0.0}


def _covered(known: NDArray[np.bool_], n: int) -> NDArray[np.bool_]:
    """Return the tokens of the n-grams that end where `known` is True: (m,) bool."""
    ends = np.flatnonzero(known)
    edges = np.zeros(len(known) + 1, dtype=np.int64)
    np.add.at(edges, ends - n + 1, 1)
    np.add.at(edges, ends + 1, -1)
    covered: NDArray[np.bool_] = np.cumsum(edges)[:-1] > 0
    return covered

"""NGRAMS: the most frequent n-grams, ties by token ids.

N-grams of one length without conditions on them are listed here, others in `ngram_selection`. For all
documents, the k most frequent come from a sample of the index (`frequent`) if that is cheaper, otherwise from
a pass over it (`NgramBlocks`). For some documents, they come from a pass that reads the document of each row,
or, if the documents are few, from their own tokens. All ways return the same rows.

A corpus whose segments are in groups is queried in two rounds: an n-gram among the k best of all may not be
among those of any group, but if the k-th best of some n-grams has the count c, every better one has at least
c / m in one of m groups. So the best of every group are counted in all, then every group returns what has
c / m, and these are counted in all (Cao and Wang 2004, "Efficient top-k query calculation in distributed
networks").
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ngramdb import interrupts
from ngramdb._cext.corpus.index import Index
from ngramdb._cext.corpus.top_ngrams import NgramBlocks, count_documents, frequent
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.expressions import from_files
from ngramdb.errors import InvalidArgument
from ngramdb.executor.per_segment import Ids, all_are_shorter, batches_of, matching, negative_counts_named
from ngramdb.executor.result import Result, Row
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.lm.spec import MAX_MIN_COUNT
from ngramdb.patterns import Gram, StoredWords, TokenPattern
from ngramdb.planner.bind_conditions import condition
from ngramdb.planner.bind_occurrences import token_pattern_of
from ngramdb.planner.plan import AllDocs, Costs, DocExpr, Plan, PlanMeter
from ngramdb.planner.scope import Scope
from ngramdb.questions import to_ast
from ngramdb.questions.definition import Definition, Help, Tool
from ngramdb.questions.ngram_selection import COLUMNS, NgramSelection
from ngramdb.questions.plans import Query
from ngramdb.questions.requests import (
    MIN_COUNT,
    Condition,
    Given,
    Parameter,
    Spelling,
    Statement,
    Switch,
    Words,
)
from ngramdb.questions.verbs import Asking
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus, IntArray
from ngramdb.types import checked_flags

if TYPE_CHECKING:
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions.parsing import Pattern
    from ngramdb.questions.signatures import Ngram


_LENGTHS = re.compile(r"[0-9]{1,9}(\.\.[0-9]{1,9})?")


class Lengths(Spelling):
    """A number of tokens, or the least and the greatest number."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "lengths", self.about, "2"),)

    def argument(self, name: str, given: Given) -> dict[str, Any]:
        if not _LENGTHS.fullmatch(given[name]):
            raise InvalidArgument("n must be a number of tokens, such as 2, or a range, such as 2..4")
        return {name: given[name]}

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        statement.add(arguments[name])


class Verbs(Asking):
    """Verbs of a corpus."""

    @checked_flags
    def ngrams(
        self,
        n: int | tuple[int, int],
        where: str | None = None,
        *,
        top: int | None = None,
        min_count: int = 1,
        containing: Ngram | Pattern | None = None,
        starting: Ngram | None = None,
        ending: Ngram | None = None,
        ignore_case: bool = False,
        with_docs: bool = False,
        params: ParameterValues = None,
    ) -> Result:
        """Return the n-grams of `n` tokens, the most frequent first: NGRAMS.

        Parameters
        ----------
        n : tokens of an n-gram, or a pair, the least and the greatest number
        where, params : condition on documents, and the values of its parameters
        top : maximum number of n-grams; by default all of them, made as they are read
        min_count : the least count of an n-gram
        containing : an n-gram or a pattern that n-grams must contain
        starting, ending : an n-gram that n-grams must start or end with
        ignore_case : True to add up n-grams that differ only in case
        with_docs : True to add a column `docs`, the number of documents with the n-gram

        Returns
        -------
        Columns `ngram`, `token_ids`, `count`.
        """
        contained = to_ast.pattern_tree(containing)
        tree = ast.Ngrams(
            _lengths_of(n),
            min_count=to_ast.required(1, "min_count", min_count),
            containing=contained,
            starting=to_ast.part(starting),
            ending=to_ast.part(ending),
            ignore_case=ignore_case,
            with_docs=with_docs,
            top=to_ast.number(0, "top", top),
        )
        return self._bound.ask(tree, where, params)


DEFINITION = Definition(
    Verbs,
    "ngrams",
    "NGRAMS",
    "The most frequent n-grams: NGRAMS.",
    {
        "n": Lengths("tokens of an n-gram: `2`, or `2..4`"),
        "where": Condition(),
        "min_count": MIN_COUNT,
        "containing": Words("only n-grams that contain this one", "CONTAINING"),
        "starting": Words("only n-grams that begin with this one", "STARTING WITH"),
        "ending": Words("only n-grams that end with this one", "ENDING WITH"),
        "ignore_case": Switch("ignore case"),
        "with_docs": Switch("add the number of documents with each n-gram"),
    },
    before_from=2,
    written=("n", "ignore_case", "where", "min_count", "containing", "starting", "ending", "with_docs"),
    page="TOP",
    tool=Tool("frequent_ngrams", "The most frequent n-grams of n tokens, in all or some documents."),
    help=Help(
        "NGRAMS n | n..m [IGNORE CASE] [WHERE condition] [MIN COUNT k] "
        "[CONTAINING pattern] [STARTING [WITH] ngram]\n"
        "  [ENDING [WITH] ngram] [WITH DOCS] [TOP k] [FROM source]",
        ("NGRAMS 3 TOP 10", "the most frequent n-grams"),
    ),
)


def _lengths_of(n: Any) -> ast.Lengths | ast.Value:
    """Return the lengths that the verb's arguments describe."""
    if not (isinstance(n, tuple) and len(n) == 2):
        return to_ast.required(1, "n", n)
    low, high = (to_ast.whole(1, "n", bound) for bound in n)
    if low > high:
        raise InvalidArgument(f"n must be a number of tokens, or a pair (least, most), not {n!r}")
    return ast.Lengths(low, high)


def bind(scope: Scope, node: ast.Ngrams) -> Plan:
    """Bind NGRAMS."""
    corpus = scope.corpus(node.source)
    shortest, longest = _bound_lengths(scope, node.n)
    where, top = condition(scope, node.where, corpus), scope.number(node.top, "TOP", 0)
    if node.ignore_case and corpus.tokenizer.kind == "tokens":
        scope.refuse("IGNORE CASE needs text, and the tokens of this corpus are ids only", node)
    found = NgramSelection(
        corpus,
        shortest,
        longest,
        where,
        scope.number(node.min_count, "MIN COUNT", 1, MAX_MIN_COUNT) or 1,
        _contained(scope, node, corpus),
        _part(scope, node.starting, corpus),
        _part(scope, node.ending, corpus),
        node.ignore_case,
        node.with_docs,
        top,
    )
    plain = NgramSelection(corpus, shortest, shortest, where, top=top)
    return NgramList(corpus, shortest, where, top) if found == plain else found


def _bound_lengths(scope: Scope, node: ast.Scalar | ast.Lengths) -> tuple[int, int]:
    if isinstance(node, ast.Lengths):
        if node.low < 1:
            scope.refuse("the length of NGRAMS must be a whole number of at least 1, not 0", node)
        return node.low, node.high
    n = scope.number(node, "the length of NGRAMS", 1)
    assert n is not None
    return n, n


def _contained(scope: Scope, node: ast.Ngrams, corpus: Corpus) -> Gram | StoredWords | TokenPattern | None:
    """Return the n-gram, or the pattern over tokens, that n-grams contain."""
    inner = node.containing
    if inner is None or isinstance(inner, (ast.Text, ast.TokenIds, ast.Parameter)):
        is_text = inner is not None and isinstance(scope.value_of(inner), str)
        if inner is None or not (is_text and scope.matching().as_text):
            return _part(scope, inner, corpus, is_pattern=True)
        inner = ast.Matching(inner, True, scope.matching().ignore_case, span=inner.span)
    return token_pattern_of(scope, inner, corpus, node.ignore_case)


def _part(scope: Scope, node: ast.Ngram | None, corpus: Corpus, is_pattern: bool = False) -> Gram | None:
    """Return the n-gram that n-grams contain, start or end with."""
    if node is None:
        return None
    found = scope.gram(node, corpus)
    if not len(found):
        scope.refuse("this needs an n-gram of at least one token", node)
    scope.remember(corpus, found, is_pattern=is_pattern)
    return found


# N-grams of a block: about 24 bytes of memory each while the index is read, and a pass over it per block.
BLOCK_NGRAMS = 1 << 20

# The cost of a document's token, counted by itself, in rows of the index read in order (measured: 60 to
# 100 ns against 20).
COUNTED_TOKEN_COST = 4
# The greatest number of tokens counted that way: a distinct n-gram takes 32 bytes.
MAX_COUNTED_TOKENS = 1 << 24

# A pass over a corpus of fewer tokens is faster than the rounds, and finds the number of n-grams.
LEAST_TOKENS = 1 << 22
# The greatest number of n-grams that a group returns.
MOST_GIVEN = 1 << 18

Counted = tuple[Ids, IntArray]


@dataclass(frozen=True)
class NgramList(Query):
    """NGRAMS: all n-grams of one length, the most frequent first."""

    n: int
    where: DocExpr
    top: int | None = None
    costs: Costs | None = dataclasses.field(default=None, compare=False)

    def label(self) -> str:
        top = "" if self.top is None else f", top {self.top:,}"
        return f"{self.n}-grams by count{top}"

    def where_clause(self) -> DocExpr | None:
        return self.where

    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return a row per n-gram; if all of the index was read, the summary has the number of n-grams."""
        if isinstance(self.where, AllDocs):
            found = _of_all(self)
        else:
            self.corpus.check_difference()
            found = _of_some(self, matching(self.corpus, self.where, self.costs, meter))
        n_rows = found.distinct
        if self.top is not None and n_rows is not None:
            n_rows = min(self.top, n_rows)
        summary: dict[str, Any] = {} if found.distinct is None else {"total": found.distinct}
        batches = _batches(found.blocks, self.corpus)
        return Result(COLUMNS, batches, summary=summary, n_rows=n_rows, types=(str, list, int))


@dataclasses.dataclass
class Answer:
    """N-grams in blocks, in order; `distinct` is their number without regard to TOP, if it is known."""

    blocks: Iterator[Counted]
    distinct: int | None = None


def _of_all(plan: NgramList) -> Answer:
    """Read the net index, which subtracts the counts of deleted and subtracted documents."""
    index = plan.corpus.index
    if plan.top == 0:
        return Answer(iter(()))
    if all_are_shorter(plan.corpus.segments, plan.n):
        return Answer(iter(()), 0)
    if plan.top is not None:
        shared = shared_best(index, plan.n, plan.top)
        if shared is not None:
            return Answer(iter([shared]))
    for segment in plan.corpus.segments:
        segment.read_for_pass()
    with negative_counts_named(plan.corpus.tokenizer):
        if plan.top is not None:
            best = frequent(index, plan.n, plan.top)
            if best is not None:
                return Answer(iter([best]))
    return _in_blocks(plan, NgramBlocks(index.segments, index.signs, plan.n))


def _of_some(plan: NgramList, found: Sequence[tuple[Segment, DocSet]]) -> Answer:
    """Read the documents that meet the condition, all of them in added segments."""
    found = [(segment, docs) for segment, docs in found if len(docs)]
    if plan.top == 0 or not found:
        return Answer(iter(()), 0 if not found else None)
    if all_are_shorter((segment for segment, _ in found), plan.n):
        return Answer(iter(()), 0)
    n_rows = sum(segment.n_tokens for segment, _ in found)
    tokens = _few_tokens(found, min(MAX_COUNTED_TOKENS, n_rows // COUNTED_TOKEN_COST))
    if tokens is not None:
        k = 2**62 if plan.top is None else plan.top
        ids, counts, distinct = count_documents(*tokens, plan.n, k)
        return Answer(iter([(ids, counts)]), distinct)
    bitmaps = [docs.bitmap() for _, docs in found]
    segments = [segment.index for segment, _ in found]
    return _in_blocks(plan, NgramBlocks(segments, [1] * len(found), plan.n, bitmaps))


def _in_blocks(plan: NgramList, blocks: NgramBlocks) -> Answer:
    """Read the first block at once, since it has the number of n-grams, and the others on demand."""
    size = BLOCK_NGRAMS if plan.top is None else min(plan.top, BLOCK_NGRAMS)
    with negative_counts_named(plan.corpus.tokenizer):
        first = blocks.next(size)

    def all_blocks() -> Iterator[Counted]:
        block, left = first, blocks.distinct if plan.top is None else plan.top
        while len(block[1]):
            yield block
            left -= len(block[1])
            if left <= 0:
                break
            block = blocks.next(min(left, BLOCK_NGRAMS))

    return Answer(all_blocks(), blocks.distinct)


def _few_tokens(found: Sequence[tuple[Segment, DocSet]], most: int) -> tuple[Ids, IntArray] | None:
    """Return the tokens of documents' pieces, joined, and their offsets; None for more than `most` tokens."""
    if sum(len(docs) for _, docs in found) > most:
        return None
    pieces: list[Ids] = []
    n_tokens = 0
    for segment, docs in found:
        for i in docs.numbers().tolist():
            interrupts.check()
            n_tokens += segment.document_length(i)
            if n_tokens > most:
                return None
            pieces += segment.pieces(i)
    offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum(list(map(len, pieces)), out=offsets[1:])
    return np.concatenate(pieces), offsets


def _batches(blocks: Iterator[Counted], corpus: Corpus) -> Iterator[list[Row]]:
    tokenizer = corpus.tokenizer
    with from_files(tokenizer, corpus.segments), negative_counts_named(tokenizer):
        for ids, counts in blocks:
            for some in batches_of(np.full(len(counts), ids.shape[1])):
                part = ids[some]
                yield list(
                    zip(tokenizer.decode_rows(part), part.tolist(), counts[some].tolist(), strict=True)
                )


def shared_best(index: Index, n: int, k: int) -> Counted | None:
    """Return the k most frequent n-grams, ties by token ids: ids (m, n) uint32 and counts (m,) int64.

    Returns None if the index is not queried in groups, or they would have to return too many.
    """
    ask = getattr(index, "ask", None)
    if ask is None or index.n_tokens < LEAST_TOKENS or 4 * k > MOST_GIVEN:
        return None
    groups = [found for sign, found in ask([(best_of, (n, k))])[0] if sign > 0]
    _, counts = _counted(index, [ids for ids, _ in groups], n)
    least = int(np.sort(counts)[-k]) if len(counts) >= k else 1
    share = max(1, -(-least // len(groups)))
    given = [found for sign, found in ask([(with_count, (n, k, share))])[0] if sign > 0]
    if any(found is None for found in given):
        return None
    ids, counts = _counted(index, given, n)
    order = np.lexsort((*ids.T[::-1], -counts))[:k]
    order = order[counts[order] > 0]
    return ids[order], counts[order]


def best_of(index: Index, n: int, k: int) -> Counted:
    """Return the k most frequent n-grams of a group."""
    found = frequent(index, n, k)
    return NgramBlocks(index.segments, index.signs, n).next(k) if found is None else found


def with_count(index: Index, n: int, k: int, least: int) -> Ids | None:
    """Return all n-grams of a group with at least this count: ids (m, n); None for more than MOST_GIVEN."""
    while k <= MOST_GIVEN:
        ids, counts = best_of(index, n, k)
        if len(counts) < k or counts[-1] < least:
            return ids[counts >= least]
        k *= 4
    return None


def _counted(index: Index, given: list[Ids], n: int) -> Counted:
    """Return each n-gram once, with its count in all groups."""
    ids = np.unique(np.concatenate(given), axis=0)
    flat = ids.astype(np.int64).reshape(-1)
    return ids, index.count_many(flat, np.arange(len(ids) + 1, dtype=np.int64) * n)

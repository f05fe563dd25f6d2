"""CONTINUATIONS: how many different tokens come before and after an n-gram, the numbers of Kneser-Ney.

With α the n-gram and · any token, `<s>` and `</s>` included: N1+(α·), N1+(·α) and N1+(·α·), and how many of
these neighbours occur there once, twice, and three times or more (Chen & Goodman 1999, section 3.3; Shareghi
et al. 2016, section 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ngramdb import interrupts
from ngramdb.errors import PlanError
from ngramdb.executor.result import Result, Row
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.patterns import Gram
from ngramdb.planner.plan import Plan
from ngramdb.planner.scope import Scope
from ngramdb.questions import to_ast
from ngramdb.questions.definition import Definition, Help
from ngramdb.questions.next_tokens import predecessors
from ngramdb.questions.plans import SliceQuery
from ngramdb.questions.requests import Condition, Passage
from ngramdb.questions.verbs import Asking
from ngramdb.source import IntArray

if TYPE_CHECKING:
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions.signatures import Ngram

COLUMNS = ("side", "count", "different", "once", "twice", "more")
TYPES = (str, int, int, int, int, int)
# Left neighbours whose successors are counted together.
TOGETHER = 4096


class Verbs(Asking):
    """Verbs of a corpus."""

    def continuations(
        self, ngram: Ngram, where: str | None = None, *, params: ParameterValues = None
    ) -> Result:
        """Return how many different tokens come before and after an n-gram: CONTINUATIONS.

        Parameters
        ----------
        ngram : text or token ids, at least one token
        where, params : only in documents that meet this condition

        Returns
        -------
        Three rows, `side` is 'after', 'before' or 'both' (pairs of a token before and one after): `count`,
        the occurrences; `different`, the number of different neighbours (N1+); how many of them are there
        `once` (N1), `twice` (N2), and three times or `more` (N3+). The beginning and the end of a document
        are neighbours.

        Raises
        ------
        PlanError
            The n-gram has no token.

        Notes
        -----
        Cost: a random read or two per occurrence, and a search per token before it and segment.
        """
        return self._bound.ask(ast.Continuations(to_ast.ngram(ngram)), where, params)


DEFINITION = Definition(
    Verbs,
    "continuations",
    "CONTINUATIONS OF",
    "How many different tokens come before and after an n-gram: CONTINUATIONS.",
    {"ngram": Passage(), "where": Condition()},
    help=Help(
        "CONTINUATIONS [OF] ngram [WHERE condition] [FROM source]",
        ('CONTINUATIONS OF "San"', "how many different tokens come before and after it"),
    ),
)


def bind(scope: Scope, node: ast.Continuations) -> Plan:
    """Bind CONTINUATIONS."""
    corpus = scope.corpus(node.source)
    gram = scope.context(node.ngram, corpus)
    if not len(gram):
        scope.fail(PlanError, "CONTINUATIONS needs an n-gram of at least one token", node.ngram)
    return ContinuationsQuery(corpus, gram, where=scope.among(node.where, corpus))


@dataclass(frozen=True)
class ContinuationsQuery(SliceQuery):
    """CONTINUATIONS: the numbers of different neighbours of an n-gram."""

    gram: Gram

    def label(self) -> str:
        return f"continuations of {self.gram.shown}"

    def answer_whole(self) -> Result:
        """Return three rows: after, before, both."""
        self.corpus.check_difference()
        rows: list[Row] = [(side, 0, 0, 0, 0, 0) for side in ("after", "before", "both")]
        if self.gram.known and self.corpus.index.count(self.gram.ids):
            ids = self.gram.ids
            tokens, counts, n_end, n, _ = self.corpus.index.dist(ids)
            before = predecessors(self.corpus, self.gram)
            after = _with(counts, n_end)
            pairs = self._pairs(ids, before.token_ids.astype(np.int64), tokens.astype(np.int64), after)
            lists = (after, _with(before.counts, before.n_end), pairs)
            rows = [(row[0], n, *_classes(found)) for row, found in zip(rows, lists, strict=True)]
        return Result(COLUMNS, iter([rows]), n_rows=3, types=TYPES)

    def _pairs(self, ids: IntArray, left: IntArray, right: IntArray, after: IntArray) -> IntArray:
        """Return the counts of the n-gram with a token before and one after it."""
        found = [np.empty(0, dtype=np.int64)]
        # What is left of the counts after the n-gram occurs at the beginning of documents; the end is last.
        rest = after.copy()
        for first in range(0, len(left), TOGETHER):
            interrupts.check()
            some = left[first : first + TOGETHER]
            contexts = np.column_stack([some, np.tile(ids, (len(some), 1))])
            offsets = np.arange(len(some) + 1, dtype=np.int64) * contexts.shape[1]
            _, tokens, counts, n_end, *_ = self.corpus.index.dist_many(contexts.reshape(-1), offsets)
            found += [counts, n_end]
            np.subtract.at(rest, np.searchsorted(right, tokens), counts)
            rest[-1] -= n_end.sum()
        return np.concatenate([*found, rest])


def _with(counts: IntArray, n_end: int) -> IntArray:
    """Return the counts, and after them the number of occurrences without a neighbour."""
    return np.append(counts, n_end).astype(np.int64)


def _classes(counts: IntArray) -> tuple[int, int, int, int]:
    """Return the number of positive counts, of 1, of 2, and of others."""
    every, once, twice = (int(chosen.sum()) for chosen in (counts > 0, counts == 1, counts == 2))
    return every, once, twice, every - once - twice

"""COLLOCATES: the tokens near occurrences of a pattern, ranked by association.

Windows are positions of the text, at most that many tokens before or after an occurrence, in its document or
in its sentence. A position counts once, however many windows contain it, so that the counts make a
contingency table: f1 is the number of positions in windows, f2 the number of positions with the token, and N
the number of all positions. Dice and logDice use the number of occurrences in place of f1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.token_counts import WindowCounts
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.expressions import from_files, united
from ngramdb.conditions.interruptible_sort import numbered
from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.executor.measures import ASSOCIATION, OF_OCCURRENCES, Table
from ngramdb.executor.per_segment import Subcorpus, each_segment, evaluator_of
from ngramdb.executor.result import BATCH_ROWS, Result, Row
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.limits import WHOLE_DOCUMENT
from ngramdb.lm.spec import MAX_MIN_COUNT
from ngramdb.planner.bind_conditions import in_part
from ngramdb.planner.plan import (
    Actual,
    AllDocs,
    Costs,
    DocExpr,
    InPart,
    Node,
    Occurring,
    Plan,
    PlanMeter,
    changed,
)
from ngramdb.planner.scope import Scope, require_sentences
from ngramdb.questions import to_ast
from ngramdb.questions.definition import Definition, Help, Tool
from ngramdb.questions.plans import Query
from ngramdb.questions.requests import (
    MIN_COUNT,
    SENTENCE,
    Condition,
    Given,
    OneOf,
    Parameter,
    Spelling,
    Statement,
    is_of_sentence,
)
from ngramdb.questions.requests import Occurring as OccurringText
from ngramdb.questions.verbs import Asking
from ngramdb.registries import ASSOCIATION_MEASURES
from ngramdb.source import Corpus, IntArray
from ngramdb.types import checked_flags

if TYPE_CHECKING:
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions.parsing import Pattern
    from ngramdb.questions.signatures import Ngram

# Tokens on either side of an occurrence if WINDOW is missing (Church & Hanks 1990).
SPAN = 5

# The measure's own column follows; f, f1, f2 and N are Evert's names (2008).
COLUMNS = ("token", "token_id", "f", "left", "right", "f1", "f2", "N")
TYPES = (str, int, int, int, int, int, int, int, float)


class Window(Spelling):
    """Tokens on either side, or `sentence`; and `within_sentence`."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (
            Parameter(name, "integer", f"tokens on either side; {default} without it"),
            SENTENCE,
            Parameter("within_sentence", "flag", "a window ends with the sentence", False),
        )

    def argument(self, name: str, given: Given) -> dict[str, Any]:
        if is_of_sentence(given):  # `within_sentence` adds nothing to this
            return {name: "sentence"}
        window = {} if given[name] is None else {name: given[name]}
        return {**window, "within_sentence": given["within_sentence"]}

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if arguments[name] == "sentence":
            statement.add("WINDOW SENTENCE")
            return
        statement.number("WINDOW", arguments[name])
        if arguments["within_sentence"]:
            statement.add("WITHIN SENTENCE")


class Verbs(Asking):
    """Verbs of a corpus."""

    @checked_flags
    def collocates(
        self,
        pattern: Ngram | Pattern,
        where: str | None = None,
        *,
        window: int | tuple[int, int] | Literal["sentence"] = 5,
        by: str = "logdice",
        min_count: int = 1,
        top: int | None = None,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        within_sentence: bool = False,
        params: ParameterValues = None,
    ) -> Result:
        """Return the tokens near an n-gram, the most closely associated first: COLLOCATES.

        Parameters
        ----------
        pattern : text, token ids, or a pattern; for tokens near several patterns use the statement COLLOCATES
        where, params : condition on documents, and the values of its parameters
        window : tokens on either side, a pair (left, right), or 'sentence' for the whole sentence
        by : 'logdice' (Rychlý 2008), 'll' (log-likelihood over four cells, Dunning 1993), 'mi', 'mi3', 't',
            'z', 'logratio' or 'dice'; 'logdice' and 'dice' use the number of occurrences in place of `f1`
        min_count : the least `f` of a token
        top : maximum number of rows
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; if neither is given, the setting `match` applies
        within_sentence : True if a window ends with the sentence of the occurrence

        Returns
        -------
        Columns `token`, `token_id`; `f`, `left` and `right`, the counts of the token in windows, and on their
        left and right sides; `f1`, `f2` and `N`, the numbers of positions in windows, with the token, and in
        all; and the measure.

        Raises
        ------
        InvalidArgument
            A number is out of range, or the measure does not exist.
        """
        tree = ast.Collocates(
            to_ast.occurring(pattern, match_text, ignore_case),
            window=_around(window, within_sentence),
            by=to_ast.measure(by),
            min_count=to_ast.required(1, "min_count", min_count),
            top=to_ast.number(0, "top", top),
        )
        return self._bound.ask(tree, where, params)


DEFINITION = Definition(
    Verbs,
    "collocates",
    "COLLOCATES OF",
    "The tokens near an n-gram, by association: COLLOCATES.",
    {
        "pattern": OccurringText(),
        "where": Condition(),
        "window": Window(),
        "by": OneOf("the measure", ASSOCIATION_MEASURES),
        "min_count": MIN_COUNT,
    },
    page="TOP",
    tool=Tool(
        "collocates",
        "The words that occur near something more often than by chance, by a measure of association.",
    ),
    help=Help(
        "COLLOCATES [OF] condition [WHERE condition] [WINDOW n | n LEFT | n RIGHT | n LEFT n RIGHT]\n"
        "  [WINDOW … WITHIN SENTENCE | SENTENCE] [BY association] [MIN COUNT k] [TOP k] [FROM source]",
        ('COLLOCATES OF "climate" BY ll TOP 20', "the words near it, by association"),
    ),
)


def _around(window: Any, within_sentence: bool) -> ast.Around:
    """Return the window that the verb's arguments describe."""
    if isinstance(window, str) and window == "sentence":  # an array is compared item by item
        return ast.Around(None, None, ast.InSentence())
    sides = window if isinstance(window, tuple) else (window, window)
    if len(sides) != 2:
        raise InvalidArgument(
            f"window must be a number of tokens, a pair (left, right), or 'sentence', not {window!r}"
        )
    left, right = (to_ast.required(0, "window", side) for side in sides)
    return ast.Around(left, right, ast.InSentence() if within_sentence else None)


def bind(scope: Scope, node: ast.Collocates) -> Plan:
    """Bind COLLOCATES."""
    corpus = scope.corpus(node.source)
    left, right, in_sentence = _window(scope, node.window, corpus)
    return Collocation(
        corpus,
        in_part(scope, "COLLOCATES", node.what, node.where, corpus),
        left,
        right,
        scope.measure(node.by, ASSOCIATION_MEASURES),
        scope.number(node.min_count, "MIN COUNT", 1, MAX_MIN_COUNT) or 1,
        scope.number(node.top, "TOP", 0),
        in_sentence=in_sentence,
    )


def _window(scope: Scope, node: ast.Around | None, corpus: Corpus) -> tuple[int, int, bool]:
    """Return the tokens before and after an occurrence, and whether they must be in its sentence."""
    if node is None:
        return SPAN, SPAN, False
    if node.sentence is not None:
        require_sentences(scope, node.sentence, corpus)
    if node.left is None and node.right is None:
        return WHOLE_DOCUMENT, WHOLE_DOCUMENT, True
    left, right = (scope.number(side, "WINDOW", 0) or 0 for side in (node.left, node.right))
    if not left and not right:
        scope.fail(PlanError, "a window must have at least one token on one side", node)
    return min(left, WHOLE_DOCUMENT), min(right, WHOLE_DOCUMENT), node.sentence is not None


@dataclass(frozen=True)
class Collocation(Query):
    """COLLOCATES: tokens up to `left` before and `right` after occurrences, by a measure of association.

    `in_sentence` is True if they must be in the sentence of the occurrence.
    """

    what: InPart
    left: int
    right: int
    measure: str
    min_count: int = 1
    top: int | None = None
    costs: Costs | None = field(default=None, compare=False)
    in_sentence: bool = False

    def label(self) -> str:
        window = f"window {self.left:,} left, {self.right:,} right"
        if self.in_sentence:
            whole = self.left == self.right == WHOLE_DOCUMENT
            window = "window sentence" if whole else f"{window} within the sentence"
        parts = [window, f"by {self.measure}"]
        if self.min_count > 1:
            parts.append(f"min count {self.min_count:,}")
        if self.top is not None:
            parts.append(f"top {self.top:,}")
        return f"collocates ({', '.join(parts)})"

    def tree(self) -> Node | None:
        return self.what

    def with_tree(self, tree: Node) -> Plan:
        return changed(self, what=tree)

    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return a row per token, by association, then by frequency, both descending, then by token id.

        In the summary, `total` is the number of tokens without regard to TOP, and `occurrences` that of
        occurrences.

        Cost: locating the occurrences, about 10 ns per token around them, and a search per collocate.
        """
        self.corpus.check_difference()
        n_occurrences, documents, (ids, counts) = _around_all(self, meter)
        f1 = int(counts[:, 0].sum())
        part = Subcorpus(self.corpus, None if isinstance(self.what.docs, AllDocs) else documents)
        kept = counts[:, 0] >= self.min_count
        ids, counts = ids[kept], counts[kept]
        f2 = part.counts_of(ids)
        node = n_occurrences if self.measure in OF_OCCURRENCES else f1
        scores = ASSOCIATION[self.measure](Table.of(counts[:, 0], node, f2, part.n_tokens))
        order = np.lexsort((ids, -counts[:, 0], -scores))[: self.top]
        columns = (ids, *counts.T, np.full(len(ids), f1), f2, np.full(len(ids), part.n_tokens), scores)
        result = Result(
            (*COLUMNS, self.measure),
            _batches(self, [column[order] for column in columns]),
            summary={"total": len(ids), "occurrences": n_occurrences},
            n_rows=len(order),
            types=TYPES,
        )
        result.found = n_occurrences > 0
        return result


def _batches(plan: Collocation, columns: Sequence[NDArray[Any]]) -> Iterator[list[Row]]:
    for start in range(0, len(columns[0]), BATCH_ROWS):
        part = [column[start : start + BATCH_ROWS] for column in columns]
        with from_files(plan.corpus.tokenizer, plan.corpus.segments):
            texts = plan.corpus.tokenizer.token_texts(part[0])
        yield list(zip(texts, *(column.tolist() for column in part), strict=True))


def _around_all(
    plan: Collocation, meter: PlanMeter | None
) -> tuple[int, list[DocSet], tuple[NDArray[np.uint32], IntArray]]:
    """Return the number of occurrences, the documents that meet a condition, and the tokens in windows.

    Without a condition the documents are not listed.
    """
    what = plan.what.what if meter is not None else united(plan.what.what, plan.corpus.tokenizer)
    documents: list[DocSet] = []
    counts = []
    with nullcontext(Actual()) if meter is None else meter.timed(plan.what) as actual:
        asked = what, plan.what.docs, plan.costs, (plan.left, plan.right, plan.in_sentence)
        for n, docs, found in each_segment(plan.corpus, around_in, *asked, meter=meter):
            actual.rows += n
            counts.append(found)
            if docs is not None:
                documents.append(docs)
    return actual.rows, documents, _summed(counts)


def around_in(
    corpus: Corpus,
    i: int,
    what: Occurring,
    docs: DocExpr,
    costs: Costs | None,
    window: tuple[int, int, bool],
    meter: PlanMeter | None = None,
) -> tuple[int, DocSet | None, tuple[NDArray[np.uint32], IntArray]]:
    """Return the same for segment i; the documents are None if all of them are meant.

    window : tokens to the left and to the right, and whether they must be in the same sentence
    """
    evaluator, kept = evaluator_of(corpus, i, costs, meter)
    chosen = evaluator.evaluate(docs)
    chosen = chosen if kept is None else chosen & kept
    found = evaluator.expressions.occurrences(what, chosen)
    counts = WindowCounts()
    left, right, in_sentence = window
    segment = corpus.segments[i]
    sentences = segment.sentences if in_sentence else None
    # A word without tokens is at the end of its document, with nothing after it.
    _, ends = segment.index.piece_bounds(found.starts)
    stops = np.sort(np.minimum(found.stops, ends))
    counts.add(segment.index, found.starts, stops, left, right, sentences)
    return len(found), None if isinstance(docs, AllDocs) else chosen, counts.found()


def _summed(
    found: Sequence[tuple[NDArray[np.uint32], IntArray]],
) -> tuple[NDArray[np.uint32], IntArray]:
    """Return the tokens of all segments, ids ascending, and sums of their counts: (n,), (n, columns)."""
    if not found:
        return WindowCounts().found()
    if len(found) == 1:
        return found[0]
    ids = np.concatenate([ids for ids, _ in found])
    first, places = numbered(ids)
    counts = np.concatenate([counts for _, counts in found])
    sums = np.zeros((len(first), counts.shape[1]), dtype=np.int64)
    np.add.at(sums, places, counts)
    return ids[first], sums

"""NGRAMS: the most frequent n-grams."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ngramdb import bool_arguments
from ngramdb.errors import InvalidArgument
from ngramdb.language import ast
from ngramdb.lm.spec import MAX_MIN_COUNT
from ngramdb.patterns import Gram, StoredWords, TokenPattern
from ngramdb.planner.bind_conditions import condition
from ngramdb.planner.bind_occurrences import token_pattern_of
from ngramdb.planner.plan import Plan
from ngramdb.planner.scope import Scope
from ngramdb.questions import to_ast
from ngramdb.questions.definition import Definition, Help, Tool
from ngramdb.questions.ngram_list import NgramList
from ngramdb.questions.ngram_selection import NgramSelection
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
from ngramdb.source import Corpus

if TYPE_CHECKING:
    from ngramdb.executor.results.result import Result
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
            raise InvalidArgument("n is a number of tokens, such as 2, or a range of numbers, such as 2..4")
        return {name: given[name]}

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        statement.add(arguments[name])


class Verbs(Asking):
    """Verbs of a corpus."""

    @bool_arguments.checked
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
        raise InvalidArgument(f"n is a number of tokens, or a pair (least, most), not {n!r}")
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
            scope.refuse("the length of NGRAMS is a whole number of at least 1, not 0", node)
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

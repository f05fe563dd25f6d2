"""KWIC: occurrences in their contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.language import ast
from ngramdb.lazy import lazy_module
from ngramdb.limits import WHOLE_DOCUMENT
from ngramdb.planner import plan as plans
from ngramdb.questions import to_ast
from ngramdb.questions.definition import Definition, Help, Tool
from ngramdb.questions.requests import (
    SENTENCE,
    Condition,
    Given,
    Occurring,
    Order,
    Parameter,
    Returning,
    Sampled,
    Spelling,
    Statement,
    is_of_sentence,
    is_sampled,
)
from ngramdb.questions.verbs import Asking
from ngramdb.registries import CHARACTER_TOKENIZERS
from ngramdb.types import checked_flags

if TYPE_CHECKING:
    from ngramdb import patterns
    from ngramdb.executor.result import Result
    from ngramdb.planner import cautions
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.scope import Scope
    from ngramdb.questions import kwic_plan, results, verbs
    from ngramdb.questions.parsing import Pattern
    from ngramdb.questions.signatures import Ngram
    from ngramdb.source import Corpus
else:
    patterns = lazy_module("ngramdb.patterns")
    cautions = lazy_module("ngramdb.planner.cautions")
    kwic_plan = lazy_module("ngramdb.questions.kwic_plan")
    verbs = lazy_module("ngramdb.questions.verbs")
    results = lazy_module("ngramdb.questions.results")

# Tokens on either side of a match without WINDOW: of words or subwords, and of single characters.
WINDOW = 10
WINDOW_OF_CHARACTERS = 40


class Window(Spelling):
    """Tokens on either side, or `sentence`."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "integer", self.about), SENTENCE)

    def argument(self, name: str, given: Given) -> dict[str, Any]:
        return {name: "sentence" if is_of_sentence(given) else given[name]}

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if arguments[name] == "sentence":
            statement.add("WINDOW SENTENCE")
        else:
            statement.number("WINDOW", arguments[name])


class Verbs(Asking):
    """Verbs of a corpus."""

    @checked_flags
    def kwic(
        self,
        pattern: Ngram | Pattern,
        where: str | None = None,
        *,
        window: int | Literal["sentence"] | None = None,
        order_by: str | Sequence[str] | None = None,
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
        sample: int | None = None,
        seed: int | None = None,
        returning: str | Sequence[str] | None = None,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """Return the occurrences of an n-gram with the text to the left and right of each: KWIC.

        Parameters
        ----------
        pattern : text or token ids, or a pattern (`ngramdb.pattern`)
        where, params : condition on documents, as after WHERE
        window : number of tokens on either side; 'sentence' for the whole sentence
        order_by : 'doc_id' (then by position), the text on the 'left' or 'right', or one or several fields
        descending : reverse the order
        limit, offset : maximum number of rows, and number of rows skipped before them
        sample, seed : number of rows to draw at random; equal seeds draw equal rows
        returning : one or several fields of the document, as further columns
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; by default, the setting `match` applies

        Returns
        -------
        Columns `doc_id`, `position` (in tokens, from 0), `left`, `match`, `right`, and those of `returning`;
        `summary['total']` is the number of all occurrences, also with a `limit` or a `sample`.
        """
        keys = to_ast.columns("order_by", order_by)
        if not keys and descending:
            keys = (to_ast.field("doc_id"),)
        tree = ast.Kwic(
            to_ast.occurring(pattern, match_text, ignore_case),
            window=ast.InSentence()
            if isinstance(window, str) and window == "sentence"
            else to_ast.number(0, "window", window),
            order_by=tuple(ast.OrderBy(key, descending) for key in keys),
            limit=to_ast.number(0, "limit", limit),
            offset=to_ast.number(0, "offset", offset),
            sample=_sample(sample, seed),
            returning=to_ast.columns("returning", returning),
        )
        return self._bound.ask(tree, where, params)

    @checked_flags
    def occurrences(
        self,
        pattern: Ngram | Pattern,
        where: str | None = None,
        *,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        params: ParameterValues = None,
    ) -> results.Places:
        """Return the places of a pattern as arrays: the lines of KWIC without their texts.

        Parameters
        ----------
        pattern : text or token ids, or a pattern (`ngramdb.pattern`)
        where, params : condition on documents, as after WHERE
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; by default, the setting `match` applies

        Returns
        -------
        `doc_ids`, `positions` (in tokens, from 0) and `lengths`, (n,) int64 each, by document and position.

        Notes
        -----
        Cost: some 20 ns per occurrence, and 24 bytes.
        """
        bound = self._bound
        tree = ast.Kwic(to_ast.occurring(pattern, match_text, ignore_case), offset=ast.Value(0))
        plan = bound.optimized(bound.bind(tree, where, params))
        assert isinstance(plan, kwic_plan.Concordance)
        with bound.work():
            found = results.Places(*kwic_plan.places_of(plan))
        if not len(found.doc_ids) and plan.phrases:
            verbs.warn(cautions.cautions_of_nothing(plan))
        return found


DEFINITION = Definition(
    Verbs,
    "kwic",
    "KWIC",
    "Every occurrence in its context: KWIC.",
    {
        "pattern": Occurring(),
        "where": Condition(),
        "window": Window("tokens on either side"),
        "order_by": Order("`left`, `right` or `doc_id`, the order without it"),
        "sample": Sampled(),
        "returning": Returning(),
    },
    page="LIMIT",
    is_drawn=is_sampled,
    tool=Tool(
        "concordance",
        "Show where something occurs, each occurrence with the words to its left and right and its "
        "document: the evidence for how a word is used. `returning` adds fields (source, year, …) to "
        "each line; `sample` draws lines at random instead of the first ones.",
    ),
    help=Help(
        "KWIC condition [WHERE condition] [WINDOW n | SENTENCE] [ORDER BY keys] [LIMIT k] [OFFSET n]\n"
        "  [SAMPLE k [SEED s]] [RETURNING fields] [FROM source]",
        ('KWIC "machine learning" WINDOW 8 LIMIT 20', "each occurrence with its neighbours"),
        ('KWIC /wom[ae]n/ * "of"', "patterns: expressions, any token, alternatives, repetitions"),
        (
            'KWIC <s> "but" AND "peace" WITHIN SENTENCE',
            "sentences: where they begin and end, and what is in one",
        ),
    ),
)


def bind(scope: Scope, node: ast.Kwic) -> plans.Plan:
    """Return the plan of KWIC."""
    from ngramdb.planner import bind_conditions, bind_fields, bind_occurrences
    from ngramdb.questions.sampling import bind_sample

    corpus = scope.corpus(node.source)
    if isinstance(node.what, ast.Not):
        what = "KWIC cannot begin with NOT; DOCS WHERE NOT … lists the documents without"
        scope.fail(PlanError, what, node.what)
    found = bind_occurrences.occurring(scope, node.what, corpus, bind_conditions.condition)
    pattern = _common_pattern(found)
    if isinstance(pattern, patterns.Gram) and not len(pattern):
        scope.fail(PlanError, "KWIC needs an n-gram of at least one token", node.what)
    where = bind_conditions.condition(scope, node.where, corpus)
    order, depth, keys = _order(scope, node.order_by, corpus)
    is_pattern = isinstance(found, plans.OccurrencesOf)
    return kwic_plan.Concordance(
        corpus,
        pattern,
        where if is_pattern else plans.AllDocs(),
        _window(scope, node, corpus),
        order,
        order != kwic_plan.BY_FIELDS and bool(node.order_by) and node.order_by[0].descending,
        scope.number(node.limit, "LIMIT", 0),
        scope.number(node.offset, "OFFSET", 0) or 0,
        bind_sample(scope, node.sample),
        returning=bind_fields.returned_fields(scope, node.returning, corpus, beside=True),
        keys=keys,
        depth=depth,
        what=None if is_pattern else plans.InPart(found, where),
    )


def default_window(tokenizer_kind: str) -> int:
    """Return the number of tokens on either side without WINDOW."""
    return WINDOW_OF_CHARACTERS if tokenizer_kind in CHARACTER_TOKENIZERS else WINDOW


def _window(scope: Scope, node: ast.Kwic, corpus: Corpus) -> int | None:
    """Return the number of tokens on either side, or None for the sentence."""
    from ngramdb.planner.scope import require_sentences

    if isinstance(node.window, ast.InSentence):
        require_sentences(scope, node.window, corpus)
        return None
    window = scope.number(node.window, "WINDOW", 0)
    return default_window(corpus.tokenizer.kind) if window is None else min(window, WHOLE_DOCUMENT)


def _common_pattern(found: plans.Occurring) -> patterns.Pattern | None:
    """Return the pattern that all occurrences of an expression match; None if there are several."""
    if isinstance(found, (plans.InDocs, plans.NearTo)):
        return _common_pattern(found.what)
    return found.pattern if isinstance(found, plans.OccurrencesOf) else None


def _order(
    scope: Scope, keys: tuple[ast.OrderBy, ...], corpus: Corpus
) -> tuple[str, int | None, tuple[plans.FieldKey, ...]]:
    """Return the order, the number of tokens of contexts that are compared, and the fields."""
    from ngramdb.planner.bind_fields import document_keys

    if not keys:
        return kwic_plan.BY_PLACE, None, ()
    for key in keys:
        name, depth = _line_order(scope, key.field, corpus)
        if name in kwic_plan.CONCORDANCE_ORDERS and len(keys) == 1:
            return name, depth, ()
        if name in (kwic_plan.BY_LEFT, kwic_plan.BY_RIGHT, kwic_plan.BY_FORM):
            what = f"KWIC is ordered by {name} alone; lines that agree in it come by doc_id"
            scope.fail(PlanError, what, keys[1])
    return kwic_plan.BY_FIELDS, None, document_keys(scope, keys, corpus, kwic_plan.CONCORDANCE_ORDERS)


def _line_order(scope: Scope, node: ast.GroupKey, corpus: Corpus) -> tuple[str, int | None]:
    """Return the order that a key names ("" for a field), and the number of tokens of a side it compares."""
    from ngramdb.planner.bind_fields import field_types

    if isinstance(node, ast.Beside):
        return node.side, scope.number(node.tokens, node.side.upper(), 1)
    if isinstance(node, (ast.Field, ast.Form)):
        name = ".".join(node.keys).lower() if isinstance(node, ast.Field) else kwic_plan.BY_FORM
        if name != kwic_plan.BY_FORM or name not in field_types(corpus):
            return name, None
    return "", None


def _sample(size: int | None, seed: int | None) -> ast.Sample | None:
    if size is None:
        if seed is not None:
            raise InvalidArgument("seed applies to samples only: give their size with sample=")
        return None
    return ast.Sample(to_ast.required(1, "sample", size), to_ast.number(0, "seed", seed))

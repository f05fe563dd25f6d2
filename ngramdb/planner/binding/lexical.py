"""Binding COLLOCATES, KEYWORDS and DISPERSION."""

from __future__ import annotations

from dataclasses import replace

from ngramdb.errors import BindError, PlanError
from ngramdb.language import ast
from ngramdb.lm.spec import MAX_MIN_COUNT
from ngramdb.patterns import Gram
from ngramdb.planner import plan
from ngramdb.planner.binding.conditions import condition
from ngramdb.planner.binding.fields import DOC_ID, bound_field
from ngramdb.planner.binding.occurrences import occurring
from ngramdb.planner.binding.scope import Range, Scope, require_sentences
from ngramdb.planner.names import default_corpus, listing, nearest
from ngramdb.registries import ASSOCIATION_MEASURES, KEYNESS_MEASURES
from ngramdb.source import Corpus

# Tokens on either side of an occurrence when WINDOW is missing: those of Church & Hanks (1990).
SPAN = 5

POSITIVE = Range("above 0", lambda x: 0 < x < float("inf"))


def collocates(scope: Scope, node: ast.Collocates) -> plan.Plan:
    """Bind COLLOCATES."""
    corpus = scope.corpus(node.source)
    left, right, in_sentence = _window(scope, node.window, corpus)
    return plan.Collocation(
        corpus,
        part(scope, "COLLOCATES", node.what, node.where, corpus),
        left,
        right,
        measure(scope, node.by, ASSOCIATION_MEASURES),
        scope.number(node.min_count, "MIN COUNT", 1, MAX_MIN_COUNT) or 1,
        scope.number(node.top, "TOP", 0),
        in_sentence=in_sentence,
    )


def keywords(scope: Scope, node: ast.Keywords) -> plan.Plan:
    """Bind KEYWORDS."""
    corpus, documents = _compared(scope, node)
    by = measure(scope, node.by, KEYNESS_MEASURES)
    smoothing = None if node.by is None else scope.real(node.by.parameter, "what SIMPLE adds", POSITIVE)
    return plan.Keyness(
        corpus,
        documents,
        scope.number(node.ngrams, "the length of NGRAMS", 1) or 1,
        by,
        1.0 if smoothing is None else smoothing,
        scope.number(node.min_count, "MIN COUNT", 1, MAX_MIN_COUNT) or 1,
        scope.number(node.top, "TOP", 0),
    )


def _compared(scope: Scope, node: ast.Keywords) -> tuple[Corpus, plan.Contrast]:
    """One corpus with both parts, and which documents are which."""
    what, against = node.what, node.against
    source = what.source or node.source
    first = scope.corpus(source)
    if against is None:
        if what.where is None:
            scope.fail(
                PlanError, "REST is what a condition leaves over: KEYWORDS OF WHERE … AGAINST REST", what
            )
        return first, plan.Contrast(condition(scope, what.where, first))
    other = against.source or node.source
    if other == source:
        return first, _contrast(scope, what, against, first)
    terms = [term for one in (source, other) for term in _terms(scope, one, node)]
    both = scope.corpus(ast.Source(tuple(terms), span=node.span))
    # Conditions speak of tokens of the common vocabulary, in which the segments are.
    return both, replace(_contrast(scope, what, against, both), n_first=len(first.segments))


def _contrast(scope: Scope, what: ast.DocumentsOf, against: ast.DocumentsOf, corpus: Corpus) -> plan.Contrast:
    return plan.Contrast(condition(scope, what.where, corpus), condition(scope, against.where, corpus))


def _terms(scope: Scope, source: ast.Source | None, node: ast.Keywords) -> tuple[ast.SourceTerm, ...]:
    """The corpora of a source; FROM and the current corpus stand for one that is not named."""
    if source is None:
        name = default_corpus(scope.catalog.current, scope.catalog.corpus_names())
        return (ast.SourceTerm(ast.Name(name)),)
    for term in source.terms:
        if term.sign < 0:
            message = "KEYWORDS compares sums of corpora; subtract documents by a condition, or for good"
            scope.fail(PlanError, message, term)
    return source.terms


def dispersion(scope: Scope, node: ast.Dispersion) -> plan.Plan:
    """Bind DISPERSION."""
    corpus = scope.corpus(node.source)
    key = None if node.by is None else _parts_by(scope, node.by, corpus)
    if key == plan.FieldKey(DOC_ID, own=True):
        key = None  # each document is a part of its own, in a sum of corpora, too
    return plan.Spread(corpus, part(scope, "DISPERSION", node.what, node.where, corpus), key)


def _parts_by(scope: Scope, node: ast.Field, corpus: Corpus) -> plan.FieldKey:
    """Return the field whose values are the parts; the error for an unknown one lists the measures."""
    try:
        return bound_field(scope, node, corpus)[0]
    except BindError as error:
        if error.nearest is not None and node.keys[0] not in plan.DISPERSION_COLUMNS:
            raise
        measures = listing(plan.DISPERSION_COLUMNS[3:])
        what = f"{error.message}; BY takes a field or DOCUMENTS: the measures, {measures}, are columns"
        scope.fail(BindError, what, node, error)


def part(
    scope: Scope, verb: str, what: ast.Condition, where: ast.Condition | None, corpus: Corpus
) -> plan.InPart:
    """The occurrences that a statement is about, and the documents that it is about."""
    found = occurring(scope, what, corpus, condition)
    pattern = found.pattern if isinstance(found, plan.OccurrencesOf) else None
    if isinstance(pattern, Gram) and not len(pattern):
        scope.fail(PlanError, f"{verb} needs an n-gram of at least one token", what)
    return plan.InPart(found, condition(scope, where, corpus))


def measure(scope: Scope, node: ast.Measure | None, known: tuple[str, ...]) -> str:
    """The name of a measure, which a tree made by hand may have wrong; the first one without a name."""
    if node is None:
        return known[0]
    if node.name not in known:
        hint = nearest(node.name, known)
        tail = f"; known: {listing(known)}" if hint is None else f"; did you mean {hint}?"
        scope.refuse(f"no measure {node.name!r}{tail}", node)
    return node.name


def _window(scope: Scope, node: ast.Around | None, corpus: Corpus) -> tuple[int, int, bool]:
    """Tokens before and after an occurrence, and whether only those of its sentence."""
    if node is None:
        return SPAN, SPAN, False
    if node.sentence is not None:
        require_sentences(scope, node.sentence, corpus)
    if node.left is None and node.right is None:
        return plan.WHOLE_DOCUMENT, plan.WHOLE_DOCUMENT, True
    left, right = (scope.number(side, "WINDOW", 0) or 0 for side in (node.left, node.right))
    if not left and not right:
        scope.fail(PlanError, "a window has at least one token on one side", node)
    return min(left, plan.WHOLE_DOCUMENT), min(right, plan.WHOLE_DOCUMENT), node.sentence is not None

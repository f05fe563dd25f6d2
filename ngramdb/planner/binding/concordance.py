"""Binding KWIC and TRACE."""

from __future__ import annotations

from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.patterns import Gram, Pattern
from ngramdb.planner import plan
from ngramdb.planner.binding.conditions import among, condition
from ngramdb.planner.binding.fields import document_keys, field_types, returned_fields
from ngramdb.planner.binding.occurrences import occurring
from ngramdb.planner.binding.scope import Scope, require_sentences
from ngramdb.registries import CHARACTER_TOKENIZERS
from ngramdb.source import Corpus

# Tokens on either side of a match when WINDOW is missing: of words or pieces of them, and of single
# characters.
WINDOW = 10
WINDOW_OF_CHARACTERS = 40

# Seeds that are drawn when SEED is missing are short enough to be typed again.
DRAWN_SEEDS = 2**31


def default_window(kind: str) -> int:
    """The window of a corpus with this kind of tokenizer."""
    return WINDOW_OF_CHARACTERS if kind in CHARACTER_TOKENIZERS else WINDOW


def sampling(scope: Scope, node: ast.Sample | None) -> plan.Sampling | None:
    """SAMPLE k [SEED s]; without SEED one is drawn, which the result's summary records."""
    if node is None:
        return None
    import secrets

    size = scope.number(node.size, "SAMPLE", 1)
    seed = scope.number(node.seed, "SEED", 0)
    assert size is not None
    return plan.Sampling(size, secrets.randbelow(DRAWN_SEEDS) if seed is None else seed)


def kwic(scope: Scope, node: ast.Kwic) -> plan.Plan:
    """Bind KWIC."""
    corpus = scope.corpus(node.source)
    if isinstance(node.what, ast.Not):
        what = "KWIC cannot begin with NOT; DOCS WHERE NOT … lists the documents without"
        scope.fail(PlanError, what, node.what)
    found = occurring(scope, node.what, corpus, condition)
    sought = _pattern(found)
    if isinstance(sought, Gram) and not len(sought):
        scope.fail(PlanError, "KWIC needs an n-gram of at least one token", node.what)
    where = condition(scope, node.where, corpus)
    order, depth, keys = _order(scope, node.order_by, corpus)
    is_pattern = isinstance(found, plan.OccurrencesOf)
    return plan.Concordance(
        corpus,
        sought,
        where if is_pattern else plan.AllDocs(),
        _window(scope, node, corpus),
        order,
        order != plan.BY_FIELDS and bool(node.order_by) and node.order_by[0].descending,
        scope.number(node.limit, "LIMIT", 0),
        scope.number(node.offset, "OFFSET", 0) or 0,
        sampling(scope, node.sample),
        returning=returned_fields(scope, node.returning, corpus, beside=True),
        keys=keys,
        depth=depth,
        what=None if is_pattern else plan.InPart(found, where),
    )


def _window(scope: Scope, node: ast.Kwic, corpus: Corpus) -> int | None:
    """Tokens on either side; None for the sentence."""
    if isinstance(node.window, ast.InSentence):
        require_sentences(scope, node.window, corpus)
        return None
    window = scope.number(node.window, "WINDOW", 0)
    return default_window(corpus.tokenizer.kind) if window is None else min(window, plan.WHOLE_DOCUMENT)


def _pattern(found: plan.Occurring) -> Pattern | None:
    """The pattern of which all occurrences of an expression are; None where there are several."""
    if isinstance(found, (plan.InDocs, plan.NearTo)):
        return _pattern(found.what)
    return found.pattern if isinstance(found, plan.OccurrencesOf) else None


def _order(
    scope: Scope, keys: tuple[ast.OrderBy, ...], corpus: Corpus
) -> tuple[str, int | None, tuple[plan.FieldKey, ...]]:
    """Return the order, how many tokens of the context are compared, and the fields."""
    if not keys:
        return plan.BY_PLACE, None, ()
    for key in keys:
        name, depth = _line_order(scope, key.field, corpus)
        if name in plan.CONCORDANCE_ORDERS and len(keys) == 1:
            return name, depth, ()
        if name in (plan.BY_LEFT, plan.BY_RIGHT, plan.BY_FORM):
            what = f"KWIC is ordered by {name} alone; lines that agree in it come by doc_id"
            scope.fail(PlanError, what, keys[1])
    return plan.BY_FIELDS, None, document_keys(scope, keys, corpus, plan.CONCORDANCE_ORDERS)


def _line_order(scope: Scope, node: ast.GroupKey, corpus: Corpus) -> tuple[str, int | None]:
    """Return the order that a key means, "" for a field, and how many tokens of a side it compares."""
    if isinstance(node, ast.Beside):
        return node.side, scope.number(node.tokens, node.side.upper(), 1)
    if isinstance(node, (ast.Field, ast.Form)):
        name = ".".join(node.keys).lower() if isinstance(node, ast.Field) else plan.BY_FORM
        if name != plan.BY_FORM or name not in field_types(corpus):
            return name, None
    return "", None


def trace(scope: Scope, node: ast.Trace) -> plan.Plan:
    """Bind TRACE."""
    corpus = scope.corpus(node.source)
    least = scope.number(node.min_length, "MIN LENGTH", 1)
    passage = scope.passage(node.ngram, corpus)
    where = among(scope, node.where, corpus)
    returning = returned_fields(scope, node.returning, corpus, beside=True)
    return plan.Tracing(corpus, passage, 1 if least is None else least, returning=returning, where=where)

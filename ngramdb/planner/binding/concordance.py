"""Binding KWIC, NGRAMS and TRACE."""

from __future__ import annotations

from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.lm.spec import MAX_MIN_COUNT
from ngramdb.patterns import Gram, Pattern, StoredWords, TokenPattern
from ngramdb.planner import plan
from ngramdb.planner.binding.conditions import among, condition
from ngramdb.planner.binding.fields import document_keys, field_types, returned_fields
from ngramdb.planner.binding.occurrences import occurring
from ngramdb.planner.binding.patterns import token_pattern_of
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


def ngrams(scope: Scope, node: ast.Ngrams) -> plan.Plan:
    """Bind NGRAMS."""
    corpus = scope.corpus(node.source)
    shortest, longest = _lengths(scope, node.n)
    where, top = condition(scope, node.where, corpus), scope.number(node.top, "TOP", 0)
    if node.ignore_case and corpus.tokenizer.kind == "tokens":
        scope.refuse("IGNORE CASE takes text, and the tokens of this corpus have none", node)
    found = plan.NgramSelection(
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
    plain = plan.NgramSelection(corpus, shortest, shortest, where, top=top)
    return plan.NgramList(corpus, shortest, where, top) if found == plain else found


def _lengths(scope: Scope, node: ast.Scalar | ast.Lengths) -> tuple[int, int]:
    if isinstance(node, ast.Lengths):
        if node.low < 1:
            scope.refuse("the length of NGRAMS is a whole number of at least 1, not 0", node)
        return node.low, node.high
    n = scope.number(node, "the length of NGRAMS", 1)
    assert n is not None
    return n, n


def _contained(scope: Scope, node: ast.Ngrams, corpus: Corpus) -> Gram | StoredWords | TokenPattern | None:
    """What n-grams contain: an n-gram, or a pattern over tokens."""
    inner = node.containing
    if inner is None or isinstance(inner, (ast.Text, ast.TokenIds, ast.Parameter)):
        is_text = inner is not None and isinstance(scope.value_of(inner), str)
        if inner is None or not (is_text and scope.matching().as_text):
            return _part(scope, inner, corpus, is_pattern=True)
        inner = ast.Matching(inner, True, scope.matching().ignore_case, span=inner.span)
    return token_pattern_of(scope, inner, corpus, node.ignore_case)


def _part(scope: Scope, node: ast.Ngram | None, corpus: Corpus, is_pattern: bool = False) -> Gram | None:
    """What n-grams contain, start or end with."""
    if node is None:
        return None
    found = scope.gram(node, corpus)
    if not len(found):
        scope.refuse("this needs an n-gram of at least one token", node)
    scope.remember(corpus, found, is_pattern=is_pattern)
    return found


def trace(scope: Scope, node: ast.Trace) -> plan.Plan:
    """Bind TRACE."""
    corpus = scope.corpus(node.source)
    least = scope.number(node.min_length, "MIN LENGTH", 1)
    passage = scope.passage(node.ngram, corpus)
    where = among(scope, node.where, corpus)
    returning = returned_fields(scope, node.returning, corpus, beside=True)
    return plan.Tracing(corpus, passage, 1 if least is None else least, returning=returning, where=where)

"""Binding patterns: literals with MATCH TEXT and IGNORE CASE, parts with gaps, parameters."""

from __future__ import annotations

from typing import Any

from ngramdb.errors import InvalidArgument, PlanError, ResourceError
from ngramdb.language import ast
from ngramdb.limits import MAX_GAP
from ngramdb.patterns import (
    Gapped,
    Gram,
    Pattern,
    Simple,
    StoredText,
    StoredWords,
    TokenPattern,
    show_text,
    takes_text,
)
from ngramdb.patterns.grams import bind_text, no_token
from ngramdb.planner.binding.scope import Matching, Scope
from ngramdb.source import Corpus


def pattern(scope: Scope, node: ast.Pattern, corpus: Corpus) -> Pattern:
    """Return a pattern of the language, bound to a corpus.

    Raises
    ------
    PlanError
        Modifiers that do not apply to the literal or the corpus's tokenizer; invalid parts or gaps; the empty
        n-gram in a condition on documents that are removed.
    """
    found = _meant(scope, node, corpus)
    if scope.removes and isinstance(found, Gram) and not len(found):
        # Usually a variable that is empty by mistake; every document has the empty n-gram.
        what = (
            "the empty n-gram is in every document, and DELETE would remove them all; write doc_id >= 0 if "
            "that is intended"
        )
        scope.fail(PlanError, what, node)
    return found


def _meant(scope: Scope, node: ast.Pattern, corpus: Corpus) -> Pattern:
    if isinstance(node, ast.Gapped):
        return _gapped(scope, node, corpus)
    if isinstance(node, (ast.Text, ast.TokenIds, ast.Parameter)):
        return _simple(scope, node, corpus)
    from ngramdb.planner.binding import token_patterns

    if isinstance(node, ast.Matching) and token_patterns.is_ngram(node):
        return _simple(scope, node, corpus)
    return token_patterns.token_pattern(scope, node, corpus, _simple)


def token_pattern_of(
    scope: Scope, node: ast.Pattern, corpus: Corpus, ignore_case: bool = False
) -> StoredWords | TokenPattern:
    """Return a pattern as a program over token ids or words of the text, even if it is a plain n-gram."""
    from ngramdb.planner.binding import token_patterns

    return token_patterns.program(scope, node, corpus, _simple, ignore_case)


def _gapped(scope: Scope, node: ast.Gapped, corpus: Corpus) -> Gapped:
    parts = []
    scope.doubt_case(node.parts, corpus)
    for part in node.parts:
        bound = _simple(scope, part, corpus)
        if isinstance(bound, Gram) and not len(bound):
            scope.fail(PlanError, "a part of a pattern with gaps needs at least one token", part)
        parts.append(bound)
    gaps = []
    for gap in node.gaps:
        if not gap.low <= gap.high <= MAX_GAP:
            what = (
                f"invalid gap [{gap.low}..{gap.high}]: a gap is [low..high], 0 <= low <= high <= {MAX_GAP:,}"
            )
            scope.fail(PlanError, what, gap)
        gaps.append((gap.low, gap.high))
    return Gapped(tuple(parts), tuple(gaps))


def _simple(scope: Scope, node: ast.Ngram | ast.Matching, corpus: Corpus) -> Simple:
    if isinstance(node, ast.Parameter):
        given = scope.parameters.value(node)
        if not isinstance(given, str):
            return scope.bound(node, given, corpus)
    ngram: Any = node.ngram if isinstance(node, ast.Matching) else node
    value = _text_of(scope, ngram)
    as_text, ignore_case = _modifiers(scope, node, value)
    if value is None and (as_text or ignore_case):
        scope.fail(PlanError, "MATCH TEXT and IGNORE CASE take text, not token ids", node)
    by_tokens = isinstance(node, ast.Matching) and node.text is False
    # A tree made by hand comes from Python.
    shown = "match_text=True" if ngram.span is None else f"{show_text(value or '')} MATCH TEXT"
    if value and (as_text or ignore_case):
        from ngramdb.patterns import text_matching
    try:
        if value and as_text:
            return _remembered(scope, text_matching.matched(value, True, ignore_case, corpus), value, corpus)
        gram = bind_text(scope.value_of(ngram), corpus.tokenizer)
        if value and ignore_case:
            are_words = corpus.tokenizer.has_own_words
            # Some tokenizers drop unknown words, which may be known in another case.
            if len(corpus.tokenizer.split(value) if are_words else gram):
                if by_tokens or are_words:
                    found = text_matching.tokens_in_any_case(value, corpus)
                else:
                    found = text_matching.matched(value, False, True, corpus)
                return _remembered(scope, found, value, corpus)
    except (InvalidArgument, ResourceError) as error:
        scope.refuse(str(error), node, error)
    if value and not len(gram):
        scope.refuse(no_token(value, corpus.tokenizer, shown), ngram)
    matched = shown if takes_text(corpus.tokenizer) else None
    scope.remember(corpus, gram, matched=matched, is_pattern=True)
    return gram


def _remembered(scope: Scope, found: Simple, text: str, corpus: Corpus) -> Simple:
    """Return the match of a text; if it is empty, keep the text for a note, since it may be a mistake."""
    if not found.known or isinstance(found, StoredText):
        gram = bind_text(text, corpus.tokenizer)
        scope.remember(corpus, gram, as_text=True, is_pattern=True, is_stored=found.known)
    return found


def _text_of(scope: Scope, node: ast.Ngram) -> str | None:
    if isinstance(node, ast.Text):
        return node.value
    value: Any = scope.parameters.value(node) if isinstance(node, ast.Parameter) else None
    return value if isinstance(value, str) else None


def _modifiers(scope: Scope, node: ast.Ngram | ast.Matching, value: str | None) -> tuple[bool, bool]:
    """Return whether text is matched, and whether case is ignored, by modifiers or the setting."""
    is_plain = value is None
    default = Matching(False, False) if is_plain else scope.matching()
    if not isinstance(node, ast.Matching):
        return default
    return default.as_text if node.text is None else node.text, node.ignore_case

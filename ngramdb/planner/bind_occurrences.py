"""Binding patterns, and the occurrences that COUNT counts: patterns joined by OR, AND, NOT and WITHIN."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

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
from ngramdb.planner import plan
from ngramdb.planner.scope import Matching, Scope, require_sentences
from ngramdb.source import Corpus


class ConditionBinder(Protocol):
    """Binds conditions on documents. A parameter, since conditions have occurrences themselves.

    With `unknown`, documents for which the condition is unknown are included.
    """

    def __call__(
        self, scope: Scope, node: ast.Condition, corpus: Corpus, unknown: bool = False
    ) -> plan.DocExpr: ...


def has_occurrences(node: ast.Condition) -> bool:
    """Return True if an operand of WITHIN has positions in documents, not only whole documents."""
    if isinstance(node, (ast.And, ast.Within)):
        return any(map(has_occurrences, node.operands))
    if isinstance(node, ast.Or):
        return all(map(has_occurrences, node.operands))
    return isinstance(node, ast.Contains)


def occurring(
    scope: Scope, node: ast.Condition, corpus: Corpus, condition: ConditionBinder, unknown: bool = False
) -> plan.Occurring:
    """Return the occurrences of a condition; with `unknown`, include documents for which a test is unknown.

    OR has those of all distinct operands; AND those of its first operand in documents that meet all others;
    WITHIN those of its first operand near one of every other.

    Raises
    ------
    PlanError
        The first operand is NOT, or a condition on whole documents.
    """
    if isinstance(node, ast.Contains):
        return plan.OccurrencesOf(pattern(scope, node.pattern, corpus))
    if isinstance(node, (ast.And, ast.Or)):
        scope.doubt_case(node.operands, corpus)
    if isinstance(node, ast.Or):
        every = (occurring(scope, item, corpus, condition, unknown) for item in node.operands)
        operands = tuple(dict.fromkeys(every))
        return operands[0] if len(operands) == 1 else plan.AnyOf(operands)
    if isinstance(node, ast.And):
        first = occurring(scope, node.operands[0], corpus, condition, unknown)
        docs = tuple(condition(scope, item, corpus, unknown) for item in node.operands[1:])
        return plan.InDocs(first, docs[0] if len(docs) == 1 else plan.Intersection(docs))
    if isinstance(node, ast.Within):
        return near_to(scope, node, corpus, condition, unknown)
    if isinstance(node, ast.Not):
        scope.fail(
            PlanError,
            "COUNT cannot begin with NOT; COUNT DOCS WHERE NOT … counts the documents without",
            node,
        )
    scope.fail(
        PlanError,
        "this is a condition on whole documents, without occurrences to count: write the n-gram "
        "first, and this after AND or WHERE",
        node,
    )


def of_operand(
    scope: Scope, node: ast.Condition, corpus: Corpus, condition: ConditionBinder, unknown: bool
) -> plan.Occurring:
    """Return the occurrences of an operand of WITHIN; those of an AND may come at any place in it."""
    return occurring(scope, _occurrences_first(node), corpus, condition, unknown)


def _occurrences_first(node: ast.Condition) -> ast.Condition:
    """Move operands with occurrences before those without, in AND and WITHIN, also within an OR."""
    if isinstance(node, (ast.And, ast.Within)):
        ordered = sorted(node.operands, key=lambda item: not has_occurrences(item))
        return replace(node, operands=(_occurrences_first(ordered[0]), *ordered[1:]))
    if isinstance(node, ast.Or):
        return replace(node, operands=tuple(map(_occurrences_first, node.operands)))
    return node


def distance(scope: Scope, node: ast.Within, corpus: Corpus) -> int | None:
    """Return the distance in tokens at which operands may start; None: anywhere in the sentence."""
    if isinstance(node.tokens, ast.InSentence):
        require_sentences(scope, node.tokens, corpus)
        return None
    return scope.number(node.tokens, "WITHIN", 0)


def near_to(
    scope: Scope, node: ast.Within, corpus: Corpus, condition: ConditionBinder, unknown: bool = False
) -> plan.Occurring:
    """Bind `x AND y AND NOT z WITHIN k TOKENS`: the occurrences of x with y, and without z, near them.

    WITHIN SENTENCE: those whose sentence has a y and no z.
    """
    scope.doubt_case(node.operands, corpus)
    tokens = distance(scope, node, corpus)
    first = of_operand(scope, node.operands[0], corpus, condition, unknown)
    near: list[plan.Occurring] = []
    apart: list[plan.Occurring] = []
    docs: list[plan.DocExpr] = []
    for item in node.operands[1:]:
        if has_occurrences(item):
            near.append(of_operand(scope, item, corpus, condition, unknown))
        elif isinstance(item, ast.Not) and has_occurrences(item.operand):
            apart.append(of_operand(scope, item.operand, corpus, condition, not unknown))
        else:
            docs.append(condition(scope, item, corpus, unknown))
    found: plan.Occurring = first
    if tokens is None:
        every = (tuple(map(in_one_sentence, some)) for some in ((first,), near, apart))
        (first,), others, without = every
        found = plan.NearTo(first, others, without, None)
    elif near or apart:
        found = plan.NearTo(first, tuple(near), tuple(apart), tokens)
    if docs:
        found = plan.InDocs(found, docs[0] if len(docs) == 1 else plan.Intersection(tuple(docs)))
    return found


def in_one_sentence(found: plan.Occurring) -> plan.Occurring:
    """Return the same occurrences, but matches of patterns do not cross the end of their sentence."""
    if isinstance(found, plan.OccurrencesOf) and isinstance(found.pattern, (StoredWords, TokenPattern)):
        return replace(found, pattern=found.pattern.in_one_sentence())
    children: tuple[Any, ...] = found.children()
    if isinstance(found, plan.AnyOf):
        return replace(found, operands=tuple(map(in_one_sentence, found.operands)))
    if isinstance(found, (plan.InDocs, plan.NearTo)):
        return replace(found, what=in_one_sentence(children[0]))
    return found


# ---- patterns: literals with MATCH TEXT and IGNORE CASE, parts with gaps, parameters


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
            "the empty n-gram is in every document, so that the condition chooses them all; write "
            "doc_id >= 0 if that is intended"
        )
        scope.fail(PlanError, what, node)
    return found


def _meant(scope: Scope, node: ast.Pattern, corpus: Corpus) -> Pattern:
    if isinstance(node, ast.RawText):
        from ngramdb.planner import bind_raw_text

        return bind_raw_text.stored_expression(scope, node, corpus)
    if isinstance(node, ast.Gapped):
        return _gapped(scope, node, corpus)
    if isinstance(node, (ast.Text, ast.TokenIds, ast.Parameter)):
        return _simple(scope, node, corpus)
    from ngramdb.planner import bind_token_patterns

    if isinstance(node, ast.Matching) and bind_token_patterns.is_ngram(node):
        return _simple(scope, node, corpus)
    return bind_token_patterns.token_pattern(scope, node, corpus, _simple)


def token_pattern_of(
    scope: Scope, node: ast.Pattern, corpus: Corpus, ignore_case: bool = False
) -> StoredWords | TokenPattern:
    """Return a pattern as a program over token ids or words of the text, even if it is a plain n-gram."""
    from ngramdb.planner import bind_token_patterns

    return bind_token_patterns.program(scope, node, corpus, _simple, ignore_case)


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

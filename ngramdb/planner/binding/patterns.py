"""Binding patterns: literals with MATCH TEXT and IGNORE CASE, parts with gaps, parameters."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import Any, NoReturn

import numpy as np

from ngramdb.diacritics import JOINERS, Spelling
from ngramdb.errors import InvalidArgument, PlanError, ResourceError
from ngramdb.language import ast
from ngramdb.limits import MAX_GAP
from ngramdb.planner import plan
from ngramdb.planner.binding.scope import Matching, Scope
from ngramdb.planner.grams import bind_text, no_token
from ngramdb.planner.source import Corpus, IntArray, Tokenizer

# The letter iota, whose other case is a mark: the only one of Unicode (15.1).
IOTAS = frozenset("\u03b9\u0399\u1fbe\u0345")
_IOTA = re.compile("[\u03b9\u0399\u1fbe\u0345]")

# A single word, save for the marks after it.
IDEOGRAPH = "\u5b57"

# Conditions on more words than this cost more than reading the texts that they spare.
MAX_NEEDED_WORDS = 2000

# Of a longer word a part is looked for in the vocabulary, where regular expressions take time for each of its
# characters at every place.
MAX_NEEDED_CHARACTERS = 32

# Words within a text that are looked up in the vocabulary, the longest: each is a pass over it.
MAX_NEEDED_PIECES = 32


def pattern(scope: Scope, node: ast.Pattern, corpus: Corpus) -> plan.Pattern:
    """What a pattern of the language means in a corpus.

    Raises
    ------
    PlanError
        Modifiers that make no sense for the literal or the corpus's tokenizer; parts or gaps that can't be.
        Or the empty n-gram, where documents are removed.
    """
    found = _meant(scope, node, corpus)
    if scope.removes and isinstance(found, plan.Gram) and not len(found):
        # As a rule an empty variable; every document has the empty n-gram.
        what = "an empty n-gram is in every document, and DELETE would remove them all; doc_id >= 0 says so"
        scope.fail(PlanError, what, node)
    return found


def _meant(scope: Scope, node: ast.Pattern, corpus: Corpus) -> plan.Pattern:
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
) -> plan.StoredWords | plan.TokenPattern:
    """A pattern as a program that reads token ids, or words of the text, whatever it comes down to."""
    from ngramdb.planner.binding import token_patterns

    return token_patterns.program(scope, node, corpus, _simple, ignore_case)


def _gapped(scope: Scope, node: ast.Gapped, corpus: Corpus) -> plan.Gapped:
    parts = []
    scope.doubt_case(node.parts, corpus)
    for part in node.parts:
        bound = _simple(scope, part, corpus)
        if isinstance(bound, plan.Gram) and not len(bound):
            scope.fail(PlanError, "a part of a pattern with gaps has at least one token", part)
        parts.append(bound)
    gaps = []
    for gap in node.gaps:
        if not gap.low <= gap.high <= MAX_GAP:
            what = f"a gap is [low..high], low at most high; [{gap.low}..{gap.high}] is none"
            scope.fail(PlanError, what, gap)
        gaps.append((gap.low, gap.high))
    return plan.Gapped(tuple(parts), tuple(gaps))


def _simple(scope: Scope, node: ast.Ngram | ast.Matching, corpus: Corpus) -> plan.Simple:
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
    # In a tree made by hand, the reader is one who writes Python.
    shown = "match_text=True" if ngram.span is None else f"{plan.show_text(value or '')} MATCH TEXT"
    try:
        if value and as_text:
            return _remembered(scope, _matched(value, True, ignore_case, corpus), value, corpus)
        gram = bind_text(scope.value_of(ngram), corpus.tokenizer)
        if value and ignore_case:
            are_words = plan.gives_words(corpus.tokenizer)
            # Some tokenizers drop unknown words, which may be known in another case.
            if len(corpus.tokenizer.split(value) if are_words else gram):
                match = _tokens_in_any_case if by_tokens or are_words else _in_any_case
                return _remembered(scope, match(value, corpus), value, corpus)
    except (InvalidArgument, ResourceError) as error:
        scope.refuse(str(error), node, error)
    if value and not len(gram):
        scope.refuse(no_token(value, corpus.tokenizer, shown), ngram)
    matched = shown if plan.takes_text(corpus.tokenizer) else None
    scope.remember(corpus, gram, matched=matched, is_pattern=True)
    return gram


def _remembered(scope: Scope, found: plan.Simple, text: str, corpus: Corpus) -> plan.Simple:
    """What a text was matched to. Where that is nothing, the text may have been meant otherwise."""
    if not found.known or isinstance(found, plan.StoredText):
        gram = bind_text(text, corpus.tokenizer)
        scope.remember(corpus, gram, as_text=True, is_pattern=True, is_stored=found.known)
    return found


def _text_of(scope: Scope, node: ast.Ngram) -> str | None:
    if isinstance(node, ast.Text):
        return node.value
    value: Any = scope.parameters.value(node) if isinstance(node, ast.Parameter) else None
    return value if isinstance(value, str) else None


def _modifiers(scope: Scope, node: ast.Ngram | ast.Matching, value: str | None) -> tuple[bool, bool]:
    """Whether text is matched, and whether case is ignored: as written, else as the setting decides."""
    is_plain = value is None
    default = Matching(False, False) if is_plain else scope.matching()
    if not isinstance(node, ast.Matching):
        return default
    return default.as_text if node.text is None else node.text, node.ignore_case


def _matched(text: str, as_text: bool, ignore_case: bool, corpus: Corpus) -> plan.Simple:
    """A text under MATCH TEXT, IGNORE CASE or both."""
    from ngramdb.planner import string_to_ids

    tokenizer = corpus.tokenizer
    if not plan.takes_text(tokenizer):
        _refuse(corpus)
    gives_words = tokenizer.kind.startswith("words")
    spells = plan.spells(corpus)
    if not spells and tokenizer.has_places and not all(segment.has_texts for segment in corpus.segments):
        _refuse_without_texts(corpus)
    if (as_text and gives_words) or (tokenizer.has_places and not gives_words and not spells):
        return _stored(text, ignore_case, corpus)
    # Sequences of tokens are followed while they occur: with counts below zero, some would not be found.
    corpus.check_difference()
    if tokenizer.kind in ("bytes", "chars") and not ignore_case:
        return string_to_ids.sole_variant(_valid(text), corpus, exact=tokenizer.kind == "chars")
    if spells:
        # Letters of another case make other tokens: under sub-word tokenizers, text is what is meant.
        return string_to_ids.spelled_variants(_valid(text), ignore_case, corpus)
    if tokenizer.kind == "chars":
        in_any_case = cache(partial(_character_in_any_case, tokenizer=tokenizer))
        return string_to_ids.case_variants(text, map(in_any_case, _valid(text)), corpus)
    return _words_in_any_case(text, corpus)


def _in_any_case(text: str, corpus: Corpus) -> plan.Simple:
    return _matched(text, False, True, corpus)


def _tokens_in_any_case(text: str, corpus: Corpus) -> plan.Simple:
    """Match the tokens of a text, each in any case: under MATCH TOKENS, or if tokens are words."""
    from ngramdb.planner import string_to_ids

    tokenizer = corpus.tokenizer
    if tokenizer.kind == "chars" or tokenizer.kind.startswith("words"):  # tokens are what is compared anyway
        return _in_any_case(text, corpus)
    corpus.check_difference()

    @cache
    def in_any_case(token: str) -> IntArray:
        return tokenizer.matching(Spelling(tuple(map(plan.same_letters, token))), False, False)

    choices = map(in_any_case, string_to_ids.compared_texts(_valid(text), tokenizer))
    return string_to_ids.case_variants(text, choices, corpus, by_tokens=True)


def _character_in_any_case(character: str, tokenizer: Tokenizer) -> IntArray:
    return np.sort(np.concatenate([tokenizer.encode(c) for c in plan.same_letters(character)]))


def _valid(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"the text is not valid Unicode: {error}") from error
    return text


def _refuse(corpus: Corpus) -> NoReturn:
    raise InvalidArgument(
        "MATCH TEXT and IGNORE CASE need a tokenizer whose tokens spell the text, or that says where they "
        f"stand in it; that of {corpus.entry.name} does neither"
    )


def _refuse_without_texts(corpus: Corpus) -> NoReturn:
    raise InvalidArgument(
        f"MATCH TEXT and IGNORE CASE need the texts of the documents, and {corpus.entry.name} has token ids "
        "alone, which do not spell them; ask for the n-gram as it stands"
    )


def _words_in_any_case(text: str, corpus: Corpus) -> plan.Simple:
    from ngramdb.planner import string_to_ids

    words = string_to_ids.word_list(corpus.tokenizer)
    pieces = corpus.tokenizer.split(text)

    @cache
    def in_any_case(word: str) -> IntArray:
        return words.matching(b"^" + string_to_ids.byte_expression(word, True) + b"$")

    return string_to_ids.case_variants(text, map(in_any_case, pieces), corpus)


def _stored(text: str, ignore_case: bool, corpus: Corpus) -> plan.StoredText:
    shown = plan.show_text(_valid(text)) + " MATCH TEXT" + (" IGNORE CASE" if ignore_case else "")
    # Where words are not the text's own characters, what a document needs cannot be told from the string.
    is_plain = corpus.tokenizer.kind == "words" and not JOINERS.intersection(text)
    needs = tuple(_needs(text, ignore_case, corpus)) if is_plain else ()
    return plan.StoredText(shown, text, ignore_case, needs)


def _needs(text: str, ignore_case: bool, corpus: Corpus) -> list[tuple[plan.Gram, ...]]:
    """What words a document must have to contain the text: its first and last ones may be parts of words."""
    from ngramdb.planner import string_to_ids

    words = string_to_ids.word_list(corpus.tokenizer)
    pieces = _pieces(text, ignore_case, corpus.tokenizer)

    def having(piece: str, before: bytes = b"", behind: bytes = b"") -> IntArray:
        if len(piece) > MAX_NEEDED_CHARACTERS:  # a part of it will do
            if before or not behind:
                piece, behind = piece[:MAX_NEEDED_CHARACTERS], b""
            else:
                piece = piece[-MAX_NEEDED_CHARACTERS:]
        return words.matching(before + string_to_ids.byte_expression(piece, ignore_case) + behind)

    if pieces is None:
        return []
    if len(pieces) <= 1:
        sets = [having(piece) for piece in pieces]
    else:
        sets = [having(pieces[0], behind=b"$"), having(pieces[-1], before=b"^")]
        if ignore_case:
            inside = sorted(set(pieces[1:-1]), key=len, reverse=True)[:MAX_NEEDED_PIECES]
            sets.extend(having(piece, b"^", b"$") for piece in inside)
    clauses = [
        tuple(plan.Gram(np.array([i]), plan.show_text(corpus.tokenizer.token_text(i))) for i in ids.tolist())
        for ids in sets
        if len(ids) <= MAX_NEEDED_WORDS
    ]
    if len(pieces) > 2 and not ignore_case:
        inner = np.array(corpus.tokenizer.encode(" ".join(pieces[1:-1])), dtype=np.int64)
        known = not (inner < 0).any()
        clauses.append((plan.Gram(inner, plan.show_text(" ".join(pieces[1:-1]))),) if known else ())
    return clauses


def _pieces(text: str, ignore_case: bool, tokenizer: Tokenizer) -> list[str] | None:
    """The words of a text inside any other, whose first and last are perhaps parts of longer ones.

    A mark goes with the ideograph before it, and the word ends there: which word the marks at the beginning
    belong to, and whether it ends, depends on the document. None where case decides what is a mark.
    """
    begin = 0
    while begin < len(text) and _may_be_mark(text[begin], ignore_case, tokenizer):
        begin += 1
    if begin == len(text):  # marks alone are a part of one word
        return [text]
    inner = text[begin:]
    if ignore_case and IOTAS.intersection(inner):
        as_letters, as_marks = (tokenizer.split(_IOTA.sub(to, inner)) for to in ("\u03b9", "\u0345"))
        if list(map(len, as_letters)) != list(map(len, as_marks)):
            return None
    return tokenizer.split(inner)


def _may_be_mark(character: str, ignore_case: bool, tokenizer: Tokenizer) -> bool:
    """Whether the character goes with an ideograph before it, in some case."""
    if ignore_case and character in IOTAS:
        return True
    return not character.isascii() and tokenizer.split(IDEOGRAPH + character) == [IDEOGRAPH + character]

"""N-grams or stored texts that match a text under MATCH TEXT and IGNORE CASE."""

from __future__ import annotations

import re
from functools import cache, partial

import numpy as np

from ngramdb.diacritics import JOINERS, Spelling
from ngramdb.errors import InvalidArgument
from ngramdb.patterns import string_to_ids
from ngramdb.patterns.automaton import same_letters
from ngramdb.patterns.grams import Gram, show_text, spells, takes_text
from ngramdb.patterns.nodes import Simple, StoredText
from ngramdb.source import Corpus, IntArray
from ngramdb.tokenizers.base import Tokenizer

# The letter iota and its other cases, one of which is a combining mark: the only such letter (Unicode 15.1).
IOTAS = frozenset("\u03b9\u0399\u1fbe\u0345")
_IOTA = re.compile("[\u03b9\u0399\u1fbe\u0345]")

# An example of a character that is a word on its own, apart from marks after it.
IDEOGRAPH = "\u5b57"

# Conditions on more words than this cost more than reading the texts that they exclude.
MAX_NEEDED_WORDS = 2000

# Longest part of a word that is searched for in the vocabulary: a regular expression takes time for each of
# its characters at every position.
MAX_NEEDED_CHARACTERS = 32

# Number of inner words that are looked up in the vocabulary, the longest first: each takes a pass over it.
MAX_NEEDED_PIECES = 32


def matched(text: str, as_text: bool, ignore_case: bool, corpus: Corpus) -> Simple:
    """Match a text under MATCH TEXT, IGNORE CASE or both.

    IGNORE CASE alone compares tokens if these are characters or words, else letters.
    """
    tokenizer = corpus.tokenizer
    if not takes_text(tokenizer):
        raise InvalidArgument(
            "MATCH TEXT and IGNORE CASE need tokens that spell the text, or whose positions in it are known; "
            f"the tokenizer of {corpus.entry.name} has neither"
        )
    are_words = tokenizer.kind.startswith("words")
    is_spelled = spells(corpus)
    if not is_spelled and tokenizer.has_places and not all(segment.has_texts for segment in corpus.segments):
        raise InvalidArgument(
            f"MATCH TEXT and IGNORE CASE need the texts of the documents, and {corpus.entry.name} has only "
            "token ids, which do not spell them; query the n-gram without MATCH TEXT and IGNORE CASE"
        )
    if (as_text and are_words) or (tokenizer.has_places and not are_words and not is_spelled):
        return _stored(text, ignore_case, corpus)
    # Sequences of tokens are extended while they occur: with negative counts, some would not be found.
    corpus.check_difference()
    if tokenizer.kind in ("bytes", "chars") and not ignore_case:
        return string_to_ids.sole_variant(_valid(text), corpus, exact=tokenizer.kind == "chars")
    if is_spelled:
        # Under subword tokenizers, letters of another case are in other tokens, so text is matched.
        return string_to_ids.spelled_variants(_valid(text), ignore_case, corpus)
    if tokenizer.kind == "chars":
        any_case = cache(partial(_character_in_any_case, tokenizer=tokenizer))
        return string_to_ids.case_variants(text, map(any_case, _valid(text)), corpus)
    return _words_in_any_case(text, corpus)


def tokens_in_any_case(text: str, corpus: Corpus) -> Simple:
    """Match the tokens of a text, each in any case: under MATCH TOKENS, or if tokens are words."""
    tokenizer = corpus.tokenizer
    if tokenizer.kind == "chars" or tokenizer.kind.startswith("words"):  # tokens are compared anyway
        return matched(text, False, True, corpus)
    corpus.check_difference()

    @cache
    def any_case(token: str) -> IntArray:
        return tokenizer.matching(Spelling(tuple(map(same_letters, token))), False, False)

    choices = map(any_case, string_to_ids.compared_texts(_valid(text), tokenizer))
    return string_to_ids.case_variants(text, choices, corpus, by_tokens=True)


def _character_in_any_case(character: str, tokenizer: Tokenizer) -> IntArray:
    return np.sort(np.concatenate([tokenizer.encode(c) for c in same_letters(character)]))


def _valid(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"the text is not valid Unicode: {error}") from error
    return text


def _words_in_any_case(text: str, corpus: Corpus) -> Simple:
    words = string_to_ids.word_list(corpus.tokenizer)
    pieces = corpus.tokenizer.split(text)

    @cache
    def any_case(word: str) -> IntArray:
        return words.matching(b"^" + string_to_ids.byte_expression(word, True) + b"$")

    return string_to_ids.case_variants(text, map(any_case, pieces), corpus)


def _stored(text: str, ignore_case: bool, corpus: Corpus) -> StoredText:
    shown = show_text(_valid(text)) + " MATCH TEXT" + (" IGNORE CASE" if ignore_case else "")
    # If words are not the text's own characters, the string does not determine the words of a document.
    is_plain = corpus.tokenizer.kind == "words" and not JOINERS.intersection(text)
    needs = tuple(needed_words(text, ignore_case, corpus)) if is_plain else ()
    return StoredText(shown, text, ignore_case, needs)


def needed_words(text: str, ignore_case: bool, corpus: Corpus) -> list[tuple[Gram, ...]]:
    """Return clauses of words, one of each of which a document must have to contain the text.

    The first and last word of the text may be parts of longer ones.
    """
    words = string_to_ids.word_list(corpus.tokenizer)
    pieces = pieces_of(text, ignore_case, corpus.tokenizer)

    def having(piece: str, before: bytes = b"", behind: bytes = b"") -> IntArray:
        if len(piece) > MAX_NEEDED_CHARACTERS:  # a part of it is enough
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
        tuple(Gram(np.array([i]), show_text(corpus.tokenizer.token_text(i))) for i in ids.tolist())
        for ids in sets
        if len(ids) <= MAX_NEEDED_WORDS
    ]
    if len(pieces) > 2 and not ignore_case:
        inner = np.array(corpus.tokenizer.encode(" ".join(pieces[1:-1])), dtype=np.int64)
        known = not (inner < 0).any()
        clauses.append((Gram(inner, show_text(" ".join(pieces[1:-1]))),) if known else ())
    return clauses


def pieces_of(text: str, ignore_case: bool, tokenizer: Tokenizer) -> list[str] | None:
    """Return the words of a text within a longer one; the first and last may be parts of longer words.

    A mark belongs to the ideograph before it and ends that word: the word of marks at the beginning, and
    whether it ends there, depend on the document. Returns None if it depends on case what is a mark.
    """
    begin = 0
    while begin < len(text) and _may_be_mark(text[begin], ignore_case, tokenizer):
        begin += 1
    if begin == len(text):  # marks alone are part of one word
        return [text]
    inner = text[begin:]
    if ignore_case and IOTAS.intersection(inner):
        as_letters, as_marks = (tokenizer.split(_IOTA.sub(to, inner)) for to in ("\u03b9", "\u0345"))
        if list(map(len, as_letters)) != list(map(len, as_marks)):
            return None
    return tokenizer.split(inner)


def _may_be_mark(character: str, ignore_case: bool, tokenizer: Tokenizer) -> bool:
    """Return True if the character, in some case, belongs to an ideograph before it."""
    if ignore_case and character in IOTAS:
        return True
    return not character.isascii() and tokenizer.split(IDEOGRAPH + character) == [IDEOGRAPH + character]

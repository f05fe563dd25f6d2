"""Strings that every match of a regular expression contains, and the n-grams of documents with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from ngramdb.errors import NgramdbError, QueryCancelled
from ngramdb.patterns.grams import Gram
from ngramdb.patterns.nodes import StoredText, Variants
from ngramdb.patterns.text_matching import matched
from ngramdb.patterns.text_needs import words_for
from ngramdb.patterns.text_programs import is_encodable, parsed, ranges_of, sre, within_group
from ngramdb.source import Corpus
from ngramdb.tokenizers.base import to_utf8

# Limits of the alternatives that are spelled out, and of the clauses that are looked up.
MAX_ALTERNATIVES = 32
MAX_CLAUSES = 4
# Equal under IGNORECASE of `re`, and not under IGNORE CASE.
_DOTTED_AND_DOTLESS = re.compile("[iI\u0130\u0131]")
# The longest string that is looked up; a part of a longer one is enough.
MAX_CHARACTERS = 64

Clause = tuple[Gram, ...]


class Literal(NamedTuple):
    """A string, in any case of its letters or as it is."""

    text: str
    ignore_case: bool


# Strings of which each match contains one.
OneOf = frozenset[Literal]


class _Found(NamedTuple):
    """Knowledge about a part: all strings that it matches, if they are few, and strings that it needs."""

    exact: frozenset[str] | None
    needs: list[OneOf]


_NOTHING = _Found(None, [])
_EMPTY = frozenset({""})


def literals_of(tree: Any) -> list[OneOf]:
    """Return sets of strings, of each of which every match of a tree contains one; the longest first."""
    found = _sequence(tree, tree.state.flags)
    needs = found.needs + ([_one_of(found.exact, tree.state.flags)] if found.exact else [])
    return sorted(set(needs) - {frozenset()}, key=_length, reverse=True)


@lru_cache(maxsize=64)
def in_bytes(expression: str, flags: int) -> tuple[tuple[bytes, ...], ...]:
    """Return the same as bytes for the strings whose case counts."""
    found = literals_of(parsed(expression, flags))[:MAX_CLAUSES]
    exact = [one for one in found if not any(literal.ignore_case for literal in one)]
    return tuple(tuple(to_utf8(literal.text) for literal in one) for one in exact)


def needed(tree: Any, corpus: Corpus) -> tuple[Clause, ...]:
    """Return clauses of n-grams, one of each of which a document must have to match; the rarest first.

    Empty if the index cannot look up any of the strings.
    Cost: that of looking up each string under MATCH TEXT.
    """
    chosen = literals_of(tree)
    if chosen and _length(chosen[0]) > 1:
        chosen = [one for one in chosen if _length(one) > 1]
    clauses: dict[Clause, int] = {}
    for one in chosen[:MAX_CLAUSES]:
        for clause in _clauses_of(one, corpus):
            clauses[clause] = _weight(clause, corpus)
    return tuple(sorted(clauses, key=clauses.__getitem__))


def _length(one: OneOf) -> int:
    return min(len(literal.text) for literal in one)


def _clauses_of(one: OneOf, corpus: Corpus) -> list[Clause]:
    """Return clauses for one of several strings; none if the index cannot look up one of them."""
    each = [_of_literal(literal, corpus) for literal in sorted(one)]
    if not all(each):
        return []
    if len(each) == 1:
        return each[0]
    rarest = [min(clauses, key=lambda clause: _weight(clause, corpus)) for clauses in each]
    return [tuple(dict.fromkeys(gram for clause in rarest for gram in clause))]


def _of_literal(literal: Literal, corpus: Corpus) -> list[Clause]:
    text = literal.text[:MAX_CHARACTERS]
    if corpus.tokenizer.kind.startswith("words"):
        return words_for(text, literal.ignore_case, corpus)
    if literal.ignore_case:
        text = max(_DOTTED_AND_DOTLESS.split(text), key=len)
    if not text:
        return []
    try:
        found = matched(text, True, literal.ignore_case, corpus)
    except QueryCancelled:
        raise
    except NgramdbError:  # too many spellings, or a corpus without texts
        return []
    if isinstance(found, Variants):
        return [found.grams]
    return list(found.needs) if isinstance(found, StoredText) else [(found,)]


def _weight(clause: Clause, corpus: Corpus) -> int:
    return sum(int(corpus.index.count(gram.ids)) for gram in clause)


# ---- from trees


def _one_of(texts: frozenset[str], flags: int) -> OneOf:
    """Return a requirement; an empty one if a text is empty, so that nothing is required."""
    ignore_case = bool(flags & sre.SRE_FLAG_IGNORECASE)
    return frozenset() if "" in texts else frozenset(Literal(text, ignore_case) for text in texts)


def _sequence(nodes: Sequence[Any], flags: int) -> _Found:
    """Return what is known of parts one after the other: strings run over those that are known exactly."""
    needs: list[OneOf] = []
    run, is_exact = _EMPTY, True
    for node in nodes:
        found = _part(node, flags)
        needs += found.needs
        joined = None if found.exact is None else _joined(run, found.exact)
        if joined is None:
            needs.append(_one_of(run, flags))
            is_exact = False
            joined = found.exact or _EMPTY
        run = joined
    if is_exact:
        return _Found(run, needs)
    return _Found(None, [*needs, _one_of(run, flags)])


def _joined(first: frozenset[str], second: frozenset[str]) -> frozenset[str] | None:
    if len(first) * len(second) > MAX_ALTERNATIVES:
        return None
    return frozenset(a + b for a, b in product(first, second))


def _part(node: Any, flags: int) -> _Found:
    op, argument = node
    if op is sre.SUBPATTERN:
        inner = within_group(flags, argument[1], argument[2])
        found = _sequence(argument[3], inner)
        if found.exact is None or not (inner ^ flags) & sre.SRE_FLAG_IGNORECASE:
            return found
        return _Found(None, [*found.needs, _one_of(found.exact, inner)])
    if op is sre.BRANCH:
        return _branch([_sequence(part, flags) for part in argument[1]], flags)
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        low, high, part = argument
        return _repeat(low, high, part, flags)
    if op in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):
        return _Found(_EMPTY, [])
    if op is sre.LITERAL:
        return _Found(frozenset({chr(argument)}), []) if is_encodable(chr(argument)) else _NOTHING
    if flags & sre.SRE_FLAG_IGNORECASE:
        return _NOTHING
    ranges = ranges_of(node, flags)
    if ranges is None or sum(last - first + 1 for first, last in ranges) > MAX_ALTERNATIVES:
        return _NOTHING
    characters = [chr(code) for first, last in ranges for code in range(first, last + 1)]
    return _Found(frozenset(characters), []) if is_encodable("".join(characters)) else _NOTHING


def _branch(found: list[_Found], flags: int) -> _Found:
    exact: frozenset[str] = frozenset().union(*(one.exact or () for one in found))
    if all(one.exact is not None for one in found) and len(exact) <= MAX_ALTERNATIVES:
        return _Found(exact, [need for one in found for need in one.needs] if len(found) == 1 else [])
    each = []
    for one in found:
        needs = [*one.needs, *([_one_of(one.exact, flags)] if one.exact is not None else [])]
        needs = [need for need in needs if need]
        if not needs:
            return _NOTHING
        each.append(max(needs, key=_length))
    every = frozenset().union(*each)
    return _Found(None, [every] if len(every) <= MAX_ALTERNATIVES else [])


def _repeat(low: int, high: Any, part: Any, flags: int) -> _Found:
    found = _sequence(part, flags)
    if low == 0:
        if high == 1 and found.exact is not None:
            return _Found(found.exact | _EMPTY, [])
        return _NOTHING
    exact: frozenset[str] | None = _EMPTY
    for _ in range(min(low, MAX_CHARACTERS)):
        exact = None if exact is None or found.exact is None else _joined(exact, found.exact)
    if low == high and low <= MAX_CHARACTERS and exact is not None:
        return _Found(exact, found.needs)
    own = exact if exact is not None else found.exact
    return _Found(None, [*found.needs, *([_one_of(own, flags)] if own is not None else [])])

"""OR of occurrences: a place that several alternatives find counts once.

An occurrence is the piece of text that it takes up. `"a" OR "a b"` finds two at the same place, `"a" OR "A"
IGNORE CASE` one. If all alternatives are exact n-grams, or sequences of tokens that spell a string, they
become one list of n-grams without repetition, which is counted by the index; others whose occurrences cannot
be the same are added up, and what is left is compared place by place (`distinct` in `occurrences`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ngramdb.conditions.stored_text import WHITE_SPACE
from ngramdb.conditions.text_search import Cuts, spelled_cuts
from ngramdb.patterns import Gapped, Gram, Pattern, StoredText, StoredWords, TokenPattern, Variants, one_case
from ngramdb.planner.plan import Among, AnyOf, InDocs, NearTo, OccurrencesOf, Occurring, Several
from ngramdb.source import Corpus
from ngramdb.tokenizers.base import Tokenizer

_WHITE_SPACE = re.compile(f"[{WHITE_SPACE}]+")

Key = tuple[int, ...]


def united(expr: Occurring, tokenizer: Tokenizer) -> Occurring:
    """Return the expression with the alternatives of each OR merged into one pattern where possible.

    Cost: what comparing the n-grams costs; strings are looked for within n-grams that several alternatives
    have.
    """
    if isinstance(expr, AnyOf):
        return _united(tuple(united(operand, tokenizer) for operand in expr.operands), tokenizer)
    if isinstance(expr, Several):
        return replace(expr, operands=tuple(united(operand, tokenizer) for operand in expr.operands))
    if isinstance(expr, (Among, InDocs, NearTo)):
        what = united(expr.what, tokenizer)
        return expr if what is expr.what else replace(expr, what=what)
    return expr


def _united(operands: tuple[Occurring, ...], tokenizer: Tokenizer) -> Occurring:
    patterns = [item.pattern for item in operands if isinstance(item, OccurrencesOf)]
    texts = _unimplied([item for item in patterns if isinstance(item, StoredText)])
    exact = [item for item in patterns if isinstance(item, (Gram, Variants))]
    kept: list[Occurring] = [OccurrencesOf(text) for text in texts]
    if exact:
        found = _merged(exact, tokenizer)
        if found.grams:
            kept.append(OccurrencesOf(found))
    for item in operands:
        if not isinstance(item, OccurrencesOf) or not isinstance(item.pattern, (Gram, StoredText, Variants)):
            kept.append(item)
    return kept[0] if len(kept) == 1 else AnyOf(tuple(kept))


def _unimplied(texts: Sequence[StoredText]) -> list[StoredText]:
    """Return the strings that no other one covers, in any case of their letters."""
    any_case = {one_case(text.text) for text in texts if text.ignore_case}
    kept: dict[tuple[str, bool], StoredText] = {}
    for text in texts:
        if text.ignore_case:
            kept.setdefault((one_case(text.text), True), text)
        elif one_case(text.text) not in any_case:
            kept.setdefault((text.text, False), text)
    return list(kept.values())


def _merged(patterns: Sequence[Gram | Variants], tokenizer: Tokenizer) -> Variants:
    """Merge the n-grams of all patterns, each as often as strings begin in it at different places."""
    merged: dict[Key, tuple[Gram, int, list[Gram | Variants]]] = {}
    for pattern in patterns:
        grams = (pattern,) if isinstance(pattern, Gram) else pattern.grams
        weights = (1,) if isinstance(pattern, Gram) else pattern.weights
        for gram, weight in zip(grams, weights, strict=True):
            if not gram.known:
                continue
            known = merged.get(gram.key)
            if known is None:
                merged[gram.key] = gram, weight, [pattern]
            else:
                known[2].append(pattern)
    cuts = [_cuts_of(gram, owners, weight, tokenizer) for gram, weight, owners in merged.values()]
    return Variants(
        " or ".join(pattern.shown for pattern in patterns),
        tuple(gram for gram, _, _ in merged.values()),
        tuple(map(len, cuts)),
        cuts=tuple(cuts),
    )


def _cuts_of(gram: Gram, owners: Sequence[Gram | Variants], weight: int, tokenizer: Tokenizer) -> Cuts:
    """Which parts of an n-gram's text its patterns find, without repetition."""
    found: dict[tuple[int, int], None] = {}
    for owner in owners:
        sought = owner.sought if isinstance(owner, Variants) else None
        found.update(dict.fromkeys(spelled_cuts(gram, sought, tokenizer)))
    return tuple(found) if len(owners) > 1 or len(found) == weight else ((0, 0),) * weight


def net_count(corpus: Corpus, expr: Occurring) -> int | None:
    """Return the count of an expression from the index alone; None if it is no sum of n-grams' counts."""
    if isinstance(expr, AnyOf):
        if not are_apart(expr.operands, corpus.tokenizer):
            return None
        counts = [net_count(corpus, operand) for operand in expr.operands]
        return None if None in counts else sum(n for n in counts if n is not None)
    pattern = expr.pattern if isinstance(expr, OccurrencesOf) else None
    if isinstance(pattern, Gram):
        return int(corpus.index.count(pattern.ids))
    if isinstance(pattern, Variants):
        pairs = zip(pattern.grams, pattern.weights, strict=True)
        return sum(weight * int(corpus.index.count(gram.ids)) for gram, weight in pairs)
    return None


def are_apart(operands: Sequence[Occurring], tokenizer: Tokenizer) -> bool:
    """Return True if no two of them can share an occurrence, so that counts add up."""
    keys: set[Key] = set()
    texts: list[StoredText] = []
    for operand in operands:
        patterns = _patterns_of(operand)
        if len(operands) > 1 and any(
            isinstance(item, (Gapped, StoredWords, TokenPattern)) for item in patterns
        ):
            return False
        texts += [item for item in patterns if isinstance(item, StoredText)]
        own = {key for item in patterns if isinstance(item, (Gram, Variants)) for key in _keys(item)}
        if not keys.isdisjoint(own):
            return False
        keys |= own
    if len(_unimplied(texts)) < len(texts):
        return False
    spelled = {one_case(_solid(text.text)) for text in texts}
    return not spelled or spelled.isdisjoint(one_case(_spelled(key, tokenizer)) for key in keys)


def _patterns_of(expr: Occurring) -> list[Pattern]:
    """Return the patterns of an expression's occurrences; for an OR, those of all operands."""
    if isinstance(expr, OccurrencesOf):
        return [expr.pattern]
    if isinstance(expr, AnyOf):
        return [pattern for operand in expr.operands for pattern in _patterns_of(operand)]
    return _patterns_of(expr.what) if isinstance(expr, (Among, InDocs, NearTo)) else []


def _keys(pattern: Gram | Variants) -> set[Key]:
    return {pattern.key} if isinstance(pattern, Gram) else {gram.key for gram in pattern.grams}


def _solid(text: str) -> str:
    return _WHITE_SPACE.sub("", text)


def _spelled(key: Key, tokenizer: Tokenizer) -> str:
    return "".join(map(tokenizer.token_text, key)) if min(key, default=0) >= 0 else ""

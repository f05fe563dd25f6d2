"""Expressions that no word can match, whatever the documents are.

The deterministic automaton of an expression is run beside one of words: a run of letters, marks, numbers and
connectors, or one other character that is not white space (FORMAT.md has the rule in full; this one accepts
slightly more); an ideograph or Hiragana letter is a word of its own. No word matches if the pair never
accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any
from unicodedata import category

from ngramdb.diacritics import JOINERS, SINGLE
from ngramdb.tokenizers.regular import DEAD, FIRST, compiled, parsed

# Characters of each kind that an expression can distinguish, besides ASCII and those it names itself.
_SAMPLE = "\u00a0\u3000\u2028\x85éÉßσΣǅªʰ語あア\u0301\u200c٣²Ⅷ_‿–…€😀"
# Most alphabets, for expressions that match no word over the sample.
_LAST_COMMON = 0x3400
_OTHER_SPACE = frozenset("\t\n\v\f\r\x85")
# Kinds of characters, and states of the automaton of words after one of them.
_START, _IN_RUN, _COMPLETE, _SINGLE, _MARK = range(5)
# The kinds of characters that may follow in a word, by its state.
_FOLLOWING = {
    _START: {_IN_RUN, _COMPLETE, _SINGLE, _MARK},
    _IN_RUN: {_IN_RUN, _MARK},
    _COMPLETE: set(),
    _SINGLE: {_MARK},
}


@lru_cache(1 << 10)
def some_word_matches(
    expression: str, ignore_case: bool, changed: Callable[[str], str] | None = None
) -> bool:
    """Return True if a word may match a valid expression as a whole.

    `changed` is applied to text before it is cut into words: a character that it changes occurs in no word.

    Notes
    -----
    Cost: about a millisecond, and ten if no word matches; cached for repeated calls.
    """
    named = "".join({chr(code) for code in _codes(parsed(expression)) if not 0xD800 <= code < 0xE000})
    own = _SAMPLE + named + named.lower() + named.upper()
    few = map(chr, range(128))
    many = map(chr, range(_LAST_COMMON))
    return any(
        _meet(expression, "".join(sorted({*some, *own})), ignore_case, changed) for some in (few, many)
    )


def _codes(tree: Any) -> Iterator[int]:
    """Yield the code points in the tree of an expression, and perhaps other small numbers."""
    if isinstance(tree, int):
        if 0 <= tree < 0x110000:
            yield int(tree)
    elif isinstance(tree, (list, tuple)) or hasattr(tree, "data"):
        for item in getattr(tree, "data", tree):
            yield from _codes(item)


def _meet(expression: str, alphabet: str, ignore_case: bool, changed: Callable[[str], str] | None) -> bool:
    """Return True if a word over the alphabet matches."""
    table = compiled(expression, alphabet, ignore_case)
    kinds = {
        (number, _kind(character))
        for character, number in zip(alphabet, table.class_of.tolist(), strict=True)
        if changed is None or changed(character) == character
    }
    found, open_ = {(FIRST, _START)}, [(FIRST, _START)]
    while open_:
        state, word = open_.pop()
        if word != _START and table.accepting[state]:
            return True
        for number, kind in kinds:
            if kind not in _FOLLOWING[word]:
                continue
            after = kind if kind != _MARK else word if word != _START else _IN_RUN
            step = int(table.next[state, number]), after
            if step[0] != DEAD and step not in found:
                found.add(step)
                open_.append(step)
    return False


def _kind(character: str) -> int:
    """Return the kind of a character; _START for white space."""
    kind = category(character)
    if kind[0] == "M":
        return _MARK
    if SINGLE.match(character):
        return _SINGLE
    if kind[0] in "LN" or kind == "Pc" or character in JOINERS:
        return _IN_RUN
    return _START if kind[0] == "Z" or character in _OTHER_SPACE else _COMPLETE

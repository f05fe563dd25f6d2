"""Unicode's normalization form C in linear time, in blocks between which work can be interrupted.

`unicodedata.normalize` orders a run of n combining marks in O(n²). Here long runs are put into canonical
order first (Unicode Standard Annex #15, Canonical Ordering Algorithm), which leaves it nothing to move.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from itertools import chain, pairwise
from unicodedata import category, combining, normalize

from ngramdb.errors import ResourceError
from ngramdb.interrupts import check

# Characters per block: about two milliseconds. Longer only to reach a character that begins a new sequence.
BLOCK = 1 << 16
# Shorter runs are cheap to sort by insertion. Text in Stream-Safe Format (same annex) has at most 30 marks.
SHORT_RUN = 30
# Sequences of more marks are rejected: the last pass over one cannot be interrupted.
MAX_MARKS = 1 << 20
# No character above this one is reordered or composed with the one before.
LAST_MARK = 0x1FFFF


def nfc(text: str) -> str:
    """Return the text in normalization form C, equal to `unicodedata.normalize("NFC", text)`.

    Raises ResourceError for more than MAX_MARKS combining characters in a row.
    Cost: O(n) for n characters, with a check for interrupts after every BLOCK of them.
    """
    if len(text) <= SHORT_RUN or text.isascii():
        return normalize("NFC", text)
    beginning, *_ = _expressions()
    blocks, at = [], 0
    while at < len(text):
        check()
        begins = beginning.search(text, at + BLOCK)
        stop = len(text) if begins is None else begins.start()
        if stop - at > BLOCK + MAX_MARKS:
            n_marks = stop - at - BLOCK
            raise ResourceError(
                f"the text has {n_marks:,} combining characters in a row, more than {MAX_MARKS:,}: "
                "remove or divide them",
                limit=MAX_MARKS,
            )
        blocks.append(_block(text[at:stop]))
        at = stop
    return "".join(blocks)


def _block(text: str) -> str:
    _, mark, run = _expressions()
    if mark.search(text[::SHORT_RUN]):  # every long run includes one of these
        text = run.sub(_in_order, text)
    return normalize("NFC", text)


def _in_order(run: re.Match[str]) -> str:
    """Return a run of marks, decomposed and stably sorted by combining class."""
    by_class: defaultdict[int, list[str]] = defaultdict(list)
    for i, character in enumerate(run[0]):
        if i % BLOCK == 0:
            check()
        for mark in normalize("NFD", character):
            by_class[combining(mark)].append(mark)
    return "".join(chain.from_iterable(by_class[number] for number in sorted(by_class)))


@cache
def _expressions() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return expressions for a character that never joins the one before, a mark to order, a run of these.

    Some marks of class 0 decompose into marks of other classes (U+0F73): the decomposition decides.
    """
    marks = [code for code in range(LAST_MARK + 1) if category(chr(code))[0] == "M"]
    ordered = _ranges([code for code in marks if combining(normalize("NFD", chr(code))[0])])
    # The vowels and final consonants of Hangul are letters, and join the syllable before.
    beginning = f"[^{_ranges(marks)}\u1160-\u11ff]"
    return re.compile(beginning), re.compile(f"[{ordered}]"), re.compile(f"[{ordered}]{{{SHORT_RUN},}}")


def _ranges(codes: list[int]) -> str:
    """Return ascending code points as ranges of a character class."""
    lasts = [a for a, b in pairwise([*codes, -1]) if b != a + 1]
    firsts = [b for a, b in pairwise([-2, *codes]) if b != a + 1]
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(firsts, lasts, strict=True))

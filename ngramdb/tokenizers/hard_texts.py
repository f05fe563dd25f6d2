"""Texts on which two implementations of a byte-level tokenizer are most likely to differ.

`fast` compares its library on them before it believes a single id. They are what such libraries got wrong in
the past (classes of characters, case without ASCII, white space before a word, added tokens inside of words),
not a sample of anything; samples of real documents are drawn during loads.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

# Nine scripts and more: with marks, without blanks, from right to left.
_SCRIPTS = (
    "The quick brown fox isn't 12,345 km away; naïve café, Straße, İstanbul, ĳ, ﬁnd.",
    "Ξεσκεπάζω τὴν ψυχοφθόρα βδελυγμία. ΣΑΣ σας",
    "Съешь же ещё этих мягких французских булок, да выпей чаю. Ё ё е\u0308",
    "דג סקרן שט בים מאוכזב ולפתע מצא חברה. שָׁלוֹם",
    "نص حكيم له سر قاطع وذو شأن عظيم ١٢٣٤ مكتوب\u200cها، می\u200cخواهم",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का १२३ क्षत्रिय श्\u200dय",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า ๑๒๓ กว่าบรรดา",
    "視野無限廣，窗外有藍天。你好嗎？！１２３，，。。𠀀𪛖",
    "いろはにほへと ちりぬるを。カタカナ ﾊﾝｶｸ が か\u3099 々〆ヶー",
    "키스의 고유조건은 입술끼리 만나야 하고 \u1112\u1161\u11ab글",
    "யாமறிந்த மொழிகளிலே ௧௨௩ இனிதாவது",
    "გთხოვთ ახლავე გაიაროთ რეგისტრაცია ᲐᲑᲒ",
    "Բարեւ ձեզ 𝕬𝖇𝖈 𝟏𝟐𝟑 ℵ ℝ Ⅳ ⅷ ² ³ ¼ ½ ① ⑳ ª º ǅ",
    "👩\u200d🚀👨\u200d👩\u200d👧\u200d👦 🇩🇪🇫🇷 👍🏽 ❤\ufe0f 1\ufe0f\u20e3 ☃ €£¥ ©®™ ‽⁉ “quoted” ‘so’ – — …",
)

_BLANKS = (
    *" \t\n\r\v\f\x1c\x1f\x85\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000",
    "\r\n",
)
# White space to some tables and not to others, joiners, marks of direction, ends of ranges.
_ODD = (
    "\x00\x01\x1b\x7f\x80\x9f\u00ad\u034f\u061c\u115f\u180e\u200b\u200c\u200d\u200e\u200f\u202e\u2060\u2066"
    "\ufe0f\ufeff\ufffc\ufffd\uffff\ue000\U000e0001\U000f0000\U0010ffff\u0300\u20dd\u0488\u093f\u0903"
)
# With blanks between. U+017F is an s, and U+212A a k, where case is ignored.
_CONTRACTIONS = (
    "'s 'S 't 'T 're 'RE 'Re 've 'm 'M 'll 'LL 'd 'D 'x ' ’s \u02bcs '\u017f '\u212a ''s 's's 'll've"
)
_RUNS = "a A ab é 一 ก 😀 0 12 = - . !? _ \\ # \u200d \u0301 ' \" / aB3"
_RUNS_OF_BLANKS = ("x y", "\n", " ", " \n", "\t", "\r\n", "\xa0")
_RUN_LENGTHS = (2, 3, 4, 5, 8, 17, 64, 300)

# How much is drawn at random, anew each time: other machines and other days see other texts.
N_MIXED = 400
N_VOCABULARY = 3000
MOST_ADDED = 64


def hard_texts(added: Sequence[str], vocabulary: Sequence[str], draw: random.Random) -> list[str]:
    """The texts: `added` are the tokenizer's added tokens, `vocabulary` texts of its other ones."""
    if len(added) > MOST_ADDED:  # the first and last ones, and some between
        between = draw.sample(range(8, len(added) - 8), MOST_ADDED - 16)
        added = [*added[:8], *(added[k] for k in sorted(between)), *added[-8:]]
    return [
        "",
        *_SCRIPTS,
        *(text.upper() for text in _SCRIPTS),
        *(text.replace(" ", "") for text in _SCRIPTS),
        *_around_blanks(),
        *(f"a{odd}b {odd} {odd}{odd}c {odd}1{odd}.{odd}" for odd in _ODD),
        *(f"it{one} I{one} {one} {one}a 1{one}2 .{one} é{one}" for one in _CONTRACTIONS.split()),
        *(
            f"{before}{run * n}{after}"
            for run in (*_RUNS.split(), *_RUNS_OF_BLANKS)
            for n in _RUN_LENGTHS
            for before, after in (("", ""), ("a", " b"))
        ),
        *(
            "".join(str(k % 10) for k in range(n)) + end
            for n in range(1, 14)
            for end in ("", ",5", "a", " 7")
        ),
        *_around_added(added),
        *_mixed(added, draw),
        *_joined(vocabulary, draw),
    ]


def _around_blanks() -> Iterator[str]:
    for blank in _BLANKS:
        for n in (1, 2, 3, 7):
            run = blank * n
            yield f"{run}a{run}1{run}.{run}é{run}\n{run}'s{run}"
            yield f"a {run}b{run} c\n{run}d{run}\n\ne{run}"


def _around_added(added: Sequence[str]) -> Iterator[str]:
    for token in added:
        yield token
        yield f"{token}{token} {token}  {token}\n{token}\n"
        yield f"a{token}b 1{token}2 .{token}. é{token}é '{token}s"
        yield f"{token[:-1]} {token[1:]} {token[:-1]}{token} {token.upper()} {token.lower()} {token[::-1]}"


def _mixed(added: Sequence[str], draw: random.Random) -> Iterator[str]:
    words = " ".join(_SCRIPTS).split()
    parts = [*"abcXYZ019.,-_'\"(é東ж", *"   ", *_BLANKS, *_ODD, *_CONTRACTIONS.split(), *added, *words]
    for _ in range(N_MIXED):
        yield "".join(draw.choices(parts, k=draw.randrange(1, 24)))


def _joined(vocabulary: Sequence[str], draw: random.Random) -> Iterator[str]:
    """Tokens side by side as they may never have been: merges across their borders must be right."""
    if vocabulary:
        drawn = draw.choices(vocabulary, k=N_VOCABULARY)
        for start in range(0, len(drawn), 20):
            yield "".join(drawn[start : start + 20])

"""Ids by the library `fastokens`, about fifty times as fast as `tokenizers`, verified by comparison.

The database must never contain ids that `tokenizers` would not produce. So the fast path is used for
byte-level tokenizers only, and only after both libraries returned the same ids

- for texts on which implementations differ (`hard_texts`), once, before the first use;
- for every character that occurs, among letters, digits and blanks, before a text with it is trusted;
- for a sample of every batch: randomly drawn pieces.

At the first difference the fast path is closed for good; the batch gets its ids from `tokenizers`, and the
encoder reports that earlier batches of the same load must be encoded again (`Encoder.in_doubt`).
"""

from __future__ import annotations

import json
import os
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ngramdb import interrupts
from ngramdb.errors import QueryCancelled
from ngramdb.tokenizers.base import Ids, Offsets, batches, offsets_of

# Returns ids and offsets of texts, as `tokenizers` does.
Exact = Callable[[list[str]], tuple[Ids, Offsets]]

# Opening the library and comparing it takes half a second and 100 MB: as much as `tokenizers` takes for this
# much text.
WORTHWHILE_BYTES = 1 << 20
# Opening it again, already compared, takes 0.3 s: a tenth of the time for loading this much text.
WORTH_CLOSING_BYTES = 1 << 26
# Characters per call: the library's work of 50 ms, which cannot be interrupted.
BATCH_CHARS = 1 << 22
# A text that may take the library longer than that: of the worst kind, a run of one letter, a megabyte takes
# 0.3 s.
LONG_CHARS = 1 << 20
# The share of a batch's text that is compared, in pieces of up to this many characters: about as much
# work for `tokenizers` as the rest is for the fast library.
SAMPLE_SHARE = 1 / 128
SAMPLE_CHARS = 1 << 13

NOT_INSTALLED = (
    "the library fastokens is not installed; with it, loads with a tokenizer.json are several times as fast: "
    "pip install 'ngramdb[tokenizers]'"
)

N_CODE_POINTS = 0x110000
_CODE_POINT = np.dtype("<u4")


class _Closed(Exception):
    """The reason why the fast path cannot be used (any longer)."""


class _Forks:
    """A record of whether this process was forked from one that used the library.

    A child has none of the library's threads, and may inherit locks that are never released.
    """

    used = False
    inherited = False

    @classmethod
    def note(cls) -> None:
        cls.inherited = cls.inherited or cls.used


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Forks.note)


class FastWay:
    """The fast library for one `tokenizer.json`, and what it was compared on. Threads may share it."""

    def __init__(
        self, definition: bytes, parts: dict[str, Any], exact: Exact, vocabulary: Callable[[], Sequence[str]]
    ) -> None:
        """Compare with `exact`, the results of `tokenizers`, for a definition and its `parts`.

        `vocabulary` returns the texts of all tokens; the parts need not contain them.
        """
        self.closed_because: str | None = None
        self._definition = definition
        self._parts = parts
        self._exact = exact
        self._vocabulary = vocabulary
        self._n_waiting = 0
        self._library: Any = None
        self._seen: npt.NDArray[np.bool_] | None = None
        self._draw = random.Random()
        self._lock = threading.Lock()

    def ids_of(self, texts: list[str]) -> tuple[Ids, Offsets] | None:
        """Return the ids of the texts, flat, and offsets; None if `tokenizers` has to encode them."""
        if self.closed_because is not None or _Forks.inherited:
            return None
        try:
            library = self._library or self._opened(texts)
            if library is None:
                return None
            return _concatenated([self._compared(library, batch) for batch in batches(texts, BATCH_CHARS)])
        except _Closed as reason:
            self.closed_because = str(reason)
            self._library = None
            return None

    def rest(self, n_bytes: int) -> None:
        """Close the library after a load of this many bytes, if opening it again takes far less time.

        It holds 60 MB, which sorting can use.
        """
        if n_bytes < WORTH_CLOSING_BYTES:
            return
        with interrupts.holding(self._lock):
            self._library = None
            self._n_waiting = 0

    def _opened(self, texts: list[str]) -> Any:
        """Return the library once there was enough text, else None. Raises _Closed if it is not usable."""
        with interrupts.holding(self._lock):
            if self._library is not None:
                return self._library
            self._n_waiting += sum(map(len, texts))
            if self._n_waiting < WORTHWHILE_BYTES:
                return None
            library = _open(self._definition, self._parts)
            if self._seen is not None:  # compared when it was first opened
                self._library = library
                return library
            added = [
                token["content"] for token in self._parts.get("added_tokens") or () if token.get("content")
            ]
            self._seen = np.zeros(N_CODE_POINTS, dtype=np.bool_)
            for hard in (hard_texts(added, self._vocabulary(), self._draw), _of_characters(range(0x80))):
                self._compare(hard, self._encoded(library, hard), range(len(hard)))
            self._seen[:0x80] = True
            self._library = library
            return library

    def _compared(self, library: Any, texts: Sequence[str]) -> tuple[Ids, Offsets]:
        """Return the ids of some texts. Raises _Closed at a difference."""
        interrupts.check()
        self._compare_characters(library, texts)
        found = self._encoded(library, texts)
        drawn = self._drawn(texts)
        whole = [k for k in drawn if len(texts[k]) <= 2 * SAMPLE_CHARS]
        self._compare(texts, found, whole)
        cut = [self._part_of(texts[k]) for k in drawn if len(texts[k]) > 2 * SAMPLE_CHARS]
        self._compare(cut, self._encoded(library, cut), range(len(cut)))
        return found

    def _encoded(self, library: Any, texts: Sequence[str]) -> tuple[Ids, Offsets]:
        """Return the library's result. Raises _Closed if it fails."""
        _Forks.used = True
        try:
            # In this thread if that is quick: the library caches words per thread.
            if any(len(text) > LONG_CHARS for text in texts):
                flat, ends = interrupts.waited_for(partial(library.encode_batch_flat, texts))
            else:
                flat, ends = library.encode_batch_flat(texts)
        except (KeyboardInterrupt, SystemExit, MemoryError, QueryCancelled):
            raise
        except BaseException as error:  # panics of the library are not Exceptions
            raise _Closed(f"fastokens failed on a text: {error}") from error
        ids: Ids = np.frombuffer(flat, dtype=_CODE_POINT)
        offsets: Offsets = np.frombuffer(ends, dtype="<u8").astype(np.int64)
        if len(offsets) != len(texts) + 1 or offsets[-1] != len(ids) or (np.diff(offsets) < 0).any():
            raise _Closed("fastokens returned offsets that do not fit its ids")
        return ids, offsets

    def _compare(self, texts: Sequence[str], found: tuple[Ids, Offsets], numbers: Sequence[int]) -> None:
        """Compare the ids of texts with these numbers. Raises _Closed at a difference."""
        ids, offsets = found
        exact, bounds = self._exact([texts[k] for k in numbers])
        for j, k in enumerate(numbers):
            if not np.array_equal(exact[bounds[j] : bounds[j + 1]], ids[offsets[k] : offsets[k + 1]]):
                raise _Closed(
                    f"fastokens returned other ids than tokenizers for {_excerpt(texts[k])}; "
                    "all ids are those of tokenizers, which takes longer"
                )

    def _compare_characters(self, library: Any, texts: Sequence[str]) -> None:
        """Compare texts with the characters that occur for the first time."""
        seen = self._seen
        assert seen is not None
        joined = "".join(text for text in texts if not text.isascii())
        if not joined:
            return
        codes = np.frombuffer(joined.encode("utf-32-le"), dtype=_CODE_POINT)
        new = np.unique(codes[~seen[codes]])
        if new.size:
            made = _of_characters(new.tolist())
            self._compare(made, self._encoded(library, made), range(len(made)))
            seen[new] = True

    def _drawn(self, texts: Sequence[str]) -> list[int]:
        """Return the texts of the sample: drawn at random until there are enough."""
        wanted = SAMPLE_SHARE * sum(map(len, texts))
        drawn: dict[int, None] = {}
        while wanted > 0 and len(drawn) < len(texts):
            k = self._draw.randrange(len(texts))
            if k not in drawn:
                drawn[k] = None
                wanted -= min(len(texts[k]), SAMPLE_CHARS)
        return list(drawn)

    def _part_of(self, text: str) -> str:
        start = self._draw.randrange(len(text) - SAMPLE_CHARS)
        return text[start : start + SAMPLE_CHARS]


def _open(definition: bytes, parts: dict[str, Any]) -> Any:
    """Return the library's tokenizer. Raises _Closed if it is missing, or rejects the definition."""
    if parts["model"].get("dropout"):  # ignored here (`huggingface`), but not by the library
        whole = json.loads(definition)
        whole["model"]["dropout"] = None
        definition = json.dumps(whole).encode()
    try:
        import fastokens
    except ImportError as error:
        raise _Closed(NOT_INSTALLED) from error
    try:
        library = fastokens.Tokenizer.from_json_str(definition.decode())
        library.no_truncation()
        library.no_padding()
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # panics of the library are not Exceptions
        raise _Closed(f"fastokens cannot read this tokenizer.json: {error}") from error
    return library


def _of_characters(codes: Sequence[int]) -> list[str]:
    """Return texts that show how a tokenizer classifies characters: with letters, digits, blanks, itself."""
    return [f"a{c}b 1{c}2 .{c}. {c} {c}{c}\n{c}" for c in map(chr, codes)]


def _concatenated(found: list[tuple[Ids, Offsets]]) -> tuple[Ids, Offsets]:
    if len(found) == 1:
        return found[0]
    lengths = np.concatenate([np.diff(offsets) for _, offsets in found])
    return np.concatenate([ids for ids, _ in found]), offsets_of(lengths.tolist())


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


# ---- Texts on which two implementations of a byte-level tokenizer are most likely to differ.


# More than nine scripts: with marks, without blanks, from right to left.
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
# Characters that are white space only in some tables, joiners, marks of direction, ends of ranges.
_ODD = (
    "\x00\x01\x1b\x7f\x80\x9f\u00ad\u034f\u061c\u115f\u180e\u200b\u200c\u200d\u200e\u200f\u202e\u2060\u2066"
    "\ufe0f\ufeff\ufffc\ufffd\uffff\ue000\U000e0001\U000f0000\U0010ffff\u0300\u20dd\u0488\u093f\u0903"
)
# Separated by blanks. U+017F is an s, and U+212A a k, if case is ignored.
_CONTRACTIONS = (
    "'s 'S 't 'T 're 'RE 'Re 've 'm 'M 'll 'LL 'd 'D 'x ' ’s \u02bcs '\u017f '\u212a ''s 's's 'll've"
)
_RUNS = "a A ab é 一 ก 😀 0 12 = - . !? _ \\ # \u200d \u0301 ' \" / aB3"
_RUNS_OF_BLANKS = ("x y", "\n", " ", " \n", "\t", "\r\n", "\xa0")
_RUN_LENGTHS = (2, 3, 4, 5, 8, 17, 64, 300)

# Number of random texts, drawn each time: other machines and other days test other texts.
N_MIXED = 400
N_VOCABULARY = 3000
MOST_ADDED = 64


def hard_texts(added: Sequence[str], vocabulary: Sequence[str], draw: random.Random) -> list[str]:
    """Return the texts: `added` are the tokenizer's added tokens, `vocabulary` texts of its other ones."""
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
    """Yield tokens side by side as they may never have been: merges across their borders must be right."""
    if vocabulary:
        drawn = draw.choices(vocabulary, k=N_VOCABULARY)
        for start in range(0, len(drawn), 20):
            yield "".join(drawn[start : start + 20])

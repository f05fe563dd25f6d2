"""`words`: Unicode words and punctuation marks as tokens, in a vocabulary that grows with the corpus.

The rule (FORMAT.md has it in full): letters, marks, numbers and connector punctuation make a word, and so do
ZWNJ and ZWJ between them; a Han ideograph or a Hiragana letter is a word with the marks that follow it; white
space is skipped; any other character is its own token. Ids are assigned by first appearance. A document's
text cannot be restored from its ids, so it is stored.

`words` keeps the text unchanged. `words(lower)` reads it in lower case, letter by letter (Σ is σ at a word's
end, too), `words(nfc)` in Unicode's normalization form C, and `words(lower, nfc)` both: so that forms of a
word are counted together. A query's text is read in the same way.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, pairwise
from typing import Any
from unicodedata import category, combining, normalize

import numpy as np
import numpy.typing as npt

import ngramdb._cext.text.words as kernel
from ngramdb._cext.text.sentences import boundaries, mark_words, mark_words_at
from ngramdb.errors import CorruptionError, FormatVersionError, InvalidArgument, ResourceError
from ngramdb.interrupts import check
from ngramdb.tokenizers.base import (
    FileContent,
    Flags,
    Ids,
    Offsets,
    Pieces,
    Placed,
    QueryIds,
    Sections,
    Tokenizer,
    from_utf8,
    to_utf8,
)

VOCABULARY_KIND = "VOCB"

# The numbers of the rule that splits text into words, and of the hash in the stored table.
RULE = 1
HASH = 1


class WordsTokenizer(Tokenizer):
    """The `words` tokenizer over one vocabulary."""

    kind = "words"
    lossless = False
    has_own_words = True

    def __init__(self, vocabulary: Any = None) -> None:
        """Use a kernel vocabulary; by default a new, empty one."""
        self._vocabulary = kernel.Vocabulary() if vocabulary is None else vocabulary
        self._spellings: Pieces | None = None

    @classmethod
    def from_files(cls, files: Iterable[Sections]) -> WordsTokenizer:
        """Open the tokenizer of a corpus's vocabulary files, in the order of its manifest.

        The files' arrays are used in place. Cost: constant time per file, except that small files are merged.
        Raises CorruptionError, FormatVersionError.
        """
        vocabulary = kernel.Vocabulary()
        for file in files:
            _append_file(vocabulary, file)
        return cls(vocabulary)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the words: a copy of the vocabulary, which grows independently."""
        return _of_words, (type(self), *self._vocabulary.export(0))

    @property
    def n_vocabulary(self) -> int:
        return len(self._vocabulary)

    def encode(self, text: str) -> QueryIds:
        ids: QueryIds = self._vocabulary.encode(to_utf8(text))
        return ids

    def encode_batch(self, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
        """See the base class. One thread at a time works on a vocabulary: ids follow the calls' order."""
        try:
            ids, offsets = self._vocabulary.encode_batch(texts)
        except OverflowError as error:
            raise ResourceError(
                f"the vocabulary is full: a `words` corpus has at most {kernel.MAX_WORDS} different words",
                limit=kernel.MAX_WORDS,
            ) from error
        except TypeError as error:
            raise InvalidArgument(str(error)) from error
        return ids, offsets

    def decode(self, ids: npt.ArrayLike) -> str:
        """Return the words joined by blanks."""
        return " ".join(self.token_texts(ids))

    def decode_each(self, ids: Ids, offsets: Offsets) -> list[str]:
        texts = self.token_texts(ids)
        return [" ".join(texts[start:stop]) for start, stop in pairwise(offsets.tolist())]

    def token_text(self, token_id: int) -> str:
        word: bytes = self._vocabulary.word(self.check_id(token_id))
        return word.decode("utf-8", "backslashreplace")

    def token_texts(self, ids: npt.ArrayLike) -> list[str]:
        texts: list[str] = self._vocabulary.words(self.check_ids(ids))
        return texts

    @property
    def spellings(self) -> Pieces | None:
        """See the base class. Cost: copies the vocabulary, again when it has grown."""
        if self._spellings is None or len(self._spellings[1]) != self.n_vocabulary + 1:
            entries, offsets = self._vocabulary.export(0)
            self._spellings = entries, offsets.astype(np.int64)
        return self._spellings

    def may_match(self, expression: str, ignore_case: bool) -> bool:
        return self.word_may_match(expression, ignore_case)

    def mark_sentences(self, texts: Sequence[bytes], ids: Ids, offsets: Offsets) -> Flags | None:
        try:
            return mark_words(texts, offsets)
        except ValueError:  # words that differ from those of the ids
            return None

    def entries(self) -> list[bytes]:
        """Return all words, in the order of their ids."""
        flat, offsets = self._vocabulary.export(0)
        text, bounds = flat.tobytes(), offsets.tolist()
        return [text[start:stop] for start, stop in pairwise(bounds)]

    def split(self, text: str) -> list[str]:
        ids = self.encode(text)
        if not np.any(ids < 0):
            return [self.token_text(int(token_id)) for token_id in ids]
        twin = self.fork()
        return [twin.token_text(int(token_id)) for token_id in twin.encode_batch([to_utf8(text)])[0]]

    def ids_of(self, words: Sequence[bytes]) -> QueryIds:
        """Return the id of each word, `UNKNOWN` for those not in the vocabulary: (n,) int64."""
        lookup = self._vocabulary.lookup
        return np.fromiter((lookup(word) for word in words), dtype=np.int64, count=len(words))

    def fork(self) -> WordsTokenizer:
        return type(self)(self._vocabulary.fork())

    def vocabulary_since(self, n_known: int) -> FileContent | None:
        if n_known == self.n_vocabulary:
            return None
        if not 0 <= n_known < self.n_vocabulary:
            raise InvalidArgument(f"the vocabulary has {self.n_vocabulary} words, not {n_known} or more")
        entries, offsets = self._vocabulary.export(n_known)
        sections = {"entries": entries, "offsets": offsets, "slots": kernel.build_slots(entries, offsets)}
        properties = {
            "first_id": n_known,
            "n_words": len(offsets) - 1,
            "rule": RULE,
            "hash": HASH,
            "unicode": kernel.UNICODE_VERSION,
        }
        return FileContent(VOCABULARY_KIND, sections, properties)

    def check(self) -> None:
        wrong = self._vocabulary.first_wrong()
        if wrong >= 0:
            raise CorruptionError(
                f"the vocabulary is damaged: word {wrong} is empty, a duplicate, or not in its table",
                expected=wrong,
                found=self._vocabulary.lookup(self._vocabulary.word(wrong)),
            )


class _ChangingWords(WordsTokenizer):
    """Words of a text that is changed before it is split: so the text does not spell them."""

    @staticmethod
    def changed(text: str) -> str:
        """Return the text as it is read. Changing it again changes nothing."""
        raise NotImplementedError

    def normalized(self, text: str) -> str:
        return self.changed(text)

    def may_match(self, expression: str, ignore_case: bool) -> bool:
        from ngramdb.tokenizers.regular import some_word_matches

        return some_word_matches(expression, ignore_case, self.changed)

    def encode(self, text: str) -> QueryIds:
        to_utf8(text)  # raises for the original text
        return super().encode(self.changed(text))

    def encode_batch(self, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
        return super().encode_batch([self.changed(text).encode() for text in from_utf8(texts)])

    @property
    def spellings(self) -> None:
        return None

    @property
    def has_places(self) -> bool:
        return True

    def places(self, text: str) -> Placed | None:
        """See the base class. Cost: a pass over the characters, in Python for those that are not ASCII."""
        changed = self.changed(text)
        ids = self.encode(text)
        starts, stops, at = [], [], 0
        for word in self.split(text):
            start = changed.index(word, at)  # words are adjacent, apart from white space
            at = start + len(word)
            starts.append(start)
            stops.append(at)
        begins, ends = np.array(starts, dtype=np.int64), np.array(stops, dtype=np.int64)
        if len(changed) == len(text) and changed.isascii():
            return ids, begins, ends
        pieces = _with_marks(text)
        results = [self.changed(piece) for piece in pieces]
        if "".join(results) != changed:
            return None
        # For each character of the changed text, the first and the last one that it was made of.
        first: list[int] = []
        last: list[int] = []
        at = 0
        for piece, result in zip(pieces, results, strict=True):
            same, n = len(piece) == len(result), len(result)
            first.extend(range(at, at + n) if same else [at] * n)
            at += len(piece)
            last.extend(range(at - n, at) if same else [at - 1] * n)
        return ids, np.array(first, dtype=np.int64)[begins], np.array(last, dtype=np.int64)[ends - 1] + 1

    def mark_sentences(self, texts: Sequence[bytes], ids: Ids, offsets: Offsets) -> Flags | None:
        """See the base class: by the sentences of original texts, whose capitals show where one ends."""
        try:
            found = [
                self._marked(text, stop - start)
                for text, (start, stop) in zip(texts, pairwise(offsets.tolist()), strict=True)
            ]
        except ValueError:
            return None
        return np.concatenate([np.empty(0, dtype=np.bool_), *found])

    def _marked(self, text: bytes, n: int) -> Flags:
        starts = [0, *boundaries(text).tolist(), len(text)]
        parts = [self.changed(text[a:b].decode()).encode() for a, b in pairwise(starts)]
        whole = self.changed(text.decode()).encode()
        # No change crosses a boundary in valid text; in any other, sentences are those of the changed text.
        if b"".join(parts) != whole:
            return mark_words([whole], np.array([0, n], dtype=np.int64))
        return mark_words_at(whole, np.cumsum([len(part) for part in parts[:-1]], dtype=np.int64), n)


class LowerWords(_ChangingWords):
    """The `words` of a text in lower case."""

    kind = "words(lower)"

    @staticmethod
    def changed(text: str) -> str:
        return lowered(text)


class NfcWords(_ChangingWords):
    """The `words` of a text in normalization form C."""

    kind = "words(nfc)"

    @staticmethod
    def changed(text: str) -> str:
        return nfc(text)


class LowerNfcWords(_ChangingWords):
    """The `words` of a text in lower case and in normalization form C."""

    kind = "words(lower, nfc)"

    @staticmethod
    def changed(text: str) -> str:
        # Letters in lower case may have a form of their own together with the marks that follow.
        return nfc(lowered(nfc(text)))


def _with_marks(text: str) -> list[str]:
    """Split the text into characters, each with the marks and Hangul letters that may combine with it."""
    joins = [category(c)[0] == "M" or "\u1160" <= c <= "\u11ff" for c in text]
    begins = [i for i, joined in enumerate(joins) if not joined or not i]
    return [text[start:stop] for start, stop in pairwise([*begins, len(text)])]


def lowered(text: str) -> str:
    """Return the text in lower case, each letter independent of its context: Σ is never ς."""
    return text.replace("Σ", "σ").lower()


def _of_words(
    kind: type[WordsTokenizer], entries: npt.NDArray[np.uint8], offsets: npt.NDArray[np.uint64]
) -> WordsTokenizer:
    """Restore a pickled tokenizer."""
    vocabulary = kernel.Vocabulary()
    if len(offsets) > 1:
        vocabulary.append(entries, offsets)
    return kind(vocabulary)


def _append_file(vocabulary: Any, file: Sections) -> None:
    """Add the words of one vocabulary file. Raises CorruptionError, FormatVersionError."""
    path = getattr(file, "path", None)
    rule = file.properties.get("rule")
    if rule != RULE:
        raise FormatVersionError(
            f"the vocabulary was made by word rule {rule!r}; this version of ngramdb knows rule {RULE}",
            path=path,
            found=rule,
            supported=RULE,
        )
    first_id = file.properties.get("first_id")
    if first_id != len(vocabulary):
        raise CorruptionError(
            "a vocabulary file does not continue where the one before it ends",
            path=path,
            expected=len(vocabulary),
            found=first_id,
        )
    has_slots = file.has("slots") and file.properties.get("hash") == HASH
    n_words = file.properties.get("n_words")
    try:
        offsets = file.array("offsets")
        if n_words != len(offsets) - 1:
            raise ValueError(f"{len(offsets)} offsets for {n_words} words")
        vocabulary.append(
            _typed(file.array("entries"), np.uint8),
            _typed(offsets, np.uint64),
            _typed(file.array("slots"), np.uint64) if has_slots else None,
        )
    except (ValueError, OverflowError, KeyError) as error:
        raise CorruptionError(f"a vocabulary file is damaged: {error}", path=path) from error


def _typed(array: npt.NDArray[Any], dtype: type[np.unsignedinteger[Any]]) -> npt.NDArray[Any]:
    if array.dtype != dtype:
        raise ValueError(f"a section of dtype {array.dtype} where {np.dtype(dtype)} is expected")
    return array


# ---- Unicode's normalization form C in linear time, in blocks between which work can be interrupted.


# Characters per block: about two milliseconds. Blocks extend only to a character that begins a new sequence.
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

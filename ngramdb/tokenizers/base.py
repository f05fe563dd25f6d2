"""What a tokenizer is to the rest of the database.

A tokenizer turns texts (UTF-8 bytes) into token ids (uint32) when documents are loaded, and query text into
ids that may be "unknown" when questions are asked. It also says which documents can be had back from their
ids alone, so that the others are stored as text. This package handles no files: a tokenizer gives and
takes the sections of one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from ngramdb.diacritics import Spelling
from ngramdb.errors import InvalidArgument
from ngramdb.interrupts import check
from ngramdb.limits import MAX_TOKEN_ID
from ngramdb.types import token_id, token_ids

if TYPE_CHECKING:
    from ngramdb.tokenizers.word_forms import FoundWords

Ids = npt.NDArray[np.uint32]
QueryIds = npt.NDArray[np.int64]
Offsets = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Pieces = tuple[npt.NDArray[np.uint8], Offsets]
# Token ids, and the characters [start, stop) of a text that each of them stands for: (n,) each.
Placed = tuple[QueryIds, Offsets, Offsets]

# The number of ids that a token stream can hold: 0..2**32-1.
N_IDS = MAX_TOKEN_ID + 1


# Tokens that are spelled between two interrupt checks.
PIECE_TOKENS = 1 << 18


@dataclass(frozen=True)
class FileContent:
    """What one file of a tokenizer holds: the container kind, its sections in order, and its properties."""

    kind: str
    sections: dict[str, npt.NDArray[Any]]
    properties: dict[str, Any] = field(default_factory=dict)


class Sections(Protocol):
    """The part of a container that `open_tokenizer` reads."""

    @property
    def properties(self) -> Mapping[str, Any]: ...

    def has(self, name: str) -> bool: ...

    def array(self, name: str) -> npt.NDArray[Any]: ...


class Tokenizer(ABC):
    """Text to token ids and back. Safe to share between threads."""

    # As the manifest has it: a name of `ngramdb.registries.TOKENIZERS`.
    kind: str

    # Whether it is known where in a text its tokens stand, and so with which of them sentences begin.
    finds_sentences: bool = True

    # Whether documents as a rule come back byte for byte from their ids. `reproduces` checks each one.
    lossless: bool

    @property
    @abstractmethod
    def n_vocabulary(self) -> int:
        """Every id is below this number (ids below it may be without a token)."""

    @abstractmethod
    def encode(self, text: str) -> QueryIds:
        """The ids of a query's text, `UNKNOWN` for words not in the vocabulary; nothing is added to it.

        Known words get the very ids that a document's text gets. Returns: (m,) int64.
        Raises InvalidArgument when the text is not valid Unicode (a lone surrogate), or text makes no sense
        here.
        """

    def normalized(self, text: str) -> str:
        """A text as the tokenizer reads it: in lower case, composed, …; by default as it is.

        Blanks are blanks, however the tokenizer writes them.
        """
        return text

    @abstractmethod
    def encode_batch(self, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
        """The ids of many documents; the vocabulary grows where the kind allows it.

        Parameters: texts: bytes objects, each valid UTF-8.
        Returns: ids (m,) uint32 and offsets (n + 1,) int64: document k has ids[offsets[k]:offsets[k + 1]].
        Raises InvalidArgument when a text is not valid UTF-8; ResourceError when the vocabulary is full.
        """

    @abstractmethod
    def decode(self, ids: npt.ArrayLike) -> str:
        """A text for display with these tokens; not always the text they came from.

        Raises InvalidArgument when there is no such id.
        """

    @abstractmethod
    def token_text(self, token_id: int) -> str:
        """One token for display, bytes that are not UTF-8 as backslash escapes.

        Raises InvalidArgument when there is no such id.
        """

    def token_texts(self, ids: npt.ArrayLike) -> list[str]:
        """`token_text` of many tokens: well below a microsecond each. Raises InvalidArgument, as it does."""
        return [self.token_text(token_id) for token_id in as_ids(ids).tolist()]

    def pieces(self, ids: npt.ArrayLike) -> list[str]:
        """The tokens as the vocabulary spells them: with `Ġ` for a blank, where its file has it so.

        Raises InvalidArgument, as `token_text` does.
        """
        return self.token_texts(ids)

    def decode_rows(self, rows: npt.NDArray[np.uint32]) -> list[str]:
        """Return `decode` of each row of (k, n) ids; raises the same errors."""
        return self.decode_each(rows.ravel(), np.arange(len(rows) + 1) * rows.shape[1])

    def decode_each(self, ids: Ids, offsets: Offsets) -> list[str]:
        """Return `decode` of ids[offsets[k]:offsets[k + 1]] for each k; raises the same errors.

        Parameters: ids: (m,) uint32; offsets: (n + 1,) int64, ascending from 0 to m.
        Cost: about a microsecond per text plus its size, if tokens have fixed texts.
        """
        return [self.decode(ids[start:stop]) for start, stop in pairwise(offsets.tolist())]

    def decode_exact(self, ids: npt.ArrayLike) -> bytes | None:
        """The text that the ids spell, where the tokenizer is byte-lossless; None where it is not."""
        return None

    def reproduces(self, texts: Sequence[bytes], ids: Ids, offsets: Offsets) -> Flags:
        """Which texts `decode_exact` gives back byte for byte; verified, not believed. Returns: (n,) bool."""
        return np.zeros(len(texts), dtype=np.bool_)

    @property
    def token_bytes(self) -> Pieces | None:
        """The bytes of every id, (flat uint8, offsets int64), where a text is their concatenation."""
        return None

    @property
    def spellings(self) -> Pieces | None:
        """The bytes of every id, (flat uint8, offsets int64), whether or not a text is their concatenation.

        None where there is no list of them. A token's bytes stand in its documents' texts as they are.
        """
        return self.token_bytes

    @property
    def has_own_words(self) -> bool:
        """Return True if tokens are words, not pieces of words: expressions are compared with them."""
        return False

    def all_texts(self) -> list[str]:
        """Return the text of every id below n_vocabulary, empty for an id without a token."""
        return self.token_texts(np.arange(self.n_vocabulary))

    @property
    def has_places(self) -> bool:
        """Whether `places` has an answer, for tokenizers that do not spell their texts."""
        return False

    def places(self, text: str) -> Placed | None:
        """Where the tokens of a document's text stand in it: ascending; None where that is not known.

        A token without a character of its own, as all but the last one of a character's bytes, has the
        characters of the next token that has some.
        """
        return None

    def mark_sentences(self, texts: Sequence[bytes], ids: Ids, offsets: Offsets) -> Flags | None:
        """Which tokens begin a sentence of their text: (m,) bool; None where a text is not that of its ids.

        None as well where `places` is the way to know (`tokenizers.sentences`).
        """
        return None

    def matching(
        self, expression: str | Spelling, ignore_case: bool, ignore_diacritics: bool
    ) -> npt.NDArray[np.int64]:
        """Return the ids of the tokens whose text matches a regular expression or a spelling, ascending.

        Raises
        ------
        InvalidArgument
            The expression is none, or needs more than a finite automaton.
        ResourceError
            It has too many states.

        Cost: some 20 ms for a million words; ten times as much the first time, and when the vocabulary has
        grown.
        """
        from ngramdb.tokenizers.vocabulary import vocabulary_of

        return vocabulary_of(self).matching(expression, ignore_case, ignore_diacritics)

    def compared_texts(self, ids: npt.ArrayLike) -> list[str]:
        """Return the texts of tokens as `matching` compares them; bytes that are no UTF-8 are surrogates.

        Cost: a pass over the vocabulary's lengths; that of `matching` the first time.
        """
        from ngramdb.tokenizers.vocabulary import vocabulary_of

        return vocabulary_of(self).texts(as_ids(ids))

    def may_match(self, expression: str, ignore_case: bool) -> bool:
        """Return True if a token of some document could match a valid expression as a whole."""
        return len(self.matching(expression, ignore_case, False)) > 0

    def word_may_match(self, expression: str, ignore_case: bool) -> bool:
        """Return True if a word of some text, as `words` finds it, could match a valid expression."""
        from ngramdb.tokenizers.possible import some_word_matches

        return some_word_matches(expression, ignore_case)

    def words_matching(
        self, segments: Sequence[Any], expression: str | Spelling, ignore_case: bool, ignore_diacritics: bool
    ) -> FoundWords:
        """The words in segments' texts that match a regular expression as a whole, or have a spelling.

        The words are those of the tokenizer `words`. Where tokens do not spell the text (`token_bytes`), the
        stored texts are read, and no sequences of tokens are found.

        Raises
        ------
        InvalidArgument
            The expression is none, or needs more than a finite automaton.
        ResourceError
            It has too many states, or a segment has too many words.

        Cost: some 80 ns a token the first time that a segment is asked; then that of `matching`.
        """
        from ngramdb.tokenizers.word_forms import words_matching

        return words_matching(segments, self, expression, ignore_case, ignore_diacritics)

    def documents_with_words(
        self, segment: Any, clauses: Sequence[Sequence[bytes]]
    ) -> npt.NDArray[np.uint32] | None:
        """The documents of a segment whose stored texts have one of the words of each clause: ascending.

        None where that is not known, and every text has to be read. For tokenizers whose tokens do not spell
        the text. Cost: that of reading all texts, the first time that a segment is asked.
        """
        from ngramdb.tokenizers.word_forms import documents_with

        return documents_with(segment, self, clauses)

    def words_of(self, text: str) -> list[str]:
        """The words of a text, as the tokenizer `words` finds them."""
        from ngramdb.tokenizers.word_forms import split_into_words

        return split_into_words(text)

    def split(self, text: str) -> list[str]:
        """The pieces of a query's text that are its tokens, whether or not the vocabulary has them."""
        return self.token_texts(self.encode(text))

    def split_unfinished(self, text: str) -> list[str]:
        """Return the pieces of a text whose last token is perhaps the beginning of a longer one."""
        return self.split(text)

    def fork(self) -> Tokenizer:
        """A tokenizer whose growth this one does not see.

        A load works on a fork, and its commit publishes the fork; a failed load drops it, and its words are
        never seen. Kinds that do not grow return themselves. Cost: no more than logarithmic in the
        vocabulary.
        """
        return self

    def encoder(self, fast: bool = True) -> Encoder:
        """What one load gets its ids from: the ids of `encode_batch`, the fast way if there is one."""
        return Encoder(self)

    @property
    def memory_bytes(self) -> int:
        """About how much memory it takes while it makes ids of texts; 0 where that is little."""
        return 0

    def definition(self) -> FileContent | None:
        """What must be stored once, when a corpus is created; None when the kind is enough."""
        return None

    def vocabulary_since(self, n_known: int) -> FileContent | None:
        """What a load must store: the entries [n_known, n_vocabulary), or None when there are none."""
        return None

    def check(self) -> None:
        """Verify every invariant. Raises CorruptionError naming the first entry at fault."""
        return None

    def check_id(self, value: int) -> int:
        """The id as an int below n_vocabulary. Raises InvalidArgument."""
        number = token_id(value)
        if number >= self.n_vocabulary:
            raise InvalidArgument(
                f"token id {number} is out of range: the vocabulary has {self.n_vocabulary} ids, from 0 on"
            )
        return number


class Encoder:
    """The ids of one load's documents, batch by batch; for one thread."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    #: A note for people on how the ids were made.
    note: str | None = None

    #: Whether ids of earlier batches may be others than `encode_batch` of the tokenizer gives. Once it is so,
    #: all later batches have the right ones, and the earlier ones must be encoded anew.
    in_doubt: bool = False

    def encode_batch(self, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
        """See `Tokenizer.encode_batch`."""
        return self._tokenizer.encode_batch(texts)

    def end(self) -> None:
        """No batch of this load is left: give back what only encoding needs. Another may come after all."""


def as_ids(ids: npt.ArrayLike) -> Ids:
    """Token ids of documents as one contiguous array, every value checked; no copy when it is uint32 already.

    Raises InvalidArgument naming the first value that is not an integer from 0 to 2**32 - 1.
    """
    if isinstance(ids, np.ndarray) and ids.dtype == np.uint32 and ids.ndim == 1:
        return np.ascontiguousarray(ids)
    return token_ids(ids, least=0).astype(np.uint32)


def reproduced(tokenizer: Tokenizer, texts: Sequence[bytes], ids: Ids, offsets: Offsets) -> Flags:
    """`Tokenizer.reproduces` by the texts of pieces of the ids, if a text is what its tokens spell."""

    def is_same(text: bytes, some: Ids) -> bool:
        at = 0
        for start in range(0, len(some), PIECE_TOKENS):
            check()
            piece = tokenizer.decode_exact(some[start : start + PIECE_TOKENS])
            if piece is None or not text.startswith(piece, at):
                return False
            at += len(piece)
        return at == len(text)

    same = (is_same(text, ids[offsets[k] : offsets[k + 1]]) for k, text in enumerate(texts))
    return np.fromiter(same, dtype=np.bool_, count=len(texts))


def to_utf8(text: str) -> bytes:
    """A query's text as UTF-8. Raises InvalidArgument for anything but a str, and for a lone surrogate."""
    if not isinstance(text, str):
        raise InvalidArgument(f"text to tokenize must be a str, not {type(text).__name__}")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(
            f"the text is not valid Unicode: a lone surrogate (U+{ord(text[error.start]):04X}) "
            f"at character {error.start}"
        ) from error


def from_utf8(texts: Sequence[bytes]) -> list[str]:
    """Documents as str. Raises InvalidArgument naming the document and the byte where UTF-8 ends."""
    decoded: list[str] = []
    for number, text in enumerate(texts):
        try:
            decoded.append(text.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise InvalidArgument(
                f"text {number} of the batch is not valid UTF-8 at byte {error.start} ({error.reason})"
            ) from error
    return decoded


def placed(ids: Sequence[int], spans: Sequence[tuple[int, int]]) -> Placed:
    """`Tokenizer.places` of ids and the characters [start, stop) that each stands for, or of none."""
    bounds = np.array(spans, dtype=np.int64).reshape(-1, 2)
    starts = np.maximum.accumulate(bounds[:, 0])
    stops = np.maximum.accumulate(np.maximum(bounds[:, 1], starts))
    # Those without a character: the next stop that is behind their own place.
    after = np.append(stops, stops[-1:])[np.searchsorted(stops, starts, side="right")]
    return np.array(ids, dtype=np.int64), starts, np.where(stops > starts, stops, after)


def offsets_of(sizes: Sequence[int]) -> Offsets:
    """Offsets from sizes: (n + 1,) int64 from 0."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets

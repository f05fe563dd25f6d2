"""The interface of tokenizers.

A tokenizer turns texts (UTF-8 bytes) into token ids (uint32) when documents are loaded, and query text into
ids that may be "unknown" in queries. It also determines which documents can be restored from their
ids alone, so that the others are stored as text. This package handles no files: a tokenizer accepts and
returns the sections of one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from ngramdb.diacritics import Spelling
from ngramdb.errors import ExecutionError, InvalidArgument, QueryCancelled
from ngramdb.interrupts import check
from ngramdb.lazy import dataclass
from ngramdb.limits import MAX_TOKEN_ID
from ngramdb.types import token_id, token_ids

if TYPE_CHECKING:
    from ngramdb.tokenizers.vocabulary import FoundWords

Ids = npt.NDArray[np.uint32]
QueryIds = npt.NDArray[np.int64]
Offsets = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Pieces = tuple[npt.NDArray[np.uint8], Offsets]
# Token ids, and the characters [start, stop) of a text that each of them covers: (n,) each.
Placed = tuple[QueryIds, Offsets, Offsets]

# The number of ids that a token stream can hold: 0..2**32-1.
N_IDS = MAX_TOKEN_ID + 1

# The container kind of stored definitions.
DEFINITION_KIND = "TOKZ"

# Some libraries replace a blank by this.
BLANK = "\u2581"

# Tokens that are decoded between two interrupt checks.
PIECE_TOKENS = 1 << 18


@dataclass(frozen=True)
class FileContent:
    """The content of one tokenizer file: the container kind, its sections in order, and its properties."""

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

    # As in the manifest: a name of `ngramdb.registries.TOKENIZERS`.
    kind: str

    # True if the places of tokens in a text are known, and so the tokens that begin sentences.
    finds_sentences: bool = True

    # True if documents can usually be restored byte for byte from their ids. `reproduces` checks each one.
    lossless: bool

    @property
    @abstractmethod
    def n_vocabulary(self) -> int:
        """Every id is below this number (some ids below it may have no token)."""

    @abstractmethod
    def encode(self, text: str) -> QueryIds:
        """Return the ids of a query's text, `UNKNOWN` for words not in the vocabulary, which does not grow.

        Known words get the same ids as in a document's text. Returns: (m,) int64.
        Raises InvalidArgument if the text is not valid Unicode (a lone surrogate), or the tokenizer has no
        text.
        """

    def normalized(self, text: str) -> str:
        """Return a text as the tokenizer reads it: in lower case, composed, …; by default unchanged.

        Blanks are returned as blanks, however the tokenizer writes them.
        """
        return text

    @abstractmethod
    def encode_batch(self, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
        """Return the ids of many documents; the vocabulary grows if the kind allows it.

        Parameters: texts: bytes objects, each valid UTF-8.
        Returns: ids (m,) uint32 and offsets (n + 1,) int64: document k has ids[offsets[k]:offsets[k + 1]].
        Raises InvalidArgument if a text is not valid UTF-8; ResourceError if the vocabulary is full.
        """

    @abstractmethod
    def decode(self, ids: npt.ArrayLike) -> str:
        """Return a text for display with these tokens; not always the text they came from.

        Raises InvalidArgument for an invalid id.
        """

    @abstractmethod
    def token_text(self, token_id: int) -> str:
        """Return one token for display, with bytes that are not UTF-8 as backslash escapes.

        Raises InvalidArgument for an invalid id.
        """

    def token_texts(self, ids: npt.ArrayLike) -> list[str]:
        """Return `token_text` of many tokens, below a microsecond each. Raises InvalidArgument, too."""
        return [self.token_text(token_id) for token_id in as_ids(ids).tolist()]

    def pieces(self, ids: npt.ArrayLike) -> list[str]:
        """Return the tokens as the vocabulary spells them: with `Ġ` for a blank, for example.

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
        """Return the text that the ids spell if the tokenizer is byte-lossless, else None."""
        return None

    def reproduces(self, texts: Sequence[bytes], ids: Ids, offsets: Offsets) -> Flags:
        """Return (n,) bool: True for texts that `decode_exact` restores byte for byte; verified for each."""
        return np.zeros(len(texts), dtype=np.bool_)

    @property
    def token_bytes(self) -> Pieces | None:
        """The bytes of every id, (flat uint8, offsets int64), if a text is their concatenation, else None."""
        return None

    @property
    def spellings(self) -> Pieces | None:
        """The bytes of every id, (flat uint8, offsets int64), whether or not a text is their concatenation.

        None if they cannot be listed. A token's bytes occur unchanged in the texts of its documents.
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
        """True if `places` returns a result, for tokenizers that do not spell their texts."""
        return False

    def places(self, text: str) -> Placed | None:
        """Return the places of the tokens in a document's text: ascending; None if unknown.

        A token without its own character, such as all but the last one of a character's bytes, has the
        characters of the next token that has some.
        """
        return None

    def mark_sentences(self, texts: Sequence[bytes], ids: Ids, offsets: Offsets) -> Flags | None:
        """Mark tokens that begin a sentence of their text: (m,) bool; None if a text does not match its ids.

        Also None if `places` must be used instead (`tokenizers.sentences`).
        """
        return None

    def matching(
        self, expression: str | Spelling, ignore_case: bool, ignore_diacritics: bool
    ) -> npt.NDArray[np.int64]:
        """Return the ids of the tokens whose text matches a regular expression or a spelling, ascending.

        Raises
        ------
        InvalidArgument
            The expression is invalid, or needs more than a finite automaton.
        ResourceError
            It has too many states.

        Cost: about 20 ms for a million words; ten times as much the first time, and when the vocabulary has
        grown.
        """
        from ngramdb.tokenizers.vocabulary import vocabulary_of

        return vocabulary_of(self).matching(expression, ignore_case, ignore_diacritics)

    def compared_texts(self, ids: npt.ArrayLike) -> list[str]:
        """Return the texts of tokens as `matching` compares them; invalid UTF-8 becomes surrogates.

        Cost: a pass over the vocabulary's lengths; that of `matching` the first time.
        """
        from ngramdb.tokenizers.vocabulary import vocabulary_of

        return vocabulary_of(self).texts(as_ids(ids))

    def may_match(self, expression: str, ignore_case: bool) -> bool:
        """Return True if a token of some document could match a valid expression as a whole."""
        return len(self.matching(expression, ignore_case, False)) > 0

    def word_may_match(self, expression: str, ignore_case: bool) -> bool:
        """Return True if a word of some text, as `words` finds it, could match a valid expression."""
        from ngramdb.tokenizers.regular import some_word_matches

        return some_word_matches(expression, ignore_case)

    def words_matching(
        self, segments: Sequence[Any], expression: str | Spelling, ignore_case: bool, ignore_diacritics: bool
    ) -> FoundWords:
        """Return words in segments' texts that match a regular expression as a whole, or have a spelling.

        The words are those of the tokenizer `words`. If tokens do not spell the text (`token_bytes`), the
        stored texts are read, and no sequences of tokens are found.

        Raises
        ------
        InvalidArgument
            The expression is invalid, or needs more than a finite automaton.
        ResourceError
            It has too many states, or a segment has too many words.

        Cost: about 80 ns per token for the first query of a segment; then that of `matching`.
        """
        from ngramdb.tokenizers.vocabulary import words_matching

        return words_matching(segments, self, expression, ignore_case, ignore_diacritics)

    def documents_with_words(
        self, segment: Any, clauses: Sequence[Sequence[bytes]]
    ) -> npt.NDArray[np.uint32] | None:
        """Return documents of a segment whose stored texts have one of the words of each clause: ascending.

        None if unknown, so that every text has to be read. For tokenizers whose tokens do not spell
        the text. Cost: that of reading all texts, for the first query of a segment.
        """
        from ngramdb.tokenizers.vocabulary import documents_with

        return documents_with(segment, self, clauses)

    def words_of(self, text: str) -> list[str]:
        """Return the words of a text, as found by the tokenizer `words`."""
        from ngramdb.tokenizers.vocabulary import split_into_words

        return split_into_words(text)

    def split(self, text: str) -> list[str]:
        """Return the pieces of a query's text that are its tokens, even if the vocabulary lacks them."""
        return self.token_texts(self.encode(text))

    def split_unfinished(self, text: str) -> list[str]:
        """Return the pieces of a text whose last token may be the beginning of a longer one."""
        return self.split(text)

    def fork(self) -> Tokenizer:
        """Return a tokenizer whose growth does not affect this one.

        A load works on a fork, and its commit publishes the fork; a failed load drops it, and its words are
        never seen. Kinds that do not grow return themselves. Cost: at most logarithmic in the
        vocabulary.
        """
        return self

    def encoder(self, fast: bool = True) -> Encoder:
        """Return the encoder of one load: with the ids of `encode_batch`, in a faster way if there is one."""
        return Encoder(self)

    @property
    def memory_bytes(self) -> int:
        """Approximate memory that encoding texts takes; 0 if negligible."""
        return 0

    def definition(self) -> FileContent | None:
        """Return the file to be stored when a corpus is created; None if the kind is enough."""
        return None

    def vocabulary_since(self, n_known: int) -> FileContent | None:
        """Return the file that a load must store: entries [n_known, n_vocabulary), or None without any."""
        return None

    def check(self) -> None:
        """Verify every invariant. Raises CorruptionError naming the first entry at fault."""
        return None

    def check_id(self, value: int) -> int:
        """Return the id as an int below n_vocabulary. Raises InvalidArgument."""
        number = token_id(value)
        if number >= self.n_vocabulary:
            raise InvalidArgument(
                f"token id {number} is out of range: the vocabulary has {self.n_vocabulary} ids, from 0 on"
            )
        return number

    def check_ids(self, ids: npt.ArrayLike) -> Ids:
        """Return ids of documents as an array, all below n_vocabulary. Raises InvalidArgument."""
        values = as_ids(ids)
        if values.size:
            self.check_id(int(values.max()))
        return values


class DefinedTokenizer(Tokenizer):
    """A tokenizer whose definition is stored: a file of its library, or the identity of a function."""

    # Name and version of the library, for the properties of the stored file.
    library: str

    def __init__(self, definition: bytes, source: str) -> None:
        """Keep a file's content; `source` names it in messages."""
        self._definition = definition
        self._source = source

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the definition."""
        return type(self), (self._definition, self._source)

    def definition(self) -> FileContent:
        content = np.frombuffer(self._definition, dtype=np.uint8)
        properties = {"library": self.library, "n_vocabulary": self.n_vocabulary}
        return FileContent(DEFINITION_KIND, {"tokenizer": content}, properties)


class Encoder:
    """An encoder for one load's documents, batch by batch; for one thread."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    #: A note for the user on how the ids were made.
    note: str | None = None

    #: True if ids of earlier batches may differ from `encode_batch` of the tokenizer. From then on,
    #: all later batches have the right ones, and the earlier ones must be encoded again.
    in_doubt: bool = False

    def encode_batch(self, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
        """See `Tokenizer.encode_batch`."""
        return self._tokenizer.encode_batch(texts)

    def end(self) -> None:
        """Free what only encoding needs: no batch of this load is left, as far as is known."""


def as_ids(ids: npt.ArrayLike) -> Ids:
    """Return token ids of documents as one contiguous array, every value checked; no copy of uint32 arrays.

    Raises InvalidArgument naming the first value that is not an integer from 0 to 2**32 - 1.
    """
    if isinstance(ids, np.ndarray) and ids.dtype == np.uint32 and ids.ndim == 1:
        return np.ascontiguousarray(ids)
    return token_ids(ids, least=0).astype(np.uint32)


def reproduced(tokenizer: Tokenizer, texts: Sequence[bytes], ids: Ids, offsets: Offsets) -> Flags:
    """Implement `Tokenizer.reproduces` by the texts of the ids, if a text is what its tokens spell."""

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
    """Encode a query's text as UTF-8. Raises InvalidArgument for non-strings and for lone surrogates."""
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
    """Decode documents. Raises InvalidArgument naming the document and the byte where UTF-8 is invalid."""
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
    """Return `Tokenizer.places` for ids and the characters [start, stop) that each covers, perhaps none."""
    bounds = np.array(spans, dtype=np.int64).reshape(-1, 2)
    starts = np.maximum.accumulate(bounds[:, 0])
    stops = np.maximum.accumulate(np.maximum(bounds[:, 1], starts))
    # Tokens without a character: the next stop beyond their own place.
    after = np.append(stops, stops[-1:])[np.searchsorted(stops, starts, side="right")]
    return np.array(ids, dtype=np.int64), starts, np.where(stops > starts, stops, after)


def batches(texts: Sequence[str], n_chars: int) -> Iterator[Sequence[str]]:
    """Yield consecutive texts of at most `n_chars` characters together; a longer one is a batch by itself."""
    start = size = 0
    for k, text in enumerate(texts):
        if k > start and size + len(text) > n_chars:
            yield texts[start:k]
            start, size = k, 0
        size += len(text)
    yield texts[start:] if start else texts


@contextmanager
def library_errors() -> Iterator[None]:
    """Convert errors of a library to ours. It raises plain Exception, as for a missing unknown token."""
    try:
        yield
    except QueryCancelled:
        raise
    except Exception as error:
        raise ExecutionError(f"the tokenizer cannot tokenize the text: {error}") from error


def offsets_of(sizes: Sequence[int]) -> Offsets:
    """Return offsets for sizes: (n + 1,) int64 from 0."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets

"""`callable`: a Python function of the user, identified by a name and a version that the corpus stores.

A function cannot be stored. The corpus has its name and version, the number of ids, and the ids of
a sample text; to query by text, or to load, the user registers it again (`register_tokenizer`). A different
name or version, or different ids for the sample, is an error. Counts by token ids need no function.

A document consists of its own tokens only: a function that returns tokens for the empty text adds something
around texts, and is rejected. Texts are stored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ngramdb import interrupts
from ngramdb.errors import ExecutionError, InvalidArgument, NgramdbError, QueryCancelled
from ngramdb.tokenizers.base import (
    N_IDS,
    DefinedTokenizer,
    Ids,
    Offsets,
    Placed,
    QueryIds,
    as_ids,
    batches,
    from_utf8,
    offsets_of,
    placed,
    to_utf8,
)

# Distinguishes functions of the same name: letters of several scripts, digits, marks, white space, a
# character outside of the basic plane.
SAMPLE = "The naïve fox's 12.5 %\n«Ёлки» 自然語言 e\u0301 😀  end."

# Texts with this many characters together are one call, between two interrupt checks.
BATCH_CHARS = 1 << 18

# Number of token ids for checking whether `decode` separates words.
SAMPLE_IDS = 32

_NAME = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True)
class CallableTokenizer:
    """A tokenizer that is a Python function, with a name.

    >>> import ngramdb
    >>> def letters(texts):
    ...     return [[ord(c) % 128 for c in text] for text in texts]
    >>> small = ngramdb.CallableTokenizer("letters", letters, 128)
    >>> ngramdb.connect().create_corpus("a", tokenizer=small).append(["abc"]).tokens
    3

    Parameters
    ----------
    name : stored with the corpus, and used by other processes to register the function: letters, digits, `_`,
        `-`, `.`
    encode : from a list of texts to the token ids of each: a sequence or array of integers per text, always
        the same, without tokens that begin or end a text. Called from one thread at a time by a
        load, and from any thread by queries.
    n_vocabulary : ids are below it
    version : must change if `encode` does
    decode : from a list of ids to a text, for display; without it tokens are shown as their numbers
    spans : from a text to the characters (start, stop) that each of its tokens covers; it allows
        MATCH TEXT, IGNORE CASE of pieces of words, and contexts with the original text
    words : True if tokens are words: regular expressions, PREFIX, IGNORE CASE and IGNORE DIACRITICS are then
        compared with the tokens as `decode` shows them. False if tokens are pieces of words: IGNORE CASE is
        compared with the text, the others with its words, which needs `spans`. By default, True if `decode`
        puts white space between tokens

    Raises
    ------
    InvalidArgument
        An invalid name, version or number.
    """

    name: str
    encode: Callable[[list[str]], Sequence[Any]]
    n_vocabulary: int
    version: str = "1"
    decode: Callable[[list[int]], str] | None = None
    spans: Callable[[str], Sequence[tuple[int, int]]] | None = None
    words: bool | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise InvalidArgument(
                f"invalid tokenizer name {self.name!r}: use letters, digits, '_', '-' and '.'"
            )
        if not isinstance(self.version, str) or not self.version.isprintable():
            raise InvalidArgument(f"a tokenizer's version must be a str, not {self.version!r}")
        if type(self.n_vocabulary) is not int or not 0 < self.n_vocabulary <= N_IDS:
            raise InvalidArgument(f"n_vocabulary must be from 1 to 2**32, not {self.n_vocabulary!r}")
        for name in ("encode", "decode", "spans"):
            given = getattr(self, name)
            if not callable(given) and (given is not None or name == "encode"):
                raise InvalidArgument(f"{name} must be a function, not {type(given).__name__}")
        if self.words not in (None, True, False):
            raise InvalidArgument(f"words must be True, False or None, not {self.words!r}")
        if self.words and self.decode is None:
            raise InvalidArgument("words=True needs decode, which gives the words")


_registered: dict[str, CallableTokenizer] = {}


def register_tokenizer(tokenizer: CallableTokenizer) -> None:
    """Register a function by its name for corpora of this process; it replaces one of the same name.

    Corpora that were made with it find it, and `CREATE CORPUS … TOKENIZER 'name'` accepts its name.
    `create_corpus` registers the function that it is passed.

    Raises
    ------
    InvalidArgument
        The argument is not a CallableTokenizer.
    """
    if not isinstance(tokenizer, CallableTokenizer):
        raise InvalidArgument(f"register_tokenizer takes a CallableTokenizer, not {type(tokenizer).__name__}")
    _registered[tokenizer.name] = tokenizer


def registered(name: str) -> CallableTokenizer | None:
    """Return the function that is registered under a name."""
    return _registered.get(name)


class CalledTokenizer(DefinedTokenizer):
    """A function, identified by name and version: looked up on use."""

    kind = "callable"
    library = "a function in Python"
    lossless = False

    def __init__(self, definition: bytes, source: str = "the stored tokenizer") -> None:
        """Read the data that a corpus stores about it. Raises InvalidArgument."""
        try:
            kept = json.loads(definition)
            name, version, n_vocabulary = kept["name"], kept["version"], kept["n_vocabulary"]
            self._sample = [int(token_id) for token_id in kept["sample"]]
            # Checked like arguments of a user.
            self._kept = CallableTokenizer(name, list, n_vocabulary, version)
        except (ValueError, LookupError, TypeError) as error:
            raise InvalidArgument(f"{source} does not describe a function: {error}") from error
        super().__init__(definition, source)
        self._verified: CallableTokenizer | None = None
        self._has_words: tuple[CallableTokenizer, bool] | None = None

    @classmethod
    def of(cls, given: CallableTokenizer) -> CalledTokenizer:
        """Make the tokenizer of a new corpus. Raises InvalidArgument, ExecutionError."""
        if len(_ids_of(given, [""])[0]):
            raise InvalidArgument(
                f"the tokenizer {given.name} returns tokens for the empty text: leave out those that "
                "it adds around texts"
            )
        kept = {
            "name": given.name,
            "version": given.version,
            "n_vocabulary": given.n_vocabulary,
            "sample": _ids_of(given, [SAMPLE])[0].tolist(),
        }
        register_tokenizer(given)
        return cls(json.dumps(kept).encode())

    def function(self) -> CallableTokenizer:
        """Return the function registered under the name. Raises InvalidArgument if missing or different."""
        kept, found = self._kept, _registered.get(self._kept.name)
        if found is not None and found is self._verified:
            return found
        what = f"the corpus has the tokenizer {kept.name}, version {kept.version!r}, a function in Python"
        if found is None:
            raise InvalidArgument(
                f"{what}, which is not registered in this process: call ngramdb.register_tokenizer("
                f"ngramdb.CallableTokenizer({kept.name!r}, …)); Corpus.count and prob by token ids need none"
            )
        if (found.version, found.n_vocabulary) != (kept.version, kept.n_vocabulary):
            raise InvalidArgument(
                f"{what} of {kept.n_vocabulary:,} ids; the one registered has version {found.version!r} "
                f"and {found.n_vocabulary:,} ids"
            )
        if _ids_of(found, [SAMPLE])[0].tolist() != self._sample:
            raise InvalidArgument(
                f"{what}; the registered one returns other ids than that did: register that one, and give "
                "this one another version"
            )
        self._verified = found
        return found

    @property
    def n_vocabulary(self) -> int:
        return self._kept.n_vocabulary

    def encode(self, text: str) -> QueryIds:
        to_utf8(text)
        return _ids_of(self.function(), [text])[0].astype(np.int64)

    def encode_batch(self, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
        function = self.function()
        found = [ids for batch in batches(from_utf8(texts), BATCH_CHARS) for ids in _ids_of(function, batch)]
        flat = np.concatenate([np.empty(0, dtype=np.uint32), *found])
        return flat, offsets_of([len(ids) for ids in found])

    def decode(self, ids: npt.ArrayLike) -> str:
        values = self.check_ids(ids)
        decode = self.function().decode
        if decode is None:
            return " ".join(map(str, values.tolist()))
        with _errors_of(self._kept.name):
            text = decode(values.tolist())
        if not isinstance(text, str):
            raise ExecutionError(
                f"decode of the tokenizer {self._kept.name} did not return a text: {text!r:.80}"
            )
        return text

    def token_text(self, token_id: int) -> str:
        return self.decode([self.check_id(token_id)])

    @property
    def finds_sentences(self) -> bool:  # type: ignore[override]
        """See the base class; False if this process lacks the function."""
        found = _registered.get(self._kept.name)
        return found is not None and found.spans is not None

    @property
    def has_own_words(self) -> bool:
        """See the base class; False if this process lacks the function."""
        found = _registered.get(self._kept.name)
        if found is None or found.decode is None:
            return False
        if self._has_words is None or self._has_words[0] is not found:
            self._has_words = found, _decodes_words(found) if found.words is None else found.words
        return self._has_words[1]

    def split(self, text: str) -> list[str]:
        return (
            [text[start:stop] for start, stop in self._cut(text)]
            if self.has_own_words
            else super().split(text)
        )

    def split_unfinished(self, text: str) -> list[str]:
        if not self.has_own_words:
            return super().split_unfinished(text)
        end = len(text.rstrip())
        begin = end - len(text.split()[-1]) if end else 0
        cut = self._cut(text)
        if not cut or cut[-1][1] < end:  # the function drops an incomplete token
            begin = max([begin, *(start for start, _ in cut[-1:])])
            cut = [*(span for span in cut if span[0] < begin), (begin, end)]
        return [text[start:stop] for start, stop in cut]

    def _cut(self, text: str) -> list[tuple[int, int]]:
        """Return the places of words in a text: by `spans`, else at white space."""
        spans = self.function().spans
        if spans is None:
            return [found.span() for found in re.finditer(r"\S+", text)]
        with _errors_of(self._kept.name):
            return [(start, stop) for start, stop in spans(text) if start < stop]

    @property
    def has_places(self) -> bool:
        return self.function().spans is not None

    def places(self, text: str) -> Placed | None:
        function = self.function()
        if function.spans is None:
            return None
        ids = _ids_of(function, [text])[0]
        with _errors_of(function.name):
            given = list(function.spans(text))
        try:
            spans = [(int(start), int(stop)) for start, stop in given]
        except (TypeError, ValueError):
            spans = []
        if len(spans) != len(ids) or any(not 0 <= start <= stop <= len(text) for start, stop in spans):
            raise ExecutionError(
                f"spans of the tokenizer {function.name} are not a pair (start, stop) for each of the "
                f"{len(ids)} tokens of the text {text!r:.80}: {given!r:.80}"
            )
        return placed(ids.tolist(), spans)


@contextmanager
def _errors_of(name: str) -> Iterator[None]:
    """Convert errors of a user's function to ours, with its name."""
    interrupts.check()
    try:
        yield
    except QueryCancelled:
        raise
    except Exception as error:
        if isinstance(error, NgramdbError):
            raise
        raise ExecutionError(f"the tokenizer {name} failed: {error!r:.200}") from error


def _decodes_words(function: CallableTokenizer) -> bool:
    """Return True if `decode` separates tokens by white space, which single tokens do not contain.

    It is called with some ids of the vocabulary and pairs of them; ids that it rejects are ignored.
    """
    decode = function.decode
    assert decode is not None
    some = np.linspace(0, function.n_vocabulary - 1, SAMPLE_IDS).astype(np.int64).tolist()
    try:
        alone = [decode([number]) for number in some]
        pairs = [decode([a, b]) for a, b in pairwise(some)]
    except Exception:  # not requested: the error is raised if the vocabulary is needed
        return False
    return all(pair.split() == [a, b] for pair, (a, b) in zip(pairs, pairwise(alone), strict=True))


def _ids_of(function: CallableTokenizer, texts: Sequence[str]) -> list[Ids]:
    """Return the ids of each text, checked. Raises ExecutionError, InvalidArgument."""
    if not texts:
        return []
    with _errors_of(function.name):
        found = list(function.encode(list(texts)))
    if len(found) != len(texts):
        raise ExecutionError(
            f"the tokenizer {function.name} returned ids of {len(found)} texts for {len(texts)}: encode "
            "takes a list of texts, and returns a list of ids for each"
        )
    made = []
    for text, given in zip(texts, found, strict=True):
        try:
            ids = as_ids(np.asarray(given, dtype=None if len(given) else np.uint32))
        except (InvalidArgument, TypeError, ValueError) as error:
            raise ExecutionError(
                f"the tokenizer {function.name} did not return token ids for the text {text!r:.80}: {error}"
            ) from error
        if len(ids) and int(ids.max()) >= function.n_vocabulary:
            raise ExecutionError(
                f"the tokenizer {function.name} returned the id {int(ids.max())} for the text {text!r:.80}, "
                f"but its n_vocabulary is {function.n_vocabulary}"
            )
        made.append(ids)
    return made

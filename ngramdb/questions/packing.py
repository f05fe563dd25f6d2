"""Many n-grams or texts as two flat arrays, the form of batches, and the units that texts are cut into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard

import numpy as np

from ngramdb import interrupts
from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.patterns.grams import bind_gram
from ngramdb.planner.scope import why_not_in_sentences
from ngramdb.source import IntArray
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.types import array_of, as_flag, integers, many_token_ids, token_ids

if TYPE_CHECKING:
    from ngramdb.questions.verbs import Bound
    from ngramdb.source import Corpus, IntArray


Encode = Callable[[str], Any]

# N-grams that are read between two interrupt checks.
CHECKED_EVERY = 256


def is_iterable(given: object) -> TypeGuard[Iterable[Any]]:
    """Return True if an object yields items; an array without dimensions has the method, but fails."""
    return isinstance(given, Iterable) and getattr(given, "shape", None) != ()


def iterates_over_names(given: object) -> bool:
    """Return True if iterating over an object yields the names of its columns or keys."""
    return isinstance(given, Mapping) or (hasattr(given, "columns") and hasattr(given, "dtypes"))


def pack(
    ngrams: Any, encode: Encode, read: Callable[[Any], IntArray] = token_ids
) -> tuple[IntArray, IntArray]:
    """Return flat ids int64[m] and offsets int64[n + 1] of n-grams.

    Parameters
    ----------
    ngrams : a pair (flat ids, offsets), at least one of them an array-like (`types.array_of`); else an
        iterable of n-grams, each text or a sequence of token ids
    encode : tokenizes text
    read : converts the ids of a pair of arrays: `unchecked_ids` if the kernel checks them

    Raises
    ------
    InvalidArgument
        Offsets that do not ascend from 0 to the number of ids, or an invalid n-gram, with its position. A
        tuple of two lists that could be either.
    """
    every = listed(ngrams)
    if isinstance(every, tuple):
        return _packed(*every, read)
    try:
        found = many_token_ids(every)
    except TypeError:  # an item is invalid, and will be named
        found = None
    if found is not None:
        return found
    arrays = []
    for i, ngram in enumerate(every):
        if i % CHECKED_EVERY == 0:
            interrupts.check()
        arrays.append(_one(i, ngram, encode))
    offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
    np.cumsum([len(array) for array in arrays], out=offsets[1:])
    return (np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int64)), offsets


def listed(ngrams: Any) -> list[Any] | tuple[Any, Any]:
    """Return many n-grams as a list, or as a pair (flat ids, offsets) of arrays and lists.

    Raises
    ------
    InvalidArgument
        Not an iterable of n-grams, or a tuple of two lists that could be either.
    """
    if type(ngrams) is list:
        return ngrams
    pair = _pair_of(ngrams)
    if pair is not None:
        return pair
    if isinstance(ngrams, (str, bytes)) or not is_iterable(ngrams) or iterates_over_names(ngrams):
        raise InvalidArgument(f"n-grams must be given as a list of n-grams, not {type(ngrams).__name__}")
    every = list(items_of(ngrams))
    if could_be_packed(ngrams):
        raise InvalidArgument(
            "a tuple of two lists can be two n-grams, or ids and offsets: give n-grams as a list of lists, "
            "ids and offsets as a pair of arrays"
        )
    return every


def items_of(given: Any) -> Any:
    """Return an iterable unchanged, but the values of an Arrow array instead of its scalars."""
    return given.to_pylist() if hasattr(given, "to_pylist") else given


def could_be_packed(given: Any) -> bool:
    """Return True if a value is a tuple of two sequences, the second with offsets into the first."""
    if not isinstance(given, tuple) or len(given) != 2 or any(isinstance(item, str) for item in given):
        return False
    try:
        ids, offsets = map(token_ids, given)
    except (InvalidArgument, TypeError):
        return False
    rises = len(offsets) > 1 and offsets[0] == 0 and bool((np.diff(offsets) >= 0).all())
    return rises and int(offsets[-1]) == len(ids)


def _pair_of(given: Any) -> tuple[Any, Any] | None:
    """Return flat ids and offsets if at least one of two items is an array-like and the other one a list."""
    if not isinstance(given, tuple) or len(given) != 2:
        return None
    arrays = [array_of(item) for item in given]
    if all(found is None for found in arrays):
        return None
    ids, offsets = (item if found is None else found for item, found in zip(given, arrays, strict=True))
    return (ids, offsets) if all(isinstance(x, (np.ndarray, list, tuple)) for x in (ids, offsets)) else None


def encoder(tokenizer: Tokenizer) -> Encode:
    """Return an encoder for `pack`: it rejects a text without tokens, except for the empty one."""

    def encoded(text: str) -> Any:
        ids = tokenizer.encode(text)
        return ids if len(ids) else bind_gram(text, tokenizer).ids

    return encoded


def _one(i: int, ngram: Any, encode: Encode) -> IntArray:
    try:
        return np.asarray(encode(ngram), dtype=np.int64) if isinstance(ngram, str) else token_ids(ngram)
    except (InvalidArgument, TypeError) as error:
        raise InvalidArgument(f"n-gram {i} (counted from 0): {error}") from error


def unchecked_ids(flat: Any) -> IntArray:
    """Return integers, which may not be token ids."""
    return integers(flat, "token ids")


def _packed(flat: Any, offsets: Any, read: Callable[[Any], IntArray]) -> tuple[IntArray, IntArray]:
    ids = read(flat) if isinstance(flat, np.ndarray) else token_ids(flat)
    offsets = integers(offsets, "offsets")
    if not len(offsets):
        raise InvalidArgument("offsets are empty; give one number more than there are n-grams")
    if offsets[0] != 0 or offsets[-1] != len(ids) or (np.diff(offsets) < 0).any():
        raise InvalidArgument(
            f"offsets must rise from 0 to the number of ids, {len(ids)}; give two n-grams as "
            "a list, not a tuple"
        )
    return ids, offsets


# ---- the flags `document` and `sentence`, which select the units in which a text is scored


#: The units that a text is scored in, each from its beginning to its end.
Unit: TypeAlias = Literal["document", "sentence"]


def unit_of(document: bool | None, sentence: bool | None, default: Unit | None = None) -> Unit | None:
    """Return the unit of a text; `default` if neither flag is given (None).

    Raises
    ------
    InvalidArgument
        both flags are True, or one of them is not a flag
    """
    if document is None and sentence is None:
        return default
    document = document is not None and as_flag("document", document)
    sentence = sentence is not None and as_flag("sentence", sentence)
    if document and sentence:
        raise InvalidArgument(
            "give either document=True (a text is a document) or sentence=True (it is cut into sentences)"
        )
    return "document" if document else "sentence" if sentence else None


def corpus_for(unit: Unit | None, bound: Bound) -> Corpus:
    """Return the corpus whose models score such texts.

    Raises
    ------
    PlanError
        the sentences of some document are unknown
    ResourceError
        the corpus is too large for an index of its sentences
    """
    view: Corpus = bound.current()
    if unit != "sentence":
        return view
    why = why_not_in_sentences(view, bound.session().own_corpus_names())
    if why is not None:
        raise PlanError(why)
    sentences: Corpus = view.in_sentences()
    return sentences


def cut(corpus: Any, unit: Unit | None, ids: IntArray, given: Any) -> IntArray:
    """Return the ids of a text as models of `corpus_for` score it; `given` is the text, or ids."""
    if unit != "sentence":
        return ids
    interrupts.check()
    cut_ids: IntArray = corpus.cut(ids, given if isinstance(given, str) else None)
    return cut_ids


def packed(corpus: Corpus, unit: Unit | None, docs: Any, encode: Encode) -> tuple[IntArray, IntArray]:
    """Return many texts (or token ids) as `packing.pack` does, cut into sentences if these are scored."""
    given = listed(docs)
    flat, offsets = pack(given, encode)
    if unit != "sentence":
        return flat, offsets
    texts = given if isinstance(given, list) else [None] * (len(offsets) - 1)
    places = zip(offsets[:-1].tolist(), offsets[1:].tolist(), texts, strict=True)
    return pack([cut(corpus, unit, flat[a:b], text) for a, b, text in places], encode)

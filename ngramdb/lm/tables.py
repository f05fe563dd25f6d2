"""Models as tables of n-grams, which need memory and answer fast: ARPA files, and models of corpora.

A table has every n-gram of up to `order` tokens with its probability and the weight of backing off from it,
in one hash table per length, as in KenLM's "probing" models; the kernel is `ngram_table.hpp`.

Source: Heafield 2011, KenLM: Faster and Smaller Language Model Queries, section 3.1.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, NoReturn, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngramdb import interrupts
from ngramdb._cext.lm import tables as kernel
from ngramdb.errors import InvalidArgument, LoadError, NotSupportedError, StorageError
from ngramdb.fork_safety import cached_property
from ngramdb.lm.arpa import names_of
from ngramdb.lm.models import LanguageModel, as_ids
from ngramdb.lm.spec import ModelSpec
from ngramdb.lm.values import BEGIN, END, UNKNOWN, Distribution, Floats, Integers, Probability, Scores
from ngramdb.types import checked_flags

# Bytes of a file that are read at a time.
CHUNK = 1 << 20

# A line of an n-gram has at least so many bytes: "0 a b".
SHORTEST_LINE = 4

# Plain bytes in one of a file that is compressed.
MOST_COMPRESSED = 1100

LOG_OF_10 = float(np.log(10.0))


@dataclass(frozen=True)
class TableSpec:
    """The description of a model whose probabilities are in a file."""

    order: int
    kind: str = "arpa"
    min_count: int = 1
    is_probability: bool = True

    def __str__(self) -> str:
        return f"ARPA ORDER {self.order}"


@dataclass(frozen=True)
class Vocabulary:
    """The words of a table.

    ids : (k,) int64, ascending, those of the words from FIRST_WORD on that tokens can be
    separator : the token that ends a sentence and begins the next, or None
    """

    ids: Integers
    separator: int | None = None

    def types(self) -> tuple[Integers, Integers]:
        """Return the ids, and -1 for each in place of its count."""
        return self.ids, np.full(len(self.ids), -1, dtype=np.int64)


class TableModel(LanguageModel):
    """A language model in a table, such as that of an ARPA file (`read_arpa`).

    It answers `prob`, `prob_many`, `dist`, `score`, `score_many` and `state` like other models, but faster,
    and `ngramdb.lm.perplexity` takes it, too. It has no counts: they are -1. Safe to share between threads.

    sizes : the numbers of n-grams of length 1, 2, …
    n_bytes : the memory of the tables
    """

    index: Any

    def __init__(
        self,
        spec: ModelSpec | TableSpec,
        table: kernel.NgramTable,
        vocabulary: Vocabulary,
        sizes: Sequence[int],
    ) -> None:
        super().__init__(cast("ModelSpec", spec), cast("Any", vocabulary), table)
        self.sizes = tuple(sizes)

    @property
    def n_bytes(self) -> int:
        found: int = self._model.n_bytes
        return found

    def prob(self, context: ArrayLike, token: int) -> Probability:
        used = as_ids(context)
        logs, lengths, _ = self._model.estimate(used, [0, len(used)], as_ids([token]), [False])
        return Probability(float(10.0 ** logs[0]), -1, -1, int(lengths[0]), False)

    @checked_flags
    def logs(self, flat: ArrayLike, offsets: ArrayLike, *, document: bool = False) -> Floats:
        """Return log10 of the probabilities of `score_many`: (n,) float64."""
        found: Floats = self._model.score(as_ids(flat), as_ids(offsets), document)[0]
        return found

    def dist(self, context: ArrayLike) -> Distribution:
        """Return every word with its probability, END, and UNKNOWN for any other.

        Cost: a lookup per word and length.
        """
        outcomes = np.concatenate([self.index.types()[0], [END, UNKNOWN]])
        used = as_ids(context)
        used = used[max(0, len(used) - self.spec.order + 1) :] if self.spec.order else used
        n = len(outcomes)
        flat, offsets = np.tile(used, n), np.arange(n + 1) * len(used)
        logs, _, suffixes = self._model.estimate(flat, offsets, outcomes, np.zeros(n, dtype=np.bool_))
        return Distribution(outcomes, 10.0**logs, None, -1, int(suffixes[0]))

    @checked_flags
    def state(self, *, document: bool = True) -> Any:
        return kernel.TableState(self._model, document)

    def successors(self, context: ArrayLike, longest: int | None = None) -> NoReturn:
        """Raise NotSupportedError: a table has no counts."""
        raise NotSupportedError("a table has no counts of successors; ask the model of the corpus")

    def _scores(self, scored: Any) -> Scores:
        logs, lengths, suffixes = scored
        unknown = np.full(len(logs), -1, dtype=np.int64)
        return Scores(
            np.exp(logs * LOG_OF_10),
            lengths,
            unknown,
            unknown,
            np.zeros(len(logs), dtype=np.bool_),
            self.spec.is_probability,
            suffixes,
            unknown,
        )

    def __repr__(self) -> str:
        listed = ", ".join(f"{size:,}" for size in self.sizes)
        return f"<{self.spec} in a table: {listed} n-grams, {self.n_bytes / 1e6:,.1f} MB>"


class ArpaModel(TableModel):
    """The model of an ARPA file.

    words : the words that have an id, in the order of the ids; without a tokenizer word i has id i
    """

    words: tuple[str, ...]

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {"<s>": BEGIN, "</s>": END, **dict(zip(self.words, self.index.ids.tolist(), strict=True))}

    def encode(self, text: str) -> Integers:
        """Return the ids of a text's words, which are cut at white space; UNKNOWN for others: (n,) int64.

        `<s>` and `</s>` are BEGIN and END.
        """
        found = [self._ids.get(word, UNKNOWN) for word in text.split()]
        return np.array(found, dtype=np.int64)


def read_arpa(path: str | os.PathLike[str], tokenizer: Any = None) -> ArpaModel:
    """Read a language model from an ARPA file.

    Parameters
    ----------
    path : the file, plain or compressed by gzip, of any order up to 255
    tokenizer : a corpus's tokenizer, or a mapping from words to ids: the model then takes the corpus's token
        ids, whose names are those of `write_arpa`, and other words of the file cannot be queried. Without
        it the words are numbered in their order in the file.

    Raises
    ------
    LoadError
        The file is damaged or no ARPA file; the message has the line.
    StorageError
        The file cannot be read.

    Notes
    -----
    Cost: about a microsecond, and 24 bytes of memory (18 for the greatest length) per n-gram. n-grams are
    identified by 64-bit hashes, as in KenLM. As there, a missing `<unk>` has the probability 10^-100, and
    missing suffixes of n-grams are added with the probability that backing off gives them.

    Examples
    --------
    >>> model = read_arpa("lm.arpa")                                             # doctest: +SKIP
    >>> model.score(model.encode("this is a sentence"), document=True).perplexity   # doctest: +SKIP
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            return _read(name, file, tokenizer)
    except EOFError as error:
        raise LoadError(f"the compressed file is truncated: {error}", source=name) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise LoadError(f"the compressed file is damaged: {error}", source=name) from error
    except OSError as error:
        raise StorageError(f"{name} cannot be read: {error.strerror or error}", path=name) from error


def _read(name: str, file: IO[bytes], tokenizer: Any) -> ArpaModel:
    is_compressed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    n_bytes = os.fstat(file.fileno()).st_size
    n_plain = n_bytes * (MOST_COMPRESSED if is_compressed else 1)
    reader = kernel.ArpaReader(n_plain // SHORTEST_LINE + 1)
    plain: Any = gzip.GzipFile(fileobj=file) if is_compressed else file
    try:
        while chunk := plain.read(CHUNK):
            interrupts.step(min(file.tell(), n_bytes), n_bytes)
            reader.feed(chunk)
        table, words, sizes = reader.finish()
    except ValueError as error:
        raise LoadError(f"not a valid ARPA file: {error}", source=name, line=reader.line or None) from error
    kept, codes, vocabulary = _ids_of(words, tokenizer)
    table.set_ids(vocabulary.ids, codes)
    spec = TableSpec(len(sizes))
    model = ArpaModel(spec, table, vocabulary, sizes)
    model.words = tuple(kept)
    return model


def _ids_of(words: list[str], tokenizer: Any) -> tuple[list[str], NDArray[Any], Vocabulary]:
    """Return the words that have an id, ascending by it, with their codes in the table and their ids."""
    codes = np.arange(len(words), dtype=np.uint32) + np.uint32(kernel.FIRST_WORD)
    if tokenizer is None:
        return words, codes, Vocabulary(np.arange(len(words)))
    ids = _ids_by_name(tokenizer, words)
    found = np.array([ids.get(word, UNKNOWN) for word in words], dtype=np.int64)
    places = np.flatnonzero(found >= 0)
    places = places[np.argsort(found[places])]
    if (np.diff(found[places]) == 0).any():
        raise InvalidArgument("two words of the file have the same id")
    return [words[place] for place in places.tolist()], codes[places], Vocabulary(found[places])


def _ids_by_name(tokenizer: Any, words: list[str]) -> Mapping[str, int]:
    if isinstance(tokenizer, Mapping):
        return tokenizer
    if tokenizer.kind == "tokens":
        return {word: int(word) for word in words if word.isascii() and word.isdigit()}
    return {
        name: token
        for token, name in enumerate(names_of(range(tokenizer.n_vocabulary), tokenizer.all_texts()))
    }

"""KenLM's Python module over Kneser-Ney models of our corpora.

```python
from ngramdb.compat import kenlm        # was: import kenlm

model = kenlm.Model("news.ngdb?order=5")
model.score("this is a sentence .", bos=True, eos=True)
```

The numbers equal those of the module `kenlm` for the file that `Corpus.export_arpa` writes, except for
rounding: KenLM keeps 32-bit floats. Words are the corpus's tokens, under the names that they have in that
file: a sentence is cut at white space, and other words than the corpus's tokens are out of vocabulary.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import total_ordering
from math import inf, log10
from typing import Any, NamedTuple

import numpy as np

from ngramdb.api import Corpus, connect
from ngramdb.compat import parts_of
from ngramdb.display import visible
from ngramdb.errors import InvalidArgument, LoadError, NgramdbError, QueryCancelled, StorageError
from ngramdb.lm import BEGIN, END, UNKNOWN, ArpaModel, KneserNey, make_table, read_arpa
from ngramdb.lm import LanguageModel as LanguageModel_
from ngramdb.lm.arpa import names_of
from ngramdb.lm.values import Integers

__all__ = ["ARPALoadComplain", "Config", "FullScoreReturn", "LanguageModel", "LoadMethod", "Model", "State"]

# Of models without an explicit order.
DEFAULT_ORDER = 5

# `Model.order` of a model without a limit.
UNLIMITED = 2**31 - 1


class CannotReadModel(StorageError, OSError):
    """No model can be made of what a path names. KenLM raises OSError there, and so this is one."""


class LoadMethod:
    """The ways in which KenLM reads a file. All but LAZY read the index into memory here (`Corpus.warm`)."""

    LAZY = 0
    POPULATE_OR_LAZY = 1
    POPULATE_OR_READ = 2
    READ = 3
    PARALLEL_READ = 4


class ARPALoadComplain:
    """The level of KenLM's complaints about ARPA files. No effect here."""

    ALL = 0
    EXPENSIVE = 1
    NONE = 2


class Config:
    """Options for loading a model. Only `load_method` has an effect; the others exist for KenLM's scripts."""

    def __init__(self) -> None:
        self.show_progress = True
        self.arpa_complain = ARPALoadComplain.NONE
        self.load_method = LoadMethod.LAZY


class FullScoreReturn(NamedTuple):
    """The result of `BaseFullScore`.

    log10 of the probability, the matched n-gram's length, and whether the word is out of vocabulary.
    """

    log_prob: float
    ngram_length: int
    oov: bool


@total_ordering
class State:
    """The state after part of a text: everything that the probabilities of possible continuations depend on.

    States are equal, and have the same hash, if all continuations have the same probabilities: decoders
    join hypotheses by that.
    """

    __slots__ = ("_text",)

    def __init__(self) -> None:
        self._text: Any = None

    def _context(self) -> tuple[int, ...] | None:
        return None if self._text is None else self._text.context

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self._context() == other._context()

    def __lt__(self, other: State) -> bool:
        return (self._context() or ()) < (other._context() or ())

    def __hash__(self) -> int:
        return hash(self._context())

    def __copy__(self) -> State:
        made = State()
        if self._text is not None:
            made._text = self._text.copy()
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        return self.__copy__()


class Model:
    """A Kneser-Ney model of a corpus, with the methods of `kenlm.Model`.

    Parameters
    ----------
    path : the database's folder, and if need be which corpus and order: `news.ngdb?corpus=de&order=5`,
        `order=unlimited` for no limit; or an `ngramdb.Corpus`; or an ARPA file, plain or compressed by gzip
    config : how to load it
    corpus, order, table : as in the path, and stronger; the only corpus, 5, and no table, when not given.
        With `table=yes` the model becomes a table (`ngramdb.lm.make_table`), which is faster and needs memory

    Raises
    ------
    OSError
        The database or corpus does not exist. It is an `ngramdb.StorageError`, too.
    InvalidArgument
        An order that makes no sense, or something unknown after `?`.

    Notes
    -----
    Cost: 0.3 microseconds per word of the vocabulary, up to 1 if tokens have white space; if ANALYZE has not
    been run, the counts of counts are computed, too.
    """

    def __init__(
        self,
        path: str | bytes | os.PathLike[str] | Corpus,
        config: Config | None = None,
        *,
        corpus: str | None = None,
        order: int | str | None = None,
        table: bool | str | None = None,
    ) -> None:
        self._arguments = (path, config, corpus, order, table)
        self._model: LanguageModel_
        if not isinstance(path, Corpus) and _is_arpa(os.fsdecode(path)):
            self.path = os.fsdecode(path)
            read = _read(self.path)
            self._model, names, types = read, list(read.words), list(range(len(read.words)))
        else:
            self._model, names, types = self._of_corpus(path, config, corpus, order, table)
        self._kernel = self._model.state().model
        encoded = (name.encode("utf-8", "surrogateescape") for name in names)
        self._tokens: dict[bytes, int] = dict(zip(encoded, types, strict=True))
        self._tokens |= {b"<s>": BEGIN, b"</s>": END}

    def _of_corpus(
        self,
        path: str | bytes | os.PathLike[str] | Corpus,
        config: Config | None,
        corpus: str | None,
        order: int | str | None,
        table: bool | str | None,
    ) -> tuple[LanguageModel_, list[str], list[int]]:
        """Return the model with the names and ids of its words."""
        if isinstance(path, Corpus):
            self.path, found = path.name, path
        else:
            self.path = os.fsdecode(path)
            folder, asked = parts_of(self.path, ("corpus", "order", "table"))
            found = _corpus(folder, corpus if corpus is not None else asked.get("corpus"))
            order = order if order is not None else asked.get("order")
            table = table if table is not None else asked.get("table")
        if config is not None and config.load_method != LoadMethod.LAZY:
            found.warm()
        model = found.language_model(KneserNey(_order(order)))
        types = model.index.types()[0].tolist()
        names = names_of(types, found.tokenizer.token_texts(types))
        return make_table(model) if _is_yes(table) else model, names, types

    @property
    def order(self) -> int:
        """Tokens of an n-gram at most; 2147483647 for no limit."""
        return self._model.spec.order or UNLIMITED

    def score(self, sentence: str | bytes, bos: bool = True, eos: bool = True) -> float:
        """log10 of a sentence's probability.

        bos : whether `<s>` comes before it
        eos : `</s>` is predicted after it
        """
        _, probs, _ = self._scored(_words(sentence), bos, eos)
        with np.errstate(divide="ignore"):
            return float(np.log10(probs).sum())

    def perplexity(self, sentence: str | bytes) -> float:
        """10 to the power of minus the mean log10 of the sentence's words and `</s>`."""
        words = _words(sentence)
        _, probs, _ = self._scored(words, True, True)
        with np.errstate(divide="ignore"):
            return float(10.0 ** (-np.log10(probs).sum() / (len(words) + 1)))

    def full_scores(
        self, sentence: str | bytes, bos: bool = True, eos: bool = True
    ) -> Iterator[tuple[float, int, bool]]:
        """For each word, and `</s>`, what `BaseFullScore` returns, as a plain tuple."""
        ids, probs, lengths = self._scored(_words(sentence), bos, eos)
        with np.errstate(divide="ignore"):
            scores = np.log10(probs).tolist()
        return zip(scores, lengths.tolist(), (ids == UNKNOWN).tolist(), strict=True)

    def BeginSentenceWrite(self, state: State) -> None:  # noqa: N802 - KenLM's name
        """Set the state to a sentence's beginning: `<s>`."""
        state._text = self._model.state(document=True)

    def NullContextWrite(self, state: State) -> None:  # noqa: N802 - KenLM's name
        """Set the state to a text without any context."""
        state._text = self._model.state(document=False)

    def BaseScore(self, in_state: State, word: str | bytes, out_state: State) -> float:  # noqa: N802
        """log10 of the probability of a word after a state; makes the other state the text with the word.

        Cost: a few microseconds.
        """
        prob, _ = self._read(in_state, self._token(word), out_state)
        return log10(prob) if prob > 0.0 else -inf

    def BaseFullScore(  # noqa: N802 - KenLM's name
        self, in_state: State, word: str | bytes, out_state: State
    ) -> FullScoreReturn:
        """Return the same with the matched n-gram's length, and whether the word is out of vocabulary."""
        token = self._token(word)
        prob, length = self._read(in_state, token, out_state)
        return FullScoreReturn(log10(prob) if prob > 0.0 else -inf, length, token == UNKNOWN)

    def __contains__(self, word: str | bytes) -> bool:
        return self._token(word) != UNKNOWN

    def __repr__(self) -> str:
        return visible(f"<Model from {os.path.basename(self.path)}>")

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, self._arguments

    # ---- private ----------------------------------------------------------------------------------------

    def _token(self, word: str | bytes) -> int:
        return self._tokens.get(word if isinstance(word, bytes) else _as_bytes(word), UNKNOWN)

    def _read(self, in_state: State, token: int, out_state: State) -> tuple[float, int]:
        origin, target = in_state._text, out_state._text
        if origin is None or origin.model is not self._kernel:
            raise InvalidArgument(
                "this state is not yet that of any text of this model: BeginSentenceWrite or "
                "NullContextWrite comes first"
            )
        if target is None or target.model is not self._kernel:
            target = out_state._text = self._model.state(document=False)
        found: tuple[float, int] = target.read(origin, token)
        return found

    def _scored(self, words: list[bytes], bos: bool, eos: bool) -> tuple[Integers, Any, Any]:
        """Ids, probabilities and effective n of the words, and of `</s>`."""
        find = self._tokens.get
        ids = [find(word, UNKNOWN) for word in words]
        text = np.array([*([BEGIN] if bos else []), *ids, *([END] if eos else [])], dtype=np.int64)
        scores = self._model.score(text)
        first = 1 if bos else 0
        return text[first:], scores.prob[first:], scores.effective_n[first:]


class LanguageModel(Model):
    """`Model`, under the name that it had in old versions of KenLM."""


def _made_again(
    path: Any, config: Config | None, corpus: str | None, order: int | str | None, table: bool | str | None
) -> Model:
    return Model(path, config, corpus=corpus, order=order, table=table)


def _is_arpa(path: str) -> bool:
    """Return True for a file that begins as an ARPA file, or is compressed."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        head = file.read(64)
    return head.lstrip().startswith(b"\\data\\") or head.startswith(b"\x1f\x8b")


def _read(path: str) -> ArpaModel:
    try:
        return read_arpa(path)
    except LoadError as error:
        raise CannotReadModel(str(error), path=path) from error


def _is_yes(table: bool | str | None) -> bool:
    if table in (None, "no", "yes") or isinstance(table, bool):
        return table in ("yes", True)
    raise InvalidArgument(f"table must be 'yes' or 'no', not {table!r}")


def _as_bytes(text: str | bytes) -> bytes:
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise InvalidArgument(f"words and sentences must be str or bytes, not {type(text).__name__}")
    return text.encode("utf-8", "surrogatepass")


def _words(sentence: str | bytes) -> list[bytes]:
    """Cut at ASCII white space, as KenLM does: no other character is a blank in an ARPA file."""
    return _as_bytes(sentence).split()


def _corpus(folder: str, name: str | None) -> Corpus:
    try:
        if os.path.isfile(folder):
            raise StorageError(
                f"this is {_kind_of_file(folder)}, and a model here is made of a corpus, whose counts no "
                "such file has: load the text that it was made of, a sentence per line (ngramdb load "
                "news.ngdb news corpus.txt --format lines), and give 'news.ngdb?order=5' as the path",
                path=folder,
            )
        return connect(folder, read_only=True).corpus(name)
    except QueryCancelled:
        raise
    except NgramdbError as error:
        raise CannotReadModel(f"no model can be made of {folder!r}: {error}", path=folder) from error


def _kind_of_file(path: str) -> str:
    """Return a readable name of the file's kind, by its first bytes."""
    with open(path, "rb") as file:
        head = file.read(64)
    if head.startswith(b"mmap lm http://kheafield.com/code"):
        return "a binary file of KenLM"
    return "a file"


def _order(order: int | str | None) -> int | None:
    if order is None:
        return DEFAULT_ORDER
    if order == "unlimited":
        return None
    if isinstance(order, str) and order.isascii() and order.isdigit():
        return int(order)
    if isinstance(order, str):
        raise InvalidArgument(f"an order must be a whole number of at least 1, or 'unlimited', not {order!r}")
    return order

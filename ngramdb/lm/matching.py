"""Texts that grow token by token, and the longest suffix of each that occurs in a corpus.

A search for the longest suffix of a context starts again for every token. A matcher keeps the rows of the
suffix, so that the next token narrows them; only if the longer suffix does not occur are shorter ones
searched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ngramdb import interrupts
from ngramdb._cext.corpus.matcher import MatchState
from ngramdb._cext.corpus.matcher import append_many as append_to_states
from ngramdb.errors import InvalidArgument
from ngramdb.lm.models import LanguageModel
from ngramdb.lm.of_corpora import language_model
from ngramdb.lm.spec import ModelSpec
from ngramdb.lm.values import END, UNKNOWN, Distribution, Floats
from ngramdb.types import token_ids

if TYPE_CHECKING:
    from ngramdb.source import Corpus

__all__ = ["Matcher", "append_many"]

# Tokens that are scored between two checks for interrupts.
STEP_TOKENS = 16

# Opens the newest version of a corpus, with a model of it if one is wanted.
Open = Callable[[], "tuple[Corpus, LanguageModel | None]"]


class Matcher(MatchState):
    """The longest suffix of a growing text that occurs in a corpus: `Corpus.matcher` makes one.

    `length` and `count` are the tokens and the occurrences of the suffix, `ids` its token ids, `n_tokens` the
    number of tokens of the text. It stays at the version of the corpus that it was made for, until `refresh`.
    For one thread at a time; each thread may have a copy.
    """

    def __init__(
        self,
        view: Corpus,
        least_count: int,
        model: LanguageModel | None = None,
        open_newest: Open | None = None,
        document: bool = False,
    ) -> None:
        self.model = model
        self._tokenizer = view.tokenizer
        self._open_newest = open_newest
        self._document = document
        self._state = None if model is None else model.state(document=document)
        self._scratch: Any = None
        self._is_torn = False

    def __new__(cls, view: Corpus, least_count: int, *_: Any, **__: Any) -> Matcher:
        return super().__new__(cls, view.index, least_count)

    def append(self, tokens: str | ArrayLike) -> Matcher:
        """Append tokens to the text, and return the matcher.

        Parameters
        ----------
        tokens : a token id, several, or text, which is tokenized apart from the text before it

        Notes
        -----
        Cost: about a microsecond per token and segment, two or three if a match ends; in millions of tokens
        the suffix array is read from memory, which takes longer. With a model, a step of the model, too.
        """
        if self._state is not None:
            self.score(tokens)
        else:
            ids = self._tokenizer.encode(tokens) if isinstance(tokens, str) else tokens
            try:
                self.append_ids(ids)
            except (TypeError, ValueError):
                token_ids(np.atleast_1d(np.asarray(ids)), UNKNOWN)  # names the invalid token
                raise
        return self

    def score(self, tokens: str | ArrayLike) -> Floats:
        """Append tokens, and return the probability of each after those before it: (k,) float64.

        The numbers are those of `Corpus.score` under the model, without one those of the ∞-gram.
        """
        ids = token_ids(self._ids(tokens), UNKNOWN).tolist()
        probs = np.empty(len(ids), dtype=np.float64)
        state = self._reading()
        try:
            for i, token in enumerate(ids):
                if i % STEP_TOKENS == 0:
                    interrupts.check()
                if state is None:
                    probs[i] = self.count_after(token) / max(1, self.count)
                else:
                    probs[i] = state.read(token)[0]
                self.append_ids(token)
        except BaseException:  # the model may have read a token more than the matcher, or half of it
            self._is_torn = True
            raise
        return probs

    def _reading(self) -> Any:
        """Return the model's state of the text; after an interruption it reads the last tokens again."""
        if self._is_torn and self.model is not None:
            known = self.known_ids().tolist()
            self._state = self.model.state(document=self._document and len(known) == self.n_tokens)
            for token in known:
                self._state.read(token)
        self._is_torn = False
        return self._state

    def prob(self, token: int) -> float:
        """Return the probability of a token as the next one, NaN without an answer; append nothing.

        Raises
        ------
        InvalidArgument
            Not a token id, nor `ngramdb.lm.END`.
        """
        state = self._reading()
        try:
            if state is None:
                count = self.next_tokens()[2] if token == END and self.length else self.count_after(token)
                return count / max(1, self.count)
        except (TypeError, ValueError):
            token_ids([token])  # names the invalid token
            raise
        if self._scratch is None:
            assert self.model is not None
            self._scratch = self.model.state(document=False)
        return float(self._scratch.read(state, token)[0])

    def next(self) -> Distribution:
        """Return the distribution of the next token: under the model, without one after the longest suffix.

        The end of a document is the token `ngramdb.lm.END`.

        Notes
        -----
        Cost: that of `Corpus.dist`; it grows with the number of different next tokens.
        """
        state = self._reading()
        if state is not None:
            assert self.model is not None
            return self.model.dist(state.context)
        found, counts, n_ends = self.next_tokens()
        ids = found.astype(np.int64)
        if n_ends and self.length:
            ids, counts = np.append(END, ids), np.append(n_ends, counts)
        return Distribution(ids, counts / max(1, self.count), counts, self.count, self.length + 1)

    def copy(self) -> Matcher:
        """Return a matcher of the same text, which grows by itself."""
        view: Any = _View(self.index, self._tokenizer)
        made = Matcher(view, self.least_count, None, self._open_newest, self._document)
        self.copied_to(made)
        made.model = self.model
        made._state = None if self._state is None else self._reading().copy()
        return made

    __copy__ = copy

    def clear(self) -> None:
        """Begin a new text."""
        super().clear()
        self._is_torn = self._state is not None

    def refresh(self) -> Matcher:
        """Go on in the newest version of the corpus, and return the matcher.

        The longest suffix is searched among the last tokens of the text: those of the suffix so far, and at
        least 1,024 if the text is as long.
        """
        if self._open_newest is None:
            raise InvalidArgument("this matcher has no corpus to follow")
        view, model = self._open_newest()
        self._tokenizer = view.tokenizer
        if model is not self.model and model is not None:
            self.model, self._scratch, self._is_torn = model, None, True
        if view.index is not self.index:
            self.search_again(view.index)
        return self

    def _ids(self, tokens: str | ArrayLike) -> Any:
        if isinstance(tokens, str):
            return self._tokenizer.encode(tokens)
        return [tokens] if isinstance(tokens, (int, np.integer)) else tokens

    def __repr__(self) -> str:
        model = "" if self.model is None else f", {self.model.spec}"
        last = f"the last {self.length:,} occur {self.count:,} times"
        return f"<Matcher of {self.n_tokens:,} tokens: {last}{model}>"


def append_many(matchers: Sequence[Matcher], ids: ArrayLike) -> None:
    """Append ids[i] to the text of matchers[i].

    Parameters
    ----------
    matchers : different ones, of the same version of a corpus and with the same `least_count`
    ids : (n,) a token id for each

    Raises
    ------
    InvalidArgument
        Other numbers of matchers and ids, or a matcher that is twice there or of another version.

    Notes
    -----
    Cost: the searches of all matchers overlap; models read their tokens one after the other.
    """
    tokens, states = token_ids(ids, UNKNOWN), list(matchers)
    if odd := [type(state).__name__ for state in states if not isinstance(state, Matcher)]:
        raise InvalidArgument(f"append_many takes matchers, not {odd[0]}")
    models = [(i, state._reading()) for i, state in enumerate(states) if state.model is not None]
    for i, _ in models:  # until the model has read the token, too
        states[i]._is_torn = True
    append_to_states(states, tokens)
    for i, model in models:
        if i % STEP_TOKENS == 0:
            interrupts.check()
        model.read(int(tokens[i]))
        states[i]._is_torn = False


def matcher(
    newest: Callable[[], Corpus], least_count: int = 1, spec: ModelSpec | None = None, document: bool = False
) -> Matcher:
    """Return a matcher of an empty text.

    Parameters
    ----------
    newest : returns the newest version of a corpus
    least_count : how often a suffix must occur
    spec : the model that gives probabilities; None: the ∞-gram
    document : the text follows `<s>`
    """

    def opened() -> tuple[Corpus, LanguageModel | None]:
        view = newest()
        if spec is None:
            view.check_difference()
            return view, None
        return view, language_model(view, spec)

    view, model = opened()
    return Matcher(view, least_count, model, opened, document)


class _View:
    """Index and tokenizer of a corpus at a version."""

    def __init__(self, index: Any, tokenizer: Any) -> None:
        self.index = index
        self.tokenizer = tokenizer

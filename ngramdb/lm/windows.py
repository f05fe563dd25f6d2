"""Models of a limited order that compute probabilities from windows of the tokens before each token.

A kernel's model walks the text once for counts and effective n, with the rules for borders; here the last
tokens before each token become rows of an array, for formulas that the kernel's walk does not know.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngramdb._cext.lm import models as kernel
from ngramdb.errors import InvalidArgument
from ngramdb.lm.models import SharingModel, after_last_border, as_ids
from ngramdb.lm.values import BEGIN, END, UNKNOWN, Distribution, Floats, Integers


class WindowKernel(ABC):
    """A kernel's model with other probabilities. It answers like `kernel.Model`.

    plain : gives everything but probabilities
    n_places : tokens of a window
    alone : P of every type, of END and of any other token without context
    """

    def __init__(self, plain: kernel.Model, n_places: int, alone: Floats) -> None:
        self._plain = plain
        self._n_places = n_places
        self._alone = alone
        self._separator = plain.index.separator

    @abstractmethod
    def probabilities(self, windows: Integers, tokens: Integers, scored: NDArray[Any]) -> Floats:
        """Return P(token | window) of n tokens, END and UNKNOWN among them.

        windows : (n, n_places) ids, the nearest first; after BEGIN, or without a token, NOTHING
        scored : what the kernel's model has of the tokens
        """

    @abstractmethod
    def after(self, window: Integers) -> Floats:
        """Return P of every type, of END and of any other token after a window."""

    def score(self, flat: Integers, offsets: Integers, sentences: bool = False) -> NDArray[Any]:
        """Return what the kernel's model returns."""
        scored = self._plain.score(flat, offsets, sentences)
        if not len(scored):
            return scored
        tokens, bounds = as_ids(flat), np.asarray(offsets, dtype=np.int64)
        lengths = np.diff(bounds) + sentences
        starts = np.repeat(bounds[:-1], lengths)
        # Ends take entries of their own.
        places = np.arange(len(scored)) + bounds[0]
        if sentences:
            places -= np.repeat(np.arange(len(lengths)), lengths)
        ends = places == np.repeat(bounds[1:], lengths)
        chosen = np.where(ends, END, np.append(tokens, END)[places])
        probs = self._probs(tokens, places, starts, np.full(len(places), sentences), chosen, scored)
        probs[chosen == BEGIN] /= self._alone[-1]  # what it costs is that no context reaches across it
        if self._separator is not None:
            before = np.append(END, tokens)[places]
            probs[ends & (places > starts) & (before == self._separator)] = 1.0
        scored["prob"] = probs
        return scored

    def estimate(
        self, flat: Integers, offsets: Integers, tokens: Integers, begins: Any, token_offsets: Any = None
    ) -> NDArray[Any]:
        """Return what the kernel's model returns."""
        scored = self._plain.estimate(flat, offsets, tokens, begins, token_offsets)
        if not len(scored):
            return scored
        text, bounds, chosen = as_ids(flat), np.asarray(offsets, dtype=np.int64), as_ids(tokens)
        starts, places, begun = bounds[:-1], bounds[1:], np.asarray(begins, dtype=np.bool_)
        if token_offsets is not None:
            stops = np.asarray(token_offsets, dtype=np.int64)
            parts = []
            for i in range(len(starts)):
                parts += [text[starts[i] : places[i]], chosen[stops[i] : stops[i + 1]]]
            lengths, n_tokens = places - starts, np.diff(stops)
            text = np.concatenate(parts)
            first = np.cumsum(lengths + n_tokens) - n_tokens  # the place of each first token
            places = np.repeat(first - stops[:-1], n_tokens) + np.arange(len(chosen))
            starts, begun = np.repeat(first - lengths, n_tokens), np.repeat(begun, n_tokens)
        scored["prob"] = self._probs(text, places, starts, begun, chosen, scored)
        return scored

    def distribution(self, context: Integers, begins: bool) -> Floats:
        """Return P of every type, of END and of any other token."""
        n = np.array([len(context)])
        return self.after(self._windows(context, n, n * 0, np.array([begins]))[0])

    def shares(self, context: Integers, begins: bool) -> tuple[Integers, Floats, float]:
        """Return the probabilities of all tokens that occur, and nothing for any other."""
        probs = self.distribution(context, begins)[:-1]
        return np.arange(len(probs)), probs, 0.0

    def unigrams(self) -> Floats:
        """Return the probabilities of all tokens that occur, without context."""
        return self._alone[:-1]

    def successors(self, *arguments: Any) -> Any:
        """Return what the kernel's model returns."""
        return self._plain.successors(*arguments)

    def context_of(self, ids: Integers, begins: bool) -> tuple[Integers, bool]:
        """Return the part of a context that counts, and whether `<s>` precedes it."""
        used, began = after_last_border(ids, self._separator)
        begins = began if len(used) < len(ids) else begins
        first = max(0, len(used) - self._n_places)
        return used[first:], begins and len(used) < self._n_places

    def _probs(
        self,
        text: Integers,
        places: Integers,
        starts: Integers,
        begun: NDArray[np.bool_],
        chosen: Integers,
        scored: NDArray[Any],
    ) -> Floats:
        if self._separator is not None:
            chosen = np.where(chosen == self._separator, END, chosen)
        windows = self._windows(text, places, starts, begun)
        return self.probabilities(windows, np.where(chosen == BEGIN, UNKNOWN, chosen), scored)

    def _windows(
        self, text: Integers, places: Integers, starts: Integers, begun: NDArray[np.bool_]
    ) -> Integers:
        """Return the ids before places of a text, the nearest first, up to the last border.

        starts : the first place of each context; there `<s>` comes before it if it has `begun`
        """
        windows = np.full((len(places), self._n_places), kernel.NOTHING)
        reaches = np.ones(len(places), dtype=np.bool_)
        padded = np.append(text, END)
        for column in range(self._n_places):
            at = places - column - 1
            ids = np.where(at >= starts, padded[np.maximum(at, -1)], END)
            ids[(at == starts - 1) & begun] = BEGIN
            if self._separator is not None:
                ids[ids == self._separator] = BEGIN
            reaches &= ids != END
            windows[reaches, column] = ids[reaches]
            reaches &= ids != BEGIN
        return windows


class WindowModel(SharingModel):
    """A model whose probabilities come from a `WindowKernel`."""

    def dist(self, context: ArrayLike) -> Distribution:
        """Return every token that occurs, END, and UNKNOWN for any other: V entries that sum to 1.

        Cost: a pass over the types, and over the successors of the suffixes of the context.
        """
        used, begins = self._used(context)
        probs = self._model.distribution(used, begins)
        _, _, context_count, length = self._model.successors(used, begins)
        outcomes = np.append(self.vocabulary.ids, UNKNOWN)
        return Distribution(outcomes, probs, None, context_count, length + 1)

    def state(self, *, document: bool = True) -> Any:
        """Return the beginning of a text, as other models do. A token costs what it costs alone."""
        return WindowState(self._model, document)


class WindowState:
    """A text that grows token by token, as `kernel.TextState`: its last tokens, perhaps after `<s>`."""

    def __init__(self, model: WindowKernel, in_sentence: bool) -> None:
        self.model = model
        self.begin(in_sentence)

    def begin(self, in_sentence: bool = False) -> None:
        """Make this the beginning of a text; in_sentence: after `<s>`."""
        self._ids, self._begins = as_ids([]), in_sentence

    def read(self, origin: Any, token: int | None = None) -> tuple[float, int]:
        """Append a token, to the text of another state if two are given; return its P and effective n."""
        before, read = (self, origin) if token is None else (origin, token)
        if not isinstance(before, WindowState) or before.model is not self.model:
            raise InvalidArgument("this state belongs to another model")
        token_ids = as_ids([read])
        offsets = np.array([0, len(before._ids)])
        row = self.model.estimate(before._ids, offsets, token_ids, [before._begins])[0]
        self._ids, self._begins = self.model.context_of(np.append(before._ids, token_ids), before._begins)
        return float(row["prob"]), int(row["effective_n"])

    def copy(self) -> WindowState:
        """Return the same text as a state of its own."""
        made = WindowState(self.model, self._begins)
        made._ids = self._ids
        return made

    __copy__ = copy

    @property
    def context(self) -> tuple[int, ...]:
        """The last tokens, and BEGIN before them if it counts."""
        ids = tuple(self._ids.tolist())
        return (BEGIN, *ids) if self._begins else ids

"""Guards against verbatim copies: they read a text as it is written, and find what a corpus has of it."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ngramdb import interrupts
from ngramdb.errors import InvalidArgument
from ngramdb.lm.values import UNKNOWN, Integers
from ngramdb.types import token_ids

if TYPE_CHECKING:
    from ngramdb.lm.matching import Matcher

# Tokens of a run from which on it counts as a copy.
LONGEST = 50
# Tokens that are read between two checks for interrupts.
STEP_TOKENS = 1 << 10


class Run(NamedTuple):
    """Tokens [start, start + length) of a text, which the corpus has `occurrences` times."""

    start: int
    length: int
    occurrences: int


class Guard:
    """Reads a text token by token, and notes the runs that a corpus has word for word.

        guard = Guard(corpus, longest=50, where="licence != 'CC0'")
        guard.append(tokens)
        guard.runs                      # those of more than 50 tokens
        guard.documents(guard.runs[0], returning=("source", "licence"))

    It stays at the version of the corpus that was current when it was made. For one thread at a time.

    Parameters
    ----------
    corpus : an `ngramdb.Corpus`
    longest : the greatest number of tokens of a run that is not noted
    except_ : a condition on documents that may be copied; those for which it is unknown may not
    where : a condition on documents that may not be copied; None: all documents
    params : values of the placeholders of both conditions, those of `where` first

    Raises
    ------
    InvalidArgument
        `longest` is not a whole number of at least 1, or `corpus` no corpus.

    Notes
    -----
    Cost: one to two microseconds per token and segment. A condition is as `Corpus.where`: the documents that
    meet it are indexed once.
    """

    def __init__(
        self,
        corpus: Any,
        longest: int = LONGEST,
        *,
        except_: str | None = None,
        where: str | None = None,
        params: Any = None,
    ) -> None:
        if isinstance(longest, bool) or not isinstance(longest, (int, np.integer)) or longest < 1:
            raise InvalidArgument(f"longest must be a whole number of at least 1, not {longest!r}")
        self.longest = int(longest)
        self.corpus = _guarded(checked_corpus(corpus), where, except_, params)
        self._matcher: Matcher = self.corpus.matcher()
        self._ids = array("q")
        self._runs: list[Run] = []
        self._best = Run(0, 0, 0)

    @property
    def length(self) -> int:
        """The number of the text's last tokens that the corpus has word for word."""
        return self._matcher.length

    @property
    def n_tokens(self) -> int:
        """The number of tokens of the text."""
        return len(self._ids)

    @property
    def runs(self) -> list[Run]:
        """The runs of more than `longest` tokens, each as long as possible; the last may still grow."""
        last = self._current()
        return [*self._runs, last] if last.length > self.longest else list(self._runs)

    @property
    def best(self) -> Run:
        """The longest run so far, the first one of equal ones."""
        last = self._current()
        return last if last.length > self._best.length else self._best

    def append(self, tokens: int | str | ArrayLike) -> bool:
        """Append tokens to the text; return True if its last tokens are a run of more than `longest`.

        Parameters
        ----------
        tokens : a token id, several, or text, which is tokenized apart from the text before it
        """
        matcher = self._matcher
        if isinstance(tokens, int):
            try:
                self._step(matcher, tokens)
            except (TypeError, ValueError):
                token_ids([tokens], UNKNOWN)  # names the invalid token
                raise
        else:
            ids = self.corpus.tokenizer.encode(tokens) if isinstance(tokens, str) else np.atleast_1d(tokens)
            for i, token in enumerate(token_ids(ids, UNKNOWN).tolist()):
                if i % STEP_TOKENS == 0:
                    interrupts.check()
                self._step(matcher, token)
        return matcher.length > self.longest

    def _step(self, matcher: Matcher, token: int) -> None:
        length, count = matcher.length, matcher.count
        matcher.append_ids(token)
        if matcher.length <= length:  # a run ends
            run = Run(len(self._ids) - length, length, count)
            if length > self._best.length:
                self._best = run
            if length > self.longest:
                self._runs.append(run)
        self._ids.append(token)

    def _current(self) -> Run:
        length = self._matcher.length
        return Run(len(self._ids) - length, length, self._matcher.count if length else 0)

    def forbidden(self) -> Integers:
        """Return the tokens that would make a run of more than `longest` tokens: (k,) int64, ascending.

        Notes
        -----
        Cost: nothing for a run that is shorter; else that of the next tokens of `longest` tokens, some
        microseconds.
        """
        if self._matcher.length < self.longest:
            return np.empty(0, dtype=np.int64)
        last = np.array(self._ids[-self.longest :], dtype=np.int64)
        found: Integers = self._matcher.index.dist(last)[0].astype(np.int64)
        return found

    def documents(
        self, run: Run, *, returning: str | Sequence[str] | None = None, docs: int | None = 10
    ) -> Any:
        """Return the documents of the newest version that have a run, as `Corpus.trace` does.

        Parameters
        ----------
        run : one of `runs`, or `best`
        returning : one or several fields of each document, which is then a row of its own
        docs : the greatest number of documents; None for all
        """
        ids = np.array(self._ids[run.start : run.start + run.length], dtype=np.int64)
        return self.corpus.trace(ids, min_length=max(1, run.length), docs=docs, returning=returning)

    def clear(self) -> None:
        """Begin a new text."""
        self._matcher.clear()
        self._ids, self._runs, self._best = array("q"), [], Run(0, 0, 0)

    def copy(self) -> Guard:
        """Return a guard of the same text, which grows by itself."""
        made = object.__new__(Guard)
        made.longest, made.corpus = self.longest, self.corpus
        made._matcher = self._matcher.copy()
        made._ids, made._runs, made._best = self._ids[:], list(self._runs), self._best
        return made

    __copy__ = copy

    def __repr__(self) -> str:
        runs = f"longest run {self.best.length:,}, {len(self.runs):,} too long"
        return f"<Guard of {self.n_tokens:,} tokens: {runs}>"


def checked_corpus(corpus: Any) -> Any:
    """Return the corpus. Raises InvalidArgument for anything else."""
    if not callable(getattr(corpus, "matcher", None)):
        raise InvalidArgument(f"corpus must be an ngramdb.Corpus, not {type(corpus).__name__}")
    return corpus


def _guarded(corpus: Any, where: str | None, except_: str | None, params: Any) -> Any:
    """Return the documents of `where` without those of `except_`, whose values may be unknown (NULL)."""
    if except_ is None:
        return corpus if where is None else corpus.where(where, params=params)
    prefix = "" if where is None else f"({where}) AND "
    free = corpus.docs(f"{prefix}({except_})", params=params, returning="doc_id")
    ids = np.array([doc_id for (doc_id,) in free], dtype=np.int64)
    # The condition is there again for its placeholders.
    others = f"{prefix}(doc_id >= 0 OR ({except_})) AND doc_id NOT IN "
    if params is None or isinstance(params, Mapping):
        return corpus.where(f"{others} :excepted_ids", params={**(params or {}), "excepted_ids": ids})
    return corpus.where(f"{others} ?", params=[*params, ids])


class GuardLogits:
    """A logits processor of transformers that keeps every run of generated tokens from growing too long.

        processor = GuardLogits(Guard(corpus, longest=50), prompt=inputs["input_ids"].shape[1])
        model.generate(**inputs, logits_processor=[processor])

    A token that would make a run longer than the guard's `longest` gets the score \N{MINUS SIGN}\N{INFINITY}.
    Rows may be beams, in any order. Not for several generations at once; written against transformers 5.24.

    Parameters
    ----------
    guard : over a corpus with the neural model's token ids; it remains as it is
    prompt : the number of tokens of the prompt, which do not count
    """

    def __init__(self, guard: Guard, prompt: int = 0) -> None:
        if isinstance(prompt, bool) or not isinstance(prompt, (int, np.integer)) or prompt < 0:
            raise InvalidArgument(f"prompt must be a number of tokens, 0 or more, not {prompt!r}")
        self.guard = guard
        self.prompt = prompt
        self._rows: list[tuple[list[int], Guard]] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Return scores of (batch, vocabulary) for ids of (batch, length), forbidden tokens with −∞."""
        rows = [[int(token) for token in ids[self.prompt :]] for ids in input_ids]
        self._rows = [(ids, self._guard_of(ids)) for ids in rows]
        changed = scores.clone() if hasattr(scores, "clone") else scores.copy()
        for i, (_, guard) in enumerate(self._rows):
            forbidden = guard.forbidden()
            forbidden = forbidden[forbidden < changed.shape[-1]]
            if len(forbidden):
                changed[i, forbidden.tolist()] = -np.inf
        return changed

    def _guard_of(self, ids: list[int]) -> Guard:
        """Return a guard that has read the tokens: a row from before and a token, as a rule."""
        for known, guard in self._rows:
            if known == ids[:-1]:
                made = guard.copy()
                made.append(ids[-1])
                return made
        made = self.guard.copy()
        made.clear()
        made.append(np.array(ids, dtype=np.int64))
        return made

"""Language models for questions: made once for a corpus at one version, and kept as long as it is in use."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ngramdb import fork_safety
from ngramdb.errors import TimeoutExceeded
from ngramdb.lm import statistics as index_cache
from ngramdb.lm.models import LanguageModel, make
from ngramdb.lm.sentences import is_cut
from ngramdb.lm.spec import ModelSpec
from ngramdb.lm.statistics import Statistics, fingerprint
from ngramdb.source import Corpus, IntArray

# Statistics that took so long are worth keeping, and a note says so.
NOTED_SECONDS = 1.0

_LOCK = fork_safety.lock()
_STATISTICS: WeakKeyDictionary[Corpus, Statistics] = WeakKeyDictionary()
_MODELS: WeakKeyDictionary[Corpus, dict[ModelSpec, LanguageModel]] = WeakKeyDictionary()


def language_model(corpus: Corpus, model: ModelSpec) -> LanguageModel:
    """The model over the corpus.

    Kneser-Ney takes the statistics that ANALYZE has stored; where they are missing or of another version,
    they are computed and kept in memory.

    Raises
    ------
    ExecutionError
        the corpus is a difference, and what is subtracted is not part of the rest
    """
    with _LOCK:
        made = _MODELS.setdefault(corpus, {}).get(model)
    if made is not None:
        return made
    corpus.check_difference()
    began = time.perf_counter()
    statistics = statistics_of(corpus) if model.kind == "kneser_ney" else None
    seconds = time.perf_counter() - began
    made = make(model, corpus, statistics)
    if hasattr(corpus, "ask_batch"):
        made.batches = _SharedBatches(corpus, model, made.batches)
    if seconds >= NOTED_SECONDS and hasattr(corpus.entry, "statistics"):
        made.advice = (
            f"counting for Kneser-Ney took {seconds:.1f} s, and is for this session only: "
            f"ANALYZE {corpus.entry.name} keeps the counts"
        )
    with _LOCK:
        return _MODELS[corpus].setdefault(model, made)


class _SharedBatches:
    """A kernel's model for batches that others answer in parts: not of the segments, but of the questions.

    What a token is smoothed with depends on what stands beside it in all segments at once, so whoever answers
    reads from all of them.
    """

    def __init__(self, corpus: Any, model: ModelSpec, own: Any) -> None:
        self._corpus = corpus
        self._model = model
        self._own = own

    def estimate(self, flat: IntArray, offsets: IntArray, tokens: IntArray, begins: Any) -> Any:
        return self._asked("estimate", flat, offsets, (tokens, begins))

    def score(self, flat: IntArray, offsets: IntArray, between: bool) -> Any:
        return self._asked("score", flat, offsets, (), between)

    def _asked(
        self, method: str, flat: IntArray, offsets: IntArray, columns: tuple[Any, ...], *further: Any
    ) -> Any:
        arguments = (self._model, method, *further)
        found = self._corpus.ask_batch(answered_batch, flat, offsets, columns, arguments)
        if found is None:
            return getattr(self._own, method)(flat, offsets, *columns, *further)
        return np.concatenate(found)


def answered_batch(
    corpus: Corpus,
    flat: IntArray,
    offsets: IntArray,
    columns: tuple[Any, ...],
    model: ModelSpec,
    method: str,
    *further: Any,
) -> Any:
    """What the kernel's model answers to a part of a batch."""
    return getattr(language_model(corpus, model).batches, method)(flat, offsets, *columns, *further)


def note_of(model: LanguageModel) -> str | None:
    """Notes on the model's answers. The time that counting took is noted once: it is done once."""
    note, model.advice = model.note, None
    return note


def is_counted(corpus: Corpus, model: ModelSpec) -> bool:
    """Whether answers are counts divided by counts: not where a separator cuts documents into sentences."""
    return model.counted and not is_cut(corpus)


def statistics_of(corpus: Corpus) -> Statistics:
    """Counts of counts of the corpus: stored ones that describe it, else computed here, once."""
    stored = stored_statistics(corpus)
    if stored is not None:
        return stored
    with _LOCK:
        found = _STATISTICS.get(corpus)
    if found is None:
        _ = corpus.index  # whether memory has room for it is known when it is opened
        for segment in corpus.segments:
            segment.read_for_pass()
        try:
            found = index_cache.analyze(corpus)
        except TimeoutExceeded as error:  # asked again, it would count from the start
            if hasattr(corpus.entry, "statistics"):
                name = corpus.entry.name
                error.args = (
                    f"{error}. It was counting for Kneser-Ney; "
                    f"ANALYZE {name}, or `ngramdb analyze DB {name}`, counts once and keeps the counts",
                )
            raise
        with _LOCK:
            _STATISTICS[corpus] = found
    return found


def stored_statistics(corpus: Corpus) -> Statistics | None:
    """What ANALYZE has stored, if it is of just these segments."""
    stored: Any = getattr(corpus.entry, "statistics", None)
    if stored is None:
        return None
    segments = fingerprint(corpus)
    if stored.segments != digest(segments):
        return None
    return Statistics(
        max_length=len(stored.n_types),
        n_tokens=stored.n_tokens,
        n_documents=stored.n_documents,
        n_left_of_end=stored.n_left_of_end,
        n_types=stored.n_types,
        continuation=stored.continuation,
        raw=stored.raw,
        segments=segments,
        frequent=stored.frequent,
    )


def digest(segments: Sequence[str]) -> str:
    """What the catalog keeps of a fingerprint: 64 hexadecimal digits, however many segments there are."""
    return hashlib.sha256("\n".join(segments).encode()).hexdigest()

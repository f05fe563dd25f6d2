"""The language models of queries: made once per corpus version, and kept as long as it is used."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ngramdb import fork_safety
from ngramdb.errors import InvalidArgument, TimeoutExceeded
from ngramdb.lm import statistics as index_statistics
from ngramdb.lm.making import make
from ngramdb.lm.models import LanguageModel
from ngramdb.lm.spec import ModelSpec, is_cut
from ngramdb.lm.statistics import Statistics, fingerprint
from ngramdb.source import Corpus, IntArray

# Computing statistics for at least this long adds a note that ANALYZE would keep them.
NOTED_SECONDS = 1.0

_LOCK = fork_safety.lock()
_STATISTICS: WeakKeyDictionary[Corpus, Statistics] = WeakKeyDictionary()
_MODELS: WeakKeyDictionary[Corpus, dict[ModelSpec, LanguageModel]] = WeakKeyDictionary()


def language_model(corpus: Corpus, model: ModelSpec) -> LanguageModel:
    """Return the model over the corpus.

    Kneser-Ney uses the statistics that ANALYZE has stored for this version. If they are missing, they are
    computed and kept in memory.

    Raises
    ------
    ExecutionError
        the corpus is a difference A − B, and B is not a part of A
    """
    with _LOCK:
        made = _MODELS.setdefault(corpus, {}).get(model)
    if made is not None:
        return made
    corpus.check_difference()
    began = time.perf_counter()
    statistics = statistics_of(corpus) if model.needs_statistics else None
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


def reusing_discounts(corpus: Corpus, model: ModelSpec) -> LanguageModel:
    """Return the Kneser-Ney model with Shareghi et al.'s discounts (`Statistics.reusing`). It is not kept."""
    if model.kind != "kneser_ney":
        raise InvalidArgument(f"only Kneser-Ney has discounts that can be reused, not {model}")
    corpus.check_difference()
    return make(model, corpus, statistics_of(corpus).reusing())


class _SharedBatches:
    """The kernel's model for batches whose items are divided among workers.

    Smoothing a token needs the counts of all segments at once, so that each worker reads all of them.
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
    """Return the answer of the kernel's model for a part of a batch."""
    return getattr(language_model(corpus, model).batches, method)(flat, offsets, *columns, *further)


def note_of(corpus: Corpus, model: ModelSpec) -> dict[str, str]:
    """Return the model's note as an entry of a summary; {} without a note.

    The time that counting took is in the first note only.
    """
    if is_counted(corpus, model):
        return {}
    used = language_model(corpus, model)
    note, used.advice = used.note, None
    return {} if note is None else {"note": note}


def is_counted(corpus: Corpus, model: ModelSpec) -> bool:
    """Return True if answers are ratios of counts, and no separator cuts documents into sentences."""
    return model.counted and not is_cut(corpus)


def statistics_of(corpus: Corpus) -> Statistics:
    """Return the counts of counts of the corpus: those stored for it, or computed once."""
    stored = stored_statistics(corpus)
    if stored is not None:
        return stored
    with _LOCK:
        found = _STATISTICS.get(corpus)
    if found is None:
        _ = corpus.index  # opening it raises an error if memory is too small
        for segment in corpus.segments:
            segment.read_for_pass()
        try:
            found = index_statistics.analyze(corpus)
        except TimeoutExceeded as error:  # a second attempt would count from the start
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
    """Return what ANALYZE has stored, if it describes exactly these segments."""
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
    """Return the catalog's form of a fingerprint: 64 hexadecimal digits for any number of segments."""
    return hashlib.sha256("\n".join(segments).encode()).hexdigest()

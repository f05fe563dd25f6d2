"""Tables of the models of corpora, made without an ARPA file; see `tables.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.lm import tables as kernel
from ngramdb._cext.lm.models import LanguageIndex
from ngramdb.errors import InvalidArgument
from ngramdb.lm.interpolated import KneserNeyModel
from ngramdb.lm.levels import CHUNK, Level, levels_of
from ngramdb.lm.models import LEAST_SCORE, BackoffModel, LanguageModel
from ngramdb.lm.pruning import Pruning, pruned
from ngramdb.lm.tables import TableModel, Vocabulary
from ngramdb.lm.values import UNKNOWN, Floats

# log10 of probability 0.
LOG_OF_0 = float(np.finfo(np.float32).min)

# Bytes of a slot in a table: half as many slots again as n-grams.
BYTES_PER_NGRAM = 24


def make_table(
    model: LanguageModel, *, min_count: int | Sequence[int] = 1, prune: str | None = None
) -> TableModel:
    """Return a model of a corpus as a table, which answers faster and needs memory.

    Parameters
    ----------
    model : Kneser-Ney or stupid backoff with an order of at least 2, and without a least count
    min_count, prune : of Kneser-Ney, as `write_arpa` takes them

    Returns
    -------
    A model with the same probabilities, as 32-bit floats, and effective n, but without counts. It stays as it
    is when the corpus changes.

    Raises
    ------
    InvalidArgument
        Any other model.
    ResourceError
        The table exceeds the memory.

    Notes
    -----
    Cost: about a microsecond per n-gram, and 24 bytes (18 for the greatest length); while it is made, about
    as much again.
    """
    spec = model.spec
    is_known = isinstance(model, (KneserNeyModel, BackoffModel))
    if not is_known or spec.order is None or spec.order < 2 or spec.min_count > 1:
        raise InvalidArgument(
            "a table needs a Kneser-Ney or stupid backoff model with an order from 2 on and without "
            f"MIN COUNT, not {spec}"
        )
    index = model.index
    types, _ = index.types()
    pruning = Pruning.of(min_count, prune)
    if isinstance(model, KneserNeyModel):
        levels, finished = pruned(model, spec.order, pruning)
    elif pruning == Pruning.of(1, None):
        levels = levels_of(model, spec.order, adjusted=False)
        finished = _relative(index, levels)
    else:
        raise InvalidArgument("min_count and prune are for Kneser-Ney models")
    interrupts.require_memory(sum(map(len, levels)) * BYTES_PER_NGRAM, "the table of n-grams")
    penalty = 0.0 if isinstance(model, KneserNeyModel) else float(np.log10(spec.weight))
    least = -1e300 if isinstance(model, KneserNeyModel) else float(np.log10(LEAST_SCORE))
    table = kernel.NgramTable(spec.order, len(types) + kernel.FIRST_WORD, penalty, index.separator, least)
    codes = np.arange(len(types), dtype=np.uint32) + np.uint32(kernel.FIRST_WORD)
    table.set_ids(types, codes)
    codes = np.append(codes, [np.uint32(kernel.END_CODE), np.uint32(kernel.BEGIN_CODE)])
    unknown = model.prob([], UNKNOWN).prob or 0.0
    _fill(table, levels, finished, codes, unknown)
    sizes = [len(levels[0]) + 1, *(level.n_kept for level in levels[1:])]  # with <unk>
    return TableModel(spec, table, Vocabulary(types, index.separator), sizes)


def _fill(
    table: kernel.NgramTable,
    levels: list[Level],
    finished: Iterator[int],
    codes: NDArray[np.uint32],
    unknown: float,
) -> None:
    """Insert the n-grams of each length as soon as they have probabilities."""
    hashes = kernel.word_hashes(len(codes) + 1)[codes]
    keys = hashes
    for n in finished:
        level, is_longest = levels[n - 1], n == len(levels)
        if n == 1:
            _set_words(table, level, levels[1], codes, unknown)
            continue
        is_context = None if is_longest else _contexts(level, levels[n])
        table.reserve(n, level.n_kept)
        longer = np.empty(0 if is_longest else len(level), dtype=np.uint64)
        for start in range(0, len(level), CHUNK):
            interrupts.check()
            part = slice(start, start + CHUNK)
            made = keys[level.prefix[part]] * kernel.BASE + hashes[level.last[part]]
            kept = slice(None) if level.kept is None else level.kept[part]
            probs = _logs(level.prob[part][kept])
            if is_context is None:
                table.insert(n, made[kept], probs)
                continue
            longer[part] = made
            weights = _logs(level.backoff[part][kept])
            is_suffix = level.is_suffix[part][kept].view(np.uint8)
            table.insert(n, made[kept], probs, weights, is_suffix, is_context[part][kept])
        keys = longer


def _set_words(
    table: kernel.NgramTable,
    level: Level,
    longer: Level,
    codes: NDArray[np.uint32],
    unknown: float,
) -> None:
    probs = np.full(len(codes) + 1, _logs(np.array([unknown]))[0])
    weights = np.zeros(len(codes) + 1, dtype=np.float32)
    is_suffix, is_context = (np.zeros(len(codes) + 1, dtype=np.uint8) for _ in range(2))
    probs[codes] = _logs(level.prob)
    weights[codes] = _logs(level.backoff)
    is_suffix[codes] = level.is_suffix
    is_context[codes] = _contexts(level, longer)
    table.set_words(probs, weights, is_suffix, is_context)


def _contexts(level: Level, longer: Level) -> NDArray[np.uint8]:
    """Return 1 for each n-gram that a longer one begins with."""
    flags = np.zeros(len(level), dtype=np.uint8)
    flags[longer.prefix if longer.kept is None else longer.prefix[longer.kept]] = 1
    return flags


def _logs(values: Floats) -> NDArray[np.float32]:
    """Return logarithms to base 10; for 0 the least number."""
    with np.errstate(divide="ignore"):
        logs: NDArray[np.float32] = np.maximum(np.log10(values), LOG_OF_0).astype(np.float32)
    return logs


def _relative(index: LanguageIndex, levels: list[Level]) -> Iterator[int]:
    """Compute the scores of stupid backoff, and yield each length as soon as its level has them."""
    _, counts = index.types()
    n_sentences = index.n_sentences
    levels[0].counts = np.concatenate([counts, [n_sentences, n_sentences]])
    for n, level in enumerate(levels, start=1):
        if n > 1:
            shorter = levels[n - 2]
            level.prob = np.empty(len(level))
            for start in range(0, len(level), CHUNK):
                interrupts.check()
                part = slice(start, start + CHUNK)
                level.prob[part] = level.counts[part] / shorter.counts[level.prefix[part]]
            shorter.prob = np.empty(0)
        if n < len(levels):
            level.backoff = np.ones(len(level))
            level.is_suffix = np.zeros(len(level), dtype=np.bool_)
            level.is_suffix[levels[n].suffix] = True
        yield n

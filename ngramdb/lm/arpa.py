"""Writing a Kneser-Ney model as an ARPA file, which other programs can load.

Every n-gram of up to `order` tokens is listed with log10 of its interpolated probability and of its backoff
weight, as in Heafield et al. 2013, section 3.4: since the probabilities are already interpolated,
backing off means multiplying by the weight of the context.

The probabilities of all n-grams are computed at once, from short n-grams to long ones. An n-gram is
identified by its prefix, the number of an (n - 1)-gram, and its last token. Its suffix, also a number, has
the probability that it is interpolated with; and the number of n-grams that share a suffix is the suffix's
adjusted count. So each length takes a few passes over arrays, while a model that is queried for one n-gram
after the other searches for each of them, and for all of their suffixes.

Source: Chen & Goodman 1999, section 3; Heafield et al. 2013, section 3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.text.formats import ArpaWords
from ngramdb.errors import InvalidArgument
from ngramdb.lm.models import KneserNeyModel, LanguageModel
from ngramdb.lm.spec import is_whole
from ngramdb.lm.statistics import Discount
from ngramdb.lm.values import END, Floats, Integers

# n-grams whose words are looked up together.
BATCH = 1 << 16
# Bytes of lines that are written together, give or take a line.
PIECE_BYTES = 1 << 20

# Digits after the point of a logarithm: programs keep them as 32-bit floats, which have fewer.
DIGITS = 8

# Replaces a blank in a token.
BLANK = "▁"

# Words of such a file that are not tokens.
SPECIAL = ("</s>", "<s>", "<unk>", "<UNK>")

_WHITE_SPACE = re.compile(r"\s")

Words = Callable[[int], str]


def write_arpa(model: LanguageModel, file: TextIO, words: Words) -> list[int]:
    """Write a model as an ARPA file.

    Parameters
    ----------
    model : a Kneser-Ney model with an order of at least 2 and without a least count
    file : opened for text in UTF-8
    words : the text of a token id; characters that an ARPA file cannot hold are replaced, see `name_of`

    Returns
    -------
    The numbers of n-grams of each length.

    Raises
    ------
    InvalidArgument
        Any other model.

    Notes
    -----
    Cost: about half a microsecond and 25 bytes of memory per n-gram. Each order is written in pieces
    as soon as its backoff weights are known, and most of its memory is released then.
    """
    spec = model.spec
    if not isinstance(model, KneserNeyModel) or spec.order is None or spec.order < 2 or spec.min_count > 1:
        raise InvalidArgument(f"an ARPA file needs a Kneser-Ney model with an order from 2 on, not {spec}")
    types = model.index.types()[0].tolist()
    arpa_words = ArpaWords([*names_of(types, list(map(words, types))), "</s>", "<s>"])
    levels = levels_of(model, spec.order)
    sizes = [len(level) for level in levels]
    sizes[0] += 1  # <unk>
    file.write("\\data\\\n")
    file.writelines(f"ngram {n}={size}\n" for n, size in enumerate(sizes, start=1))
    unknown = model.prob([], -1).prob or 0.0
    for n in interpolated(model, levels):
        file.write(f"\n\\{n}-grams:\n")
        if n == 1:
            file.write(f"{np.log10(unknown):.{DIGITS + 1}g}\t<unk>\t0\n")
        for lines in _lines(levels[:n], arpa_words, is_top=n == spec.order):
            file.write(lines)  # `writelines` of a codecs.StreamWriter would join all of them first
    file.write("\n\\end\\\n")
    return sizes


def name_of(token: int, text: str, taken: Container[str]) -> str:
    r"""Return the name of a token in an ARPA file, whose words have no white space and are all different.

    A blank becomes `▁` (as in the vocabularies of SentencePiece), other white space `\u000a`. A token without
    text, or whose name is taken, is named by its id: `id:17`.
    """
    name = _WHITE_SPACE.sub(lambda found: BLANK if found[0] == " " else f"\\u{ord(found[0]):04x}", text)
    if not name or name in taken:
        name = f"id:{token}"
    while name in taken:
        name = f"id:{name}"
    return name


def names_of(tokens: Sequence[int], texts: Sequence[str]) -> list[str]:
    """Return the names of all tokens of an ARPA file, ascending ids with their texts; see `name_of`.

    Cost: 0.1 microseconds per token if all texts are names already, otherwise up to 1.
    """
    reserved = {"", *SPECIAL}
    if len(reserved.union(texts)) == len(reserved) + len(texts) and not _WHITE_SPACE.search("".join(texts)):
        return list(texts)
    names: list[str] = []
    taken = set(SPECIAL)
    for token, text in zip(tokens, texts, strict=True):
        name = name_of(token, text, taken)
        taken.add(name)
        names.append(name)
    return names


def check_order(order: Any) -> None:
    """Raise InvalidArgument unless an ARPA file can have this order."""
    if not is_whole(order) or order < 2:
        raise InvalidArgument(f"an ARPA file needs a Kneser-Ney model with an order from 2 on, not {order!r}")


def _lines(levels: list[Level], words: ArpaWords, *, is_top: bool) -> Iterator[str]:
    """Yield the lines of the last level, about PIECE_BYTES at a time."""
    level = levels[-1]
    for start in range(0, len(level), BATCH):
        batch = slice(start, min(start + BATCH, len(level)))
        probs, backoffs = _logs(level.prob[batch]), None if is_top else _logs(level.backoff[batch])
        codes = _codes(levels, batch)
        done = 0
        while done < len(probs):
            interrupts.check()
            lines, done = words.lines(probs, backoffs, codes, done, PIECE_BYTES)
            yield lines.decode()


def _codes(levels: list[Level], batch: slice) -> Integers:
    """Return the tokens of k n-grams of the last level: (n, k), first tokens first."""
    numbers: NDArray[Any] = np.arange(batch.start, batch.stop)
    codes = np.empty((len(levels), len(numbers)), dtype=np.int64)
    for row, level in zip(codes[::-1], reversed(levels), strict=True):
        row[:] = level.last[numbers]
        numbers = level.prefix[numbers] if level is not levels[0] else numbers
    return codes


def _logs(values: Floats) -> Floats:
    """Return logarithms to base 10, rounded, with 0.0 in place of -0.0."""
    logs: Floats = np.log10(values).round(DIGITS) + 0.0
    return logs


# ---- Kneser-Ney probabilities of all n-grams of a corpus at once.


Numbers = NDArray[np.int32] | NDArray[np.int64]

# n-grams that are looked up between two interrupt checks.
CHUNK = 1 << 18


@dataclass
class Level:
    """The n-grams of one length, numbered in their order.

    `last` has codes of tokens: places in the ascending list of the corpus's types, then END's, then that of
    `<s>`, which is the last of the 1-grams.
    """

    last: Numbers
    prefix: Numbers  # numbers of (n - 1)-grams, ascending
    suffix: Numbers  # numbers of (n - 1)-grams
    counts: Numbers  # adjusted ones; for the greatest length, and after `<s>`, occurrences
    n_within: int  # the first one that begins with `<s>`; all later ones do, too
    prob: Floats
    # The share of shorter contexts, 1 if nothing follows; empty for the greatest length.
    backoff: Floats

    def __len__(self) -> int:
        return len(self.last)


def levels_of(model: KneserNeyModel, order: int) -> list[Level]:
    """Return the n-grams of length 1 … order with adjusted counts; `interpolated` adds probabilities.

    Cost: a pass over the suffix arrays for each length; half a microsecond and 16 bytes per n-gram, and twice
    as much again for the longest while they are listed.
    """
    types, _ = model.index.types()
    levels = [_unigrams(model, types)]
    for n in range(2, order + 1):
        levels.append(_longer(model, n, types, levels[-1]))
    for n, (shorter, level) in enumerate(pairwise(levels), start=2):
        interrupts.check()
        if n > 2:
            _count_suffixes(shorter, level)
    return levels


def interpolated(model: KneserNeyModel, levels: list[Level]) -> Iterator[int]:
    """Compute probabilities and backoff weights, and yield each n-gram length as soon as its level has both.

    They are released when the generator resumes, so that at most two levels have any at a time. Only `last`
    and `prefix` are kept. Cost: 0.1 microseconds per n-gram.
    """
    order = len(levels)
    for n, (shorter, level) in enumerate(pairwise(levels), start=2):
        interrupts.check()
        _interpolate(shorter, level, model.statistics.discount(n, raw=n == order))
        level.suffix = level.counts = np.empty(0, dtype=np.int64)
        yield n - 1
        shorter.prob = shorter.backoff = np.empty(0)
    yield order


def _unigrams(model: KneserNeyModel, types: Integers) -> Level:
    ids = np.append(types, END)
    contexts = np.empty(0, dtype=np.int64), np.zeros(len(ids) + 1, dtype=np.int64)
    probs = np.append(model.prob_many(*contexts, ids).prob, 1.0)  # `<s>` is given, never predicted
    nothing = np.empty(0, dtype=np.int64)
    codes = np.arange(len(probs))
    return Level(codes, nothing, nothing, nothing, len(ids), probs, np.empty(0))


def _longer(model: KneserNeyModel, n: int, types: Integers, shorter: Level) -> Level:
    """Return the n-grams one token longer than those of `shorter`, without probabilities."""
    known = model.statistics.n_types
    ids, counts, fresh, n_within = model.index.ngrams(n, known[n - 1] if n <= len(known) else 0)
    end = len(types)
    is_dense = end > 0 and types[-1] == end - 1  # usually every id up to the last occurs
    if not is_dense:
        ids = np.where(ids == END, END, np.searchsorted(types, ids))
    last = _narrow(ids, end + 2)
    narrow_counts = _narrow(counts, int(counts.max(initial=0)) + 1)
    del ids, counts  # arrays of all n-grams take most of the memory
    last[last == END] = end
    followed = _narrow(np.flatnonzero(shorter.last != end), len(shorter))
    prefix = followed[np.cumsum(fresh, dtype=followed.dtype) - 1]
    del fresh
    suffix = last if n == 2 else _suffixes(shorter, prefix, last, end + 2)
    return Level(last, prefix, suffix, narrow_counts, n_within, np.empty(0), np.empty(0))


def _suffixes(level: Level, prefix: Numbers, last: Numbers, n_codes: int) -> Numbers:
    """Return the numbers, in a level, of the suffixes of n-grams that are one token longer.

    Each is identified by the suffix of the prefix, and the last token.
    """
    keys = level.prefix.astype(np.int64) * n_codes + level.last
    order = _narrow(np.argsort(keys, kind="stable"), len(level))  # already in order, except for END
    keys = keys[order]
    found = np.empty(len(last), dtype=order.dtype)
    for start in range(0, len(last), CHUNK):
        interrupts.check()
        chunk = slice(start, start + CHUNK)
        wanted = level.suffix[prefix[chunk]].astype(np.int64) * n_codes + last[chunk]
        ascending = np.argsort(wanted)  # so that lookups pass over the keys once
        found[start + ascending] = order[np.searchsorted(keys, wanted[ascending])]
    return found


def _count_suffixes(shorter: Level, level: Level) -> None:
    """Count, for n-grams that do not begin with `<s>`, the longer ones that end with them."""
    counts = np.zeros(len(shorter), dtype=np.int64)
    size = max(CHUNK, len(level) // 4)  # since numpy widens its input for counting
    for start in range(0, len(level), size):
        counts += np.bincount(level.suffix[start : start + size], minlength=len(shorter))
    shorter.counts[: shorter.n_within] = counts[: shorter.n_within]


def _narrow(numbers: Integers, bound: int) -> Numbers:
    return numbers.astype(np.int32) if bound < 2**31 else numbers


def _interpolate(shorter: Level, level: Level, discount: Discount) -> None:
    shorter.backoff = np.ones(len(shorter))
    level.prob = np.empty(len(level))
    starts = np.flatnonzero(np.append(True, level.prefix[1:] != level.prefix[:-1])[: len(level)])
    first = 0
    while first < len(starts):
        interrupts.check()
        beyond = max(first + 1, int(np.searchsorted(starts, starts[first] + CHUNK)))
        stop = int(starts[beyond]) if beyond < len(starts) else len(level)
        _interpolate_part(shorter, level, discount, starts[first:beyond], stop)
        first = beyond


def _interpolate_part(shorter: Level, level: Level, discount: Discount, starts: Integers, stop: int) -> None:
    """Interpolate the n-grams from the first of the starts on; n-grams of one prefix begin at each."""
    part = slice(int(starts[0]), stop)
    counts = level.counts[part].astype(np.int64)
    sizes = np.diff(np.append(starts, stop))
    taken = np.array(discount)[np.minimum(counts, 3) - 1]
    sums = np.add.reduceat(counts, starts - starts[0])
    left = np.add.reduceat(taken, starts - starts[0]) / sums
    prob = (counts - taken) / np.repeat(sums, sizes)
    prob += np.repeat(left, sizes) * shorter.prob[level.suffix[part]]
    level.prob[part] = prob
    shorter.backoff[level.prefix[starts]] = left

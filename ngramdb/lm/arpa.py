"""Writing a Kneser-Ney model as an ARPA file, which other programs load.

Every n-gram of up to `order` tokens is listed with log10 of its interpolated probability and of its backoff
weight, as Heafield et al. 2013, section 3.4, have them: since the probabilities are interpolated already,
backing off means to multiply by the weight of the context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

import numpy as np

from ngramdb._cext.lm import LanguageIndex
from ngramdb.errors import InvalidArgument
from ngramdb.lm.models import KneserNeyModel, LanguageModel
from ngramdb.lm.values import BEGIN, END, Floats, Integers

# n-grams whose probabilities are asked for together.
BATCH = 1 << 15

# What ARPA files write for the logarithm of `<s>`, which is given and never predicted.
LOG10_OF_BEGIN = 0.0

Words = Callable[[int], str]


def write_arpa(model: LanguageModel, file: TextIO, words: Words) -> list[int]:
    """Writes the model; returns how many n-grams of each length.

    words : the text of a token id; it must be without blanks

    Raises
        InvalidArgument : no Kneser-Ney model with an order from 2 on and without least count; or a token
        that cannot stand
            in such a file

    Cost: about a microsecond an n-gram and level, memory for the n-grams of one length.
    """
    spec = model.spec
    if not isinstance(model, KneserNeyModel) or spec.order is None or spec.order < 2 or spec.min_count > 1:
        raise InvalidArgument(f"an ARPA file takes a Kneser-Ney model with an order from 2 on, not {spec}")
    names = _Names(model.index, words)
    sizes: list[int] = model.index.census(spec.order)[2].tolist()
    sizes[0] += 2  # <s> and <unk>
    file.write("\\data\\\n")
    file.writelines(f"ngram {n}={size}\n" for n, size in enumerate(sizes, start=1))
    for n in range(1, spec.order + 1):
        level = model.index.ngrams(n)
        file.write(f"\n\\{n}-grams:\n")
        if n == 1:
            file.writelines(_unigram_specials(model))
        for start in range(0, len(level), BATCH):
            file.writelines(_lines(model, level[start : start + BATCH], names, is_top=n == spec.order))
    file.write("\n\\end\\\n")
    return sizes


class _Names:
    """Tokens as an ARPA file writes them."""

    def __init__(self, index: LanguageIndex, words: Words) -> None:
        types, _ = index.types()
        self._of = {END: "</s>", BEGIN: "<s>"}
        taken = {"</s>", "<s>", "<unk>", "<UNK>"}
        for token in types.tolist():
            word = words(token)
            if not word or word.split() != [word] or word in taken:
                raise InvalidArgument(
                    f"token {token}, {word!r}, cannot stand in an ARPA file: its words are separated by "
                    "blanks, differ from each other, and from <s>, </s> and <unk>"
                )
            taken.add(word)
            self._of[token] = word

    def joined(self, ids: Sequence[int]) -> str:
        return " ".join(self._of[token] for token in ids)


def _unigram_specials(model: LanguageModel) -> Iterator[str]:
    unknown = model.prob([], -1).prob or 0.0
    yield f"{np.log10(unknown):.9g}\t<unk>\t0\n"
    weight = backoff_weights(model, np.array([[BEGIN]], dtype=np.int64))[0]
    yield f"{LOG10_OF_BEGIN:g}\t<s>\t{np.log10(weight):.9g}\n"


def _lines(model: LanguageModel, ngrams: Integers, names: _Names, *, is_top: bool) -> Iterator[str]:
    n_rows, n = ngrams.shape
    contexts = np.ascontiguousarray(ngrams[:, :-1]).reshape(-1)
    offsets = np.arange(n_rows + 1, dtype=np.int64) * (n - 1)
    log10 = np.log10(model.prob_many(contexts, offsets, ngrams[:, -1]).prob)
    if is_top:
        for row, value in zip(ngrams.tolist(), log10.tolist(), strict=True):
            yield f"{value:.9g}\t{names.joined(row)}\n"
        return
    weights = np.log10(backoff_weights(model, ngrams))
    for row, value, weight in zip(ngrams.tolist(), log10.tolist(), weights.tolist(), strict=True):
        yield f"{value:.9g}\t{names.joined(row)}\t{weight:.9g}\n"


def backoff_weights(model: LanguageModel, contexts: Integers) -> Floats:
    """The share of each context's probability that goes to shorter contexts: (n,) float64; 1 for those that
    end in `</s>`.

    It is what an unknown word's probability is multiplied by when the context is longer by its first token.
    contexts : (n, length) int64, length at least 1
    """
    n_rows, length = contexts.shape
    unknown = np.full(n_rows, -1, dtype=np.int64)
    bounds = np.arange(n_rows + 1, dtype=np.int64)
    longer = model.prob_many(contexts.reshape(-1), bounds * length, unknown).prob
    shorter = model.prob_many(contexts[:, 1:].reshape(-1), bounds * (length - 1), unknown).prob
    return np.where(contexts[:, -1] == END, 1.0, longer / shorter)

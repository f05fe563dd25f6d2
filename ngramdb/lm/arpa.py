"""Writing a Kneser-Ney model as an ARPA file, which other programs can load.

Every n-gram of up to `order` tokens is listed with log10 of its interpolated probability and of its backoff
weight, as in Heafield et al. 2013, section 3.4: since the probabilities are already interpolated,
backing off means multiplying by the weight of the context.

`levels.py` computes the probabilities.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import chain
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.text.formats import ArpaWords
from ngramdb.errors import InvalidArgument
from ngramdb.formats import ARPA_SYMBOLS
from ngramdb.lm.interpolated import KneserNeyModel
from ngramdb.lm.levels import Level
from ngramdb.lm.models import LanguageModel
from ngramdb.lm.pruning import Pruning, pruned
from ngramdb.lm.spec import is_whole
from ngramdb.lm.values import Floats, Integers

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

# DEFAULT_TOKEN_OFFSET of NeMo's nemo/collections/asr/parts/submodules/ngram_lm/constants.py.
NEMO_OFFSET = 100
# Ids whose characters would be halves of pairs, which UTF-8 lacks.
FIRST_SURROGATE, LAST_SURROGATE = 0xD800 - NEMO_OFFSET, 0xDFFF - NEMO_OFFSET

_WHITE_SPACE = re.compile(r"\s")

Words = Callable[[int], str]


def write_arpa(
    model: LanguageModel,
    file: TextIO,
    words: Words,
    *,
    min_count: int | Sequence[int] = 1,
    prune: str | None = None,
    symbols: str = "text",
) -> list[int]:
    """Write a model as an ARPA file.

    Parameters
    ----------
    model : a Kneser-Ney model with an order of at least 2 and without a least count
    file : opened for text in UTF-8
    words : the text of a token id; characters that an ARPA file cannot hold are replaced, see `name_of`
    min_count : the least occurrences of n-grams that are written: a number for all lengths from 2 on, or the
        numbers of lengths 1, 2, …, of which the last applies to longer ones, too (those of KenLM's
        `lmplz --prune`, plus one); the first is 1
    prune : `entropy:1e-8` leaves out n-grams if perplexity grows by less than that share without them
    symbols : `text`, or `nemo`: a token is written as the character with the number of its id plus 100, as
        NVIDIA NeMo's models expect it

    Returns
    -------
    The numbers of n-grams of each length.

    Raises
    ------
    InvalidArgument
        Any other model; invalid options; an id without a character.

    Notes
    -----
    Cost: about half a microsecond and 25 bytes of memory per n-gram. Each order is written in pieces
    as soon as its backoff weights are known, and most of its memory is released then.
    """
    spec = model.spec
    if not isinstance(model, KneserNeyModel) or spec.order is None or spec.order < 2 or spec.min_count > 1:
        raise InvalidArgument(f"an ARPA file needs a Kneser-Ney model with an order from 2 on, not {spec}")
    check_symbols(symbols)
    pruning = Pruning.of(min_count, prune)
    types = model.index.types()[0].tolist()
    names = characters_of(types) if symbols == "nemo" else names_of(types, list(map(words, types)))
    arpa_words = ArpaWords([*names, "</s>", "<s>"])
    levels, steps = pruned(model, spec.order, pruning)
    first = next(steps)
    sizes = [level.n_kept for level in levels]
    sizes[0] += 1  # <unk>
    file.write("\\data\\\n")
    file.writelines(f"ngram {n}={size}\n" for n, size in enumerate(sizes, start=1))
    unknown = model.prob([], -1).prob or 0.0
    for n in chain([first], steps):
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


def characters_of(tokens: Sequence[int]) -> list[str]:
    """Return the characters that NeMo writes for token ids. Raises InvalidArgument for ids without one."""
    for token in tokens:
        if not (token < FIRST_SURROGATE or LAST_SURROGATE < token <= sys.maxunicode - NEMO_OFFSET):
            raise InvalidArgument(
                f"token id {token} has no character in NeMo's symbols; use symbols='text', or a vocabulary "
                f"of less than {FIRST_SURROGATE:,} tokens"
            )
    return [chr(token + NEMO_OFFSET) for token in tokens]


def check_symbols(symbols: Any) -> None:
    """Raise InvalidArgument unless `write_arpa` has these symbols."""
    if symbols not in ARPA_SYMBOLS:
        raise InvalidArgument(f"symbols must be {' or '.join(map(repr, ARPA_SYMBOLS))}, not {symbols!r}")


def check_order(order: Any) -> None:
    """Raise InvalidArgument unless an ARPA file can have this order."""
    if not is_whole(order) or order < 2:
        raise InvalidArgument(f"an ARPA file needs a Kneser-Ney model with an order from 2 on, not {order!r}")


def _lines(levels: list[Level], words: ArpaWords, *, is_top: bool) -> Iterator[str]:
    """Yield the lines of the last level, about PIECE_BYTES at a time."""
    level = levels[-1]
    for start in range(0, len(level), BATCH):
        batch: NDArray[Any] = np.arange(start, min(start + BATCH, len(level)))
        if level.kept is not None:
            batch = batch[level.kept[batch]]
        probs, backoffs = _logs(level.prob[batch]), None if is_top else _logs(level.backoff[batch])
        codes = _codes(levels, batch)
        done = 0
        while done < len(probs):
            interrupts.check()
            lines, done = words.lines(probs, backoffs, codes, done, PIECE_BYTES)
            yield lines.decode()


def _codes(levels: list[Level], numbers: NDArray[Any]) -> Integers:
    """Return the tokens of k n-grams of the last level: (n, k), first tokens first."""
    codes = np.empty((len(levels), len(numbers)), dtype=np.int64)
    for row, level in zip(codes[::-1], reversed(levels), strict=True):
        row[:] = level.last[numbers]
        numbers = level.prefix[numbers] if level is not levels[0] else numbers
    return codes


def _logs(values: Floats) -> Floats:
    """Return logarithms to base 10, rounded, with 0.0 in place of -0.0."""
    logs: Floats = np.log10(values).round(DIGITS) + 0.0
    return logs

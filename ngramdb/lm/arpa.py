"""Writing a Kneser-Ney model as an ARPA file, which other programs load.

Every n-gram of up to `order` tokens is listed with log10 of its interpolated probability and of its backoff
weight, as Heafield et al. 2013, section 3.4, have them: since the probabilities are interpolated already,
backing off means to multiply by the weight of the context.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.errors import InvalidArgument
from ngramdb.lm.models import KneserNeyModel, LanguageModel
from ngramdb.lm.ngram_levels import Level, levels_of
from ngramdb.lm.spec import is_whole
from ngramdb.lm.values import Floats

# n-grams that are written together.
BATCH = 1 << 16

# Digits after the point of a logarithm: programs keep them as 32-bit floats, which have fewer.
DIGITS = 8

# Stands for a blank in a token.
BLANK = "▁"

# Words of such a file that are no tokens.
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
    Cost: some two microseconds per n-gram, most of it for the text; 40 bytes of memory per n-gram.
    """
    spec = model.spec
    if not isinstance(model, KneserNeyModel) or spec.order is None or spec.order < 2 or spec.min_count > 1:
        raise InvalidArgument(f"an ARPA file takes a Kneser-Ney model with an order from 2 on, not {spec}")
    import pyarrow as pa

    types, _ = model.index.types()
    names = pa.array([*names_of(types.tolist(), words), "</s>", "<s>"])
    levels = levels_of(model, spec.order)
    sizes = [len(level) for level in levels]
    sizes[0] += 1  # <unk>
    file.write("\\data\\\n")
    file.writelines(f"ngram {n}={size}\n" for n, size in enumerate(sizes, start=1))
    unknown = model.prob([], -1).prob or 0.0
    for n in range(1, spec.order + 1):
        file.write(f"\n\\{n}-grams:\n")
        if n == 1:
            file.write(f"{np.log10(unknown):.{DIGITS + 1}g}\t<unk>\t0\n")
        file.writelines(_lines(levels[:n], names, is_top=n == spec.order))
    file.write("\n\\end\\\n")
    return sizes


def name_of(token: int, text: str, taken: Container[str]) -> str:
    r"""What a token is called in an ARPA file, whose words have no white space and differ from each other.

    A blank becomes `▁` (as in the vocabularies of SentencePiece), other white space `\u000a`. A token without
    text, or whose name is taken, is called by its id: `id:17`.
    """
    name = _WHITE_SPACE.sub(lambda found: BLANK if found[0] == " " else f"\\u{ord(found[0]):04x}", text)
    if not name or name in taken:
        name = f"id:{token}"
    while name in taken:
        name = f"id:{name}"
    return name


def names_of(tokens: Iterable[int], words: Words) -> list[str]:
    """What tokens are called in an ARPA file, see `name_of`. They are all that the file has, ascending."""
    names: list[str] = []
    taken = set(SPECIAL)
    for token in tokens:
        name = name_of(token, words(token), taken)
        taken.add(name)
        names.append(name)
    return names


def check_order(order: Any) -> None:
    """Raise InvalidArgument when an ARPA file cannot be of that order."""
    if not is_whole(order) or order < 2:
        raise InvalidArgument(f"an ARPA file takes a Kneser-Ney model with an order from 2 on, not {order!r}")


def _lines(levels: list[Level], names: Any, *, is_top: bool) -> Iterator[str]:
    """The lines of the last level, many at a time."""
    import pyarrow as pa
    import pyarrow.compute as pc

    level = levels[-1]
    for start in range(0, len(level), BATCH):
        interrupts.check()
        batch = slice(start, start + BATCH)
        columns = [names.take(pa.array(codes)) for codes in _codes(levels, batch)]
        fields = [_decimals(level.prob[batch]), pc.binary_join_element_wise(*columns, " ")]
        if not is_top:
            fields.append(_decimals(level.backoff[batch]))
        lines = pc.binary_join_element_wise(*fields, "\t")
        yield "\n".join(lines.to_pylist()) + "\n"


def _codes(levels: list[Level], batch: slice) -> list[NDArray[Any]]:
    """The tokens of n-grams of the last level, first to last: n arrays."""
    numbers: NDArray[Any] = np.arange(*batch.indices(len(levels[-1])))
    columns = []
    for level in reversed(levels):
        columns.append(level.last[numbers])
        numbers = level.prefix[numbers] if level is not levels[0] else numbers
    return columns[::-1]


def _decimals(values: Floats) -> Any:
    """Logarithms to the base 10: an Arrow array of texts."""
    import pyarrow as pa

    return pa.array(np.log10(values).round(DIGITS) + 0.0).cast(pa.string())

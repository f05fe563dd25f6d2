"""Whether documents of an attached index are read in the right direction, as far as its tokenizer tells.

infini-gram's version 5 has the tokens of each document in reverse, and nothing in its files says so. A
tokenizer does: it makes the same ids of the text of a document again, but others of the text of reversed ids,
wherever words have several tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ngramdb.errors import InvalidArgument, NgramdbError
from ngramdb.segments.attached import AttachedSegment
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.tokenizers.tokens import TokensTokenizer

# Documents that are read, and tokens of each. Some 2 ms.
_DOCUMENTS = 32
_TOKENS = 64
# Fewer neighbours than this say nothing.
_FEWEST_PAIRS = 100
# The share of neighbours that are neighbours again, when the text is tokenized: at least so much in the right
# direction, and at least so much less in the wrong one. (English of GPT-2's tokenizer: 0.99 and 0.7.)
_ALIKE = 0.9
_LESS = 0.05


def check_direction(segments: Sequence[AttachedSegment], tokenizer: Tokenizer, version: int | None) -> None:
    """Compare some documents with what the tokenizer makes of their texts, in both directions.

    Raises InvalidArgument where documents are certainly in the other direction than `version` says.
    """
    if isinstance(tokenizer, TokensTokenizer) or not segments:
        return
    kept = np.zeros(2)
    n_pairs = 0
    for ids in _samples(segments):
        try:
            kept += [_pairs_kept(tokenizer, ids), _pairs_kept(tokenizer, ids[::-1])]
        except NgramdbError:
            continue  # ids of another tokenizer, or that cannot be spelled: a question will say so
        n_pairs += len(ids) - 1
    if n_pairs < _FEWEST_PAIRS:
        return
    as_read, reverse = kept / n_pairs
    if reverse < _ALIKE or reverse - as_read < _LESS:
        return
    measured = (
        f"the tokenizer makes {reverse:.0%} of neighbouring tokens again where they are reversed, and "
        f"{as_read:.0%} as they are"
    )
    if version == 5:
        raise InvalidArgument(
            f"the documents of {segments[0].path} do not stand in reverse: read as version 5, {measured}; "
            "leave VERSION out"
        )
    raise InvalidArgument(
        f"the documents of {segments[0].path} stand in reverse, as in version 5: {measured}; say VERSION 5"
    )


def _samples(segments: Sequence[AttachedSegment]) -> Iterator[NDArray[np.uint32]]:
    """The first tokens of some documents."""
    each = -(-_DOCUMENTS // len(segments))
    for segment in segments[:_DOCUMENTS]:
        for i in np.unique(np.linspace(0, segment.n_documents - 1, each).astype(np.int64)).tolist():
            yield segment.first_tokens(i, _TOKENS)


def _pairs_kept(tokenizer: Tokenizer, ids: NDArray[np.uint32]) -> int:
    """How many neighbours are neighbours in the ids of their text, too."""
    if len(ids) < 2:
        return 0
    again = tokenizer.encode(tokenizer.decode(ids)).tolist()
    found = set(pairwise(again))
    return sum(pair in found for pair in pairwise(ids.tolist()))

"""Whether documents of an attached index are read in the right direction, as far as its tokenizer tells.

infini-gram's version 5 has the tokens of each document in reverse, and nothing in its files says so. A
tokenizer does: it makes the same ids of the text of a document again, but others of the text of reversed ids,
wherever words or characters have several tokens. (Of 64 tokens of English in reverse, GPT-2's makes others in
every second or third passage.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from ngramdb.errors import InvalidArgument, NgramdbError, QueryCancelled
from ngramdb.segments.attached import AttachedSegment
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.tokenizers.chars import TokensTokenizer

# Passages that are read at most, and tokens of each. Some 0.4 ms a passage; twenty are enough for most.
_PASSAGES = 256
_TOKENS = 64
# Neighbours that are left out where a passage begins or ends amid a document: it may cut a word.
_CUT = 4
# A direction is wrong where at least so many passages become other tokens, and so many times as many as in
# the other direction. (The right one has such passages where documents were tokenized otherwise than now.)
_FEWEST = 8
_TIMES = 5
# Documents are visited in so many turns, so that the first ones stand far apart.
_TURNS = 8


def check_direction(segments: Sequence[AttachedSegment], tokenizer: Tokenizer, version: int | None) -> None:
    """Compare passages of documents with what the tokenizer makes of their texts, in both directions.

    Raises InvalidArgument where documents are certainly in the other direction than `version` says.
    """
    if isinstance(tokenizer, TokensTokenizer):
        return
    n = as_read = reverse = 0
    for ids, first, last in _passages(segments):
        try:
            others = [
                _becomes_others(tokenizer, *way) for way in ((ids, first, last), (ids[::-1], last, first))
            ]
        except QueryCancelled:
            raise
        except NgramdbError:
            continue  # ids of another tokenizer, or that cannot be spelled: a question will say so
        n += 1
        as_read += others[0]
        reverse += others[1]
        if reverse >= max(_FEWEST, _TIMES * as_read):
            return
        if as_read >= max(_FEWEST, _TIMES * reverse):
            break
    else:
        return
    measured = (
        f"of {n} passages, the tokenizer makes other tokens of {as_read} as they are read, and of {reverse} "
        "where they are reversed"
    )
    if version == 5:
        raise InvalidArgument(
            f"the documents of {segments[0].path} do not stand in reverse: read as version 5, {measured}; "
            "leave VERSION out"
        )
    raise InvalidArgument(
        f"the documents of {segments[0].path} stand in reverse, as in version 5: {measured}; say VERSION 5"
    )


def _passages(segments: Sequence[AttachedSegment]) -> Iterator[tuple[NDArray[np.uint32], int, int]]:
    """Passages, and of each how many tokens at its beginning and at its end may be parts of words."""
    firsts = [0, *accumulate(segment.n_documents for segment in segments)]
    n_chosen = min(_PASSAGES, firsts[-1])
    if n_chosen == 0:
        return
    chosen = np.arange(n_chosen) * firsts[-1] // n_chosen
    for turn in range(_TURNS):
        for number in chosen[turn::_TURNS].tolist():
            shard = int(np.searchsorted(firsts, number, "right")) - 1
            yield from _of_document(segments[shard], number - firsts[shard], _PASSAGES // n_chosen)


def _of_document(
    segment: AttachedSegment, number: int, most: int
) -> Iterator[tuple[NDArray[np.uint32], int, int]]:
    """Some passages of one document, evenly spread."""
    length = segment.document_length(number)
    n_passages = min(most, -(-length // _TOKENS))
    for i in range(n_passages):
        start = i * length // n_passages
        stop = min(start + _TOKENS, length)
        yield segment.passage(number, start, stop), _CUT * (start > 0), _CUT * (stop < length)


def _becomes_others(tokenizer: Tokenizer, ids: NDArray[np.uint32], first: int, last: int) -> bool:
    """Whether there are neighbours, but for some at either end, that are none in the ids of their text."""
    again = tokenizer.encode(tokenizer.decode(ids)).tolist()
    found = set(pairwise(again))
    return any(pair not in found for pair in pairwise(ids[first : len(ids) - last].tolist()))

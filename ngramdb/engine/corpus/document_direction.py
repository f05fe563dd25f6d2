"""Check, by means of the tokenizer, that documents of an attached index are read in the right direction.

infini-gram's version 5 stores the tokens of each document in reverse, but its files do not record this. A
tokenizer shows it: encoding the decoded text of a document restores the same ids, but other ids if they are
reversed, wherever words or characters have several tokens. (With GPT-2's tokenizer, every second or third
passage of 64 tokens of reversed English changes.)
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

# Most passages that are read, and tokens of each. About 0.4 ms per passage; twenty are enough in most cases.
_PASSAGES = 256
_TOKENS = 64
# Neighbours that are ignored if a passage begins or ends inside a document: it may cut a word.
_CUT = 4
# A direction is wrong if at least this many passages change, and this many times as many as in the other
# direction. (In the right one, passages change if documents were tokenized differently.)
_FEWEST = 8
_TIMES = 5
# Documents are visited in this many rounds, so that the first ones are far apart.
_TURNS = 8


def check_direction(segments: Sequence[AttachedSegment], tokenizer: Tokenizer, version: int | None) -> None:
    """Decode and encode passages of documents again, in both directions, and compare.

    Raises InvalidArgument if documents are certainly in the other direction than `version` implies.
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
            continue  # ids of another tokenizer, or that cannot be spelled: queries raise for them
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
        f"of {n} passages, re-encoding changes {as_read} as they are read, and {reverse} if they are reversed"
    )
    if version == 5:
        raise InvalidArgument(
            f"the documents of {segments[0].path} are not reversed: read as version 5, {measured}; "
            "leave VERSION out"
        )
    raise InvalidArgument(
        f"the documents of {segments[0].path} are reversed, as in version 5: {measured}; use VERSION 5"
    )


def _passages(segments: Sequence[AttachedSegment]) -> Iterator[tuple[NDArray[np.uint32], int, int]]:
    """Yield passages, each with how many tokens at its beginning and end may be parts of words."""
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
    """Yield some passages of one document, evenly spread."""
    length = segment.document_length(number)
    n_passages = min(most, -(-length // _TOKENS))
    for i in range(n_passages):
        start = i * length // n_passages
        stop = min(start + _TOKENS, length)
        yield segment.passage(number, start, stop), _CUT * (start > 0), _CUT * (stop < length)


def _becomes_others(tokenizer: Tokenizer, ids: NDArray[np.uint32], first: int, last: int) -> bool:
    """Return True if re-encoding the text loses a pair of neighbours, ignoring some at either end."""
    again = tokenizer.encode(tokenizer.decode(ids)).tolist()
    found = set(pairwise(again))
    return any(pair not in found for pair in pairwise(ids[first : len(ids) - last].tolist()))

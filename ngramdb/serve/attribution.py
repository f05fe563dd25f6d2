"""AI2's attribution, `POST /{index}/attribution`: the spans of a response that occur in the corpus.

The fields are those of the infini-gram API behind OLMoTrace, in camel case.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.compat.infinigram.documents import Excerpt, chosen_spans, logprob_sum, places_of
from ngramdb.interrupts import Interrupt, check
from ngramdb.questions.requests import Parameter
from ngramdb.serve.infini_gram import Fields, Opened
from ngramdb.serve.problem_details import Problem
from ngramdb.serve.requests import given

PARAMETERS = (
    Parameter("response", "text", "the text"),
    Parameter("allowSpansWithPartialWords", "flag", "spans may begin and end within a word", False),
    Parameter("minimumSpanLength", "integer", "the minimum number of tokens of a span", 1, least=1),
    Parameter("maximumFrequency", "integer", "the maximum number of occurrences of a span", 10, least=1),
    Parameter("maximumSpanDensity", "number", "the maximum number of spans per token of the response", 0.05),
    Parameter(
        "spanRankingMethod",
        "text",
        "the criterion that selects spans if there are too many",
        "length",
        choices=("length", "unigram_logprob_sum"),
    ),
    Parameter("maximumDocumentsPerSpan", "integer", "the maximum number of documents per span", 10, least=1),
    Parameter("maximumContextLength", "integer", "tokens on either side of a span", 250, least=1),
    Parameter("maximumContextLengthLong", "integer", "the same for `textLong`", 100, least=1),
    Parameter("maximumContextLengthSnippet", "integer", "the same for `textSnippet`", 40, least=1),
)
#: Other fields of the original API, for postprocessing of documents.
IGNORED = ("prompt", "filterMethod", "filterBm25FieldsConsidered", "filterBm25RatioToKeep")
#: The original API also draws the same documents each time.
SEED = 42


def attribution(opened: Opened, index: str, data: Fields, work: Interrupt) -> Fields:
    """Return the answer to a request. Raises Problem."""
    values = {name: value for name, value in data.items() if name not in IGNORED}
    delimiters = values.pop("delimiters", None) or []
    if not (isinstance(delimiters, list) and all(isinstance(one, str) for one in delimiters)):
        raise Problem(400, "delimiters must be a list of strings", parameter="delimiters")
    got = given(PARAMETERS, values)
    if got["response"] is None:
        raise Problem(400, "response is missing", parameter="response")
    if got["maximumSpanDensity"] <= 0:
        raise Problem(400, "maximumSpanDensity must be a number above 0", parameter="maximumSpanDensity")
    with work:
        ids, pieces = opened.ids_and_pieces(got["response"])
        ends = np.array(opened.engine.creativity(ids)["rs"], dtype=np.int64)
        closing = frozenset(one for text in delimiters for one in opened.tokenizer.encode(text).tolist())
        word_starts = None if got["allowSpansWithPartialWords"] else opened.word_starts(ids)
        counted = []
        for span in chosen_spans(ids, ends, closing, word_starts):
            check()
            count = opened.view.index.count(ids[slice(*span)])
            if span[1] - span[0] >= got["minimumSpanLength"] and 0 < count <= got["maximumFrequency"]:
                counted.append((span, count))
        most = math.ceil(len(ids) * got["maximumSpanDensity"])
        kept = _ranked(opened, ids, counted, got["spanRankingMethod"])[:most]
        return {"index": index, "spans": _spans(opened, ids, sorted(kept), got), "inputTokens": pieces}


Counted = tuple[tuple[int, int], int]


def _ranked(opened: Opened, ids: list[int], counted: list[Counted], method: str) -> list[Counted]:
    """Sort spans with the longest, or those with the rarest tokens, first."""
    if method == "length":
        return sorted(counted, key=lambda one: one[0][0] - one[0][1])
    shares = opened.engine.shares
    return sorted(
        counted, key=lambda one: math.fsum(shares.get(token, -math.inf) for token in ids[slice(*one[0])])
    )


def _spans(opened: Opened, ids: list[int], kept: list[Counted], got: Any) -> list[Fields]:
    ngrams = [ids[slice(*span)] for span, _ in kept]
    excerpts = _excerpts(opened, ngrams, got)
    together = [one for some in excerpts for one in some]
    lengths = [len(ngram) for ngram, some in zip(ngrams, excerpts, strict=True) for _ in some]
    described = iter(_documents(opened, together, lengths, got))
    texts = opened.decoded_each([opened.known(ngram) for ngram in ngrams])
    return [
        {
            "left": span[0],
            "right": span[1],
            "length": len(ngram),
            "count": count,
            "unigramLogprobSum": logprob_sum(ngram, opened.engine.shares),
            "text": text,
            "tokenIds": ngram,
            "documents": list(islice(described, len(some))),
        }
        for (span, count), ngram, text, some in zip(kept, ngrams, texts, excerpts, strict=True)
    ]


def _excerpts(opened: Opened, ngrams: list[list[int]], got: Any) -> list[list[Excerpt]]:
    """Return documents of each n-gram, sampled if there are more than the request allows.

    Reads one segment at a time: a call per occurrence would take longer than the reading itself.
    """
    found: list[list[Any]] = []
    by_segment: dict[int, list[tuple[int, int, int]]] = {}
    for number, ngram in enumerate(ngrams):
        check()
        places = places_of(opened.view, ngram)
        if len(places) > got["maximumDocumentsPerSpan"]:
            places = random.Random(SEED).sample(places, got["maximumDocumentsPerSpan"])
        found.append([None] * len(places))
        for k, (s, position) in enumerate(places):
            by_segment.setdefault(s, []).append((number, k, position))
    context = got["maximumContextLength"]
    for s, wanted in by_segment.items():
        after = [len(ngrams[number]) + context for number, _, _ in wanted]
        excerpts = opened.documents.excerpts(s, [position for _, _, position in wanted], context, after)
        for (number, k, _), excerpt in zip(wanted, excerpts, strict=True):
            found[number][k] = excerpt
    return found


def _documents(opened: Opened, excerpts: list[Excerpt], lengths: list[int], got: Any) -> list[Fields]:
    """Describe excerpts around spans of these lengths."""
    metadata = opened.documents.metadata(excerpts)
    cuts = [
        [_cut(one, length, got[name]) for name in ("maximumContextLengthLong", "maximumContextLengthSnippet")]
        for one, length in zip(excerpts, lengths, strict=True)
    ]
    parts = [
        part for one, two in zip(excerpts, cuts, strict=True) for part in (one.tokens, *(c[1] for c in two))
    ]
    texts = iter(opened.decoded_each(parts))
    return [
        {
            "documentIndex": opened.documents.number(one),
            "documentLength": one.n_tokens_of_document,
            "displayLength": len(one.tokens),
            "needleOffset": one.needle,
            "metadata": metadata.get((one.s, one.i), {}),
            "tokenIds": one.tokens,
            "text": next(texts),
            "blocked": one.is_removed,
            "displayLengthLong": len(long),
            "needleOffsetLong": at_long,
            "textLong": next(texts),
            "displayOffsetSnippet": len(short),
            "needleOffsetSnippet": at_short,
            "textSnippet": next(texts),
        }
        for one, ((at_long, long), (at_short, short)) in zip(excerpts, cuts, strict=True)
    ]


def _cut(excerpt: Excerpt, length: int, context: int) -> tuple[int, NDArray[np.uint32]]:
    """Return the offset of the span in a shorter excerpt, and the tokens of that excerpt."""
    start = max(0, excerpt.needle - context)
    return excerpt.needle - start, excerpt.tokens[start : excerpt.needle + length + context]


# ---- places of tokens in a text


def token_starts(tokenizer: Any, text: str, ids: Sequence[int]) -> list[int]:
    """Return the character of `text` at which each of its tokens begins: (n,), ascending.

    A token that begins within a character, such as any but the first of its bytes, is at that character.
    If the tokenizer does not report places, each token is searched for after the previous one.
    """
    found = _by_bytes(tokenizer, text, ids)
    if found is None and tokenizer.has_places:
        placed = tokenizer.places(text)
        if placed is not None and placed[0].tolist() == list(ids):
            found = placed[1].tolist()
    return _one_after_the_other(tokenizer, text, ids) if found is None else found


def _by_bytes(tokenizer: Any, text: str, ids: Sequence[int]) -> list[int] | None:
    """Return the same for tokens that are consecutive bytes of the text; None for other tokens."""
    if tokenizer.token_bytes is None:
        return None
    bounds = tokenizer.token_bytes[1]
    known = [one if 0 <= one < len(bounds) - 1 else None for one in ids]
    sizes = [0 if one is None else int(bounds[one + 1] - bounds[one]) for one in known]
    content = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    if sum(sizes) != len(content):
        return None
    # The number of characters that have begun up to and including each byte, and one more at the end.
    begun = np.append(np.cumsum(content & 0xC0 != 0x80), len(text) + 1)
    starts: list[int] = (begun[np.cumsum([0, *sizes])[:-1]] - 1).tolist()
    return starts


def _one_after_the_other(tokenizer: Any, text: str, ids: Sequence[int]) -> list[int]:
    pieces = tokenizer.split(text)
    if len(pieces) != len(ids):
        pieces = [tokenizer.token_text(one) if 0 <= one < tokenizer.n_vocabulary else "" for one in ids]
    starts, at = [], 0
    for piece in pieces:
        place = text.find(piece, at)
        if place < 0:  # with a leading space that the text does not have
            piece = piece.lstrip()
            place = text.find(piece, at)
        starts.append(max(place, at))
        at = starts[-1] + (len(piece) if place >= 0 else 0)
    return starts

"""AI2's attribution, `POST /{index}/attribution`: which spans of a response stand in the corpus, and where.

Its fields are those of the infini-gram API behind OLMoTrace, in camel case.
"""

from __future__ import annotations

import json
import math
import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.compat.infinigram.attribution import chosen_spans, span_record
from ngramdb.interrupts import Interrupt, check
from ngramdb.serve.forms import Parameter, given
from ngramdb.serve.problems import Problem
from ngramdb.serve.protocols.infini_gram import Fields, Opened

PARAMETERS = (
    Parameter("response", "text", "the text"),
    Parameter("allowSpansWithPartialWords", "flag", "spans may begin and end within a word", False),
    Parameter("minimumSpanLength", "integer", "the least number of tokens of a span", 1, least=1),
    Parameter("maximumFrequency", "integer", "the most occurrences of a span", 10, least=1),
    Parameter("maximumSpanDensity", "number", "the most spans for each token of the response", 0.05),
    Parameter(
        "spanRankingMethod",
        "text",
        "which spans are kept of too many",
        "length",
        choices=("length", "unigram_logprob_sum"),
    ),
    Parameter("maximumDocumentsPerSpan", "integer", "the most documents of a span", 10, least=1),
    Parameter("maximumContextLength", "integer", "tokens on either side of a span", 250, least=1),
    Parameter("maximumContextLengthLong", "integer", "the same for `textLong`", 100, least=1),
    Parameter("maximumContextLengthSnippet", "integer", "the same for `textSnippet`", 40, least=1),
)
#: Other fields of the peer, for what it does to documents afterwards.
IGNORED = ("prompt", "filterMethod", "filterBm25FieldsConsidered", "filterBm25RatioToKeep")
#: The peer draws the same documents each time, too.
SEED = 42


def attribution(opened: Opened, index: str, data: Fields, work: Interrupt) -> Fields:
    """The answer to a request. Raises Problem."""
    values = {name: value for name, value in data.items() if name not in IGNORED}
    delimiters = values.pop("delimiters", None) or []
    if not (isinstance(delimiters, list) and all(isinstance(one, str) for one in delimiters)):
        raise Problem(400, "delimiters is a list of texts", parameter="delimiters")
    got = given(PARAMETERS, values)
    if got["response"] is None:
        raise Problem(400, "response is missing", parameter="response")
    if got["maximumSpanDensity"] <= 0:
        raise Problem(400, "maximumSpanDensity is a number above 0", parameter="maximumSpanDensity")
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
        return {
            "index": index,
            "spans": [_span(opened, ids, span, count, got) for span, count in sorted(kept)],
            "inputTokens": pieces,
        }


Counted = tuple[tuple[int, int], int]


def _ranked(opened: Opened, ids: list[int], counted: list[Counted], method: str) -> list[Counted]:
    """The longest spans first, or those whose tokens are the rarest."""
    if method == "length":
        return sorted(counted, key=lambda one: one[0][0] - one[0][1])
    shares = opened.engine.shares
    return sorted(
        counted, key=lambda one: math.fsum(shares.get(token, -math.inf) for token in ids[slice(*one[0])])
    )


def _span(opened: Opened, ids: list[int], span: tuple[int, int], count: int, got: Any) -> Fields:
    check()
    engine = opened.engine
    record = span_record(opened.view, ids, span, count, engine.shares, engine.token_bytes)
    places = record["docs"]
    if len(places) > got["maximumDocumentsPerSpan"]:
        places = random.Random(SEED).sample(places, got["maximumDocumentsPerSpan"])
    return {
        "left": record["l"],
        "right": record["r"],
        "length": record["length"],
        "count": count,
        "unigramLogprobSum": record["unigram_logprob_sum"],
        "text": opened.decoded(ids[slice(*span)]),
        "tokenIds": ids[slice(*span)],
        "documents": [_document(opened, place, record["length"], got) for place in places],
    }


def _document(opened: Opened, place: Fields, length: int, got: Any) -> Fields:
    check()
    found = opened.engine.get_doc_by_ptr_2(place["s"], place["ptr"], length, got["maximumContextLength"])
    tokens, at = found["token_ids"], found["needle_offset"]
    known = np.array(tokens, dtype=np.uint32)
    n_long, at_long, text_long = _cut(opened, known, at, length, got["maximumContextLengthLong"])
    n_short, at_short, text_short = _cut(opened, known, at, length, got["maximumContextLengthSnippet"])
    return {
        "documentIndex": found["doc_ix"],
        "documentLength": found["doc_len"],
        "displayLength": found["disp_len"],
        "needleOffset": at,
        "metadata": json.loads(found["metadata"] or "{}"),
        "tokenIds": tokens,
        "text": opened.decoded_known(known),
        "blocked": found["blocked"],
        "displayLengthLong": n_long,
        "needleOffsetLong": at_long,
        "textLong": text_long,
        "displayOffsetSnippet": n_short,
        "needleOffsetSnippet": at_short,
        "textSnippet": text_short,
    }


def _cut(
    opened: Opened, tokens: NDArray[np.uint32], at: int, length: int, context: int
) -> tuple[int, int, str]:
    """How many tokens an excerpt has, where the span begins in it, and its text."""
    start = max(0, at - context)
    part = tokens[start : at + length + context]
    return len(part), at - start, opened.decoded_known(part)

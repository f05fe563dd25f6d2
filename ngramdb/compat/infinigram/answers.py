"""The dicts that the engine's methods return, as types."""

from __future__ import annotations

from typing import Any, TypedDict


class ErrorAnswer(TypedDict):
    """The answer of every method to invalid arguments."""

    error: str


class FindAnswer(TypedDict):
    """The answer of `find`, with the rows [lo, hi) of each shard."""

    cnt: int
    segment_by_shard: list[tuple[int, int]]


class FindCnfAnswer(TypedDict):
    """The answer of `find_cnf`, with pointers by shard."""

    cnt: int
    approx: bool
    ptrs_by_shard: list[list[int]]


class CountAnswer(TypedDict):
    """The answer of `count` and `count_cnf`."""

    count: int
    approx: bool


class ProbAnswer(TypedDict):
    """The answer of `prob`."""

    prompt_cnt: int
    cont_cnt: int
    prob: float


class InfgramProbAnswer(ProbAnswer):
    """The answer of `infgram_prob`."""

    suffix_len: int


class TokenAnswer(TypedDict):
    """A next token."""

    cont_cnt: int
    prob: float


class DistAnswer(TypedDict):
    """The answer of `ntd`."""

    prompt_cnt: int
    result_by_token_id: dict[int, TokenAnswer]
    approx: bool


class InfgramDistAnswer(DistAnswer):
    """The answer of `infgram_ntd`."""

    suffix_len: int


class DocAnswer(TypedDict):
    """An excerpt of a document."""

    doc_ix: int
    doc_len: int
    disp_len: int
    needle_offset: int
    metadata: str
    token_ids: list[int]
    blocked: bool


class SearchAnswer(TypedDict):
    """The answer of `search_docs` and `search_docs_cnf`."""

    cnt: int
    approx: bool
    idxs: list[int]
    documents: list[DocAnswer]


class CreativityAnswer(TypedDict):
    """The answer of `creativity`."""

    rs: list[int]


class AttributionAnswer(TypedDict):
    """The answer of `attribute`: l, r, length, count, unigram_logprob_sum and docs of each span."""

    spans: list[dict[str, Any]]

"""Long contexts that repeat themselves: work grows with their length, and not with its square."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import ngramdb
from ngramdb.interrupts import Interrupt

NO_LIMIT = 2**40
#: Tokens of the shorter text; the longer one has FACTOR times as many, and may take SLACK times as many polls
#: per token.
LENGTH = 2000
FACTOR = 4
SLACK = 2
#: Polls that do not depend on the length.
FIXED = 20

COUNTED = ["ngram", "ngram order 4", "infgram"]


@pytest.fixture(scope="module")
def corpus() -> Iterator[Any]:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="chars")
        corpus.append(["a" * (2 * FACTOR * LENGTH)])
        yield corpus


def n_polls(run: Callable[[], object]) -> int:
    with Interrupt(polls=NO_LIMIT) as token:
        run()
        return NO_LIMIT - token.polls_left


def assert_linear(run: Callable[[str], object]) -> None:
    run("a")  # what is counted once and kept
    short, long = (n_polls(lambda n=n: run("a" * n)) for n in (LENGTH, FACTOR * LENGTH))
    assert long <= FACTOR * SLACK * short + FIXED, f"{short} polls, {long} for {FACTOR} times the text"


@pytest.mark.parametrize("model", COUNTED)
def test_a_long_continuation_of_a_long_context(corpus: Any, model: str) -> None:
    assert_linear(lambda text: corpus.prob(text, given=text, model=model))
    assert_linear(lambda text: corpus.prob_many([text] * 2, [text] * 2, model=model))

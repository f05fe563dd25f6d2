"""Long contexts that repeat themselves: work grows with their length, and not with its square."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
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
SMOOTHED = ["backoff", "kneser_ney", "infgram min count 2"]

#: Verbs that read a text, each in time that grows with its length.
VERBS: dict[str, Callable[[Any, str, str], object]] = {
    "score": lambda corpus, text, model: corpus.score(text, model),
    "agreement": lambda corpus, text, model: corpus.agreement([text], model),
    "prob": lambda corpus, text, model: corpus.prob("a", given=text, model=model),
    "continuation": lambda corpus, text, model: corpus.prob(text, given=text, model=model),
    "prob_many": lambda corpus, text, model: corpus.prob_many([text] * 2, [text] * 2, model=model),
    "dist": lambda corpus, text, model: corpus.dist(text, model).fetchall(),
    "generate": lambda corpus, text, model: corpus.generate(text, 3, model=model),
    "sample": lambda corpus, text, model: corpus.generate(text, 3, method="sample", seed=1, model=model),
    "stream": lambda corpus, text, model: list(corpus.stream(text, 3, model=model, seed=1)),
    "draft": lambda corpus, text, model: corpus.draft(text, 3),
}


@pytest.fixture
def corpus() -> Iterator[Any]:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="chars")
        corpus.append([letter * (2 * FACTOR * LENGTH) for letter in "ab"])
        yield corpus


def n_polls(run: Callable[[], object]) -> int:
    with Interrupt(polls=NO_LIMIT) as token:
        run()
        return NO_LIMIT - token.polls_left


def assert_linear(run: Callable[[str], object]) -> None:
    run("c")  # what is counted once and kept
    # Two letters, since what is known of the short text would serve the long one.
    short, long = n_polls(lambda: run("a" * LENGTH)), n_polls(lambda: run("b" * (FACTOR * LENGTH)))
    assert long <= FACTOR * SLACK * short + FIXED, f"{short} polls, {long} for {FACTOR} times the text"


@pytest.mark.parametrize("model", [*COUNTED, *SMOOTHED])
@pytest.mark.parametrize("verb", VERBS)
def test_work_grows_with_the_length(corpus: Any, verb: str, model: str) -> None:
    assert_linear(lambda text: VERBS[verb](corpus, text, model))


@pytest.mark.parametrize("model", [*COUNTED, *SMOOTHED])
def test_a_text_longer_than_the_corpus(model: str) -> None:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="chars")
        corpus.append([letter * LENGTH for letter in "ab"])
        assert_linear(lambda text: corpus.score(text, model))


def test_long_matches_that_exceed_the_memory_of_walks() -> None:
    """Pieces of a text are walked side by side in one memory, which is cut down to the paths of all."""
    numbers = np.random.default_rng(1).permutation(30_000)
    text = " ".join(f"w{number}" for number in [*numbers, *numbers[::-1]])
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append([text, text])
        probs = corpus.score(text, "infgram").prob
        # Every word occurs twice in a document, each time between others.
        assert probs[0] == 2 / 60_000
        assert (probs[1] == 0.5) and (probs[2:30_000] == 1).all()


def test_a_repetition_that_exceeds_the_memory_of_walks() -> None:
    length = 100_000
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="bytes")
        corpus.append(["a" * length] * 2)
        with Interrupt(polls=NO_LIMIT) as token:
            probs = corpus.score("a" * length, "infgram").prob
            n_polls = NO_LIMIT - token.polls_left
    # k letters occur length - k + 1 times in a document, and in all of these places but one another follows.
    assert probs[1:].tolist() == [(length - k) / (length - k + 1) for k in range(1, length)]
    assert n_polls < length

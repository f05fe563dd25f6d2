"""GENERATE: continuations of a context, as rows, or piece by piece while they are made."""

from __future__ import annotations

import codecs
import secrets
from collections.abc import Iterator

import numpy as np

from ngramdb.executor.questions.models import language_model, note_of
from ngramdb.executor.results.result import Result, Row
from ngramdb.lm.generation import BEAMS, Continuation, Generator, Greedy, Method, Sampling, Search
from ngramdb.lm.values import END
from ngramdb.planner.plan import GENERATION_COLUMNS, Generation
from ngramdb.tokenizers.base import Tokenizer

# A seed that is drawn is below this: short enough to be typed again.
SEEDS = 2**32


def generate(plan: Generation) -> Result:
    """A row per continuation, the most probable first.

    The text of a single continuation can be had while it is made, `Result.pieces`, instead of the row or
    before it; a search is known at its end only. Where tokens are drawn, the summary has the seed.
    """
    run = Run(plan)
    summary: dict[str, object] = {} if run.note is None else {"note": run.note}
    if isinstance(run.method, Sampling):
        summary["seed"] = run.seed

    def rows() -> Iterator[list[Row]]:
        yield [
            (rank, text_of(item, plan.corpus.tokenizer), item.logprob)
            for rank, item in enumerate(run.continuations(), start=1)
        ]

    result = Result(GENERATION_COLUMNS, rows(), summary=summary, types=(int, str, float))
    if plan.n_returned == 1 and not isinstance(run.method, Search):
        result.pieces = run.pieces()
    return result


class Run:
    """One generation: its parameters, and what it has made so far. `seed` is the plan's, or was drawn."""

    def __init__(self, plan: Generation) -> None:
        model = language_model(plan.corpus, plan.model)
        self.plan = plan
        self.note = note_of(model)
        self.method = method_of(plan)
        self.seed = secrets.randbelow(SEEDS) if plan.seed is None else plan.seed
        self._generator = Generator(model)
        self._streamed: Continuation | None = None

    def continuations(self) -> list[Continuation]:
        """All of them, the most probable first.

        The one that `pieces` has made to its end is not made again.
        """
        if self._streamed is not None:
            return [self._streamed]
        return self._generator.generate(
            self.plan.context.ids,
            self.plan.n_tokens,
            self.method,
            seed=self.seed,
            n_return=self.plan.n_returned,
        )

    def pieces(self) -> Iterator[str]:
        """The first continuation's text, as much as each token adds."""
        made = Continuation((), 0.0, False)
        tokenizer = self.plan.corpus.tokenizer
        shown = ""
        tokens = self._generator.stream(
            self.plan.context.ids, self.plan.n_tokens, self.method, seed=self.seed
        )
        for token, logprob in tokens:
            made = made.extended(token, logprob)
            if token == END:
                break
            text = whole_characters(made, tokenizer)
            if text != shown and text.startswith(shown):
                yield text[len(shown) :]
                shown = text
        text = text_of(made, tokenizer)
        if text.startswith(shown) and len(text) > len(shown):
            yield text[len(shown) :]
        self._streamed = made


def text_of(continuation: Continuation, tokenizer: Tokenizer) -> str:
    """The text of a continuation's tokens."""
    return tokenizer.decode(np.array(continuation.ids, dtype=np.uint32))


def whole_characters(continuation: Continuation, tokenizer: Tokenizer) -> str:
    """Its text without what the next token may change: first bytes of a character that is not complete."""
    exact = tokenizer.decode_exact(np.array(continuation.ids, dtype=np.uint32))
    if exact is None:
        return text_of(continuation, tokenizer).rstrip("\ufffd")
    return codecs.getincrementaldecoder("utf-8")("backslashreplace").decode(exact)


def method_of(plan: Generation) -> Method:
    """The plan's way of choosing. Raises InvalidArgument for a parameter out of range."""
    if plan.method == "sample":
        return Sampling(1.0 if plan.temperature is None else plan.temperature, plan.top_k, plan.top_p)
    if plan.method == "beam":
        beams = max(BEAMS, plan.n_returned) if plan.beams is None else plan.beams
        return Search(beams, plan.diversity or 0.0)
    return Greedy()

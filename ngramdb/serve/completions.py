"""OpenAI's `/v1/completions` with n-gram models: continuations, and token probabilities of texts.

A model is `corpus`, or `corpus:model` with a model as written after USING: `web:kneser_ney order 5`.
"""

from __future__ import annotations

import json
import math
import re
import time
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np

from ngramdb.errors import BindError
from ngramdb.interrupts import Interrupt, check
from ngramdb.questions.requests import Parameter
from ngramdb.questions.to_ast import as_model
from ngramdb.serve.attribution import token_starts
from ngramdb.serve.database_pool import Library, Named
from ngramdb.serve.problem_details import Problem
from ngramdb.serve.requests import given, shortened

Fields = dict[str, Any]

PARAMETERS = (
    Parameter("model", "text", "a corpus, or `corpus:model`"),
    Parameter("max_tokens", "integer", "the maximum number of tokens of a continuation", 16),
    Parameter("temperature", "number", "0 always chooses the most probable token", 1.0),
    Parameter("top_p", "number", "sample from the fewest tokens whose probabilities add up to this", 1.0),
    Parameter("n", "integer", "number of continuations per prompt", 1, least=1),
    Parameter("logprobs", "integer", "return the probability of each token and of that many alternatives"),
    Parameter("echo", "flag", "include the prompt before the continuation", False),
    Parameter("seed", "integer", "the same seed gives the same continuations"),
    Parameter("stream", "flag", "send server-sent events, one per word or token", False),
)
#: Fields of the protocol without a meaning for these models.
IGNORED = ("user",)
#: Fields that would change an answer, with the values that have no effect; other values are rejected.
UNSUPPORTED: dict[str, tuple[Any, ...]] = {
    "best_of": (None, 1),
    "suffix": (None, ""),
    "presence_penalty": (None, 0),
    "frequency_penalty": (None, 0),
    "logit_bias": (None, {}),
}
MOST_PROMPTS, MOST_LOGPROBS = 1000, 100
DEFAULT_MODEL = "infgram"
#: In place of the logarithm of 0, which JSON cannot represent; other servers use this value as well.
NO_LOGPROB = -9999.0
#: The pieces of text in a stream without token probabilities.
_WORD = re.compile(r"\s*\S+\s*$|\s*\S+|\s+")


def models(library: Library) -> Fields:
    """Answer `/v1/models`: every corpus."""
    return {"object": "list", "data": [_described(one, one.name) for one in library.corpora()]}


def model(library: Library, name: str) -> Fields:
    """Answer `/v1/models/NAME`: a corpus, or `corpus:model`. Raises Problem."""
    corpus, _, used = name.partition(":")
    if used:
        as_model(used)
    return _described(corpus_of(library, corpus), name)


def _described(named: Named, name: str) -> Fields:
    return {"id": name, "object": "model", "owned_by": named.hosted.name}


def corpus_of(library: Library, name: str) -> Named:
    """Return the corpus of a model, or the only one if `name` is empty. Raises Problem 404 as OpenAI does."""
    try:
        return library.corpus(name or None)
    except BindError as error:
        raise Problem(404, error.message, parameter="model", code="model_not_found") from None


def completions(library: Library, data: Fields, work: Interrupt) -> Fields:
    """Return the answer to a request. Raises Problem, BindError."""
    for name, harmless in UNSUPPORTED.items():
        value = data.get(name)
        if isinstance(value, bool) or value not in harmless:
            raise Problem(400, f"{name} is not supported; omit it", parameter=name)
    left = (*IGNORED, *UNSUPPORTED, "stream_options")
    values = {name: value for name, value in data.items() if name not in left}
    stop = _stops(values.pop("stop", None))
    prompts = _prompts(values.pop("prompt", ""))
    got = given(PARAMETERS, values)
    name, _, model = (got["model"] or "").partition(":")
    named = corpus_of(library, name)
    asked = _Asked(named, model.strip() or DEFAULT_MODEL, got)
    if len(prompts) * got["n"] > MOST_PROMPTS or (got["logprobs"] or 0) > MOST_LOGPROBS:
        raise Problem(400, f"at most {MOST_PROMPTS} continuations and {MOST_LOGPROBS} logprobs are allowed")
    with work:
        choices = [choice for prompt in prompts for choice in asked.choices(prompt, stop)]
    for index, choice in enumerate(choices):
        choice["index"] = index
    n_completed = sum(choice.pop("_n") for choice in choices)
    n_prompts = sum(len(asked.ids(prompt)) for prompt in prompts)
    return {
        "id": f"cmpl-{uuid.uuid4().hex}",
        "object": "text_completion",
        "created": int(time.time()),
        "model": f"{named.name}:{asked.model}",
        "choices": choices,
        "usage": {
            "prompt_tokens": n_prompts,
            "completion_tokens": n_completed,
            "total_tokens": n_prompts + n_completed,
        },
        "_stream": got["stream"],
    }


def events(answer: Fields, options: Any) -> bytes:
    """Return a complete answer as the events of a stream, since it took no longer than a statement may."""
    rest = {name: answer[name] for name in ("id", "object", "created", "model")}
    chunks = [{**rest, "choices": [part]} for choice in answer["choices"] for part in _parts_of(choice)]
    if isinstance(options, dict) and options.get("include_usage"):
        chunks.append({**rest, "choices": [], "usage": answer["usage"]})
    return b"".join(
        b"data: %b\n\n" % one for one in (*(json.dumps(one).encode() for one in chunks), b"[DONE]")
    )


def _parts_of(choice: Fields) -> Iterator[Fields]:
    """Yield a choice by words, or by tokens if it has their probabilities; finish_reason comes last."""
    text, known = choice["text"], choice["logprobs"]
    if known is None or not known["tokens"]:
        pieces: list[tuple[str, Fields | None]] = [(piece, None) for piece in _WORD.findall(text)]
    else:
        begins = known["text_offset"][0] - max(text.find(known["tokens"][0]), 0)
        places = [0, *(at - begins for at in known["text_offset"][1:])]
        pieces = [
            (text[start:stop], {name: values and values[i : i + 1] for name, values in known.items()})
            for i, (start, stop) in enumerate(zip(places, [*places[1:], len(text)], strict=True))
        ]
    last = len(pieces) - 1
    for i, (piece, logprobs) in enumerate(pieces or [("", None)]):
        reason = choice["finish_reason"] if i >= last else None
        yield {"text": piece, "index": choice["index"], "logprobs": logprobs, "finish_reason": reason}


class _Asked:
    """A corpus with a model and the options of a request."""

    def __init__(self, named: Named, model: str, got: Any) -> None:
        self.corpus = named.hosted.connection.corpus(named.corpus)
        self.tokenizer: Any = self.corpus.tokenizer
        self.model = model
        self.got = got
        as_model(model)

    def ids(self, prompt: str | list[int]) -> list[int]:
        """Return the token ids of a prompt."""
        if isinstance(prompt, str):
            found: list[int] = self.tokenizer.encode(prompt).tolist()
            return found
        return prompt

    def choices(self, prompt: str | list[int], stop: tuple[str, ...]) -> list[Fields]:
        """Return the continuations of a prompt."""
        got = self.got
        ids = self.ids(prompt)
        if got["max_tokens"] == 0:
            return [self._choice(prompt, ids, (), "", "length") for _ in range(got["n"])]
        options: Fields = {"method": "greedy"}
        if got["temperature"] > 0:
            options = {
                "method": "sample",
                "temperature": got["temperature"],
                "seed": got["seed"],
                "n": got["n"],
            }
            if got["top_p"] < 1:
                options["nucleus"] = got["top_p"]
        made = self.corpus.generate(ids, got["max_tokens"], self.model, **options)
        found = []
        for one in made * (got["n"] if len(made) == 1 else 1):
            tail, text = list(one.token_ids), self._text_after(ids, list(one.token_ids))
            reason = "stop" if one.ended else "length"
            cuts = [at for at in (text.find(mark) for mark in stop) if at >= 0]
            if cuts:
                text, reason = text[: min(cuts)], "stop"
                while tail and len(self._text_after(ids, tail[:-1])) >= len(text):
                    tail.pop()
            found.append(self._choice(prompt, ids, tail, text, reason))
        return found

    def _choice(self, prompt: Any, ids: list[int], tail: Any, text: str, reason: str) -> Fields:
        shown = prompt if isinstance(prompt, str) else self._text(ids)
        n_before = len(ids) if not self.got["echo"] else 0
        logprobs = None
        if self.got["logprobs"] is not None:
            logprobs = self._logprobs(shown + self._text_after(ids, list(tail)), [*ids, *tail], n_before)
        text = shown + text if self.got["echo"] else text
        return {"text": text, "logprobs": logprobs, "finish_reason": reason, "_n": len(tail)}

    def _logprobs(self, text: str, ids: list[int], first: int) -> Fields:
        """Return the log probabilities of tokens from `first` on; null for the first token of the text."""
        n_top = self.got["logprobs"]
        scored = self.corpus.score(ids, self.model).prob.tolist() if ids else []
        model = self.corpus.language_model(self.model) if n_top else None
        tokens, logprobs, tops = [], [], []
        for i in range(first, len(ids)):
            check()
            tokens.append(self._token(ids[i]))
            logprobs.append(None if i == 0 else _log(scored[i]))
            tops.append(None if i == 0 or model is None else self._top(model, ids[:i], n_top))
        return {
            "tokens": tokens,
            "token_logprobs": logprobs,
            "top_logprobs": tops if n_top else None,
            "text_offset": token_starts(self.tokenizer, text, ids)[first:],
        }

    def _top(self, model: Any, context: list[int], n: int) -> dict[str, float]:
        found = model.dist(context)
        order = np.argsort(-found.probs, kind="stable")[:n]
        pairs = zip(found.ids[order].tolist(), found.probs[order].tolist(), strict=True)
        return {self._token(token): _log(prob) for token, prob in pairs}

    def _token(self, token: int) -> str:
        if not 0 <= token < self.tokenizer.n_vocabulary:
            return "</s>" if token < -1 else "<unk>"
        text: str = self.tokenizer.token_text(token)
        return text

    def _text(self, ids: list[int]) -> str:
        text: str = self.tokenizer.decode([one for one in ids if 0 <= one < self.tokenizer.n_vocabulary])
        return text

    def _text_after(self, ids: list[int], tail: list[int]) -> str:
        """Return the text of a continuation, including a leading space."""
        before, both = self._text(ids), self._text([*ids, *tail])
        return both[len(before) :] if both.startswith(before) else self._text(tail)


def _log(prob: float) -> float:
    return max(math.log(prob), NO_LOGPROB) if prob == prob and prob > 0 else NO_LOGPROB


def _prompts(prompt: Any) -> list[str | list[int]]:
    """Return the prompts of a request: a text, token ids, or several of either. Raises Problem."""
    every = prompt if isinstance(prompt, list) and not _are_ids(prompt) else [prompt]
    if not every or not all(isinstance(one, str) or _are_ids(one) for one in every):
        raise Problem(400, "prompt must be a string, token ids, or a list of either", parameter="prompt")
    return list(every)


def _are_ids(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(type(one) is int and 0 <= one < 2**32 for one in value)
    )


def _stops(stop: Any) -> tuple[str, ...]:
    """Return the texts before which continuations end. Raises Problem."""
    every = [] if stop is None else [stop] if isinstance(stop, str) else stop
    if not isinstance(every, list) or not all(isinstance(one, str) and one for one in every):
        raise Problem(
            400, f"stop must be a string or a list of strings, not {shortened(repr(stop))}", parameter="stop"
        )
    return tuple(every)

"""Requests of a client of `connect("http://…")` for each verb, and answers of a service: JSON over HTTP.

Services and clients of other versions read it, so a change adds and leaves what is there.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from support.recorded import compare

import ngramdb
from ngramdb.api import wire
from ngramdb.serve.app import Access, Service
from ngramdb.serve.database_pool import open_library
from ngramdb.serve.problem_details import Limits
from ngramdb.serve.running import ask

RECORDED = Path(__file__).parent / "recorded"
#: Seconds and milliseconds, which differ from run to run: the field of a result, and that of a Perplexity.
TIMES = re.compile(r'(?<="elapsed_ms": )[0-9.e-]+|(?<="}, )[0-9.e-]+(?=, (true|false), )')
DOCUMENTS = [
    {"text": "time flies like an arrow", "kind": "proverb", "year": 1930},
    {"text": "fruit flies like a banana", "kind": "joke", "year": 1966},
    {"text": "time flies when you read a book", "kind": "proverb"},
]
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("count", ("flies like",), {}),
    ("counts", (["flies", "time"],), {"group_by": ["kind"]}),
    ("count_many", ((np.array([1, 2, 1]), np.array([0, 2, 3])),), {}),
    ("docs", (), {"order_by": "year", "returning": ["doc_id", "year"]}),
    ("count_docs", ('"fruit" AND year > ?',), {"params": [1962]}),
    ("document", (1,), {}),
    ("sample", (2,), {"seed": 7}),
    ("kwic", (ngramdb.pattern('"flies" *'),), {"window": 2}),
    ("occurrences", ("flies",), {}),
    ("collocates", ("flies",), {"window": (1, 2)}),
    ("keywords", ("kind = 'joke'",), {}),
    ("dispersion", ("flies",), {"by": "kind"}),
    ("duplicates", (), {"length": 2, "by": "documents"}),
    ("ngrams", ((1, 2),), {"min_count": 2}),
    ("trace", ("an apple flies like a bird",), {"min_length": 2}),
    ("near_duplicates", (), {"contained": 0.5, "n": 1}),
    ("trace_arrays", ("an apple flies like a bird",), {}),
    ("match_lengths", ([0, 1, 2],), {}),
    ("prob", ("like",), {"given": "flies", "model": "infgram"}),
    ("prob_many", (["flies", [0, 1]], np.array([2, 2])), {"model": ngramdb.lm.KneserNey()}),
    ("dist", ("flies",), {"top": 3}),
    ("dist_before", ("flies",), {}),
    ("dist_arrays", ([1],), {"model": "infgram"}),
    ("dist_many", (["flies", [0]],), {}),
    ("score", ("time flies",), {"model": "kneser_ney", "sentence": True}),
    ("score_many", (["time flies", [1, 2, 3]],), {}),
    ("generate", ("time",), {"tokens": 3}),
    ("draft", ("time", 3), {}),
    ("perplexity", (["time flies", {"text": "an apple"}],), {}),
    ("agreement", (["time flies like", [0, 1]],), {}),
    ("perplexity_table", ("time flies like",), {"models": ["backoff", "infgram order 2"]}),
    ("agreement_table", ("time flies like",), {"by": "length"}),
    ("novelty", ("time flies like a bird",), {"n": (1, 3)}),
    ("continuations", ("flies",), {}),
]


def as_sent(verb: str, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """The arguments by their names, as JSON."""
    bound = inspect.signature(getattr(ngramdb.Corpus, verb)).bind(None, *given, **named).arguments
    return {name: wire.sent(value) for name, value in bound.items() if name != "self"}


def lines_of(service: Service) -> Iterator[str]:
    for verb, given, named in CALLS:
        body = json.dumps({"arguments": as_sent(verb, given, named)})
        headers = {"content-length": str(len(body))}
        answer = ask(service, f"/sayings/verbs/{verb}", "POST", headers, body.encode())
        yield f"POST /sayings/verbs/{verb} {body}"
        text = TIMES.sub("…", answer.body.decode().rstrip())
        yield f"  {answer.status} {text}"


def test_each_verb_has_a_call() -> None:
    assert [verb for verb, _, _ in CALLS] == list(wire.VERBS)


def test_wire(tmp_path: Path) -> None:
    with ngramdb.connect(tmp_path / "web.ngdb") as db:
        db.create_corpus("sayings").append(DOCUMENTS)
    limits = Limits(time_limit=20.0)
    service = Service(open_library([str(tmp_path / "web.ngdb")], limits, {}), limits, Access())
    try:
        compare(RECORDED / "wire.txt", "\n".join(lines_of(service)))
    finally:
        service.workers.close()
        service.library.close()

"""Sends requests made at random to a service, and looks for what no request may do.

    python tests/torture/hostile_requests.py [--requests 50000] [--seed 1]

Addresses, parameters, methods, headers and bodies are right, nearly right, or nothing at all. Each must be
answered in time, never with status 500, errors in the one form that all have, and no answer may name the
folder of the database.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from statements import Statements

import ngramdb
from ngramdb.api import wire
from ngramdb.cli.commands.services import ServedCompletion
from ngramdb.questions.requests import Parameter
from ngramdb.serve.app import Access, Service
from ngramdb.serve.database_pool import open_library
from ngramdb.serve.infini_gram import ARGUMENTS, QUERY_TYPES
from ngramdb.serve.problem_details import Limits
from ngramdb.serve.requests import COMMON, QUESTIONS
from ngramdb.serve.running import answered
from ngramdb.serve.verbs import KINDS, arguments_of

LIMIT_S = 1.0
# Additional time that a request may take on a busy machine.
PATIENCE_S = 60.0
MOST_FAILURES = 20
FINE = {200, 204, 304, 400, 401, 403, 404, 405, 408, 413, 421, 503}
# A part of the folder's name, which no answer may have.
SECRET = "secret_place"

TEXTS = [
    *(
        "w0",
        "w1 w2",
        "W1",
        "zz",
        "",
        " ",
        "é",
        "漢字",
        "\U0001f600",
        "\0",
        "\ud800",
        "w" * 3000,
        '"',
        "\\",
        "'",
    ),
    *("%", "`", "--", ";", "a\nb", "../..", "/etc/passwd", "nan", "-1", "1e400", "9" * 5000, "null", "[1,2]"),
]
CONDITIONS = [
    "n > 1",
    "n = 1 --",
    '"w1" AND NOT "w2"',
    "source LIKE 'w%'",
    ") OR (",
    "1",
    "",
    "x IS NULL",
    ":a",
    "?",
]
NUMBERS = ["0", "1", "5", "-1", "999999999999", "2" * 30, "1.5", "abc", "", "inf", "nan", "1e308"]
JSON_VALUES: list[Any] = [
    *(
        None,
        True,
        0,
        -1,
        1.5,
        2**70,
        "w1",
        "",
        "\ud800",
        [],
        [1],
        [-1],
        [2**33],
        [[1, 2]],
        [[[1]], [[2]]],
        {},
        {"a": 1},
    ),
    *(
        [None],
        ["w1", "w2"],
        [["w1"]],
        [[0.5]],
        [True],
        [[[]]],
        [[]],
        "w1 AND w2 OR w3",
        " AND ",
        "x" * 10_000,
    ),
]
VERB_VALUES: list[Any] = [
    *(
        "w1",
        "w1 w2",
        2,
        0,
        -3,
        ["w1"],
        [[1], "w2"],
        [1, 2],
        "ngram",
        "kneser_ney order 3",
        "n",
        "n > 3",
        True,
    ),
    {"kind": "pattern", "text": '"w1" *'},
    {"kind": "pattern", "text": "("},
    {"kind": "corpus", "name": "tok"},
    {"kind": "tuple", "of": [1, 2]},
    {"kind": "tuple", "of": [{"kind": "array", "dtype": "<i8", "base64": "AQAAAAAAAAA="}] * 2},
    {"kind": "array", "dtype": "<f8", "base64": "AAA"},
    {"kind": "array", "dtype": "O", "base64": ""},
    {"kind": "array"},
    {"kind": "object", "of": [["text", "w1"]]},
    {"kind": "object", "of": [[]]},
    {"kind": "number", "text": "nan"},
    {"kind": "Perplexity", "of": []},
]
BODIES = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe",
    b"[" * 5000,
    b'{"a":' * 3000,
    b"\xff\xff\xff\xffx",
    b"ARROW1\0\0" * 50,
]
METHODS = (
    ["GET"] * 12 + ["POST"] * 6 + ["HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "BREW", "get", ""]
)
HEADERS: list[dict[str, str]] = [
    *({} for _ in range(8)),
    {"accept": "text/html"},
    {"if-none-match": '"x", *'},
    {"content-length": "-5"},
    {"content-length": "9" * 400},
    {"content-length": "x"},
    {"transfer-encoding": "chunked"},
    {"host": "evil.example"},
    {"host": ""},
    {"host": "]:["},
    {"authorization": "Bearer \xff"},
    {"content-type": "application/vnd.apache.arrow.stream"},
]


def fill(folder: Path) -> None:
    rng = random.Random(1)
    with ngramdb.connect(folder) as db:
        for name, kind in (
            ("c", "words"),
            ("odd name/x", "words"),
            ("e", "bytes"),
            ("tok", "tokens"),
            ("query", "chars"),
        ):
            corpus = db.create_corpus(name, tokenizer=kind)
            ids = [{"ids": [rng.randrange(9) for _ in range(12)], "n": k} for k in range(20)]
            texts = [
                {"text": " ".join(f"w{i}" for i in one["ids"]), "n": one["n"], "source": "web"} for one in ids
            ]
            corpus.append(ids if kind == "tokens" else texts)
            corpus.delete("doc_id = 3")


@cache
def fitting(kinds: tuple[str, ...]) -> list[Any]:
    """Arguments of verbs that are of these kinds."""
    found = []
    for one in VERB_VALUES:
        with contextlib.suppress(ngramdb.NgramdbError):
            value = wire.received(one, lambda name: None)
            if any(KINDS[kind](value) for kind in kinds):
                found.append(one)
    return found or [None]


class Requests:
    """Requests made at random."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.statements = Statements(seed)

    def one(self) -> tuple[str, str, dict[str, str], bytes]:
        rng = self.rng
        way = rng.random()
        if way < 0.45:
            return self._question()
        if way < 0.6:
            text = self.statements.one()[0] if rng.random() < 0.9 else rng.choice(TEXTS)
            target = f"/query.{self._format()}?q={self._quoted(text)}&_limit={rng.choice(NUMBERS[:4])}"
            return "GET", target, rng.choice(HEADERS), b""
        if way < 0.85:
            return self._protocol()
        return self._nothing()

    def _question(self) -> tuple[str, str, dict[str, str], bytes]:
        rng = self.rng
        name = rng.choice([*QUESTIONS, "documents/1", "versions", "removals", "", "nothing"])
        known = QUESTIONS[name if name in QUESTIONS else "documents"].parameters
        given = {
            one.name: self._value(one)
            for one in (*known, *COMMON)
            if rng.random() < (0.04 if one.name in ("q", "ids", "pattern") else 0.12)
        }
        if rng.random() < 0.6:
            given["q"] = rng.choice(TEXTS[:4] if rng.random() < 0.7 else TEXTS)
        corpus = quote(rng.choice(["c", "c", "c", "e", "tok", "odd name/x", "served.query", "C"]), safe="")
        version = rng.choice(["", "", "", "/@3", "/@999", "/@x", "/@"])
        path = f"/{corpus}{version}/{name}.{self._format()}".replace("/.", ".")
        if rng.random() < 0.2:
            return "POST", path, rng.choice(HEADERS), self._json(given)
        query = "&".join(f"{key}={self._quoted(value)}" for key, value in given.items())
        return rng.choice(METHODS), f"{path}?{query}", rng.choice(HEADERS), b""

    def _value(self, one: Parameter) -> str:
        rng = self.rng
        if one.choices and rng.random() < 0.8:
            return rng.choice(one.choices)
        if one.name in ("where", "pattern", "against"):
            return rng.choice(CONDITIONS)
        if one.kind in ("integer", "number", "flag"):
            return rng.choice(NUMBERS[1:3] if rng.random() < 0.7 else NUMBERS)
        if one.kind == "ids":
            return rng.choice(["1", "[1,2]", "", "[", "1,,2", "-1", "99999999999", "[[1]]"])
        words = {
            "model": [
                "infgram",
                "kneser_ney",
                "witten_bell",
                "pitman_yor",
                "katz",
                "skip_kneser_ney",
                "backoff",
                "ngram order 2",
                "x",
            ],
            "by": ["n", "source", "n,source", "`"],
        }
        return rng.choice([*words.get(one.name, ["left", "n", "text"]), rng.choice(TEXTS)])

    def _protocol(self) -> tuple[str, str, dict[str, str], bytes]:
        rng = self.rng
        value = lambda: rng.choice(JSON_VALUES)  # noqa: E731
        if rng.random() < 0.3:
            verb = rng.choice(wire.VERBS)
            known = arguments_of(verb)
            names = [name for at, name in enumerate(known) if at == 0 or rng.random() < 0.3]
            given = {
                name: rng.choice(fitting(known[name]) if rng.random() < 0.9 else [*VERB_VALUES, value()])
                for name in names
            }
            where = rng.choice(
                [None, None, None, [], [["n > 1", None]], [[rng.choice(CONDITIONS), value()]], value()]
            )
            asked = {"arguments": given, "where": where}
            if names and rng.random() < 0.2:  # a batch
                asked["each"] = {names[0]: rng.choice([[given[names[0]]] * 2, [value(), value()], value()])}
            return "POST", f"/c/verbs/{verb}", {}, self._json(asked)
        target, body = rng.choice(
            [
                (
                    "/",
                    {
                        "index": rng.choice(["c", "tok", "x"]),
                        "query_type": rng.choice([*QUERY_TYPES, "close", "__init__"]),
                    },
                ),
                ("/c/attribution", {"response": rng.choice([*TEXTS[:6], 5])}),
                (
                    "/v1/completions",
                    {"model": rng.choice(["c", "c:kneser_ney", "e", "x", ":"]), "max_tokens": 3},
                ),
                ("/c/batch", {}),
                ("/batch.arrow", {"corpus": "c"}),
                ("/query.json", {"q": self.statements.one()[0]}),
                ("/complete.json", {"q": self.statements.one()[0]}),
            ]
        )
        body = dict(body)
        names = {
            "/": ["query", "query_ids", *ARGUMENTS],
            "/v1/completions": ["prompt", "n", "logprobs", "echo", "temperature", "top_p", "stop", "seed"],
            "/query.json": ["params", "limit", "offset", "timeout", "db"],
            "/complete.json": ["cursor", "corpus"],
            "/c/attribution": ["delimiters", "minimumSpanLength", "maximumSpanDensity", "spanRankingMethod"],
        }.get(target, ["ngrams", "contexts", "continuations", "model"])
        for name in rng.sample(names, rng.randrange(min(4, len(names)) + 1)):
            body[name] = value()
        sent = self._json(body) if rng.random() < 0.95 else rng.choice(BODIES)
        return "POST", target, rng.choice(HEADERS), sent

    def _nothing(self) -> tuple[str, str, dict[str, str], bytes]:
        rng = self.rng
        parts = [
            rng.choice(
                [
                    "",
                    "..",
                    ".",
                    "%2e%2e",
                    "%00",
                    "%ff",
                    "@3",
                    "c",
                    "static",
                    "v1",
                    "é",
                    "%2f",
                    "a" * 2000,
                    "*",
                ]
            )
            for _ in range(rng.randrange(6))
        ]
        target = (
            "/" + "/".join(parts) + rng.choice(["", ".json", ".csv", "?", "?&&=", "?q=%zz", "?%ff=%ff", "?q"])
        )
        return rng.choice(METHODS), target, rng.choice(HEADERS), rng.choice(BODIES)

    def _format(self) -> str:
        return self.rng.choice(["json", "json", "json", "csv", "jsonl", "arrow", "parquet", "exe", ""])

    def _quoted(self, text: str) -> str:
        return quote(text.encode("utf-8", "surrogatepass"), safe="")

    def _json(self, value: Any) -> bytes:
        return json.dumps(value).encode()


async def run(n: int, seed: int, service: Service) -> tuple[Counter[int], list[str]]:
    made = Requests(seed)
    statuses: Counter[int] = Counter()
    failures: list[str] = []
    for _ in range(n):
        method, target, headers, body = made.one()
        started = time.monotonic()
        try:
            if body:
                headers = {"content-length": str(len(body)), **headers}
            answer = await answered(service, target, method, headers, body)
            wrong = _wrong(answer, time.monotonic() - started)
            statuses[answer.status] += 1
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            failures.append(f"{wrong}: {method} {target[:600]!r} {headers} {body[:300]!r}")
            if len(failures) >= MOST_FAILURES:
                break
    return statuses, failures


def _wrong(answer: Any, seconds: float) -> str | None:
    if answer.status not in FINE:
        return f"status {answer.status}, {answer.body[:200]!r}"
    if seconds > LIMIT_S + PATIENCE_S:
        return f"{seconds:.1f} s"
    if SECRET.encode() in answer.body:
        return f"names its folder: {answer.body[:300]!r}"
    if answer.status >= 400 and answer.status != 408:
        said = json.loads(answer.body)
        if not isinstance(said.get("error"), (str, dict)) or not said["error"]:
            return f"no error: {answer.body[:200]!r}"
    elif answer.headers.get("content-type") == "application/json" and answer.body:
        json.loads(answer.body, parse_constant=lambda name: 1 / 0)
    return None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix=SECRET) as folder:
        path = Path(folder) / "served.ngdb"
        fill(path)
        limits = Limits(time_limit=LIMIT_S, max_body=100_000, max_batch=1000)
        library = open_library([str(path)], limits, {})
        service = Service(library, limits, Access(), ServedCompletion())
        library.warm()
        started = time.monotonic()
        statuses, failures = asyncio.run(run(options.requests, options.seed, service))
        service.workers.close()
        library.close()
    seconds = time.monotonic() - started
    print(
        f"{sum(statuses.values()):,} requests, seed {options.seed}, {seconds:.0f} s; by status: "
        f"{dict(sorted(statuses.items()))}"
    )
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

"""`ngramdb.connect("http://…")`: the same verbs, and the same answers, over HTTP."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ngramdb
from ngramdb.serve.app import Access, Service
from ngramdb.serve.library import open_library
from ngramdb.serve.limits import Limits
from ngramdb.serve.server import Place, listening

uvicorn = pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """A server in a thread of this process, whose pages are small."""
    limits = Limits(time_limit=20.0, rows=2, max_rows=2)
    service = Service(open_library([str(folder)], limits, {}), limits, Access(token="sesame", base_url="/x/"))
    config = uvicorn.Config(service, log_level="critical", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    with listening(Place(port=0)) as (listener, shown):
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
        thread.start()
        yield f"{shown}/x"
        server.should_exit = True
        thread.join(60)
    service.workers.close()
    service.library.close()


VERBS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("count", ("flies like",), {}),
    ("count", ([1, 2],), {}),
    ("count", ("FLIES",), {"ignore_case": True}),
    ("count", (ngramdb.pattern("? * /an?/ -- any", ["flies"]),), {}),
    ("count", (ngramdb.pattern('("FLIES" | "time") *'),), {"ignore_case": True}),
    ("collocates", (ngramdb.pattern("/fl.*/"),), {"window": 2}),
    ("count_docs", (), {}),
    ("count_docs", ('"fruit" AND year > ?',), {"params": [1962]}),
    ("count_docs", ("kind = :kind",), {"params": {"kind": "joke"}}),
    ("docs", (), {"order_by": "year", "descending": True, "returning": ["doc_id", "year"]}),
    ("docs", ('"time"',), {"limit": 1, "offset": 1}),
    ("sample", (3,), {"seed": 7}),
    ("kwic", ("flies",), {"window": 2, "order_by": "right", "returning": "kind"}),
    ("ngrams", (2,), {"top": 5}),
    ("ngrams", ((1, 3),), {"min_count": 3, "where": "kind = ?", "params": ["joke"]}),
    ("collocates", ("flies",), {"window": 2, "by": "ll", "top": 3}),
    ("trace", ("an apple flies like a bird",), {"min_length": 2}),
    ("dist", ("flies",), {"model": "infgram", "top": 3}),
    ("dist_before", ("flies",), {}),
    ("prob", ("an",), {"given": "flies like"}),
    ("prob", (1,), {"given": [0]}),
    ("prob", ("an",), {"given": "never seen"}),
    ("score", ("time flies like an apple",), {"model": "infgram"}),
    ("score", ("time flies",), {"model": "kneser_ney", "sentence": True}),
    ("count_many", (["flies", "never", [1, 2]],), {}),
]


def plain(value: Any) -> Any:
    if isinstance(value, ngramdb.Result):
        return value.columns, value.fetchall(), value.summary.get("total")
    if isinstance(value, ngramdb.Scores):
        return [np.nan_to_num(getattr(value, name), nan=-1).tolist() for name in ("prob", "count", "sparse")]
    if isinstance(value, ngramdb.Probability):
        return repr(value)
    return value.tolist() if isinstance(value, np.ndarray) else value


@pytest.mark.filterwarnings("ignore::ngramdb.PhraseWarning")
@pytest.mark.parametrize(("verb", "given", "named"), VERBS, ids=[verb for verb, _, _ in VERBS])
def test_verbs_answer_as_they_do_here(folder: Path, address: str, verb: str, given: Any, named: Any) -> None:
    with ngramdb.connect(folder) as here, ngramdb.connect(address, token="sesame") as there:
        expected = plain(getattr(here.corpus("sayings"), verb)(*given, **named))
        assert plain(getattr(there.corpus("sayings"), verb)(*given, **named)) == expected


def test_statements_and_their_errors(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NGRAMDB_TOKEN", "sesame")
    with ngramdb.connect(address) as db:
        assert db.corpora() == ["letters", "sayings"]
        assert db.corpus("sayings").n_tokens == 22
        assert db.execute("NGRAMS 1 FROM sayings").df().shape == (13, 3)  # in pages of two
        assert db.execute("COUNT ? FROM sayings", ["flies"]).fetchall() == [(4,)]
        with pytest.raises(ngramdb.ReadingOnly):
            db.execute("DROP CORPUS sayings")
        with pytest.raises(ngramdb.ParseError) as found:
            db.execute("COUNT FROM")
        assert (found.value.line, found.value.column) == (1, 7)
        with pytest.raises(ngramdb.BindError, match="known: letters, sayings"):
            db.corpus("other")
        with pytest.raises(ngramdb.TimeoutExceeded):
            db.execute("NGRAMS 1 FROM sayings", timeout=1e-9)
        with pytest.raises(ngramdb.PlanError):
            db.corpus("sayings").count_docs("year > ?", params=[1, 2])


STATEMENTS = [
    'SCORE "time zebra flies" FROM sayings',
    'SCORE "time flies like" FROM sayings USING infgram',
    "DOCS FROM sayings RETURNING kind, year, length",
    'COUNT "flies" PER MILLION FROM sayings GROUP BY kind',
    "NGRAMS 1 FROM letters",
    'COUNT "Infinity", "NaN" FROM sayings',
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements_answer_as_they_do_here(folder: Path, address: str, statement: str) -> None:
    with ngramdb.connect(folder) as here, ngramdb.connect(address, token="sesame") as there:
        expected, found = here.execute(statement), there.execute(statement)
        assert found.columns == expected.columns
        assert found.types == expected.types
        # By repr: what is no number is not equal to itself.
        assert repr(found.fetchall()) == repr(expected.fetchall())
        assert repr(found.summary) == repr(expected.summary)


def test_tokens_of_no_answer_are_no_zeros_and_zeros_are_infinite(address: str) -> None:
    with ngramdb.connect(address, token="sesame") as there:
        result = there.execute('SCORE "time zebra flies" FROM sayings')
        logprob = [row[result.columns.index("logprob")] for row in result.fetchall()]
        assert logprob[1:] == [-math.inf, None]
        assert (result.summary["logprob"], result.summary["perplexity"]) == (-math.inf, math.inf)


def test_no_answer_is_an_error_of_ours(address: str) -> None:
    with pytest.raises(ngramdb.ExecutionError, match="does not answer"):
        ngramdb.connect("http://127.0.0.1:9").corpora()
    with pytest.raises(ngramdb.ExecutionError, match="a token is needed"):
        ngramdb.connect(address, token="wrong").corpora()
    with pytest.raises(ngramdb.InvalidArgument):
        ngramdb.connect("http://")
    with pytest.raises(ngramdb.InvalidArgument):
        ngramdb.connect(token="x")

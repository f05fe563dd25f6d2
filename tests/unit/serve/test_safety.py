"""Limits, rejections, and headers for browsers and caches."""

from __future__ import annotations

import asyncio
import gzip
import json
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import ngramdb
from ngramdb.interrupts import Interrupt, check
from ngramdb.serve import requests, routes
from ngramdb.serve.app import hosts_of
from ngramdb.serve.database_pool import FRESH_S
from ngramdb.serve.problem_details import Gone, Limits, Problem, settings_of
from ngramdb.serve.requests import QUESTIONS
from ngramdb.serve.responses import noted
from ngramdb.serve.running import Workers

PATIENT = Limits(time_limit=20.0)
REFUSED = [
    "DROP CORPUS sayings",
    'DELETE DOCS WHERE "a" FROM sayings',
    "COPY (DOCS FROM sayings) TO '/tmp/x.csv'",
    "COPY sayings FROM '/etc/passwd'",
    "EXPLAIN COPY sayings FROM '/etc/passwd'",
    'EXPLAIN DELETE DOCS WHERE "a" FROM sayings',
    'EXPLAIN ANALYZE DELETE DOCS WHERE "a" FROM sayings',
    "ATTACH '/etc' AS etc",
    "DETACH sayings",
    "CREATE CORPUS x TOKENIZER '/etc/passwd'",
    "SET threads = 1",
    "RESET threads",
    "USE sayings",
    "ANALYZE sayings",
    "COMPACT",
    "CHECK",
    "RESTORE CORPUS sayings TO VERSION 2",
    "KEEP VERSION AS 'x'",
    "DROP VERSION 'x'",
    "ALTER CORPUS sayings ADD CORPUS letters",
    "SHOW SEGMENTS",
    "SHOW SETTINGS",
    "SHOW VERSIONS",
    "SHOW REMOVALS",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_only_questions_are_answered(client: Any, folder: Path, statement: str) -> None:
    answer = client.ask("/query.json?q=" + quote(statement))
    assert answer.status == 403
    assert str(folder).encode() not in answer.body
    assert client.rows("/corpora.json")[1][0] == "sayings"


@pytest.mark.parametrize("statement", ["", ";", 'COUNT "a" FROM sayings; COUNT "a" FROM sayings'])
def test_one_statement_is_asked_at_a_time(client: Any, statement: str) -> None:
    assert client.json("/query.json?q=" + quote(statement))["status"] == 400


def test_a_connection_asks_for_strangers() -> None:
    with ngramdb.connect() as db:
        db.create_corpus("c").append(["a b a"])
        assert db.ask("COUNT ?", ["a"]).fetchall() == [(2,)]
        with pytest.raises(ngramdb.ReadingOnly, match="only queries"):
            db.ask("DROP CORPUS c")
        work = Interrupt()
        work.set()
        with pytest.raises(ngramdb.Interrupted):
            db.ask("NGRAMS 1", work=work).fetchall()
        assert db.ask("COUNT ?", ["a"]).fetchall() == [(2,)]


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/nothing.json", 404),
        ("/sayings/nothing.json", 404),
        ("/sayings/@x/count.json?q=a", 404),
        ("/sayings/@99/count.json?q=a", 400),
        ("/sayings/count.json", 400),
        ("/sayings/count.json?q=a&ids=1", 400),
        ("/sayings/count.json?ids=[1,", 400),
        ("/sayings/count.json?ids=1]", 400),
        ("/sayings/count.json?ids=1,,2", 400),
        ("/sayings/generate.json?q=a&temperature=-1", 400),
        ("/sayings/count.json?q=a&qq=1", 400),
        ("/sayings/count.json?q=a&limit=-1", 400),
        ("/sayings/count.json?q=a&timeout=0", 400),
        ("/sayings/count.json?q=a&timeout=nan", 400),
        ("/sayings/count.json?q=a&ignore_case=perhaps", 400),
        ("/sayings/count.json?q=a&where=nofield=1", 400),
        ("/sayings/count.json?pattern=a%20LIMIT%205", 400),
        ("/sayings/count.json?q=a&where=year>1%20GROUP%20BY%20kind", 400),
        ("/sayings/next.json?q=a&model=gpt", 400),
        ("/sayings/ngrams.json?n=2%20TOP%205", 400),
        ("/sayings/frequency.json?q=a", 400),
        ("/sayings/frequency.json?q=a&by=year&period=0", 400),
        ("/query.json?q=COUNT", 400),
        ("/%ff.json", 400),
        ("/static/../app.py", 404),
        ("/static/%2e%2e/app.py", 404),
        ("/static/..%2fapp.py", 404),
    ],
)
def test_what_is_wrong_is_said_in_one_form(client: Any, target: str, status: int) -> None:
    found = client.json(target)
    assert (found["ok"], found["status"]) == (False, status)
    assert isinstance(found["error"], str) and found["error"]


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/sayings/count.json?q=a&q=b", b""),
        ("/sayings/count.json?q=a&q=a", b""),
        ("/sayings/frequency.json?q=a&by=year&by=kind", b""),
        ("/corpora.json?limit=1&limit=2", b""),
        ("/query.json?q=COUNT+:w+FROM+sayings&w=a&w=b", b""),
        ("/query.json?q=COUNT+DOCS+FROM+sayings&q=DOCS+FROM+sayings", b""),
        ("/sayings/count.json?q=a", b'{"q": "b"}'),
        ("/sayings/count.json", b'{"q": "a", "q": "b"}'),
    ],
)
def test_a_parameter_is_given_once(client: Any, target: str, body: bytes) -> None:
    found = client.json(target, "POST" if body else "GET", body)
    assert found["status"] == 400
    assert found["error"].endswith("is given twice; give it once")
    assert found["parameter"] in ("q", "by", "limit", "w")


@pytest.mark.parametrize(
    ("headers", "is_asked"),
    [
        ({}, True),
        ({"origin": "http://127.0.0.1:8765"}, True),
        ({"origin": "https://example.org"}, True),
        ({"origin": "https://example.com", "sec_fetch_site": "same-origin"}, True),
        ({"sec_fetch_site": "none"}, True),
        ({"origin": "http://evil.example"}, False),
        ({"origin": "http://evil.example", "content_type": "text/plain"}, False),
        ({"origin": "null"}, False),
        ({"origin": "http://127.0.0.1:3000"}, False),
        ({"sec_fetch_site": "cross-site"}, False),
        ({"sec_fetch_site": "same-site"}, False),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "iframe"}, False),
    ],
)
def test_scripts_of_other_websites_ask_nothing_without_cors(
    served: Any, headers: dict[str, str], is_asked: bool
) -> None:
    own = served(base_url="https://example.org/")
    open_to_all, open_to_one = served(cors="*"), served(cors="http://evil.example")
    for method, target, body in (
        ("GET", "/sayings/count.json?q=time", b""),
        ("POST", "/query.json", {"q": 'COUNT "time" FROM sayings'}),
        ("POST", "/", {"index": "sayings", "query_type": "count", "query": "time"}),
    ):
        sent = {"host": "127.0.0.1:8765", **headers}
        assert own.ask(target, method, body, **sent).status == (200 if is_asked else 403)
        assert open_to_all.ask(target, method, body, **sent).status == 200
        allowed = is_asked and "example.org" not in headers.get("origin", "")
        allowed |= headers.get("origin") == "http://evil.example"
        assert open_to_one.ask(target, method, body, **sent).status == (200 if allowed else 403)


def test_links_from_other_websites_are_followed(client: Any) -> None:
    link = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    assert client.ask("/sayings/count.csv?q=time", **link).status == 200
    assert client.ask("/query.json", "POST", {"q": 'COUNT "time" FROM sayings'}, **link).status == 403


def test_long_bodies_are_parsed_off_the_event_loop(served: Any, monkeypatch: Any) -> None:
    client = served()
    threads: list[str] = []
    parsed = requests.json_object

    def noting(body: bytes) -> Any:
        threads.append(threading.current_thread().name)
        return parsed(body)

    monkeypatch.setattr(routes, "json_object", noting)
    blanks = " " * routes.SHORT_BODY
    for target, body in (
        ("/sayings/count.json", {"q": "time"}),
        ("/query.json", {"q": 'COUNT "time" FROM sayings'}),
        ("/sayings/verbs/count", {"arguments": {"ngram": "time"}}),
        ("/sayings/attribution", {"response": "time"}),
        ("/v1/completions", {"model": "sayings", "prompt": "time"}),
        ("/", {"index": "sayings", "query_type": "count", "query": "time"}),
    ):
        answer = client.ask(target, "POST", (json.dumps(body) + blanks).encode())
        assert answer.status == 200, answer.body
    assert len(threads) == 6
    assert all(name.startswith("statement") for name in threads)


def test_answers_are_written_off_the_event_loop(served: Any, monkeypatch: Any) -> None:
    threads: list[str] = []
    written = routes.WRITERS["csv"]

    def noting(page: Any) -> bytes:
        threads.append(threading.current_thread().name)
        return written(page)

    monkeypatch.setitem(routes.WRITERS, "csv", noting)
    client = served()
    client.ask("/sayings/count.csv?q=time")
    client.ask("/query.csv?q=" + quote('COUNT "time" FROM sayings'))
    assert len(threads) == 2
    assert all(name.startswith("statement") for name in threads)


def test_bodies_share_a_budget_that_is_given_back(served: Any) -> None:
    client = served(replace(PATIENT, all_bodies=1000))
    for _ in range(3):
        busy = client.ask("/query.json", "POST", b" " * 1001)
        assert (busy.status, busy.headers["retry-after"]) == (503, "1")
        asked = json.dumps({"q": 'COUNT "time" FROM sayings'}).encode()
        assert client.ask("/query.json", "POST", asked + b" " * (1000 - len(asked))).status == 200


def test_methods_that_write_are_refused(client: Any) -> None:
    for method in ("PUT", "DELETE", "PATCH", "TRACE", "BREW"):
        answer = client.ask("/sayings/count.json?q=a", method)
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, POST, OPTIONS")


def test_headers_of_every_answer(client: Any) -> None:
    for target in ("/sayings/count.json?q=a", "/nothing.json", "/query.csv?q=COUNT"):
        headers = client.ask(target).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["content-security-policy"].startswith("default-src 'self'; ")
        assert "access-control-allow-origin" not in headers


def test_versions_in_the_address_are_cached_for_ever(client: Any) -> None:
    headers = client.ask("/sayings/@3/count.json?q=a").headers
    assert headers["cache-control"] == "public, max-age=31536000, immutable"
    headers = client.ask("/sayings/count.json?q=a").headers
    assert headers["cache-control"] == "no-cache"
    again = client.ask("/sayings/count.json?q=a", if_none_match=headers["etag"])
    assert (again.status, again.body) == (304, b"")
    drawn = client.ask("/sayings/@3/concordance.json?q=a&sample=1").headers
    assert drawn["cache-control"] == "no-store" and "etag" not in drawn
    assert client.ask("/sayings/@99/count.json?q=a").headers["cache-control"] == "no-store"


def test_the_page_and_an_answer_have_the_same_address(client: Any) -> None:
    page = client.ask("/sayings/count?q=a", accept="text/html,*/*")
    answer = client.ask("/sayings/count?q=a", accept="application/json")
    assert page.headers["content-type"].startswith("text/html")
    assert answer.headers["content-type"] == "application/json"
    assert page.headers["vary"] == answer.headers["vary"] == "Accept"
    assert page.headers["x-frame-options"] == "DENY"


def test_notes_are_a_header_of_formats_without_them(client: Any) -> None:
    (note,) = client.json("/sayings/count.json?q=fli*")["notes"]
    for kind in ("csv", "jsonl", "arrow", "parquet"):
        answer = client.ask(f"/sayings/count.{kind}?q=fli*")
        assert json.loads(answer.headers["x-notes"]) == [note]
        assert "x-notes" not in client.ask(f"/sayings/count.{kind}?q=flies").headers
        asked = client.ask(f"/query.{kind}?q=" + quote('COUNT "fli*" FROM sayings'))
        assert len(json.loads(asked.headers["x-notes"])) == 1


@pytest.mark.parametrize("text", ["x", "\N{SNOWMAN}", "\N{GRINNING FACE}", '"\r\n\t\0', "\udcff"])
@pytest.mark.parametrize("length", [0, 1, 300, 100_000])
def test_notes_of_any_length_fit_into_a_header(text: str, length: int) -> None:
    for n_notes in (1, 3, 100):
        notes = [f"{number}: {text * length}" for number in range(n_notes)]
        sent = noted(notes)["x-notes"]
        assert sent.isascii() and sent.isprintable() and len(sent) <= 2000
        received = json.loads(sent)
        assert len(received) == min(n_notes, 8)
        for one, whole in zip(received, notes, strict=False):
            assert one == whole or (one.endswith("…") and whole.startswith(one[:-1]))
    assert noted(()) == {}


def test_files_of_the_page_are_compressed_and_sent_once(client: Any) -> None:
    plain = client.ask("/static/main.js")
    small = client.ask("/static/main.js", accept_encoding="gzip, br")
    assert gzip.decompress(small.body) == plain.body and len(small.body) < len(plain.body) / 2
    assert (small.headers["content-encoding"], small.headers["vary"]) == ("gzip", "Accept-Encoding")
    again = client.ask("/static/main.js", if_none_match=plain.headers["etag"])
    assert (again.status, again.body) == (304, b"")


def test_a_new_version_is_seen_and_the_old_one_stays(served: Any, tmp_path: Path) -> None:
    path = tmp_path / "new.ngdb"
    with ngramdb.connect(path) as db:
        corpus = db.create_corpus("c")
        corpus.append(["a b"])
        client = served(Limits(time_limit=20.0), path)
        before = client.ask("/c/count.json?q=a")
        version = client.json("/c/count.json?q=a")["version"]
        corpus.append(["a a"])
        time.sleep(1.5 * FRESH_S)
        after = client.ask("/c/count.json?q=a", if_none_match=before.headers["etag"])
        assert after.status == 200
        assert client.rows("/c/count.json?q=a") == [(3,)]
        found = client.json(f"/c/@{version}/count.json?q=a")
        assert (found["rows"], found["version"]) == ([{"count": 1}], version)


def test_a_token_is_needed_where_there_is_one(served: Any) -> None:
    client = served(token="sesame")
    assert client.ask("/sayings/count.json?q=a").headers["www-authenticate"] == 'Bearer realm="ngramdb"'
    for wrong in ("Bearer sesam", "Bearer sesame2", "Basic sesame", "sesame", "Bearer", "Bearer s\u00e9same"):
        assert client.ask("/sayings/count.json?q=a", authorization=wrong).status == 401
    right = client.ask("/sayings/@3/count.json?q=a", authorization="Bearer sesame")
    assert right.status == 200
    assert right.headers["cache-control"].startswith("private")


def test_websites_may_ask_where_that_is_allowed(served: Any) -> None:
    client = served(cors="*")
    headers = client.ask("/sayings/count.json?q=a", "OPTIONS", origin="https://a.org").headers
    assert headers["access-control-allow-origin"] == "*"
    assert "authorization" in headers["access-control-allow-headers"]


def test_other_names_do_not_lead_here(served: Any) -> None:
    client = served(hosts=hosts_of("127.0.0.1", "https://corpora.example.org/x/"))
    for host, status in (
        ("localhost:8765", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("corpora.example.org", 200),
        ("evil.example", 421),
    ):
        assert client.ask("/corpora.json", host=host).status == status
    assert hosts_of("0.0.0.0", "/") is None


def test_everything_stands_below_a_base(served: Any) -> None:
    client = served(base_url="https://example.org/a/b")
    for target in ("/a/b/sayings/documents.json?limit=1", "/sayings/documents.json?limit=1"):
        found = client.json(target)  # a proxy passes the base on, or takes it off
        version = found["version"]
        assert found["next"] == f"/a/b/sayings/@{version}/documents.json?limit=1&offset=1"
    assert client.json("/a/b/corpora.json")["status"] == 200


def test_bodies_have_a_greatest_size(served: Any) -> None:
    client = served(replace(Limits(), max_body=100))
    assert client.ask("/query.json", "POST", b"x" * 101).status == 413
    assert client.ask("/query.json", "POST", b"x" * 101, content_length="3").status == 413
    assert client.ask("/query.json", "POST", b"x" * 100).status == 400


def test_a_late_statement_is_ended_with_408(served: Any) -> None:
    client = served(replace(Limits(), time_limit=20.0))
    found = client.json("/sayings/count.json?q=a&timeout=0.0000001")
    assert (found["status"], found["type"]) == (408, "TimeoutExceeded")


def test_rows_that_were_found_in_time_are_sent() -> None:
    from ngramdb.api import Result
    from ngramdb.errors import TimeoutExceeded
    from ngramdb.serve.responses import page_of

    def batches() -> Any:
        yield [(1,), (2,)]
        raise TimeoutExceeded(elapsed=1.0)

    page = page_of(Result(["n"], batches()), 1000, 0, 1000)
    assert (page.rows, page.truncated) == ([(1,), (2,)], True)
    assert page.late is not None


def test_answers_have_a_greatest_size_too(served: Any) -> None:
    client = served(replace(Limits(), time_limit=20.0, max_answer=1, max_rows=1000))
    found = client.json("/sayings/documents.json?limit=1")
    assert found["n_rows"] == 1


async def _never() -> Any:
    await asyncio.Event().wait()


def test_a_client_that_hangs_up_stops_its_statement() -> None:
    workers = Workers(Limits(statements=1))
    stopped = threading.Event()

    def endless(token: Interrupt) -> None:
        try:
            with token:
                while True:
                    check()
                    time.sleep(0.001)
        finally:
            stopped.set()

    async def leaves() -> dict[str, str]:
        await asyncio.sleep(0.03)
        return {"type": "http.disconnect"}

    with pytest.raises(Gone):
        asyncio.run(workers.run(endless, 60.0, leaves))
    assert stopped.wait(60)
    workers.close()


def test_verbs_stop_with_the_work_of_their_client() -> None:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("a")
        corpus.append(["a b"])
        token = Interrupt()
        with token:
            inner = corpus._bound.work()
        token.set()
        with pytest.raises(ngramdb.Interrupted), inner:
            check()
        with pytest.raises(ngramdb.Interrupted), token:
            corpus.prob_many(["a"], ["b"])
        db.interrupt()  # what runs outside of a client's work obeys its connection, as ever
        assert corpus.prob_many(["a"], ["b"]).prob.tolist() == [1]


def test_too_many_statements_are_turned_away() -> None:
    workers = Workers(Limits(statements=1, waiting=1))
    go = threading.Event()

    async def all_of_them() -> list[Any]:
        asked = [
            asyncio.ensure_future(workers.run(lambda token: go.wait(60), 60.0, _never)) for _ in range(3)
        ]
        await asyncio.sleep(0.05)
        go.set()
        return await asyncio.gather(*asked, return_exceptions=True)

    first, second, third = asyncio.run(all_of_them())
    assert first is second is True
    assert isinstance(third, Problem) and third.status == 503
    assert third.headers == {"Retry-After": "1"}
    workers.close()


def test_damage_is_not_told_in_paths(served: Any, tmp_path: Path) -> None:
    path = tmp_path / "damaged.ngdb"
    with ngramdb.connect(path) as db:
        db.create_corpus("c").append(["a b"])
    client = served(Limits(time_limit=20.0), path)
    for file in (path / "segments").iterdir():
        file.write_bytes(b"x" * 100)
    answer = client.ask("/c/count.json?q=a")
    assert answer.status == 503
    assert str(path).encode() not in answer.body


def test_settings_are_checked() -> None:
    limits, others = settings_of([("max_rows", "50"), ("match", "text"), ("time_limit", "0.5")])
    assert (limits.rows, limits.max_rows, limits.time_limit, others) == (50, 50, 0.5, {"match": "text"})
    for name, value in (("nothing", "1"), ("max_rows", "0"), ("time_limit", "x"), ("time_limit", "nan")):
        with pytest.raises(ngramdb.InvalidArgument):
            settings_of([(name, value)])


def test_two_databases_with_a_corpus_of_the_same_name(served: Any, tmp_path: Path, folder: Path) -> None:
    other = tmp_path / "other.ngdb"
    with ngramdb.connect(other) as db:
        db.create_corpus("sayings").append(["one saying"])
        db.create_corpus("query").append(["a"])
    client = served(Limits(time_limit=20.0), folder, other)
    names = [row[0] for row in client.rows("/corpora.json")]
    assert names == ["letters", "web.sayings", "other.query", "other.sayings"]
    assert client.rows("/other.sayings/count.json?q=saying") == [(1,)]
    assert client.rows("/other.query/count.json?q=a") == [(1,)]
    assert client.json("/sayings/count.json?q=saying")["status"] == 404
    assert client.rows("/query.json?_db=other&q=" + quote('COUNT "one" FROM sayings')) == [(1,)]


def test_a_corpus_that_is_called_as_one_of_a_database_hides_none(served: Any, tmp_path: Path) -> None:
    with ngramdb.connect(tmp_path / "web.ngdb") as db:
        db.create_corpus("sayings").append(["time flies"])
    with ngramdb.connect(tmp_path / "s1.ngdb") as db:
        db.create_corpus("sayings").append(["time flies"] * 2)
        db.create_corpus("s1.sayings").append(["time flies"] * 3)
    client = served(Limits(time_limit=20.0), tmp_path / "web.ngdb", tmp_path / "s1.ngdb")
    assert [row[0] for row in client.rows("/corpora.json")] == ["web.sayings", "s1.s1.sayings", "s1.sayings"]
    for name, n in (("web.sayings", 1), ("s1.sayings", 2), ("s1.s1.sayings", 3)):
        assert client.rows(f"/{name}/count.json?q=flies") == [(n,)]


def test_a_database_that_is_moved_or_replaced_is_the_only_one_that_does_not_answer(
    served: Any, tmp_path: Path, folder: Path
) -> None:
    path = tmp_path / "two.ngdb"

    def made(text: str) -> None:
        with ngramdb.connect(path) as db:
            db.create_corpus("others").append([text])

    def asked(status: int, *counts: int) -> None:
        time.sleep(1.5 * FRESH_S)
        assert client.rows("/sayings/count.json?q=flies") == [(4,)]
        assert client.rows("/query.json?q=COUNT+%22flies%22+FROM+sayings&_db=web") == [(4,)]
        for target in ("/others/count.json?q=x", "/query.json?q=COUNT+%22x%22&_db=two", "/others"):
            answer = client.json(target)
            assert answer["status"] == status, answer
            if status == 503:
                assert issubclass(getattr(ngramdb, answer["type"]), ngramdb.StorageError)
                assert str(tmp_path) not in str(answer)
            elif "count" in target or "query" in target:
                assert [row["count"] for row in answer["rows"]] == [*counts]
        listed = client.json("/corpora.json")
        names = [row["corpus"] for row in listed["rows"]]
        assert names == (["letters", "sayings"] if status == 503 else ["letters", "sayings", "others"])
        assert listed["notes"] == (["cannot be read at the moment: others"] if status == 503 else [])

    made("x")
    client = served(Limits(time_limit=20.0), folder, path)
    asked(200, 1)
    path.rename(tmp_path / "away")
    asked(503)
    (tmp_path / "away").rename(path)
    asked(200, 1)
    shutil.rmtree(path)
    path.mkdir()
    asked(503)
    path.rmdir()
    made("x x")
    asked(200, 2)
    shutil.rmtree(path)
    made("x x x")  # asked so soon that nobody has looked for it
    tag = client.ask("/others/@3/count.json?q=x").headers["etag"]
    asked(200, 3)
    (path / "manifests" / "0000000004.manifest").write_bytes(b"damage")
    asked(503)
    (path / "manifests" / "0000000004.manifest").unlink()
    asked(200, 3)
    assert client.ask("/others/@3/count.json?q=x", if_none_match=tag).status == 304
    shutil.rmtree(path)
    made("x x x x")
    asked(200, 4)
    assert client.ask("/others/@3/count.json?q=x", if_none_match=tag).status == 200


def test_answers_of_a_diverged_copy_are_new_ones_though_its_versions_have_the_same_numbers(
    served: Any, tmp_path: Path
) -> None:
    path, copy = tmp_path / "web.ngdb", tmp_path / "copy"
    with ngramdb.connect(path) as db:
        db.create_corpus("c")
    shutil.copytree(path, copy)
    for folder, text in ((path, "x"), (copy, "x x")):
        with ngramdb.connect(folder) as db:
            for _ in range(2):
                db.corpus("c").append([text])
    client = served(Limits(time_limit=20.0), path)
    for number, n in ((4, 4), (3, 2)):
        targets = [f"/c/{at}count.json?q=x" for at in ("", f"@{number}/")]
        before = [client.ask(target).headers["etag"] for target in targets]
        path.rename(tmp_path / "away")
        copy.rename(path)
        time.sleep(1.5 * FRESH_S)
        answers = [client.ask(target, if_none_match=tag) for target, tag in zip(targets, before, strict=True)]
        assert [answer.status for answer in answers] == [200, 200]
        assert client.rows(targets[1]) == [(n,)]
        path.rename(copy)
        (tmp_path / "away").rename(path)
        time.sleep(1.5 * FRESH_S)


def test_the_only_database_that_is_gone_says_so_for_all_its_corpora(served: Any, tmp_path: Path) -> None:
    with ngramdb.connect(tmp_path / "web.ngdb") as db:
        db.create_corpus("c").append(["a"])
    client = served(Limits(time_limit=20.0), tmp_path / "web.ngdb")
    assert client.json("/c/count.json?q=a")["rows"] == [{"count": 1}]
    shutil.rmtree(tmp_path / "web.ngdb")
    time.sleep(1.5 * FRESH_S)
    batch = {"corpus": "c", "ngrams": ["a"]}
    asked = {"index": "c", "query_type": "count", "query": "a"}
    verb = {"arguments": {"ngram": "a"}}
    for target, body in (
        ("/c/count.json?q=a", b""),
        ("/query.json?q=COUNT+%22a%22", b""),
        ("/complete?q=CO", b""),
        ("/batch", batch),
        ("/c/verbs/count", verb),
        ("/", asked),
        ("/v1/completions", {"model": "c", "prompt": "a", "max_tokens": 1}),
    ):
        answer = client.ask(target, "POST" if body else "GET", body)
        assert answer.status in (503, 404 if "complete?" in target else 503), (target, answer)
    assert client.json("/none/count.json?q=a")["status"] == 404


ADDRESSES = [
    *(
        "/?",
        "/corpora?",
        "/settings?",
        "/openapi.json?",
        "/complete?q=CO&",
        "/v1/models?",
        "/v1/models/sayings?",
    ),
    *("/query?q=SHOW+CORPORA&", "/query?q=SHOW+CORPORA&_", "/sayings?", "/sayings/versions?"),
    *("/sayings/removals?", "/sayings/documents/0?", "/sayings/@3/documents/0?"),
    *(f"/sayings/{route}?" for route in QUESTIONS),
]
IN_BODIES = {
    "/": {"index": "sayings", "query_type": "count", "query": "flies"},
    "/query": {"q": "SHOW CORPORA"},
    "/batch": {"corpus": "sayings", "ngrams": ["flies"]},
    "/sayings/batch": {"ngrams": ["flies"]},
    "/sayings/attribution": {"response": "time flies"},
    "/sayings/verbs/count": {"arguments": {"ngram": "flies"}},
    "/v1/completions": {"model": "sayings", "prompt": "time"},
    "/sayings/count": {"q": "flies"},
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_address_ignores_a_parameter(client: Any, address: str) -> None:
    answer = client.json(f"{address}nonesuch=1", accept="application/json")
    assert answer["status"] == 400 and "nonesuch" in str(answer["error"]), answer


@pytest.mark.parametrize("where", ["address", "body"])
@pytest.mark.parametrize("address", IN_BODIES)
def test_no_posted_request_ignores_a_parameter(client: Any, address: str, where: str) -> None:
    body = IN_BODIES[address]
    assert client.json(address, "POST", body)["status"] == 200
    if where == "address":
        answer = client.json(f"{address}?nonesuch=1", "POST", body)
    else:
        answer = client.json(address, "POST", {**body, "nonesuch": 1})
    assert answer["status"] == 400, answer
    assert any(name in str(answer["error"]) for name in ("nonesuch", "the body may have q, params")), answer

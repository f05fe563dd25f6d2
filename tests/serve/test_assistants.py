"""The tools for assistants, asked by the library's own client: in this process, and over standard input."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ngramdb

mcp = pytest.importorskip("mcp")
pytest.importorskip("starlette")

from ngramdb.interrupts import Interrupt  # noqa: E402
from ngramdb.serve import assistants, tools  # noqa: E402
from ngramdb.serve.database_pool import open_library  # noqa: E402
from ngramdb.serve.problem_details import Problem  # noqa: E402
from ngramdb.serve.reading import Reader  # noqa: E402

Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("assistants") / "texts.ngdb"
    with ngramdb.connect(path) as connection:
        sayings = connection.create_corpus("sayings")
        sayings.append(
            [
                {"text": "time flies like an arrow", "kind": "proverb", "year": 1930},
                {"text": "fruit flies like a banana", "kind": "joke", "year": 1966},
                {"text": "time flies when you read a book", "kind": "proverb"},
                {"text": "long " * 9000, "kind": "bore"},
            ]
        )
    return path


@pytest.fixture(scope="module")
def reader(database: Path) -> Iterator[Reader]:
    library = open_library([str(database)], tools.LIMITS, {})
    yield Reader(library, tools.LIMITS)
    library.close()


@pytest.fixture(scope="module")
def ask(reader: Reader) -> Ask:
    """A tool's answer."""
    return lambda name, **values: tools.call(reader, name, values, Interrupt(None, 10))


def refused(ask: Ask, name: str, **values: Any) -> str:
    with pytest.raises(Problem) as problem:
        ask(name, **values)
    return tools.explained(problem.value)


@pytest.mark.parametrize(
    ("name", "values", "statement"),
    [
        ("count", {"q": "flies like"}, 'COUNT "flies like"'),
        (
            "count",
            {"pattern": '"time" [0..2] "an"', "where": "year > 1900"},
            'COUNT "time" [0..2] "an" WHERE year > 1900',
        ),
        ("concordance", {"q": "flies", "returning": "kind"}, 'KWIC "flies" RETURNING kind LIMIT 20'),
        ("concordance", {"q": "flies", "descending": True}, 'KWIC "flies" ORDER BY doc_id DESC LIMIT 20'),
        (
            "find_documents",
            {"where": "length < 20", "descending": True},
            "DOCS WHERE length < 20 ORDER BY doc_id DESC LIMIT 20",
        ),
        ("next_tokens", {"q": "flies"}, 'DIST GIVEN "flies" TOP 20'),
        ("previous_tokens", {"q": "flies"}, 'DIST BEFORE "flies" TOP 20'),
        ("find_documents", {"where": "kind = 'joke'"}, "DOCS WHERE kind = 'joke' LIMIT 20"),
        (
            "trace_text",
            {"q": "say time flies like this", "min_length": 2},
            'TRACE "say time flies like this" MIN LENGTH 2',
        ),
        ("frequent_ngrams", {"n": "2", "limit": 3}, "NGRAMS 2 TOP 3"),
        ("collocates", {"q": "flies"}, 'COLLOCATES OF "flies" WINDOW 5 BY LOGDICE TOP 20'),
        ("score_text", {"q": "time flies", "model": "infgram"}, 'SCORE "time flies" USING INFGRAM'),
        ("query", {"statement": 'COUNT "flies" GROUP BY kind'}, 'COUNT "flies" GROUP BY kind'),
    ],
)
def test_a_tool_answers_what_its_statement_does(
    ask: Ask, database: Path, name: str, values: dict[str, Any], statement: str
) -> None:
    with ngramdb.connect(database, read_only=True) as connection:
        expected = connection.execute(statement).to_dicts()
    assert expected
    assert ask(name, **values)["rows"] == json.loads(json.dumps(expected))


def test_counts_by_a_field_are_relative_to_its_parts(ask: Ask) -> None:
    rows = {row["kind"]: row for row in ask("count_by_field", q="flies", by="kind", relative=True)["rows"]}
    assert rows["joke"] == {"kind": "joke", "count": 1, "tokens": 5, "per_million": 200_000.0}
    assert rows["proverb"]["count"] == 2


def test_a_long_document_is_read_in_pieces(ask: Ask) -> None:
    found = ask("find_documents", where="kind = 'bore'")
    assert len(found["rows"][0]["text"]) == tools.MOST_CHARACTERS + 1
    assert "cut" in found["notes"][0]
    start, pieces = 0, []
    while start is not None:
        answer = ask("read_document", doc_id=3, start=start)
        pieces.append(answer["rows"][0]["text"])
        start = answer.get("next_start")
    assert len(pieces) == 3
    assert "".join(pieces) == "long " * 9000


def test_an_answer_has_no_more_rows_than_an_assistant_can_read(ask: Ask) -> None:
    answer = ask("concordance", q="long", limit=100_000)
    assert len(answer["rows"]) == tools.LIMITS.max_rows
    assert answer["truncated"] is True
    further = ask("concordance", q="long", limit=2, offset=200)["rows"]
    assert [row["position"] for row in further] == [200, 201]


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("query", {"statement": 'DELETE DOCS WHERE "time"'}, "only queries, EXPLAIN of queries"),
        ("query", {"statement": "COPY (DOCS) TO '/tmp/stolen.jsonl'"}, "only queries, EXPLAIN of queries"),
        ("query", {"statement": "SET threads = 1"}, "only queries, EXPLAIN of queries"),
        ("query", {"statement": "COUNT DOCS WHERE yaer = 1930"}, "did you mean year?"),
        ("query", {"statement": "COUNT DOCS WHERE yaer = 1930"}, "at: 'yaer'"),
        ("query", {}, "query needs statement"),
        ("count", {}, "give exactly one of q"),
        ("count", {"q": "flies", "corpus": "saying"}, "known: sayings"),
        ("count", {"q": 7}, "q must be a string"),
        ("counts", {"q": "flies"}, "known: list_corpora"),
        ("read_document", {"doc_id": 77}, "no document 77"),
        ("read_document", {"doc_id": -1}, "doc_id must be a whole number"),
    ],
)
def test_what_cannot_be_answered_is_explained(ask: Ask, name: str, values: dict[str, Any], says: str) -> None:
    assert says in refused(ask, name, **values)


def test_every_tool_has_a_schema_that_says_what_each_parameter_is() -> None:
    for tool in tools.TOOLS.values():
        schema = tool.schema()
        assert tool.about.endswith((".", "."))
        assert set(schema.get("required", ())) <= schema["properties"].keys()
        assert all(one["description"] and one["type"] for one in schema["properties"].values())


async def _session(client: Any) -> None:
    async with client:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == list(tools.TOOLS)
        assert all(tool.annotations.read_only_hint for tool in listed)
        counted = await client.call_tool("count", {"q": "flies"})
        assert counted.structured_content["rows"] == [{"count": 3}]
        assert json.loads(counted.content[0].text) == counted.structured_content
        wrong = await client.call_tool("count", {"querry": "flies"})
        assert wrong.is_error
        assert "no parameter 'querry'" in wrong.content[0].text
        many = await asyncio.gather(*(client.call_tool("count", {"q": "time"}) for _ in range(20)))
        assert {one.structured_content["rows"][0]["count"] for one in many} == {2}


def test_the_library_s_client_is_answered_in_this_process(reader: Reader) -> None:
    asyncio.run(_session(mcp.Client(assistants.server_of(reader))))


def test_the_command_answers_over_standard_input_and_output(database: Path) -> None:
    arguments = ["-m", "ngramdb", "mcp", str(database)]
    asyncio.run(_session(mcp.Client(mcp.StdioServerParameters(command=sys.executable, args=arguments))))


CALL: dict[str, Any] = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "list_corpora"}}


def nested(depth: int) -> bytes:
    return b'{"jsonrpc": "2.0", "id": 9, "method": "ping", "params": {"x": %s%s}}' % (
        b"[" * depth,
        b"]" * depth,
    )


LINES = [
    (b"no JSON", None, -32700, "invalid JSON"),
    (b'["' * 3000, None, -32700, "invalid JSON"),
    (b"\xff", None, -32700, "invalid JSON"),
    (nested(500), 9, -32700, "recursion limit exceeded"),
    (nested(5000), 9, -32700, "recursion limit exceeded"),
    (b'{"id": "a", "method": "ping", }', "a", -32700, "trailing comma"),
    (b"[1, 2]", None, -32600, "not a JSON object"),
    (b'{"jsonrpc": "2.0", "id": "a"}', "a", -32600, "its method is not a string"),
    (b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}', 7, -32600, 'its jsonrpc is not "2.0"'),
    (json.dumps({**CALL, "id": 9, "params": []}).encode(), 9, -32600, "its params are not an object"),
    (
        json.dumps({**CALL, "params": {"name": "\ud800"}, "id": 7}).encode(),
        7,
        -32700,
        "invalid JSON: unexpected end of hex escape",
    ),
    *(
        (json.dumps({**CALL, "id": invalid}).encode(), None, -32600, "its id is not an integer or a string")
        for invalid in (1.5, 1.0, None, True, [1], {"a": 1}, float("nan"))
    ),
]


def test_every_line_but_notifications_is_answered(database: Path) -> None:
    command = [sys.executable, "-m", "ngramdb", "mcp", str(database)]
    ping = b'{"jsonrpc": "2.0", "id": "ping", "method": "ping"}\n'
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/unknown"}\n')
        for line, known, code, says in LINES:
            server.stdin.write(line + b"\n" + ping)
            server.stdin.flush()
            answer = json.loads(server.stdout.readline())
            assert (answer["id"], answer["error"]["code"]) == (known, code), line
            assert says in answer["error"]["message"]
            assert json.loads(server.stdout.readline())["id"] == "ping"


def test_ctrl_c_ends_the_command_while_it_waits_for_a_line(database: Path) -> None:
    command = [sys.executable, "-m", "ngramdb", "mcp", str(database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(b'{"jsonrpc": "2.0", "id": "ping", "method": "ping"}\n')
        server.stdin.flush()
        assert server.stdout.readline()
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=60) == 130


def test_no_parameter_is_required_that_another_one_replaces() -> None:
    for tool in tools.TOOLS.values():
        schema = tool.schema()
        assert "ids" not in schema["properties"] or "q" not in schema.get("required", ()), tool.name


@pytest.mark.parametrize("name", ["trace_text", "score_text"])
def test_ids_take_the_place_of_a_text(ask: Ask, name: str) -> None:
    text, ids = ask(name, q="time flies"), ask(name, ids="[0, 1]")
    assert text["rows"] == ids["rows"]
    assert "q (text) or ids" in refused(ask, name)


@pytest.mark.parametrize("text", ["flies " * 5000, '"' * 3 + "flies " * 5000])
@pytest.mark.parametrize("name", ["trace_text", "score_text", "query", "count"])
def test_an_answer_does_not_repeat_a_long_text(ask: Ask, name: str, text: str) -> None:
    statement = f'COUNT "{text}" FORM sayings'
    values = {"query": {"statement": statement}, "count": {"pattern": statement}}.get(name, {"q": text})
    try:
        said = json.dumps({**ask(name, **values), "rows": [], "tokens": []})
    except Problem as problem:
        said = tools.explained(problem)
    assert len(said) < 2 * tools.MOST_CHARACTERS


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("list_corpora", {"limit": 2**80}),
        ("count", {"q": "flies", "version": 2**63}),
        ("read_document", {"doc_id": str(10**30)}),
        ("find_documents", {"sample": 3, "seed": 2**100}),
        ("count", {"ids": "9" * 5000}),
    ],
)
def test_the_greatest_integer_is_named(ask: Ask, name: str, values: dict[str, Any]) -> None:
    assert "a whole number of at most 9223372036854775807, not" in refused(ask, name, **values)

"""Answers at the addresses of a corpus."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.ipc
import pyarrow.parquet
import pytest

import ngramdb
from ngramdb.serve.database_pool import FRESH_S
from ngramdb.serve.problem_details import Limits
from ngramdb.serve.requests import QUESTIONS

ROWS: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("count?q=flies", [(4,)]),
    ("count?q=Flies", [(0,)]),
    ("count?q=Flies&ignore_case", [(4,)]),
    ("count?ids=[1]", [(4,)]),
    ("count?q=flies&where=kind+%3D+'joke'", [(2,)]),
    ("count?pattern=" + quote('"flies" [0..1] "an"'), [(2,)]),
    (
        "concordance?q=an&window=1&returning=kind",
        [(0, 3, "like ", "an", " arrow", "proverb"), (3, 3, "like ", "an", " apple", "joke")],
    ),
    (
        "concordance?q=an&order=right&window=1",
        [(3, 3, "like ", "an", " apple"), (0, 3, "like ", "an", " arrow")],
    ),
    ("documents?q=fruit&returning=doc_id,year", [(1, 1966), (3, 1961)]),
    ("documents?q=fruit&where=year+<+1965&returning=doc_id", [(3,)]),
    ("documents?order=year&descending=1&limit=1&returning=doc_id", [(1,)]),
    ("documents?descending&limit=2&returning=doc_id", [(3,), (2,)]),
    ("documents?q=fruit&descending&returning=doc_id", [(3,), (1,)]),
    ("concordance?q=an&descending&window=0", [(3, 3, "", "an", ""), (0, 3, "", "an", "")]),
    ("documents?sample=4&seed=1&returning=length&where=doc_id=2", [(7,)]),
    ("next?q=flies+like&limit=1", [("an", 3, 2, 2 / 3)]),
    ("before?q=flies&limit=5", [("time", 0, 2, 0.5), ("fruit", 5, 2, 0.5)]),
    ("before?q=flies&where=kind+%3D+'joke'", [("fruit", 5, 2, 1.0)]),
    ("ngrams?n=2&limit=1", [("flies like", [1, 2], 3)]),
    ("ngrams?n=3..4&starting=time&with_docs&limit=1&min_count=1", [("time flies like", [0, 1, 2], 1, 1)]),
    ("frequency?q=a&by=kind", [("joke", 1), ("proverb", 1)]),
    ("frequency?by=kind", [("joke", 2), ("proverb", 2)]),
    ("frequency?q=flies&by=year&period=10", [(1930, 1), (1960, 2), (None, 1)]),
    ("frequency?q=flies&by=day&period=year", [(1930, 1), (1966, 2), (None, 1)]),
    (
        "frequency?q=flies&by=day&period=month&order=count",
        [(1966, 1, 2), (1930, 5, 1), (None, None, 1)],
    ),
    (
        "frequency?by=day,kind&period=day&where=day>'1960'",
        [(1966, 1, 2, "joke", 1), (1966, 1, 30, "joke", 1)],
    ),
    (
        "frequency?q=an&by=year&period=10&relative",
        [(1930, 1, 5, 2e5), (1960, 1, 10, 1e5), (None, 0, 7, 0)],
    ),
    (
        "frequency?q=an&by=kind&relative",
        [("joke", 1, 10, 1e5), ("proverb", 1, 12, 1e6 / 12)],
    ),
    ("frequency?q=an&by=kind&documents&where=year>0", [("joke", 1), ("proverb", 1)]),
    ("duplicates?length=2&limit=1", [("flies like an", 3, 11, 2, 2, 0, 1, 3)]),
    ("duplicates?length=9&unit=bytes&order=length&offset=9", []),
    ("duplicates?length=2&by=documents&where=kind='joke'&limit=1", [(1, 5, 3, 0.6, 3)]),
    ("near_duplicates?contained=0.5&n=2", [(3, 0, 0.5, pytest.approx(1 / 3), 5, 5, "words")]),
    ("trace?q=I+say+fruit+flies+like+a+bird&min_length=2", [(2, 4, "fruit flies like a", 1, [1])]),
    ("probability?q=an&given=flies+like", [(2 / 3, 2, 3, 3, False)]),
    (
        "perplexity?q=time+flies&models=infgram,backoff&orders=1",
        [
            (
                name,
                1,
                1,
                3,
                0,
                0,
                0,
                *(pytest.approx(x, rel=1e-5) for x in (*[8.189487] * 3, 3.033773, 0.910132)),
            )
            for name in ("INFGRAM", "BACKOFF(0.4)")
        ],
    ),
    (
        "agreement?q=time+flies+like&by=length&skip=1",
        [("INFGRAM", None, 2, 1, 1, 1.0, 1, 1, 1.0), ("INFGRAM", None, 3, 1, 0, 0.0, 0, 0, None)],
    ),
    (
        "novelty?q=a+flies+bird&n=1..2",
        [(1, 3, 1, pytest.approx(1 / 3), pytest.approx(1 / 3), 8.0), (2, 2, 2, 1.0, 1.0, 8.0)],
    ),
    (
        "novelty?of=sayings&n=2&by=kind&where=kind='joke'",
        [
            ("joke", 2, 8, 0, 0.0, 0.0, pytest.approx(7.0)),
            ("proverb", 2, 10, 8, 0.8, 0.75, 8.0),
        ],
    ),
    (
        "continuations?q=flies",
        [("after", 4, 2, 1, 0, 1), ("before", 4, 2, 0, 2, 0), ("both", 4, 3, 2, 1, 0)],
    ),
    ("generate?q=fruit&tokens=2", [(1, "flies like", pytest.approx(0, abs=1))]),
    ("keywords?where=kind='joke'&limit=1", [("fruit", [5], 2, 10, 0, 12, pytest.approx(3.1538, abs=1e-4))]),
]


@pytest.mark.parametrize(("target", "rows"), ROWS, ids=[target.partition("?")[0] for target, _ in ROWS])
def test_answers(client: Any, target: str, rows: list[tuple[Any, ...]]) -> None:
    name, _, query = target.partition("?")
    query = "&".join(quote(part, safe="=+%&'") for part in query.split("&"))
    assert client.rows(f"/sayings/{name}.json?{query}") == rows


@pytest.mark.parametrize("pattern", ['"FLIES" [0..1] "AN"', '"FLIES" -- a comment', "/FL.*/"])
def test_flags_beside_a_pattern_are_of_the_whole_pattern(client: Any, pattern: str) -> None:
    plain, folded = (
        client.rows(f"/sayings/count.json?pattern={quote(text)}{flag}")
        for text, flag in ((pattern.lower(), ""), (pattern, "&ignore_case"))
    )
    assert folded == plain != [(0,)]
    if pattern.startswith("/"):
        assert client.ask(f"/sayings/count.json?pattern={quote(pattern)}&match_text").status == 400


@pytest.mark.parametrize("n", ["n", "1..x", "..", "9" * 5000, ""])
def test_lengths_that_are_not_numbers_are_refused(client: Any, n: str) -> None:
    found = client.json("/sayings/novelty", "POST", {"q": "time flies", "n": n})
    assert found["status"] == 400 and "a range" in found["error"]


def test_the_smoothing_of_a_measure(client: Any) -> None:
    target = "/sayings/keywords?where=kind='joke'&by=simple&limit=1"
    found = client.json(f"{target}&smoothing=1000")
    assert "BY SIMPLE(1000.0)" in found["statement"]
    assert found["rows"][0]["simple"] != client.json(target)["rows"][0]["simple"]
    for query, message in (
        ("by=simple&smoothing=0", "above 0"),
        ("smoothing=2", "applies to by=simple only"),
    ):
        found = client.json(f"/sayings/keywords?where=kind='joke'&{query}")
        assert found["status"] == 400 and message in found["error"]


@pytest.mark.parametrize("name", ["before", "trace", "score", "probability"])
def test_a_question_about_nothing_is_refused(client: Any, name: str) -> None:
    found = client.json(f"/sayings/{name}")
    assert (found["status"], found["error"]) == (400, "give an n-gram as q (text) or ids (token ids)")


def test_without_a_context_the_next_token_is_any_of_the_corpus(client: Any) -> None:
    rows = client.rows("/sayings/next?limit=2")
    assert rows == client.rows("/sayings/next?q=&limit=2")
    assert rows[0][:3] == ("flies", 1, 4)


def test_a_window_or_the_sentence(client: Any) -> None:
    found = client.json("/sayings/concordance?q=an&sentence=true&window=3")
    assert (found["status"], found["error"]) == (
        400,
        "give either window (tokens on either side) or sentence, not both",
    )
    assert client.rows("/sayings/concordance?q=an&sentence=false&window=1&limit=1")


COLLOCATES = [
    ("", {}, "WINDOW 5"),
    ("&window=1", {"window": 1}, "WINDOW 1"),
    ("&sentence", {"window": "sentence"}, "WINDOW SENTENCE"),
    ("&sentence&within_sentence", {"window": "sentence", "within_sentence": True}, "WINDOW SENTENCE"),
    ("&within_sentence", {"within_sentence": True}, "WINDOW 5 WITHIN SENTENCE"),
    ("&window=1&within_sentence", {"window": 1, "within_sentence": True}, "WINDOW 1 WITHIN SENTENCE"),
    ("&window=1&sentence=no&within_sentence=0", {"window": 1}, "WINDOW 1"),
]


@pytest.mark.parametrize(("query", "named", "window"), COLLOCATES)
def test_what_stands_near_may_end_with_the_sentence(
    served: Any, tmp_path: Path, query: str, named: dict[str, Any], window: str
) -> None:
    path = tmp_path / "a.ngdb"
    with ngramdb.connect(path) as db:
        corpus = db.create_corpus("corpus")
        corpus.append(["It rained. A cat sat on a mat, and much later it left. Dogs came. A cat."])
        expected = corpus.collocates("cat", min_count=2, **named).fetchall()
        wide = corpus.collocates("cat", min_count=2, window=5).fetchall()
    found = served(Limits(time_limit=20.0), path).json(f"/corpus/collocates?q=cat&min_count=2{query}")
    assert [tuple(row.values()) for row in found["rows"]] == expected != []
    assert found["statement"].startswith(f'COLLOCATES OF "cat" FROM corpus {window} BY LOGDICE')
    assert (expected == wide) == (window == "WINDOW 5")


def test_what_stands_near_has_a_window_or_the_sentence(client: Any) -> None:
    for query in ("sentence&window=3", "sentence&window=5&within_sentence"):
        found = client.json(f"/sayings/collocates?q=an&{query}")
        assert (found["status"], found["error"]) == (
            400,
            "give either window (tokens on either side) or sentence, not both",
        )


@pytest.mark.parametrize("query", ["q=%ff", "q=a%ed%a0%80", "%c3=1", b"q=\xff".decode("latin-1")])
def test_parameters_that_are_not_utf8_are_refused(client: Any, query: str) -> None:
    target = "/letters/count?" + query.encode("latin-1").decode("utf-8", "surrogateescape")
    found = client.json(target)
    assert (found["status"], found["error"]) == (400, "the parameters of the address are not UTF-8")


def test_letters_that_were_not_quoted_are_taken_as_utf8(served: Any, tmp_path: Path) -> None:
    """As curl sends them: they were read as Latin-1 once, and then found nowhere."""
    with ngramdb.connect(tmp_path / "a.ngdb") as db:
        db.create_corpus("corpus").append(["die Größe der Maße"])
    client = served(Limits(time_limit=20.0), tmp_path / "a.ngdb")
    assert client.rows("/corpus/count?q=Größe") == client.rows("/corpus/count?q=Gr%C3%B6%C3%9Fe") == [(1,)]


def test_every_question_is_asked_above() -> None:
    asked = {target.partition("?")[0] for target, _ in ROWS}
    assert QUESTIONS.keys() - asked == {"collocates", "dispersion", "score"}


@pytest.mark.parametrize("name", ["collocates", "dispersion", "score"])
def test_other_questions_answer_as_their_statements(client: Any, name: str) -> None:
    found = client.json(f"/sayings/{name}.json?q=flies+like")
    asked = client.json("/query.json?q=" + quote(found["statement"]))
    assert found["status"] == asked["status"] == 200
    assert found["rows"] == asked["rows"] != []


def test_the_statement_that_is_shown_is_the_one_that_was_run(client: Any) -> None:
    for target, rows in ROWS:
        name, _, query = target.partition("?")
        query = "&".join(quote(part, safe="=+%&'") for part in query.split("&"))
        found = client.json(f"/sayings/{name}.json?{query}")
        again = client.json("/query.json?q=" + quote(found["statement"]))
        assert again["columns"] == found["columns"], target
        assert again["rows"] == found["rows"], (target, rows)


def test_periods_of_what_is_no_date_are_those_of_the_language(served: Any, tmp_path: Path) -> None:
    path = tmp_path / "dates.ngdb"
    dates = ["2001-05-17", "2001", "2001-13-40", "nope", "", "2001-05"]
    with ngramdb.connect(path) as db:
        db.create_corpus("c").append({"text": "a", "date": date} for date in dates)
    client = served(Limits(time_limit=20.0), path)
    assert client.rows("/c/frequency.json?q=a&by=date&period=year") == [(2001, 3), (None, 3)]
    found = client.json("/c/frequency.json?q=a&by=date&period=month")
    assert found["statement"] == 'COUNT "a" FROM c GROUP BY YEAR(date), MONTH(date)'
    assert [tuple(row.values()) for row in found["rows"]] == [(2001, 5, 2), (2001, None, 1), (None, None, 3)]


def test_documents_are_not_counted_per_million_tokens(client: Any) -> None:
    for query in ("by=kind&relative", "q=an&by=kind&documents&relative"):
        found = client.json(f"/sayings/frequency.json?{query}")
        assert (found["status"], found["error"][:27]) == (400, "relative counts occurrences")


def test_an_answer_says_all_about_itself(client: Any) -> None:
    found = client.json("/sayings/concordance.json?q=flies&limit=3")
    assert found["corpus"] == "sayings"
    assert found["statement"] == 'KWIC "flies" FROM sayings LIMIT 3'
    assert found["columns"] == ["doc_id", "position", "left", "match", "right"]
    assert (found["n_rows"], found["truncated"], found["summary"]["total"]) == (3, True, 4)
    following = client.json(found["next"])
    assert (following["n_rows"], following["truncated"], following["next"]) == (1, False, None)
    assert (
        client.ask("/sayings/concordance.json?q=flies&limit=3").headers["link"]
        == f'<{found["next"]}>; rel="next"'
    )


@pytest.mark.parametrize(
    "target",
    [
        "/numbers/documents.json?returning=n&limit=7",
        "/numbers/concordance.json?q=a&returning=n&limit=7",
        "/numbers/frequency.json?q=a&by=n&limit=7",
        "/query.json?q=DOCS+RETURNING+n+FROM+numbers&_limit=7",
        "/query.json?q=DOCS+RETURNING+n+FROM+numbers+AT+VERSION+3&_limit=7",
    ],
)
def test_pages_are_of_one_version(served: Any, tmp_path: Path, target: str) -> None:
    with ngramdb.connect(tmp_path / "n.ngdb") as db:
        corpus = db.create_corpus("numbers")
        corpus.append([{"text": "a b", "n": n} for n in range(20)])
        client = served(Limits(time_limit=20.0), tmp_path / "n.ngdb")
        rows = []
        for page in range(3):
            found = client.json(target)
            if "query" in target and "VERSION" not in target and page:
                assert (found["status"], found["error"][9:29]) == (409, " was committed while")
                return
            rows += [row["n"] for row in found["rows"]]
            target = found["next"]
            corpus.delete(f"n = {page}")
            time.sleep(1.5 * FRESH_S)
        assert (rows, target) == (list(range(20)), None)


@pytest.mark.parametrize("question", ["concordance.json?q=a", "documents.json?returning=doc_id"])
def test_pages_of_a_sample_are_of_one_sample(served: Any, tmp_path: Path, question: str) -> None:
    with ngramdb.connect(tmp_path / "n.ngdb") as db:
        db.create_corpus("numbers").append(["a b"] * 60)
    client = served(Limits(time_limit=20.0), tmp_path / "n.ngdb")
    target, rows = f"/numbers/{question}&sample=60&limit=20", []
    while target is not None:
        found = client.json(target)
        rows += [row["doc_id"] for row in found["rows"]]
        target = found["next"]
    assert sorted(rows) == list(range(60))


def test_a_statement_without_a_seed_has_no_second_page_of_its_sample(client: Any) -> None:
    found = client.json("/query.json?q=KWIC+%22flies%22+SAMPLE+4+FROM+sayings&_limit=2")
    again = client.json(found["next"])
    seed = found["summary"]["seed"]
    remedy = again["error"].rpartition("; ")[2]
    assert (again["status"], remedy) == (409, f"SEED {seed} continues this one")
    seeded = "/query.json?q=KWIC+%22flies%22+SAMPLE+4+SEED+5+FROM+sayings&_limit=2"
    first = client.json(seeded)
    pages = first["rows"] + client.json(first["next"])["rows"]
    assert pages == client.json(seeded.replace("=2", "=4"))["rows"]


@pytest.mark.parametrize(
    "name", ["documents?q=flies", "next?q=flies+like", "ngrams?n=1", "trace?q=a+an+flies+an"]
)
def test_pages_together_are_the_whole_answer(client: Any, name: str) -> None:
    question, _, query = name.partition("?")
    whole = client.json(f"/sayings/{question}.json?{query}")["rows"]
    target, rows = f"/sayings/{question}.json?{query}&limit=1", []
    while target is not None:
        page = client.json(target)
        rows += page["rows"]
        target = page["next"]
    assert rows == whole
    assert len(rows) > 1


def test_all_formats_have_the_same_rows(client: Any) -> None:
    target = "/sayings/next.%s?q=flies"
    rows = client.json(target % "json")["rows"]
    assert [json.loads(line) for line in client.ask(target % "jsonl").body.splitlines()] == rows
    assert client.ask(target % "csv").body.decode().splitlines()[1] == "like,2,3,0.75"
    arrow = client.ask(target % "arrow")
    assert arrow.headers["content-type"] == "application/vnd.apache.arrow.stream"
    assert pyarrow.ipc.open_stream(io.BytesIO(arrow.body)).read_all().to_pylist() == rows


def test_a_document_has_its_matches_marked(client: Any) -> None:
    found = client.json("/sayings/documents/2.json?q=time+flies")
    text = found["rows"][0]["text"]
    assert [text[start:stop] for start, stop in found["matches"]] == ["time flies"]
    found = client.json("/letters/documents/0.json?q=bra")
    assert found["matches"] == [[1, 4], [8, 11]]
    assert client.json("/sayings/documents/99.json")["status"] == 404


def test_what_there_is(client: Any) -> None:
    assert client.rows("/corpora.json") == [
        ("letters", "web", 5, "chars", 1, 11),
        ("sayings", "web", 5, "words", 4, 22),
    ]
    found = client.json("/sayings.json")
    assert (found["documents"], found["tokens"], found["tokenizer"]) == (4, 22, "words")
    assert found["fields"] == {"kind": "string", "year": "int64", "day": "string"}
    assert (found["tokens_are"], client.json("/letters.json")["tokens_are"]) == ("words", "other")
    assert [row[0] for row in client.rows("/sayings/versions.json")] == [2, 3]
    assert client.rows("/sayings/removals.json") == []


def test_parameters_may_be_sent_as_an_object(client: Any) -> None:
    found = client.json("/sayings/count.json", "POST", {"ids": [1, 2]})
    assert found["rows"] == [{"count": 3}]
    found = client.json("/query.json", "POST", {"q": "COUNT ?", "params": [[1, 2]]})
    assert found["status"] == 400  # which corpus?
    found = client.json("/query.json", "POST", {"q": "COUNT ? FROM sayings", "params": [[1, 2]]})
    assert found["rows"] == [{"count": 3}]


def test_values_of_a_statement_stand_in_the_address(client: Any) -> None:
    target = (
        "/query.json?q="
        + quote("COUNT DOCS FROM sayings WHERE year > :least AND :word")
        + "&least=1950&word=an"
    )
    assert client.rows(target) == [(1,)]


@pytest.mark.parametrize(
    "asked",
    [
        "count?q=flies",
        "dispersion?q=flies",
        "frequency?by=kind",
        "probability?q=flies&given=time",
        "next?q=an",
    ],
)
def test_rows_are_passed_over_of_every_answer(client: Any, asked: str) -> None:
    rows = client.json(f"/sayings/{asked.replace('?', '.json?')}")["rows"]
    assert rows
    for n in (0, 1, 3):
        assert client.json(f"/sayings/{asked.replace('?', '.json?')}&offset={n}")["rows"] == rows[n:]


def test_a_statement_without_from_is_about_the_corpus_that_the_request_names(client: Any) -> None:
    q = "q=COUNT+%22flies%22&_corpus=sayings"
    assert client.rows(f"/query.json?{q}") == [(4,)]
    assert client.json("/query.json", "POST", {"q": 'COUNT "flies"', "corpus": "sayings"})["rows"] == [
        {"count": 4}
    ]
    missing = client.json("/query.json?q=COUNT+%22flies%22&_corpus=nowhere")
    assert missing["status"] == 404 and "nowhere" in missing["error"]


def test_a_version_is_addressed_by_its_name(served: Any, tmp_path: Any) -> None:
    path = tmp_path / "named.ngdb"
    with ngramdb.connect(path) as db:
        corpus = db.create_corpus("c")
        corpus.append(["a b", "c"])
        number = db.keep_version("before it/all")
        corpus.delete('"a"')
    client = served(Limits(time_limit=20.0), path)
    address = "/c/@before%20it%2Fall/count.json?q=a"
    by_name, by_number = client.ask(address), client.ask(f"/c/@{number}/count.json?q=a")
    assert client.rows(address) == [(1,)]
    assert (client.json(address)["version"], client.json(address)["statement"]) == (
        number,
        f'COUNT "a" FROM c AT VERSION {number}',
    )
    # The name may become that of another version.
    assert by_name.headers["cache-control"] == "no-cache"
    assert "immutable" in by_number.headers["cache-control"]
    assert dict(client.rows("/c/@before%20it%2Fall.json"))["documents"] == 2
    assert client.rows("/query.json?q=COUNT+DOCS+FROM+c+AT+VERSION+'before+it/all'") == [(2,)]
    assert ("before it/all",) in {row[-1:] for row in client.rows("/c/versions.json")}
    missing = client.json("/c/@nothing/count.json?q=a")
    assert missing["status"] == 404 and "no version is kept as 'nothing'" in str(missing)


@pytest.mark.parametrize("target", ["documents?", "concordance?q=x&returning=n", "frequency?q=x&by=n"])
@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_tables_have_the_types_that_fields_came_with(
    served: Any, tmp_path: Path, target: str, form: str
) -> None:
    with ngramdb.connect(tmp_path / "types.ngdb") as db:
        table = pyarrow.table({"text": ["x"], "n": pyarrow.array([1], pyarrow.int8())})
        db.create_corpus("c").append(table)
    client = served(Limits(time_limit=20.0), tmp_path / "types.ngdb")
    found = client.ask("/c/" + target.replace("?", f".{form}?"))
    file = io.BytesIO(found.body)
    read = pyarrow.ipc.open_stream(file) if form == "arrow" else pyarrow.parquet.ParquetFile(file)
    schema = read.schema if form == "arrow" else read.schema_arrow
    assert schema.field("n").type == pyarrow.int8()

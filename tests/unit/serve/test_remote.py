"""`ngramdb.connect("http://…")`: the same verbs, and the same answers, over HTTP."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import pickle
import re
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.array_likes import ARRAYS

import ngramdb
from ngramdb.api import wire
from ngramdb.serve.app import Access, Service
from ngramdb.serve.database_pool import open_library
from ngramdb.serve.problem_details import Limits
from ngramdb.serve.server import Place, listening
from ngramdb.serve.verbs import KINDS, arguments_of

uvicorn = pytest.importorskip("uvicorn")


# Arguments that no service accepts, with the error, which is the same at both ends.
NOT_TAKEN = [
    lambda db: db.corpus("sayings").count("flies", match_text="no"),
    lambda db: db.corpus("sayings").kwic("flies", ignore_case=1),
    lambda db: db.corpus("sayings").ngrams(1, with_docs="yes"),
    lambda db: db.execute('COUNT "flies" FROM sayings', timeout=-1),
    lambda db: db.execute('COUNT "flies" FROM sayings', timeout="1"),
]


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
    *[
        (verb, (ngramdb.pattern("? * ?", [[-1], [2]]),), {})
        for verb in ("count", "kwic", "occurrences", "collocates", "dispersion")
    ],
    ("count", (ngramdb.pattern(":a :b", {"a": np.array([0, -1]), "b": "flies"}),), {}),
    ("count", (ngramdb.pattern('("FLIES" | "time") *'),), {"ignore_case": True}),
    ("collocates", (ngramdb.pattern("/fl.*/"),), {"window": 2}),
    ("count", ("flies",), {"where": "year > ?", "params": [1962]}),
    ("prob", ("an", "flies like"), {"where": "kind = :kind", "params": {"kind": "joke"}}),
    ("dist", ("like",), {"where": "kind = 'joke'", "model": "kneser_ney"}),
    ("score", ("time flies like an apple",), {"where": "kind = 'joke'"}),
    ("generate", ("time",), {"tokens": 3, "where": "kind = 'proverb'"}),
    ("stream", ("time",), {"tokens": 3, "where": "kind = 'proverb'"}),
    ("trace", ("an apple flies",), {"where": "year < 1962"}),
    ("perplexity", (["fruit flies"],), {"where": "kind = 'joke'"}),
    ("count_docs", (), {}),
    ("count_docs", ('"fruit" AND year > ?',), {"params": [1962]}),
    ("count_docs", ("kind = :kind",), {"params": {"kind": "joke"}}),
    ("docs", (), {"order_by": "year", "descending": True, "returning": ["doc_id", "year"]}),
    ("docs", ('"time"',), {"limit": 1, "offset": 1}),
    ("docs", ("PERPLEXITY(KNESER_NEY FROM sayings) < ? AND LONGEST_SEEN() > 1",), {"params": [9.5]}),
    ("docs", (), {"order_by": ["SHARE_SEEN(2, 2)", "PERPLEXITY(BACKOFF)"], "limit": 3}),
    ("count_docs", ("LOOP_SHARE(2) = 0 OR DUP_LINE_SHARE(AS datamap) > 0.1",), {}),
    ("counts", ("flies",), {"group_by": ["LONGEST_SEEN()", "PERPLEXITY(NGRAM ORDER 2 MIN COUNT 2)"]}),
    ("sample", (3,), {"seed": 7}),
    ("sample", (), {"tokens": "0.01K", "by": "year", "weights": {1962: 2, None: 1}, "seed": 7}),
    ("kwic", ("flies",), {"window": 2, "order_by": "right", "returning": "kind"}),
    ("kwic", ("flies",), {"window": "sentence"}),
    ("ngrams", (2,), {"top": 5}),
    ("ngrams", ((1, 3),), {"min_count": 3, "where": "kind = ?", "params": ["joke"]}),
    ("collocates", ("flies",), {"window": 2, "by": "ll", "top": 3}),
    ("collocates", ("flies",), {"window": "sentence"}),
    ("collocates", ("flies",), {"window": (1, 2), "within_sentence": True}),
    ("trace", ("an apple flies like a bird",), {"min_length": 2}),
    (
        "near_duplicates",
        (),
        {"contained": 0.5, "n": 1, "keep": "first", "candidates": (4, 2), "rejected": True},
    ),
    (
        "near_duplicates",
        ("year > ?",),
        {"params": [1900], "keep_by": ["year"], "descending": True, "limit": 1},
    ),
    ("dist", ("flies",), {"model": "infgram", "top": 3}),
    ("dist_before", ("flies",), {}),
    ("prob", ("an",), {"given": "flies like"}),
    ("prob", (1,), {"given": [0]}),
    ("prob", ("an",), {"given": "never seen"}),
    ("score", ("time flies like an apple",), {"model": "infgram"}),
    ("score", ("time flies",), {"model": "kneser_ney", "document": True}),
    ("score", ("time flies",), {"model": "kneser_ney", "sentence": True}),
    ("count_many", (["flies", "never", [1, 2]],), {}),
    ("count_many", ((np.array([1, 2, 1]), np.array([0, 2, 3])),), {}),
    # As many forms as are taken here.
    ("kwic", ("flies",), {"order_by": ["year", "kind"], "descending": True, "returning": ("kind", "year")}),
    ("docs", (), {"order_by": ("kind", "year"), "returning": ("kind", "year"), "limit": np.int64(2)}),
    ("trace", ("an apple flies",), {"returning": ("kind",), "min_length": np.int64(1)}),
    ("counts", (("flies", "time"),), {"group_by": ("kind",)}),
    ("counts", (ngramdb.pattern('"flies" *'),), {}),
    ("occurrences", (ngramdb.pattern('"flies" *'),), {}),
    ("count_many", (("flies", "never"),), {}),
    ("count_many", (("flies", "never", [1]),), {}),
    ("count_many", (pd.Series(["flies", "never"]),), {}),
    ("count_many", (np.array(["flies", "never"]),), {}),
    ("prob_many", (("flies",), ("like",)), {}),
    ("dist_many", (("flies", "time"),), {}),
    ("score_many", (("flies like", "time"),), {}),
    ("prob", (np.int64(1), "time"), {}),
    ("dist", ([np.int64(1)],), {"top": np.uint8(1)}),
    ("generate", ("time",), {"tokens": np.int64(2), "seed": np.int64(1)}),
    ("perplexity", (pd.Series(["time flies"]),), {}),
    ("perplexity", (("time flies", "an apple"),), {}),
    ("agreement", (("time flies",),), {}),
    ("count", (pa.array([1, 2]),), {}),
    ("count_many", (pa.array(["flies", "never"]),), {}),
    ("counts", (pd.Series(["flies", "never"]),), {}),
    ("counts", (["flies", "time"],), {"group_by": ["kind"], "per_million": True}),
    ("occurrences", ("flies",), {"where": "kind = ?", "params": ["joke"]}),
    ("document", (2,), {}),
    ("keywords", ("kind = 'joke'",), {"min_count": 2}),
    ("dispersion", ("flies",), {"by": "kind"}),
    ("duplicates", (), {"length": 2, "order_by": "count", "descending": True}),
    ("trace_arrays", ("an apple flies like a bird",), {}),
    ("match_lengths", ([0, 1, 2],), {}),
    ("prob_many", (["flies", [0, 1]], np.array([2, 2])), {"model": ngramdb.lm.KneserNey()}),
    ("dist_arrays", ([1],), {"model": "infgram"}),
    ("dist_many", (["flies", [0]],), {}),
    ("score_many", (["time flies", [1, 2, 3]],), {"sentence": True}),
    ("generate", ("time",), {"tokens": 3, "temperature": 1.0, "seed": 1, "n": 2}),
    ("stream", ("time",), {"tokens": 3}),
    ("draft", ("time", 3), {}),
    ("perplexity", (["time flies", {"text": "an apple"}],), {"model": "kneser_ney"}),
    ("agreement", (iter(["time flies like", [0, 1]]),), {}),
    ("perplexity_table", ("time flies",), {"models": "kneser_ney, backoff", "orders": [1, None]}),
    ("agreement_table", ([0, 1, 2],), {"skip": 1, "with_argmax": True}),
    ("novelty", ("time flies like a bird",), {"n": 2, "where": "kind = 'joke'"}),
    ("continuations", ("flies",), {}),
]


def plain(value: Any) -> Any:
    """Return a comparable form: every number and text of an answer, with its type."""
    if isinstance(value, ngramdb.Result):
        return value.columns, value.types, value.fetchall(), value.summary
    if isinstance(value, Iterator):
        return "".join(value)
    if isinstance(value, np.ndarray):
        return value.dtype, value.tolist()
    for names in (getattr(value, "_fields", ()), getattr(value, "__dataclass_fields__", ())):
        if names:
            return type(value), [plain(getattr(value, name)) for name in names if name != "seconds"]
    if isinstance(value, ngramdb.DocumentScores):
        return plain(value.offsets), [plain(one) for one in value]
    if isinstance(value, ngramdb.Scores):
        return [plain(getattr(value, name)) for name in ngramdb.Scores.__slots__]
    if isinstance(value, list):
        return [(type(one), one, plain(one.token_ids), one.logprob, one.ended) for one in value]
    return type(value), repr(value)


def again(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments that can be read twice."""
    return tuple(list(one) if isinstance(one, Iterator) else one for one in given)


@pytest.mark.filterwarnings("ignore::ngramdb.PhraseWarning")
@pytest.mark.parametrize(("verb", "given", "named"), VERBS, ids=[verb for verb, _, _ in VERBS])
def test_verbs_answer_as_they_do_here(folder: Path, address: str, verb: str, given: Any, named: Any) -> None:
    check_alike(folder, address, verb, again(given), named)


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_of_any_kind_are_sent(folder: Path, address: str, kind: str) -> None:
    made = ARRAYS[kind]
    for verb in ("count_many", "dist_many", "score_many"):
        check_alike(folder, address, verb, ((made([1, 2, 1]), made([0, 2, 3])),), {})
    check_alike(folder, address, "prob_many", (["flies", [0, 1]], made([2, 2])), {})
    check_alike(folder, address, "perplexity", ([made([1, 2])],), {})


def check_alike(folder: Path, address: str, verb: str, given: Any, named: Any) -> None:
    """Assert that a verb has the same answer from the service and from the database, whole and in part."""
    with ngramdb.connect(folder) as here, ngramdb.connect(address, token="sesame") as there:
        corpora = here.corpus("sayings"), there.corpus("sayings")
        # By repr: NaN is not equal to itself.
        expected, found = (repr(plain(getattr(one, verb)(*given, **named))) for one in corpora)
        assert found == expected
        # A sample's rows are other ones in a corpus of other documents, so these are compared alone.
        if verb in ("document", "sample"):
            return
        expected, found = (
            repr(plain(getattr(one.where("year > ?", params=[1]), verb)(*given, **named))) for one in corpora
        )
        assert found == expected


#: Verbs that a service refuses: those that write, that need local files, or that are state of a process.
REFUSED = {
    *(
        "append",
        "load",
        "delete",
        "compact",
        "restore",
        "add",
        "subtract",
        "add_fields",
        "cut_duplicates",
        "cut_spans",
        "decontaminate",
        "delete_duplicates",
        "delete_near_duplicates",
        "keep_sample",
        "drop_fields",
        "update",
        "analyze",
        "copy",
    ),
    *(
        "export",
        "export_arpa",
        "export_infini_gram",
        "export_ngrams",
        "export_removals",
        "removals",
        "removed_documents",
    ),
    *("language_model", "matcher", "quotations", "tokenizer", "warm", "quality"),
}
REFUSED_OF_CONNECTIONS = {
    *("create_corpus", "drop_corpus", "commit_parts", "attach", "detach", "use", "current_corpus"),
    *("keep_version", "drop_version", "trial"),
    *("refresh", "interrupt", "progress", "snapshot", "rollback"),
}


def test_every_verb_is_asked_or_refused(address: str) -> None:
    """A verb that is added to `Corpus` is answered by a service, or names an alternative."""
    asked = {verb for verb, _, _ in VERBS}
    public = {name for name in vars(ngramdb.Corpus) if not name.startswith("_")}
    assert set(wire.VERBS) | {"stream"} == asked
    assert public == asked | set(wire.PROPERTIES) | {"where", "batch"} | REFUSED
    db = ngramdb.connect(address, token="sesame")
    corpus = db.corpus("sayings")
    for of, names in ((corpus, REFUSED), (db, REFUSED_OF_CONNECTIONS)):
        for name in names:
            with pytest.raises(ngramdb.NotSupportedError, match=name):
                getattr(of, name)()
    for verb in wire.VERBS:
        for kinds in arguments_of(verb).values():
            assert set(kinds) <= KINDS.keys(), verb
        assert inspect.signature(getattr(corpus, verb)) == inspect.signature(
            getattr(ngramdb.connect().create_corpus("a"), verb)
        )


def test_attributes_that_a_newer_server_sends_are_left_out() -> None:
    with ngramdb.connect() as db:
        db.create_corpus("c").append(["a b a c"])
        scores = db.corpus("c").score("a b", model="kneser_ney")
    sent = wire.sent(scores)
    sent["of"].append("a new attribute")
    assert wire.received(sent).suffix_count.tolist() == scores.suffix_count.tolist()


def test_a_connection_has_the_names_of_a_local_one(folder: Path, address: str) -> None:
    public = {name for name in vars(ngramdb.Connection) if not name.startswith("_")}
    there = ngramdb.connect(address, token="sesame")
    assert public <= set(dir(type(there)))
    with ngramdb.connect(folder) as here:
        for version in (None, here.version):
            expected = here.describe("sayings", version)
            found = there.describe("sayings", version)
            assert (found.columns, found.fetchall()) == (expected.columns, expected.fetchall())
        assert there.version == here.version
    cursor = there.cursor().execute("COUNT ? FROM sayings", ["flies"])
    assert cursor.fetchall() == [(4,)]
    there.commit()
    with pytest.raises(there.ProgrammingError):
        cursor.execute("COUNT FROM")
    with pytest.raises(ngramdb.NotSupportedError, match="progress"):
        there.execute("SHOW CORPORA", progress=print)


def test_what_is_said_here_is_said_there(address: str) -> None:
    corpus = ngramdb.connect(address, token="sesame").corpus("sayings")
    with pytest.warns(ngramdb.PhraseWarning, match="a gap, .*, matches several"):
        assert corpus.count("time * like") == 0
    with pytest.raises(ngramdb.InvalidArgument, match="at least 1"):
        corpus.ngrams(0)
    with pytest.raises(TypeError, match="unexpected"):
        corpus.count("a", wrong=1)
    with pytest.raises(ngramdb.ParseError):
        corpus.where("year >")
    with pytest.raises(ngramdb.NotSupportedError, match="progress"):
        corpus.perplexity(["a"], progress=print)
    with pytest.raises(ngramdb.ExecutionError, match="give a seed"):
        corpus.sample(3).fetchall()
    letters = ngramdb.connect(address, token="sesame").corpus("letters")
    with pytest.raises(ngramdb.BindError):
        corpus.keywords(against=letters)  # other tokens: refused there as here


def test_a_condition_is_warned_of_once(folder: Path, address: str) -> None:
    def n_warnings(db: Any) -> int:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            part = db.corpus("sayings").where('"like *" OR "banana"')
            assert (part.count("flies"), part.n_documents, part.n_tokens) == (1, 1, 5)
        return len([one for one in found if one.category is ngramdb.PhraseWarning])

    with ngramdb.connect(folder) as here, ngramdb.connect(address, token="sesame") as there:
        assert n_warnings(there) == n_warnings(here) == 1


def test_no_condition_selects_all_documents(folder: Path, address: str) -> None:
    with ngramdb.connect(folder) as here, ngramdb.connect(address, token="sesame") as there:
        for db in (here, there):
            corpus = db.corpus("sayings")
            assert corpus.where(None).count("flies") == corpus.where(None).where(None).count("flies") == 4


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
    'DOCS FROM sayings WHERE "time * like" SAMPLE 1 SEED 7',  # drawn, and with a note
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements_answer_as_they_do_here(folder: Path, address: str, statement: str) -> None:
    with ngramdb.connect(folder) as here, ngramdb.connect(address, token="sesame") as there:
        expected, found = here.execute(statement), there.execute(statement)
        assert found.columns == expected.columns
        assert found.types == expected.types
        # By repr: NaN is not equal to itself.
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
    with pytest.raises(ngramdb.ExecutionError, match="missing or invalid token"):
        ngramdb.connect(address, token="wrong").corpora()
    with pytest.raises(ngramdb.InvalidArgument):
        ngramdb.connect("http://")
    with pytest.raises(ngramdb.InvalidArgument):
        ngramdb.connect(token="x")


@pytest.mark.parametrize("ask", NOT_TAKEN)
def test_what_is_no_flag_or_timeout_is_refused_as_here(folder: Path, address: str, ask: Any) -> None:
    said = []
    with ngramdb.connect(folder) as here, ngramdb.connect(address, token="sesame") as there:
        for db in (here, there):
            with pytest.raises(ngramdb.InvalidArgument) as error:
                ask(db)
            said.append(str(error.value))
    assert said[0] == said[1]


def test_arguments_of_a_wrong_kind_are_the_error_that_they_are_here(folder: Path, address: str) -> None:
    with ngramdb.connect(folder) as here, ngramdb.connect(address, token="sesame") as there:
        for corpus in (here.corpus("sayings"), there.corpus("sayings")):
            for ask in (
                lambda c: c.count(5),
                lambda c: c.kwic("flies", window="x"),
                lambda c: c.docs(limit=1.5),
                lambda c: c.docs(order_by=3),
                lambda c: c.prob("an", "flies", model=4),
                lambda c: c.where(3),
            ):
                with pytest.raises(ngramdb.InvalidArgument) as error:
                    ask(corpus)
                assert not re.search("Ngram|Sequence|Like|Values|None", str(error.value))


def test_values_that_cannot_be_sent_are_refused(address: str) -> None:
    with ngramdb.connect(address, token="sesame") as there:
        assert there.execute('COUNT "flies" FROM sayings', timeout=0).fetchall() == [(4,)]
        for value in (b"\x01", bytearray(b"\x01"), object(), {1, 2}):
            for params in ([value], {"x": value}):
                with pytest.raises(ngramdb.NotSupportedError, match="cannot be sent to a service"):
                    there.execute(f"COUNT {':x' if isinstance(params, dict) else '?'} FROM sayings", params)


def test_connections_and_corpora_can_be_pickled(address: str) -> None:
    with ngramdb.connect(address, token="sesame") as remote:
        corpus = remote.corpus("sayings")
        part = corpus.where('"flies"')
        for one in (corpus, part):
            again = pickle.loads(pickle.dumps(one))
            assert (repr(again), again.count("flies")) == (repr(one), one.count("flies"))
        assert pickle.loads(pickle.dumps(remote)).corpora() == remote.corpora()


BATCHES: list[tuple[Any, list[Any], dict[str, Any]]] = [
    (ngramdb.Corpus.count, ["flies", "FLIES", "never"], {"ignore_case": True}),
    (ngramdb.Corpus.count, ["flies"] * 600, {"where": "year > ?", "params": [1962]}),
    (ngramdb.Corpus.trace, ["time flies like", "an apple flies like a banana"], {"min_length": 2}),
    (ngramdb.Corpus.ngrams, [1, 2, (1, 3)], {}),  # of several pages each
    (ngramdb.Corpus.prob, ["an", "never", 1], {"given": "flies like"}),
    (ngramdb.Corpus.score, ["time flies", ""], {"model": "kneser_ney"}),
    (ngramdb.Corpus.count, ["flies", [1, 2]], {}),
    (ngramdb.Corpus.count, [], {}),
]


@pytest.mark.parametrize(
    ("verb", "items", "named"), BATCHES, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_batch_answers_as_its_calls(
    folder: Path, address: str, verb: Any, items: list[Any], named: Any
) -> None:
    with ngramdb.connect(folder) as db, ngramdb.connect(address, token="sesame") as far:
        here, there = db.corpus("sayings"), far.corpus("sayings")
        for one, other in ((here, there), (here.where("kind = 'joke'"), there.where("kind = 'joke'"))):
            expected = repr([plain(verb(one, item, **named)) for item in items])
            assert repr(list(map(plain, one.batch(verb, items, **named)))) == expected
            assert repr(list(map(plain, other.batch(verb, iter(items), **named)))) == expected


def test_errors_and_warnings_of_a_batch(folder: Path, address: str) -> None:
    with ngramdb.connect(folder) as db, ngramdb.connect(address, token="sesame") as far:
        for corpus in (db.corpus("sayings"), far.corpus("sayings")):
            with pytest.raises(ngramdb.InvalidArgument, match="item 1: "):
                corpus.batch(ngramdb.Corpus.count, ["flies", [-7]])
            with pytest.raises(ngramdb.ParseError, match="item 0: "):
                corpus.batch(ngramdb.Corpus.count_docs, ["year >"])
            with pytest.raises(TypeError, match="unexpected"):
                corpus.batch(ngramdb.Corpus.count, ["a"], wrong=1)  # type: ignore[call-arg]
            with pytest.warns(ngramdb.PhraseWarning) as found:
                assert corpus.batch(ngramdb.Corpus.count, ["time * like", "a", "a", "* flies"]) == [
                    0,
                    2,
                    2,
                    0,
                ]
            assert len(found) == 2
        with pytest.raises(ngramdb.NotSupportedError, match="batch"):
            far.corpus("sayings").batch(ngramdb.Corpus.delete, ["year = 1"])
        with far.timeout(1e-9), pytest.raises(ngramdb.TimeoutExceeded):
            far.corpus("sayings").batch(ngramdb.Corpus.count, ["a"])


def test_the_time_of_a_block_limits_each_request(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    db: Any = ngramdb.connect_remote(address, token="sesame")
    corpus = db.corpus("sayings")
    sent: list[Any] = []
    answered = db._pool.answered

    def record(path: str, body: Any, *rest: Any) -> Any:
        sent.append(json.loads(body()))
        return answered(path, body, *rest)

    monkeypatch.setattr(db._pool, "answered", record)
    with db.timeout(10):
        assert corpus.count("flies") == db.execute('COUNT "flies" FROM sayings').fetchone()[0]
        db.execute('COUNT "flies" FROM sayings', timeout=1)
        with db.timeout(0):
            corpus.count("flies")
    corpus.count("flies")
    limits = [body.get("timeout") for body in sent]
    assert 0 < limits[1] < limits[0] <= 10 and limits[2:] == [1, None, None]
    with db.timeout(1e-9), pytest.raises(ngramdb.TimeoutExceeded):
        corpus.count("flies")
    with pytest.raises(ngramdb.InvalidArgument), db.timeout(-1):
        pass

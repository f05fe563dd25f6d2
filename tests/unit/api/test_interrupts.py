"""Statements that are stopped, timed and watched; the connection is of use afterwards."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import pairwise

import pytest
from support.polls import PATIENCE_S, cpu_below, n_polls, repeated, until

import ngramdb
from ngramdb import ExecutionError, Interrupted, QueryCancelled, TimeoutExceeded, interrupts
from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.engine.storage.transaction import Transaction
from ngramdb.executor.result import Result, batched, supervised
from ngramdb.interrupts import Deferred, Interrupt, check, guarded


@contextmanager
def called_after(seconds, act):
    timer = threading.Timer(seconds, act)
    timer.start()
    try:
        yield
    finally:
        timer.join()


def in_another_thread(act):
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


def many_rows(act=lambda: None):
    """Yield for a long time, as operators do: a batch, a check, the next batch. `act` runs in between."""
    for i in range(10**4):
        interrupts.step(i, 10**4)
        if i == 50:
            act()
        yield (i,)


def endless(db, act=lambda: None):
    return supervised(Result(("i",), batched(many_rows(act), 10)), db._database.work())


def test_interrupt_stops_reading_in_another_thread_and_nothing_that_comes_after(db, wiki):
    result = endless(db, lambda: in_another_thread(db.interrupt))
    with pytest.raises(Interrupted, match="the database is unchanged") as caught:
        result.fetchall()
    assert isinstance(caught.value, QueryCancelled) and caught.value.elapsed > 0
    assert 0 < caught.value.fraction < 1
    assert db.execute('COUNT "natural language"').fetchone() == (2,)


STAYS = r"changes committed until then remain, up to version \d+ of the database"
COMMITTING = [
    'DELETE DOCS FROM wiki WHERE "the"',
    'DELETE DOCS FROM wiki WHERE "the" RETURNING doc_id, text',
    "CREATE CORPUS other",
    "CREATE CORPUS other AS (DOCS FROM wiki)",
    "ANALYZE wiki",
    'DELETE DOCS FROM wiki WHERE "the"; COUNT "a" FROM wiki',
]


@pytest.mark.parametrize("statement", COMMITTING)
def test_who_is_stopped_after_a_commit_is_told_of_it(db, wiki, statement):
    before = db.version
    result = db.execute(statement)
    db.interrupt()
    with pytest.raises(Interrupted, match=STAYS) as caught:
        result.fetchall()
    assert caught.value.committed == db.version > before


def test_what_was_committed_is_told_whatever_the_timeout(db, wiki, monkeypatch):
    """After the commit, time does not count."""
    committed = Transaction.commit

    def slowly(self, *arguments):
        made = committed(self, *arguments)
        until(lambda: interrupts.current().is_late)
        return made

    monkeypatch.setattr(Transaction, "commit", slowly)
    [(n_documents,)] = db.execute('COUNT DOCS WHERE "the" FROM wiki').fetchall()

    def removed(limit):
        return db.execute('DELETE DOCS FROM wiki WHERE "the" RETURNING doc_id', timeout=limit).fetchall()

    assert len(in_time(removed)) == n_documents > 0
    before = db.version

    def made(limit):
        with pytest.raises(TimeoutExceeded) as caught:  # for a statement that follows it does
            db.execute("CREATE CORPUS other; COUNT DOCS FROM wiki", timeout=limit)
        if caught.value.committed is None:
            raise caught.value
        return caught.value

    error = in_time(made)
    assert re.search(STAYS, str(error)) and error.committed == db.version > before


def in_time(run):
    """Return the result with the first of some timeouts that is long enough on this machine."""
    for limit in (0.25, 1.0, 5.0, 30.0):
        with suppress(TimeoutExceeded):
            return run(limit)
    raise AssertionError("too slow")


def test_a_load_that_is_stopped_between_commits_says_what_stays(db, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"text": "a b {i}"}}\n' for i in range(2000)))
    statement = f"COPY {{}} FROM '{path}' (COMMIT_EVERY 100)"
    db.execute("CREATE CORPUS whole; CREATE CORPUS parts")
    n = n_polls(lambda: db.execute(statement.format("whole")))
    version = db.version
    with (
        pytest.raises(Interrupted, match=r"the database is unchanged$") as caught,
        Interrupt(polls=0),
    ):
        db.execute(statement.format("parts"))
    assert caught.value.committed is None and db.version == version
    with pytest.raises(Interrupted, match=STAYS) as caught, Interrupt(polls=n // 2):
        db.execute(statement.format("parts"))
    assert caught.value.committed == db.version > version


def test_of_several_statements_those_before_are_told_of(db, wiki):
    statements = 'DELETE DOCS FROM wiki WHERE "the"; DOCS FROM wiki'
    result = db.execute(statements)
    db.interrupt()
    with pytest.raises(Interrupted, match=STAYS) as caught:
        result.fetchall()
    assert caught.value.committed == db.version


def test_a_result_that_was_stopped_does_not_look_complete(db, wiki):
    result = endless(db)
    result.fetchmany(3)
    db.interrupt()
    with pytest.raises(Interrupted):
        result.fetchall()
    with pytest.raises(ExecutionError, match="ended early: interrupted after"):
        result.fetchone()


def test_interrupt_stops_verbs_that_take_arrays(wiki, db):
    ids = [0, 1] * 200_000
    raised = []

    def ask():
        try:
            while True:
                wiki.count_many([ids[:2]] * 100_000)
        except Interrupted as error:
            raised.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    with repeated(db.interrupt):
        thread.join(PATIENCE_S)
    assert len(raised) == 1


VERBS_OF_BATCHES = {
    "count_many": lambda c, texts: c.count_many(texts),
    "prob_many": lambda c, texts: c.prob_many(texts, texts),
    "dist_many": lambda c, texts: c.dist_many(texts),
    "score_many": lambda c, texts: c.score_many(texts),
}


@pytest.mark.parametrize("verb", VERBS_OF_BATCHES)
def test_interrupt_holds_for_a_batch_that_is_still_tokenized(db, verb):
    encoded = []

    def encode(texts):
        encoded.extend(texts)
        if len(encoded) == 300:
            db.interrupt()
        return [[1] if text else [] for text in texts]

    tokenizer = ngramdb.CallableTokenizer("ones", encode, 9)
    corpus = db.create_corpus("ones", tokenizer=tokenizer)
    corpus.append(["a"])
    encoded.clear()
    with pytest.raises(ngramdb.Interrupted):
        VERBS_OF_BATCHES[verb](corpus, ["a"] * 5000)
    assert 300 <= len(encoded) < 5000


def test_interrupt_holds_between_the_calls_of_a_batch(db):
    corpus = db.create_corpus("words")
    corpus.append(["a b"])
    asked = []

    def texts():
        for _ in range(1000):
            asked.append("a")
            if len(asked) == 300:
                db.interrupt()
            yield "a"

    with pytest.raises(ngramdb.Interrupted):
        corpus.batch(ngramdb.Corpus.count, texts())
    assert len(asked) == 300


VERBS_OF_TEXTS = {
    "match_lengths": lambda c: c.match_lengths("long"),
    "trace_arrays": lambda c: c.trace_arrays("long"),
    "score": lambda c: c.score("long", model="infgram"),
}


@pytest.mark.parametrize("verb", VERBS_OF_TEXTS)
def test_interrupt_holds_for_a_text_that_is_still_tokenized(db, verb):
    def encode(texts):
        if texts != ["long"]:
            return [[1, 2, 3] if text else [] for text in texts]
        db.interrupt()
        return [[1, 2, 3] * 100_000]

    tokenizer = ngramdb.CallableTokenizer("many", encode, 9)
    corpus = db.create_corpus("many", tokenizer=tokenizer)
    corpus.append(["a", "b"])
    with pytest.raises(ngramdb.Interrupted):
        VERBS_OF_TEXTS[verb](corpus)


def test_control_c_while_rows_are_read_passes_as_itself_and_says_how_far(db, wiki):
    result = endless(db, press)
    with pytest.raises(KeyboardInterrupt) as caught:
        result.fetchall()
    assert 0 <= caught.value.fraction < 1 and caught.value.elapsed > 0
    with pytest.raises(ExecutionError, match="ended early: KeyboardInterrupt"):
        result.fetchall()


def test_a_timeout_counts_work_and_not_the_time_between(db, wiki):
    def rows(limit):
        result = db.execute("DOCS", timeout=limit)
        elapsed = result.elapsed
        time.sleep(1.2 * limit)
        assert result.elapsed == elapsed
        return result.fetchall()

    assert len(in_time(rows)) == 3


def test_a_timeout_ends_a_statement_also_in_another_thread(db, wiki, monkeypatch):
    def endless(*_):
        while True:
            check()

    monkeypatch.setattr("ngramdb.questions.docs.matching", endless)
    raised = []

    def ask(**options):
        try:
            db.execute("DOCS", **options)
        except TimeoutExceeded as error:
            raised.append(error)

    in_another_thread(lambda: ask(timeout=0.1))
    db.execute("SET timeout = 0.1")
    ask()
    with repeated(db.interrupt), pytest.raises(Interrupted):
        db.execute("DOCS", timeout=0)
    assert [error.timeout for error in raised] == [0.1, 0.1]
    assert all(error.elapsed >= 0.1 for error in raised)


@pytest.mark.parametrize("timeout", [-1, "1", True, float("inf")])
def test_a_timeout_is_a_number_of_seconds(db, timeout):
    with pytest.raises(ngramdb.InvalidArgument, match="timeout must be "):
        db.execute("SHOW CORPORA", timeout=timeout)


def test_work_that_begins_anew_does_not_say_how_far_it_is():
    token = interrupts.Interrupt()
    with token:
        assert token.fraction is None
        for done in range(4):
            interrupts.step(done, 4)
            assert token.fraction == done / 4
        interrupts.step(4, 4)
        assert token.fraction == 1
        interrupts.step(0, 7)
        interrupts.step(6, 7)
        assert token.fraction is None


def test_work_that_is_stopped_at_its_end_is_not_called_done():
    assert "done" not in str(Interrupted("interrupted", fraction=1.0, elapsed=2.0))
    assert "99% done" in str(Interrupted("interrupted", fraction=0.999, elapsed=2.0))


def test_progress_is_told_now_and_then_and_may_stop_the_statement(db, wiki, monkeypatch):
    told = []

    def progress(work):
        told.append((work.fraction, work.elapsed))
        if len(told) == 3:
            work.set()

    def slow(*_):
        for i in range(1000):
            interrupts.step(i, 1000)
            time.sleep(0.002)

    monkeypatch.setattr("ngramdb.questions.docs.matching", slow)
    with pytest.raises(Interrupted, match="% done"):
        db.execute("DOCS", progress=progress)
    fractions = [fraction for fraction, _ in told]
    assert len(told) == 3 and fractions == sorted(fractions) and 0 <= fractions[0] < 1
    assert all(b[1] - a[1] >= 0.09 for a, b in pairwise(told))


def test_a_load_that_is_interrupted_leaves_no_trace(db, wiki):
    def documents():
        for i in range(10**9):
            if i == 1000:
                db.interrupt()
            yield f"word{i} " * 200

    version = db.version
    with pytest.raises(Interrupted):
        wiki.append(documents())
    assert db.version == version and wiki.n_documents == 3
    wiki.append(["once more"])
    assert wiki.n_documents == 4


def test_who_waits_for_a_writer_can_be_stopped(tmp_path):
    with ngramdb.connect(tmp_path / "db") as first, ngramdb.connect(tmp_path / "db") as second:
        corpus = first.create_corpus("c")
        second.settings["lock_timeout"] = 60

        def documents():
            yield "a"
            with pytest.raises(TimeoutExceeded):
                second.execute("CREATE CORPUS d", timeout=0.1)
            yield "b"

        corpus.append(documents())
        assert first.corpora() == ["c"]


def test_results_that_are_read_to_their_end_are_beyond_interrupting(db, wiki):
    result = db.execute("DOCS")
    rows = result.fetchall()
    db.interrupt()
    assert len(rows) == 3 and result.fetchall() == []


# ---- long texts in statements ------------------------------------------------------------------------------

LONG = "ab" * 250_000
STUBBORN = {
    "many statements": ("CHECK;" * 300_000, []),
    "a long string in any case": ("COUNT ? MATCH TEXT IGNORE CASE FROM repeated", ["a" * 20_000]),
    "a long word in any case": ("COUNT ? MATCH TEXT IGNORE CASE FROM letters", ["a" * 20_000]),
    "a long word of bytes in any case": ("COUNT ? MATCH TEXT IGNORE CASE FROM octets", ["a" * 90_000]),
    "a long text of pieces": ("COUNT ? MATCH TEXT FROM pieces", ["a" * 90_000]),
    "a long word of pieces": ("COUNT ? FROM pieces", [LONG * 8]),
}


@pytest.mark.parametrize("what", STUBBORN)
def test_a_timeout_ends_what_is_done_with_a_long_text(db, subwords, what):
    text, parameters = STUBBORN[what]
    db.create_corpus("repeated").append(["a" * 5_000_000])
    for name, tokenizer in (("letters", "chars"), ("octets", "bytes"), ("pieces", str(subwords))):
        db.create_corpus(name, tokenizer).append(["a" * 100_000])
    db.execute("CHECK")  # what is made once
    with cpu_below(60), pytest.raises(TimeoutExceeded):  # about 0.3 s; minutes without checks of the time
        db.execute(text, parameters, timeout=0.2).fetchall()


@pytest.mark.parametrize("tokenizer", ["chars", "bytes"])
def test_a_text_that_has_one_spelling_is_counted_at_once(db, tokenizer):
    db.create_corpus("c", tokenizer).append([LONG, LONG[1:]])
    for text, n in ((LONG, 1), (LONG[1:], 2), (LONG + "a", 0)):
        assert db.execute("COUNT ? MATCH TEXT FROM c", [text], timeout=120).fetchall() == [(n,)]


@pytest.mark.parametrize("mixed", [False, True])
def test_a_timeout_ends_the_search_of_one_long_value(db, mixed):
    values = ["a" * 200_000, 1 if mixed else "b"]
    db.create_corpus("valued").append([{"text": "a", "long": value} for value in values])
    db.execute("COUNT DOCS WHERE long LIKE '%b' FROM valued").fetchall()  # what is made once
    with cpu_below(60), pytest.raises(TimeoutExceeded):
        db.execute("COUNT DOCS WHERE long LIKE ? FROM valued", ["%a_" * 3000 + "%b"], timeout=0.2).fetchall()


def test_semicolons_alone_are_parsed_at_once(db):
    assert db.execute(";" * 100_000 + "SHOW CORPORA;;").fetchall() == []


PRESSED_WHILE_PANDAS_IS_IMPORTED = """
import signal, sys, ngramdb

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

with ngramdb.connect(sys.argv[1]) as db:
    sys.meta_path.insert(0, Press())
    try:
        print(db.execute(sys.argv[2]).fetchall())
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE DOCS WHERE source = 'x'",
        "DELETE DOCS WHERE year < 2000",
        "DELETE DOCS WHERE tags = 'a'",
        "DELETE DOCS WHERE source IN ('x', 'z')",
        "COPY (DOCS) TO 'out.parquet'",
    ],
)
def test_an_interrupt_while_pyarrow_imports_pandas_is_not_lost(tmp_path, statement):
    """It drops exceptions that come meanwhile."""
    pytest.importorskip("pandas")
    path = tmp_path / "t.ngdb"
    with ngramdb.connect(path) as db:
        db.create_corpus("c").append([{"text": "a b", "source": "x", "year": 1900, "tags": ["a"]}])
    command = [sys.executable, "-c", PRESSED_WHILE_PANDAS_IS_IMPORTED, str(path), statement]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.stdout == "interrupted\n", ran.stderr
    with ngramdb.connect(path) as db:
        assert db.corpus("c").n_documents == 1
    assert not (tmp_path / "out.parquet").exists()


def test_a_timeout_while_counting_for_kneser_ney_names_the_statement_that_keeps_the_counts(
    db, wiki, monkeypatch
):
    def counting_too_long(corpus):
        with interrupts.Interrupt(timeout=0.0):
            interrupts.check()

    monkeypatch.setattr("ngramdb.lm.statistics.analyze", counting_too_long)
    with pytest.raises(TimeoutExceeded, match="ANALYZE wiki, or `ngramdb analyze DB wiki`"):
        db.execute('PROB "the" GIVEN "of" USING KNESER_NEY FROM wiki').fetchall()


WITH_WORK = {
    "statement": lambda db, corpus: db.execute("DOCS").fetchall(),
    "count_many": lambda db, corpus: corpus.count_many([[0], [1]]),
    "kwic": lambda db, corpus: corpus.kwic("language").fetchall(),
    "perplexity": lambda db, corpus: corpus.perplexity(["natural language"]),
    "append": lambda db, corpus: corpus.append(["more"]),
    "removed_documents": lambda db, corpus: list(corpus.removed_documents()),
}


@pytest.mark.parametrize("name", WITH_WORK)
def test_the_time_of_a_block_limits_statements_and_verbs(db, wiki, name):
    wiki.delete("year = 2019")
    version = db.version
    with db.timeout(1e-9), pytest.raises(TimeoutExceeded) as caught:
        WITH_WORK[name](db, wiki)
    assert caught.value.timeout == 1e-9 and db.version == version
    WITH_WORK[name](db, wiki)


def test_the_time_of_a_block_replaces_the_setting(db, wiki):
    db.settings["timeout"] = 1e-9
    with db.timeout(0):
        assert len(db.execute("DOCS").fetchall()) == 3
    with db.timeout(60) as work, db.timeout(0):
        assert len(db.execute("DOCS").fetchall()) == 3
        assert 0 < work.elapsed < 60
    with pytest.raises(TimeoutExceeded), db.timeout(60):
        db.execute("DOCS", timeout=1e-9)
    for wrong in (-1, "1", None):
        with pytest.raises(ngramdb.InvalidArgument, match="timeout must be"):
            db.timeout(wrong)


def test_interrupts_reach_work_in_a_block_with_a_time(db, wiki):
    with db.timeout(600), pytest.raises(Interrupted):
        endless(db, lambda: in_another_thread(db.interrupt)).fetchall()


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_a_deferred_interrupt_is_raised_at_the_end_of_the_outermost_block():
    done = []
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), Deferred():
        with Deferred():
            press()
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"] and signal.getsignal(signal.SIGINT) is handler


def test_a_poll_raises_a_deferred_interrupt():
    with pytest.raises(KeyboardInterrupt), Deferred():
        press()
        check()
        raise AssertionError("not reached")
    check()


def test_what_is_acquired_is_released_whenever_the_interrupt_comes():
    free = []

    @guarded
    def resource(when):
        press() if when == "before" else None
        try:
            yield
        finally:
            press() if when == "after" else None
            free.append(when)

    for when in ("before", "between", "after"):
        with pytest.raises(KeyboardInterrupt), resource(when):
            press() if when == "between" else None
            len("a look for signals")
    assert free == ["before", "between", "after"]


def test_an_ignored_signal_and_other_threads_are_left_alone():
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Deferred():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            press()
    finally:
        signal.signal(signal.SIGINT, handler)

    def work():
        with Deferred():
            return signal.getsignal(signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() is handler


def test_a_wait_for_a_lock_ends_with_the_interrupt_also_where_it_is_deferred():
    directory = MemoryDirectory()
    lock = directory.lock_writer()
    with (
        pytest.raises(KeyboardInterrupt),
        called_after(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)),
        Deferred(),
    ):
        directory.lock_writer(timeout_s=None)
    lock.release()
    directory.lock_writer().release()

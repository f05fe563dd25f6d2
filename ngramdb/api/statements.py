"""Running statements and plans: language, planner and executor wired together on one snapshot.

Imported when a connection runs its first statement; opening a database does not need it.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ngramdb.api.database import Database
from ngramdb.api.session import DatabaseSession
from ngramdb.errors import BindError, InvalidArgument, NgramdbError, PlanError, QueryError, ReadingOnly
from ngramdb.executor.result import Result, supervised
from ngramdb.interrupts import Interrupt, ProgressCallback
from ngramdb.language import ast
from ngramdb.lazy import DEBUG, WARNING, lazy_module, log
from ngramdb.patterns import Noted, Phrase, has_wildcard
from ngramdb.planner import plan as plans
from ngramdb.planner.parameters import Parameters, ParameterValues
from ngramdb.questions.binder import make_plan
from ngramdb.questions.parsing import parsed
from ngramdb.questions.plans import Action, Query, is_question, run

if TYPE_CHECKING:
    from ngramdb.planner import cautions
    from ngramdb.questions import show, verbs
else:
    verbs = lazy_module("ngramdb.questions.verbs")
    cautions = lazy_module("ngramdb.planner.cautions")
    show = lazy_module("ngramdb.questions.show")


def _forget(error: NgramdbError, outer: BaseException | None) -> None:
    """Clear the frames of an error: whoever stores the error must not keep a version alive.

    The message describes the problem; the frames that found it are dropped. `outer` is the error that the
    caller was handling at that time.
    """
    if isinstance(error, QueryError) and error.__traceback__ is not None:
        error.__traceback__.tb_next = None
    chain: BaseException | None = error
    while isinstance(chain, NgramdbError) and chain is not outer:
        traceback.clear_frames(chain.__traceback__)
        if isinstance(error, QueryError) and chain is not error:
            chain.__traceback__ = None
        chain = chain.__cause__ or chain.__context__


def execute_all(
    database: Database,
    sql: str,
    params: ParameterValues,
    timeout: float | None = None,
    progress: ProgressCallback | None = None,
) -> Result:
    """Run the statements of a text one after the other, and return the result of the last one.

    `timeout` is for all of them together; None means that of the settings, for each.
    """
    outer = sys.exc_info()[1]
    work = database.work(timeout, progress)
    with work:
        statements, placeholders = parsed(sql)
    parameters = Parameters(placeholders, params, sql)
    result = Result(summary={"message": "(no statement)"}, snapshot=database.snapshot.version)
    all_gone, has_committed, is_logged = True, False, False
    for statement in statements:
        result.close()
        if result.cautions:  # its note will not be displayed
            verbs.warn(result.cautions)
        before = work.committed
        if timeout is None:
            work = database.work(None, progress)
            if before is not None:
                work.note_commit(before)
        try:
            with work:
                result = _execute_one(database, statement, parameters, sql)
        except NgramdbError as error:
            _forget(error, outer)
            _log(database, work, f"{_text_of(statement, sql)} ({type(error).__name__})")
            raise
        all_gone = database.store.let_go()  # versions that the statement itself has read
        has_committed = work.committed != before
        is_logged = _log(database, work, _text_of(statement, sql))
    if has_committed:  # the result of the last one is reported, however long that takes
        work = _reporting(database, work, progress)

    def at_end() -> None:
        if not all_gone:
            database.store.let_go()
        if statements and not is_logged:  # making its rows may be slow
            _log(database, work, _text_of(statements[-1], sql), rows=True)

    return supervised(result, work, at_end)


def _text_of(statement: ast.Statement, sql: str) -> str:
    return sql if statement.span is None else sql[statement.span.start : statement.span.stop]


def _log(database: Database, work: Interrupt, what: str, rows: bool = False) -> bool:
    """Log a piece of work; return True if it is slow. With `rows` it is logged again, only if it is slow."""
    is_slow = 0 < database.settings.slow_statement <= work.elapsed
    if is_slow:
        log(WARNING, "slow, %.3f s: %s", work.elapsed, what)
    elif not rows:
        log(DEBUG, "%.3f s: %s", work.elapsed, what)
    return is_slow


def _reporting(database: Database, done: Interrupt, progress: ProgressCallback | None = None) -> Interrupt:
    """Return the token for making rows that report a commit: it has no timeout."""
    work = database.work(0, progress)
    assert done.committed is not None
    work.note_commit(done.committed)
    return work


def ask(
    database: Database, sql: str, params: ParameterValues, work: Interrupt, corpus: str | None = None
) -> Result:
    """Run one read-only statement, with the caller's token.

    Only listed statements are allowed: trees are checked before names are looked up (a tokenizer's name is a
    path), and plans before one is run.

    Raises
    ------
    ReadingOnly
        Any other statement; nothing was run.
    PlanError
        The text is empty, or has several statements.
    """
    with work:
        statements, placeholders = parsed(sql)
        if len(statements) != 1:
            raise PlanError(f"expected one statement, found {len(statements)}")
        _check_reads(statements[0], sql)
        result = _execute_one(
            database, statements[0], Parameters(placeholders, params, sql), sql, True, corpus
        )
        _log(database, work, sql)
    return supervised(result, work)


#: The tables of SHOW for read-only use: no files, users or settings.
_SHOWN_TO_ALL = ("corpora",)


def _check_reads(statement: ast.Statement, sql: str) -> None:
    inner = statement.statement if isinstance(statement, ast.Explain) else statement
    reads = isinstance(inner, ast.Question) or (
        inner is statement
        and (isinstance(inner, ast.Describe) or (isinstance(inner, ast.Show) and inner.what in _SHOWN_TO_ALL))
    )
    if not reads:
        span = inner.span
        start, stop = (None, None) if span is None else (span.start, span.stop)
        raise ReadingOnly(
            "only queries, EXPLAIN of queries, DESCRIBE and SHOW CORPORA are allowed here",
            text=sql,
            start=start,
            stop=stop,
        )


def _reads(plan: plans.Plan) -> bool:
    if isinstance(plan.asked, Query) and plan.asked.path is not None:
        return False  # it reads a file beside the database
    return is_question(plan.asked) or (isinstance(plan, Action) and plan.only_reads)


def _execute_one(
    database: Database,
    statement: ast.Statement,
    parameters: Parameters,
    sql: str,
    reading_only: bool = False,
    corpus: str | None = None,
) -> Result:
    database.refresh()
    session = DatabaseSession(database, database.snapshot, corpus)
    try:
        plan = make_plan(statement, session, parameters, sql, estimated=False)
        if reading_only and not _reads(plan):
            raise ReadingOnly(f"{plan.label()} does more than read", text=sql)
        return run_plan(plan, session)
    except (QueryError, InvalidArgument) as error:
        if isinstance(error, BindError) and database.absent is not None and not session.corpus_names():
            path = database.absent.description
            error.message = f"{path}: no database here: check the path, or CREATE CORPUS name makes one"
        found = placed(error, statement, sql)
        if found is error:
            raise
        raise found from error


def described(database: Database, name: str, version: int | None) -> Result:
    """Run DESCRIBE, perhaps of an earlier version."""
    with database.work() as work:
        session = DatabaseSession(database, database.snapshot)
        result = run_plan(show.DescribeCorpus(database.snapshot.view(name, version)), session)
    return supervised(result, work)


def answer(database: Database, plan: plans.Plan, work: Interrupt) -> Result:
    """Run a finished plan on the newest known version, as a part of `work`, and return its result."""
    with work:
        result = run_plan(plan, DatabaseSession(database, database.snapshot))
    _log(database, work, plan.label())
    return supervised(result, work if work.committed is None else _reporting(database, work))


def run_plan(plan: plans.Plan, session: DatabaseSession) -> Result:
    """Run a finished plan on its snapshot."""
    asked = plan.asked
    said: Sequence[cautions.Caution] = ()
    # A plain count of a text without wildcards gets a note only if nothing matches: it takes microseconds.
    if asked.phrases and not (asked.is_settled and not any(map(_has_wildcard, asked.phrases))):
        # Before it runs: an interrupt here stops the statement before it changes anything.
        said = cautions.cautions_of(asked)
    result = run(plan, session)
    if asked.phrases and not said and _is_empty(result):
        said = cautions.cautions_of_nothing(asked)
    corpus = asked.documents_corpus()
    lacking = None if corpus is None else cautions.caution_of_difference(corpus)
    if lacking is not None:
        said = (*said, lacking)
    said = (*said, *session.cautions())
    return _finished(result, session, said)


def _has_wildcard(noted: Noted) -> bool:
    return isinstance(noted, Phrase) and has_wildcard(noted.gram.text)


def _is_empty(result: Result) -> bool:
    """Return True if nothing was found; a table must have no rows whatever TOP is."""
    if result.found is None:
        return bool(result.summary.get("total", result.n_rows) == 0)
    return not result.found


def _finished(result: Result, session: DatabaseSession, said: Sequence[cautions.Caution] = ()) -> Result:
    """Add the version and the cautions about the statement's phrases to the result."""
    result.snapshot = result.summary.get("version", session.manifest.version)
    if said:
        notes = [result.summary["note"]] if "note" in result.summary else []
        result.summary["note"] = "; ".join([*notes, *(item.message for item in said)])
        result.cautions = (*result.cautions, *said)
    return result


# ---- Positions in a statement's text for errors that were raised while it ran


def placed(error: QueryError | InvalidArgument, statement: ast.Statement, text: str) -> QueryError:
    """Return the error with the position of the part of the statement at fault, else of the whole.

    An error with a position is unchanged. An InvalidArgument for a value becomes a PlanError: from the
    statement's point of view, the statement cannot be run.
    """
    if isinstance(error, QueryError) and error.start is not None:
        if error.text is None:
            error.place(text, error.start, error.stop)
        return error
    span = _at_fault(error, statement).span or statement.span
    start, stop = (None, None) if span is None else (span.start, span.stop)
    if isinstance(error, QueryError):
        error.place(text, start, stop)
        return error
    return PlanError(str(error), text=text, start=start, stop=stop)


def _at_fault(error: Exception, statement: ast.Statement) -> ast.Node:
    """Return the part of a statement that the error is about."""
    if isinstance(statement, ast.Explain) and isinstance(error, PlanError):
        return statement.statement
    refused = isinstance(error, InvalidArgument)
    if isinstance(statement, ast.CreateCorpus):
        return statement.tokenizer if refused and statement.tokenizer is not None else statement.name
    if isinstance(statement, (ast.AddFields, ast.CopyFrom, ast.CopyTo, ast.Attach)) and refused:
        return statement.path
    if isinstance(statement, ast.Restore):
        return statement.version
    if isinstance(statement, ast.KeepVersion):
        return statement.name if refused or statement.version is None else statement.version
    if isinstance(statement, ast.DropVersion):
        return statement.name
    if isinstance(statement, ast.Alter):
        return statement.term
    if isinstance(statement, (ast.DropCorpus, ast.Use, ast.Describe, ast.Attach, ast.Detach)):
        return statement.name or statement
    return statement

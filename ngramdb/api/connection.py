"""A connection: statements in, results out, on a snapshot of a database that others may be writing to."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ngramdb.api import corpora, loading
from ngramdb.api.checking import find_problems
from ngramdb.api.corpus import Corpus
from ngramdb.api.explaining import explain
from ngramdb.api.parsing import parsed
from ngramdb.api.settings import SETTINGS, Settings
from ngramdb.api.snapshot import Snapshot
from ngramdb.engine.directory import MemoryDirectory, RealDirectory
from ngramdb.engine.store import Store
from ngramdb.errors import ExecutionError, InvalidArgument, QueryError
from ngramdb.executor.result import Result
from ngramdb.executor.run import run
from ngramdb.language import ast
from ngramdb.planner.binder import Binder
from ngramdb.planner.options import CORPUS_OPTIONS
from ngramdb.planner.parameters import Parameters, ParameterValues
from ngramdb.planner.plan import ChangeSetting, CreateCorpus, DropCorpus, ExplainPlan, Load, Plan
from ngramdb.planner.planner import make_plan

if TYPE_CHECKING:
    from ngramdb.engine.view import CorpusView


def connect(path: str | os.PathLike[str] | None = None, *, read_only: bool = False) -> Connection:
    """Opens a database.

    ```
    db = ngramdb.connect("corpora.ngdb")            # a folder, created when missing
    db = ngramdb.connect("corpora.ngdb", read_only=True)
    db = ngramdb.connect()                          # in memory
    ```

    Parameters
    ----------
    path : the database's folder; None for a database in memory that goes with the connection
    read_only : refuse every statement that writes; the database must exist

    Raises
    ------
    StorageError
        The folder is no database, was written by a newer version, is damaged, or can't be made.
    InvalidArgument
        `path` is no path.

    Cost: constant in the size of the database.
    """
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise InvalidArgument(f"a database's path is a str or a path object, not {type(path).__name__}")
    directory = MemoryDirectory() if path is None else RealDirectory(os.fspath(path))
    store = Store.open(directory, read_only=read_only, create=not read_only)
    return Connection(store)


class Connection:
    """An open database. May be shared by threads; made by `connect`.

    Every statement starts from the newest committed version; its result keeps reading that version. Own
    commits are visible at once in all threads.

    Attributes
    ----------
    settings : Settings, what SET changes
    progress : callable or None, told by COPY and by loads without a callback of their own how far they are
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.RLock()
        # Reentrant, so that documents whose making writes to the same database meet an error and no deadlock.
        self._write_lock = threading.RLock()
        self._current: str | None = None
        self.settings = Settings()
        self.progress: loading.ProgressCallback | None = None
        # Corpora compare this by identity before each answer: after a commit or a close they look again.
        self._snapshot: Snapshot | None = Snapshot(store, store.snapshot().manifest)

    # ---- life -------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Ends the connection; results that were begun can be read to their end. Twice is harmless."""
        with self._lock:
            if self._snapshot is not None:
                self._snapshot = None
                self._store.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._snapshot is None:
            return "<ngramdb.Connection, closed>"
        names = ", ".join(self.corpora()) or "none"
        return f"<ngramdb.Connection, version {self._snapshot.version}, corpora: {names}>"

    @property
    def snapshot(self) -> Snapshot:
        """The version that is being read.

        Raises
        ------
        ExecutionError
            The connection is closed.
        """
        snapshot = self._snapshot
        if snapshot is None:
            raise ExecutionError("the connection is closed")
        return snapshot

    @property
    def version(self) -> int:
        """The number of the version that is being read."""
        return self.snapshot.version

    def refresh(self) -> bool:
        """Looks for a newer committed version and goes over to it; True when there was one."""
        with self._lock:
            before = self.snapshot
            self._store.refresh()
            manifest = self._store.snapshot().manifest
            if manifest.version == before.version:
                return False
            self._snapshot = Snapshot(self._store, manifest, before)
            return True

    # ---- statements -------------------------------------------------------------------------------------

    def execute(self, sql: str, params: ParameterValues = None) -> Result:
        """Runs a statement, or several with `;` between; the last one's result.

        Parameters
        ----------
        sql : the statements
        params : values for `?` (a list or tuple, in order through the whole text) or `:name` (a dict); an
            n-gram's value is text or token ids

        Raises
        ------
        QueryError
            A statement that cannot be run as written, with its place; statements before it have been run,
            unless it was a ParseError.
        ExecutionError, StorageError
            A statement failed while it ran.
        """
        started = time.perf_counter()
        self.snapshot  # noqa: B018 - a closed connection says so, whatever the statement
        statements = parsed(sql)
        parameters = Parameters(statements, params, sql)
        result = Result(summary={"message": "(no statement)"}, snapshot=self.version)
        for statement in statements:
            result.close()
            result = self._execute_one(statement, parameters, sql)
        result.elapsed += time.perf_counter() - started
        return result

    def _execute_one(self, statement: ast.Statement, parameters: Parameters, sql: str) -> Result:
        self.refresh()
        session = Session(self, self.snapshot)
        try:
            return self.run_plan(make_plan(statement, session, parameters, sql), session)
        except QueryError as error:
            if error.text is None:
                error.text = sql
            raise

    def run_plan(self, plan: Plan, session: Session | None = None) -> Result:
        """Runs a finished plan on the snapshot it was made for."""
        session = session or self.session()
        result = explain(plan) if isinstance(plan, ExplainPlan) else run(plan, session)
        result.snapshot = result.summary.get("version", session.manifest.version)
        return result

    def session(self) -> Session:
        """The connection on its current snapshot, as planner and executor use it."""
        return Session(self, self.snapshot)

    # ---- corpora ----------------------------------------------------------------------------------------

    def corpora(self) -> list[str]:
        """The names of all corpora."""
        return self.snapshot.names()

    def corpus(self, name: str | None = None) -> Corpus:
        """A corpus by name; without one, the current corpus (USE), or the only one there is.

        Raises
        ------
        BindError
            There is no such corpus, or it is not clear which one is meant.
        """
        self.refresh()
        if name is None:
            return Corpus(self, Binder(self.session()).corpus(None).entry.name)
        if not isinstance(name, str):
            raise InvalidArgument(f"a corpus's name is a str, not {type(name).__name__}")
        self.snapshot.view(name)
        return Corpus(self, name)

    def create_corpus(
        self,
        name: str,
        tokenizer: str | os.PathLike[str] = "words",
        if_not_exists: bool = False,
        **options: Any,
    ) -> Corpus:
        """Makes a new, empty corpus.

        Parameters
        ----------
        name : any non-empty text; names that are no plain words are written in backquotes in statements
        tokenizer : 'words', 'chars', 'bytes', 'tokens', or the path of a Hugging Face tokenizer.json
        if_not_exists : take the corpus that is there, whatever its tokenizer
        options : `segment_tokens`, most tokens in a segment

        Raises
        ------
        BindError
            There is a corpus of that name.
        InvalidArgument
            No such tokenizer or option.
        """
        if not isinstance(name, str) or not name:
            raise InvalidArgument(f"a corpus's name is a non-empty str, not {name!r}")
        for option, value in options.items():
            if option not in CORPUS_OPTIONS:
                raise InvalidArgument(f"no option {option!r}; known: {', '.join(CORPUS_OPTIONS)}")
            options[option] = CORPUS_OPTIONS[option].check(option, value)
        self.session().run_create(CreateCorpus(name, os.fspath(tokenizer), if_not_exists, options))
        return Corpus(self, name)

    def drop_corpus(self, name: str, if_exists: bool = False) -> bool:
        """Drops a corpus; False when there was none and `if_exists` said that that is all right."""
        return self.session().run_drop(DropCorpus(name, if_exists)) is not None

    def use(self, name: str) -> None:
        """Makes a corpus the current one, as USE does."""
        self.corpus(name)
        self._current = name

    # ---- writing ----------------------------------------------------------------------------------------

    def create(self, plan: CreateCorpus) -> int | None:
        """Runs a CREATE CORPUS; the new version, or None when nothing had to be done."""
        self.refresh()
        if plan.if_not_exists and plan.name in self.snapshot.manifest.corpora:
            return None
        with self._write_lock:
            version = corpora.create_corpus(
                self._store, plan.name, plan.tokenizer, plan.if_not_exists, plan.options
            )
        self.refresh()
        return version

    def drop(self, plan: DropCorpus) -> int | None:
        """Runs a DROP CORPUS; the new version, or None when nothing had to be done."""
        self.refresh()
        if plan.if_exists and plan.name not in self.snapshot.manifest.corpora:
            return None
        with self._write_lock:
            version = corpora.drop_corpus(self._store, plan.name, plan.if_exists)
        self.refresh()
        return version

    def load(self, plan: Load, progress: loading.ProgressCallback | None = None) -> loading.LoadReport:
        """Runs a COPY … FROM. `progress` None means the connection's own callback, if that is wanted."""
        if progress is None and self.settings.progress:
            progress = self.progress
        entry = self.snapshot.view(plan.name).entry
        with self._write_lock:
            report = loading.load_files(self._store, entry, plan, self.settings, progress)
        self.refresh()
        return report

    def append(
        self, name: str, documents: Iterator[Any], progress: loading.ProgressCallback | None = None
    ) -> loading.LoadReport:
        """Adds documents that `api.documents` has made; one commit."""
        entry = self.snapshot.view(name).entry
        with self._write_lock:
            report = loading.load(self._store, entry, documents, self.settings, f"append to {name}", progress)
        self.refresh()
        return report


class Session:
    """A connection on one snapshot: the catalog that planning asks, and what running statements need."""

    def __init__(self, connection: Connection, snapshot: Snapshot) -> None:
        self._connection = connection
        self._snapshot = snapshot

    # ---- what the planner asks --------------------------------------------------------------------------

    @property
    def current(self) -> str | None:
        return self._connection._current

    def corpus_names(self) -> list[str]:
        return self._snapshot.names()

    def corpus_view(self, name: str, /) -> CorpusView:
        return self._snapshot.view(name)

    def setting_names(self) -> list[str]:
        return list(SETTINGS)

    def check_setting(self, name: str, value: Any, /) -> Any:
        return SETTINGS[name].check(name, value)

    def disabled_rules(self) -> frozenset[str]:
        return self._connection.settings.disabled_rules

    # ---- what running statements needs ------------------------------------------------------------------

    @property
    def manifest(self) -> Any:
        return self._snapshot.manifest

    def versions(self) -> Sequence[Any]:
        return sorted(self._connection._store.versions(), key=lambda manifest: manifest.version)

    def setting_rows(self) -> list[tuple[Any, ...]]:
        return self._connection.settings.rows()

    def findings(self, names: Sequence[str], /) -> Iterator[tuple[str | None, str, int | None, str]]:
        """Every problem of these corpora: damaged files first, then parts that contradict each other."""
        return find_problems(self._connection._store, self._snapshot, names)

    def run_create(self, plan: CreateCorpus, /) -> int | None:
        return self._connection.create(plan)

    def run_drop(self, plan: DropCorpus, /) -> int | None:
        return self._connection.drop(plan)

    def run_load(self, plan: Load, /) -> loading.LoadReport:
        return self._connection.load(plan)

    def run_use(self, name: str, /) -> None:
        self._connection.use(name)

    def run_setting(self, plan: ChangeSetting, /) -> Any:
        settings = self._connection.settings
        if plan.reset:
            settings.reset(plan.name)
        else:
            settings[plan.name] = plan.value
        return settings[plan.name]

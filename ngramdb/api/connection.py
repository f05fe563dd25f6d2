"""A connection: statements in, results out, on a snapshot of a database that others may be writing to."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from ngramdb import errors
from ngramdb.api.settings import Settings, checked_timeout
from ngramdb.api.snapshot import Snapshot
from ngramdb.engine.directory import MemoryDirectory, RealDirectory
from ngramdb.engine.store import Store
from ngramdb.errors import BindError, ExecutionError, InvalidArgument, NotSupportedError
from ngramdb.interrupts import Interrupt, ProgressCallback, holding
from ngramdb.kinds import DEFAULT_TOKENIZER
from ngramdb.lazy import lazy_module
from ngramdb.planner.names import default_corpus
from ngramdb.planner.options import CORPUS_OPTIONS

if TYPE_CHECKING:
    from ngramdb.api import corpora, cursor, loading, pickling, statements
    from ngramdb.api import corpus as verbs
    from ngramdb.api import session as sessions
    from ngramdb.api.bound import BoundCorpus
    from ngramdb.api.corpus import Corpus
    from ngramdb.api.cursor import Cursor
    from ngramdb.api.session import Session
    from ngramdb.api.signatures import CorpusOptions, Unpack
    from ngramdb.engine import change as changing
    from ngramdb.engine.change import Change
    from ngramdb.executor.result import Result
    from ngramdb.planner import plan as plans
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.plan import CreateCorpus, DropCorpus, Load, Plan
else:
    changing = lazy_module("ngramdb.engine.change")
    corpora = lazy_module("ngramdb.api.corpora")
    cursor = lazy_module("ngramdb.api.cursor")
    loading = lazy_module("ngramdb.api.loading")
    pickling = lazy_module("ngramdb.api.pickling")
    plans = lazy_module("ngramdb.planner.plan")
    sessions = lazy_module("ngramdb.api.session")
    statements = lazy_module("ngramdb.api.statements")
    verbs = lazy_module("ngramdb.api.corpus")


def connect(path: str | os.PathLike[str] | None = None, *, read_only: bool = False) -> Connection:
    """Opens a database.

    ```
    db = ngramdb.connect("corpora.ngdb")            # a folder, created when missing
    db = ngramdb.connect("corpora.ngdb", read_only=True)
    db = ngramdb.connect()                          # in memory
    ```

    Parameters
    ----------
    path : the database's folder; None or ":memory:" for a database in memory that goes with the connection
    read_only : refuse every statement that writes; the database must exist

    Raises
    ------
    StorageError
        The folder is no database, was written by a newer version, is damaged, or can't be made.
    InvalidArgument
        `path` is no path, or a database in memory shall be read only.

    Cost: constant in the size of the database.
    """
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise InvalidArgument(f"a database's path is a str or a path object, not {type(path).__name__}")
    if path is None or path == ":memory:":
        if read_only:
            raise InvalidArgument("a database in memory is new and empty; it cannot be opened read-only")
        return Connection(Store.open(MemoryDirectory(), read_only=False, create=True))
    directory = RealDirectory(os.fspath(path))
    store = Store.open(directory, read_only=read_only, create=not read_only)
    return Connection(store)


def connect_later(path: str | os.PathLike[str]) -> Connection:
    """As `connect`, but a database that is missing is made by what is first written to it."""
    directory = RealDirectory(path)
    parent, _ = os.path.split(directory.description)
    if not os.path.isdir(parent) or os.path.lexists(directory.description):
        return connect(path)
    connection = Connection(Store.open(MemoryDirectory()))
    connection._unmade = directory
    return connection


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
        self._n_writing = 0
        # Where the database is to be, while there is none yet and nothing has been written.
        self._unmade: RealDirectory | None = None
        self._current: str | None = None
        # What `interrupt` sets; each piece of work begins with a child of it.
        self._requests = Interrupt()
        self.settings = Settings()
        self.progress: loading.ProgressCallback | None = None
        # Corpora compare this by identity before each answer: after a commit or a close they look again.
        self._snapshot: Snapshot | None = Snapshot(store, store.snapshot().manifest)
        # Those that are in use. One that is asked nothing more must not keep its version for ever.
        self._bound: WeakSet[BoundCorpus] = WeakSet()

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
            if self._unmade is not None and os.path.lexists(self._unmade.description):
                self._make()  # somebody else has made it
                return True
            self._store.refresh()
            manifest = self._store.snapshot().manifest
            if manifest.version == before.version:
                return False
            self._snapshot = Snapshot(self._store, manifest, before)
            for corpus in self._bound:
                corpus._follow()
            return True

    def _make(self) -> None:
        """Makes the database that the connection is to be to, or opens the one that is there by now."""
        with self._lock:
            if self._unmade is not None:
                store, before = Store.open(self._unmade), self._store
                self._store, self._snapshot = store, Snapshot(store, store.snapshot().manifest)
                self._unmade = None
                before.close()

    def _register(self, corpus: BoundCorpus) -> None:
        """Lets the corpus follow to each new version."""
        with self._lock:
            self._bound.add(corpus)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled is where the database is, not what it has: whoever unpickles opens it anew."""
        return pickling.reopened, pickling.described(self)

    # ---- statements -------------------------------------------------------------------------------------

    def execute(
        self,
        sql: str,
        params: ParameterValues = None,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
    ) -> Result:
        """Runs a statement, or several with `;` between; the last one's result.

        Parameters
        ----------
        sql : the statements
        params : values for `?` (a list or tuple, in order through the whole text) or `:name` (a dict); an
            n-gram's value is text or token ids
        timeout : seconds of work, reading the rows included, after which a statement is given up; 0 for no
            limit, None for the setting `timeout`
        progress : called now and then, at most ten times a second, with an object that says how far the
            statement is: `fraction` (0 to 1, or None where that is not known) and `elapsed` (seconds); its
            method `set` stops the statement

        Raises
        ------
        QueryError
            A statement that cannot be run as written, with its place; statements before it have been run,
            unless it was a ParseError.
        Interrupted, TimeoutExceeded
            The statement was stopped before its end; `fraction` and `elapsed` say how far it was.
        ExecutionError, StorageError
            A statement failed while it ran.
        """
        started = time.perf_counter()
        self.snapshot  # noqa: B018 - a closed connection says so, whatever the statement
        seconds = None if timeout is None else checked_timeout("timeout", timeout)
        result = statements.execute_all(self, sql, params, seconds, progress)
        result.elapsed += time.perf_counter() - started
        return result

    def interrupt(self) -> None:
        """Stops what this connection is at, from another thread: statements that run, and results that are
        not read to their end, raise `Interrupted` within some milliseconds. What begins later is not touched.
        """
        self._requests.set()

    def cursor(self) -> Cursor:
        """A PEP 249 cursor on this connection."""
        self.snapshot  # noqa: B018 - a closed connection says so
        return cursor.Cursor(self)

    def commit(self) -> None:
        """Does nothing: every statement that writes is its own commit. There for PEP 249."""
        self.snapshot  # noqa: B018 - a closed connection says so

    def rollback(self) -> None:
        """Raises NotSupportedError: every statement that wrote is committed. There for PEP 249."""
        self.snapshot  # noqa: B018 - a closed connection says so
        raise NotSupportedError(
            "nothing can be rolled back: every statement is its own commit; "
            "RESTORE CORPUS name TO VERSION n makes an earlier version current again"
        )

    # PEP 249: exceptions as attributes of the connection, for code that knows no module.
    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    OperationalError = errors.OperationalError
    ProgrammingError = errors.ProgrammingError
    IntegrityError = errors.IntegrityError
    DataError = errors.DataError
    InternalError = errors.InternalError
    NotSupportedError = errors.NotSupportedError

    def _work(self, timeout: float | None = None, progress: ProgressCallback | None = None) -> Interrupt:
        """The token of a piece of work, to be entered while it is done.

        `timeout` None means that of the settings, 0 no limit.
        """
        seconds = self.settings.timeout if timeout is None else timeout
        return Interrupt(self._requests, seconds or None, progress)

    def _run_plan(self, plan: Plan) -> Result:
        """Runs a finished plan on the current snapshot."""
        with self._work() as work:
            result = statements.run_plan(plan, self._session())
        return result._under(work)

    def _session(self) -> Session:
        """The connection on its current snapshot, as planner and executor use it."""
        return sessions.Session(self, self.snapshot)

    # ---- corpora ----------------------------------------------------------------------------------------

    def corpora(self) -> list[str]:
        """The names of all corpora."""
        return self.snapshot.names()

    @property
    def current_corpus(self) -> str | None:
        """The name of the corpus that statements without FROM ask; None when that is not clear."""
        with suppress(BindError):
            return default_corpus(self._current, self.snapshot.names())
        return None

    def corpus(self, name: str | None = None) -> Corpus:
        """A corpus by name; without one, the current corpus (USE), or the only one there is.

        Raises
        ------
        BindError
            There is no such corpus, or it is not clear which one is meant.
        """
        self.refresh()
        if name is None:
            name = default_corpus(self._current, self.snapshot.names())
        if not isinstance(name, str):
            raise InvalidArgument(f"a corpus's name is a str, not {type(name).__name__}")
        self.snapshot.view(name)
        return verbs.Corpus(self, name)

    def create_corpus(
        self,
        name: str,
        tokenizer: str | os.PathLike[str] = DEFAULT_TOKENIZER,
        if_not_exists: bool = False,
        **options: Unpack[CorpusOptions],
    ) -> Corpus:
        """Makes a new, empty corpus.

        Parameters
        ----------
        name : any non-empty text; names that are no plain words are written in backquotes in statements
        tokenizer : 'words', 'chars', 'bytes', 'tokens', or the path of a Hugging Face tokenizer.json
        if_not_exists : take the corpus that is there, whatever its tokenizer
        options : `segment_tokens`, most tokens in a segment; `sentence_separator`, the text of the token
            between sentences, for language models (without it each document is a sentence)

        Raises
        ------
        BindError
            There is a corpus of that name.
        InvalidArgument
            No such tokenizer or option, or a separator that is not one token.
        """
        if not isinstance(name, str) or not name:
            raise InvalidArgument(f"a corpus's name is a non-empty str, not {name!r}")
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise InvalidArgument(f"a corpus's name is valid Unicode, and {name!r} is not") from error
        checked: dict[str, Any] = {}
        for option, value in options.items():
            if option not in CORPUS_OPTIONS:
                raise InvalidArgument(f"no option {option!r}; known: {', '.join(CORPUS_OPTIONS)}")
            checked[option] = CORPUS_OPTIONS[option].check(option, value)
        try:
            self._session().run_create(plans.CreateCorpus(name, os.fspath(tokenizer), if_not_exists, checked))
        except BindError as error:
            raise BindError(
                f"corpus {name} exists already; corpus({name!r}) gives it, and so does create_corpus with "
                "if_not_exists=True"
            ) from error
        return verbs.Corpus(self, name)

    def drop_corpus(self, name: str, if_exists: bool = False) -> bool:
        """Drops a corpus; False when there was none and `if_exists` said that that is all right."""
        return self._session().run_drop(plans.DropCorpus(name, if_exists)) is not None

    def use(self, name: str) -> None:
        """Makes a corpus the current one, as USE does."""
        self.corpus(name)
        self._current = name

    # ---- writing ----------------------------------------------------------------------------------------

    def _create(self, plan: CreateCorpus) -> int | None:
        """Runs a CREATE CORPUS; the new version, or None when nothing had to be done."""
        self.refresh()
        if plan.if_not_exists and plan.name in self.snapshot.manifest.corpora:
            return None
        if self._unmade is not None:
            corpora.checked_tokenizer(plan.tokenizer, plan.options)
            self._make()
        with self._writing() as timeout_s:
            version = corpora.create_corpus(
                self._store,
                plan.name,
                plan.tokenizer,
                plan.if_not_exists,
                plan.options,
                timeout_s,
            )
        return version

    def _drop(self, plan: DropCorpus) -> int | None:
        """Runs a DROP CORPUS; the new version, or None when nothing had to be done."""
        self.refresh()
        if plan.if_exists and plan.name not in self.snapshot.manifest.corpora:
            return None
        with self._writing() as timeout_s:
            version = corpora.drop_corpus(self._store, plan.name, plan.if_exists, timeout_s)
        return version

    def _load(self, plan: Load, progress: loading.ProgressCallback | None = None) -> loading.LoadReport:
        """Runs a COPY … FROM. `progress` None means the connection's own callback, if that is wanted."""
        if progress is None and self.settings.progress:
            progress = self.progress
        return loading.load_files(self, plan, progress)

    def _append(
        self, name: str, documents: Iterator[Any], progress: loading.ProgressCallback | None = None
    ) -> loading.LoadReport:
        """Adds documents that `api.documents` has made; one commit."""
        return loading.load(self, name, documents, f"append to {name}", progress)

    @contextmanager
    def _change(self, name: str, action: str) -> Iterator[Change]:
        """A change of a corpus under the writer's lock; the connection goes over to what it commits."""
        settings = self.settings
        with self._writing() as timeout_s:
            options = changing.WriteOptions(
                settings.segment_tokens, settings.auto_compact, settings.memory_limit, timeout_s
            )
            with changing.Change.begin(self._store, name, action, options) as change:
                yield change

    @contextmanager
    def _writing(self) -> Iterator[float]:
        """One writer of this connection at a time; gives the seconds to wait for another connection's.

        When the block is left without an error, the connection goes over to what it has committed.
        """
        with holding(self._write_lock):
            # Who writes while it writes (from the documents of an append) would wait for itself.
            timeout_s = 0.0 if self._n_writing else self.settings.lock_timeout
            self._n_writing += 1
            self._store.keep_versions = self.settings.keep_versions
            try:
                yield timeout_s
            finally:
                self._n_writing -= 1
        # Another thread may have closed the connection; what is committed is committed.
        with self._lock:
            if self._snapshot is not None:
                self.refresh()

"""A connection: statements in, results out, on a snapshot of a database that others may write to."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

# Before the modules that import it, because its own imports are deep: if Python's frames fill a chunk of
# memory, each call maps and unmaps another one (18 ms of the 125 that importing all this took).
import numpy as np  # noqa: F401

from ngramdb import display
from ngramdb.api.database import Database, letting_go
from ngramdb.api.settings import checked_timeout
from ngramdb.api.snapshot import Snapshot
from ngramdb.display import visible
from ngramdb.errors import BindError, HasErrors, InvalidArgument, NgramdbError, NotSupportedError
from ngramdb.interrupts import Interrupt, ProgressCallback
from ngramdb.lazy import lazy_module
from ngramdb.planner.parameters import ATTACH_OPTIONS, CORPUS_OPTIONS, checked_options, default_corpus
from ngramdb.registries import DEFAULT_TOKENIZER
from ngramdb.types import checked_flags

if TYPE_CHECKING:
    from ngramdb.api import building, conversion, cursor, session, statements
    from ngramdb.api import corpus as verbs
    from ngramdb.api.corpus import Corpus
    from ngramdb.api.cursor import Cursor
    from ngramdb.api.verbs import corpora
    from ngramdb.engine.corpus import attached
    from ngramdb.engine.loading.committing import CommitReport
    from ngramdb.engine.loading.writer import LoadCallback
    from ngramdb.executor.result import Result
    from ngramdb.ingest.sources import PathLike
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions import to_ast
    from ngramdb.questions.signatures import AttachOptions, CorpusOptions, TokenizerLike, Unpack
else:
    attached = lazy_module("ngramdb.engine.corpus.attached")
    building = lazy_module("ngramdb.api.building")
    corpora = lazy_module("ngramdb.api.verbs.corpora")
    cursor = lazy_module("ngramdb.api.cursor")
    conversion = lazy_module("ngramdb.api.conversion")
    session = lazy_module("ngramdb.api.session")
    statements = lazy_module("ngramdb.api.statements")
    to_ast = lazy_module("ngramdb.questions.to_ast")
    verbs = lazy_module("ngramdb.api.corpus")

_T = TypeVar("_T")
_letting_go = letting_go(lambda connection: connection._database)


class Connection(HasErrors):
    """An open database. May be shared by threads; made by `connect`.

    Every statement starts from the newest committed version; its result keeps reading that version. A
    connection's own commits are visible at once in all threads.

    Attributes
    ----------
    settings : Settings, the values that SET changes
    progress : callable or None, called with the progress of COPY, and of loads without a `progress` argument
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.settings = database.settings

    @property
    def progress(self) -> LoadCallback | None:
        """The callback of COPY, and of loads without a `progress` argument; None for no reports."""
        return self._database.progress

    @progress.setter
    def progress(self, callback: LoadCallback | None) -> None:
        self._database.progress = callback

    # ---- life -------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the connection; results can still be read to their end. Closing twice is a no-op."""
        self._database.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._database.newest is None:
            return "<ngramdb.Connection, closed>"
        try:
            names = ", ".join(self.corpora()) or "none"
        except NgramdbError as error:  # debuggers and logs display objects in any state
            return visible(f"<ngramdb.Connection: {error}>")
        return visible(f"<ngramdb.Connection, version {self.version}, corpora: {names}>")

    def _repr_html_(self) -> str:
        """Return the corpora as HTML, as in SHOW CORPORA."""
        try:
            return self.execute("SHOW CORPORA")._repr_html_()
        except NgramdbError:
            return display.table((), (), [repr(self)])

    @property
    def snapshot(self) -> Snapshot:
        """The version that is read.

        Raises
        ------
        ExecutionError
            The connection is closed.
        """
        if self.settings.auto_refresh and self._database.newest is not None:
            self._database.refresh()
        return self._database.snapshot

    @property
    def version(self) -> int:
        """The number of the version that is read."""
        return self.snapshot.version

    def refresh(self, at_once: bool = True) -> bool:
        """Look for a newer committed version, and read it from now on; return True if there was one.

        `at_once` matters only if the database is in an object store: without it, the store is queried at most
        every five seconds, as before each query.

        Raises
        ------
        DatabaseGone
            The database was moved or removed, or another one is at its path. All uses of this connection
            raise it then, until the database is there again.
        CorruptionError
            The newest version is damaged; corpora continue to read the current one.
        """
        return self._database.refresh(at_once)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path of the database, not its contents: unpickling opens it again."""
        return type(self), (self._database,)

    # ---- statements -------------------------------------------------------------------------------------

    def execute(
        self,
        sql: str,
        params: ParameterValues = None,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
    ) -> Result:
        """Run a statement, or several separated by `;`, and return the result of the last one.

        Parameters
        ----------
        sql : the statements
        params : values for `?` (a list or tuple, in order through the whole text) or `:name` (a dict); an
            n-gram's value is text or token ids
        timeout : seconds of work, including reading the rows, after which a statement expires; 0 for no
            limit, None for the setting `timeout`
        progress : called at most ten times per second with an object that has `fraction` (0 to 1, or None if
            unknown) and `elapsed` (seconds); its method `set` stops the statement

        Returns
        -------
        A table whose rows are computed as they are read, with `summary`, `df()`, `arrow()`.

        Raises
        ------
        QueryError
            A statement that cannot be run as written, with its place; the statements before it have been run,
            except after a ParseError.
        Interrupted, TimeoutExceeded
            The statement was stopped before its end; `fraction` and `elapsed` are its progress.
        ExecutionError, StorageError
            A statement failed while it ran.
        """
        started = time.perf_counter()
        self.snapshot  # noqa: B018 - raises on a closed connection, whatever the statement
        seconds = None if timeout is None else checked_timeout("timeout", timeout)
        result = statements.execute_all(self._database, sql, params, seconds, progress)
        result.elapsed += time.perf_counter() - started
        return result

    def ask(
        self,
        sql: str,
        params: ParameterValues = None,
        *,
        work: Interrupt | None = None,
        corpus: str | None = None,
    ) -> Result:
        """Run one read-only statement, and reject any other: for untrusted statements.

        Queries, EXPLAIN of queries, DESCRIBE and SHOW CORPORA are allowed. They change no shared state of
        this connection, neither settings nor the current corpus, and name no files.

        Parameters
        ----------
        sql : one statement
        params : as in `execute`
        work : the token that stops this statement alone; by default one with the setting `timeout`
        corpus : the corpus of a statement without FROM; by default the current or the only one

        Raises
        ------
        ReadingOnly
            Any other statement; nothing was run.
        QueryError, QueryCancelled, ExecutionError, StorageError
            As from `execute`.
        """
        self.snapshot  # noqa: B018 - raises on a closed connection
        started = time.perf_counter()
        token = self._database.work() if work is None else work
        result = statements.ask(self._database, sql, params, token, corpus)
        result.elapsed += time.perf_counter() - started
        return result

    def describe(self, name: str, version: int | str | None = None) -> Result:
        """Return the properties of a corpus, at this version or an earlier one: DESCRIBE.

        `version` is a number, or a name given by `keep_version`.

        Raises
        ------
        BindError
            The corpus does not exist, or the version is not kept.
        """
        _check_is_name(name)
        self._database.refresh()
        number = None if version is None else to_ast.version_number(version, self.snapshot.manifest.number_of)
        return statements.described(self._database, name, number)

    def interrupt(self) -> None:
        """Stop the running work of this connection, from another thread.

        Running statements, and unfinished results, raise `Interrupted` within
        milliseconds. Work that begins later is not affected.
        """
        self._database.requests.set()

    def timeout(self, seconds: float) -> AbstractContextManager[Interrupt]:
        """Limit the time of all statements and verbs of a block, in this thread.

        ```
        with db.timeout(0.5):
            corpus.count_many(ngrams)
        ```

        Parameters
        ----------
        seconds : for the whole block, instead of the setting `timeout`; 0 for no limit

        Returns
        -------
        The token of the block's work: `elapsed` is the number of seconds so far, `set()` stops the work.

        Raises
        ------
        TimeoutExceeded
            In the block, by the call that is running when the time is over, and by calls after it; a call
            that takes microseconds, such as a count, may still return its answer.
        InvalidArgument
            `seconds` is not a number of seconds.
        """
        return self._database.limited(checked_timeout("timeout", seconds))

    def cursor(self) -> Cursor[Connection]:
        """Return a PEP 249 cursor on this connection."""
        self.snapshot  # noqa: B018 - raises on a closed connection
        return cursor.Cursor(self)

    def commit(self) -> None:
        """Do nothing, for PEP 249: every statement that writes is one commit."""
        self.snapshot  # noqa: B018 - raises on a closed connection

    def rollback(self) -> None:
        """Raise NotSupportedError, for PEP 249: every statement that wrote is committed."""
        self.snapshot  # noqa: B018 - raises on a closed connection
        raise NotSupportedError(
            "nothing can be rolled back: every statement is its own commit; "
            "RESTORE CORPUS name TO VERSION n makes an earlier version current again"
        )

    # ---- versions ---------------------------------------------------------------------------------------

    @_letting_go
    def keep_version(self, name: str, version: int | None = None) -> int:
        """Keep a version, whatever `keep_versions` is, until its name is dropped: KEEP VERSION … AS.

        ```
        db.keep_version("before cleaning")
        corpus.delete('"click here"')
        corpus.restore("before cleaning")
        ```

        Parameters
        ----------
        name : 1 to 100 printable characters that are not a number; a version may have several names
        version : its number; None for the newest version

        Returns
        -------
        The number of the kept version. Keeping it is a separate commit, so the newest version is a later
        one; nothing is committed if the version already has that name.

        Raises
        ------
        BindError
            The version is no longer kept, or another version has the name.
        InvalidArgument
            The name is invalid, or the version is not a whole number.
        LockedError, ReadOnlyError
            Another writer holds the lock; the database is open read-only.

        Notes
        -----
        Cost: one manifest. It and each later one grow by the size of the kept version's (some kilobytes), and
        the files of the kept version stay on disk.
        """
        number = None if version is None else to_ast.version_number(version)
        kept = to_ast.version_name(name)
        return self._acting(lambda now: now.run_keep(kept, number)[0])

    @_letting_go
    def drop_version(self, name: str) -> None:
        """Drop the name of a version that was given by `keep_version`: DROP VERSION.

        Files that no other version needs are removed.

        Raises
        ------
        BindError
            No version has that name.
        """
        kept = to_ast.version_name(name)
        self._acting(lambda now: now.run_drop_version(kept))

    def _acting(self, act: Callable[[session.DatabaseSession], _T]) -> _T:
        database = self._database
        database.refresh()
        with database.work():
            return act(session.DatabaseSession(database, database.snapshot))

    # ---- corpora ----------------------------------------------------------------------------------------

    def corpora(self) -> list[str]:
        """Return the names of all corpora."""
        return self.snapshot.names()

    @property
    def current_corpus(self) -> str | None:
        """The name of the corpus that statements without FROM read; None if ambiguous."""
        with suppress(BindError):
            return default_corpus(self._database.current, self.snapshot.names())
        return None

    def corpus(self, name: str | None = None) -> Corpus:
        """Return a corpus by name; without a name, the current corpus (USE), or the only one.

        Raises
        ------
        BindError
            The corpus does not exist; or there are several, and none is current.
        """
        return verbs.Corpus(self._database, self._database.corpus_name(name))

    @checked_flags
    def create_corpus(
        self,
        name: str,
        tokenizer: TokenizerLike = DEFAULT_TOKENIZER,
        if_not_exists: bool = False,
        **options: Unpack[CorpusOptions],
    ) -> Corpus:
        """Create an empty corpus, in one commit.

        Parameters
        ----------
        name : any non-empty text; statements need backquotes around names that are not plain words
        tokenizer : 'words', 'words(lower)', 'words(nfc)', 'words(lower, nfc)', 'chars', 'bytes', 'tokens', or
            the path of a Hugging Face tokenizer.json; or a `tokenizers.Tokenizer`, or a fast tokenizer of
            `transformers`
        if_not_exists : return the existing corpus of that name, whatever its tokenizer
        options : `segment_tokens`, the greatest number of tokens in a segment; `sentence_separator`, the text
            of the token between sentences, for language models (without it each document is a sentence);
            `sentences`, whether to find the beginnings of sentences in texts (default True)

        Raises
        ------
        BindError
            A corpus of that name exists.
        InvalidArgument
            An unknown tokenizer or option, or a separator that is not one token.
        """
        _check_name(name)
        checked = checked_options(options, CORPUS_OPTIONS)
        try:
            named = os.fspath(tokenizer) if isinstance(tokenizer, os.PathLike) else tokenizer
            corpora.create_corpus(self._database, name, named, if_not_exists, checked)
        except BindError as error:
            raise BindError(
                f"corpus {name} exists already; corpus({name!r}) returns it, and so does create_corpus with "
                "if_not_exists=True"
            ) from error
        return verbs.Corpus(self._database, name)

    @letting_go(lambda connection: connection._database)
    @checked_flags
    def drop_corpus(self, name: str, if_exists: bool = False, if_empty: bool = False) -> bool:
        """Drop a corpus, in one commit.

        Parameters
        ----------
        name : the corpus
        if_exists : return False instead of raising BindError if the corpus does not exist
        if_empty : return False instead of dropping a corpus that has documents, including those that another
            writer has just added
        """
        _check_is_name(name)
        return corpora.drop_corpus(self._database, name, if_exists, if_empty) is not None

    @contextmanager
    def trial(self, *, has_documents: bool = True) -> Iterator[Connection]:
        """Yield a connection to the same database whose commits are dropped at the end of the block.

        ```
        with db.trial() as trial:
            print(trial.corpus("wiki").delete_duplicates())     # the number, and nothing has changed
        ```

        It begins with the version that is read here, or with the same corpora without documents. New files
        are in a temporary folder (TMPDIR).
        """
        from tempfile import TemporaryDirectory

        with (
            TemporaryDirectory(prefix="ngramdb-") as folder,
            Connection(self._database.trial(folder, has_documents)) as made,
        ):
            yield made

    def commit_parts(
        self,
        name: str,
        out: PathLike | Iterable[PathLike],
        progress: ProgressCallback | None = None,
    ) -> CommitReport:
        """Join the parts of a build: all their documents become those of a corpus, in one version.

        The documents follow those that the corpus has, in the order of the files, with the ids that one
        load of all files would have assigned. The parts' files are linked into the database, or copied
        if it is on another file system; the folders of parts may be removed afterwards.

        Parameters
        ----------
        name : the corpus, which is created if missing
        out : the folder of the parts that `ngramdb.build` has made, or several that have some each
        progress : called at most ten times per second, as in `execute`

        Raises
        ------
        InvalidArgument
            A part is missing, present twice, or was built differently from the others; or these parts are in
            the corpus already. Nothing is committed then.
        BindError
            The corpus has another tokenizer.
        LockedError
            Another writer holds the lock.
        CorruptionError
            A report or a part is damaged.

        Notes
        -----
        Cost: a few milliseconds per part. If vocabularies grow (`words`), about 160 ns per token from the
        second part on, because ids are translated and segments sorted again.
        """
        _check_name(name)
        return building.commit_reports(self._database, name, building.collected(out), progress)

    def attach(self, path: str | os.PathLike[str], name: str, **options: Unpack[AttachOptions]) -> Corpus:
        """Make another program's index a corpus of this connection; it is neither copied nor written to.

        ```
        pile = db.attach("/data/pile", "pile", tokenizer="llama.tokenizer.json")
        pile.count("natural language")
        db.detach("pile")
        ```

        Parameters
        ----------
        path : the folder of the index; for tokengrams the file of tokens
        name : the name of the corpus while attached
        options : those of ATTACH: `type`, 'infini_gram' or 'tokengrams'; `tokenizer`, the one that the
            index was made with, a file or an object as in `create_corpus` (by default 'tokens': n-grams are
            token ids); `dtype`, the type of its
            tokens, 'u8', 'u16' or 'u32' (by default derived from the sizes of its files); `version`, 5 if
            documents are reversed, which the files do not record; for tokengrams also
            `index`, the file of pointers, and `separator`, the token that ends documents

        Raises
        ------
        BindError
            A corpus of that name exists.
        InvalidArgument
            No such index, tokenizer or option.
        CorruptionError
            Files of the index are missing or contradict each other.

        Cost: a few reads in each file, whatever their size.
        """
        if not isinstance(name, str) or not name:
            raise InvalidArgument(f"a corpus's name must be a non-empty str, not {name!r}")
        tokenizer = options.get("tokenizer")
        is_object = tokenizer is not None and not isinstance(tokenizer, (str, os.PathLike))
        given = {
            option: os.fspath(value) if isinstance(value, os.PathLike) else value
            for option, value in options.items()
            if not (is_object and option == "tokenizer")
        }
        checked = checked_options(given, ATTACH_OPTIONS) | ({"tokenizer": tokenizer} if is_object else {})
        self._database.attach(attached.attachment_of(conversion.as_path(path), name, checked))
        return verbs.Corpus(self._database, name, at_once=False)  # the first query samples keys

    def detach(self, name: str) -> None:
        """End an attachment; results that were begun can be read to their end.

        Raises
        ------
        BindError
            The corpus does not exist, or it belongs to the database.
        """
        _check_is_name(name)
        self._database.detach(name)

    def use(self, name: str) -> None:
        """Make a corpus the current one, as USE does.

        Raises
        ------
        BindError
            The corpus does not exist.
        """
        self._database.current = self._database.corpus_name(name)


def _check_is_name(name: str) -> None:
    if not isinstance(name, str):
        raise InvalidArgument(f"a corpus's name must be a str, not {name!r}")


def _check_name(name: str) -> None:
    """Raise InvalidArgument unless this can be the name of a corpus."""
    if not isinstance(name, str) or not name:
        raise InvalidArgument(f"a corpus's name must be a non-empty str, not {name!r}")
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"the name of a corpus must be valid Unicode, not {name!r}") from error

"""An open database, shared by connections, corpora and statements: store, version, settings, writer.

It is used by the modules of this package; users see it through `Connection` and `Corpus`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakSet

from ngramdb import fork_safety
from ngramdb.api.settings import Settings
from ngramdb.api.snapshot import Snapshot
from ngramdb.engine.storage.directory import MemoryDirectory, RealDirectory, directory_at
from ngramdb.engine.storage.store import Store
from ngramdb.errors import (
    BindError,
    DatabaseGone,
    ExecutionError,
    InvalidArgument,
    NgramdbError,
    NotSupportedError,
    StorageError,
    VersionWarning,
)
from ngramdb.interrupts import Interrupt, ProgressCallback, Work, check, current, guarded, holding
from ngramdb.lazy import lazy_module
from ngramdb.planner.parameters import default_corpus

if TYPE_CHECKING:
    from ngramdb.engine.changes import change as changing
    from ngramdb.engine.changes.change import Change, WriteOptions
    from ngramdb.engine.corpus import attached as attaching
    from ngramdb.engine.corpus.attached import AttachedView, Attachment
    from ngramdb.engine.loading.writer import LoadCallback
    from ngramdb.engine.storage.directory import overlay
    from ngramdb.planner import cautions
    from ngramdb.questions import verbs
else:
    verbs = lazy_module("ngramdb.questions.verbs")
    cautions = lazy_module("ngramdb.planner.cautions")
    attaching = lazy_module("ngramdb.engine.corpus.attached")
    changing = lazy_module("ngramdb.engine.changes.change")
    overlay = lazy_module("ngramdb.engine.storage.directory.overlay")


_Verb = TypeVar("_Verb", bound=Callable[..., Any])


def letting_go(database_of: Callable[[Any], Database]) -> Callable[[_Verb], _Verb]:
    """Decorate a verb that commits: when it ends, the version that it began with may be removed.

    `database_of` returns the database of the object that has the verb.
    """

    def made(verb: _Verb) -> _Verb:
        @wraps(verb)
        def call(self: Any, *given: Any, **named: Any) -> Any:
            database = database_of(self)
            try:
                return verb(self, *given, **named)
            finally:
                database.store.let_go()
                if database.lost is not None:
                    verbs.warn(database.cautions())

        return call  # type: ignore[return-value]

    return made


class Limited(Interrupt):
    """The token of a block whose work has a common timeout, which replaces that of the settings."""


class Follower(Protocol):
    """An object that reads the newest version, and is notified of the next one."""

    def follow(self) -> None:
        """Read the newest version from now on; none once the database is closed."""


class Database:
    """A store with the settings and the state that its users share. May be shared by threads.

    Attributes
    ----------
    store : Store
    settings : Settings, the values that SET changes
    newest : the version that is read; None after `close`. Replaced as a whole, and the old one marked as
        past, which corpora check before each answer
    current : the corpus chosen by USE, or None
    progress : callable or None, called with the progress of COPY
    requests : set by an interrupt from outside; each piece of work begins with a child of it
    absent : the folder of the database, as long as it does not exist and nothing has been written

    `snapshots` makes the snapshots of versions; another class can make corpora answer differently.
    """

    def __init__(
        self,
        store: Store,
        absent: RealDirectory | None = None,
        snapshots: Callable[..., Snapshot] = Snapshot,
    ) -> None:
        self.store = store
        self._snapshots = snapshots
        self.settings = Settings(self._adapt)
        store.prewarm = lambda: self.settings.prewarm
        store.directory.set_cache_limit(lambda: self.settings.cache_limit)
        self.newest: Snapshot | None = self._snapshots(store, store.manifest)
        self.current: str | None = None
        self.progress: LoadCallback | None = None
        self.requests = Interrupt()
        self.absent = absent
        #: The version that was read first, if a commit has not kept it, until that has been reported.
        self.lost: int | None = None
        self._first = _version_to_return_to(self.newest)
        self._is_gone = False
        self._lock = threading.RLock()
        # Reentrant, so that documents whose creation writes to the same database cause an error, not a
        # deadlock.
        self._write_lock = threading.RLock()
        self._n_writing = 0
        self._inherited: tuple[object, ...] = ()
        # Weak references: a follower that is no longer used must not keep its version.
        self._followers: WeakSet[Follower] = WeakSet()
        fork_safety.renew_in_children(self)

    def is_same(self, other: Database) -> bool:
        """Return True for the same database: the same files, even through two connections."""
        one, two = self.store, other.store
        return self is other or (
            one.database_id == two.database_id
            and os.path.realpath(one.directory.description) == os.path.realpath(two.directory.description)
        )

    def trial(self, folder: str, has_documents: bool = True) -> Database:
        """Return the same database, or its corpora without documents; its commits go to another folder."""
        directory = overlay.OverlayDirectory(self.store.directory, RealDirectory(folder))
        made = Database(Store.open(directory, create=False), snapshots=self._snapshots)
        made.snapshot.attached.update(self.snapshot.attached)
        for name, value in self.settings.items():
            made.settings[name] = value
        made.current = self.current
        if not has_documents:
            for name in made.store.manifest.corpora:
                with made.change(name, f"leave out the documents of {name}") as change:
                    change.leave_documents_out()
                    change.commit()
        return made

    # ---- the version that is read -----------------------------------------------------------------------

    def close(self) -> None:
        """Stop all use of the store; results can still be read to their end."""
        with self._lock:
            if self.newest is not None:
                self._go_over(None)
                for follower in self._followers:
                    follower.follow()
                self.store.let_go()
                self.store.close()

    @property
    def snapshot(self) -> Snapshot:
        """The version that is read. Raises ExecutionError after `close`.

        If the database was found to be missing from its path, each use looks for it again: DatabaseGone.
        """
        if self._is_gone:
            self.refresh()
        return self._open_one()

    def _open_one(self) -> Snapshot:
        snapshot = self.newest
        if snapshot is None:
            raise ExecutionError("the connection is closed")
        return snapshot

    def refresh(self, at_once: bool = False) -> bool:
        """Look for a newer committed version, and read it from now on; return True if there was one.

        `at_once`: as in `Store.refresh`.
        """
        with self._lock:
            try:
                return self._refreshed(at_once)
            except DatabaseGone:
                self._notice_loss()
                raise

    def _refreshed(self, at_once: bool) -> bool:
        before = self._open_one()
        if self.absent is not None and os.path.lexists(self.absent.description):
            self.make()  # another process has created it
            return True
        self.store.refresh(at_once)
        manifest = self.store.manifest
        is_newer, has_evicted = manifest is not before.manifest, self.store.evict()
        was_gone, self._is_gone = self._is_gone, False
        if not (is_newer or has_evicted or was_gone):
            return False
        # Existing views of evicted files keep what they have; new views fetch again.
        kept = None if has_evicted else before
        self._go_over(self._snapshots(self.store, manifest, kept, before.attached))
        for follower in self._followers:
            follower.follow()
        return is_newer

    def _notice_loss(self) -> None:
        """Stop all use of the files of a database that is missing from its path."""
        with self._lock:
            self._is_gone = self.newest is not None
            if self.newest is not None:
                self.newest.is_past = True  # so that corpora look for the version, too

    def _go_over(self, snapshot: Snapshot | None) -> None:
        before, self.newest = self.newest, snapshot
        self._adapt()
        if before is not None:
            before.end(snapshot)

    def _adapt(self) -> None:
        """Mark the version as past if corpora must look for a newer one before each answer."""
        if self.newest is not None:
            self.newest.is_past = self._is_gone or self.settings.auto_refresh

    def register(self, follower: Follower) -> None:
        """Notify an object of each new version, as long as it is in use."""
        with self._lock:
            self._followers.add(follower)

    def make(self) -> None:
        """Create the absent database, or open the one that has been created meanwhile."""
        with self._lock:
            if self.absent is not None:
                store, before = Store.open(self.absent), self.store
                self.store = store
                attached = {} if self.newest is None else self.newest.attached
                self._go_over(self._snapshots(store, store.manifest, attached=attached))
                self.absent = None
                before.close()

    def renew(self) -> None:
        """In a forked child, reopen the same database: threads of the parent may hold locks of its parts.

        Their unfinished changes are not committed, and the child has nothing of them.
        """
        self._lock, self._write_lock, self._n_writing = threading.RLock(), threading.RLock(), 0
        before = self.newest
        if before is None or self.store.directory.is_remote:  # this would use a library's own threads
            return
        # The parent's objects stay: they hold files that are open in the parent, too.
        self._inherited = (*self._inherited, self.store, before)
        with suppress(NgramdbError):  # its files are gone: keep reading the open ones
            self._open_again(before)

    def _open_again(self, before: Snapshot) -> None:
        store = Store.open(self.store.directory, self.store.read_only, create=False)
        if store.has_replaced(self.store):
            return
        store.prewarm = self.store.prewarm
        attached = {name: attaching.attach(store, view.attachment) for name, view in before.attached.items()}
        snapshot = self._snapshots(store, store.manifest, attached=attached)
        self.store = store
        self._go_over(snapshot)
        for follower in self._followers:
            follower.follow()

    def corpus_name(self, name: str | None) -> str:
        """Return the name of an existing corpus; without a name, that of the current corpus, or the only one.

        Raises
        ------
        BindError
            The corpus does not exist; or there are several, and none is current.
        """
        self.refresh()
        if name is None:
            name = default_corpus(self.current, self.snapshot.names())
        if not isinstance(name, str):
            raise InvalidArgument(f"a corpus's name must be a str, not {type(name).__name__}")
        self.snapshot.view(name)
        return name

    # ---- corpora in other programs' files ---------------------------------------------------------------

    def attach(self, attachment: Attachment) -> None:
        """Make other programs' files a corpus of this connection.

        Raises
        ------
        BindError
            A corpus of that name exists.
        InvalidArgument, StorageError
            The files do not exist, or are damaged.
        """
        self.refresh()
        if attachment.name in self.snapshot.entries:
            raise BindError(f"there is a corpus {attachment.name!r}; attach the index AS another name")
        view = attaching.attach(self.store, attachment)
        with self._lock:
            self._exchange({**self.snapshot.attached, attachment.name: view})

    def detach(self, name: str) -> None:
        """End an attachment; results that were begun can be read to their end. Raises BindError."""
        with self._lock:
            left = dict(self.snapshot.attached)
            if left.pop(name, None) is None:
                self.snapshot.view(name)
                raise BindError(
                    f"{name} is a corpus of the database, and not attached; DROP CORPUS removes it"
                )
            self._exchange(left)

    def _exchange(self, attached: dict[str, AttachedView]) -> None:
        before = self.snapshot
        self._go_over(self._snapshots(self.store, before.manifest, before, attached))
        for follower in self._followers:
            follower.follow()

    def require_own(self, name: str) -> None:
        """Raise BindError if a corpus is attached, so that it cannot be changed."""
        if name in self.snapshot.attached:
            raise attaching.read_only(name)

    # ---- work -------------------------------------------------------------------------------------------

    def work(self, timeout: float | None = None, progress: ProgressCallback | None = None) -> Interrupt:
        """Return the token of a piece of work; enter it while working.

        `timeout` None means that of the settings, or of the enclosing block of `limited`; 0 no limit.
        Within the work of a service's client, it is stopped together with that.
        """
        parent, outer = self.requests, current()
        if outer is not None and outer.parent is None:
            check()
            parent = outer
        seconds = timeout
        if seconds is None and isinstance(outer, Limited):
            check()
            seconds = outer.timeout or 0.0
        elif seconds is None:
            seconds = self.settings.timeout
        work = Work(parent, seconds or None, progress)
        work.memory_limit = self.settings.memory_limit
        return work

    def limited(self, seconds: float) -> Interrupt:
        """Return the token of a block of work; enter it: all work in the block ends when its time is over."""
        return Limited(self.requests, seconds or None)

    @guarded
    def writing(self) -> Iterator[float]:
        """Admit one writer at a time; yield the seconds to wait for a writer of another connection.

        If the block ends without an error, `newest` is the version that it has committed.
        """
        with holding(self._write_lock):
            # A write within a write (by the documents of an append) would wait for itself.
            timeout_s = 0.0 if self._n_writing else self.settings.lock_timeout
            self._n_writing += 1
            self.store.keep_versions = self.settings.keep_versions
            self.store.synced = self.settings.durability == "full"
            try:
                yield timeout_s
            except DatabaseGone:
                self._notice_loss()
                raise
            except BaseException:
                with suppress(NgramdbError):  # a load may have committed before the error
                    self.refresh()
                raise
            finally:
                self._n_writing -= 1
        # Another thread may have closed the connection; the commit stays valid.
        with self._lock:
            if self.newest is not None:
                self.refresh()
                self.store.let_go()
                self._notice_loss_of_first()

    def _notice_loss_of_first(self) -> None:
        first, has_locks = self._first, self.store.directory.has_locks
        if first is not None and has_locks and not self.store.is_kept(first):  # without locks all are kept
            self.lost, self._first = first, None

    def cautions(self) -> Sequence[cautions.Caution]:
        """Return a warning if the version with which this connection began is no longer kept; only once."""
        lost, self.lost = self.lost, None
        if lost is None:
            return ()
        message = (
            f"version {lost}, the newest when this session began, is no longer kept (keep_versions is "
            f"{self.store.keep_versions}), so RESTORE cannot return to it; KEEP VERSION n AS 'name' keeps a "
            "version for good"
        )
        return (cautions.Caution(message, VersionWarning),)

    @guarded
    def change(self, name: str, action: str) -> Iterator[Change]:
        """Begin a change of a corpus, as `writing`."""
        self.require_own(name)
        with (
            self.writing() as timeout_s,
            changing.Change.begin(self.store, name, action, self.write_options(timeout_s)) as change,
        ):
            yield change

    def write_options(self, lock_timeout_s: float = 0.0) -> WriteOptions:
        """Return the options of changes according to the settings."""
        settings = self.settings
        return changing.WriteOptions(
            settings.segment_tokens,
            settings.auto_compact,
            settings.memory_limit,
            lock_timeout_s,
            settings.sort_tokens,
            settings.threads,
            settings.far_index,
            settings.fast_tokenizer,
        )

    # ---- other processes --------------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path of the database, not its contents: unpickling opens it again.

        Raises
        ------
        NotSupportedError
            The database is in memory.
        """
        version = self.snapshot.version
        if isinstance(self.store.directory, MemoryDirectory):
            raise NotSupportedError(
                "a database in memory lives in one process and cannot be pickled; connect to a folder instead"
            )
        path = self.store.directory.description
        attachments = [view.attachment for view in self.snapshot.attached.values()]
        return reopened, (path, version, self.store.read_only, dict(self.settings), self.current, attachments)


def _version_to_return_to(snapshot: Snapshot) -> int | None:
    """Return the number of the version, or None if all its corpora are empty."""
    corpora = snapshot.manifest.corpora.values()
    return snapshot.version if any(corpus.n_documents for corpus in corpora) else None


def reopened(
    path: str,
    version: int,
    read_only: bool,
    settings: dict[str, Any],
    current: str | None,
    attachments: Sequence[Attachment] = (),
) -> Database:
    """Open a pickled database at its newest version: the pickled one, or a later one.

    Raises
    ------
    StorageError
        The database does not exist, or is older than the pickled one.
    """
    database = Database(Store.open(directory_at(path), read_only=read_only, create=False))
    if database.snapshot.version < version:
        raise StorageError(
            f"{path}: the database is at version {database.snapshot.version}, but the pickled one read "
            f"version {version}; this is an older copy",
            path=path,
        )
    for name, value in settings.items():
        database.settings[name] = value
    for attachment in attachments:
        database.attach(attachment)
    database.current = current
    return database

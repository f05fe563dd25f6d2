"""One writer's work: new files, then one manifest that makes them a version.

The order of a commit (FORMAT.md, "Commit"): every data file synced, their folders synced, the manifest
written under a temporary name and synced, published under its number, the folder of manifests synced. Until
it is published nothing refers to the new files. The main invariant: a file is removed only if it is certain
that no manifest that could reappear after a power failure refers to it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from types import TracebackType

from ngramdb.engine.storage.directory.base import (
    Directory,
    WritableFile,
    WriterLock,
    split_name,
    storage_error,
    storage_errors,
)
from ngramdb.engine.storage.files import (
    KINDS,
    MANIFESTS,
    UNSYNCED,
    LoadedVersion,
    author,
    manifest_name,
    new_data_name,
    now,
    temporary_name,
    write_version,
)
from ngramdb.engine.storage.manifest import CorpusEntry, FileRef, Manifest, SegmentEntry
from ngramdb.errors import ConflictError, InvalidArgument, StorageError
from ngramdb.interrupts import Deferred, current
from ngramdb.lazy import INFO, log
from ngramdb.segments.container import Ahead, ContainerWriter, Scratch
from ngramdb.segments.far_index import SegmentSummary
from ngramdb.tokenizers.base import FileContent


class Transaction:
    """The right to write, from `Store.begin` to the end of the `with` block.

    It may commit several times; anything uncommitted at the end of the block is removed. `manifest` is the
    version that the next commit succeeds. For one thread at a time. `is_clean` is True unless files were left
    behind that no version needs.
    """

    def __init__(
        self,
        directory: Directory,
        lock: WriterLock,
        manifest: Manifest,
        database_id: str,
        require_base: Callable[[], None],
        on_commit: Callable[[LoadedVersion], None],
        on_close: Callable[[bool], None],
        is_clean: bool = True,
        synced: bool = True,
    ) -> None:
        self.manifest = manifest
        self.is_clean = is_clean
        self._synced = synced
        self._directory = directory
        self._lock = lock
        self._database_id = database_id
        self._require_base = require_base
        self._on_commit = on_commit
        self._on_close = on_close
        # None for files taken in from elsewhere, which are finished.
        self._files: dict[str, _NewFile | None] = {}
        self._over = False
        # True while a manifest that refers to the new files may be visible, now or after a power failure.
        self._may_be_referenced = False
        self._pid = os.getpid()

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def create_file(self, folder: str, suffix: str) -> tuple[str, WritableFile]:
        """Create a file in `folder` ("segments", "vocabularies" or "tokenizers"); return its name and it.

        It raises StorageErrors with advice. It must be synced and closed before it is committed.
        """
        self._check_usable()
        if folder not in KINDS:
            raise InvalidArgument(f"{folder!r} is not a folder for data: {', '.join(KINDS)}")
        name = new_data_name(folder, suffix)
        path = self._directory.path_of(name)
        with Deferred(), storage_errors("create the file", path):
            self._files[name] = file = _NewFile(self._directory.create(name), path, self._synced)
        return name, file

    def take_in(self, folder: str, source: Directory, ref: FileRef) -> FileRef:
        """Add a finished file of another database to this transaction, under a new name.

        Linked if the file system can, else copied. Its errors are StorageErrors.
        """
        self._check_usable()
        name = new_data_name(folder, ref.name.rpartition(".")[2])
        self._files[name] = None  # from now on it is removed unless it is committed, whatever happens
        with storage_errors("take in the file", source.path_of(ref.name)):
            self._directory.take_in(name, source, ref.name)
            if self._synced and source.exists(UNSYNCED):
                self._directory.sync_file(name)
        return FileRef(name, ref.size, ref.crc)

    def commit(
        self,
        corpora: Mapping[str, CorpusEntry],
        action: str,
        kept: Mapping[str, Manifest] | None = None,
        dropped: Mapping[str, CorpusEntry] | None = None,
    ) -> Manifest:
        """Make `corpora` the next version, all or nothing; it survives a power failure once this returns.

        `action` describes what was done, in a few words. `kept` are the versions that are kept by name; None
        for those of the version before. `dropped` are last entries of corpora of these versions that were
        dropped earlier, by id, if the version before does not have them. New files that it does not refer to
        are removed.
        In a transaction that is not `synced`, it survives only the end of the process (`unsynced`).
        Raises InvalidArgument for an invalid entry, DatabaseGone if another database has taken the place of
        this one: then nothing has changed. Raises
        StorageError if the system refuses: the old version stays, and the transaction is over. (Only if
        retracting the new one fails too is the outcome open; the message states this, and either version is
        whole.)
        """
        self._check_usable()
        named = dict(self.manifest.kept if kept is None else kept)
        gone = {**(dropped or {}), **self.manifest.dropped_before(corpora, named)}
        number = self.manifest.version + 1
        manifest = Manifest(number, now(), action, dict(corpora), author(), named, gone)
        self._check(manifest)
        self._require_base()
        with Deferred():
            self._over = True  # unless all succeeds
            try:
                loaded = self._write(manifest)
            except OSError as error:
                raise self._failure(error, manifest.version) from error
            work = current()
            if work is not None:
                work.note_commit(manifest.version)
            self._adopt(loaded)
        path = self._directory.description
        log(INFO, "committed version %d of %s: %s", manifest.version, path, action)
        return manifest

    def close(self) -> None:
        """End the transaction: remove the files that were not committed, and release the lock."""
        self._over = True
        try:
            # A forked child inherits this object, but the files are its parent's.
            if os.getpid() == self._pid:
                self._discard(set(self._files))
                self._on_close(self.is_clean)
        finally:
            self._lock.release()

    def _check_usable(self) -> None:
        if self._over:
            raise StorageError(
                f"{self._directory.description}: the transaction has ended; begin a new one",
                path=self._directory.description,
            )

    def _check(self, manifest: Manifest) -> None:
        """Raise InvalidArgument unless the manifest is sound and all its files exist, finished."""
        try:
            manifest.check()
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"this cannot be committed: {error}") from error
        known = self.manifest.files()
        for name, ref in manifest.files().items():
            if known.get(name) != ref:
                self._check_file(ref)

    def _check_file(self, ref: FileRef) -> None:
        file = self._files.get(ref.name)
        if file is not None and not file.finished:
            raise InvalidArgument(f"{ref.name} was not synced and closed before the commit")
        path = self._directory.path_of(ref.name)
        with storage_errors("commit a reference to the file", path):
            size = self._directory.size(ref.name)
        if size != ref.size:
            raise InvalidArgument(f"{ref.name} has {size} bytes, but the entry records {ref.size}")

    def _write(self, manifest: Manifest) -> LoadedVersion:
        directory = self._directory
        if self._synced:
            for folder in sorted({split_name(name)[0] for name in self._files}):
                directory.sync_folder(folder)
        final = manifest_name(manifest.version)
        temp = temporary_name(final)
        try:
            write_version(directory, temp, manifest, self._database_id, self._synced)
            self._publish(temp, final)
        except Exception:
            self._remove(temp)
            raise
        identity = None
        # The commit is done. Without an identity the store reads the manifest again; there is no other
        # effect.
        with contextlib.suppress(OSError):
            identity = directory.identity(final)
        return LoadedVersion(manifest, final, identity, manifest.writer_flags)

    def _publish(self, temp: str, final: str) -> None:
        self._may_be_referenced = True
        try:
            self._directory.publish(temp, final)
        except FileExistsError as error:
            self._may_be_referenced = False
            path = self._directory.path_of(final)
            if not self._directory.has_locks:
                raise ConflictError(
                    f"{path}: another writer has committed this version first; nothing of it was "
                    "overwritten, and this change was not made: retry it",
                    path=path,
                ) from error
            raise StorageError(
                f"{path}: another writer has committed while this one held the lock; nothing of it was "
                "overwritten. The file system's locks do not work: write from one process only, or move the "
                "database to a local disk",
                path=path,
            ) from error
        except BaseException:
            self._retract(final)
            raise
        try:
            if self._synced:
                self._directory.sync_folder(MANIFESTS)
        except BaseException:
            self._retract(final)
            raise

    def _retract(self, final: str) -> None:
        """Retract a published manifest, durably; `_may_be_referenced` stays True if that fails.

        Without locks others may have succeeded it already.
        """
        if not self._directory.has_locks:
            return
        with contextlib.suppress(OSError):
            with contextlib.suppress(FileNotFoundError):
                self._directory.remove(final)
            self._directory.sync_folder(MANIFESTS)
            self._may_be_referenced = False

    def _failure(self, error: OSError, version: int) -> StorageError:
        path = self._directory.description
        failure = storage_error(error, f"commit version {version}", path)
        outcome = f"version {self.manifest.version} stays in force"
        if self._may_be_referenced:
            outcome = f"open the database again to see whether version {version} is in force"
        return StorageError(f"{failure} ({outcome})", path=path)

    def _adopt(self, loaded: LoadedVersion) -> None:
        """Make the committed version the base of the next one; its files are no longer this transaction's."""
        committed = loaded.manifest.files().keys()
        left = self._files.keys() - committed
        self._files = {name: self._files[name] for name in left}
        self.manifest = loaded.manifest
        self._may_be_referenced = False
        self._discard(left)
        self._over = False
        self._on_commit(loaded)

    def _discard(self, names: set[str]) -> None:
        for name in sorted(names):
            file = self._files.pop(name)
            if file is not None:
                with contextlib.suppress(StorageError):
                    file.close()
            if self._may_be_referenced:
                self.is_clean = False
            else:
                self._remove(name)

    def _remove(self, name: str) -> None:
        try:
            self._directory.remove(name)
        except OSError:
            self.is_clean = False


class _NewFile(WritableFile):
    """A file of a transaction: explains the system's errors, and records whether it is finished."""

    def __init__(self, file: WritableFile, path: str, is_synced: bool) -> None:
        self._file = file
        self._path = path
        self._is_synced = is_synced
        self._synced = False
        self._closed = False

    @property
    def finished(self) -> bool:
        return self._synced and self._closed

    def write(self, data: bytes | bytearray | memoryview, /) -> None:
        self._synced = False
        with storage_errors("write the file", self._path):
            self._file.write(data)

    def sync(self) -> None:
        if self._is_synced:
            with storage_errors("write the file to the device", self._path):
                self._file.sync()
        self._synced = True

    def ahead(self, offset: int) -> Ahead | None:
        file = self._file.ahead(offset)
        return None if file is None else _AheadFile(file, self._path)

    def pass_over(self, n_bytes: int) -> None:
        self._synced = False
        with storage_errors("write the file", self._path):
            self._file.pass_over(n_bytes)

    def scratch(self) -> Scratch:
        with storage_errors("make a file beside", self._path):
            return _ScratchFile(self._file.scratch(), self._path)

    def close(self) -> None:
        self._closed = True
        with storage_errors("close the file", self._path):
            self._file.close()


class _AheadFile:
    """The part of a file that is written ahead; explains the system's errors."""

    def __init__(self, file: Ahead, path: str) -> None:
        self._file = file
        self._path = path

    def write(self, data: bytes | memoryview, /) -> None:
        with storage_errors("write the file", self._path):
            self._file.write(data)

    def end(self) -> None:
        with storage_errors("write the file", self._path):
            self._file.end()


class _ScratchFile:
    """A file without a name that explains the system's errors."""

    def __init__(self, file: Scratch, path: str) -> None:
        self._file = file
        self._path = path

    def write(self, data: bytes | memoryview, /) -> None:
        with storage_errors("write beside the file", self._path):
            self._file.write(data)

    def seek(self, offset: int, /) -> None:
        with storage_errors("write beside the file", self._path):
            self._file.seek(offset)

    def read(self, n: int, /) -> bytes:
        with storage_errors("read beside the file", self._path):
            return self._file.read(n)

    def close(self) -> None:
        with storage_errors("close what is beside the file", self._path):
            self._file.close()


def write_content(transaction: Transaction, folder: str, suffix: str, content: FileContent) -> FileRef:
    """Write a tokenizer's definition or vocabulary to a new file, synced."""
    name, file = transaction.create_file(folder, suffix)
    writer = ContainerWriter(file, kind=content.kind)
    for section, data in content.sections.items():
        writer.add(section, data)
    info = writer.finish(content.properties)
    return FileRef(name, info.size, info.crc)


def segment_entry(transaction: Transaction, name: str, summary: SegmentSummary, sign: int) -> SegmentEntry:
    """Return the catalog entry of a segment that was just written to the file `name`."""
    return SegmentEntry(
        file=FileRef(name, summary.file.size, summary.file.crc),
        sign=sign,
        n_tokens=summary.n_tokens,
        n_documents=summary.n_documents,
        first_doc_id=summary.first_doc_id,
        created_version=transaction.manifest.version + 1,
    )

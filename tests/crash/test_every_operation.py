"""A fault or a crash at every operation of a writer leaves the old version, or the new one, but whole."""

from __future__ import annotations

import contextlib
import errno
import os
import random
from dataclasses import replace

import pytest
from support.faulty_directory import FaultyDirectory, SimulatedCrash

from ngramdb.engine.changes.removals import drop_version, keep_version
from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.engine.storage.store import Store
from ngramdb.errors import StorageError

#: Power failures tried after each fault or crash, besides the one that loses all that was not synced.
N_SEEDS = 4 if os.environ.get("NGRAMDB_TORTURE") == "full" else 1


class Scenario:
    """Something a writer does; `states` are the contents of the versions that it goes through."""

    def __init__(self, start, states, run):
        self.start = start
        self.states = states
        self.run = run

    def n_operations(self):
        directory = FaultyDirectory(self.start())
        assert len(list(self.run(directory))) == len(self.states) - 1
        return len(directory.operations)


def committed(writes, *batches):
    directory = MemoryDirectory()
    store = Store.open(directory)
    for batch in batches:
        writes.commit(store, *batch)
    return directory


def scenarios(writes):
    """By name. `run` yields once for each commit that has returned; None stands for no database at all."""

    def create(directory):
        Store.open(directory)
        yield

    def append(*batches):
        def run(directory):
            store = Store.open(directory)
            for batch in batches:
                writes.commit(store, *batch)
                yield

        return run

    def drop_and_clean(directory):
        store = Store.open(directory)
        with store.begin() as transaction:
            writes.segment(transaction, b"never committed")
            transaction.commit({}, "drop wiki")
            yield

    def twice_in_one_transaction(directory):
        store = Store.open(directory)
        with store.begin() as transaction:
            one = writes.segment(transaction, b"old")
            transaction.commit({"wiki": writes.corpus(one)}, "first")
            yield
            two = writes.segment(transaction, b"new", 1)
            transaction.commit({"wiki": writes.corpus(one, two)}, "second")
            yield

    def take_in(directory):
        other = Store.open(committed(writes, [b"taken in"]))
        store = Store.open(directory)
        with store.begin() as transaction:
            (entry,) = other.manifest.corpora["wiki"].segments
            ref = transaction.take_in("segments", other.directory, entry.file)
            transaction.commit({"wiki": writes.corpus(replace(entry, file=ref))}, "take in")
            yield

    def keep_and_drop(directory):
        store = Store.open(directory)
        store.keep_versions = 1
        keep_version(store, "before", None)
        yield
        with store.begin() as transaction:
            transaction.commit({}, "drop wiki")
            yield
        writes.commit(store, b"new")
        yield
        drop_version(store, "before")
        yield

    big = b"a large file " * 20_000
    return {
        "create": Scenario(MemoryDirectory, [None, []], create),
        "one file": Scenario(lambda: committed(writes), [[], [b"a"]], append([b"a"])),
        "two files": Scenario(
            lambda: committed(writes, [b"old"]), [[b"old"], [b"old", b"a", big]], append([b"a", big])
        ),
        "two commits": Scenario(
            lambda: committed(writes, [b"old"]),
            [[b"old"], [b"old", b"a"], [b"old", b"a", b"b", b"c"]],
            append([b"a"], [b"b", b"c"]),
        ),
        "drop": Scenario(lambda: committed(writes, [b"old"]), [[b"old"], []], drop_and_clean),
        "one transaction": Scenario(
            lambda: committed(writes), [[], [b"old"], [b"old", b"new"]], twice_in_one_transaction
        ),
        "keep": Scenario(
            lambda: committed(writes, [b"old"]),
            [
                [b"old"],
                [b"old", ("before", [b"old"])],
                [("before", [b"old"])],
                [b"new", ("before", [b"old"])],
                [b"new"],
            ],
            keep_and_drop,
        ),
        "take in": Scenario(lambda: committed(writes, [b"old"]), [[b"old"], [b"taken in"]], take_in),
    }


NAMES = ["create", "one file", "two files", "two commits", "drop", "one transaction", "keep", "take in"]


@pytest.fixture(params=NAMES)
def scenario(request, writes):
    return scenarios(writes)[request.param]


def restarts(directory):
    """Yield the possible states after a power failure now."""
    yield directory.crash(drop="all")
    for seed in range(N_SEEDS):
        # Each place of a fault gets outcomes of its own, or the same few would be tried again and again.
        rng = random.Random(N_SEEDS * len(directory.operations) + seed)
        yield directory.crash(rng, drop="random")


def state_of(directory, writes):
    """Return what is committed in the directory, or None if it does not hold a database yet."""
    try:
        store = Store.open(directory, read_only=True)
    except StorageError as error:
        assert "holds no database yet" in str(error)
        return None
    assert list(store.check()) == []
    return contents(store, writes)


def contents(store, writes):
    """The payloads of the newest version, and then the names of kept ones with theirs."""
    kept = sorted(store.manifest.kept.items())
    return [*writes.payloads(store), *((name, writes.payloads(store, one)) for name, one in kept)]


def check_restart(directory, allowed, writes):
    """The database is at one of the allowed versions, whole, and the next writer works and clears up."""
    state = state_of(directory, writes)
    assert state in allowed
    store = Store.open(directory)
    writes.commit(store, b"after the restart")
    payloads = [one for one in state or [] if isinstance(one, bytes)]
    names = [one for one in state or [] if not isinstance(one, bytes)]
    assert contents(store, writes) == [*payloads, b"after the restart", *names]
    assert list(store.check()) == []
    needed = {name for manifest in store.versions() for name in manifest.files()}
    found = {name for name in directory.list() if not name.startswith("manifests/")}
    assert found - {"NGRAMDB"} == needed
    listed = {f"manifests/{m.version:010d}.manifest" for m in store.versions()}
    named = {f"manifests/{m.version:010d}.manifest" for m in store.manifest.kept.values()}
    assert listed - named <= set(directory.list("manifests/")) <= listed


def run_until_fault(scenario, directory):
    """Return the number of commits that returned, and the error that ended the run (or None)."""
    done = 0
    try:
        for _ in scenario.run(directory):
            done += 1
    except (StorageError, SimulatedCrash) as error:
        return done, error
    return done, None


def test_a_crash_at_any_operation_leaves_the_old_or_the_new_version(scenario, writes):
    n_operations = scenario.n_operations()
    for k in range(1, n_operations + 1):
        directory = FaultyDirectory(scenario.start(), crash_at=k)
        done, error = run_until_fault(scenario, directory)
        assert isinstance(error, SimulatedCrash)
        for after in restarts(directory):
            check_restart(after, scenario.states[done : done + 2], writes)


def test_a_crash_after_the_last_operation_loses_nothing(scenario, writes):
    directory = FaultyDirectory(scenario.start())
    assert run_until_fault(scenario, directory) == (len(scenario.states) - 1, None)
    for after in restarts(directory):
        check_restart(after, scenario.states[-1:], writes)


@pytest.mark.parametrize("error_number", [errno.EIO, errno.ENOSPC])
def test_one_failing_operation_leaves_the_old_version_or_no_trace(scenario, error_number, writes):
    n_operations = scenario.n_operations()
    n_failed = 0
    for k in range(1, n_operations + 1):
        directory = FaultyDirectory(scenario.start(), fail_at=k, error=error_number)
        done, error = run_until_fault(scenario, directory)
        if error is None:
            # A failure that is nobody's loss, such as an orphan that could not be removed.
            assert done == len(scenario.states) - 1
        else:
            n_failed += 1
            check_message(error, error_number)
            assert done < len(scenario.states) - 1
        allowed = [scenario.states[done]]
        if allowed == [None]:
            allowed.append([])  # an empty database may exist although its creator was not notified
        for after in restarts(directory):
            check_restart(after, allowed, writes)
        # The same process can continue as if nothing had been attempted.
        check_restart(directory, allowed, writes)
    assert n_failed > 5


@pytest.mark.parametrize("error_number", [errno.EIO, errno.ENOSPC])
def test_a_device_that_fails_from_some_operation_on_leaves_the_old_or_the_new_version(
    scenario, error_number, writes
):
    for k in range(1, scenario.n_operations() + 1):
        directory = FaultyDirectory(scenario.start(), fail_at=k, error=error_number, persistent=True)
        done, error = run_until_fault(scenario, directory)
        if error is not None:
            check_message(error, error_number)
        allowed = scenario.states[done : done + 2]
        assert state_of(directory, writes) in allowed
        for after in restarts(directory):
            check_restart(after, allowed, writes)


def check_message(error, error_number):
    """Check a StorageError that was raised from the system's error: it names a place and a remedy."""
    assert isinstance(error, StorageError)
    assert isinstance(error.__cause__, OSError)
    assert error.__cause__.errno == error_number
    assert error.path is not None
    assert ("free some space" if error_number == errno.ENOSPC else "system log") in str(error)


def test_a_failed_commit_leaves_no_temporary_file(writes):
    scenario = scenarios(writes)["one file"]
    n_in_manifest = 0
    for k in range(1, scenario.n_operations() + 1):
        directory = FaultyDirectory(scenario.start(), fail_at=k, error=errno.ENOSPC)
        run_until_fault(scenario, directory)
        n_in_manifest += directory.operations[k - 1].startswith("write manifests/")
        if not directory.operations[k - 1].startswith("remove"):
            assert [name for name in directory.list() if name.endswith(".tmp")] == []
    assert n_in_manifest > 3


@pytest.mark.parametrize("step", ["publish", "sync_folder"])
def test_an_interrupt_in_the_middle_of_publishing_leaves_a_whole_version(step, writes):
    directory = committed(writes, [b"old"])
    store = Store.open(directory)
    with pytest.raises(KeyboardInterrupt), store.begin() as transaction:
        entries = [*transaction.manifest.corpora["wiki"].segments, writes.segment(transaction, b"new", 1)]
        do = getattr(directory, step)

        def do_and_interrupt(*args):
            do(*args)
            if step == "publish" or args == ("manifests",):
                setattr(directory, step, do)
                raise KeyboardInterrupt

        setattr(directory, step, do_and_interrupt)
        transaction.commit({"wiki": writes.corpus(*entries)}, "append")
    check_restart(directory, [[b"old"]], writes)
    store.refresh()
    assert writes.payloads(store) == [b"old", b"after the restart"]


def test_what_a_manifest_may_refer_to_is_kept_until_its_removal_is_durable(writes):
    start = committed(writes, [b"old"])
    plain = FaultyDirectory(start)
    writes.commit(Store.open(plain), b"new")
    last = max(i for i, name in enumerate(plain.operations, 1) if name == "sync_folder manifests")
    came_back = {"failed": 0, "next writer": 0}
    for seed in range(60):
        # The new manifest is published and taken back, but the folder cannot be synced before nor after.
        directory = FaultyDirectory(start, fail_at={last, last + 2})
        with pytest.raises(StorageError, match="open the database again to see"):
            writes.commit(Store.open(directory), b"new")
        failed = directory.crash(random.Random(seed), drop="random")
        came_back["failed"] += state_of(failed, writes) == [b"old", b"new"]
        check_restart(failed, [[b"old"], [b"old", b"new"]], writes)
        with Store.open(directory).begin():  # collects what the failed one left
            after = directory.crash(random.Random(seed), drop="random")
        came_back["next writer"] += state_of(after, writes) == [b"old", b"new"]
        check_restart(after, [[b"old"]], writes)
    assert came_back["failed"] > 5
    assert came_back["next writer"] == 0


def test_a_commit_whose_outcome_is_open_says_so(writes):
    scenario = scenarios(writes)["one file"]
    messages = set()
    for k in range(1, scenario.n_operations() + 1):
        directory = FaultyDirectory(scenario.start(), fail_at=k, persistent=True)
        _, error = run_until_fault(scenario, directory)
        visible = len(directory.list("manifests/00")) and directory.exists("manifests/0000000002.manifest")
        if error is not None and "commit version 2" in str(error):
            messages.add(visible)
            assert ("open the database again to see" in str(error)) >= visible
            assert ("version 1 stays in force" in str(error)) <= (not visible)
    assert messages == {True, False}


def unsynced_commits(directory, writes, n, keep_versions):
    """Commits "1", "2", … without sync; yields after each of them, and at last once the store is closed."""
    store = Store.open(directory)
    store.synced, store.keep_versions = False, keep_versions
    for i in range(1, n + 1):
        writes.commit(store, b"%d" % i)
        yield i
    store.close()
    yield n


@pytest.mark.parametrize("keep_versions", [1, 2, 100])
def test_a_crash_after_commits_without_sync_leaves_one_of_the_last_versions(keep_versions, writes):
    n = 4
    states = [[b"old", *(b"%d" % i for i in range(1, done + 1))] for done in range(n + 1)]
    plain = FaultyDirectory(committed(writes, [b"old"]))
    assert list(unsynced_commits(plain, writes, n, keep_versions)) == [1, 2, 3, 4, 4]
    found = set()
    for k in range(1, len(plain.operations) + 1):
        directory = FaultyDirectory(committed(writes, [b"old"]), crash_at=k)
        done = 0
        with contextlib.suppress(SimulatedCrash):
            for returned in unsynced_commits(directory, writes, n, keep_versions):
                done = returned
        for after in restarts(directory):
            found.add((done, len(state_of(after, writes)) - 1))
            check_restart(after, states[max(done - keep_versions, 0) : done + 2], writes)
    assert any(kept < done for done, kept in found) or keep_versions == 1
    assert any(kept == done > 0 for done, kept in found)


def test_a_process_that_is_killed_after_commits_without_sync_loses_nothing(writes):
    directory = FaultyDirectory(committed(writes, [b"old"]))
    commits = unsynced_commits(directory, writes, 3, 100)
    next(commits), next(commits)
    assert state_of(directory, writes) == [b"old", b"1", b"2"]
    # The next writer syncs what is there before its own commit.
    writes.commit(Store.open(directory), b"synced")
    for after in restarts(directory):
        assert not after.exists("UNSYNCED")
        check_restart(after, [[b"old", b"1", b"2", b"synced"]], writes)


def test_commits_without_sync_are_durable_once_the_store_is_closed(writes):
    directory = FaultyDirectory(committed(writes, [b"old"]))
    assert len(list(unsynced_commits(directory, writes, 3, 100))) == 4
    for after in restarts(directory):
        check_restart(after, [[b"old", b"1", b"2", b"3"]], writes)


def test_commits_without_sync_sync_nothing(writes):
    directory = FaultyDirectory(committed(writes, [b"old"]))
    commits = unsynced_commits(directory, writes, 3, 100)
    next(commits)
    n = len(directory.operations)
    next(commits), next(commits)
    assert not [operation for operation in directory.operations[n:] if operation.startswith("sync")]


def test_a_failed_sync_of_earlier_commits_is_not_tried_again(writes):
    def run(directory):
        store = Store.open(directory)
        store.synced = False
        writes.commit(store, b"1")
        store.synced = True
        writes.commit(store, b"2")
        return store

    plain = FaultyDirectory(committed(writes, [b"old"]))
    run(plain)
    mark = plain.operations.index("sync_folder ")
    sync = next(
        i for i, name in enumerate(plain.operations) if i > mark and name.startswith("sync segments/")
    )
    directory = FaultyDirectory(committed(writes, [b"old"]), fail_at=sync + 1)
    with pytest.raises(StorageError, match="begin to write") as caught:
        run(directory)
    assert isinstance(caught.value.__cause__, OSError)
    for after in restarts(directory):
        check_restart(after, [[b"old"], [b"old", b"1"]], writes)


def test_a_writer_whose_sync_failed_writes_no_more(writes):
    directory = FaultyDirectory(committed(writes, [b"old"]))
    store = Store.open(directory)
    store.synced = False
    writes.commit(store, b"1")
    store.synced = True

    def fail(name):
        raise OSError(errno.EIO, "no")

    directory.sync_file = fail
    for message in ("begin to write", "copy the database elsewhere"):
        with pytest.raises(StorageError, match=message):
            writes.commit(store, b"2")
    assert writes.payloads(store) == [b"old", b"1"]

"""A fault or a crash at every operation of removing, cutting, adding fields, restoring, compacting, adding
and subtracting: the old version or the new one, whole, and what was left behind is cleared away by the next
writer.

With NGRAMDB_TORTURE=full in the environment at every single operation; without it at every STRIDE-th, another
one for each scenario, which takes seconds instead of minutes.
"""

from __future__ import annotations

import errno
import os
import random
import uuid
from collections import Counter
from functools import cache

import numpy as np
import pytest
from support.changes import add_corpus, begin, compact, delete_documents, load_documents, subtract_corpus
from support.faulty_directory import FaultyDirectory, SimulatedCrash

from ngramdb.curation.cut_rules import CutRule
from ngramdb.curation.cutting import cut
from ngramdb.curation.equal_documents import copies
from ngramdb.curation.keeping import counting
from ngramdb.curation.near_duplicates import Rule, near_duplicates
from ngramdb.curation.windows import Ranges, duplicate_ranges
from ngramdb.engine.changes.removals import restore_corpus
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.loading.request import DocumentKeys
from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.engine.storage.manifest import CorpusEntry, TokenizerEntry
from ngramdb.engine.storage.store import Store
from ngramdb.errors import StorageError
from ngramdb.ingest.documents import Document

BIG = 10**6
STRIDE = 1 if os.environ.get("NGRAMDB_TORTURE") == "full" else 5


def create(store, name):
    with store.begin() as transaction:
        tokenizer = TokenizerEntry("words", None, (), 0)
        entry = CorpusEntry(name, uuid.uuid4().hex, tokenizer, (), 0, {})
        transaction.commit({**transaction.manifest.corpora, name: entry}, f"create corpus {name}")


def load(store, texts, name="a", auto_compact=False, sort_tokens=BIG, keys=None):
    documents = (Document(text.encode(), None, {"n": len(text)}, "test") for text in texts)
    load_documents(
        store,
        name,
        documents,
        segment_tokens=BIG,
        threads=1,
        action="load",
        auto_compact=auto_compact,
        sort_tokens=sort_tokens,
        keys=keys,
    )


def delete(store, *numbers):
    """Removes documents of the corpus a by their ids."""
    ids = np.array(numbers, dtype=np.int64)
    delete_documents(
        store, "a", lambda view: [segment.locals_of(ids) for segment in view.segments], segment_tokens=BIG
    )


def delete_duplicates(store):
    """Removes the documents of the corpus a that b has."""
    with begin(store, "a", "delete duplicates", segment_tokens=BIG) as change:
        other = CorpusView(store, store.manifest.corpora["b"])
        found = copies(change.view, counting(change.view), against=other)
        change.remove(found.chosen, found.notes, statement="DELETE DUPLICATES AGAINST b FROM a")
        change.commit()


def delete_near_duplicates(store):
    """Removes the documents of the corpus a that are contained in documents of b."""
    with begin(store, "a", "delete near duplicates", segment_tokens=BIG) as change:
        other = CorpusView(store, store.manifest.corpora["b"])
        found = near_duplicates(change.view, Rule(0.5, 1), against=other)
        chosen = [
            np.array([one.document[1] for one in found.pairs if one.document[0] == i], dtype=np.uint32)
            for i in range(len(change.view.segments))
        ]
        notes = [{"kept": one.kept[1], "reason": one.reason} for one in found.pairs]
        assert notes
        change.remove(chosen, notes, statement="DELETE NEAR DUPLICATES AGAINST b FROM a")
        change.commit()


def cut_duplicates(store):
    """Cuts the words of the corpus a that b or an earlier document has: all of two documents."""
    with begin(store, "a", "cut duplicates", segment_tokens=BIG) as change:
        other = CorpusView(store, store.manifest.corpora["b"])
        found = duplicate_ranges(change.view, 1, against=other)
        report = cut(change, found, statement="CUT DUPLICATES LENGTH >= 1 AGAINST b FROM a")
        assert (report.documents, report.removed) == (2, 2)


def cut_spans(store):
    """Cuts the first word of each document of the corpus a."""
    with begin(store, "a", "cut spans", segment_tokens=BIG) as change:
        firsts = [segment.starts[change.view.kept(i)] for i, segment in enumerate(change.view.segments)]
        found = [Ranges(starts, starts + np.uint32(1)) for starts in firsts]
        assert cut(change, found, CutRule("words"), statement="CUT SPANS").documents == 3


def add_fields(store):
    """Adds a field to some documents of the corpus a, and replaces one."""
    rows = [{"length": 7, "label": "x", "n": 70}, {"length": 5, "label": None, "n": 50}]
    with begin(store, "a", "add fields", segment_tokens=BIG) as change:
        documents = (Document(b"", None, row, "test") for row in rows)
        assert change.add_fields(documents, ("n", False), "length", ["label", "n"], True).documents == 3
        change.commit()


@cache
def start():
    """Two corpora, one of them in several segments and with a removal."""
    directory = MemoryDirectory()
    store = Store.open(directory)
    create(store, "a")
    create(store, "b")
    load(store, ["the cat", "a dog"])
    load(store, ["the end", "the cat", ""])
    load(store, ["another cat", "a dog"], "b")
    delete_documents(
        store,
        "a",
        lambda view: [np.array([0], dtype=np.uint32), np.array([2], dtype=np.uint32)],
        segment_tokens=BIG,
        auto_compact=False,
    )
    return directory


def keep_few(store):
    store.keep_versions = 2
    load(store, ["more of the same"], auto_compact=True)


SCENARIOS = {
    "delete": lambda store: delete(store, 1, 3),
    "delete duplicates": delete_duplicates,
    "delete near duplicates": delete_near_duplicates,
    "cut duplicates": cut_duplicates,
    "cut spans": cut_spans,
    "add fields": add_fields,
    "compact": lambda store: compact(store, "a", segment_tokens=BIG),
    "restore": lambda store: restore_corpus(store, "a", 5),
    "add": lambda store: add_corpus(store, "a", "b", segment_tokens=BIG),
    "subtract": lambda store: subtract_corpus(store, "b", "b", segment_tokens=BIG),
    "load": lambda store: load(store, ["more of the same"], auto_compact=True),
    "load and replace": lambda store: load(store, ["a pig", "some cat"], keys=DocumentKeys("n", "replace")),
    # Three segments are sorted, and merged into one.
    "load and merge": lambda store: load(store, ["more of the", "same", "more cats and"], sort_tokens=3),
    "compact without room to sort": lambda store: compact(store, "a", segment_tokens=BIG, sort_tokens=1),
    "release old versions": keep_few,
}


def contents(store, name):
    entry = store.manifest.corpora.get(name)
    if entry is None:
        return None
    view = CorpusView(store, entry)
    view.check()
    documents = [
        (segment.doc_id(i), segment.text(i, view.tokenizer), segment.metadata.row(i))
        for k, segment in enumerate(view.segments)
        for i in view.kept(k).tolist()
    ]
    counts = [view.index.count(view.tokenizer.encode(text)) for text in ("the", "cat", "a dog", "same")]
    words = Counter(word for _, text, _ in documents for word in text.decode().split())
    assert counts[:2] == [words["the"], words["cat"]]
    return documents, counts


def state_of(directory):
    """All that the database holds; nothing of it is damaged."""
    store = Store.open(directory, read_only=True)
    assert list(store.check()) == []
    return contents(store, "a"), contents(store, "b")


def check_restart(directory, allowed):
    """One of the allowed states, whole; the next writer works and clears up."""
    state = state_of(directory)
    assert state in allowed
    store = Store.open(directory)
    load(store, ["after the restart"], "b")
    assert contents(store, "a") == state[0]
    assert [text for _, text, _ in contents(store, "b")[0]][-1] == b"after the restart"
    needed = {name for manifest in store.versions() for name in manifest.files()}
    found = {name for name in directory.list() if not name.startswith("manifests/")}
    assert found - {"NGRAMDB"} == needed


def restarts(directory, k):
    """Yield the possible states after a power failure: all unsynced data are lost or, occasionally, a part of
    it."""
    yield directory.crash(drop="all")
    if k % 3 == 0:
        yield directory.crash(random.Random(k), drop="random")


@pytest.fixture(params=SCENARIOS)
def scenario(request):
    """A change, the operation at which a fault is injected, and the states before and after."""
    run = SCENARIOS[request.param]
    directory = FaultyDirectory(start())
    before = state_of(directory)
    n_before = len(directory.operations)
    run(Store.open(directory))
    n_operations = len(directory.operations) - n_before
    first = 1 + list(SCENARIOS).index(request.param) % STRIDE
    return run, range(first, n_operations + 1, STRIDE), before, state_of(directory)


def attempt(run, directory):
    """Return whether the change succeeded, and the error that ended it."""
    try:
        run(Store.open(directory))
    except (StorageError, SimulatedCrash) as error:
        return False, error
    return True, None


def test_a_crash_at_any_operation_leaves_the_old_or_the_new_version(scenario):
    run, operations, before, after = scenario
    for k in operations:
        directory = FaultyDirectory(start(), crash_at=k)
        _, error = attempt(run, directory)
        assert isinstance(error, SimulatedCrash)
        for restarted in restarts(directory, k):
            check_restart(restarted, [before, after])


def test_one_failing_operation_leaves_the_old_version_or_does_no_harm(scenario):
    run, operations, before, after = scenario
    n_failed = 0
    for k in operations:
        directory = FaultyDirectory(start(), fail_at=k, error=errno.ENOSPC)
        done, error = attempt(run, directory)
        n_failed += not done
        if error is not None:
            assert isinstance(error, StorageError)
            assert error.path is not None
        allowed = [after if done else before]
        check_restart(directory.crash(drop="all"), allowed)
        if k % 3 == 0:  # the same process continues
            check_restart(directory, allowed)
    assert n_failed > 0


def test_a_device_that_fails_for_good_leaves_the_old_or_the_new_version(scenario):
    run, operations, before, after = scenario
    for k in operations:
        directory = FaultyDirectory(start(), fail_at=k, persistent=True)
        attempt(run, directory)
        assert state_of(directory.crash(drop="all")) in [before, after]


def test_an_interrupt_anywhere_in_a_compaction_leaves_everything_as_it_was():
    """Ctrl-C comes between two writes."""
    directory = FaultyDirectory(start())
    before = state_of(directory)
    store = Store.open(directory)
    create_file = directory.create
    for k in range(1, 3):
        calls = 0

        def interrupted(name, k=k):
            nonlocal calls
            calls += 1
            if calls == k:
                raise KeyboardInterrupt
            return create_file(name)

        directory.create = interrupted
        with pytest.raises(KeyboardInterrupt):
            compact(store, "a", segment_tokens=BIG)
        directory.create = create_file
        assert state_of(directory) == before
        check_restart(directory.crash(drop="all"), [before])

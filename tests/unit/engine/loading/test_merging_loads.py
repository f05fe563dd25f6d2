"""Loads that sort in pieces and merge them, compaction that merges; stopped anywhere they leave nothing."""

from __future__ import annotations

from itertools import pairwise

import pytest
from support.changes import compact

from ngramdb.engine.changes import compaction
from ngramdb.errors import CorruptionError, QueryCancelled
from ngramdb.interrupts import Interrupt
from ngramdb.segments import merged_arrays

DOCUMENTS = [[i % 5, 1, 2, i % 3] * (i % 7) for i in range(200)]


def test_a_load_ends_in_one_segment_however_little_is_sorted_at_a_time(database):
    database.create()
    sizes = []
    for sort_tokens in (10**6, 700, 60, 1):
        n = len(database.view().segments)
        assert database.load(DOCUMENTS, sort_tokens=sort_tokens, threads=2).segments == 1
        segment = database.view().segments[n]
        segment.check()
        sizes.append((segment.rows.tobytes(), segment.symbols.tobytes(), segment.starts.tobytes()))
    assert len(set(sizes)) == 1


def test_a_load_keeps_to_the_size_of_segments(database):
    database.create()
    outcome = database.load(DOCUMENTS, sort_tokens=100, segment_tokens=1000)
    segments = database.view().segments
    assert outcome.segments == len(segments)
    assert all(segment.n_tokens <= 1000 for segment in segments)
    # Two neighbours would not fit into one.
    pairs = pairwise(segments)
    assert all(a.n_tokens + a.n_documents + b.n_tokens + b.n_documents > 1000 for a, b in pairs)


@pytest.mark.parametrize("how", ["raise", "set"])
def test_a_load_that_is_stopped_while_it_merges_leaves_nothing(database, monkeypatch, how):
    monkeypatch.setattr(merged_arrays, "CHUNK_ROWS", 50)
    database.create()
    database.load([[1]])
    files, version = database.files(), database.store.manifest.version
    token = Interrupt()

    def progress(report):
        if report.merged is not None and report.merged > 0.3:
            if how == "raise":
                raise KeyboardInterrupt
            token.set()

    with pytest.raises(KeyboardInterrupt if how == "raise" else QueryCancelled), token:
        database.load(DOCUMENTS, sort_tokens=60, threads=2, progress=progress)
    assert database.files() == files
    assert database.store.manifest.version == version
    assert database.load([[2]]).segments == 1


def test_compaction_merges_what_memory_has_no_room_to_sort(database, monkeypatch):
    database.create()
    for start in range(0, 200, 50):
        database.load(DOCUMENTS[start : start + 50])
    merges = []
    write_merged = compaction.write_merged
    monkeypatch.setattr(
        compaction,
        "write_merged",
        lambda file, parts, **how: merges.append(how["means"].merges) or write_merged(file, parts, **how),
    )
    outcome = compact(database.store, "c", sort_tokens=1, threads=2)
    assert (outcome.segments_before, outcome.segments_after, merges) == (4, 1, [True])
    database.view().check()


@pytest.mark.parametrize("section", ["suffix_array", "tokens"])
def test_damage_in_what_is_merged_is_found(database, section):
    database.create()
    for start in (0, 100):
        database.load(DOCUMENTS[start : start + 100])
    files = database.files()
    entry = database.store.manifest.corpora["c"].added[1]
    place = database.view().segments[1]._container.sections[section]
    database.directory._files[entry.file.name].data[place.offset + 40] ^= 1
    with pytest.raises(CorruptionError):
        compact(database.store, "c")
    assert database.files() == files

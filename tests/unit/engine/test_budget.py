"""Memory: what a limit makes of segments and threads, and what is said when there is none left."""

from __future__ import annotations

import pytest

from ngramdb.engine import writer
from ngramdb.engine.budget import BASE_BYTES, BYTES_PER_TOKEN, bounded
from ngramdb.errors import ResourceError


def test_without_a_limit_nothing_changes():
    assert bounded(1 << 26, 8, 0) == (1 << 26, 8)


@pytest.mark.parametrize("limit", [BASE_BYTES + (1 << 20), 1 << 28, 1 << 30, 1 << 36])
@pytest.mark.parametrize("threads", [1, 2, 64])
@pytest.mark.parametrize("segment_tokens", [1024, 1 << 20, 1 << 26])
def test_what_is_built_at_a_time_keeps_within_the_limit(limit, threads, segment_tokens):
    tokens, n = bounded(segment_tokens, threads, limit)
    assert 1 <= n <= threads
    assert 1024 <= tokens <= segment_tokens
    assert BASE_BYTES + (n + 1) * tokens * BYTES_PER_TOKEN <= limit


def test_a_limit_without_room_for_anything_is_an_error():
    with pytest.raises(ResourceError, match="raise it") as caught:
        bounded(1 << 20, 1, 1 << 20)
    assert caught.value.limit == 1 << 20


def test_a_limit_makes_more_segments(database):
    database.create()
    database.load([[1] * 100] * 100, memory_limit=BASE_BYTES + 4096 * BYTES_PER_TOKEN)
    assert len(database.view().segments) == 5
    database.view().check()


def test_memory_that_runs_out_is_an_error_that_says_so(database, monkeypatch):
    database.create()
    database.load([[1]])
    files = database.files()

    def fail(*args):
        raise MemoryError

    monkeypatch.setattr(writer.SegmentBuilder, "write", fail)
    with pytest.raises(ResourceError, match="memory ran out in a load; nothing has been changed"):
        database.load([[2]])
    assert database.files() == files

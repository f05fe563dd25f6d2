from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ngramdb.engine.changes.sizing import has_large_pages
from ngramdb.segments import segment

SUMS = Path("/proc/self/smaps_rollup")


@pytest.mark.skipif(not SUMS.exists() or not has_large_pages(), reason="no large pages here")
def test_the_pages_of_all_arrays_are_summed_up() -> None:
    array = np.ones(1 << 27, dtype=np.uint8)
    each = (line.split() for line in Path("/proc/self/smaps").read_text().splitlines())
    total = sum(int(words[1]) * 1024 for words in each if words[0] == "AnonHugePages:")
    found = segment.bytes_in_large_pages()
    assert found is not None
    assert abs(found - total) <= 1 << 23  # others may take or free some meanwhile
    del array


def test_where_the_system_does_not_say_nothing_is_known(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(segment, "_SUMS", tmp_path / "none")
    assert segment.bytes_in_large_pages() is None
    (tmp_path / "none").write_text("Rss:      8 kB\n")
    assert segment.bytes_in_large_pages() is None
    (tmp_path / "none").write_text("5601-5602 ---p 00000000 00:00 0   [rollup]\nAnonHugePages:    4096 kB\n")
    assert segment.bytes_in_large_pages() == 4096 * 1024

"""The amount of memory: the machine's or the container's, whichever is less."""

from __future__ import annotations

import os

import pytest

import ngramdb
from ngramdb.engine.changes import sizing


@pytest.fixture(autouse=True)
def fresh():
    sizing.memory_bytes.cache_clear()
    yield
    sizing.memory_bytes.cache_clear()


@pytest.mark.parametrize(
    ("content", "expected"),
    [("max\n", 16 << 30), ("1073741824\n", 1 << 30), ("9223372036854771712", 16 << 30), ("", 16 << 30)],
)
def test_a_container_may_have_less_than_the_machine(tmp_path, monkeypatch, content, expected):
    (tmp_path / "memory.max").write_text(content)
    monkeypatch.setattr(sizing, "_LIMITS", (tmp_path / "memory.max", tmp_path / "missing"))
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 4 << 20}.__getitem__)
    assert sizing.memory_bytes() == expected


@pytest.mark.parametrize(
    ("n_bytes", "expected", "shown"),
    [
        (16 << 30, 8 << 30, "8GB"),
        (3 << 30, 1 << 30, "1GB"),
        (1 << 30, 1 << 29, "512MB"),
        (None, 1 << 28, "256MB"),
    ],
)
def test_half_of_it_is_the_default_limit_and_a_load_fits_into_the_least(
    monkeypatch, n_bytes, expected, shown
):
    monkeypatch.setattr("ngramdb.api.settings.memory_bytes", lambda: n_bytes)
    with ngramdb.connect() as db:
        assert db.settings["memory_limit"] == expected
        rows = {row[0]: row for row in db.execute("SHOW SETTINGS").fetchall()}
        assert rows["memory_limit"][1:3] == (shown, shown)
        assert db.create_corpus("c").append(["a b"]).tokens == 2
        db.execute(f"SET memory_limit = '{shown}'")
        assert db.settings["memory_limit"] == expected
        db.settings["memory_limit"] = 0
        assert {row[0]: row[1] for row in db.execute("SHOW SETTINGS")}["memory_limit"] == "0"
        db.settings["memory_limit"] = 1500001
        assert {row[0]: row[1] for row in db.execute("SHOW SETTINGS")}["memory_limit"] == "1500001"
        db.settings.reset("memory_limit")
        assert db.settings["memory_limit"] == expected

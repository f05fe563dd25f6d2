"""Groups join values that are equal, whatever segments and columns they come from, and no others."""

from __future__ import annotations

import pytest

import ngramdb


@pytest.fixture
def db():
    with ngramdb.connect() as opened:
        opened.settings["auto_compact"] = False
        yield opened


def test_numbers_are_one_group_and_booleans_and_strings_others(db):
    c = db.create_corpus("c")
    for value in (1, 1.0, True, "1", [1], [1], 2.5):
        c.append([("a a", {"x": value})])
    c.append([("a", {}), ("b", {"x": 1})])
    assert len(db.execute("SHOW SEGMENTS").fetchall()) == 8
    expected = [(True, 2), (1, 4), (2.5, 2), ("1", 2), ([1], 4), (None, 1)]
    found = db.execute('COUNT "a" GROUP BY x').fetchall()
    assert found == expected and [type(row[0]) for row in found] == [type(row[0]) for row in expected]
    result = db.execute('COUNT "a" GROUP BY x ORDER BY x DESC TOP 2')
    assert result.fetchall() == [([1], 4), ("1", 2)] and result.summary["total"] == 6


def test_many_fields_with_values_of_their_own_make_as_many_groups_as_documents(db):
    fields = {f"f{i}": None for i in range(8)}
    documents = [("a", {name: f"{name} {i}" for name in fields}) for i in range(300)]
    db.create_corpus("c").append(documents)
    rows = db.execute(f'COUNT "a" GROUP BY {", ".join(fields)}').fetchall()
    assert sorted(rows) == sorted((*metadata.values(), 1) for _, metadata in documents)


def test_columns_of_metadata_called_like_ours_are_told_apart(db):
    db.create_corpus("c").append([("a", {"length": 9})])
    result = db.execute("COUNT DOCS GROUP BY metadata.length, length")
    assert (result.columns, result.fetchall()) == (("metadata.length", "length", "count"), [(9, 1, 1)])

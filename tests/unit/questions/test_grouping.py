"""Groups join values that are equal, whatever segments and columns they come from, and no others."""

from __future__ import annotations

import calendar
import re

import pytest

import ngramdb
from ngramdb.tokenizers.words import WordsTokenizer


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


def test_days_are_those_of_the_calendar(db):
    """Every day from 1 to 31 of every month of leap years and others, as Python's calendar has them."""
    dates = [
        (year, month, day)
        for year in (4, 1900, 1969, 2000, 2001, 2024)
        for month in range(1, 13)
        for day in range(1, 32)
    ]
    texts = [f"{year:04}-{month:02}-{day:02}" for year, month, day in dates]
    db.create_corpus("c").append([("a", {"date": text}) for text in texts])
    found = db.execute("DOCS WHERE DAY(date) IS NOT NULL RETURNING date").fetchall()
    assert [text for (text,) in found] == [
        text for text, day in zip(texts, dates, strict=True) if day[2] <= calendar.monthrange(*day[:2])[1]
    ]


def test_dates_have_years_months_and_days(db):
    dates = [
        "1999-12-31",
        "2001-05-17T10:00:00",
        "2001-06",
        "2001",
        "2001/5/1",
        "soon",
        "2001-13-01",
        2001,
        None,
    ]
    db.create_corpus("c").append([("a", {"date": date}) for date in dates])
    found = db.execute("COUNT DOCS GROUP BY YEAR(date), MONTH(date), DAY(date)").fetchall()
    expected = [
        (1999, 12, 31, 1),
        (2001, 5, 1, 1),
        (2001, 5, 17, 1),
        (2001, 6, None, 1),
        (2001, None, None, 1),
    ]
    assert found == [*expected, (None, None, None, 4)]
    for year, n in ((1999, 1), (2001, 4), (2002, 0)):
        assert db.execute("COUNT DOCS WHERE YEAR(date) = ?", [year]).fetchone() == (n,)
    assert db.execute("COUNT DOCS WHERE YEAR(date) IS NULL").fetchone() == (4,)
    assert db.execute("COUNT DOCS WHERE NOT YEAR(date) > 1999").fetchone() == (1,)
    assert db.execute(
        "DOCS WHERE YEAR(date) > 0 ORDER BY MONTH(date) DESC RETURNING date LIMIT 2"
    ).fetchall() == [
        ("1999-12-31",),
        ("2001-06",),
    ]


def test_numbers_are_divided_as_whole_ones(db):
    values = [1948, 1950, 1959.5, -1, 2**60 + 1, "x", True, None]
    db.create_corpus("c").append([("a", {"x": value}) for value in values])
    found = db.execute("COUNT DOCS GROUP BY x / 10 * 10").fetchall()
    assert found == [(-10, 1), (1940, 1), (1950, 2), ((2**60 + 1) // 10 * 10, 1), (None, 3)]
    assert db.execute(
        "COUNT DOCS WHERE x IS NOT NULL GROUP BY FLOOR(x / ?) ORDER BY x / 1000 DESC", [1000]
    ).columns == (
        "x / 1000",
        "count",
    )


def test_elements_of_lists_are_groups_of_their_own(db):
    lists = [["a", "b", "a"], ["b"], [], None, "b", [1, "b"], [None]]
    db.create_corpus("c").append([("a a", {"tags": tags, "n": i}) for i, tags in enumerate(lists)])
    expected = [(1, 2), ("a", 2), ("b", 8), (None, 6)]
    assert db.execute('COUNT "a" GROUP BY UNNEST(tags)').fetchall() == expected
    pairs = db.execute("COUNT DOCS WHERE n < 2 GROUP BY UNNEST(tags), n, UNNEST(tags)")
    assert pairs.fetchall() == [
        ("a", 0, "a", 1),
        ("a", 0, "b", 1),
        ("b", 0, "a", 1),
        ("b", 0, "b", 1),
        ("b", 1, "b", 1),
    ]


def test_what_cannot_be_a_key_says_so(db):
    db.create_corpus("c").append([("a", {"x": 1, "s": "t", "form": "f"})])
    assert db.execute('COUNT "a" GROUP BY form').fetchall() == [("f", 1)]
    for text, said in (
        ("COUNT DOCS GROUP BY s / 2", "only numbers can be divided, and s is a string"),
        ("COUNT DOCS GROUP BY x / 0", "divided by a number above 0, not by 0"),
        ("COUNT DOCS GROUP BY YEAR(x)", "YEAR takes dates, which are texts"),
        ("COUNT DOCS GROUP BY RIGHT 1", "RIGHT is for occurrences"),
        ('COUNT "a" GROUP BY LEFT 0', "LEFT must be a whole number of at least 1"),
        ('COUNT "" GROUP BY LEFT 1', "n-gram of at least one token"),
        ('COUNT "a", "b" SAMPLE 3', "SAMPLE and several n-grams cannot be combined"),
        ('COUNT "a" PER MILLION SAMPLE 3', "SAMPLE and PER MILLION cannot be combined"),
        ('COUNT "a" PER MILLION TOP 3', "TOP (or LIMIT) needs GROUP BY"),
        ('COUNT "a", "b" ORDER BY x', "ORDER BY takes ngram or count, not x"),
    ):
        with pytest.raises(ngramdb.QueryError, match=re.escape(said)):
            db.execute(text)


def test_columns_of_metadata_called_like_ours_are_told_apart(db):
    db.create_corpus("c").append([("a", {"length": 9})])
    result = db.execute("COUNT DOCS GROUP BY metadata.length, length")
    assert (result.columns, result.fetchall()) == (("metadata.length", "length", "count"), [(9, 1, 1)])


@pytest.mark.parametrize(
    ("statement", "columns"),
    [
        ('COUNT "a" GROUP BY count', ("metadata.count", "count")),
        ("COUNT DOCS GROUP BY count, tokens", ("metadata.count", "tokens", "count")),
        ('COUNT "a", "b" GROUP BY ngram, tokens', ("ngram", "metadata.ngram", "tokens", "count")),
        ('COUNT "a" PER MILLION GROUP BY tokens', ("metadata.tokens", "count", "tokens", "per_million")),
        ('COUNT "a" GROUP BY LEFT 1, LEFT 2, RIGHT 1', ("left 1", "left 2", "right", "count")),
        ('COUNT "a" GROUP BY RIGHT 1, right', ("right", "metadata.right", "count")),
    ],
)
def test_columns_of_groups_have_different_names(statement, columns):
    """So that rows as objects, as JSON has them, lose none."""
    with ngramdb.connect() as db:
        db.create_corpus("c").append([{"text": "b a c", "count": 7, "tokens": 8, "ngram": "n", "right": "r"}])
        result = db.execute(statement)
        assert result.columns == columns
        assert all(len(row) == len(columns) for row in result.to_dicts())


@pytest.mark.parametrize("more", ["", " PER MILLION"])
def test_a_count_is_ordered_by_also_where_a_field_is_called_so(db, more):
    documents = [{"text": "b", "count": 9, "tokens": 3}, {"text": "b b b", "count": 1, "tokens": 2}]
    db.create_corpus("c").append([*documents, {"text": "b b", "count": 5, "tokens": 1}])
    question = f'COUNT "b"{more} GROUP BY count ORDER BY %s TOP 1'
    for order, row in (("count", (9, 1)), ("count DESC", (1, 3)), ("metadata.count DESC", (9, 1))):
        assert db.execute(question % order).fetchall()[0][:2] == row
    by_tokens = 'COUNT "b" PER MILLION GROUP BY tokens ORDER BY tokens DESC TOP 1'
    assert db.execute(by_tokens).fetchall()[0][:2] == (2, 3)
    assert db.execute("COUNT DOCS GROUP BY count ORDER BY metadata.count TOP 1").fetchall() == [(1, 1)]


def test_texts_beside_occurrences_are_spelled_together(monkeypatch):
    with ngramdb.connect() as db:
        db.create_corpus("c").append([f"b{i} a{i % 7} x c{i % 5} d" for i in range(40)])

        def decode(self, ids):
            raise AssertionError("one text at a time")

        monkeypatch.setattr(WordsTokenizer, "decode", decode)
        rows = db.execute('COUNT "x" GROUP BY RIGHT 2, LEFT 1 TOP 2').fetchall()
        assert rows == [("c0 d", "a0", 2), ("c1 d", "a1", 2)]
        assert db.execute('COUNT "x" GROUP BY RIGHT 2 TOP 1').fetchall() == [("c0 d", 8)]

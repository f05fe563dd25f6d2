"""Fields whose values are of several kinds: answers, notes and errors are the same however documents came."""

from __future__ import annotations

import csv
import re
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ngramdb
from ngramdb.errors import QueryError

SCALARS = st.sampled_from(
    [0, -0.0, 1, -3, 2**53 + 1, 2**63, 0.5, -0.5, 1e300, True, False, "x", "1", "", "2001-05-01"]
)
OBJECTS = st.dictionaries(st.sampled_from(["k", "l"]), SCALARS | st.none(), max_size=2)
LISTS = st.lists(SCALARS | st.none() | OBJECTS, max_size=3)
VALUES = SCALARS | OBJECTS | LISTS | st.none()
RECORDS = st.lists(st.fixed_dictionaries({}, optional={"n": VALUES, "m": SCALARS}), min_size=1, max_size=6)

CONDITIONS = [
    f"{field} {test}"
    for field in ("n", "m", "n.k")
    for test in (
        "= 'x'",
        "!= 'x'",
        ">= ''",
        "= 1",
        "< 9007199254740993",
        "= TRUE",
        "IN ('1', 0.5)",
        "NOT IN (1)",
        "BETWEEN 0 AND 5",
        "LIKE '%'",
        "NOT LIKE 'x'",
        "IS NULL",
    )
] + ["YEAR(n) = 2001", "NOT YEAR(n) > 2000", "YEAR(m) IS NULL"]
GROUPS = [
    'COUNT "a" GROUP BY m',
    "COUNT DOCS GROUP BY UNNEST(m), n",
    "COUNT DOCS GROUP BY UNNEST(l)",
    'COUNT "a", "b" PER MILLION GROUP BY m',
]
STATEMENTS = [
    *GROUPS,
    "DOCS",
    "DOCS RETURNING doc_id, n ORDER BY doc_id",
    "DOCS RETURNING doc_id, m, n.k",
    "DOCS ORDER BY n",
    "DOCS ORDER BY m DESC",
    'COUNT "a" GROUP BY n',
    'COUNT "a" GROUP BY UNNEST(n)',
    'COUNT "a" GROUP BY m / 2',
    'COUNT "a" GROUP BY YEAR(n)',
    'KWIC "a" RETURNING n, m',
    *(f"COUNT DOCS WHERE {condition}" for condition in CONDITIONS),
    *(f"COUNT DOCS WHERE NOT {condition}" for condition in CONDITIONS),
]


def cells(table: Any) -> dict[str, list[str]]:
    return {name: list(map(repr, values)) for name, values in table.to_pydict().items()}


def groups_in_files(connection: Any, folder: Path) -> list[tuple[str, Any]]:
    """The groups of each statement as lines and as a table, and the note on the file."""
    found = []
    for statement in GROUPS:
        for ending in ("jsonl", "csv", "parquet"):
            file = folder / f"groups.{ending}"
            try:
                note = connection.execute(f"COPY ({statement}) TO '{file}'").summary.get("note")
            except QueryError as error:
                found.append(("", str(error)))
                continue
            is_table = ending == "parquet"
            found.append((str(cells(parquet.read_table(file))) if is_table else file.read_text(), note))
    return found


def answers(connection: Any, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for statement in STATEMENTS:
        try:
            result = connection.execute(statement)
            columns = sorted(result.columns)
            # The order of fields is that of the first documents that have them.
            places = [result.columns.index(name) for name in columns]
            rows = [[repr(row[place]) for place in places] for row in result.fetchall()]
            found[statement] = (columns, rows, list(result.notes))
        except QueryError as error:
            found[statement] = str(error)
    corpus = connection.corpus("c")
    found["fields"] = sorted(
        name for name, _ in connection.execute("DESCRIBE c").fetchall() if name.startswith("field")
    )
    found["groups"] = groups_in_files(connection, folder)
    for ending in ("parquet", "csv"):
        file = folder / f"all.{ending}"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            corpus.export(file)
        found[ending] = (
            sorted(str(one.message).split(": in columns")[0].split(", ") for one in caught),
            cells(parquet.read_table(file)) if ending == "parquet" else None,
        )
    return found


@pytest.mark.filterwarnings("ignore")
@given(records=RECORDS, data=st.data())
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_segments_do_not_decide_what_values_are(
    tmp_path: Path, records: list[dict[str, Any]], data: Any
) -> None:
    documents = [{"text": "a", **record} for record in records]
    others = [{"text": "b", **record} for record in data.draw(RECORDS, label="others")]
    cuts = data.draw(st.sets(st.integers(1, len(documents))), label="cuts")
    bounds = [0, *sorted(cuts - {len(documents)}), len(documents)]
    with ngramdb.connect() as whole, ngramdb.connect() as apart:
        whole.create_corpus("c").append(documents)
        apart.execute("SET auto_compact = off")
        corpus = apart.create_corpus("c")
        for start, stop in pairwise(bounds):
            corpus.append(documents[start:stop])
        expected = answers(whole, tmp_path)
        assert answers(apart, tmp_path) == expected
        corpus.compact()
        assert answers(apart, tmp_path) == expected
        # Fields that only removed documents had stay known, and the type of lists that are empty now: what is
        # asked of others is as it was.
        if any(isinstance(record.get("n"), list) for record in records):
            return
        corpus.append(others)
        assert corpus.delete('"b"') == len(others)
        corpus.compact()
        found = answers(apart, tmp_path)
        fields = {field.removeprefix("field ") for field in expected["fields"]}
        known = {field.removeprefix("field ") for field in found["fields"]}
        if known == fields:
            assert (found["parquet"], found["csv"]) == (expected["parquet"], expected["csv"])
        for statement in STATEMENTS:
            asked = {name for name in ("n.k", "n", "m") if re.search(rf"\b{name}\b(?!\.)", statement)}
            if asked and asked <= fields and not statement.startswith("DOCS ORDER"):
                assert found[statement] == expected[statement], statement


# Integers beside floats: in one segment they are a column of floats, with a text beside them JSON.
NUMBERS = st.sampled_from([0, 0.0, 1, 1.0, 7, 2.5, "x", None])


@given(records=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=7), data=st.data())
@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_segments_do_not_decide_whether_a_group_is_an_integer(
    tmp_path: Path, records: list[tuple[Any, Any]], data: Any
) -> None:
    documents = [{"text": "a", "m": m, "n": n, "l": [m, n]} for m, n in [*records, ("y", "y")]]
    cuts = data.draw(st.sets(st.integers(1, len(records))), label="cuts")
    with ngramdb.connect() as connection:
        connection.execute("SET auto_compact = off")
        corpus = connection.create_corpus("c")
        for start, stop in pairwise([0, *sorted(cuts), len(documents)]):
            corpus.append(documents[start:stop])
        before = [repr(connection.execute(statement).fetchall()) for statement in GROUPS]
        files = groups_in_files(connection, tmp_path)
        # An integer if a document of the group has one, as DOCS shows it.
        integers = {m for m, _ in records if type(m) is int}
        found = [value for value, _ in connection.execute(GROUPS[0]).fetchall()]
        assert {value for value in found if type(value) is int} == integers
        corpus.compact()
        assert [repr(connection.execute(statement).fetchall()) for statement in GROUPS] == before
        assert groups_in_files(connection, tmp_path) == files


@given(records=RECORDS)
@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_different_groups_are_different_in_files(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    with ngramdb.connect() as connection:
        connection.create_corpus("c").append([{"text": "a", "n": None, **record} for record in records])
        for field in {"n", "m"} & {field for record in records for field in record}:
            statement = f"COUNT DOCS GROUP BY {field}"
            try:
                n = len(connection.execute(statement).fetchall())
            except QueryError:  # no such field
                continue
            for ending in ("parquet", "arrow", "csv"):
                file = tmp_path / f"groups.{ending}"
                note = connection.execute(f"COPY ({statement}) TO '{file}'").summary.get("note")
                if ending == "csv":
                    rows = list(csv.reader(file.open(newline="")))[1:]
                    keys = [row[0] for row in rows]
                    assert len(set(keys)) == n or note or "" in keys  # NULL and an empty text
                else:
                    table = parquet.read_table(file) if ending == "parquet" else feather.read_table(file)
                    assert len(set(map(repr, table.column(0).to_pylist()))) == n

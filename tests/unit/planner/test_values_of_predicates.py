"""Rules that drop repeated operands keep booleans and numbers apart, which are equal in Python."""

from __future__ import annotations

import ngramdb
from ngramdb.planner.planner import rule_names

TESTS = [f"mix {test}" for test in ("= 1", "= TRUE", "IN (0, 1)", "IN (FALSE, TRUE)", "BETWEEN 0 AND 1")]
TESTS += [
    "mix BETWEEN FALSE AND TRUE",
    "NOT mix = 1",
    "NOT mix = TRUE",
    "mix != 0",
    "mix != FALSE",
    "mix IS NULL",
]


def test_booleans_are_no_numbers_under_any_rule():
    db = ngramdb.connect()
    db.create_corpus("mixed").append([{"text": "a", "mix": mix} for mix in (0, 1, False, True, "s", None)])
    conditions = [f"{a} {word} {b}" for a in TESTS for b in TESTS for word in ("AND", "OR")]
    asked = [f"DOCS WHERE {condition} FROM mixed RETURNING doc_id" for condition in conditions]
    found = [db.execute(one).fetchall() for one in asked]
    db.settings["disabled_rules"] = ",".join(rule_names())
    assert found == [db.execute(one).fetchall() for one in asked]
    assert db.execute("COUNT DOCS WHERE mix = 1 OR mix = TRUE FROM mixed").fetchall() == [(2,)]

"""Co-occurrences within a distance on infini-gram's corpus: what brute force found in it.

Its answers are about the clause that has the fewest occurrences, which therefore comes first here. Distances
are between the starts of occurrences, within one document.
"""

from __future__ import annotations

from typing import Any

import pytest

DISTANCES = (10, 100)


def literal(ids: list[int]) -> str:
    return "[" + ", ".join(map(str, ids)) + "]"


def clauses(entry: dict[str, Any]) -> list[str]:
    """The clauses as the language has them, the one with the fewest occurrences first."""
    pairs = sorted(zip(entry["clause_occurrences"], range(len(entry["cnf"])), strict=True))
    return ["(" + " OR ".join(map(literal, entry["cnf"][i])) + ")" for _, i in pairs]


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("disabled", ["", "order_operands", "order_operands, scan_candidates"])
def test_counts_within_a_distance(
    connection: Any, peer: dict[str, Any], distance: int, disabled: str
) -> None:
    connection.execute("SET disabled_rules = ?", [disabled])
    differing, n = [], 0
    for number, entry in enumerate(peer["cnf"]):
        near = entry.get(f"diff{distance}")
        if near is None or "near_count" not in near or (disabled and number % 3):
            continue
        n += 1
        statement = " AND ".join(clauses(entry))
        if len(entry["cnf"]) > 1:
            statement += f" WITHIN {distance} TOKENS"
        found = connection.execute(f"COUNT {statement} FROM small").fetchone()[0]
        if found != near["near_count"]:
            differing.append((number, found, near["near_count"]))
    connection.execute("RESET disabled_rules")
    assert n > 30
    assert not differing


@pytest.mark.parametrize("distance", DISTANCES)
def test_documents_within_a_distance(connection: Any, peer: dict[str, Any], distance: int) -> None:
    differing, n = [], 0
    for number, entry in enumerate(peer["cnf"]):
        near = entry.get(f"diff{distance}")
        # Of three clauses a condition asks that all are near each other, and not the others near the first.
        if near is None or len(entry["cnf"]) != 2 or "near_docs" not in near:
            continue
        n += 1
        where = " AND ".join(clauses(entry)) + f" WITHIN {distance} TOKENS"
        found = [row[0] for row in connection.execute(f"COUNT DOCS WHERE {where} GROUP BY doc_id")]
        if found != sorted(near["near_docs"]):
            differing.append((number, len(found), len(near["near_docs"])))
    assert n > 30
    assert not differing

"""The choice between locating occurrences by the index and reading parts of the text for them."""

from __future__ import annotations

from ngramdb.planner.plan.estimates import COSTS, Costs

SCAN_CANDIDATES = "scan_candidates"


def costs_of(disabled: frozenset[str]) -> Costs | None:
    """What the executor weighs; None where it shall never read instead of locating."""
    return None if SCAN_CANDIDATES in disabled else COSTS

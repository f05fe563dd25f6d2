"""Measures of association between a token and a set of positions, from counts in a contingency table.

There are N positions: f1 are in the set (in the windows of a node, or in the first of two corpora), f2 have
the token, and f are both. The observed cells are O11 = f, O12 = f1 - f, O21 = f2 - f, O22 = N - f1 - f2 + f;
the sums of rows and columns are R1 = f1, R2 = N - f1, C1 = f2, C2 = N - f2; the expected cells are
Eij = Ri Cj / N (Evert 2008, "Corpora and Collocations", section 4). For the measures in `OF_OCCURRENCES`, f1
is the number of occurrences of the node instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngramdb.fork_safety import cached_property

Floats = NDArray[np.float64]

# Log-ratio adds this to all four numbers, so that none is 0 (Walter 1975, "The distribution of Levin's
# measure of attributable risk").
DISCOUNT = 0.5


@dataclass(frozen=True)
class Table:
    """Contingency tables of many tokens: f and f2 are (n,), f1 and N numbers."""

    f: Floats
    f1: float
    f2: Floats
    n: float

    @classmethod
    def of(cls, f: NDArray[np.int64], f1: int, f2: NDArray[np.int64], n: int) -> Table:
        """Return the tables of integer counts."""
        return cls(f.astype(np.float64), float(f1), f2.astype(np.float64), float(n))

    @cached_property
    def expected(self) -> Floats:
        """E11."""
        return self.f1 * self.f2 / self.n


def z(table: Table) -> Floats:
    """(O11 - E11) / sqrt(E11) (Berry-Rogghe 1973)."""
    found: Floats = (table.f - table.expected) / np.sqrt(table.expected)
    return found


def t(table: Table) -> Floats:
    """(O11 - E11) / sqrt(O11) (Church et al. 1991)."""
    found: Floats = (table.f - table.expected) / np.sqrt(table.f)
    return found


def mi(table: Table) -> Floats:
    """log2(O11 / E11), pointwise mutual information (Church & Hanks 1990)."""
    found: Floats = np.log2(table.f / table.expected)
    return found


def mi3(table: Table) -> Floats:
    """log2(O11³ / E11) (Daille 1994)."""
    found: Floats = mi(table) + 2 * np.log2(table.f)
    return found


def dice(table: Table) -> Floats:
    """2 f / (f1 + f2), with f1 the number of occurrences (Smadja et al. 1996)."""
    return 2 * table.f / (table.f1 + table.f2)


def logdice(table: Table) -> Floats:
    """14 + log2(dice), with f1 the number of occurrences (Rychlý 2008)."""
    found: Floats = 14 + np.log2(dice(table))
    return found


def log_likelihood(table: Table) -> Floats:
    """2 Σ Oij ln(Oij / Eij) over all four cells (Dunning 1993), negative if O11 < E11."""
    others = table.n - table.f2
    total = _column_log(table, table.f, table.f2) + _column_log(table, table.f1 - table.f, others)
    return 2 * np.copysign(total, table.f - table.expected)


def log_likelihood_of_counts(table: Table) -> Floats:
    """2 (O11 ln(O11 / E11) + O21 ln(O21 / E21)) (Rayson & Garside 2000), negative if O11 < E11."""
    return 2 * np.copysign(_column_log(table, table.f, table.f2), table.f - table.expected)


def _column_log(table: Table, first: Floats, column: Floats) -> Floats:
    """Return the sum of O ln(O / E) over a column, given the column's first cell and its sum."""
    expected = column * table.f1 / table.n, column * (table.n - table.f1) / table.n
    return _weighted_log(first, expected[0]) + _weighted_log(column - first, expected[1])


def _weighted_log(observed: Floats, expected: Floats) -> Floats:
    """Return O ln(O / E), or 0 if O is 0."""
    some = observed > 0
    ratio = np.divide(observed, expected, out=np.ones_like(observed), where=some)
    return observed * np.log(ratio)


def log_ratio(table: Table) -> Floats:
    """log2 of the relative risk, ((O11 + ½) / (R1 + ½)) / ((O21 + ½) / (R2 + ½)) (Hardie 2014)."""
    first = (table.f + DISCOUNT) / (table.f1 + DISCOUNT)
    second = (table.f2 - table.f + DISCOUNT) / (table.n - table.f1 + DISCOUNT)
    found: Floats = np.log2(first / second)
    return found


def chi_squared(table: Table) -> Floats:
    """Pearson's chi-squared without a correction, negative if O11 < E11."""
    difference = table.f - table.expected
    # All four cells differ from their expected values by the same number.
    others = (table.n - table.f1) / table.n * ((table.n - table.f2) / table.n)
    least = table.expected * others
    found = np.divide(difference**2, least, out=np.zeros_like(difference), where=least > 0)
    return np.copysign(found, difference)


def simple(table: Table, smoothing: float) -> Floats:
    """Return the ratio of frequencies per million, `smoothing` added to both (Kilgarriff 2009)."""
    first = table.f / table.f1 * 1e6 + smoothing
    second = (table.f2 - table.f) / (table.n - table.f1) * 1e6 + smoothing
    found: Floats = first / second
    return found


# By the names of `registries.ASSOCIATION_MEASURES`.
ASSOCIATION: dict[str, Callable[[Table], Floats]] = {
    "logdice": logdice,
    "ll": log_likelihood,
    "mi": mi,
    "mi3": mi3,
    "t": t,
    "z": z,
    "logratio": log_ratio,
    "dice": dice,
}

# Measures whose f1 is the number of occurrences, not the number of positions in windows.
OF_OCCURRENCES = frozenset({"logdice", "dice"})

# By the names of `registries.KEYNESS_MEASURES`; `simple` is missing since it takes a number.
KEYNESS: dict[str, Callable[[Table], Floats]] = {
    "ll": log_likelihood_of_counts,
    "logratio": log_ratio,
    "chi2": chi_squared,
}

"""Measures of association written out from their definitions, over one contingency table at a time."""

from __future__ import annotations

import math


def table(f, f1, f2, n):
    """Observed and expected: ((O11, O12), (O21, O22)), ((E11, E12), (E21, E22))."""
    observed = ((f, f1 - f), (f2 - f, n - f1 - f2 + f))
    rows = [sum(row) for row in observed]
    columns = [observed[0][j] + observed[1][j] for j in (0, 1)]
    return observed, tuple(tuple(row * column / n for column in columns) for row in rows)


def log_likelihood(f, f1, f2, n):
    """Dunning's G², with the sign of O11 - E11."""
    observed, expected = table(f, f1, f2, n)
    total = sum(
        observed[i][j] * math.log(observed[i][j] / expected[i][j])
        for i in (0, 1)
        for j in (0, 1)
        if observed[i][j]
    )
    return (2 if f >= expected[0][0] else -2) * total


def log_ratio(f, f1, f2, n):
    """The binary logarithm of the relative risk, by Walter's discount."""
    return math.log2((f + 0.5) * (n - f1 + 0.5) / ((f1 + 0.5) * (f2 - f + 0.5)))


ASSOCIATION = {
    "logdice": lambda f, f1, f2, n: 14 + math.log2(2 * f / (f1 + f2)),
    "ll": log_likelihood,
    "mi": lambda f, f1, f2, n: math.log2(f * n / (f1 * f2)),
    "mi3": lambda f, f1, f2, n: math.log2(f**3 * n / (f1 * f2)),
    "t": lambda f, f1, f2, n: (f - f1 * f2 / n) / math.sqrt(f),
    "z": lambda f, f1, f2, n: (f - f1 * f2 / n) / math.sqrt(f1 * f2 / n),
    "logratio": log_ratio,
    "dice": lambda f, f1, f2, n: 2 * f / (f1 + f2),
}

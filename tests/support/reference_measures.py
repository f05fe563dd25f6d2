"""Measures of association written out from their definitions, for one token at a time.

Those of collocates also take the number of occurrences of the node, which is not part of the table.
"""

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
    "logdice": lambda f, f1, f2, n, node: 14 + math.log2(2 * f / (node + f2)),
    "ll": lambda f, f1, f2, n, node: log_likelihood(f, f1, f2, n),
    "mi": lambda f, f1, f2, n, node: math.log2(f * n / (f1 * f2)),
    "mi3": lambda f, f1, f2, n, node: math.log2(f**3 * n / (f1 * f2)),
    "t": lambda f, f1, f2, n, node: (f - f1 * f2 / n) / math.sqrt(f),
    "z": lambda f, f1, f2, n, node: (f - f1 * f2 / n) / math.sqrt(f1 * f2 / n),
    "logratio": lambda f, f1, f2, n, node: log_ratio(f, f1, f2, n),
    "dice": lambda f, f1, f2, n, node: 2 * f / (node + f2),
}


def chi_squared(f, f1, f2, n):
    """Pearson's statistic, with the sign of O11 - E11."""
    observed, expected = table(f, f1, f2, n)
    cells = [(observed[i][j], expected[i][j]) for i in (0, 1) for j in (0, 1)]
    total = sum((o - e) ** 2 / e for o, e in cells if e)
    return total if f >= expected[0][0] else -total


def of_parts(measure):
    """A measure of counts and sizes of two parts, from one of a table."""
    return lambda f1, n1, f2, n2: measure(f1, n1, f1 + f2, n1 + n2)


def log_likelihood_of_counts(f1, n1, f2, n2):
    """Rayson and Garside's statistic of two counts, with the sign of the difference of frequencies."""
    expected = n1 * (f1 + f2) / (n1 + n2), n2 * (f1 + f2) / (n1 + n2)
    total = sum(o * math.log(o / e) for o, e in zip((f1, f2), expected, strict=True) if o)
    return (2 if f1 >= expected[0] else -2) * total


KEYNESS = {
    "ll": log_likelihood_of_counts,
    "logratio": of_parts(log_ratio),
    "chi2": of_parts(chi_squared),
    "simple": lambda f1, n1, f2, n2: (f1 / n1 * 1e6 + 1) / (f2 / n2 * 1e6 + 1),
}

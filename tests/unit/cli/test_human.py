"""Numbers as people read them."""

from __future__ import annotations

import pytest

from ngramdb.cli.terminal import human


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0000123, "12 µs"),
        (0.001234, "1.23 ms"),
        (0.25, "250 ms"),
        (1.5, "1.5 s"),
        (59.94, "59.9 s"),
        (61, "1 min 01 s"),
    ],
)
def test_durations_choose_their_unit(seconds: float, text: str) -> None:
    assert human.duration(seconds) == text


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (1_234_567, "1.23 MB"),
        (999_600_000, "1 GB"),
        (2.5e15, "2,500 TB"),
    ],
)
def test_sizes_choose_their_unit(n_bytes: float, text: str) -> None:
    assert human.size(n_bytes) == text


@pytest.mark.parametrize(
    ("n", "text"),
    [(0, "0"), (999, "999"), (1000, "1k"), (1_234_567, "1.23M"), (999_999, "1M"), (5 * 10**12, "5T")],
)
def test_short_counts_have_three_digits(n: int, text: str) -> None:
    assert human.short(n) == text


def test_counts_group_their_digits_and_their_nouns_agree() -> None:
    assert human.count(1234567) == "1,234,567"
    assert human.count(1, "document") == "1 document"
    assert human.count(0, "document") == "0 documents"
    assert human.count(2, "corpus") == "2 corpora"

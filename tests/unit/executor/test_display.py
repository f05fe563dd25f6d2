"""Tables of results fit the terminal, and notebooks get sound HTML."""

from __future__ import annotations

import pytest

from ngramdb.display import shown
from ngramdb.executor.display import cut, width_of
from ngramdb.executor.result import Result


def lines(result, n_columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(n_columns))
    return repr(result).splitlines()


WIDE = Result.of_rows(
    ("doc_id", "left", "match", "right", "prob"),
    [(i, "the left side of it " * 3, "the match", "what is on the right " * 3, 0.25) for i in range(3)],
).fetchall()


@pytest.mark.parametrize("n_columns", [30, 40, 60, 80, 100, 160, 400])
def test_no_line_of_a_table_is_wider_than_the_terminal(n_columns, monkeypatch):
    result = Result.of_rows(("doc_id", "left", "match", "right", "prob"), WIDE)
    *table, _ = lines(result, n_columns, monkeypatch)
    assert max(map(width_of, table)) <= n_columns


def test_wide_texts_give_way_first_and_numbers_stay_whole(monkeypatch):
    result = Result.of_rows(("doc_id", "left", "match", "right", "prob"), WIDE)
    _, _, row, *_ = lines(result, 80, monkeypatch)
    assert row.endswith("  0.25") and row.startswith("     0  the left") and "the match" in row
    assert row.count("…") == 2


def test_columns_without_room_are_named(monkeypatch):
    result = Result.of_rows(("doc_id", "left", "match", "right", "prob"), WIDE)
    assert lines(result, 30, monkeypatch)[-1] == "(3 rows) (no room for right, prob)"


def test_the_only_column_is_cut_to_the_terminal(monkeypatch):
    _, rule, row, footer = lines(Result.of_rows(("plan",), [("x" * 500,)]), 20, monkeypatch)
    assert row == "x" * 19 + "…" and len(rule) == 20 and footer == "(1 row)"
    assert lines(Result.of_rows(("n",), [(10**30,)]), 20, monkeypatch)[2] == str(10**30)


def test_wide_characters_take_two_columns(monkeypatch):
    *table, _ = lines(Result.of_rows(("token", "count"), [("日本語", 1), ("ab", 2)]), 80, monkeypatch)
    assert {width_of(line) for line in table} == {len("日本語") * 2 + 2 + len("count")}
    assert width_of("é") == width_of("é") == 1
    assert cut("日本語", 5) == "日本…" and cut("abc", 3) == "abc"


def test_values_on_one_line():
    assert [shown(value, 10) for value in (None, True, 0.1234567, "a\nb\tc", "\x1b[1m", [1, "a"])] == [
        "NULL",
        "true",
        "0.123457",
        "a⏎b⇥c",
        "\\x1b[1m",
        "[1, 'a']",
    ]


def test_sampled_answers_say_so():
    result = Result.of_rows(("count",), [(1,)])
    result.exact = False
    assert repr(result).endswith("(1 row, approximate)")


def test_numbers_stand_right_in_notebooks_and_null_is_grey():
    text = Result.of_rows(("a", "b"), [(1, None), (True, "x")])._repr_html_()
    assert '<td style="text-align: right">1</td>' in text and '<td style="color: #999">NULL</td>' in text
    assert '<td style="text-align: left">true</td>' in text and text.endswith("<p>(2 rows)</p>")


def test_the_footer_has_the_totals_that_the_prompt_shows():
    rows = [("like", 3), ("when", 1)]
    result = Result.of_rows(
        ("token", "count"), rows, total=25, context_count=1234, sparse=False, note="a note"
    )
    assert repr(result).splitlines()[-2:] == ["(2 rows, 25 in all, context count 1,234)", "note: a note"]
    assert result._repr_html_().endswith("<p>(2 rows, 25 in all, context count 1,234)</p><p>note: a note</p>")
    estimate = Result(("count",), [[(7,)]], exact=False)
    estimate.summary.update(standard_error=2.5, sampled_documents=1000, documents=2000, seed=1234567)
    facts = "approximate, standard error 2.5, sampled documents 1,000, documents 2,000, seed 1234567"
    assert repr(estimate).splitlines()[-1] == f"(1 row, {facts})"
    assert estimate.notes == (
        "an estimate from a sample of 1,000 of 2,000 documents, seed 1234567, standard error 2.5",
    )


def test_a_concordance_in_a_notebook_is_aligned_to_its_match():
    text = Result.of_rows(("left", "match", "right"), [("to the", "cat", "<b>")])._repr_html_()
    assert '<td style="text-align: right">to the</td>' in text
    assert '<td style="text-align: center; font-weight: bold">cat</td>' in text
    assert '<td style="text-align: left">&lt;b&gt;</td>' in text
    alone = Result.of_rows(("left",), [("to the",)])._repr_html_()
    assert "right" not in alone


def test_names_and_values_are_visible():
    steering = "a\r\x1b]0;x\x07\x9b\u202e\ud800"
    for text in (
        repr(Result.of_rows((steering,), [(steering,)], note=steering, path=steering)),
        Result.of_rows((steering,), [(steering,)], note=steering, path=steering)._repr_html_(),
    ):
        assert not set("\r\x1b\x07\x9b\u202e") & set(text)
    assert shown(steering, 60) == "a␍\\x1b]0;x\\x07\\x9b\\u202e�"

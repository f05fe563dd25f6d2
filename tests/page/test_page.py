"""The page in a browser: each view by keys and by mouse, permalinks, errors, narrow and dark screens."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import urlopen

import pytest

import ngramdb
from ngramdb.language import ast
from ngramdb.questions.parsing import parsed


def link(**state: object) -> str:
    return "?" + urlencode(state)


def state_of(page: Any) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def expected(database: Path, statement: str) -> list[tuple[Any, ...]]:
    with ngramdb.connect(database, read_only=True) as connection:
        return connection.execute(statement).fetchall()


# ---- search ---------------------------------------------------------------------------------------


def test_words_are_found_by_keys_alone(visitor: Any, database: Path) -> None:
    page = visitor.open(link(corpus="reports"))
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    page.keyboard.press("/")  # is there already
    page.keyboard.type("climate change")
    page.keyboard.press("Enter")
    page.wait_for_selector(".lines")
    visitor.settle()
    ((count,),) = expected(database, 'COUNT "climate change" FROM reports')
    assert f"{count} occurrences" in visitor.text()
    assert state_of(page)["q"] == "climate change"
    page.locator("a.line").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("[...document.querySelectorAll('a.line')].indexOf(document.activeElement)") == 1
    page.keyboard.press("Enter")
    page.wait_for_selector("article.text mark.here")
    assert page.inner_text("mark.here") == "climate change"
    visitor.picture("document")


def test_all_matches_of_a_document_are_marked(visitor: Any, database: Path, song: str) -> None:
    position = expected(database, 'KWIC "saints" FROM songs')[5][1]
    page = visitor.open(link(corpus="songs", q="saints", view="document", doc=0, position=position))
    page.wait_for_selector("mark.here")
    marks = page.locator("article.text mark").evaluate_all(
        "all => all.map(mark => { const before = document.createRange();"
        " before.selectNodeContents(mark.closest('article')); before.setEndBefore(mark);"
        " return [before.toString(), mark.textContent]; })"
    )
    assert marks == [[song[: at.start()], "saints"] for at in re.finditer("saints", song)]
    assert page.evaluate("[...document.querySelectorAll('mark')].findIndex(one => one.matches('.here'))") == 5


def test_every_line_of_a_concordance_is_one_of_the_answer(visitor: Any, database: Path) -> None:
    page = visitor.open(link(corpus="reports", q="trees", order="right"))
    shown = [
        " ".join(line.split())
        for line in page.locator("a.line").evaluate_all(
            "all => all.map(a => [...a.children].slice(0, 3).map(one => one.textContent).join(' '))"
        )
    ]
    rows = expected(database, 'KWIC "trees" WINDOW 12 ORDER BY right LIMIT 50 FROM reports')
    assert shown == [" ".join(" ".join(row[2:5]).split()) for row in rows]
    visitor.picture("concordance")


def test_pages_and_the_way_back(visitor: Any) -> None:
    page = visitor.open(link(corpus="reports", q="the"))
    first = page.inner_text(".lines")
    page.click("text=Further")
    page.wait_for_url("**page=1**")
    page.wait_for_selector(".pages >> text=51")
    second = page.inner_text(".lines")
    assert second != first
    page.go_back()
    page.wait_for_selector(".pages >> text=1–50")
    assert page.inner_text(".lines") == first
    page.go_forward()
    page.wait_for_selector(".pages >> text=51")
    assert page.inner_text(".lines") == second


def test_tabs_are_walked_with_arrows(visitor: Any) -> None:
    page = visitor.open(link(corpus="reports", q="climate"))
    page.locator("[role=tab][aria-selected=true]").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector("#results .chart")
    assert state_of(page)["as"] == "frequency"
    assert page.evaluate("document.activeElement.id") == "tab-frequency"


def test_frequency_over_time_is_a_line_with_its_numbers(visitor: Any, database: Path) -> None:
    page = visitor.open(link(corpus="reports", q="climate", **{"as": "frequency", "by": "year", "rel": 0}))
    visitor.picture("frequency")
    page.focus(".plot")
    page.keyboard.press("Home")
    rows = expected(database, 'COUNT "climate" GROUP BY year FROM reports')
    assert f"year {rows[0][0]}" in page.inner_text(".tip")
    assert str(rows[0][1]) in page.inner_text(".tip")
    page.click("text=The numbers")
    cells = page.locator(".numbers tbody tr").all_inner_texts()
    assert [tuple(map(int, row.split())) for row in cells] == rows


def test_bars_of_a_field_lead_to_their_lines(visitor: Any, database: Path) -> None:
    page = visitor.open(link(corpus="reports", q="climate", **{"as": "frequency", "by": "source", "rel": 0}))
    rows = dict(expected(database, 'COUNT "climate" GROUP BY source FROM reports'))
    shown = dict(text.split("\n") for text in page.locator("a.bar").all_inner_texts())
    assert {name: int(count) for name, count in shown.items()} == rows
    visitor.picture("frequency-field")
    page.click("a.bar >> text=news")
    page.wait_for_selector(".lines")
    visitor.settle()
    assert state_of(page)["where"] == "source = 'news'"
    assert f"{rows['news']} occurrences" in visitor.text()


def test_a_walk_along_next_tokens_and_back(visitor: Any) -> None:
    page = visitor.open(link(corpus="reports", q="climate", **{"as": "next"}))
    visitor.picture("next")
    page.click("[aria-label='Tokens after'] button >> text=change")
    page.wait_for_url("**q=climate+change**")
    visitor.settle()
    assert page.locator(".crumbs .token").all_inner_texts() == ["climate", "change"]
    page.locator("[aria-label='Tokens after'] button").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**q=climate+change+**")
    page.go_back()
    visitor.settle()
    assert state_of(page)["q"] == "climate change"


@pytest.mark.parametrize(
    "others",
    [
        {"q": "CLIMATE", "nocase": 1},
        {"q": '"CLIMATE"', "nocase": 1},
        {"q": '"rain" OR "trees"'},
        {"q": '"rain" AND "trees"'},
        {"q": '"rain" AND year > 2010'},
        {"q": '"CLIMATE" IGNORE CASE'},
    ],
)
def test_next_tokens_of_anything_but_an_ngram_are_not_listed(visitor: Any, others: dict[str, Any]) -> None:
    page = visitor.open(link(corpus="reports", **{"as": "next"}, **others))
    assert "Next tokens are listed for" in page.inner_text("#results")
    assert page.locator(".side").count() == 0


def test_next_tokens_are_those_of_the_chosen_documents(visitor: Any, database: Path) -> None:
    where = "source = 'web'"
    page = visitor.open(link(corpus="reports", q="climate", where=where, **{"as": "next"}))
    ((count,),) = expected(database, f'COUNT "climate" WHERE {where} FROM reports')
    shown = page.locator(".side h2").all_inner_texts()
    assert shown == [f"Before {count} in all", f"After {count} in all"]


def test_documents_have_their_fields_and_the_place(visitor: Any, database: Path) -> None:
    page = visitor.open(link(corpus="reports", q="flower", **{"as": "documents"}))
    ((count,),) = expected(database, 'COUNT DOCS WHERE "flower" FROM reports')
    assert page.locator("a.card").count() == min(20, count)
    assert page.locator("a.card mark").first.inner_text() == "flower"
    visitor.picture("documents")


@pytest.mark.parametrize(
    ("typed", "statement"),
    [
        ('"climate" [0..1] "change"', 'COUNT "climate" [0..1] "change" FROM reports'),
        ('"climate" AND year > 2010', 'COUNT "climate" AND year > 2010 FROM reports'),
        ('"climate" OR "trees"', 'COUNT "climate" OR "trees" FROM reports'),
        ("year = 2005", "COUNT DOCS WHERE year = 2005 FROM reports"),
        ("/clim.*/", "COUNT /clim.*/ FROM reports"),
        ('* "climate"', 'COUNT * "climate" FROM reports'),
        ('<s> "climate"', 'COUNT <s> "climate" FROM reports'),
        ('("climate" | "mild") /.*/', 'COUNT ("climate" | "mild") /.*/ FROM reports'),
        ('("climate" | "mild") AND year > 2010', 'COUNT ("climate" | "mild") AND year > 2010 FROM reports'),
        ('"climate"{1,2} "change"', 'COUNT "climate"{1,2} "change" FROM reports'),
    ],
)
def test_the_box_takes_patterns_and_conditions(
    visitor: Any, database: Path, typed: str, statement: str
) -> None:
    page = visitor.open(link(corpus="reports"))
    page.fill("[name=q]", typed)
    page.keyboard.press("Enter")
    page.wait_for_selector(".total strong")
    visitor.settle()
    ((count,),) = expected(database, statement)
    assert page.inner_text(".total strong").split() in ([str(count)], [str(count), "documents"])


def test_the_box_takes_statements(visitor: Any, database: Path) -> None:
    page = visitor.open(link(corpus="reports", q="NGRAMS 2 TOP 5 FROM reports"))
    rows = expected(database, "NGRAMS 2 TOP 5 FROM reports")
    assert page.locator("tbody tr td:first-child").all_inner_texts() == [row[0] for row in rows]


def test_the_box_takes_statements_of_patterns(visitor: Any, database: Path) -> None:
    page = visitor.open(link(corpus="reports", q="KWIC /clim.*/ FROM reports"))
    ((count,),) = expected(database, "COUNT /clim.*/ FROM reports")
    assert page.locator("tbody tr").count() == count


def patterns_of_the_language() -> list[str]:
    """Patterns of the COUNT and KWIC statements in tests/language, without those that use placeholders."""
    found = set()
    for path in (Path(__file__).parents[1] / "language").glob("*.test"):
        for statement in re.findall(r"^(?:COUNT|KWIC) [^\n]+", path.read_text("utf-8"), re.MULTILINE):
            with contextlib.suppress(ngramdb.Error):
                trees, placeholders = parsed(statement)
                asked = trees[0].what if isinstance(trees[0], (ast.Count, ast.Kwic)) else None
                if (
                    isinstance(asked, ast.Contains)
                    and asked.span
                    and not (placeholders.names or placeholders.positions)
                ):
                    text = statement[asked.span.start : asked.span.stop]
                    ngramdb.pattern(text)  # a single alternative has the place of what is inside parentheses
                    found.add(text)
    return sorted(found)


def test_every_pattern_of_the_language_is_read_as_one(visitor: Any) -> None:
    texts = patterns_of_the_language()
    assert len(texts) > 50
    read = """async (texts) => {
        const { read } = await import("./static/sql.js");
        return texts.map((text) => [read(text).pattern, read(`KWIC ${text} FROM x`).kind]);
    }"""
    found = visitor.open(link(corpus="reports")).evaluate(read, texts)
    wrong = [
        (text, *is_read) for text, is_read in zip(texts, found, strict=True) if is_read != [text, "statement"]
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "text",
    [
        "and/or",
        "/usr/bin or so",
        "5 * 3",
        "(see below)",
        '"No" he said',
        "count to ten",
        "* a list",
    ],
)
def test_texts_that_resemble_patterns_are_words(visitor: Any, text: str) -> None:
    read = 'async (text) => (await import("./static/sql.js")).read(text)'
    assert visitor.open(link(corpus="reports")).evaluate(read, text) == {"kind": "text", "text": text}


def test_ignoring_case_is_of_the_whole_pattern(visitor: Any, database: Path) -> None:
    statement = 'COUNT ("CLIMATE" [0..1] "CHANGE") IGNORE CASE FROM reports'
    ((count,),) = expected(database, statement)
    typed = '"CLIMATE" [0..1] "CHANGE"'
    page = visitor.open(link(corpus="reports", q=typed, nocase=1))
    assert page.inner_text(".total strong") == str(count) != "0"
    page = visitor.open(link(corpus="reports", view="compare", q=typed, nocase=1, by="-", rel=0))
    assert page.inner_text(".group .bar .value") == str(count)


def test_suggestions_come_while_typing_and_are_taken_with_keys(visitor: Any) -> None:
    page = visitor.open(link(corpus="reports"))
    page.focus("[name=q]")
    page.keyboard.type("climate cha")
    page.wait_for_selector("[role=option] >> text=change")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.input_value("[name=q]") == "climate change"
    assert page.locator(".suggestions:visible").count() == 0


def test_sub_words_are_found_as_text_and_walked_by_their_ids(visitor: Any, database: Path) -> None:
    page = visitor.open(link(corpus="pieces", q="fox"))
    assert page.inner_text(".total strong") == "3"
    page.uncheck("text=as text")
    visitor.settle()
    ((count,),) = expected(database, 'COUNT "fox" FROM pieces')
    assert page.inner_text(".total strong") == str(count) == "1"
    page = visitor.open(link(corpus="pieces", q="fox", **{"as": "next"}))
    page.click("[aria-label='Tokens after'] button >> text=e")
    page.wait_for_url("**q=%5B**")
    visitor.settle()
    assert page.locator(".crumbs .token").all_inner_texts() == ["␣fox", "e"]
    assert page.inner_text(".total strong") == "1"
    page = visitor.open(link(corpus="pieces", q="fox", **{"as": "next"}))
    assert 'the tokens of " fox" only' in page.inner_text("#results")
    page = visitor.open(link(corpus="pieces", q="fox", text=0, **{"as": "next"}))
    assert page.locator(".crumbs .token").all_inner_texts() == list("fox")
    assert page.inner_text(".side h2 >> nth=1") == "After 1 in all"


def test_dates_are_counted_by_year_or_month(visitor: Any) -> None:
    page = visitor.open(link(corpus="pieces", q="fox", rel=0, **{"as": "frequency"}))
    page.click("text=The numbers")
    assert page.locator(".numbers tbody tr").all_inner_texts() == ["2019\t2", "2020\t1"]
    page.select_option("[data-key=period]", "month")
    page.wait_for_selector("a.bar >> text=2019-03")
    page.click("a.bar >> text=2019-03")
    page.wait_for_selector(".lines")
    visitor.settle()
    assert state_of(page)["where"] == "YEAR(date) = 2019 AND MONTH(date) = 3"
    assert page.inner_text(".total strong") == "2"


# ---- the other views ------------------------------------------------------------------------------


def test_a_text_is_traced_and_a_span_shows_where_it_stands(visitor: Any) -> None:
    page = visitor.open(link(corpus="reports", view="trace"))
    text = "I hear that climate change is a matter of policy, and so are unicorns."
    page.fill("textarea", text)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("button.span")
    visitor.settle()
    assert page.locator("button.span").first.inner_text() == "climate change is a matter of policy"
    assert page.inner_text(".tracing") == text
    page.click("button.span")
    page.wait_for_selector(".beside .card mark")
    assert page.locator(".beside mark").first.inner_text() == "climate change is a matter of policy"
    visitor.picture("trace")
    page.reload()
    visitor.settle()
    assert page.locator("button.span").first.inner_text() == "climate change is a matter of policy"


def test_surprise_is_a_heat_line(visitor: Any, database: Path) -> None:
    text = "climate change is a matter of unicorns"
    page = visitor.open(link(corpus="reports", view="trace", q=text, **{"as": "surprise"}))
    assert page.inner_text("div.text") == text
    rows = expected(database, f'SCORE "{text}" USING INFGRAM FROM reports')
    assert page.locator("div.text .heat").count() == len(rows)
    assert page.locator(".heatline rect").count() == len(rows)
    visitor.picture("surprise")


def test_ngrams_are_compared_over_time(visitor: Any, database: Path) -> None:
    page = visitor.open(link(corpus="reports", view="compare"))
    page.fill("textarea", "climate\ntrees")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".plot svg")
    visitor.settle()
    assert page.locator("path.curve").count() == 4  # two of them in the legend
    visitor.picture("compare")
    page.select_option("[data-key=rel]", "0")
    visitor.settle()
    page.click("text=The numbers")
    rows = dict(expected(database, 'COUNT "trees" GROUP BY year FROM reports'))
    shown = [list(map(int, row.split())) for row in page.locator(".numbers tbody tr").all_inner_texts()]
    assert {year: n for year, _, n in shown if n} == rows


def test_periods_without_an_occurrence_are_zero_and_in_order(
    visitor: Any, database: Path, tmp_path: Path
) -> None:
    page = visitor.open(link(corpus="reports", view="compare", q="onerror\n/fl.*/", by="year", rel=0))
    page.click("text=The numbers")
    counts = [
        dict(expected(database, f"COUNT {pattern} GROUP BY year FROM reports"))
        for pattern in ('"onerror"', "/fl.*/")
    ]
    rows = [[year, *(one.get(year, 0) for one in counts)] for year in range(2001, 2021)]
    shown = [list(map(int, row.split())) for row in page.locator(".numbers tbody tr").all_inner_texts()]
    assert shown == rows
    assert page.locator("circle.s0").count() == len(rows)
    with page.expect_download() as begun:
        page.click("text=Save CSV")
    begun.value.save_as(tmp_path / "saved.csv")
    saved = (tmp_path / "saved.csv").read_text("utf-8").splitlines()
    assert saved == ["year,onerror,/fl.*/", *(",".join(map(str, row)) for row in rows)]
    page = visitor.open(link(corpus="reports", q="onerror", **{"as": "frequency", "by": "year", "rel": 0}))
    page.click("text=The numbers")
    shown = [list(map(int, row.split())) for row in page.locator(".numbers tbody tr").all_inner_texts()]
    assert shown == [row[:2] for row in rows]


def test_years_without_a_document_that_meets_the_condition_are_zero(visitor: Any, database: Path) -> None:
    page = visitor.open(link(corpus="reports", q="year > 2010", **{"as": "frequency", "by": "year"}))
    page.click("text=The numbers")
    counts = dict(expected(database, "COUNT DOCS WHERE year > 2010 GROUP BY year FROM reports"))
    shown = [list(map(int, row.split())) for row in page.locator(".numbers tbody tr").all_inner_texts()]
    assert shown == [[year, counts.get(year, 0)] for year in range(2001, 2021)]


def test_a_line_breaks_at_periods_of_other_corpora(visitor: Any) -> None:
    page = visitor.open(
        link(
            view="compare", corpus="reports", q="climate", rel=0, by="year", **{"in": "reports,small corpus"}
        )
    )
    page.click("text=The numbers")
    assert page.locator(".numbers tbody tr").first.inner_text().split() == ["1999", "NULL", "1"]
    assert page.locator(".numbers tbody tr").last.inner_text().split()[2] == "NULL"


def test_what_cannot_be_compared_is_named(visitor: Any) -> None:
    visitor.open(link(view="compare", corpus="reports", q="climate\nyear > 2010\nNGRAMS 2", by="-"))
    assert "Not compared (only words and patterns can be): year > 2010 · NGRAMS 2" in visitor.text()


def test_ngrams_are_compared_over_periods_of_dates(visitor: Any) -> None:
    page = visitor.open(link(view="compare", corpus="pieces", q="fox\nthe", rel=0))
    page.click("text=The numbers")
    assert page.locator(".numbers tbody tr").all_inner_texts() == ["2019\t2\t1", "2020\t1\t1"]
    for period, shown in (
        ("month", ["2019-03\t2\t1", "2020-05\t1\t1"]),
        ("day", ["2019-03-01\t2\t1", "2020-05-06\t1\t1"]),
    ):
        page.select_option("[data-key=period]", period)
        visitor.settle()
        page.click("text=The numbers")
        assert page.locator(".numbers tbody tr").all_inner_texts() == shown
    page.focus(".plot")
    page.keyboard.press("End")
    assert page.inner_text(".tip strong") == "date 2020-05-06"
    assert "period=day" in page.url
    visitor.picture("compare-dates")
    page.select_option("[data-key=period]", "year")
    visitor.settle()
    page.goto(visitor.address + link(view="compare", corpus="reports", q="trees", by="year", period="10"))
    visitor.settle()
    page.click("text=The numbers")
    assert [row.split()[0] for row in page.locator(".numbers tbody tr").all_inner_texts()] == [
        "2000",
        "2010",
        "2020",
    ]


def test_corpora_are_compared(visitor: Any) -> None:
    page = visitor.open(link(view="compare", corpus="reports", q="climate", by="-", rel=0))
    page.check("fieldset >> text=small corpus")
    page.wait_for_selector(".legend, .group .bar >> text=small corpus")
    visitor.settle()
    assert page.locator(".group .bar").count() == 2


def test_a_corpus_shows_its_fields_versions_and_removals(visitor: Any) -> None:
    page = visitor.open(link(view="corpus", corpus="reports"))
    text = visitor.text()
    assert "120" in page.inner_text(".sizes")
    assert "asked for by its author" in text
    assert {"title", "year", "source"} <= {
        one.split()[0] for one in page.locator(".fields h3").all_inner_texts()
    }
    visitor.picture("corpus")
    page.click(".fields a.bar >> text=letters")
    page.wait_for_selector(".cards")
    assert state_of(page)["q"] == "source = 'letters'"


def test_an_earlier_version_still_has_what_was_removed(visitor: Any) -> None:
    page = visitor.open(link(view="corpus", corpus="reports"))
    page.click("a.chip >> text=search version 3")
    page.fill("[name=q]", "title = 'Report 3'")
    page.keyboard.press("Enter")
    page.wait_for_selector(".total strong")
    visitor.settle()
    assert page.inner_text(".total strong") == "1 document"


def test_statements_are_edited_run_and_remembered(visitor: Any, database: Path) -> None:
    page = visitor.open(link(view="query", corpus="reports"))
    page.keyboard.press("/")
    page.keyboard.type('COUNT "trees" GROUP BY source FROM reports')
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("table")
    visitor.settle()
    rows = expected(database, 'COUNT "trees" GROUP BY source FROM reports')
    assert [tuple(row.split()) for row in page.locator("tbody tr").all_inner_texts()] == [
        (source, str(count)) for source, count in rows
    ]
    page.click("th >> text=count")
    counts = [int(text) for text in page.locator("tbody td:nth-child(2)").all_inner_texts()]
    assert counts == sorted(counts, reverse=True)
    visitor.picture("query")
    visitor.open(link(view="query", corpus="reports"))
    assert 'COUNT "trees" GROUP BY source' in page.inner_text(".history")


def test_a_plan_is_drawn_as_a_tree(visitor: Any) -> None:
    page = visitor.open(link(view="query", corpus="reports"))
    page.fill("textarea", 'COUNT DOCS WHERE "climate" AND "trees" AND NOT "rain" FROM reports')
    page.click("text=Explain")
    page.wait_for_selector(".plan")
    assert page.locator(".plan ul ul li").count() >= 3
    visitor.picture("plan")


def test_a_view_says_its_statement_for_other_programs(visitor: Any) -> None:
    page = visitor.open(link(corpus="reports", q="trees"))
    page.click(".ran summary")
    page.click("text=Copy SQL")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith('KWIC "trees"')
    page.click("text=Copy Python")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert f'ngramdb.connect("{visitor.address}")' in copied
    page.click("text=Open in the editor")
    page.wait_for_selector("table")
    assert state_of(page)["view"] == "query"


@pytest.mark.parametrize("kind", ["csv", "jsonl", "arrow", "parquet"])
def test_answers_are_saved_as_files(visitor: Any, kind: str, tmp_path: Path) -> None:
    page = visitor.open(link(view="query", q="NGRAMS 1 TOP 7 FROM reports"))
    with page.expect_download() as begun:
        page.select_option("[aria-label='Save as a file']", kind)
    path = tmp_path / begun.value.suggested_filename
    begun.value.save_as(path)
    assert path.suffix == f".{kind}"
    assert path.stat().st_size > 50


# ---- whatever happens -----------------------------------------------------------------------------


def test_a_mistake_is_shown_with_its_place(visitor: Any) -> None:
    page = visitor.open(link(view="query", corpus="reports", q="COUNT DOCS WHERE yaer = 2005 FROM reports"))
    assert "year" in page.inner_text(".error")
    assert page.inner_text(".error .caret") == "yaer"
    visitor.picture("error")
    visitor.errors.clear()  # the browser's own line on the status


def test_texts_of_a_corpus_are_never_markup(visitor: Any) -> None:
    for view in ("lines", "documents", "next", "frequency"):
        page = visitor.open(
            link(corpus="reports", q='"climate" [0..60] "change" AND year = 2020', **{"as": view})
        )
    page = visitor.open(link(corpus="reports", q="onerror"))
    page.click("a.line")
    page.wait_for_selector("article.text mark")
    assert "<script>" in page.inner_text("article.text")
    visitor.open(link(view="corpus", corpus="reports"))
    assert page.locator("main img, main script").count() == 0
    assert "owned" not in page.title()


def test_what_takes_long_can_be_stopped_and_asked_again(visitor: Any) -> None:
    page = visitor.page
    held = []
    page.route("**/query.json?*KWIC*", lambda route: held.append(route))
    page.goto(visitor.address + link(corpus="reports", q="trees"))
    page.click("text=Stop")
    page.wait_for_selector("text=Stopped after")
    page.unroute("**/query.json?*KWIC*")
    page.click("text=Run again")
    page.wait_for_selector(".lines")
    assert len(held) == 1


def test_rows_that_were_found_in_time_are_shown(visitor: Any) -> None:
    rows = [{"ngram": "of the", "token_ids": [1, 2], "count": 7}]
    late = {"ok": False, "status": 408, "error": "the time was over", "columns": list(rows[0]), "rows": rows}
    visitor.page.route("**/query.json?*NGRAMS*", lambda route: route.fulfill(status=408, json=late))
    page = visitor.open(link(view="query", corpus="reports", q="NGRAMS 2 FROM reports"))
    assert page.inner_text("tbody td") == "of the"
    assert "the time was over: these are the first rows" in visitor.text()
    visitor.errors.clear()  # the browser's own line on the status


def test_infinite_numbers_are_shown_as_such(visitor: Any) -> None:
    page = visitor.open(link(view="query", corpus="reports", q='SCORE "the qqqqzz" FROM reports'))
    assert "−∞" in page.locator("tbody tr").last.inner_text()
    assert "perplexity ∞" in " ".join(visitor.text().split())


def test_a_server_that_is_gone_is_told_in_words(visitor: Any) -> None:
    page = visitor.open(link(corpus="reports", q="trees"))
    page.route("**/query.json*", lambda route: route.abort())
    page.click("[role=tab] >> text=Documents")
    page.wait_for_selector(".error")
    assert "The server is not responding" in page.inner_text(".error >> nth=0")
    visitor.errors.clear()


def test_a_token_is_asked_for_and_kept_for_the_tab(visitor: Any) -> None:
    refused = {"ok": False, "status": 401, "error": "missing or invalid token"}

    def guard(route: Any) -> None:
        if route.request.headers.get("authorization") == "Bearer sesame":
            route.continue_()
        else:
            route.fulfill(status=401, json=refused)

    visitor.page.route("**/*.json*", guard)
    page = visitor.open(link(corpus="reports", q="trees"))
    page.fill("[type=password]", "sesame")
    page.keyboard.press("Enter")
    page.wait_for_selector(".lines")
    page.reload()
    page.wait_for_selector(".lines")
    visitor.errors.clear()


def test_an_address_of_answers_is_a_view_of_the_page(visitor: Any) -> None:
    page = visitor.open("reports/frequency?q=climate&by=source")
    assert page.locator("#tab-frequency[aria-selected=true]").count() == 1
    assert page.locator("a.bar").count() == 3
    page = visitor.open("reports/@3/documents?q=climate")
    assert "version 3" in visitor.text()


@pytest.mark.parametrize("path", ["concordance?q=CLIMATE&ignore_case", 'count?pattern="climate"'])
def test_parameters_of_answers_are_those_of_the_page(visitor: Any, database: Path, path: str) -> None:
    page = visitor.open(f"reports/{path}")
    ((count,),) = expected(database, 'COUNT "climate" FROM reports')
    assert page.inner_text(".total strong") == str(count)
    assert "The answer as JSON" not in visitor.text()


SEARCHES = (
    {"q": "fox"},
    {"q": " fox"},
    {"q": '"the"'},
    {"q": "the OR fox"},
    {"q": "[1]"},
    {"ids": "[1]"},
    {"ids": "1,2"},
    {"q": "THE", "ignore_case": "1"},
    {"q": "he", "match_text": "true"},
    {"pattern": '"The" OR "fox"', "ignore_case": "no"},
    {"q": "the", "where": "length > 4"},
)


@pytest.mark.parametrize("corpus", ["reports", "pieces", "whole"])
def test_the_page_and_the_data_at_an_address_have_the_same_numbers(
    visitor: Any, address: str, corpus: str
) -> None:
    for search in SEARCHES:
        asked = f"{urlencode(search)}"
        with urlopen(f"{address}{corpus}/count.json?{asked}") as response:
            ((count,),) = (row.values() for row in json.load(response)["rows"])
        for question in ("count", "concordance"):
            page = visitor.open(f"{corpus}/{question}?{asked}")
            assert (search, page.inner_text(".total strong")) == (search, f"{count:,}")
            assert "The answer as JSON" not in visitor.text()


def test_whole_words_are_searched_by_default_if_tokens_are_words(visitor: Any) -> None:
    page = visitor.open(link(corpus="whole", q="fox"))
    assert page.inner_text(".total strong") == "1"
    assert not page.is_checked("text=as text")


@pytest.mark.parametrize(
    "path, message",
    [
        ("collocates?q=climate", "The page does not support “collocates”."),
        ("keywords?where=year<2010&against=rest", "“keywords”. The page does not use against."),
        ("trace?ids=[1]", "The page does not use ids."),
        ("trace?q=climate&where=year=2001", "The page does not use where."),
        ("documents?q=climate&order=year", "The page does not use order."),
        ("frequency?q=climate&by=year&order=count", "The page does not use order."),
        ("next?q=climate&model=kneser_ney", "The page does not use model."),
        ("concordance?q=climate&returning=year", "The page does not use returning."),
        ("@before/documents?q=climate", "The page shows the newest version instead of @before."),
        ("frequency?q=climate&by=length", "cannot count by length here; these are counts by year."),
        (
            "frequency?q=climate&by=source&period=10",
            "cannot count by 10 here; these are counts by single values.",
        ),
    ],
)
def test_what_the_page_does_not_show_of_an_address_is_named(visitor: Any, path: str, message: str) -> None:
    visitor.open(f"reports/{path}")
    assert message in visitor.text()


def test_suggestions_of_another_text_are_not_offered(visitor: Any) -> None:
    page = visitor.open(link(corpus="reports"))
    page.focus("[name=q]")
    page.keyboard.type("climate cha")
    page.wait_for_selector("[role=option]")
    page.route("**/complete.json*", lambda route: None)  # the next answer never comes
    page.keyboard.type("n")
    assert page.locator("[role=option]").all_inner_texts()[0].startswith("change")
    page.fill("[name=q]", "trees gr")
    assert page.locator(".suggestions:visible").count() == 0


def test_the_theme_is_chosen_and_kept(visitor: Any) -> None:
    page = visitor.open()
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    page.reload()
    visitor.settle()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


VIEWS = {
    "start": link(corpus="reports"),
    "lines": link(corpus="reports", q="climate"),
    "frequency": link(corpus="reports", q="climate", **{"as": "frequency"}),
    "next": link(corpus="reports", q="climate", **{"as": "next"}),
    "documents": link(corpus="reports", q="climate", **{"as": "documents"}),
    "document": link(corpus="reports", q="climate", view="document", doc=1),
    "trace": link(corpus="reports", view="trace", q="climate change is a matter of policy"),
    "surprise": link(corpus="reports", view="trace", q="climate change is a matter", **{"as": "surprise"}),
    "compare": link(corpus="reports", view="compare", q="climate\ntrees"),
    "corpus": link(corpus="reports", view="corpus"),
    "query": link(corpus="reports", view="query", q="NGRAMS 2 TOP 9 FROM reports"),
    "plan": link(corpus="reports", view="query", q='COUNT DOCS WHERE "a" FROM reports', explain=1),
}


def test_the_first_load_is_small(visitor: Any) -> None:
    sizes: list[int] = []
    page = visitor.page

    def note(response: Any) -> None:
        if "/static/" in response.url or response.request.resource_type == "document":
            sizes.append(len(response.body()))

    page.on("response", note)
    visitor.open()
    assert 20_000 < sum(sizes) <= 100_000


def test_statements_without_a_source_are_of_the_chosen_corpus(visitor: Any, database: Path) -> None:
    page = visitor.open(link(view="query", corpus="reports", q='COUNT "trees"'))
    page.wait_for_selector("tbody")
    ((count,),) = expected(database, 'COUNT "trees" FROM reports')
    assert page.inner_text("tbody td") == str(count)
    page.click(".ran summary")
    page.click("text=Copy Python")
    assert 'corpus="reports"' in page.evaluate("navigator.clipboard.readText()")
    page.click("text=Copy curl")
    assert "_corpus=reports" in page.evaluate("navigator.clipboard.readText()")


def test_left_contexts_are_cut_between_letters(visitor: Any) -> None:
    page = visitor.open(link(corpus="reports", q="city", window=60))
    cut = page.locator(".line .left").evaluate_all(
        """all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => {
          const style = getComputedStyle(one);
          const text = one.firstChild.getBoundingClientRect();
          const { right } = one.getBoundingClientRect();
          return [style.textOverflow, style.direction, Math.abs(right - text.right) < 2];
        })"""
    )
    assert cut and all(one == ["ellipsis", "rtl", True] for one in cut)
    visitor.picture("left contexts")


def test_excerpts_end_between_letters(visitor: Any) -> None:
    page = visitor.open(link(corpus="reports"))
    text = "ae\u0301👩\u200d🚀👍🏽b"
    places = page.evaluate(
        """text => import(new URL("static/format.js", location.href)).then(({ boundary }) =>
          [...new Set(Array.from({ length: text.length + 1 }, (_, at) => boundary(text, at)))])""",
        text,
    )
    units = [len(text[:i].encode("utf-16-le")) // 2 for i in (0, 1, 3, 6, 8, 9)]
    assert places == units

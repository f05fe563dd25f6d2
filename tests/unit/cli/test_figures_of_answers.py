"""Figures of answers: what is drawn, and the files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import ngramdb
from ngramdb.cli.main import main
from ngramdb.cli.terminal.figures import Chart, chart_of, draw_figure
from ngramdb.errors import InvalidArgument


@pytest.fixture
def db() -> ngramdb.Connection:
    db = ngramdb.connect()
    db.create_corpus("train").append([("the cat sat on the mat", {"k": 1}), ("the dog sat", {"k": 2})])
    db.create_corpus("test").append([("the cat sat on the dog", {"k": 1}), ("a dog", {"k": 2})])
    db.execute("USE train")
    return db


def drawn(db: ngramdb.Connection, statement: str) -> Chart:
    result = db.execute(statement)
    return chart_of(result.columns, result.fetchall())


def test_perplexity_is_a_line_by_order_for_each_model_and_group(db: ngramdb.Connection) -> None:
    chart = drawn(db, "PERPLEXITY OF test USING BACKOFF, KNESER_NEY ORDERS 1..2, INF BY k")
    assert [one.name for one in chart.series] == [
        "BACKOFF(0.4), k 1",
        "BACKOFF(0.4), k 2",
        "KNESER_NEY, k 1",
        "KNESER_NEY, k 2",
    ]
    assert all(one.labels == ["1", "2", "∞"] for one in chart.series)


def test_agreement_is_a_panel_per_model_with_its_histogram(db: ngramdb.Connection) -> None:
    chart = drawn(db, "AGREEMENT OF test BY LENGTH USING INFGRAM ORDER 2, INFGRAM")
    assert [one.name for one in chart.series] == ["INFGRAM, order 2", "INFGRAM"]
    assert chart.is_panelled and [sum(one.sizes) for one in chart.series] == [8, 8]
    assert drawn(db, "AGREEMENT OF test BY COUNT").series[0].labels[0] == "1–1"


def test_novelty_and_duplicates_are_drawn(db: ngramdb.Connection) -> None:
    chart = drawn(db, "NOVELTY OF test NGRAMS 1..3 BY DOCUMENTS")
    assert [(one.name, one.labels) for one in chart.series] == [
        ("document 0", ["1", "2", "3"]),
        ("document 1", ["1", "2", "3"]),
    ]
    assert chart.series[1].values == [0.5, 1.0, None]
    assert drawn(db, "NOVELTY OF test NGRAMS 1..3").series[0].name == "share"
    assert drawn(db, "DUPLICATES LENGTH >= 1 BY COUNT").y == "texts"
    with pytest.raises(InvalidArgument, match="--figure draws PERPLEXITY"):
        drawn(db, 'COUNT "the"')


def test_figures_need_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    path = str(tmp_path / "d.ngdb")
    with ngramdb.connect(path) as db:
        db.create_corpus("train").append(["the cat sat on the mat"])
    statement = 'NOVELTY OF "the cat ran" NGRAMS 1..2'
    assert main([path, "-c", f"USE train; {statement}", "--figure", "x.svg"]) == 1
    assert "pip install matplotlib" in capsys.readouterr().err
    assert main([path, "-c", 'COUNT "the"', "--figure", "x.svg"]) == 1
    assert "--figure draws PERPLEXITY" in capsys.readouterr().err


@pytest.mark.parametrize(
    "statement",
    [
        "PERPLEXITY OF test USING BACKOFF, KNESER_NEY, INFGRAM ORDERS 1..2, INF",
        "AGREEMENT OF test BY LENGTH USING INFGRAM ORDER 2, INFGRAM",
        "NOVELTY OF test NGRAMS 1..20 BY DOCUMENTS",
        "DUPLICATES LENGTH >= 1 BY COUNT",
        "NOVELTY OF test WHERE k = 9 BY k",
    ],
)
def test_figures_are_files(db: ngramdb.Connection, tmp_path: Path, statement: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "x.svg"
    draw_figure(drawn(db, statement), str(path))
    assert path.read_text().startswith("<?xml")
    with pytest.raises(InvalidArgument, match=r"x\.foo"):
        draw_figure(drawn(db, statement), str(tmp_path / "x.foo"))


def test_bars_of_measures_have_their_groups_as_labels(
    db: ngramdb.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "d.ngdb")
    with ngramdb.connect(path) as made:
        made.create_corpus("train").append(["the cat sat on the mat"])
    assert main([path, "--plot", "-c", 'PERPLEXITY OF "the cat" USING BACKOFF ORDERS 1..2']) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.split() == ["model", "order", "perplexity"]
    assert [line.split()[:2] for line in lines] == [["BACKOFF(0.4)", "1"], ["BACKOFF(0.4)", "2"]]
    assert main([path, "--plot", "-c", 'NOVELTY OF "the cat ran" NGRAMS 1..2']) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["n", "share"]
    assert main([path, "--plot", "-c", 'AGREEMENT OF "the cat ran" BY COUNT']) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.split() == ["model", "order", "least", "most", "share"]

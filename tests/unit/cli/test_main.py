"""The command line in-process: which command runs, what it writes where, and its exit code."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ngramdb
from ngramdb.cli.commands import building
from ngramdb.cli.commands.building import open_corpus
from ngramdb.cli.main import COMMANDS, main
from ngramdb.engine.storage.directory import RealDirectory

Captured = pytest.CaptureFixture[str]

LINES = [
    {"text": "the cat sat on the mat", "source": "a", "year": 2020},
    {"text": "the dog sat on the log", "source": "b"},
    {"text": "", "source": "b"},
]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database `db.ngdb` with a corpus `wiki` in the working folder, beside its source `d.jsonl`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LINES))
    with ngramdb.connect("db.ngdb") as connection:
        connection.create_corpus("wiki").append(LINES)
    return "db.ngdb"


def standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))


# ---- statements -------------------------------------------------------------------------------------------


def test_statements_run_in_the_order_of_the_flags(database: str, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "s.ngql").write_text('COUNT "dog"')
    assert main([database, "-c", 'COUNT "the"; COUNT "cat"', "-f", "s.ngql", "-c", 'COUNT "sat"']) == 0
    assert capsys.readouterr().out == "count\n4\ncount\n1\ncount\n1\ncount\n2\n"


def test_without_a_database_everything_is_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["-c", "CREATE CORPUS x; SHOW CORPORA", "--format", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["corpus"] == "x"
    assert list(tmp_path.iterdir()) == []


def test_standard_input_is_a_script(database: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    standard_input(monkeypatch, b'COUNT "the";\r\nCOUNT "cat"\r\n')
    assert main([database]) == 0
    assert capsys.readouterr().out == "count\n4\ncount\n1\n"


def test_an_error_stops_the_script_and_names_file_line_and_place(
    database: str, tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "s.ngql").write_text('-- one\nCOUNT "the";\n\nCOUNT\n  "cat" FROM wikk;\nCOUNT "dog";\n')
    assert main([database, "-f", "s.ngql"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "count\n4\n"
    assert captured.err == (
        "error: s.ngql, line 4: no corpus 'wikk'; did you mean wiki? (line 5, column 14)\n"
        '    "cat" FROM wikk;\n'
        "               ^^^^\n"
    )


def test_an_error_in_the_second_statement_points_into_the_whole_text(database: str, capsys: Captured) -> None:
    assert main([database, "-c", 'COUNT "the"; USE nothing;']) == 1
    assert "(line 1, column 18)" in capsys.readouterr().err


def test_parameters_reach_the_statements(database: str, capsys: Captured) -> None:
    arguments = ["-c", "DIST GIVEN ? TOP ?", "--param", "sat on", "--param", "1", "--format", "jsonl"]
    assert main([database, *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["token"] == "the"
    assert main([database, "-c", "COUNT :x; COUNT DOCS WHERE :x", "--param", "x=the"]) == 0
    assert capsys.readouterr().out == "count\n4\ncount\n2\n"


def test_a_parameter_may_begin_with_a_dash(database: str, capsys: Captured) -> None:
    assert main([database, "-c", "COUNT ?", "--param", "--the"]) == 0
    assert capsys.readouterr().out == "count\n0\n"


def test_a_parameter_without_a_value_is_an_error(database: str, capsys: Captured) -> None:
    assert main([database, "-c", "COUNT ?"]) == 1
    assert "^" in capsys.readouterr().err


def test_a_value_that_looks_like_a_name_for_a_question_mark_says_how_to_write_it(
    database: str, capsys: Captured
) -> None:
    assert main([database, "-c", "COUNT ?", "--param", "the=x"]) == 2
    assert "--param =NAME=VALUE" in capsys.readouterr().err
    assert main([database, "-c", "COUNT ?", "--param", "=the"]) == 0
    assert capsys.readouterr().out == "count\n4\n"


def test_notes_go_to_standard_error_where_no_terminal_shows_them(database: str, capsys: Captured) -> None:
    assert main([database, "-c", 'COUNT "the" SAMPLE 1 SEED 1', "--format", "jsonl"]) == 0
    captured = capsys.readouterr()
    assert set(json.loads(captured.out)) == {"count"}
    assert captured.err.startswith("note: an estimate from a sample of 1 of ")
    assert main([database, "-c", 'DIST GIVEN "the" USING BACKOFF TOP 1']) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("summary: ") and said[1].startswith("note: ") and len(said) == 2
    assert main([database, "-c", 'COUNT "the"']) == 0
    assert capsys.readouterr().err == ""
    assert main([database, "-c", "COPY wiki FROM 'd.jsonl' (MAX_DOCUMENT_BYTES 2) ON ERROR SKIP"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        f"  skipped: d.jsonl, line {line}: longer than 2 bytes, the most for one document" for line in (1, 2)
    ]


@pytest.mark.parametrize("mode", ["tsv", "csv", "json", "jsonl", "markdown", "html", "line", "table"])
def test_totals_go_to_standard_error_where_rows_are_for_programs(
    database: str, mode: str, capsys: Captured
) -> None:
    for statement, known in {
        'SCORE "the cat sat"': "tokens 3, logprob -2.48491, perplexity 2.28943",
        'TRACE "the cat ran" MIN LENGTH 2': "tokens 3, covered 2",
        'KWIC "the" LIMIT 1': "4 in all",
        'DIST GIVEN "the" TOP 1': "4 in all, context count 4, effective n 2",
        "DELETE DOCS WHERE source = 'a' RETURNING doc_id": "documents 1, tokens 6, version 4",
    }.items():
        assert main([database, "--format", mode, "-c", statement]) == 0
        captured = capsys.readouterr()
        assert captured.err == f"summary: {known}\n"
        assert "summary" not in captured.out
    for statement in ('COUNT "the"', "DOCS", "SHOW CORPORA", "COMPACT wiki", 'EXPLAIN ANALYZE COUNT "the"'):
        assert main([database, "--format", mode, "-c", statement]) == 0
        assert capsys.readouterr().err == ""


def test_closed_streams_are_no_bug(database: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    with monkeypatch.context() as closed:
        closed.setattr(sys, "stdout", None)
        closed.setattr(sys, "stdin", None)
        assert main([database, "-c", 'COUNT "the"']) == 0
        assert main([database]) == 0
        assert main(["info", database]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("value", ["k = '\udcff'", "source LIKE '\ud800%'"])
def test_what_is_no_unicode_is_refused_where_it_stands(database: str, value: str, capsys: Captured) -> None:
    assert main([database, "-c", f"COUNT DOCS WHERE {value.replace('k', 'source')}"]) == 1
    assert "not valid Unicode: a lone surrogate (U+D" in capsys.readouterr().err
    assert main([database, "-c", "COUNT DOCS WHERE source = ?", "--param", "\udcff"]) == 1
    assert "parameter 1: the text is not valid Unicode" in capsys.readouterr().err
    assert main([database, "-c", 'COUNT "\udcff"']) == 1
    assert "byte 0xff is not UTF-8 text (line 1, column 8)" in capsys.readouterr().err
    assert main([database, "-c", "CREATE CORPUS `a\udcff`"]) == 1
    assert "not valid Unicode" in capsys.readouterr().err
    assert main(["load", database, "a\udcff", "d.jsonl"]) == 1
    assert "the name of a corpus must be valid Unicode" in capsys.readouterr().err


def test_timer_and_errors_go_to_standard_error(database: str, capsys: Captured) -> None:
    assert main([database, "--timer", "-c", 'COUNT "the"']) == 0
    captured = capsys.readouterr()
    assert captured.out == "count\n4\n" and captured.err.startswith("time: ")


def test_read_only_refuses_to_write_and_to_create(database: str, tmp_path: Path, capsys: Captured) -> None:
    assert main([database, "--read-only", "-c", 'COUNT "the"']) == 0
    assert main([database, "--read-only", "-c", "CREATE CORPUS x"]) == 1
    assert "read-only" in capsys.readouterr().err
    assert main(["missing.ngdb", "--read-only", "-c", "SHOW CORPORA"]) == 1
    assert not (tmp_path / "missing.ngdb").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--bogus"],
        ["db.ngdb", "-c", "COUNT :x", "--param", "x=a", "--param", "y=b"],
        ["db.ngdb", "--format", "xml"],
        ["--read-only", "-c", "SHOW CORPORA"],
        ["db.ngdb", "-c", "COUNT ?", "--param", "a", "--param", "b"],
        ["db.ngdb", "-c", "COUNT ?", "--param", "a", "--param", "b=c"],
        ["load", "db.ngdb", "wiki"],
        ["load", "db.ngdb", "wiki", "x", "--limit", "0"],
        ["db.ngdb", "-f", "."],
        ["check"],
        ["load", "db.ngdb", "wiki", "x", "--separator"],
    ],
)
def test_wrong_usage_is_exit_code_2(database: str, arguments: list[str], capsys: Captured) -> None:
    assert main(arguments) == 2
    assert "error:" in capsys.readouterr().err


def test_a_missing_script_is_an_error_that_names_it(database: str, capsys: Captured) -> None:
    assert main([database, "-f", "missing.ngql"]) == 1
    assert capsys.readouterr().err == "error: missing.ngql: No such file or directory\n"


def test_bugs_show_a_traceback_only_under_debug(
    database: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def broken(self: object, text: str, params: object = None, **_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(ngramdb.Connection, "execute", broken)
    assert main([database, "-c", "SHOW CORPORA"]) == 1
    plain = capsys.readouterr().err
    assert "internal error: ZeroDivisionError: oh" in plain and "Traceback" not in plain
    assert main([database, "--debug", "-c", "SHOW CORPORA"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_is_exit_code_130(
    database: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def interrupted(self: object, text: str, params: object = None, **_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ngramdb.Connection, "execute", interrupted)
    assert main([database, "-c", "SHOW CORPORA"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_version_and_help(capsys: Captured) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ngramdb {ngramdb.__version__}\n"
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert "./load" in text and all(f"ngramdb {name}" in text for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: Captured) -> None:
    assert main([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: ngramdb {name} ")


def test_a_subcommand_wins_over_a_database_of_its_name(
    database: str, tmp_path: Path, capsys: Captured
) -> None:
    assert main(["./load", "-c", "CREATE CORPUS x"]) == 0
    assert (tmp_path / "load" / "NGRAMDB").exists()
    assert main(["load", "-c", "SHOW CORPORA"]) == 2
    assert main(["--debug", "info", database]) == 0
    assert capsys.readouterr().out.startswith("corpus\ttokenizer")


# ---- load -------------------------------------------------------------------------------------------------


def test_load_makes_database_and_corpus(database: str, capsys: Captured) -> None:
    assert main(["load", "new.ngdb", "wiki", "d.jsonl", "--tokenizer", "chars"]) == 0
    summary = capsys.readouterr().out
    assert summary.startswith("wiki: 3 documents, 44 tokens in ") and summary.endswith(", version 3\n")
    assert main(["new.ngdb", "-c", 'COUNT "a"']) == 0
    assert capsys.readouterr().out == "count\n4\n"


def test_load_adds_to_a_corpus_and_keeps_its_tokenizer(database: str, capsys: Captured) -> None:
    assert main(["load", database, "wiki", "d.jsonl"]) == 0
    assert main(["load", database, "wiki", "d.jsonl", "--tokenizer", "words"]) == 0
    capsys.readouterr()
    assert main([database, "-c", 'COUNT "the"']) == 0
    assert capsys.readouterr().out == "count\n12\n"


def test_load_with_another_tokenizer_names_both(database: str, capsys: Captured) -> None:
    assert main(["load", database, "wiki", "d.jsonl", "--tokenizer", "chars"]) == 1
    message = capsys.readouterr().err
    assert "words" in message and "chars" in message


def test_load_takes_a_corpus_that_another_load_makes_meanwhile(tmp_path: Path) -> None:
    """The connection was opened before; another tokenizer, asked for, is an error as ever."""
    with ngramdb.connect(tmp_path / "new.ngdb") as first, ngramdb.connect(tmp_path / "new.ngdb") as second:
        first.create_corpus("c", tokenizer="chars")
        corpus, is_new = open_corpus(second, "c", None)
        assert corpus.tokenizer.kind == "chars" and not is_new
    with ngramdb.connect(tmp_path / "new.ngdb") as first, ngramdb.connect(tmp_path / "new.ngdb") as second:
        first.create_corpus("d", tokenizer="chars")
        with pytest.raises(ngramdb.InvalidArgument, match="corpus d has the tokenizer chars, but"):
            open_corpus(second, "d", "bytes")


def test_load_that_fails_takes_only_an_empty_corpus_back(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents that another load has added meanwhile stay."""
    reading = building.load

    def overtaken(corpus: ngramdb.Corpus, *arguments: Any) -> Any:
        with ngramdb.connect(database) as other:
            other.corpus(corpus.name).append(LINES)
        return reading(corpus, *arguments)

    (tmp_path / "bad.jsonl").write_text("{")
    assert main(["load", database, "new", "bad.jsonl"]) == 1
    with ngramdb.connect(database, read_only=True) as connection:
        assert connection.corpora() == ["wiki"]
    monkeypatch.setattr(building, "load", overtaken)
    assert main(["load", database, "new", "bad.jsonl"]) == 1
    with ngramdb.connect(database, read_only=True) as connection:
        assert connection.corpus("new").n_documents == len(LINES)


def test_load_makes_the_corpus_again_where_another_load_takes_it_back(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = building.load

    def left_alone(corpus: ngramdb.Corpus, *arguments: Any) -> Any:
        monkeypatch.setattr(building, "load", reading)
        with ngramdb.connect(database) as other:
            other.drop_corpus(corpus.name)
        return reading(corpus, *arguments)

    monkeypatch.setattr(building, "load", left_alone)
    assert main(["load", database, "new", "d.jsonl"]) == 0
    with ngramdb.connect(database, read_only=True) as connection:
        assert connection.corpus("new").n_documents == len(LINES)


def test_load_compares_a_tokenizer_json_by_its_content(
    database: str, tmp_path: Path, capsys: Captured
) -> None:
    for name, words in (("one.json", ["the", "cat"]), ("copy.json", ["the", "cat"]), ("two.json", ["dog"])):
        vocabulary = {word: i for i, word in enumerate(["[UNK]", *words])}
        model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
        (tmp_path / name).write_text(
            json.dumps({"version": "1.0", "pre_tokenizer": {"type": "Whitespace"}, "model": model})
        )
    assert main(["load", database, "sub", "d.jsonl", "--tokenizer", "one.json"]) == 0
    assert main(["load", database, "sub", "d.jsonl", "--tokenizer", "copy.json"]) == 0
    assert main(["load", database, "sub", "d.jsonl", "--tokenizer", "two.json"]) == 1
    assert "), but --tokenizer is two.json" in capsys.readouterr().err
    assert main(["load", database, "sub", "d.jsonl", "--tokenizer", "bytes"]) == 1
    assert main(["load", database, "wiki", "d.jsonl", "--tokenizer", "one.json"]) == 1
    assert "the tokenizer words, but --tokenizer is one.json" in capsys.readouterr().err


def test_load_takes_text_limit_and_metadata(database: str, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "e.jsonl").write_text('{"body": {"en": "a b"}, "x": 1, "y": 2}\n' * 3)
    arguments = ["--text", "body.en", "--limit", "2", "--metadata", "x"]
    assert main(["load", database, "e", "e.jsonl", *arguments]) == 0
    assert capsys.readouterr().out.startswith("e: 2 documents, 4 tokens in ")
    assert main([database, "-c", "DOCS FROM e LIMIT 1"]) == 0
    assert capsys.readouterr().out == "doc_id\tx\tlength\ttext\n0\t1\t2\ta b\n"


def test_load_without_metadata(database: str, capsys: Captured) -> None:
    assert main(["load", database, "bare", "d.jsonl", "--metadata", "", "--limit", "1"]) == 0
    capsys.readouterr()
    assert main([database, "-c", "DOCS FROM bare"]) == 0
    assert capsys.readouterr().out == "doc_id\tlength\ttext\n0\t6\tthe cat sat on the mat\n"


def test_load_reads_text_with_separators_from_standard_input(
    database: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    standard_input(monkeypatch, b"one two\n---\nthree\n---\nfour\n")
    assert main(["load", database, "t", "-", "--format", "text", "--separator", "---"]) == 0
    assert capsys.readouterr().out.startswith("t: 3 documents, 4 tokens in ")


@pytest.mark.parametrize("separator", ["--", "-", "---", "-x", "=", "* * *"])
def test_any_line_can_be_a_separator(database: str, tmp_path: Path, capsys: Captured, separator: str) -> None:
    path = tmp_path / "x.txt"
    path.write_text(f"one two\n{separator}\nthree\n")
    assert main(["load", database, "parts", str(path), "--separator", separator]) == 0
    assert capsys.readouterr().out.startswith("parts: 2 documents, 3 tokens")


def test_load_builds_several_segments(database: str, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "big.jsonl").write_text(
        json.dumps({"text": "a b " * 500}) + "\n" + json.dumps({"text": "c " * 900})
    )
    assert main(["load", database, "big", "big.jsonl", "--segment-tokens", "1024", "--threads", "1"]) == 0
    capsys.readouterr()
    assert main([database, "-c", "SHOW SEGMENTS FROM big", "--format", "jsonl"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_load_that_fails_leaves_no_corpus_behind(database: str, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "bad.jsonl").write_text('{"text": "fine"}\n{"text": 3}\n')
    assert main(["load", database, "fresh", "bad.jsonl"]) == 1
    assert capsys.readouterr().err.startswith("error: bad.jsonl, line 2: ")
    assert main(["load", database, "wiki", "bad.jsonl"]) == 1
    with ngramdb.connect(database) as connection:
        assert connection.corpora() == ["wiki"]
        assert connection.corpus("wiki").n_documents == 3


def test_a_load_in_parts_that_fails_tells_what_there_is_and_how_to_go_on(
    database: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.jsonl").write_text('{"text": "a"}\n{"text": "b"}\nbroken\n')
    (tmp_path / "worse.jsonl").write_text("broken\n")
    given = ["--commit-every", "1"]
    assert main(["load", database, "none", str(tmp_path / "worse.jsonl"), *given]) == 1
    assert "--resume" not in capsys.readouterr().err
    assert main(["load", database, "some", str(tmp_path / "broken.jsonl"), *given]) == 1
    assert "corpus some has 2 documents; the same command with --resume continues" in capsys.readouterr().err
    lines = io.TextIOWrapper(io.BytesIO((tmp_path / "broken.jsonl").read_bytes()))
    monkeypatch.setattr(sys, "stdin", lines)
    assert main(["load", database, "piped", "-", "--format", "jsonl", *given]) == 1
    said = capsys.readouterr().err
    assert "corpus piped has 2 documents" in said and "--resume" not in said
    with ngramdb.connect(database) as db:
        assert "none" not in db.corpora()


def test_a_load_that_skips_says_how_many_and_why(database: str, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "bad.jsonl").write_text('{"text": "fine"}\n' + '{"text": 3}\n' * 7)
    assert main(["load", database, "fresh", "bad.jsonl", "--on-error", "skip"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("fresh: 1 document, 1 token in ")
    assert lines[0].endswith(", 7 documents skipped:")
    assert lines[1].startswith("  bad.jsonl, line 2: ") and lines[-1] == "  and 2 more"
    assert len(lines) == 7


# ---- info and check ---------------------------------------------------------------------------------------


def test_info_lists_corpora(database: str, capsys: Captured) -> None:
    assert main(["info", database, "--format", "jsonl"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["corpus"], row["tokenizer"], row["documents"], row["tokens"]) == ("wiki", "words", 3, 12)
    assert main(["info", database, "--format", "table"]) == 0
    assert capsys.readouterr().out.startswith("db.ngdb: version 3 (append to wiki), ")


def test_info_of_an_empty_database(tmp_path: Path, capsys: Captured) -> None:
    path = str(tmp_path / "empty.ngdb")
    ngramdb.connect(path).close()
    assert main(["info", path, "--format", "table"]) == 0
    assert capsys.readouterr().out.count("\n") == 1
    assert main(["info", path, "--format", "json"]) == 0
    assert capsys.readouterr().out == "[]\n"


@pytest.mark.parametrize("command", ["info", "check"])
def test_info_and_check_make_no_database(command: str, tmp_path: Path, capsys: Captured) -> None:
    assert main([command, str(tmp_path / "missing.ngdb")]) == 1
    assert list(tmp_path.iterdir()) == []


def test_check_is_silent_on_standard_output_when_all_is_well(database: str, capsys: Captured) -> None:
    assert main(["check", database]) == 0
    assert capsys.readouterr() == ("", "db.ngdb: no problems found\n")
    assert main(["check", database, "wiki"]) == 0
    assert main(["check", database, "nothing"]) == 1


def test_check_names_a_damaged_file(database: str, tmp_path: Path, capsys: Captured) -> None:
    (segment,) = (tmp_path / database / "segments").iterdir()
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.chmod(0o644)
    segment.write_bytes(content)
    assert main(["check", database]) == 3
    header, *problems = capsys.readouterr().out.splitlines()
    assert header.split("\t") == ["corpus", "file", "offset", "problem"]
    assert any(segment.name in problem for problem in problems)


# ---- compact and export -----------------------------------------------------------------------------------


def test_compact_merges_segments_and_keeps_answers(database: str, tmp_path: Path, capsys: Captured) -> None:
    assert main([database, "-c", "SET auto_compact = off; COPY wiki FROM 'd.jsonl'"]) == 0
    capsys.readouterr()
    assert main(["compact", database, "wiki", "--format", "jsonl"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["corpus"], row["segments_before"], row["segments_after"]) == ("wiki", 2, 1)
    assert main([database, "-c", 'COUNT "the"']) == 0
    assert capsys.readouterr().out == "count\n8\n"
    assert main(["compact", database]) == 0


@pytest.mark.parametrize("command", ["compact", "analyze", "decontaminate"])
def test_commands_on_documents_make_no_database(command: str, tmp_path: Path, capsys: Captured) -> None:
    rest = {"compact": [], "analyze": ["c"], "decontaminate": ["c", "--against", "x.jsonl"]}[command]
    assert main([command, str(tmp_path / "missing.ngdb"), *rest]) == 1
    assert "no such database" in capsys.readouterr().err
    assert not (tmp_path / "missing.ngdb").exists()


def test_export_writes_documents_as_they_came(database: str, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "odd.jsonl").write_text('{"x":1,  "text": "a  b"}\n{"text":"c","x":2}\n')
    assert main(["load", database, "odd", "odd.jsonl"]) == 0
    capsys.readouterr()
    assert main(["export", database, "odd", "all.jsonl"]) == 0
    assert capsys.readouterr().out == "2 documents written to all.jsonl\n"
    assert (tmp_path / "all.jsonl").read_bytes() == (tmp_path / "odd.jsonl").read_bytes()
    assert main(["export", database, "odd", "one.jsonl", "--where", "x = 2", "--format", "jsonl"]) == 0
    assert (tmp_path / "one.jsonl").read_text() == '{"text":"c","x":2}\n'
    assert "note" not in capsys.readouterr().err
    assert main(["export", database, "odd", "none.jsonl", "--where", '"a*"']) == 0
    assert capsys.readouterr().err.startswith('note: "*" in "a*" is a literal character')
    assert main(["export", database, "odd", "bad.jsonl", "--where", "x ="]) == 1
    assert not (tmp_path / "bad.jsonl").exists()
    assert main(["export", database, "nothing", "bad.jsonl"]) == 1


WRONG_ARGUMENTS = {
    "an ending": (["export", "wiki", "out.xls"], "error: out.xls: unsupported output format .xls;"),
    "two endings": (
        ["export", "wiki", "out.parquet.gz"],
        "error: out.parquet.gz: parquet files are already compressed",
    ),
    "no corpus": (["export", "wiko", "out.jsonl"], "error: no corpus 'wiko'; did you mean wiki?\n"),
    "no condition": (["export", "wiki", "out.jsonl", "--where", "x ="], "the condition is not complete:"),
    "no field": (["export", "wiki", "out.jsonl", "--where", "y = 1"], "no document has a field 'y'"),
    "a clause": (["export", "wiki", "out.jsonl", "--where", '"the" LIMIT 1'], "LIMIT"),
    "a value": (
        ["export", "wiki", "out.jsonl", "--where", "x = ?"],
        "no value was given for parameter 1 of 1",
    ),
    "a corpus to check": (["check", "wiko"], "error: no corpus 'wiko'; did you mean wiki?\n"),
    "a corpus to compact": (["compact", "wiko"], "error: no corpus 'wiko'; did you mean wiki?\n"),
    "a corpus to analyze": (["analyze", "wiko"], "error: no corpus 'wiko'; did you mean wiki?\n"),
    "an order": (["analyze", "wiki", "--order", "1"], "ORDER must be a whole number of at least 2, not 1\n"),
}


@pytest.mark.parametrize("case", WRONG_ARGUMENTS)
def test_an_error_shows_no_statement_that_the_user_has_not_written(
    case: str, database: str, tmp_path: Path, capsys: Captured
) -> None:
    (command, *rest), message = WRONG_ARGUMENTS[case]
    assert main([command, database, *rest]) == 1
    said = capsys.readouterr().err
    assert message in said
    assert not any(word in said for word in ("COPY", "CHECK", "COMPACT", "ANALYZE `", "`"))
    assert not list(tmp_path.glob("out*"))
    if "--where" in rest:
        assert f"\n  {rest[-1]}\n" in said


def test_export_writes_records_of_removed_documents(database: str, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "odd.jsonl").write_text('{"text": "a b", "id": "x"}\n{"text": "c"}\n')
    assert main(["load", database, "odd", "odd.jsonl"]) == 0
    assert main([database, "-c", "DELETE DOCS WHERE id = 'x' FROM odd"]) == 0
    capsys.readouterr()
    assert main(["export", database, "odd", "gone.jsonl", "--removals"]) == 0
    assert capsys.readouterr().out == "1 removed document written to gone.jsonl\n"
    row = json.loads((tmp_path / "gone.jsonl").read_text())
    assert (row["doc_id"], row["id"], row["removal"]["n_documents"]) == (0, "x", 1)
    assert main(["export", database, "odd", "gone.parquet", "--removals", "--format", "parquet"]) == 0
    for wrong in (["--where", "x = 2"], ["--format", "arpa", "--order", "3"]):
        assert main(["export", database, "odd", "bad", "--removals", *wrong]) == 2


@pytest.mark.parametrize("is_locked", [False, True])
def test_an_interrupt_takes_back_a_corpus_that_was_just_made_unless_another_writer_is_at_work(
    is_locked: bool, database: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    create = ngramdb.Connection.create_corpus
    locks = []

    def create_and_interrupt(connection: ngramdb.Connection, name: str, **options: Any) -> None:
        create(connection, name, **options)
        if is_locked:
            locks.append(RealDirectory(database).lock_writer())
        raise KeyboardInterrupt

    monkeypatch.setattr(ngramdb.Connection, "create_corpus", create_and_interrupt)
    assert main(["load", database, "new", "d.jsonl"]) == 130
    assert capsys.readouterr().err == "interrupted\n"
    assert ("new" in ngramdb.connect(database).corpora()) is is_locked
    for lock in locks:
        lock.release()


# ---- exit codes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ngramdb.errors.TimeoutExceeded(elapsed=1.0), 124, "error: stopped by its timeout after 1 s"),
        (ngramdb.errors.Interrupted(elapsed=1.0, fraction=0.5), 130, "interrupted after 1 s, 50 % done\n"),
        (ngramdb.errors.Interrupted(), 130, "interrupted\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (BrokenPipeError(), 0, ""),
        (MemoryError(), 1, "error: not enough memory"),
    ],
)
def test_exit_codes(
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
    error: BaseException,
    code: int,
    said: str,
) -> None:
    def failing(self: object, text: str, params: object = None, **_: object) -> None:
        raise error

    monkeypatch.setattr(ngramdb.Connection, "execute", failing)
    monkeypatch.setattr("ngramdb.cli.common._forget_standard_output", lambda: None)
    assert main([database, "-c", "SHOW CORPORA"]) == code
    assert capsys.readouterr().err.startswith(said)


def test_a_timeout_counts_for_each_statement(database: str, capsys: Captured) -> None:
    assert main([database, "--timeout", "100", "-c", 'COUNT "the"; SHOW SETTINGS', "--format", "jsonl"]) == 0
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["value"] for row in shown if row.get("name") == "timeout"] == ["100"]
    for wrong in ("0", "-1", "soon", "inf"):
        assert main([database, "--timeout", wrong, "-c", "SHOW CORPORA"]) == 2


# ---- decontaminate, perplexity, agreement -----------------------------------------------------------------


def test_decontaminate_removes_what_an_evaluation_set_has(
    database: str, tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "exam.jsonl").write_text('{"text": "the cat sat on the mat"}\n')
    command = ["decontaminate", database, "wiki", "--against", "exam.jsonl", "--ngram", "4"]
    assert main([*command, "--dry-run", "--report", "found.jsonl", "--format", "jsonl"]) == 0
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [
        "wiki: 1 of 3 documents would be removed",
        "  exam.jsonl: 1 document has n-grams of 1 of 1 item, the largest share is 1",
    ]
    assert main([*command[:-1], "7", "--dry-run"]) == 0
    assert "note: 1 item is shorter than an n-gram of 7 tokens" in capsys.readouterr().err
    (tmp_path / "part.jsonl").write_text('{"text": "the cat sat on"}\n')
    partly = [*command[:4], "part.jsonl", *command[5:]]
    assert main([*partly, "--dry-run"]) == 0
    assert capsys.readouterr().err.splitlines()[1:] == [
        "  part.jsonl: 1 document has n-grams of 1 of 1 item, the largest share is 0.333",
        "  note: 1 document with such n-grams is not removed: the share of each is too small for "
        "--threshold 0.8; --threshold 0 removes every document with an n-gram of an item",
    ]
    rows = [json.loads(line) for line in captured.out.splitlines()]
    assert sum(row["contaminated"] for row in rows) == 1
    assert len((tmp_path / "found.jsonl").read_text().splitlines()) == 1
    assert main([*command, "--format", "jsonl"]) == 0
    assert "wiki: 1 of 3 documents removed, version" in capsys.readouterr().err
    assert main([database, "-c", "COUNT DOCS"]) == 0
    assert capsys.readouterr().out == "count\n2\n"
    assert main([*command[:3], "--against", "missing.jsonl"]) == 1
    assert main([*command[:3]]) == 2
    assert main([*command, "--threshold", "1.5"]) == 2


def test_perplexity_is_that_of_the_model(database: str, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "held.jsonl").write_text('{"text": "the cat sat"}\n{"text": "a strange word"}\n')
    assert main(["perplexity", database, "wiki", "held.jsonl", "--format", "jsonl"]) == 0
    row = json.loads(capsys.readouterr().out)
    with ngramdb.connect(database) as connection:
        expected = connection.corpus("wiki").perplexity(["the cat sat", "a strange word"])
    assert row["perplexity"] == pytest.approx(expected.perplexity)
    assert (row["documents"], row["tokens"]) == (2, expected.n_tokens)
    assert main(["perplexity", database, "wiki", "held.jsonl", "--per-document", "--format", "jsonl"]) == 0
    values = [json.loads(line)["perplexity"] for line in capsys.readouterr().out.splitlines()]
    assert values == pytest.approx(expected.per_document.tolist())


def test_agreement_counts_every_token_once(database: str, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "held.txt").write_text("the cat sat on the mat")
    assert main(["agreement", database, "wiki", "held.txt", "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sum(row["tokens"] for row in rows) == 6
    assert all(row["agreeing"] / row["tokens"] == pytest.approx(row["share"]) for row in rows)


def test_export_writes_an_index_for_infini_gram(database: str, tmp_path: Path, capsys: Captured) -> None:
    command = ["export", database, "wiki", "w.index", "--format", "infini-gram"]
    assert main([*command, "--shards", "2", "--index-version", "5"]) == 0
    assert "written to w.index" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "w.index").iterdir()} >= {"table.0", "table.1", "tokenized.1"}
    assert main(command) == 1
    assert "already exists" in capsys.readouterr().err
    for wrong in (
        ["--where", "x"],
        ["--removals"],
        ["--order", "2"],
        ["--shards", "0"],
        ["--index-version", "6"],
    ):
        assert main([*command, *wrong]) == 2
    assert main(["export", database, "wiki", "w.jsonl", "--shards", "2"]) == 2


def test_export_writes_a_model_for_other_programs(database: str, tmp_path: Path, capsys: Captured) -> None:
    assert main(["export", database, "wiki", "w.arpa", "--format", "arpa", "--order", "2"]) == 0
    assert "2-grams written to w.arpa" in capsys.readouterr().out
    assert (tmp_path / "w.arpa").read_text().lstrip().startswith("\\data\\")
    pruned = ["--min-count", "1,9", "--prune", "entropy:1e-3", "--symbols", "nemo"]
    assert main(["export", database, "wiki", "w.arpa", "--format", "arpa", "--order", "2", *pruned]) == 0
    assert "ngram 2=0\n" in (tmp_path / "w.arpa").read_text(encoding="utf-8")
    for wrong in (["--prune", "x"], ["--min-count", "2"]):
        assert main(["export", database, "wiki", "w.arpa", "--format", "arpa", "--order", "2", *wrong]) == 1
    for wrong in (
        ["--min-count", "1,2"],
        ["--format", "arpa"],
        ["--order", "2"],
        ["--format", "arpa", "--order", "2", "--where", "x"],
    ):
        assert main(["export", database, "wiki", "w.arpa", *wrong]) == 2


def test_arguments_are_utf8_in_a_locale_without_the_characters(tmp_path: Path) -> None:
    folder = tmp_path / "é"
    folder.mkdir()
    (folder / "é.jsonl").write_text('{"text": "café time", "k": "é"}\n', encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "ngramdb", *arguments]
        done = subprocess.run(command, env={**os.environ, **plain}, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    db = str(folder / "d.ngdb")
    run(db, "-c", f"CREATE CORPUS c; COPY c FROM '{folder}/é.jsonl'")
    run("load", db, "cé", str(folder / "é.jsonl"))
    asked = 'COUNT "café" FROM `cé`'
    assert run(db, "-c", asked, asked) == "count\n1\ncount\n1\n"
    assert run(db, "-c", "COUNT ? FROM c", "--param", "café") == "count\n1\n"
    assert run(db, "-c", "COUNT DOCS WHERE k = 'é' FROM c") == "count\n1\n"
    run("export", db, "cé", str(folder / "out.jsonl"), "--where", "k = 'é'")
    run(db, "-c", f"COPY (DOCS FROM c) TO '{folder}/ö.csv'")
    assert {path.name for path in folder.iterdir()} == {"é.jsonl", "d.ngdb", "out.jsonl", "ö.csv"}

"""The faces as a person meets them: a real terminal (pexpect), a real process, a real database."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support.polls import PATIENCE_S, until

pexpect = pytest.importorskip("pexpect")
if not hasattr(pexpect, "spawn"):
    pytest.skip("no pseudo-terminals on this platform", allow_module_level=True)

import ngramdb  # noqa: E402

COMMAND = [sys.executable, "-m", "ngramdb"]
# A pipe is read as a shell hands it over, `<(command)`: under a number, and not by its name.
PIPED = "/dev/fd/9"
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\-_=>])")
DOCUMENTS = [
    {"text": "the cat sat on the mat", "source": "a", "year": 2020},
    {"text": "the dog sat on the log", "source": "b", "year": None},
    *({"text": f"number {i} of the many\n" * 30, "source": "many", "year": i} for i in range(60)),
]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with one corpus, `wiki`, shared by the tests that only read it."""
    path = tmp_path_factory.mktemp("faces") / "shared.ngdb"
    with ngramdb.connect(path) as connection:
        connection.create_corpus("wiki").append(DOCUMENTS)
    return path


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A plain environment: a known terminal, a state folder of its own, no wish about colours."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    return {
        **kept,
        "TERM": "xterm",
        "PROMPT_TOOLKIT_NO_CPR": "1",  # pexpect does not answer questions for the cursor's place
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "configuration"),
        "PYTHONIOENCODING": "utf-8",
    }


class Terminal:
    """A program under a pseudo-terminal; what it wrote is read without its escape sequences."""

    def __init__(
        self,
        arguments: list[str],
        environment: dict[str, str],
        cwd: Path,
        columns: int = 100,
        piped: Path | None = None,
    ) -> None:
        command = [*COMMAND, *arguments]
        if piped is not None:
            command = ["bash", "-c", 'exec 9<"$0"; exec "$@"', str(piped), *command]
        self.process = pexpect.spawn(
            command[0],
            command[1:],
            env=environment,
            cwd=str(cwd),
            dimensions=(30, columns),
            encoding="utf-8",
            codec_errors="replace",  # the echo of Ctrl-C may fall between the bytes of a character
            timeout=PATIENCE_S,
        )

    def expect(self, pattern: str) -> str:
        """Wait for the pattern in the raw output; what came before it, cleaned."""
        self.process.expect(pattern)
        return clean(self.process.before)

    def interrupt_until(self, pattern: str) -> None:
        """Ctrl-C, and again after ten seconds, as people do on a machine that is busy."""
        for _ in range(12):
            self.process.sendintr()
            if self.process.expect([pattern, pexpect.TIMEOUT], timeout=10) == 0:
                return
        raise AssertionError(f"Ctrl-C brought no {pattern!r}")

    def rest(self) -> str:
        """Everything until the program ends, cleaned."""
        self.process.expect(pexpect.EOF)
        return clean(self.process.before)

    def code(self) -> int | None:
        self.process.close()
        return self.process.exitstatus


def clean(text: str) -> str:
    return ESCAPES.sub("", text).replace("\r\n", "\n")


@pytest.fixture
def repl(database: Path, environment: dict[str, str], tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal([str(database)], environment, tmp_path)
    terminal.expect("wiki>")
    yield terminal
    terminal.process.close(force=True)


@contextmanager
def endless(path: Path) -> Iterator[Path]:
    """A stream of JSON lines that never ends: a pipe that a thread keeps full while the block runs."""
    os.mkfifo(path)
    lines = b'{"text": "a line that is followed by another one"}\n' * 1000

    def feed() -> None:
        with suppress(BrokenPipeError), open(path, "wb", buffering=0) as pipe:
            while True:
                pipe.write(lines)

    # A daemon with a bounded wait: a reader that continues to read fails the test instead of hanging it.
    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    try:
        yield path
    finally:
        # a reader that comes and goes frees a feeder that nobody has read from
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        feeder.join(timeout=PATIENCE_S)


def run(
    arguments: list[str], environment: dict[str, str], cwd: Path, text: str | None = None
) -> subprocess.CompletedProcess[str]:
    """The command without a terminal."""
    return subprocess.run(
        [*COMMAND, *arguments],
        env=environment,
        cwd=cwd,
        input=text or "",
        capture_output=True,
        text=True,
        timeout=60,
    )


# ---- the REPL ------------------------------------------------------------------------------------------


def test_repl_answers_a_statement_over_two_lines_and_quits(repl: Terminal) -> None:
    repl.process.send("COUNT\r")
    repl.expect(r"\.\.\.>")
    repl.process.send('"the";\r')
    answer = repl.expect("1 row")
    assert "│ 1,804 │" in answer
    repl.process.send(".quit\r")
    repl.rest()
    assert repl.code() == 0


def test_repl_shows_an_error_with_a_caret_and_goes_on(repl: Terminal) -> None:
    repl.process.send('COUNT "the" FORM wiki;\r')
    text = repl.expect(r"\^\^\^\^")
    assert "error: " in text and "did you mean FROM?" in text
    repl.process.send("USE wikl;\r")
    assert "did you mean wiki?" in repl.expect(r"\^\^\^\^")
    repl.process.send('COUNT "cat";\r')
    repl.expect("1 row")


def test_ctrl_c_drops_the_line_and_ctrl_d_leaves(repl: Terminal) -> None:
    repl.process.send("COUNT nonsense")
    repl.process.sendintr()
    repl.expect("wiki>")
    repl.process.send('COUNT "mat";\r')
    repl.expect("1 row")
    repl.process.send("\x04")
    repl.rest()
    assert repl.code() == 0


def test_ctrl_c_stops_a_statement_and_keeps_the_session(environment: dict[str, str], tmp_path: Path) -> None:
    with endless(tmp_path / "endless") as stream:
        repl = Terminal(["fresh.ngdb"], environment, tmp_path, piped=stream)
        repl.expect("ngramdb>")
        repl.process.send("CREATE CORPUS slow;\r")
        repl.expect("slow>")
        repl.process.send(f"COPY slow FROM '{PIPED}' (FORMAT jsonl);\r")
        repl.expect("loading")  # the bar is there, so the load is running
        repl.interrupt_until("interrupted")
        repl.process.send('COUNT "";\r')
        assert "│     0 │" in repl.expect("1 row")
        repl.process.close(force=True)  # with its end of the pipe, which the feeder would wait for


def test_ctrl_c_drops_what_was_pasted_behind_the_statement(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with endless(tmp_path / "endless") as stream:
        repl = Terminal(["fresh.ngdb"], environment, tmp_path, piped=stream)
        repl.expect("ngramdb>")
        repl.process.send("CREATE CORPUS slow;\r")
        repl.expect("slow>")
        repl.process.send(f"COPY slow FROM '{PIPED}' (FORMAT jsonl);\rDROP CORPUS slow;\r")
        repl.expect("loading")
        repl.interrupt_until("interrupted")
        repl.process.send("SHOW CORPORA;\r")
        assert "slow" in repl.expect("1 row")
        repl.process.close(force=True)


def test_repl_keeps_a_history_that_only_its_owner_can_read(
    database: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    for _ in range(2):
        terminal = Terminal([str(database)], environment, tmp_path)
        terminal.expect("wiki>")
        terminal.process.send('COUNT "cat";\r')
        terminal.expect("1 row")
        terminal.process.send("\x04")
        terminal.rest()
    history = tmp_path / "state" / "ngramdb" / "history"
    assert history.read_text().count('COUNT "cat";') >= 1
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    terminal = Terminal([str(database)], environment, tmp_path)
    terminal.expect("wiki>")
    terminal.process.send("\x1b[A\r")  # arrow up, Enter
    terminal.expect("1 row")
    terminal.process.close(force=True)


def test_repl_works_where_no_history_can_be_kept(
    database: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("a file in the folder's place")
    terminal = Terminal([str(database)], environment, tmp_path)
    terminal.expect("wiki>")
    terminal.process.send('COUNT "cat";\r')
    terminal.expect("1 row")
    terminal.process.send("quit\r")
    assert "Error" not in terminal.rest()
    assert terminal.code() == 0


def test_dot_commands_change_mode_and_output(repl: Terminal, tmp_path: Path) -> None:
    repl.process.send(".mode jsonl\r")
    repl.expect("wiki>")
    repl.process.send('COUNT "cat";\r')
    repl.expect(re.escape('{"count": 1}'))
    repl.process.send(".output out.txt\r")
    repl.expect("wiki>")
    repl.process.send('COUNT "dog";\r')
    repl.expect("wiki>")
    repl.process.send(".output stdout\r")
    repl.expect("wiki>")
    # the prompt is drawn more than once: it may be that of the line before
    out = tmp_path / "out.txt"
    until(lambda: out.exists() and out.read_text() == '{"count": 1}\n')
    repl.process.send(".timr on\r")
    repl.expect(re.escape("did you mean .timer?"))


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_tables_fit_the_terminal(
    database: Path, environment: dict[str, str], tmp_path: Path, columns: int
) -> None:
    terminal = Terminal([str(database), "--no-progress", "-c", "DOCS"], environment, tmp_path, columns)
    lines = terminal.rest().rstrip().split("\n")
    assert lines[-1].startswith("62 rows (40 shown)")
    assert max(map(len, lines)) == columns
    assert terminal.code() == 0


def test_repl_has_no_colours_under_no_color(
    database: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    colour = re.compile(r"\x1b\[[0-9;]*3[0-7][0-9;]*m|\x1b\[[0-9;]*9[0-7][0-9;]*m")
    seen = []
    for extra in ({}, {"NO_COLOR": "1"}):
        terminal = Terminal([str(database)], {**environment, **extra}, tmp_path)
        terminal.process.expect("wiki>")
        terminal.process.send("COUNT nonsense;\r")
        terminal.process.expect("error:")
        written = terminal.process.before + terminal.process.after
        terminal.process.send("\x04")
        terminal.process.expect(pexpect.EOF)
        seen.append(colour.search(written + terminal.process.before) is not None)
        terminal.process.close()
    assert seen == [True, False]


# ---- the command at a terminal -------------------------------------------------------------------------


def test_command_draws_a_table_at_a_terminal_and_dims_null(
    database: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    arguments = [str(database), "-c", 'DOCS WHERE "dog"']
    terminal = Terminal(arguments, environment, tmp_path)
    terminal.process.expect(pexpect.EOF)
    assert "\x1b[2mNULL" in terminal.process.before
    plain = Terminal(arguments, {**environment, "NO_COLOR": "1"}, tmp_path)
    plain.process.expect(pexpect.EOF)
    assert "\x1b" not in plain.process.before and "│ NULL │" in plain.process.before


def test_load_draws_a_bar_at_a_terminal_and_one_line_at_the_end(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "d.jsonl").write_text('{"text": "a b c"}\n' * 5000)
    arguments = ["load", "db.ngdb", "wiki", "d.jsonl", "--segment-tokens", "1024"]
    text = Terminal(arguments, environment, tmp_path).rest()
    assert "loading wiki" in text
    assert re.search(
        r"wiki: 5,000 documents, 15,000 tokens in [\d.]+ m?s \([\d.]+ .?B/s\), version \d+\n", text
    )
    without = Terminal([*arguments, "--no-progress"], environment, tmp_path).rest()
    assert "loading" not in without and "wiki: 5,000 documents" in without


def test_interrupting_a_load_is_130_and_leaves_nothing_behind(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with endless(tmp_path / "endless") as stream:
        load = ["load", "db.ngdb", "wiki", PIPED, "--format", "jsonl"]
        terminal = Terminal(load, environment, tmp_path, piped=stream)
        terminal.expect("loading wiki")
        terminal.process.sendintr()
        assert "interrupted" in terminal.rest()
    assert terminal.code() == 130
    with ngramdb.connect(tmp_path / "db.ngdb") as connection:
        assert connection.corpora() == []


# ---- without a terminal --------------------------------------------------------------------------------


def test_standard_input_runs_as_a_script(database: Path, environment: dict[str, str], tmp_path: Path) -> None:
    done = run([str(database)], environment, tmp_path, '.mode csv\nCOUNT "cat";\nCOUNT\n "dog"')
    assert (done.returncode, done.stdout, done.stderr) == (0, "count\n1\ncount\n1\n", "")


def test_statements_of_a_pipe_are_answered_while_it_is_open(
    database: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    with subprocess.Popen(
        [*COMMAND, str(database)],
        env=environment,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write('COUNT "cat";\n')
        process.stdin.flush()
        assert [process.stdout.readline(), process.stdout.readline()] == ["count\n", "1\n"]
        process.stdin.close()
    assert process.returncode == 0


def test_head_ends_the_command_silently(database: Path, environment: dict[str, str], tmp_path: Path) -> None:
    command = " ".join([*COMMAND, str(database), "-c", "'" + "DOCS; " * 200 + "'", "| head -n 1"])
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "doc_id\tsource\tyear\tlength\ttext\n", "")


def test_piped_output_has_no_colour_and_loads_no_terminal_library(
    database: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    code = (
        "import sys; from ngramdb.cli.main import main\n"
        f"code = main([{str(database)!r}, '-c', 'DOCS LIMIT 2'])\n"
        "print([m for m in ('rich', 'prompt_toolkit') if m in sys.modules], code, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stderr == "summary: 62 in all\n[] 0\n"
    assert "\x1b" not in done.stdout and done.stdout.startswith("doc_id\tsource\tyear")


def test_output_in_a_poor_encoding_is_escaped_rather_than_an_error(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with ngramdb.connect(tmp_path / "db.ngdb") as connection:
        connection.create_corpus("wiki").append(["naïve 日本"])
    ascii_only = {**environment, "PYTHONIOENCODING": "ascii"}
    done = run(["db.ngdb", "-c", "DOCS"], ascii_only, tmp_path)
    assert done.returncode == 0 and "na\\xefve \\u65e5\\u672c" in done.stdout
    terminal = Terminal(["db.ngdb", "-c", "DOCS"], ascii_only, tmp_path)
    assert "+---" in terminal.rest()


@pytest.mark.slow
def test_demo_tours_the_standard_library_and_is_reused(environment: dict[str, str], tmp_path: Path) -> None:
    first = run(["demo"], environment, tmp_path)
    assert first.returncode == 0, first.stderr
    assert "\x1b" not in first.stdout and first.stderr == ""
    assert first.stdout.rstrip().endswith("ngramdb python-stdlib.ngdb")
    second = run(["demo"], environment, tmp_path)
    assert "holds the demonstration already" in second.stdout
    assert run(["check", "python-stdlib.ngdb"], environment, tmp_path).returncode == 0


# ---- the prompt: completion, paging, interrupts, keys --------------------------------------------------


def test_words_are_completed_by_tab_and_enter_takes_them(repl: Terminal) -> None:
    repl.process.send("COUN")
    repl.expect("COUNT")  # the menu
    repl.process.send("\t\r")  # the only candidate; Enter takes it
    repl.process.send(' "the ca')
    repl.expect("cat")
    repl.process.send('\t\r";\r')
    assert "│     1 │" in repl.expect("1 row")


def test_fields_and_their_values_are_completed(repl: Terminal) -> None:
    repl.process.send("DOCS WHERE sou")
    repl.expect("ource")
    repl.process.send("\t\r = 'ma")
    repl.expect("60 documents")
    repl.process.send("\t\r LIMIT 2;\r")
    assert "many" in repl.expect("2 rows")


def test_completion_comes_before_the_next_key(repl: Terminal) -> None:
    repl.process.send('COUNT "number ')
    repl.expect(" 6 ")  # one of the words in the menu
    repl.process.send("5")
    repl.expect("5[0-9]")


def test_the_first_mistake_is_marked_while_typing(repl: Terminal) -> None:
    repl.process.send('COUNT "cat" FRO')
    repl.process.expect("FRO")
    repl.process.send("X ")
    repl.process.expect("\x1b\\[[0-9;]*4[0-9;]*mFROX|FROX")  # underlined
    repl.process.sendintr()
    repl.expect("wiki>")


def test_ctrl_c_stops_a_kernel(environment: dict[str, str], tmp_path: Path) -> None:
    with ngramdb.connect(tmp_path / "big.ngdb") as connection:
        corpus = connection.create_corpus("big")
        corpus.append([{"text": f"{i} " + f"a b c d e f g {i % 7} " * 2500} for i in range(100)])
    terminal = Terminal(["big.ngdb"], environment, tmp_path)
    terminal.expect("big>")
    conditions = " AND ".join(f"OVERLAP(big, {n}) >= 0.5" for n in range(13, 1213, 8))
    terminal.process.send(f"COUNT DOCS WHERE {conditions};\r")
    terminal.expect("running, ")  # the line that comes after a second
    terminal.process.sendintr()
    said = terminal.process.expect(["interrupted after ", "1 row"])
    assert said == 0, "the statement was over before it could be interrupted"
    terminal.expect("big>")
    terminal.process.send('COUNT "a b c d";\r')
    assert "│ 250,000 │" in terminal.expect("1 row")
    terminal.process.close(force=True)


def test_a_long_answer_goes_through_the_pager(
    database: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > '{tmp_path}/paged'\necho paged by me\n")
    pager.chmod(0o755)
    terminal = Terminal([str(database)], {**environment, "PAGER": str(pager)}, tmp_path)
    terminal.expect("wiki>")
    terminal.process.send('COUNT "cat";\r')
    terminal.expect("1 row")
    terminal.process.send("DOCS;\r")
    assert "paged" not in terminal.expect(re.escape("62 rows (22 shown)"))
    terminal.process.send(".rows 60\r")
    terminal.expect("wiki>")
    terminal.process.send("DOCS;\r")
    terminal.expect("paged by me")
    paged = (tmp_path / "paged").read_text()
    assert "62 rows (60 shown)" in paged and "number 57 of" in paged
    terminal.process.send(".pager off\r")
    terminal.expect("wiki>")
    terminal.process.send("DOCS;\r")
    terminal.expect(re.escape("62 rows (60 shown)"))
    terminal.process.close(force=True)


def test_matches_stand_out_and_are_cut_to_be_seen(repl: Terminal) -> None:
    repl.process.send('DOCS WHERE "log";\r')
    repl.process.expect("1 row")
    assert "\x1b[1;31mlog\x1b[0m" in repl.process.before
    repl.process.send('KWIC "sat on" WINDOW 2;\r')
    repl.process.expect("2 rows")
    assert "\x1b[1;31msat on\x1b[0m" in repl.process.before


def test_vi_keys_can_be_had(repl: Terminal) -> None:
    repl.process.send(".keys vi\r")
    repl.expect("wiki>")
    repl.process.send("nonsense")
    repl.process.send("\x1b")
    # Escape is distinguished from the beginning of another key by time; then the cursor moves back.
    repl.process.expect("\b")
    repl.process.send("dd")
    repl.process.send('iCOUNT "dog";\r')
    assert "│     1 │" in repl.expect("1 row")


def test_ctrl_r_finds_an_earlier_statement(repl: Terminal) -> None:
    repl.process.send('COUNT "mat";\r')
    repl.expect("1 row")
    repl.process.send('COUNT "dog";\r')
    repl.expect("1 row")
    repl.process.send("\x12mat")
    repl.process.expect("I-search backward: \x1b\\[0mmat")
    repl.process.send("\r\r")
    assert "mat" in repl.expect("1 row")


@pytest.mark.parametrize("extra", [{"TERM": "dumb"}, {"TERM": "vt100", "NO_COLOR": "1"}])
def test_a_narrow_or_dumb_terminal_does(
    database: Path, environment: dict[str, str], tmp_path: Path, extra: dict[str, str]
) -> None:
    terminal = Terminal([str(database)], {**environment, **extra}, tmp_path, columns=40)
    terminal.expect("wiki>")
    terminal.process.send('DOCS WHERE "the" LIMIT 2;\r')
    answer = terminal.expect("2 rows")
    assert "Traceback" not in answer and "┌" in answer
    assert max(len(line) for line in answer.split("\n") if line.startswith(("│", "┌"))) <= 40
    terminal.process.send("\x04")
    terminal.rest()
    assert terminal.code() == 0


# ---- exit codes -------------------------------------------------------------------------------------------


def test_a_timeout_is_124_and_says_how_long(
    database: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    statements = 'CHECK; COUNT "never asked"'
    done = run([str(database), "--timeout", "0.000001", "-c", statements], environment, tmp_path)
    assert done.returncode == 124 and done.stderr.startswith("error: stopped by its timeout")


def test_ctrl_c_in_a_statement_is_130(environment: dict[str, str], tmp_path: Path) -> None:
    with endless(tmp_path / "endless") as stream:
        statement = f"CREATE CORPUS x; COPY x FROM '{PIPED}' (FORMAT jsonl)"
        terminal = Terminal(["new.ngdb", "-c", statement], environment, tmp_path, piped=stream)
        terminal.expect("loading")
        terminal.process.sendintr()
        assert "interrupted" in terminal.rest()
    assert terminal.code() == 130


def test_a_locked_database_is_waited_for_as_long_as_asked(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "d.jsonl").write_text('{"text": "a b c"}\n')
    with endless(tmp_path / "endless") as stream:
        load = ["load", "db.ngdb", "slow", PIPED, "--format", "jsonl"]
        writer = Terminal(load, environment, tmp_path, piped=stream)
        writer.expect("loading")
        started = time.perf_counter()
        done = run(["load", "db.ngdb", "wiki", "d.jsonl", "--lock-timeout", "1"], environment, tmp_path)
        waited = time.perf_counter() - started
        writer.process.sendintr()
        writer.rest()
    assert done.returncode == 1 and "--lock-timeout SECONDS" in done.stderr and "SET" not in done.stderr
    assert waited > 1.0
    assert run(["load", "db.ngdb", "wiki", "d.jsonl"], environment, tmp_path).returncode == 0

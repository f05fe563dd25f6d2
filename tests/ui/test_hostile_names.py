"""No text in a database, a file's name or a command line controls the terminal that shows it.

Corpora, fields, files, folders and texts are named with escape sequences, C1 controls, bells and overrides
of direction; every byte that reaches a pseudo-terminal is read, through every command, statement, dot
command, mode and error.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pexpect = pytest.importorskip("pexpect")
if not hasattr(pexpect, "spawn"):
    pytest.skip("no pseudo-terminals on this platform", allow_module_level=True)

import ngramdb  # noqa: E402
from ngramdb.cli.main import COMMANDS  # noqa: E402
from ngramdb.cli.shell.dot import COMMANDS as DOT_COMMANDS  # noqa: E402
from ngramdb.cli.terminal.screen import MODES  # noqa: E402

# Blink, the window's title, a bell, an erased screen, a deleted character, a next line; text turned around.
EVIL = "ev\x1b[5m\x1b]0;owned\x07\x9b2J\x7f\x85\u202ecod\u2066x\u2029il"
# The parts that no drawing of ours has: colours and moves are ours, and may be there.
FORBIDDEN = re.compile(r"\x1b\[5m|\x1b\]|\x07|[\x7f-\x9f]|[\u202a-\u202e\u2066-\u2069\u2028\u2029]")
# On a dumb terminal without colours there is nothing but text.
STEERING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]|" + FORBIDDEN.pattern)

DRIVER = """
import json, sys
from ngramdb.cli.main import main
for arguments in json.load(open(sys.argv[1])):
    code = main(arguments)
    print("<", code, ">", sep="", flush=True)
print("the end", flush=True)
"""


def name() -> str:
    return "`" + EVIL + "`"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database and files of evil names, with evil things in them."""
    path = tmp_path_factory.mktemp("hostile")
    rows = [{"text": f"the {EVIL} cat {i} sat", EVIL: EVIL, "n": i} for i in range(30)]
    (path / f"{EVIL}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (path / f"bad{EVIL}.jsonl").write_text('{"text": "fine"}\n{"text": 5}\n{' + EVIL + "}\n")
    (path / f"{EVIL}.ngql").write_text(f'COUNT "cat";\nCOUNT "x" FROM `{EVIL}2`;\n')
    (path / "held.jsonl").write_text(json.dumps({"text": f"the cat sat {EVIL}"}) + "\n")
    with ngramdb.connect(path / f"{EVIL}.ngdb") as db:
        corpus = db.create_corpus(EVIL)
        corpus.append(rows)
        db.create_corpus("other").append(["a b c"])
        db.execute("ANALYZE " + name())
    return path


STATEMENTS = (
    *("SHOW CORPORA", "SHOW VERSIONS", "SHOW SEGMENTS", f"DESCRIBE {name()}", f"CHECK {name()}"),
    *("SHOW SETTINGS", f"EXPLAIN DOCS WHERE `{EVIL}` = '{EVIL}' FROM {name()}"),
    f'DOCS WHERE "cat" FROM {name()} LIMIT 3; KWIC "cat" FROM {name()} LIMIT 3',
    f'NGRAMS 2 FROM {name()} TOP 30; DIST GIVEN "the" FROM {name()}',
    f'GENERATE GIVEN "the" TOKENS 12 SEED 3 FROM {name()}; SCORE "the cat" FROM {name()}',
    f'COUNT DOCS GROUP BY `{EVIL}` FROM {name()}; COUNT "cat" GROUP BY `{EVIL}` FROM {name()}',
    f"CREATE CORPUS `new {EVIL}`; COPY `new {EVIL}` FROM '{EVIL}.jsonl'; DROP CORPUS `new {EVIL}`",
    f'DELETE DOCS WHERE n = 29 FROM {name()}; COMPACT {name()}; USE {name()}; COUNT "cat"',
    f"COPY (DOCS FROM {name()} LIMIT 1) TO 'out{EVIL}.jsonl'",
    # errors
    *(f'COUNT "a" FROM `{EVIL}2`', f"CREATE CORPUS {name()}", f"DESCRIBE `{EVIL}3`", 'COUNT "a"'),
    *(f"DOCS WHERE year = 5 FROM {name()}", f'COUNT "a" {EVIL}', f"'{EVIL}", f"DROP CORPUS `x{EVIL}`"),
    *(f"COPY other FROM 'no{EVIL}.jsonl'", f"COPY other FROM 'bad{EVIL}.jsonl'", f"USE `{EVIL}4`"),
    f"COPY other FROM 'bad{EVIL}.jsonl' (ON_ERROR skip)",
    f"COPY other FROM 'bad{EVIL}.jsonl' ON ERROR SKIP",
    *(f"COPY (DOCS FROM other) TO 'no/{EVIL}.jsonl'", f"COPY (DOCS FROM other) TO 'a.{EVIL}'"),
    f'PROB "a" GIVEN "b" USING `{EVIL}`',
    f"SET `{EVIL}` = 1",
)
DOTS = (
    *(f".help {EVIL}", f".mode {EVIL}", f".rows {EVIL}", f".timer {EVIL}", ".tables", f".read {EVIL}.ngql"),
    *(f".read no{EVIL}", f".output no/{EVIL}", f".once no/{EVIL}", f".once | false {EVIL}", f".{EVIL}"),
    *(f".watch 0.01 2 DOCS FROM {name()} LIMIT 1", f".watch {EVIL}", f".open {EVIL}.ngql", f".keys {EVIL}"),
    *(f".pager {EVIL}", f".edit no/{EVIL}", f".quit {EVIL}", ".output", ".mode", ".open"),
)


def _commands(folder: Path) -> list[list[str]]:
    """Command lines over evil names: each command, statement and mode, and each kind of error."""
    db = f"{EVIL}.ngdb"
    corpus = [db, EVIL]
    runs = [[db, "--format", mode, "-c", statement] for mode in MODES for statement in STATEMENTS[:12]]
    runs += [[db, "-c", statement] for statement in STATEMENTS]
    runs += [[db, "-c", line] for line in DOTS]
    runs += [
        [db, "--timer", "-f", f"{EVIL}.ngql"],
        ["--" + EVIL],
        [db, "-f", EVIL],
        [EVIL + ".ngql", "-c", "X"],
    ]
    runs += [[db, "--param", EVIL, "-c", 'COUNT "a"'], [db, "--format", EVIL], [db, "--timeout", EVIL]]
    runs += [
        ["load", db, "loaded " + EVIL, f"{EVIL}.jsonl"],
        ["load", db, EVIL, f"bad{EVIL}.jsonl"],
        ["load", db, EVIL, f"bad{EVIL}.jsonl", "--on-error", "skip"],
        ["load", db, EVIL, f"no{EVIL}"],
        ["load", db, EVIL, f"{EVIL}.jsonl", "--text", EVIL, "--tokenizer", EVIL],
        ["build", f"parts{EVIL}", "--shard", "0/2", f"{EVIL}.jsonl"],
        ["build", f"parts{EVIL}", "--shard", "0/2", f"{EVIL}.jsonl", "--text", EVIL],
        ["build", f"parts{EVIL}", "--shard", EVIL, f"bad{EVIL}.jsonl"],
        *(["missing", f"parts{EVIL}", "2"], ["missing", db, "2"], ["missing", "parts", EVIL]),
        *(["commit", *corpus, f"parts{EVIL}"], ["commit", *corpus, "no" + EVIL]),
        *(["info", db], ["info", db, "--format", "tsv"], ["info", EVIL], ["check", *corpus], ["check", EVIL]),
        *(["compact", *corpus], ["export", *corpus, f"out{EVIL}.jsonl"], ["export", *corpus, f"no/{EVIL}"]),
        *(["analyze", *corpus], ["analyze", db, "no" + EVIL], ["analyze", *corpus, "--debug", EVIL]),
        ["decontaminate", *corpus, "--against", "held.jsonl", "--dry-run"],
        ["decontaminate", *corpus, "--against", EVIL],
        *(["perplexity", *corpus, "held.jsonl"], ["perplexity", *corpus, "no" + EVIL, "--debug"]),
        *(["agreement", *corpus, "held.jsonl"], ["agreement", *corpus, "held.jsonl", "--model", EVIL]),
        *(["completion", EVIL], ["demo", f"{EVIL}.ngql"], ["demo", db]),
        *([command, "--" + EVIL] for command in COMMANDS),
    ]
    return runs


def _environment(folder: Path, **extra: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "LINES")}
    own = {"XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "configuration")}
    return {**kept, "PROMPT_TOOLKIT_NO_CPR": "1", "PYTHONIOENCODING": "utf-8", "PAGER": "cat", **own, **extra}


def _spawn(arguments: list[str], folder: Path, columns: int, **extra: str) -> pexpect.spawn:
    return pexpect.spawn(
        sys.executable,
        arguments,
        env=_environment(folder, **extra),
        cwd=str(folder),
        dimensions=(200, columns),
        encoding="utf-8",
        codec_errors="strict",
        timeout=120,
    )


def _context(written: str, found: re.Match[str]) -> str:
    return repr(written[max(0, found.start() - 300) : found.end() + 20])


@pytest.mark.parametrize("terminal", ["xterm", "dumb"])
def test_no_command_lets_a_name_steer_the_terminal(folder: Path, tmp_path: Path, terminal: str) -> None:
    runs = _commands(folder)
    listed = tmp_path / "runs.json"
    listed.write_text(json.dumps(runs))
    process = _spawn(["-c", DRIVER, str(listed)], folder, 200, TERM=terminal)
    process.expect(pexpect.EOF)
    written = process.before
    assert written.rstrip().endswith("the end"), written[-2000:]
    assert written.count("owned") > 2 * len(runs)
    found = (STEERING if terminal == "dumb" else FORBIDDEN).search(written)
    assert found is None, _context(written, found)
    assert "internal error" not in written


def test_no_answer_at_the_prompt_lets_a_name_steer_the_terminal(folder: Path) -> None:
    process = _spawn(["-m", "ngramdb", f"{EVIL}.ngdb"], folder, 300, TERM="xterm")
    process.expect("Ctrl-D to leave")
    written = process.before
    process.send(f"USE {_typed(name())};\r")
    process.expect("ev.x1b")  # the prompt names the corpus
    written += process.before + process.after
    # `.open` goes to another database, `.edit` waits for an editor, `.quit` ends
    lines = [".mode line", "DOCS LIMIT 2;", ".mode jsonl", "DOCS LIMIT 2;", ".mode auto", "DESCRIBE;"]
    lines += [
        "SHOW CORPORA;",
        'KWIC "cat" LIMIT 2;',
        "COUNT nonsense;",
        ".tables",
        ".nonsense",
        "DOCS WHERE ev",
    ]
    for line in lines:
        process.send(line + "\r")
        process.expect(["rows?|error: ", "> "])
        written += process.before + process.after
    written += _left(process)
    assert written.count("owned") > len(lines) // 2
    found = FORBIDDEN.search(written)
    assert found is None, _context(written, found)


def _left(process: pexpect.spawn) -> str:
    """Return the output until the prompt is left: a terminal drops input after Ctrl-C during a statement."""
    written = ""
    for _ in range(20):
        for key in "\x03\x04":
            process.send(key)
            ended = process.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=3) == 0
            written += process.before
            if ended:
                return written
            process.buffer = ""
    raise AssertionError(f"the prompt was not left: {written[-300:]!r}")


def _typed(text: str) -> str:
    """The name as keys: what a terminal sends for them would be keys of the editor, so it is pasted."""
    return f"\x1b[200~{text}\x1b[201~"


def test_every_command_and_dot_command_is_tried(folder: Path) -> None:
    runs = _commands(folder)
    assert {run[0] for run in runs} >= set(COMMANDS)
    assert {line.split()[0].removeprefix(".") for line in DOTS} >= set(DOT_COMMANDS)


def test_formats_for_programs_are_exact_where_there_is_no_terminal(folder: Path) -> None:
    for mode in ("jsonl", "csv"):
        done = subprocess.run(
            [sys.executable, "-m", "ngramdb", f"{EVIL}.ngdb", "--format", mode, "-c", "SHOW CORPORA"],
            cwd=folder,
            capture_output=True,
            env=_environment(folder),
            check=True,
        )
        written = done.stdout.decode("utf-8")
        assert EVIL in (json.loads(written.split("\n")[0])["corpus"] if mode == "jsonl" else written)

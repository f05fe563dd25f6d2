"""docs/cli.md: every console example runs as printed, and every command and flag has one."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from support.pages import Story, all_examples

from ngramdb.cli.main import COMMANDS as SUBCOMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
COMMANDS = ["", *SUBCOMMANDS]

FILES = {
    "animals.jsonl": (
        '{"text": "the cat sat on the mat", "kind": "tale", "year": 2020}\n'
        '{"text": "the dog sat on the log", "kind": "tale"}\n'
        '{"text": "dogs and cats, cats and dogs", "kind": "song", "year": 2021}\n'
    ),
    "questions.jsonl": '{"body": "the cat sat on the log"}\n{"body": "where is the dog"}\n',
    "mixed.jsonl": '{"page": {"body": "a good line"}}\n{"page": {}}\n',
    "questions.ngql": (
        "-- one result after the other\nUSE animals;\n"
        'COUNT DOCS WHERE "cat" OR "cats";\nDIST GIVEN "sat on" TOP 1;\n'
    ),
    "session.ngql": (
        ".help timer\n.mode jsonl\n.tables\n.timer on\nUSE animals;\n.timer off\n.output answers.jsonl\n"
        '.read questions.ngql\n.output stdout\n.once | sort -r\nCOUNT "cats";\n'
        '.watch 0.1 2 COUNT "cat";\n.rows 10\n.mode\n.open\nSHOW CORPORA;\n.quit\n'
        'COUNT "never asked";\n'
    ),
}

if shutil.which("bash") is None:
    pytest.skip("the examples are for bash", allow_module_level=True)


def test_every_example_prints_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    Story(PAGE, tmp_path, monkeypatch).run()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_is_on_the_page_with_an_example(name: str) -> None:
    from ngramdb.cli.main import main

    parser_help = _help(main, name)
    flags = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", parser_help.split("\n\n")[0])) - {"-h"}
    page = PAGE.read_text(encoding="utf-8")
    used = {
        flag
        for example in all_examples(PAGE)
        for flag in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", example.command)
    }
    for flag in flags:
        assert f"`{flag}" in page, f"{flag} is not described"
        if flag != "--debug":  # its output is a traceback, which no page can promise
            assert flag in used, f"{flag} has no example"


def _help(main: object, name: str) -> str:
    import io
    from contextlib import redirect_stdout

    written = io.StringIO()
    with redirect_stdout(written):
        assert callable(main) and main([*([name] if name else []), "--help"]) == 0
    return written.getvalue()


def test_every_dot_command_is_on_the_page_with_an_example() -> None:
    from ngramdb.cli.shell.dot import COMMANDS as DOT_COMMANDS

    page = PAGE.read_text(encoding="utf-8")
    examples = "\n".join(example.command for example in all_examples(PAGE))
    for name in DOT_COMMANDS:
        assert f"`.{name}" in page
        if name != "edit":  # an editor waits for somebody
            assert re.search(rf"^\.{name}\b", FILES["session.ngql"] + examples, re.MULTILINE)

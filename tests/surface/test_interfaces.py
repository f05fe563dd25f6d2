"""The interfaces that users and programs see: signatures, HTTP, assistants, help and command lines.

`recorded/` has each as text. `make rewrite` records a change that is meant; a change that only moves code
leaves them all as they are.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from support.recorded import compare

from ngramdb.cli.main import COMMANDS, main
from ngramdb.cli.shell.dot import COMMANDS as DOT_COMMANDS
from ngramdb.cli.shell.examples import TOPICS, grammar, heads
from ngramdb.cli.shell.script import run_text
from ngramdb.cli.shell.session import Shell
from ngramdb.serve.openapi import description
from ngramdb.serve.tools import TOOLS

RECORDED = Path(__file__).parent / "recorded"
MODULES = ("ngramdb", "ngramdb.lm", "ngramdb.cluster", "ngramdb.compat.kenlm", "ngramdb.compat.infinigram")

pytestmark = pytest.mark.skipif(
    sys.version_info[:2] != (3, 11),
    reason="signatures and argparse's help are written otherwise by each Python",
)


# ---- Python


def public_names(module: Any) -> list[str]:
    return [name for name in sorted(module.__all__) if not name.startswith("__")]


def described(name: str, value: Any) -> Iterator[str]:
    """The lines of a public object: its signature, its docstring, and the members of a class."""
    if inspect.ismodule(value):
        return
    is_class = inspect.isclass(value)
    if is_class:
        yield f"class {name}({', '.join(base.__name__ for base in value.__bases__)})"
        with contextlib.suppress(ValueError, TypeError):
            yield f"    {value.__name__}{inspect.signature(value)}"
    elif callable(value):
        yield f"{name}{inspect.signature(value)}"
    else:
        yield f"{name} = {value!r}"
        return
    yield from (f"    | {line}".rstrip() for line in (inspect.getdoc(value) or "").splitlines())
    if is_class:
        for member in sorted(vars(value)):
            if not member.startswith("_"):
                yield from (
                    f"    {line}".rstrip() for line in of_member(f"{name}.{member}", getattr(value, member))
                )


def of_member(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, property):
        yield f"{name}: {inspect.signature(value.fget).return_annotation}"
        yield from (f"    | {line}".rstrip() for line in (inspect.getdoc(value) or "").splitlines())
    else:
        yield from described(name, value) if callable(value) else (name,)


@pytest.mark.parametrize("module", MODULES)
def test_python(module: str) -> None:
    found = import_module(module)
    blocks = ("\n".join(described(name, getattr(found, name))) for name in public_names(found))
    compare(RECORDED / f"{module}.txt", "\n\n".join(block for block in blocks if block))


# ---- HTTP and assistants


def as_json(value: Any) -> str:
    """Indented JSON, with each innermost object or list on one line."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    return re.sub(r"[{\[][^{}\[\]]*[}\]]", lambda match: re.sub(r"\n *", " ", match[0]), text)


def test_openapi() -> None:
    compare(RECORDED / "openapi.json", as_json(description("/")))


def test_tools_of_assistants() -> None:
    found = [{"name": one.name, "description": one.about, "schema": one.schema()} for one in TOOLS.values()]
    compare(RECORDED / "tools.json", as_json(found))


# ---- command line and prompt


def printed(arguments: list[str]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as written:
        assert main(arguments) == 0
    return written.getvalue()


def test_command_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    pages = (f"$ ngramdb {name} --help\n{printed([*name.split(), '--help'])}" for name in ("", *COMMANDS))
    compare(RECORDED / "command_lines.txt", "\n".join(pages))


def test_help() -> None:
    words = sorted({*DOT_COMMANDS, *TOPICS, "statements", *(head.lower() for head in heads())})
    pages = []
    for word in ("", *words):
        with contextlib.redirect_stdout(io.StringIO()) as written:
            shell = Shell(None, progress=False)
            with contextlib.closing(shell):
                run_text(shell, f".help {word}".rstrip())
        pages.append(f"> .help {word}\n{written.getvalue()}")
    compare(RECORDED / "help.txt", "\n".join(pages))


def test_grammar_of_the_page() -> None:
    page = Path(__file__).parents[2] / "docs" / "language.md"
    block = re.compile(r"^    question:\n(?:    .*\n|\n(?=    ))*", re.MULTILINE)
    text = page.read_text(encoding="utf-8")
    assert len(block.findall(text)) == 1
    compare(page, block.sub(lambda _: indent(grammar(), "    "), text))

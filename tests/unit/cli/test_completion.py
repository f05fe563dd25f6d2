"""Completion of the command line: the scripts know every command, flag and choice."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ngramdb.cli.commands.completion import SHELLS, commands
from ngramdb.cli.main import COMMANDS, main
from ngramdb.formats import READ

CHECKS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_flag_is_in_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = script(shell, capsys)
    for command in commands():
        assert command.name in text
        for argument in command.flags:
            for flag in argument.flags:
                assert (f"-l {flag[2:]}" if shell == "fish" and flag.startswith("--") else flag[1:]) in text


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_one_of_its_shell(
    shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not here")
    path = tmp_path / "script"
    path.write_text(script(shell, capsys))
    done = subprocess.run([*CHECKS[shell], str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["lo"], ["load"]),
        ([""], list(COMMANDS)),
        (["--debug", "che"], ["check"]),
        (["load", "--tok"], ["--tokenizer"]),
        (["load", "db", "--format", ""], list(READ)),
        (["db", "--format", "js"], ["json", "jsonl"]),
        (["check", "db", "--format", "ht"], ["html"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["load", "db", "--text", ""], []),
        (["db", "x"], []),
        (["load", "--on-error", "s"], ["skip"]),
        (["--time"], ["--timer", "--timeout"]),
    ],
)
def test_bash_completes(words: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    typed = " ".join(f"'{word}'" for word in ["ngramdb", *words])
    program = f"""{script("bash", capsys)}
COMP_WORDS=({typed})
COMP_CWORD={len(words)}
_ngramdb
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == expected


def test_an_unknown_shell_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "bash" in capsys.readouterr().err

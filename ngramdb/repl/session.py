"""The prompt: reads statements and dot commands, runs them in a `Shell`, shows errors and goes on.

Everything that is no key or prompt is the Shell's; this module only decides when a line is complete, what
an interrupt means, and when the session ends.
"""

from __future__ import annotations

import sys
import traceback

from prompt_toolkit import PromptSession
from prompt_toolkit.application.current import get_app
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth, Output

from ngramdb import __version__
from ngramdb.cli.common import OK, message_of
from ngramdb.cli.screen import detect
from ngramdb.cli.shell import Shell
from ngramdb.language.splitter import is_complete
from ngramdb.repl.highlighting import STYLE, StatementLexer
from ngramdb.repl.history import QuietHistory, history_path

# Words that people type to leave or to get help, whatever the program; none begins a statement.
BARE_WORDS = {"help": ".help", "quit": ".quit", "exit": ".quit"}


class Repl:
    """A session at a prompt on top of a shell; `input` and `output` are the terminal unless given."""

    def __init__(
        self,
        shell: Shell,
        *,
        debug: bool = False,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self.shell = shell
        self.debug = debug
        shell.note = self._show
        self._session: PromptSession[str] = PromptSession(
            history=QuietHistory(history_path()),
            lexer=StatementLexer(),
            style=STYLE,
            multiline=True,
            prompt_continuation=_continuation,
            key_bindings=_bindings(),
            color_depth=None if detect(sys.stdout).colour else ColorDepth.DEPTH_1_BIT,
            input=input,
            output=output,
        )

    def run(self) -> int:
        """Prompt, run and print until `.quit` or Ctrl-D; the exit code comes back."""
        self._show(f"ngramdb {__version__}, {self.shell.title()}")
        self._show("Statements end with ; (.help for examples, Ctrl-D to leave)")
        while not self.shell.finished:
            try:
                text = self._session.prompt(self._prompt())
            except KeyboardInterrupt:  # Ctrl-C at the prompt drops the line
                continue
            except EOFError:  # Ctrl-D
                break
            self.execute(text)
        return OK

    def execute(self, text: str) -> None:
        """Run what was typed; an error or an interrupt is shown, and the session goes on."""
        text = BARE_WORDS.get(text.strip().rstrip(";").strip().lower(), text)
        try:
            self.shell.run_text(text)
        except KeyboardInterrupt:
            self._show("interrupted")
        except Exception as error:
            if self.debug:
                traceback.print_exc()
            screen = detect(sys.stdout)
            self._show(screen.styled("error:", "1;31") + f" {message_of(error)}")

    def _prompt(self) -> StyleAndTextTuples:
        return [("class:prompt", prompt_text(self.shell))]

    def _show(self, text: str) -> None:
        print(text, flush=True)


def prompt_text(shell: Shell) -> str:
    """`wiki> ` when statements without FROM go to corpus wiki, `ngramdb> ` when there is no such corpus."""
    return f"{shell.current_corpus() or 'ngramdb'}> "


def is_finished(text: str) -> bool:
    """Whether Enter hands the text over: a complete statement, a dot command, a bare word, or nothing."""
    stripped = text.strip()
    if not stripped or stripped.startswith("."):
        return True
    return stripped.rstrip(";").strip().lower() in BARE_WORDS or is_complete(text)


def _continuation(width: int, line_number: int, wrap_count: int) -> StyleAndTextTuples:
    mark = "" if wrap_count else "...> "[-width:] if width > 2 else ""
    return [("class:continuation", mark.rjust(width))]


def _bindings() -> KeyBindings:
    """Enter hands over what is finished and breaks the line of what is not; Alt-Enter always hands over."""
    bindings = KeyBindings()

    @Condition
    def finished() -> bool:
        return is_finished(get_app().current_buffer.text)

    @bindings.add("enter", filter=finished)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return bindings

"""The prompt: reads statements and dot commands, runs them in a `Shell`, and shows errors.

Everything except keys and prompts is in the Shell; this module only decides when a line is complete, what
an interrupt means, and when the session ends.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from textwrap import fill
from types import FrameType
from typing import TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, ThreadedCompleter
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.output import ColorDepth, Output, create_output

from ngramdb import __version__
from ngramdb.api import Connection
from ngramdb.cli.common import OK, draw_error, interrupted, message_of
from ngramdb.cli.shell.catalog import Catalog
from ngramdb.cli.shell.editing import (
    BARE_WORDS,
    STYLE,
    StatementCompleter,
    StatementLexer,
    bindings,
    show_what_steers,
)
from ngramdb.cli.shell.programs import edited, paged, run_editor
from ngramdb.cli.shell.script import run_file, run_text
from ngramdb.cli.shell.session import Shell
from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.human import NARROWEST
from ngramdb.cli.terminal.screen import bare, detect, is_terminal
from ngramdb.display import visible
from ngramdb.errors import QueryCancelled, TimeoutExceeded

# A prompt shows no more of a corpus's name, in characters.
LONGEST_PROMPT = 24
# The banner names at most this many corpora.
MOST_NAMES = 8
# Between two looks whether a menu is still being filled, in seconds.
WAIT_S = 0.05


class Repl:
    """A session at a prompt on top of a shell; `input` and `output` are the terminal unless given.

    `configured` is whether the configuration file is run first.
    """

    def __init__(
        self,
        shell: Shell,
        *,
        debug: bool = False,
        configured: bool = True,
        input: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self.shell = shell
        self.debug = debug
        self.pager = True
        self._configured = configured
        self._last = ""
        show_what_steers()
        self._typed_next = ""
        shell.note = self._show
        shell.prompt = self
        self._catalog = Catalog(lambda: shell.connection, arrived=self._complete_later)
        self._session: PromptSession[str] = PromptSession(
            history=QuietHistory(history_path()),
            lexer=StatementLexer(),
            completer=ThreadedCompleter(StatementCompleter(self._catalog)),
            complete_while_typing=True,
            auto_suggest=AutoSuggestFromHistory(),
            style=STYLE,
            multiline=True,
            prompt_continuation=_continuation,
            key_bindings=bindings(),
            enable_open_in_editor=True,
            tempfile_suffix=".ngql",
            color_depth=None if detect(sys.stdout).colour else ColorDepth.DEPTH_1_BIT,
            input=input,
            output=output or _terminal(),
        )

    def run(self) -> int:
        """Prompt, run and print until `.quit` or Ctrl-D; the exit code comes back."""
        path = self.shell.path
        place = "in memory, nothing is kept" if path is None else str(Path(path))
        self._greet(f"ngramdb {__version__}, {place}")
        self._greet(holdings(self.shell.connection))
        self._greet("Statements end with ; (Tab completes, .help for examples, Ctrl-D to leave)")
        if self._configured:
            self._configure()
        self._session.app.after_render += self._warm_once
        has_failed = False
        while not self.shell.finished:
            typed_next, self._typed_next = self._typed_next, ""
            try:
                text = self._session.prompt(self._prompt, default=typed_next)
            except KeyboardInterrupt:  # Ctrl-C at the prompt drops the line
                continue
            except EOFError:  # Ctrl-D
                break
            except Exception as error:  # of a key, or of the terminal: then it fails again
                if has_failed:
                    raise
                has_failed = True
                self._show_error(error)
                continue
            has_failed = False
            self.execute(text)
        return OK

    def execute(self, text: str) -> None:
        """Run the typed text; errors and interrupts are shown, and the session continues."""
        text = BARE_WORDS.get(text.strip().rstrip(";").strip().lower(), text)
        if text.strip() and not text.lstrip().startswith("."):
            self._last = text
        try:
            with self._interruptible():
                run_text(self.shell, text)
        except (KeyboardInterrupt, QueryCancelled) as error:
            if not isinstance(error, TimeoutExceeded):
                # Discard the rest of a pasted script.
                clear_typeahead(self._session.app.input)
            self._show(interrupted(error) if not isinstance(error, QueryCancelled) else str(error))
        except Exception as error:
            self._show_error(error)

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Let Ctrl-C also interrupt the connection: an exception alone is lost while Python cleans up."""

        def stop(number: int, frame: FrameType | None) -> None:
            self.shell.connection.interrupt()
            signal.default_int_handler(number, frame)

        def lost(error: sys.UnraisableHookArgs) -> None:
            if not issubclass(error.exc_type, KeyboardInterrupt):
                hook(error)

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handler, hook = signal.signal(signal.SIGINT, stop), sys.unraisablehook
        sys.unraisablehook = lost
        try:
            yield
        finally:
            sys.unraisablehook = hook
            signal.signal(signal.SIGINT, handler)

    def _warm_once(self, _: object) -> None:
        """Warm the caches for the first key, once the first prompt is shown."""
        self._session.app.after_render -= self._warm_once
        threading.Thread(target=self._catalog.warm, name="ngramdb-warm", daemon=True).start()

    def _complete_later(self) -> None:
        """Show a late completion, which arrives in its own thread, without waiting for another key."""
        loop = self._session.app.loop
        if loop is not None:
            with suppress(RuntimeError):  # the prompt has just been left
                loop.call_soon_threadsafe(self._complete_again)

    def _complete_again(self) -> None:
        app, buffer = self._session.app, self._session.default_buffer
        state = buffer.complete_state
        if state is None:
            buffer.start_completion(complete_event=CompleteEvent(text_inserted=True))
        elif not state.completions and app.loop is not None:  # the completer has not finished yet
            app.loop.call_later(WAIT_S, self._complete_again)

    def _configure(self) -> None:
        """Run the configuration file, if there is one; an error in it is shown and ends it."""
        path = config_path()
        if path.is_file():
            try:
                run_file(self.shell, str(path))
            except QueryCancelled:
                raise
            except Exception as error:
                self._show_error(error)

    def _show_error(self, error: Exception) -> None:
        if self.debug:
            traceback.print_exc()
        screen = detect(sys.stdout)
        draw_error(message_of(error), screen)
        screen.write("\n")
        screen.stream.flush()

    # ---- the prompt's part of dot commands -----------------------------------------------------------------

    def paged(self, stream: TextIO) -> AbstractContextManager[TextIO]:
        """Return a stream for one answer, in a pager if it is longer than the screen."""
        return paged(stream, self.pager)

    def edit(self, path: str | None) -> None:
        """Let the user edit the last statement, or a file; the result is put into the next prompt."""
        if path is None:
            text = edited(self._last)
        else:
            run_editor(Path(path))
            text = Path(path).read_text(encoding="utf-8")
        self._typed_next = text.rstrip("\n")

    @property
    def keys(self) -> str:
        """The keys for editing, `emacs` or `vi`."""
        return "vi" if self._session.editing_mode == EditingMode.VI else "emacs"

    @keys.setter
    def keys(self, name: str) -> None:
        self._session.editing_mode = EditingMode.VI if name == "vi" else EditingMode.EMACS

    def _prompt(self) -> StyleAndTextTuples:
        return [("class:prompt", prompt_text(self.shell))]

    def _greet(self, line: str) -> None:
        self._show(fill(line, max(NARROWEST, detect(sys.stdout).width or len(line)), break_long_words=False))

    def _show(self, text: str) -> None:
        screen = detect(sys.stdout)
        screen.write(f"{text}\n")
        screen.stream.flush()


def _terminal() -> Output | None:
    """Return the output of prompts: prompt_toolkit writes its own escapes, and makes texts visible."""
    return create_output(bare(sys.stdout)) if is_terminal(sys.stdout) else None


def holdings(connection: Connection) -> str:
    """Return the database's contents in a line: its one corpus with its size, or the names of several."""
    # No statement, since what runs one is imported while the user types.
    names = connection.corpora()
    if not names:
        return "No corpus yet: CREATE CORPUS name; COPY name FROM 'files';"
    if len(names) == 1:
        entry = connection.snapshot.entries[names[0]]
        sizes = f"{human.count(entry.n_documents, 'document')}, {human.count(entry.n_tokens, 'token')}"
        return f"1 corpus: {names[0]}, {sizes}"
    more = ", …" if len(names) > MOST_NAMES else ""
    return f"{human.count(len(names), 'corpus')}: {', '.join(names[:MOST_NAMES])}{more}"


def prompt_text(shell: Shell) -> str:
    """Return `wiki> ` if statements without FROM go to corpus wiki, else `ngramdb> `."""
    name = visible(shell.current_corpus() or "ngramdb")
    shown = name if len(name) <= LONGEST_PROMPT else name[: LONGEST_PROMPT - 1] + "…"
    return f"{shown}> "


def _continuation(width: int, line_number: int, wrap_count: int) -> StyleAndTextTuples:
    mark = "" if wrap_count else "...> "[-width:] if width > 2 else ""
    return [("class:continuation", mark.rjust(width))]


# ---- What was typed before, kept in a file that only its owner can read and that may fail without any harm.


def history_path() -> Path:
    """Return the history file: `ngramdb/history` in XDG_STATE_HOME or else ~/.local/state."""
    state = os.environ.get("XDG_STATE_HOME", "")
    # by the XDG rules a path which is not absolute is to be ignored
    folder = Path(state) if os.path.isabs(state) else Path(os.path.expanduser("~")) / ".local" / "state"
    return folder / "ngramdb" / "history"


class QuietHistory(FileHistory):
    """A history file, created with mode 0600; in memory only if the file cannot be read or written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._prepare()
        super().__init__(str(path))

    def _prepare(self) -> None:
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))

    def load_history_strings(self) -> Iterable[str]:
        """Statements of earlier sessions, the newest first; none when the file cannot be read."""
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        """Save a statement for the next session, if possible."""
        with suppress(OSError):
            super().store_string(string)


# ---- The configuration file: statements and dot commands that a session at a prompt begins with.


def config_path() -> Path:
    """Return the file: `ngramdb/config.ngql` in XDG_CONFIG_HOME or else ~/.config."""
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    # by the XDG rules a path which is not absolute is to be ignored
    base = Path(folder) if os.path.isabs(folder) else Path(os.path.expanduser("~")) / ".config"
    return base / "ngramdb" / "config.ngql"

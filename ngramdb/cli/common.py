"""Code shared by all commands: exit codes, messages on standard error, flags, and the database."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.human import error_lines
from ngramdb.cli.terminal.screen import MODES, Screen, detect
from ngramdb.display import visible
from ngramdb.errors import LockedError, NgramdbError, QueryCancelled, QueryError, TimeoutExceeded, what_stays

if TYPE_CHECKING:
    from ngramdb.api import Connection

OK = 0
FAILED = 1
USAGE = 2
# `ngramdb check` has found something wrong.
PROBLEMS = 3
# As `timeout` of the GNU tools has it.
TIMED_OUT = 124
# 128 and the number of SIGINT, as shells have it.
INTERRUPTED = 130
# 128 and the number of SIGTERM.
TERMINATED = 143


class UsageError(Exception):
    """The arguments of the command line contradict each other; exit code 2."""


class StatementFailed(NgramdbError):
    """An error in a statement of a script, with the place of the statement first."""


def guarded(run: Callable[[], int | None], debug: bool = False) -> int:
    """Run a command and turn what it raises into a message on standard error and an exit code.

    A reader that went away (`| head`) is not an error. With `debug` the traceback is printed as well.
    """
    try:
        code = run() or OK
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _forget_standard_output()
        return OK
    except TimeoutExceeded as error:
        say_error(str(error))
        return TIMED_OUT
    except (KeyboardInterrupt, QueryCancelled) as error:
        say(interrupted(error))
        return INTERRUPTED
    except UsageError as error:
        say(f"ngramdb: error: {error}")
        return USAGE
    except Exception as error:
        if debug:
            traceback.print_exc()
        say_error(message_of(error))
        return FAILED


def _forget_standard_output() -> None:
    """Point standard output at nothing, so that Python's flush at exit does not complain again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):  # standard output is not a file (a test's buffer)
        pass
    finally:
        os.close(nowhere)


def interrupted(error: BaseException) -> str:
    """Return the message of an interrupt: the time, the progress if known, and the remaining changes."""
    elapsed, fraction = getattr(error, "elapsed", None), getattr(error, "fraction", None)
    after = "" if elapsed is None else f" after {human.duration(elapsed)}"
    far = "" if fraction is None or fraction >= 1 else f", {int(100 * fraction)} % done"
    committed = getattr(error, "committed", None)
    return f"interrupted{after}{far}{'' if committed is None else f'; {what_stays(committed)}'}"


def message_of(error: Exception) -> str:
    """Return the text for an exception: our own errors unchanged, the system's with the file, bugs marked."""
    if isinstance(error, NgramdbError):
        return str(error)
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        return f"{error.filename}: {reason}" if error.filename else reason
    if isinstance(error, MemoryError):
        return "not enough memory for this statement"
    name = type(error).__name__
    return f"internal error: {name}: {error}\n  This is a bug in ngramdb; --debug shows where it happened."


def say(text: str) -> None:
    """Write a line to standard error; a closed standard error is not an error."""
    _on_standard_error(lambda screen: screen.write(text))


def say_notes(notes: Iterable[str]) -> None:
    """Write the notes on an answer to standard error, a line each."""
    for note in notes:
        say(f"note: {note}")


def say_error(message: str) -> None:
    """Write an error message to standard error, its first word in red where colours are shown."""
    _on_standard_error(lambda screen: draw_error(message, screen))


def _on_standard_error(write: Callable[[Screen], None]) -> None:
    try:
        sys.stdout.flush()
        screen = detect(sys.stderr)
        write(screen)
        screen.stream.write("\n")
        screen.stream.flush()
    except (OSError, ValueError):
        pass


def draw_error(message: str, screen: Screen) -> None:
    """Write an error message as a screen shows it, `error:` first, its last line not ended."""
    if screen.is_terminal:
        message = visible(message, lines=True)
    text = error_lines(f"error: {message}", screen.width)
    screen.draw(screen.styled("error:", "1;31") + text.removeprefix("error:"))


# ---- Commands and their flags.


@dataclass(frozen=True)
class Command:
    """A command: its line in `--help`, the function that adds its flags, and the one that runs it.

    `run` returns the exit code; None means OK.
    """

    description: str
    add_flags: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int | None]
    epilog: str | None = None

    def parser(self, name: str) -> argparse.ArgumentParser:
        """Create the command's parser ("" for `ngramdb` itself), which keeps the lines of its texts."""
        parser = argparse.ArgumentParser(
            prog=f"ngramdb {name}".rstrip(),
            description=self.description,
            epilog=self.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.add_flags(parser)
        parser.add_argument("--no-progress", action="store_true", help="no progress bar, even at a terminal")
        parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
        return parser


def add_database(
    parser: argparse.ArgumentParser, corpus: str | None = "the corpus's name", nargs: str | None = None
) -> None:
    """Add the arguments DB and CORPUS, which has the help `corpus`; None for no CORPUS."""
    parser.add_argument("database", metavar="DB", help="the database's folder")
    if corpus is not None:
        parser.add_argument("corpus", metavar="CORPUS", type=utf8, nargs=nargs, help=corpus)


def add_format(parser: argparse.ArgumentParser, about: str = "how results look") -> None:
    """Add the flag of the output mode."""
    parser.add_argument("--format", choices=MODES, help=f"{about}; table at a terminal, tsv elsewhere")


def add_lock_timeout(parser: argparse.ArgumentParser) -> None:
    """Add the flag for the time to wait."""
    parser.add_argument(
        "--lock-timeout",
        metavar="SECONDS",
        type=seconds,
        help="how long to wait for another writer before giving up; not at all when not given",
    )


def add_setting_flag(parser: argparse.ArgumentParser) -> None:
    """Add the flag of the servers' limits, which the epilog lists."""
    parser.add_argument(
        "--setting",
        metavar=("NAME", "VALUE"),
        dest="settings",
        nargs=2,
        action="append",
        default=[],
        help="a limit, or a setting of the database: see below",
    )


def glued(arguments: list[str], flags: tuple[str, ...]) -> list[str]:
    """Join each of these flags to its value: `--separator ---` becomes `--separator=---`.

    argparse takes a value that begins with a dash for a flag; these flags' values are anybody's text.
    """
    result: list[str] = []
    waiting = False
    for argument in arguments:
        if waiting:
            result[-1] += f"={argument}"
            waiting = False
        else:
            result.append(argument)
            waiting = argument in flags
    return result


def utf8(argument: str) -> str:
    """Return an argument that is text: its bytes are UTF-8, even in a locale of another encoding.

    Paths stay as they are: the system gets the bytes that it gave.
    """
    if argument.isascii():
        return argument
    with contextlib.suppress(UnicodeEncodeError):  # of a surrogate that stands for no byte
        return argument.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    return argument


def positive(text: str) -> int:
    """Parse a count: a whole number of at least 1; `_` and `,` may group the digits."""
    return _whole(text, 1)


def not_negative(text: str) -> int:
    """Parse a count of at least 0."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        value = int(text.replace(",", "").replace("_", ""))
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
    return value


def seconds(text: str) -> float:
    """Parse a time: a number of seconds above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


# ---- The database of a command.


# The statement for the waiting time, as the error suggests it; commands have a flag instead.
IN_A_STATEMENT = "SET lock_timeout = seconds"


@contextmanager
def writing(
    options: argparse.Namespace, *, create: bool = False, read_only: bool = False
) -> Iterator[Connection]:
    """Open a connection to the command's database, waiting as long as its flag allows.

    Without `create` the database must be there: what works on documents has nothing to do in one made for it.
    """
    from ngramdb.api import connect

    if not create:
        connect(options.database, read_only=True).close()
    with connect(options.database, read_only=read_only) as connection:
        if options.lock_timeout is not None:
            connection.settings["lock_timeout"] = options.lock_timeout
        try:
            yield connection
        except LockedError as error:
            said = str(error).replace(IN_A_STATEMENT, "--lock-timeout SECONDS")
            raise LockedError(said, path=error.path, holder=error.holder) from error


def quoted(name: str) -> str:
    """Return a corpus's name as written in a statement, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


@contextmanager
def in_own_words() -> Iterator[None]:
    """Run a statement that the command made: errors do not show it, since no user wrote it."""
    try:
        yield
    except QueryError as error:
        error.place(None, None, None)
        raise


def describe(connection: Connection, name: str) -> dict[str, Any]:
    """Return the properties of a corpus as DESCRIBE lists them: tokenizer, sizes, and each 'field …'."""
    with in_own_words():
        rows = connection.execute(f"DESCRIBE {quoted(name)}").fetchall()
    return {str(name): value for name, value in rows}

"""`serve` and `mcp`: corpora for reading, over HTTP and as tools for assistants."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast
from weakref import ReferenceType, ref

from ngramdb.api import Connection
from ngramdb.api.wire import TOKEN_VARIABLE
from ngramdb.cli.common import (
    FAILED,
    OK,
    Command,
    UsageError,
    add_setting_flag,
    say,
    say_error,
)
from ngramdb.cli.shell.catalog import Catalog, Corpora, Counted
from ngramdb.cli.terminal.screen import is_terminal
from ngramdb.display import encodable_json, visible, visible_json

if TYPE_CHECKING:
    from ngramdb.serve.app import Service
    from ngramdb.serve.database_pool import Library

_SERVE = """\
Answer queries of databases over HTTP: with a web page, and for programs as JSON, CSV, JSON lines and Arrow.
The service is read-only, listens to this machine alone unless --host is given, and picks up new versions
automatically.
"""
_SERVE_SETTINGS = """\
settings, each with --setting NAME VALUE:
  time_limit      time limit of a statement in seconds (1)
  rows, max_rows  rows of an answer by default (100) and at most (1000)
  max_body        bytes of a request's body (32 MB); max_batch: n-grams of a batch
  statements      statements that run at the same time; waiting: how many may wait, others get 503
  connections     open connections (500); head_timeout, body_timeout: seconds for a request to arrive (10)
  all_bodies      bytes of all bodies in progress together (256 MB), others get 503
"""
#: Time limit of the single request of --get, in seconds, unless a setting changes it.
PATIENT_S = 60


def _serve_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("databases", metavar="DB", nargs="+", help="the folder of a database")
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to listen at; 127.0.0.1 is this machine"
    )
    parser.add_argument(
        "--port", type=int, default=8765, help="the port, 8765 without the flag; 0: any free one"
    )
    parser.add_argument("--uds", metavar="PATH", help="a Unix socket instead, which this user alone may open")
    parser.add_argument("--open", action="store_true", help="show the page in the browser")
    parser.add_argument("--get", metavar="/PATH", help="print the answer to one request, and start no server")
    parser.add_argument(
        "--token",
        help="only who sends `Authorization: Bearer TOKEN` is answered; "
        f"better as {TOKEN_VARIABLE} in the environment",
    )
    parser.add_argument(
        "--cors",
        metavar="ORIGIN",
        nargs="?",
        const="*",
        help="allow requests by scripts of this website; without a value, of all websites",
    )
    parser.add_argument(
        "--base-url",
        metavar="URL",
        default="/",
        help="the address at which a proxy serves it: /corpora/, or https://example.org/corpora/",
    )
    add_setting_flag(parser)


def _serve(options: argparse.Namespace) -> int:
    needed = ["starlette"] if options.get is not None else ["starlette", "uvicorn"]
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise UsageError(f"serving needs {' and '.join(missing)}: pip install 'ngramdb[serve]'")
    from ngramdb.serve import app, database_pool, problem_details, server

    if not 0 <= options.port < 65536:
        raise UsageError(f"a port must be a number below 65536, not {options.port}")
    given = options.settings
    if options.get is not None:  # nobody else waits, and this process is cold
        given = [["time_limit", str(PATIENT_S)], *given]
    bounds, settings = problem_details.settings_of(given)
    opened = database_pool.open_library(options.databases, bounds, settings)
    token = options.token if options.token is not None else os.environ.get(TOKEN_VARIABLE) or None
    if token == "":
        raise UsageError("an empty token would let everybody in; leave --token out for that")
    access = app.Access(
        token,
        options.cors,
        options.base_url,
        None if options.uds else app.hosts_of(options.host, options.base_url),
    )
    service = app.Service(opened, bounds, access, ServedCompletion())
    if options.get is not None:
        return _get(service, options.get, token)
    place = server.Place(options.host, options.port, options.uds)
    with app.log_to_standard_error(), server.listening(place) as (listener, address):
        server.serve(service, listener, lambda: _greet(options, address + service.base, opened))
    return OK


def _get(service: Service, target: str, token: str | None) -> int:
    from ngramdb.serve.running import ask

    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    answer = ask(service, target if target.startswith("/") else f"/{target}", headers=headers)
    if answer.status >= 400:
        say_error(f"{answer.status}: {answer.body.decode('utf-8', 'replace').strip()}")
        return FAILED
    if is_terminal(sys.stdout):
        text = answer.body.decode("utf-8", "replace")
        is_json = "json" in answer.headers.get("content-type", "")
        json_text = encodable_json(text, sys.stdout.encoding)
        shown = visible_json(json_text) if is_json else visible(text, lines=True)
        print(shown, end="" if text.endswith("\n") else "\n")
        return OK
    sys.stdout.flush()
    sys.stdout.buffer.write(answer.body)
    if not answer.body.endswith(b"\n") and not answer.headers.get("content-type", "").endswith("stream"):
        sys.stdout.buffer.write(b"\n")
    return OK


def _greet(options: argparse.Namespace, address: str, opened: Library) -> None:
    print(address, flush=True)
    names = ", ".join(one.name for one in opened.corpora()) or "no corpora yet"
    say(f"serving {names}; Ctrl-C ends it")
    if options.open and options.uds is None:
        import webbrowser

        webbrowser.open(address)


# ---- Completion for those who type elsewhere: what the prompt offers, without files, settings and changes.


#: Longer texts are not completed: each key would send them.
LONGEST_TEXT = 10_000
#: Users of a page also wait for the network; late queries are not repeated in the background.
PATIENCE_S = 0.3
#: Corpora whose answers are kept.
MOST_CATALOGS = 32
#: Statements that a service refuses; they are not offered either.
_REFUSED = frozenset(
    {
        *("ALTER", "ANALYZE", "ATTACH", "CHECK", "COMPACT", "COPY", "CREATE", "CUT"),
        *("DELETE", "DETACH", "DROP", "KEEP", "RESET", "RESTORE", "SET", "USE"),
    }
)


class ServedCatalog(Catalog):
    """The catalog of one corpus: it is what statements without FROM are about."""

    def __init__(self, connection: ReferenceType[Connection], corpus: str | None, patience_s: float) -> None:
        # The caller owns the connection; one that has been replaced is not kept, nor are its files.
        super().__init__(lambda: cast(Connection, connection()), patience_s, insists=False)
        self._corpus = corpus

    def _asked(self, corpora: Corpora) -> Corpora:
        return corpora or (() if self._corpus is None else (self._corpus,))

    def fields(self, corpora: Corpora) -> Sequence[str]:
        return super().fields(self._asked(corpora))

    def values(self, corpora: Corpora, field: str) -> Sequence[Counted]:
        return super().values(self._asked(corpora), field)

    def tokenizer(self, corpora: Corpora) -> str:
        return super().tokenizer(self._asked(corpora))

    def next_tokens(self, corpora: Corpora, context: str) -> Sequence[Counted] | None:
        return super().next_tokens(self._asked(corpora), context)

    def count(self, corpora: Corpora, text: str) -> int | None:
        return super().count(self._asked(corpora), text)

    def settings(self) -> Mapping[str, Sequence[str]]:
        return {}

    def paths(self, beginning: str) -> Sequence[str]:
        return ()


class ServedCompletion:
    """Candidates as JSON has them. May be shared by threads."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._catalogs: OrderedDict[tuple[ReferenceType[Connection], str | None], ServedCatalog] = (
            OrderedDict()
        )

    def __call__(
        self, connection: Connection, text: str, cursor: int, corpus: str | None
    ) -> list[dict[str, Any]]:
        """Return candidates at the cursor: `text`, its start (`start`), `kind`, `shown`, `about`."""
        if len(text) > LONGEST_TEXT or text.lstrip().startswith("."):
            return []
        from ngramdb.cli.shell import completion  # a third of a service's start

        found = completion.complete(text, min(cursor, len(text)), self._catalog(connection, corpus))
        begins = [not text[: one.start].rpartition(";")[2].strip() for one in found]
        return [
            asdict(one)
            for one, first in zip(found, begins, strict=True)
            if not (first and one.text.upper() in _REFUSED) and one.kind not in ("path", "setting")
        ]

    def _catalog(self, connection: Connection, corpus: str | None) -> ServedCatalog:
        key = (ref(connection), corpus)
        with self._lock:
            catalog = self._catalogs.setdefault(key, ServedCatalog(key[0], corpus, self._patience_s))
            self._catalogs.move_to_end(key)
            while len(self._catalogs) > MOST_CATALOGS:
                self._catalogs.popitem(last=False)
        return catalog


# ---- `ngramdb mcp DB…`: the questions as tools for assistants, over standard input and output.


_MCP = """\
Let an assistant query databases with read-only tools of the Model Context Protocol. The
assistant's program starts this command and communicates with it over standard input and output.
"""
_MCP_SETTINGS = """\
in the configuration of the assistant's program:
  {"mcpServers": {"corpus": {"command": "ngramdb", "args": ["mcp", "/path/to/corpus.ngdb"]}}}
settings, each with --setting NAME VALUE:
  time_limit      time limit of a query in seconds (10)
  rows, max_rows  rows of an answer by default (20) and at most (200)
  statements      statements that run at the same time
"""


def _mcp_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("databases", metavar="DB", nargs="+", help="the folder of a database")
    add_setting_flag(parser)


def _mcp(options: argparse.Namespace) -> None:
    if find_spec("mcp") is None:
        raise UsageError("this needs the library mcp: pip install 'ngramdb[mcp]'")
    from ngramdb.serve import assistants, database_pool, problem_details, reading, tools

    bounds, settings = problem_details.settings_of(options.settings, tools.LIMITS)
    opened = database_pool.open_library(options.databases, bounds, settings)
    try:
        assistants.run(reading.Reader(opened, bounds))
    finally:
        opened.close()


COMMANDS = {
    "serve": Command(_SERVE, _serve_flags, _serve, _SERVE_SETTINGS),
    "mcp": Command(_MCP, _mcp_flags, _mcp, _MCP_SETTINGS),
}

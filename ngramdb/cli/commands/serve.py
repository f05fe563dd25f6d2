"""`ngramdb serve DB…`: corpora over HTTP, for reading."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ngramdb.api.wire import TOKEN_VARIABLE
from ngramdb.cli.common import (
    FAILED,
    OK,
    UsageError,
    add_common_flags,
    add_setting_flag,
    command_parser,
    say,
    say_error,
)
from ngramdb.cli.terminal.screen import is_terminal
from ngramdb.lazy import lazy_module
from ngramdb.terminal_escapes import encodable_json, visible, visible_json

if TYPE_CHECKING:
    from ngramdb.cli.prompt import served
    from ngramdb.serve import app, database_pool, problem_details, running, server
else:
    served = lazy_module("ngramdb.cli.prompt.served")
    app = lazy_module("ngramdb.serve.app")
    running = lazy_module("ngramdb.serve.running")
    database_pool = lazy_module("ngramdb.serve.database_pool")
    problem_details = lazy_module("ngramdb.serve.problem_details")
    server = lazy_module("ngramdb.serve.server")

DESCRIPTION = """\
Answer queries of databases over HTTP: with a web page, and for programs as JSON, CSV, JSON lines and Arrow.
The service is read-only, listens to this machine alone unless --host is given, and picks up new versions
automatically.
"""
EPILOG = """\
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


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's flags."""
    parser = command_parser("serve", DESCRIPTION, EPILOG)
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
    add_common_flags(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back."""
    needed = ["starlette"] if options.get is not None else ["starlette", "uvicorn"]
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise UsageError(f"serving needs {' and '.join(missing)}: pip install 'ngramdb[serve]'")
    if not 0 <= options.port < 65536:
        raise UsageError(f"a port is a number below 65536, not {options.port}")
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
    service = app.Service(opened, bounds, access, served.ServedCompletion())
    if options.get is not None:
        return _get(service, options.get, token)
    place = server.Place(options.host, options.port, options.uds)
    app.log_to_standard_error()
    with server.listening(place) as (listener, address):
        server.serve(service, listener, lambda: _greet(options, address + service.base, opened))
    return OK


def _get(service: app.Service, target: str, token: str | None) -> int:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    answer = running.ask(service, target if target.startswith("/") else f"/{target}", headers=headers)
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


def _greet(options: argparse.Namespace, address: str, opened: database_pool.Library) -> None:
    print(address, flush=True)
    names = ", ".join(one.name for one in opened.corpora()) or "no corpora yet"
    say(f"serving {names}; Ctrl-C ends it")
    if options.open and options.uds is None:
        import webbrowser

        webbrowser.open(address)

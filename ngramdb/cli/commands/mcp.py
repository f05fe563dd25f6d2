"""`ngramdb mcp DB…`: the questions as tools for assistants, over standard input and output."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ngramdb.cli.common import OK, UsageError, add_common_flags, add_setting_flag, command_parser
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    from ngramdb.serve import database_pool, problem_details, reading
    from ngramdb.serve.protocols import assistants, tools
else:
    assistants = lazy_module("ngramdb.serve.protocols.assistants")
    database_pool = lazy_module("ngramdb.serve.database_pool")
    problem_details = lazy_module("ngramdb.serve.problem_details")
    reading = lazy_module("ngramdb.serve.reading")
    tools = lazy_module("ngramdb.serve.protocols.tools")

DESCRIPTION = """\
Let an assistant query databases with read-only tools of the Model Context Protocol. The
assistant's program starts this command and communicates with it over standard input and output.
"""
EPILOG = """\
in the configuration of the assistant's program:
  {"mcpServers": {"corpus": {"command": "ngramdb", "args": ["mcp", "/path/to/corpus.ngdb"]}}}
settings, each with --setting NAME VALUE:
  time_limit      time limit of a query in seconds (10)
  rows, max_rows  rows of an answer by default (20) and at most (200)
  statements      statements that run at the same time
"""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's flags."""
    parser = command_parser("mcp", DESCRIPTION, EPILOG)
    parser.add_argument("databases", metavar="DB", nargs="+", help="the folder of a database")
    add_setting_flag(parser)
    add_common_flags(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back."""
    if find_spec("mcp") is None:
        raise UsageError("this needs the library mcp: pip install 'ngramdb[mcp]'")
    bounds, settings = problem_details.settings_of(options.settings, tools.LIMITS)
    opened = database_pool.open_library(options.databases, bounds, settings)
    try:
        assistants.run(reading.Reader(opened, bounds))
    finally:
        opened.close()
    return OK

"""`ngramdb [DB] …`: the flags of the command that runs statements or opens the REPL."""

from __future__ import annotations

import argparse
from importlib import import_module

from ngramdb import __version__
from ngramdb.cli.common import add_common_flags, command_parser, seconds, utf8
from ngramdb.cli.terminal.render import MODES

DESCRIPTION = "Ask a corpus database questions: count n-grams, next-token distributions, matching documents."
EPILOG = """\
commands, each with --help of its own:
  ngramdb load DB CORPUS PATH...   add documents to a corpus
  ngramdb build OUT --shard I/N PATH...
                                   one of N parts of a corpus, on any machine
  ngramdb missing OUT N            the parts that are not there yet
  ngramdb commit DB CORPUS OUT...  one corpus of all parts
  ngramdb demo [PATH]              index Python's standard library and take a tour
  ngramdb info DB                  what is in a database
  ngramdb check DB [CORPUS]        verify every checksum and invariant
  ngramdb compact DB [CORPUS]      merge segments, drop what was deleted
  ngramdb warm DB [CORPUS]         read indexes into memory
  ngramdb export DB CORPUS OUT     documents as they came in, into a file
  ngramdb decontaminate DB CORPUS --against FILE...
                                   remove what shares too much with evaluation sets
  ngramdb analyze DB CORPUS        take what Kneser-Ney's discounts come from
  ngramdb perplexity DB CORPUS PATH...
                                   how well a model of the corpus predicts other documents
  ngramdb agreement DB CORPUS PATH...
                                   how often a model expects the very token that comes next
  ngramdb serve DB...              answer questions over HTTP, on a page and for programs
  ngramdb mcp DB...                the same as tools for assistants
  ngramdb completion SHELL         print the script that completes commands in bash, zsh or fish

These words always are commands; a database called `load` is opened as `./load`.
Without any here, statements come from standard input, or from a prompt at a terminal.

exit status: 0 fine, 1 an error in a statement or in the data, 2 wrong usage, 3 problems found by check or
parts that are missing, 124 a statement took longer than --timeout, 130 interrupted
"""


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back."""
    options.inputs = [*(options.inputs or []), *(("text", text) for text in options.statements)]
    # --help and --version need none of the modules that run statements, and must be fast
    code: int = import_module("ngramdb.cli.shell.statements").run(options)
    return code


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's flags."""
    parser = command_parser("", DESCRIPTION, EPILOG)
    parser.add_argument(
        "database",
        metavar="DB",
        nargs="?",
        help="the database's folder, made by the first write when missing; in memory without one",
    )
    parser.add_argument(
        "statements",
        metavar="STMT",
        nargs="*",
        type=utf8,
        help="statements to run, as after -c (and after what -c and -f name)",
    )
    parser.add_argument(
        "-c",
        dest="inputs",
        metavar="STMT",
        action="append",
        type=lambda text: ("text", utf8(text)),
        help="run a statement (or several, with `;` between; none unless all can be parsed); may be given "
        "again",
    )
    parser.add_argument(
        "-f",
        dest="inputs",
        metavar="FILE",
        action="append",
        type=lambda text: ("file", text),
        help="run the statements of a file, one by one until the first error; - is standard input",
    )
    parser.add_argument(
        "--format", choices=MODES, help="how results look; table at a terminal, tsv elsewhere"
    )
    parser.add_argument(
        "--param",
        dest="parameters",
        metavar="VALUE",
        action="append",
        type=utf8,
        default=[],
        help="a value for the next `?`, or NAME=VALUE for `:NAME`; numbers, texts, [token, ids]",
    )
    parser.add_argument("--read-only", action="store_true", help="refuse every statement that writes")
    parser.add_argument(
        "--timer", action="store_true", help="print the time of each statement on standard error"
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        help="end with exit status 124 at the first statement that takes longer",
    )
    parser.add_argument(
        "--no-config", action="store_true", help="at a prompt, do not run the configuration file first"
    )
    parser.add_argument("--version", action="version", version=f"ngramdb {__version__}")
    add_common_flags(parser)
    return parser

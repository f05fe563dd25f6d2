"""`ngramdb [DB] …`: run statements, or open the prompt."""

from __future__ import annotations

import argparse
import sys

from ngramdb import __version__
from ngramdb.cli.common import OK, Command, UsageError, add_format, seconds, utf8
from ngramdb.cli.terminal.screen import is_terminal

_ABOUT = "Ask a corpus database questions: count n-grams, next-token distributions, matching documents."
_COMMANDS = """\
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
  ngramdb quality DB [CORPUS] --reference NAME
                                   buckets by perplexity, as CCNet has them
  ngramdb curate DB PLAN           run the steps of a plan of curation
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


def _run(options: argparse.Namespace) -> int:
    """Run what the command line gives, in its order, else standard input."""
    # --help and --version need none of the modules that run statements, and must be fast
    from ngramdb.cli.shell.script import check_units, opened, run_file, run_script
    from ngramdb.cli.shell.session import Shell
    from ngramdb.cli.shell.statement_text import Parameters

    if options.read_only and options.database is None:
        raise UsageError("--read-only needs a database")
    parameters = Parameters(options.parameters)
    shell = Shell(
        options.database,
        read_only=options.read_only,
        mode=options.format,
        timer=options.timer,
        progress=not options.no_progress,
        timeout=options.timeout,
        parameters=parameters,
        figure=options.figure,
    )
    given = [*(options.inputs or []), *(("text", text) for text in options.statements)]
    try:
        if not given and is_terminal(sys.stdin) and is_terminal(sys.stdout):
            # prompt_toolkit is loaded for a person at a terminal only
            from ngramdb.cli.shell.prompt import Repl

            return Repl(shell, debug=options.debug, configured=not options.no_config).run()
        inputs = given or [("file", "-")]
        scripts = [opened(kind, text, in_full=bool(options.parameters)) for kind, text in inputs]
        every = [(script, unit) for script, units in scripts if script for unit in units or ()]
        left = check_units(every, parameters)
        if left is not None:
            left.check_all_used()
        for (_, text), (script, units) in zip(inputs, scripts, strict=True):
            if script is None:
                run_file(shell, text)
            else:
                run_script(shell, script, units)
            if shell.finished:
                return OK
        parameters.check_all_used()
        return OK
    finally:
        shell.close()


def _flags(parser: argparse.ArgumentParser) -> None:
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
    add_format(parser, "how results look")
    parser.add_argument(
        "--plot",
        dest="format",
        action="store_const",
        const="plot",
        help="draw a bar for each row, as of a histogram: --format plot",
    )
    parser.add_argument(
        "--figure",
        metavar="OUT",
        help="plot PERPLEXITY, AGREEMENT, NOVELTY and DUPLICATES as PNG or SVG, too (needs matplotlib)",
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


COMMANDS = {
    "": Command(_ABOUT, _flags, _run, _COMMANDS),
}

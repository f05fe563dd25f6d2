"""`ngramdb curate DB PLAN`: run the steps of a plan of curation."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from textwrap import fill
from typing import Any

from ngramdb.api.verbs.curating import KINDS, curate
from ngramdb.cli.common import Command, add_lock_timeout, positive, say, writing
from ngramdb.cli.terminal import human

_ABOUT = """\
Run the steps of a plan that are not done yet. Each step is a version that is kept by a name, so
that a plan that was interrupted continues where it stopped.
"""
_PLANS = """\
PLAN is a file of JSON, TOML (Python 3.11) or YAML (with PyYAML) with the keys corpus and steps. A step is
the name of a kind, or has a kind as its key and arguments as its value; the kinds are
{kinds}.
"""


def _flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("database", metavar="DB", help="the database")
    add("plan", metavar="PLAN", help="the file with the plan")
    add("--dry-run", action="store_true", help="change nothing; run all steps on a copy that is dropped")
    add(
        "--sample",
        metavar="N",
        type=positive,
        default=0,
        help="removed or cut documents to list per step",
    )
    add("--report", metavar="OUT", help="a file for the report: .json or .html")
    add_lock_timeout(parser)


def _curate(options: argparse.Namespace) -> None:
    with writing(options, read_only=options.dry_run) as connection:
        told = curate(
            connection,
            options.plan,
            dry_run=options.dry_run,
            sample=options.sample,
            report=options.report,
            progress=_print,
        )
    n_done = sum(step["done_before"] for step in told["steps"])
    left = f"{human.count(told['documents'], 'document')} of {human.count(told['tokens'], 'token')}"
    would = "would be left" if options.dry_run else "left"
    say(f"{told['corpus']}: {human.count(len(told['steps']), 'step')}, {n_done} done before, {left} {would}")


def _print(step: Mapping[str, Any]) -> None:
    print(json.dumps(step, ensure_ascii=False, default=str), flush=True)


COMMANDS = {"curate": Command(_ABOUT, _flags, _curate, _PLANS.format(kinds=fill(", ".join(KINDS), 106)))}

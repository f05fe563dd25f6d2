"""`ngramdb agreement DB CORPUS PATH…`: how often a model expects the very token that comes next."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable
from typing import Any

from ngramdb.api import Corpus, Result, connect
from ngramdb.api.verbs.evaluation import agreement_panels, draw_agreement
from ngramdb.cli.commands import held_out
from ngramdb.cli.common import (
    OK,
    UsageError,
    add_common_flags,
    command_parser,
    not_negative,
    positive,
)
from ngramdb.cli.terminal.progress import MeasureWatch
from ngramdb.cli.terminal.render import MODES, render
from ngramdb.cli.terminal.screen import detect

DESCRIPTION = """\
Compare documents with what a model of a corpus expects: the share of tokens that it gives more than half of
its probability, by effective n. A row for each effective n that occurs; sparse estimates, whose context has
only one continuation, are counted by themselves as well.
"""
# Columns of the n-gram model, by its own effective n.
NGRAM_COLUMNS = ("ngram_tokens", "ngram_agreeing", "ngram_share")
# The n-gram model of the paper's figure.
FIGURE_ORDER = 5
COLUMNS = (
    *("effective_n", "tokens", "agreeing", "share"),
    *("sparse_tokens", "sparse_agreeing", "sparse_share"),
)
TOTAL_COLUMNS = ("model", *COLUMNS[1:], "mean_effective_n", "median_effective_n")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's flags."""
    parser = command_parser("agreement", DESCRIPTION)
    held_out.add_document_flags(parser)
    add = parser.add_argument
    add("--model", metavar="M", default="infgram", help="the model, as after USING; infgram by default")
    add(
        "--ngram",
        metavar="N",
        type=positive,
        help="the n-gram model of this order beside the ∞-gram, in columns of its own",
    )
    add(
        "--figure",
        metavar="OUT",
        help="draw both, and sparse estimates, into a PNG or SVG (needs matplotlib)",
    )
    add(
        "--skip",
        metavar="N",
        type=not_negative,
        default=0,
        help="the first N tokens of each document, a prompt for example, are context only",
    )
    add("--total", action="store_true", help="one row for all tokens instead of one for each effective n")
    add("--format", choices=MODES, help="how results look; table at a terminal, tsv elsewhere")
    add_common_flags(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back."""
    with connect(options.database, read_only=True) as connection:
        corpus = connection.corpus(options.corpus)
        with held_out.measuring(options, corpus) as (docs, watch):
            found, beside = _measure(options, corpus, docs, watch)
    shares = {
        "total_tokens": found.total,
        "agreeing": _percent(found.share),
        "of_sparse": _percent(found.sparse_share),
        "mean_effective_n": found.mean_effective_n,
        "median_effective_n": found.median_effective_n,
    }
    if options.total:
        render(
            Result.of_rows(TOTAL_COLUMNS, totals(options, found, beside)), detect(sys.stdout), options.format
        )
        return OK
    columns: tuple[str, ...] = COLUMNS
    table = rows(found)
    if beside is not None:
        columns = (*columns, *NGRAM_COLUMNS)
        table = [(*row, *_counts_of(beside, int(str(row[0])))) for row in table]
        shares["of_ngram"] = _percent(beside.share)
    render(Result.of_rows(columns, table, **shares), detect(sys.stdout), options.format)
    return OK


def _measure(
    options: argparse.Namespace, corpus: Corpus, docs: Iterable[Any], watch: MeasureWatch
) -> tuple[Any, Any]:
    """Return the model's agreement, and that of the n-gram model for comparison, if requested."""
    if options.ngram is None and options.figure is None:
        return corpus.agreement(docs, model=options.model, skip=options.skip, progress=watch), None
    if options.model != "infgram":
        raise UsageError("--ngram and --figure compare with the ∞-gram; leave --model out")
    order = options.ngram or FIGURE_ORDER
    held = list(docs)
    watch.share = lambda n_documents: n_documents / len(held)
    panels = agreement_panels(corpus.agreement, held, order, watch, options.skip)
    if options.figure is not None:
        draw_agreement(panels, options.figure)
    beside, found = panels.values()
    return found, beside


def _counts_of(found: Any, n: int) -> tuple[object, ...]:
    """Tokens, agreeing ones and their share with an effective n.

    The n-gram model's cells are empty above its order.
    """
    if n > len(found.n_tokens) or not found.n_tokens[n - 1]:
        return 0, 0, None
    tokens, agreeing = int(found.n_tokens[n - 1]), int(found.n_agreeing[n - 1])
    return tokens, agreeing, agreeing / tokens


def rows(found: Any) -> list[tuple[object, ...]]:
    """Return a row of `COLUMNS` per effective n."""
    arrays = (found.n_tokens, found.n_agreeing, found.n_sparse, found.n_sparse_agreeing)
    table = zip(*(array.tolist() for array in arrays), strict=True)
    return [
        (n, tokens, agreeing, agreeing / tokens, sparse, right, right / sparse if sparse else None)
        for n, (tokens, agreeing, sparse, right) in enumerate(table, start=1)
        if tokens
    ]


def totals(options: argparse.Namespace, found: Any, beside: Any) -> list[tuple[object, ...]]:
    """Return a row of `TOTAL_COLUMNS` for the model, and one for the n-gram model if there is one."""
    models = {options.model: found}
    if beside is not None:
        models = {f"{options.ngram or FIGURE_ORDER}-gram": beside, **models}
    return [
        (
            *(name, one.total, int(one.n_agreeing.sum()), _or_null(one.share)),
            *(int(one.n_sparse.sum()), int(one.n_sparse_agreeing.sum()), _or_null(one.sparse_share)),
            *(_or_null(one.mean_effective_n), _or_null(one.median_effective_n)),
        )
        for name, one in models.items()
    ]


def _or_null(value: float) -> float | None:
    return None if math.isnan(value) else value


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{share:.1%}"

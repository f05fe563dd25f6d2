"""`perplexity` and `agreement`: how well a model of a corpus predicts other documents."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ngramdb.api import Corpus, Result, connect
from ngramdb.api.verbs.evaluation import FileDocuments, agreement_panels, documents_of_files, draw_agreement
from ngramdb.cli.common import (
    Command,
    UsageError,
    add_format,
    not_negative,
    positive,
    say_notes,
    utf8,
)
from ngramdb.cli.terminal.progress import MeasureWatch, Waiting
from ngramdb.cli.terminal.screen import detect, draws_table, render
from ngramdb.formats import READ

# ---- The documents, read from files as COPY reads them, and kept out of the database.


def add_document_flags(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select documents, and the options for reading them."""
    add = parser.add_argument
    add("database", metavar="DB", help="the database's folder")
    add("corpus", metavar="CORPUS", type=utf8, help="the corpus whose model is measured")
    add("paths", metavar="PATH", nargs="+", help="the documents: files, folders, globs, or -")
    add("--text", metavar="FIELD", help="the JSON field with the text; text when not given")
    add("--input", choices=READ, help="how the files are read, whatever their names")
    add("--separator", metavar="LINE", help="the line between two documents of a text file")
    add("--limit", metavar="N", type=positive, help="read at most this many documents")


@contextmanager
def measuring(options: argparse.Namespace, corpus: Corpus) -> Iterator[tuple[FileDocuments, MeasureWatch]]:
    """Yield the documents as texts, or as ids for a corpus of token ids, and a progress callback.

    At a terminal a line shows that work is done, until the first report draws a bar.
    """
    docs = documents_of_files(
        options.paths,
        text=options.text,
        format=options.input,
        separator=options.separator,
        limit=options.limit,
        takes_ids=corpus.tokenizer.kind == "tokens",
    )

    def share(n_documents: int) -> float | None:
        of_limit = None if options.limit is None else n_documents / options.limit
        return max((part for part in (docs.share, of_limit) if part is not None), default=None)

    say_notes(docs.notes)
    wanted = not options.no_progress
    with Waiting(wanted) as waiting, MeasureWatch(share, waiting.stop, wanted) as watch:
        yield docs, watch


# ---- `ngramdb perplexity DB CORPUS PATH…`


_PERPLEXITY = """\
Measure the perplexity of documents under a language model of a corpus, with their unknown words and without.
Each is scored as a document, from <s> to </s>, unless --sentence or --no-document is given.
"""
_PERPLEXITY_COLUMNS = (
    *("documents", "tokens", "unknown", "unanswered", "zero"),
    *("perplexity", "perplexity_known", "perplexity_nonzero", "bits_per_token", "bits_per_byte"),
    *("bits_per_character", "logprob"),
)
COLUMNS_PER_DOCUMENT = ("document", "tokens", "perplexity")


def _perplexity_flags(parser: argparse.ArgumentParser) -> None:
    add_document_flags(parser)
    add = parser.add_argument
    add("--model", metavar="M", default="kneser_ney", help="the model, as after USING; kneser_ney by default")
    unit = parser.add_mutually_exclusive_group()
    unit.add_argument("--sentence", action="store_true", help="cut documents into sentences, and score each")
    unit.add_argument(
        "--no-document", action="store_true", help="no <s> before documents, and no </s> to predict"
    )
    add("--per-document", action="store_true", help="a row per document instead of one for all")
    add_format(parser, "how results look")


def _perplexity(options: argparse.Namespace) -> None:
    with connect(options.database, read_only=True) as connection:
        corpus = connection.corpus(options.corpus)
        with measuring(options, corpus) as (docs, watch):
            document = not (options.sentence or options.no_document)
            found = corpus.perplexity(
                docs, options.model, document=document, sentence=options.sentence, progress=watch
            )
    note = {} if found.note is None else {"note": found.note}
    if options.per_document:
        lengths, values = found.document_lengths.tolist(), found.per_document.tolist()
        rows = [(i, length, value) for i, (length, value) in enumerate(zip(lengths, values, strict=True))]
        result = Result.of_rows(COLUMNS_PER_DOCUMENT, rows, **note)
    else:
        row = (
            *(len(found.document_lengths), found.n_tokens, found.n_unknown, found.n_unanswered, found.n_zero),
            *(found.perplexity, found.perplexity_known, found.perplexity_nonzero, found.bits_per_token),
            *(found.bits_per_byte, found.bits_per_character, found.logprob),
        )
        result = Result.of_rows(_PERPLEXITY_COLUMNS, [row], **note)
    screen = detect(sys.stdout)
    render(result, screen, options.format)
    if not draws_table(screen, options.format):
        say_notes(result.notes)


# ---- `ngramdb agreement DB CORPUS PATH…`: how often a model expects the very token that comes next.


_AGREEMENT = """\
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


def _agreement_flags(parser: argparse.ArgumentParser) -> None:
    add_document_flags(parser)
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
    add_format(parser, "how results look")


def _agreement(options: argparse.Namespace) -> None:
    with connect(options.database, read_only=True) as connection:
        corpus = connection.corpus(options.corpus)
        with measuring(options, corpus) as (docs, watch):
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
        return
    columns: tuple[str, ...] = COLUMNS
    table = rows(found)
    if beside is not None:
        columns = (*columns, *NGRAM_COLUMNS)
        table = [(*row, *_counts_of(beside, int(str(row[0])))) for row in table]
        shares["of_ngram"] = _percent(beside.share)
    render(Result.of_rows(columns, table, **shares), detect(sys.stdout), options.format)


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


COMMANDS = {
    "perplexity": Command(_PERPLEXITY, _perplexity_flags, _perplexity),
    "agreement": Command(_AGREEMENT, _agreement_flags, _agreement),
}

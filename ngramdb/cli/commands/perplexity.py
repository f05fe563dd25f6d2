"""`ngramdb perplexity DB CORPUS PATH…`: how well a model of a corpus predicts other documents."""

from __future__ import annotations

import argparse
import sys

from ngramdb.api import Result, connect
from ngramdb.cli.commands import held_out
from ngramdb.cli.common import OK, add_common_flags, command_parser, say_notes
from ngramdb.cli.terminal.render import MODES, draws_table, render
from ngramdb.cli.terminal.screen import detect

DESCRIPTION = """\
Measure the perplexity of documents under a language model of a corpus, with their unknown words and without.
Each is scored as a document, from <s> to </s>, unless --sentence or --no-document is given.
"""
COLUMNS = (
    *("documents", "tokens", "unknown", "unanswered", "zero"),
    *("perplexity", "perplexity_known", "perplexity_nonzero", "bits_per_token", "bits_per_byte"),
    *("bits_per_character", "logprob"),
)
COLUMNS_PER_DOCUMENT = ("document", "tokens", "perplexity")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's flags."""
    parser = command_parser("perplexity", DESCRIPTION)
    held_out.add_document_flags(parser)
    add = parser.add_argument
    add("--model", metavar="M", default="kneser_ney", help="the model, as after USING; kneser_ney by default")
    unit = parser.add_mutually_exclusive_group()
    unit.add_argument("--sentence", action="store_true", help="cut documents into sentences, and score each")
    unit.add_argument(
        "--no-document", action="store_true", help="no <s> before documents, and no </s> to predict"
    )
    add("--per-document", action="store_true", help="a row per document instead of one for all")
    add("--format", choices=MODES, help="how results look; table at a terminal, tsv elsewhere")
    add_common_flags(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back."""
    with connect(options.database, read_only=True) as connection:
        corpus = connection.corpus(options.corpus)
        with held_out.measuring(options, corpus) as (docs, watch):
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
        result = Result.of_rows(COLUMNS, [row], **note)
    screen = detect(sys.stdout)
    render(result, screen, options.format)
    if not draws_table(screen, options.format):
        say_notes(result.notes)
    return OK

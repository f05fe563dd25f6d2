"""Documents to measure a model by: read from files as COPY reads them, and kept out of the database."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from ngramdb.api import Corpus
from ngramdb.api.verbs.evaluation import FileDocuments, documents_of_files
from ngramdb.cli.common import positive, say_notes, utf8
from ngramdb.cli.shell.progress_wait import Waiting
from ngramdb.cli.terminal.progress import MeasureWatch
from ngramdb.formats import READ


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

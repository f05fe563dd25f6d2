"""Documents to measure a model by: read from files as COPY reads them, and kept out of the database."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ngramdb.api import Corpus
from ngramdb.api.evaluation import documents_of_files
from ngramdb.cli.common import glued, positive

# Flags whose values are anybody's text.
FREE_FLAGS = ("--separator",)


def add_document_flags(parser: argparse.ArgumentParser) -> None:
    """The arguments that say which documents, and how they are read."""
    add = parser.add_argument
    add("database", metavar="DB", help="the database's folder")
    add("corpus", metavar="CORPUS", help="the corpus whose model is measured")
    add("paths", metavar="PATH", nargs="+", help="the documents: files, folders, globs, or -")
    add("--text", metavar="FIELD", help="the JSON field with the text; text when not given")
    add("--input", choices=("jsonl", "text", "lines"), help="how the files are read, whatever their names")
    add("--separator", metavar="LINE", help="the line between two documents of a text file")
    add("--limit", metavar="N", type=positive, help="read at most this many documents")


def parsed(parser: argparse.ArgumentParser, arguments: list[str]) -> argparse.Namespace:
    """The arguments, read."""
    return parser.parse_args(glued(arguments, FREE_FLAGS))


@contextmanager
def documents(options: argparse.Namespace, corpus: Corpus) -> Iterator[Iterator[Any]]:
    """The documents as texts, or for a corpus of token ids as such, one after the other."""
    takes_ids = corpus.tokenizer.kind == "tokens"
    yield documents_of_files(
        options.paths,
        text=options.text,
        format=options.input,
        separator=options.separator,
        limit=options.limit,
        takes_ids=takes_ids,
    )

"""Checking the steps of a plan of curation before the first one changes anything.

Each step runs on a copy of the database without documents, which binds its arguments, statements, names and
files as it will be bound. Any field is accepted there, so fields are looked for in the corpus itself, unless
a step before makes fields whose names only that step knows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from tempfile import TemporaryDirectory
from typing import Any

from ngramdb import interrupts
from ngramdb.api.connection import Connection
from ngramdb.api.conversion import as_path, as_paths
from ngramdb.api.corpus import Corpus
from ngramdb.curation.plans import Step
from ngramdb.errors import BindError, InvalidArgument, LoadError, NgramdbError, PlanError, QueryCancelled
from ngramdb.errors import ParseError as Unparsed
from ngramdb.ingest import labels
from ngramdb.ingest.documents import ErrorLog
from ngramdb.ingest.readers.arrow_data import is_table
from ngramdb.ingest.readers.tables import Labels
from ngramdb.ingest.sources import expand
from ngramdb.language import ast
from ngramdb.questions import to_ast, verbs
from ngramdb.questions.parsing import parsed
from ngramdb.questions.requests import quoted_name
from ngramdb.segments.metadata_columns import path_of, split_path

Run = Callable[[Connection, Corpus, Mapping[str, Any]], Any]

# Errors that do not depend on the documents. All others may be due to missing documents.
WRONG = (InvalidArgument, BindError, PlanError, Unparsed)
# Kinds of steps whose files later ones may read.
_WRITERS = ("export", "statement")


class Rehearsal:
    """The steps of a plan, checked one after the other."""

    def __init__(self, connection: Connection, trial: Connection, name: str) -> None:
        """`trial` is the same database without documents, `name` the corpus."""
        self._connection = connection
        self._trial = trial
        self._corpus = trial.corpus(name)
        # The fields that the steps so far make; None if these may have any name.
        self._made: set[str] | None = set()
        self._has_written = False

    def check(self, step: Step, run: Run) -> None:
        """Raise what is wrong in a step that follows those checked before.

        run : runs the step, without writing files
        """
        interrupts.check()
        try:
            if step.kind == "fields":
                self._note(self._added(step.arguments))
            elif step.kind == "export":
                self._export(step.arguments)
            elif step.kind == "statement":
                self._execute(step.arguments["sql"])
            elif not any(hasattr(value, "__next__") for value in step.arguments.values()):
                with verbs.collected([]):  # warnings are for the step itself
                    run(self._trial, self._corpus, step.arguments)
        except (*WRONG, QueryCancelled):
            raise
        except LoadError:
            if not self._has_written:
                raise
        except NgramdbError:
            pass
        if self._made is not None:
            for statement in self._statements(step):
                self._check_fields(statement)
        self._note(_made(step))
        self._has_written |= step.kind in _WRITERS

    def _note(self, made: set[str] | None) -> None:
        self._made = None if self._made is None or made is None else self._made | made

    def _added(self, arguments: Mapping[str, Any]) -> set[str] | None:
        """Return the fields that a table adds, of which the first rows are read; None if unknown."""
        on, chosen = arguments.get("on", "id"), arguments.get("fields")
        to_ast.key(on)
        names = None if chosen is None else tuple(to_ast.names("fields", chosen))
        if is_table(arguments["table"]):  # it may be read only once
            return None if names is None else set(names)
        paths = as_paths(arguments["table"], "fields takes a path, a list of paths or a table")
        options = labels.reading(None if names is None else (on, *names))
        first = next(iter(labels.read_labels(expand(tuple(paths)), options, ErrorLog())), None)
        if names is not None:
            return set(names)
        return set(first.paths) if isinstance(first, Labels) else None

    def _execute(self, sql: str) -> None:
        """Run statements; bind those that read or write files."""
        self._trial.use(self._corpus.name)
        for statement, text in statements_of(sql):
            is_of_files = isinstance(statement, (ast.CopyFrom, ast.CopyTo))
            self._trial.execute(f"EXPLAIN {text}" if is_of_files else text)

    def _export(self, arguments: Mapping[str, Any]) -> None:
        """Export no document, to a file of the same name."""
        with TemporaryDirectory(prefix="ngramdb-") as folder:
            path = as_path(arguments["path"])
            run_export(self._corpus, {**arguments, "path": os.path.join(folder, os.path.basename(path))})

    def _statements(self, step: Step) -> Iterator[str]:
        """Yield statements that change nothing, with the fields that a step reads."""
        source, arguments = quoted_name(self._corpus.name), step.arguments
        where = arguments.get("where")
        if where is not None:
            yield f"COUNT DOCS WHERE {where}\nFROM {source}"
        if step.kind == "update" and isinstance(arguments["fields"], str):
            yield f"UPDATE {source} SET {arguments['fields']}"
        named = () if step.kind == "decontaminate" else (arguments.get("by"), arguments.get("keep_by"))
        for given in named:
            for name in [given] if isinstance(given, str) else given or ():
                path = ".".join("`" + key.replace("`", "``") + "`" for key in split_path(name))
                yield f"COUNT DOCS GROUP BY {path} FROM {source}"

    def _check_fields(self, statement: str) -> None:
        """Raise BindError for a field that neither the corpus has nor a step before makes."""
        (tree,) = parsed(statement).statements
        names = [f"{name}." for name in _fields_in(tree)]
        if not any(name.startswith(f"{root}.") for name in names for root in self._made or ()):
            self._connection.execute(f"EXPLAIN {statement}")


def statements_of(sql: str) -> Iterator[tuple[ast.Statement, str]]:
    """Yield the statements of a text, each with its part of it. Raises ParseError."""
    for one in parsed(sql).statements:
        yield one, sql if one.span is None else sql[one.span.start : one.span.stop]


def run_export(corpus: Corpus, arguments: Mapping[str, Any]) -> int:
    """Export documents as a step says; return their number."""
    options = {name: arguments.get(name) for name in ("format", "separator", "dtype")}
    return corpus.export(arguments["path"], arguments.get("where"), **options)


def _made(step: Step) -> set[str] | None:
    """Return the fields that a step makes; None if they are not known. A step with a table: `_added`."""
    arguments = step.arguments
    if step.kind == "statement":
        return None
    if step.kind == "quality":
        given = (arguments.get("field", "bucket"), arguments.get("score_field", "perplexity"))
        return {name for name in given if name is not None}
    if step.kind == "update":
        if not isinstance(arguments["fields"], str):
            return set(arguments["fields"])
        (tree,) = parsed(f"UPDATE c SET {arguments['fields']}").statements
        assert isinstance(tree, ast.Update)
        return {path_of(one.field.keys) for one in tree.assignments}
    return set()


def _fields_in(node: Any) -> Iterator[str]:
    """Yield the paths of the fields in a tree, without those that it sets."""
    if isinstance(node, ast.Field):
        yield path_of(node.keys)
    elif isinstance(node, tuple):
        for one in node:
            yield from _fields_in(one)
    elif is_dataclass(node):
        is_set = isinstance(node, ast.Assignment)
        for one in fields(node):
            if not (is_set and one.name == "field"):
                yield from _fields_in(getattr(node, one.name))

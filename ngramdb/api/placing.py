"""Errors that were found while a statement ran, given their place in its text."""

from __future__ import annotations

from ngramdb.errors import InvalidArgument, PlanError, QueryError
from ngramdb.language import ast


def placed(error: QueryError | InvalidArgument, statement: ast.Statement, text: str) -> QueryError:
    """The error as one that points into the statement: to what is at fault, else to the whole of it.

    One that has its place stays as it is. A value that was refused becomes a PlanError: seen from a
    statement, it is the statement that cannot be run.
    """
    if isinstance(error, QueryError) and error.start is not None:
        if error.text is None:
            error.place(text, error.start, error.stop)
        return error
    span = _at_fault(error, statement).span or statement.span
    start, stop = (None, None) if span is None else (span.start, span.stop)
    if isinstance(error, QueryError):
        error.place(text, start, stop)
        return error
    return PlanError(str(error), text=text, start=start, stop=stop)


def _at_fault(error: Exception, statement: ast.Statement) -> ast.Node:
    """The part of a statement that running it finds fault with."""
    if isinstance(statement, ast.Explain) and isinstance(error, PlanError):
        return statement.statement
    refused = isinstance(error, InvalidArgument)
    if isinstance(statement, ast.CreateCorpus):
        return statement.tokenizer if refused and statement.tokenizer is not None else statement.name
    if isinstance(statement, (ast.CopyFrom, ast.CopyTo, ast.Attach)) and refused:
        return statement.path
    if isinstance(statement, ast.Restore):
        return statement.version
    if isinstance(statement, ast.KeepVersion):
        return statement.name if refused or statement.version is None else statement.version
    if isinstance(statement, ast.DropVersion):
        return statement.name
    if isinstance(statement, ast.Alter):
        return statement.term
    if isinstance(statement, (ast.DropCorpus, ast.Use, ast.Describe, ast.Attach, ast.Detach)):
        return statement.name or statement
    return statement

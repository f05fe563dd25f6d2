"""The OpenAPI 3.1 description of the service, generated from the tables that the routes use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ngramdb import __version__
from ngramdb.api import wire
from ngramdb.questions.requests import PATTERN_PARAMETERS, Parameter
from ngramdb.serve import attribution, completions
from ngramdb.serve.infini_gram import ARGUMENTS, QUERY_TYPES
from ngramdb.serve.requests import COMMON, FORMATS, OF_STATEMENTS, QUESTIONS

Schema = dict[str, Any]

_CORPUS = {
    "name": "corpus",
    "in": "path",
    "required": True,
    "description": "A corpus; `name/@17` is its version 17, whose answers never change.",
    "schema": {"type": "string"},
}
_TABLE: Schema = {
    "type": "object",
    "required": ["ok", "version", "columns", "types", "rows", "truncated", "next"],
    "properties": {
        "ok": {"type": "boolean"},
        "corpus": {"type": "string"},
        "database": {"type": "string"},
        "version": {"type": "integer"},
        "statement": {"type": "string", "description": "The statement that was run."},
        "columns": {"type": "array", "items": {"type": "string"}},
        "types": {
            "type": "array",
            "items": {"type": ["string", "null"]},
            "description": "The type of each column: integer, number, boolean, string, array or object. "
            "In number columns, infinite values and NaN are the strings Infinity, -Infinity and NaN.",
        },
        "rows": {"type": "array", "items": {"type": "object"}},
        "n_rows": {"type": "integer"},
        "truncated": {"type": "boolean", "description": "True if there are more rows."},
        "next": {"type": ["string", "null"], "description": "The address of the next rows."},
        "summary": {"type": "object"},
        "notes": {"type": "array", "items": {"type": "string"}},
        "exact": {"type": "boolean"},
        "elapsed_ms": {"type": "number"},
    },
}
_ERROR: Schema = {
    "type": "object",
    "required": ["ok", "status", "error"],
    "properties": {
        "ok": {"const": False},
        "status": {"type": "integer"},
        "error": {"type": "string"},
        "type": {"type": "string"},
        "statement": {"type": "string"},
        "start": {"type": "integer"},
        "stop": {"type": "integer"},
        "line": {"type": "integer"},
        "column": {"type": "integer"},
    },
}
_BATCH: Schema = {
    "type": "object",
    "description": "Either ngrams, or contexts and continuations.",
    "properties": {
        "corpus": {"type": "string"},
        "ngrams": {"$ref": "#/components/schemas/Ngrams"},
        "contexts": {"$ref": "#/components/schemas/Ngrams"},
        "continuations": {"$ref": "#/components/schemas/Ngrams"},
        "model": {"type": "string"},
    },
}
_VERB: Schema = {
    "type": "object",
    "properties": {
        "arguments": {"type": "object", "description": "Arguments by name, as in Python."},
        "each": {"type": "object", "description": "A batch: lists of arguments, one call for each place."},
        "where": {"type": "array", "description": "Conditions on documents, each with its parameters."},
        **{one.name: one.schema() for one in COMMON},
    },
}
_NGRAMS: Schema = {
    "type": "array",
    "items": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
}


def description(base: str) -> Schema:
    """Return the whole description; `base` is the path that all addresses begin with."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ngramdb",
            "version": __version__,
            "summary": "Read-only queries of text corpora.",
        },
        "servers": [{"url": base}],
        "paths": {**_tops(), **_of_corpora(), **_protocols()},
        "components": {
            "schemas": {"Table": _TABLE, "Error": _ERROR, "Batch": _BATCH, "Ngrams": _NGRAMS},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _tops() -> Schema:
    paths = {}
    for kind in FORMATS:
        paths[f"/corpora.{kind}"] = _get("All corpora.", COMMON, kind)
        statement = [Parameter("q", "text", "a statement; pass the values of its parameters by their names")]
        named = [Parameter(f"_{one.name}", one.kind, one.about) for one in OF_STATEMENTS]
        paths[f"/query.{kind}"] = _get("Run any read-only statement.", [*statement, *named], kind)
    paths["/settings.json"] = {
        "get": _operation("The limits of the service.", (), "json", {"type": "object"})
    }
    paths["/openapi.json"] = {"get": _operation("This description.", (), "json", {"type": "object"})}
    return paths


def _of_corpora() -> Schema:
    paths = {}
    for kind in FORMATS:
        for name, question in QUESTIONS.items():
            paths[f"/{{corpus}}/{name}.{kind}"] = _get(
                question.about, [*question.parameters, *COMMON], kind, True
            )
        for name, about, parameters in (
            ("/versions", "The kept versions.", COMMON),
            ("/removals", "Removed documents, with reasons.", COMMON),
            ("", "The properties of a corpus.", COMMON),
        ):
            paths[f"/{{corpus}}{name}.{kind}"] = _get(about, parameters, kind, True)
        document = _get("One document, with the places of an n-gram.", PATTERN_PARAMETERS, kind, True)
        number = {"name": "doc_id", "in": "path", "required": True, "schema": {"type": "integer"}}
        document["get"]["parameters"].append(number)
        paths[f"/{{corpus}}/documents/{{doc_id}}.{kind}"] = document
    return paths


def _protocols() -> Schema:
    queries: Schema = {
        "type": "object",
        "required": ["index", "query_type"],
        "properties": {
            "index": {"type": "string"},
            "query_type": {"enum": list(QUERY_TYPES)},
            "query": {"type": "string"},
            "query_ids": {"type": "array"},
            **{name: {"type": "integer"} for name in ARGUMENTS},
        },
    }
    answered: Schema = {"type": "object"}
    corpus = [_CORPUS]
    return {
        "/": {"post": _sent("infini-gram's protocol.", queries, answered)},
        "/{corpus}/attribution": {
            "post": _sent("AI2's attribution.", _object(attribution.PARAMETERS), answered, corpus)
        },
        "/v1/completions": {
            "post": _sent("OpenAI's completions.", _object(completions.PARAMETERS), answered)
        },
        "/v1/models": {"get": _operation("The corpora, as models.", (), "json", answered)},
        "/batch": {"post": _sent("Many n-grams at once.", {"$ref": "#/components/schemas/Batch"}, answered)},
        "/{corpus}/batch": {
            "post": _sent("Many n-grams at once.", {"$ref": "#/components/schemas/Batch"}, answered, corpus)
        },
        **{
            f"/{{corpus}}/verbs/{verb}.json": {
                "post": _sent(f"Corpus.{verb}, for the Python client.", _VERB, answered, corpus)
            }
            for verb in (*wire.VERBS, *wire.PROPERTIES)
        },
    }


def _get(about: str, parameters: Iterable[Parameter], kind: str, of_corpus: bool = False) -> Schema:
    table: Schema = {"$ref": "#/components/schemas/Table"} if kind == "json" else {"type": "string"}
    operation = _operation(about, parameters, kind, table)
    if of_corpus:
        operation["parameters"].append(_CORPUS)
    return {"get": operation}


def _operation(about: str, parameters: Iterable[Parameter], kind: str, answered: Schema) -> Schema:
    listed = [
        {"name": one.name, "in": "query", "description": one.about, "schema": one.schema()}
        for one in parameters
    ]
    return {"summary": about, "parameters": listed, "responses": _responses(FORMATS[kind], answered)}


def _sent(about: str, body: Schema, answered: Schema, parameters: Iterable[Schema] = ()) -> Schema:
    return {
        "summary": about,
        "parameters": list(parameters),
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": _responses("application/json", answered),
    }


def _responses(kind: str, answered: Schema) -> Schema:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "200": {"description": "The answer.", "content": {kind: {"schema": answered}}},
        "default": {"description": "The error.", "content": error},
    }


def _object(parameters: Iterable[Parameter]) -> Schema:
    return {
        "type": "object",
        "properties": {one.name: {**one.schema(), "description": one.about} for one in parameters},
    }

"""Requests: their parameters, checked; their addresses; and the questions that have one."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, unquote_to_bytes, urlencode

from ngramdb.interrupts import check
from ngramdb.limits import MAX_INTEGER
from ngramdb.questions.definition import ROUTES, Request, request_named
from ngramdb.questions.requests import Given, Parameter
from ngramdb.serve.problem_details import Problem


def given(parameters: Iterable[Parameter], values: Mapping[str, Any]) -> Given:
    """Return the values, checked. Raises Problem for an invalid value or an unknown parameter."""
    known = {one.name: one for one in parameters}
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(known)) or 'none'}"
            raise Problem(400, f"no parameter {shortened(name)!r}; {hint}", parameter=shortened(name))
    return Given(
        {
            name: one.default if values.get(name) is None else _value(one, values[name])
            for name, one in known.items()
        }
    )


def once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return values by name. Raises Problem for a name that is given twice, which is ambiguous."""
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            raise Problem(
                400,
                f"the parameter {shortened(name)!r} is given twice; give it once",
                parameter=shortened(name),
            )
        values[name] = value
    return values


def _value(one: Parameter, value: Any) -> Any:
    kinds = {
        "text": _text,
        "integer": _integer,
        "number": _number,
        "flag": _flag,
        "ids": _ids,
        "lengths": _lengths,
    }
    found = kinds[one.kind](one, value)
    if one.choices and found not in one.choices:
        raise _wrong(one, f"one of {', '.join(one.choices)}", value)
    return found


def _text(one: Parameter, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(one, "a string", value)
    return value


def _lengths(one: Parameter, value: Any) -> str:
    return _text(one, str(value) if type(value) is int else value)


def _integer(one: Parameter, value: Any) -> int:
    found = value
    if isinstance(value, str) and value.isascii() and value.isdigit():
        found = int(value) if len(value) < 20 else MAX_INTEGER + 1
    if type(found) is not int or found < one.least:
        raise _wrong(one, f"a whole number of at least {one.least}", found)
    if found > MAX_INTEGER:
        raise _wrong(one, f"a whole number of at most {MAX_INTEGER}", value)
    return found


def _number(one: Parameter, value: Any) -> float:
    try:
        found = (
            float(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else math.nan
        )
    except (ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found) or found < 0:
        raise _wrong(one, "a number of at least 0", value)
    return found


def _flag(one: Parameter, value: Any) -> bool:
    shown = str(value).lower()
    if shown in ("", "1", "true", "yes", "on"):
        return True
    if shown in ("0", "false", "no", "off"):
        return False
    raise _wrong(one, "true or false", value)


def _ids(one: Parameter, value: Any) -> list[int]:
    if isinstance(value, str):
        inner = re.fullmatch(r"\s*(?:\[(.*)\]|([^\[\]]*))\s*", value, re.DOTALL)
        if inner is None:
            raise _wrong(one, "a list of token ids", value)
        listed = (inner[1] if inner[1] is not None else inner[2]).strip()
        value = []
        for number, part in enumerate(listed.split(",") if listed else ()):
            if number % 4096 == 0:
                check()
            value.append(_integer(one, part.strip()))
    if not isinstance(value, list) or any(type(item) is not int for item in value):
        raise _wrong(one, "a list of token ids", value)
    return value


def _wrong(one: Parameter, wanted: str, value: Any) -> Problem:
    return Problem(400, f"{one.name} must be {wanted}, not {shortened(repr(value))}", parameter=one.name)


def shortened(text: str) -> str:
    """Return a client's text, cut to a length that fits in a message."""
    return text if len(text) <= 100 else text[:99] + "…"


def json_object(body: bytes | bytearray) -> dict[str, Any]:
    """Parse the JSON object in a body. Raises Problem."""
    try:
        value = json.loads(body, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise Problem(400, f"invalid JSON in the request body: {shortened(str(error))}") from None
    if not isinstance(value, dict):
        raise Problem(400, "the request body must be a JSON object")
    return value


# ---- Addresses: parse `/corpus/@17/concordance.csv`, and write the address of the next page.


#: Endings of addresses, with their media types.
FORMATS = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}


@dataclass(frozen=True)
class Address:
    """A parsed path: without the base, unquoted, with the version and the format split off.

    parts : the remaining parts
    version : the number after `@`, or None
    version_name : the text after `@` if it is not a number: the name of a kept version
    format : an ending of `FORMATS`, or None
    """

    parts: tuple[str, ...]
    version: int | None = None
    format: str | None = None
    version_name: str | None = None

    @property
    def first(self) -> str:
        """The first part, or "" if there is none."""
        return self.parts[0] if self.parts else ""


def parameters_of(query: bytes) -> list[tuple[str, str]]:
    """Parse a query string in UTF-8, percent-encoded or not, into names and values. Raises Problem."""
    try:
        return parse_qsl(query.decode(), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise Problem(400, "the parameters of the address are not UTF-8") from None


def address_of(raw: bytes, base: str) -> Address:
    """Parse the raw path of a request. Raises Problem if it is not UTF-8."""
    path = raw.partition(b"?")[0]
    prefix = base.encode()
    if path.startswith(prefix):
        path = path[len(prefix) :]
    elif path + b"/" == prefix:
        path = b""
    else:  # a proxy has removed the base
        path = path.removeprefix(b"/")
    try:
        parts = [unquote_to_bytes(part).decode() for part in path.split(b"/")] if path else []
    except UnicodeDecodeError:
        raise Problem(400, "the address is not UTF-8") from None
    if parts and parts[-1] == "":  # a slash at the end
        parts.pop()
    kind = None
    if parts:
        head, dot, ending = parts[-1].rpartition(".")
        if dot and ending in FORMATS:
            kind = ending
            parts[-1] = head
        if parts[-1] == "":  # `/.json`
            parts.pop()
    version = name = None
    if len(parts) > 1 and parts[1].startswith("@"):
        name = parts.pop(1)[1:]
        if name.isascii() and name.isdigit() and len(name) < 19:
            version, name = int(name), None
    return Address(tuple(parts), version, kind, name)


def written(base: str, address: Address, query: Mapping[str, str]) -> str:
    """Return the address with a query string, relative to the host."""
    parts = list(address.parts)
    if address.version is not None:
        parts.insert(1, f"@{address.version}")
    path = "/".join(quote(part, safe="@") for part in parts)
    ending = "" if address.format is None else f".{address.format}"
    return f"{base}{path}{ending}" + (f"?{urlencode(query)}" if query else "")


def base_of(url: str) -> str:
    """Return the path that all addresses begin with: `/corpora/` for `https://a.org/corpora`."""
    path = url.partition("://")[2] or url
    if "://" in url:
        path = "/" + path.partition("/")[2]
    path = path.strip("/")
    return f"/{path}/" if path else "/"


# ---- The questions that have an address below a corpus, and the parameters that all of them share.


QUESTIONS: dict[str, Request] = {route: request_named(route) for route in ROUTES}

LIMIT = Parameter("limit", "integer", "rows of an answer", least=0)
OFFSET = Parameter("offset", "integer", "rows to skip")
TIMEOUT = Parameter("timeout", "number", "time limit in seconds; at most the limit of the server")
#: Parameters of the address of a statement's next page: they identify the rows of the previous pages.
PAGED_VERSION = Parameter("version", "integer", "the version that the previous pages were read from")
PAGED_SEED = Parameter("seed", "integer", "the seed with which the previous pages were sampled")
COMMON = (LIMIT, OFFSET, TIMEOUT)
DATABASE = Parameter("db", "text", "the database, if the server has several")
CORPUS = Parameter("corpus", "text", "the corpus of a statement without FROM")
OF_STATEMENTS = (DATABASE, CORPUS, *COMMON, PAGED_VERSION, PAGED_SEED)

"""Addresses: `/corpus/@17/concordance.csv` taken apart, and put together for the next page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote_to_bytes, urlencode

from ngramdb.serve.problem_details import Problem

#: Endings of addresses, and what is sent under them.
FORMATS = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}


@dataclass(frozen=True)
class Address:
    """The parts of a path: without the base, unquoted, the version and the ending of the last one apart.

    parts : the others
    version : the number after `@`, or None
    version_name : what is after `@` if it is not a number: the name of a version that is kept
    format : an ending of `FORMATS`, or None
    """

    parts: tuple[str, ...]
    version: int | None = None
    format: str | None = None
    version_name: str | None = None

    @property
    def first(self) -> str:
        """The first part, "" where there is none."""
        return self.parts[0] if self.parts else ""


def parameters_of(query: bytes) -> list[tuple[str, str]]:
    """Names and values of a query string as it was sent: UTF-8, quoted or not. Raises Problem."""
    try:
        return parse_qsl(query.decode(), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise Problem(400, "the parameters of the address are not UTF-8") from None


def address_of(raw: bytes, base: str) -> Address:
    """The address of a request's path as it was sent. Raises Problem for one that is not UTF-8."""
    path = raw.partition(b"?")[0]
    prefix = base.encode()
    if path.startswith(prefix):
        path = path[len(prefix) :]
    elif path + b"/" == prefix:
        path = b""
    else:  # a proxy has taken the base off
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
    """The address with a query string, relative to the host."""
    parts = list(address.parts)
    if address.version is not None:
        parts.insert(1, f"@{address.version}")
    path = "/".join(quote(part, safe="@") for part in parts)
    ending = "" if address.format is None else f".{address.format}"
    return f"{base}{path}{ending}" + (f"?{urlencode(query)}" if query else "")


def base_of(url: str) -> str:
    """The path that all addresses begin with: `/corpora/` of `https://a.org/corpora`."""
    path = url.partition("://")[2] or url
    if "://" in url:
        path = "/" + path.partition("/")[2]
    path = path.strip("/")
    return f"/{path}/" if path else "/"

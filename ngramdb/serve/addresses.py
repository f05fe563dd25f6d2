"""Addresses: parse `/corpus/@17/concordance.csv`, and write the address of the next page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote_to_bytes, urlencode

from ngramdb.serve.problem_details import Problem

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

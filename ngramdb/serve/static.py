"""The files of the page: exactly those in the folder `static`."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from starlette.responses import Response

from ngramdb.serve.addresses import Address
from ngramdb.serve.problem_details import Problem

FOLDER = Path(__file__).parent / "static"
PAGE = "index.html"
#: The placeholder in the page for the base path, so that its links work.
BASE = "{{base}}"


@lru_cache(maxsize=1)
def _files() -> dict[str, Path]:
    """Return every file by its path below the folder. Addresses are only keys of it, never used as paths."""
    return {str(path.relative_to(FOLDER)): path for path in sorted(FOLDER.rglob("*")) if path.is_file()}


@lru_cache(maxsize=64)
def _contents(path: Path, changed_ns: int) -> tuple[bytes, bytes, str]:
    """Return a file's content, compressed content and tag; `changed_ns` is part of the cache's key."""
    plain = path.read_bytes()
    return plain, gzip.compress(plain, mtime=0), f'"{hashlib.sha256(plain).hexdigest()[:20]}"'


def static_file(address: Address, headers: Mapping[str, str]) -> Response:
    """Return a file by its address, compressed if the client accepts it. Raises Problem if it is missing."""
    name = "/".join(address.parts[1:]) + ("" if address.format is None else f".{address.format}")
    path = _files().get(name)
    if path is None:
        raise Problem(404, "no such file", type="NotFound")
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    plain, small, tag = _contents(path, path.stat().st_mtime_ns)
    said = {"cache-control": "no-cache", "etag": tag, "vary": "Accept-Encoding"}
    if tag in headers.get("if-none-match", ""):
        return Response(status_code=304, headers=said)
    if "gzip" in headers.get("accept-encoding", ""):
        return Response(small, media_type=kind, headers={**said, "content-encoding": "gzip"})
    return Response(plain, media_type=kind, headers=said)


def page_file(base: str) -> Response | None:
    """Return the page, which is the same at all addresses, or None if it is not installed."""
    path = _files().get(PAGE)
    if path is None:
        return None
    text = path.read_text(encoding="utf-8").replace(BASE, base)
    headers = {"cache-control": "no-cache", "vary": "Accept"}
    return Response(text, media_type="text/html", headers=headers)

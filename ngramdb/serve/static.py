"""The files of the page: everything in the folder `static`, and nothing else."""

from __future__ import annotations

import mimetypes
from functools import lru_cache
from pathlib import Path

from starlette.responses import Response

from ngramdb.serve.addresses import Address
from ngramdb.serve.problems import Problem

FOLDER = Path(__file__).parent / "static"
PAGE = "index.html"
#: What the page's first line says of where it stands, so that its own links work below a base.
BASE = "{{base}}"


@lru_cache(maxsize=1)
def _files() -> dict[str, Path]:
    """Every file by its path below the folder; addresses are looked up in it, and never made paths of."""
    return {str(path.relative_to(FOLDER)): path for path in sorted(FOLDER.rglob("*")) if path.is_file()}


def static_file(address: Address) -> Response:
    """A file by its address. Raises Problem where there is none."""
    name = "/".join(address.parts[1:]) + ("" if address.format is None else f".{address.format}")
    path = _files().get(name)
    if path is None:
        raise Problem(404, "there is no such file", type="NotFound")
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Response(path.read_bytes(), media_type=kind, headers={"cache-control": "no-cache"})


def page_file(base: str) -> Response | None:
    """The page, which is the same at all addresses; None where it is not installed."""
    path = _files().get(PAGE)
    if path is None:
        return None
    text = path.read_text(encoding="utf-8").replace(BASE, base)
    headers = {"cache-control": "no-cache", "vary": "Accept"}
    return Response(text, media_type="text/html", headers=headers)

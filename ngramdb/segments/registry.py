"""The kinds of segments: how the segment that a manifest entry names is opened.

An entry's file is a container of the database, whatever the kind; a kind whose data lies elsewhere keeps
there what it needs to find it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ngramdb.errors import FormatVersionError
from ngramdb.segments.base import Segment
from ngramdb.segments.container import NATIVE, Container
from ngramdb.segments.far_index import KIND
from ngramdb.segments.segment import NativeSegment

__all__ = ["Kind", "kind_named", "register"]


class Kind(NamedTuple):
    """A kind of segments.

    `name` is the one in manifests: small letters, digits and hyphens; `container` the four letters of its
    files. `open(container, path, doc_id_offset)` makes the segment, whose ids include the offset; it may
    raise CorruptionError.
    """

    name: str
    container: str
    open: Callable[[Container, str, int], Segment]


_KINDS = {NATIVE: Kind(NATIVE, KIND, NativeSegment)}


def register(kind: Kind) -> None:
    """Make a kind known to this process. Raises ValueError when another one has its name."""
    if _KINDS.setdefault(kind.name, kind) != kind:
        raise ValueError(f"there is another kind of segments named {kind.name!r}")


def kind_named(name: str, path: str) -> Kind:
    """Return the kind of the segment at `path`. Raises FormatVersionError if it is unknown."""
    kind = _KINDS.get(name)
    if kind is None:
        known = ", ".join(sorted(_KINDS))
        raise FormatVersionError(
            f"{path}: this segment is of the kind {name!r}, and this ngramdb knows {known}; "
            "use an ngramdb that knows it",
            path=path,
            found=name,
            supported=tuple(sorted(_KINDS)),
        )
    return kind

"""Whether files are suited to what a load asks for, by their formats: nothing is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ngramdb.errors import InvalidArgument
from ngramdb.formats import OF_SOME, REGISTRY, named
from ngramdb.ingest.sources import Source


def check_options(options: Mapping[str, Any], sources: Sequence[Source]) -> None:
    """Raise InvalidArgument for an option that the format of no file takes: it would do nothing.

    Where files are of several formats, it is enough that one of them takes it.
    """
    for name, what in OF_SOME.items():
        if options.get(name) is None or any(name in named(source.format).options for source in sources):
            continue
        title = named(sources[0].format).title
        verb = "have" if title.endswith("s") else "has"
        takers = ", ".join(one.name for one in REGISTRY if name in one.options)
        raise InvalidArgument(
            f"{sources[0].label} is read as {title}, which {verb} no {what}; "
            f"{name} goes with the formats {takers}"
        )


def have_fields(sources: Sequence[Source]) -> bool:
    """Whether the documents of all files have fields, so that one may be token ids."""
    return all(named(source.format).has_fields for source in sources)

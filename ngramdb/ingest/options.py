"""The options of readers, checked once before anything is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ngramdb.errors import InvalidArgument
from ngramdb.formats import OF_SOME, REGISTRY, named
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import Limits
from ngramdb.limits import MAX_TOKEN_ID

ON_ERROR = ("fail", "skip")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options of reading documents.

    text_field : str | None - path of the field (or column) with the text: "text", "article.body"; None reads
    rows of labels, all of whose fields are metadata (`ngramdb.ingest.labels`).
    ids_field : str | None - path of a field with token ids, which is then read instead of the text.
    ids_instead : str | None - path of the field with token ids if a line has no `ids_field`.
    n_ids : int - token ids are below this number: the size of the vocabulary that they come from.
    metadata : tuple of paths | None - the fields to keep beside the text; () keeps none, None keeps all.
    separator : str | None - the line between two documents (text); None: a file is a document.
    dtype : str | None - the type of ids in files of token ids that lack this information.
    quotes : bool - True if fields of tables as text may be in double quotes.
    limit : int | None - the most documents to read, over all files.
    on_error : "fail" | "skip" - whether a document that cannot be read ends the load or is counted and left
    out.
    of_many : bool - the files are some of more, so that with "skip" none of them is the only one.
    """

    text_field: str | None = "text"
    ids_field: str | None = None
    ids_instead: str | None = None
    n_ids: int = MAX_TOKEN_ID + 1
    metadata: tuple[str, ...] | None = None
    separator: str | None = None
    dtype: str | None = None
    quotes: bool = True
    limit: int | None = None
    on_error: str = "fail"
    of_many: bool = False
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.on_error not in ON_ERROR:
            raise InvalidArgument(
                f"unknown on_error {self.on_error!r}; use {' or '.join(map(repr, ON_ERROR))}"
            )
        if self.limit is not None and self.limit < 0:
            raise InvalidArgument(f"limit must be a number of documents, at least 0, not {self.limit}")
        if isinstance(self.metadata, str):
            raise InvalidArgument(f"metadata is the string {self.metadata!r}; give a tuple of field paths")
        if self.separator is not None and "\n" in self.separator:
            raise InvalidArgument(
                f"separator must be a whole line without its line feed, not {self.separator!r}"
            )
        if self.limits.document_bytes < 1 or self.limits.expansion < 1:
            raise InvalidArgument(f"limits of reading must be at least 1; found {self.limits}")


# ---- Checks that a load's options fit the formats of its files; no file is opened.


def check_options(options: Mapping[str, Any], sources: Sequence[Source]) -> None:
    """Raise InvalidArgument for an option that the format of no file takes: it would do nothing.

    If files have several formats, it is enough that one of them has the option.
    """
    for name, what in OF_SOME.items():
        if options.get(name) is None or any(name in named(source.format).options for source in sources):
            continue
        title = named(sources[0].format).title
        verb = "have" if title.endswith("s") else "has"
        takers = ", ".join(one.name for one in REGISTRY if name in one.options)
        raise InvalidArgument(
            f"{sources[0].label} is read as {title}, which {verb} no {what}; "
            f"{name} applies to the formats {takers}"
        )


def have_fields(sources: Sequence[Source]) -> bool:
    """Return True if the documents of all files have fields, so that one may be token ids."""
    return all(named(source.format).has_fields for source in sources)

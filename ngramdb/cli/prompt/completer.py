"""Completion for prompt_toolkit: its completer over `complete`."""

from __future__ import annotations

from collections.abc import Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from ngramdb.cli.prompt.catalog import Catalog
from ngramdb.cli.prompt.completion import complete


class StatementCompleter(Completer):
    """What can be typed next. At an empty prompt only for those who ask with Tab."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Candidates as prompt_toolkit takes them. Runs in a thread beside the keys: it may take a while."""
        text, cursor = document.text, document.cursor_position
        if not complete_event.completion_requested and not _wanted_while_typing(document):
            return
        for candidate in complete(text, cursor, self._catalog):
            if candidate.text == text[candidate.start : cursor]:
                continue
            yield Completion(
                candidate.text,
                start_position=candidate.start - cursor,
                display=candidate.shown or candidate.text,
                display_meta=candidate.about,
                style=f"class:ngramdb.menu.{candidate.kind}",
            )


def _wanted_while_typing(document: Document) -> bool:
    """Not where nothing has been typed, and not between two lines of a statement."""
    return bool(document.current_line_before_cursor.strip())

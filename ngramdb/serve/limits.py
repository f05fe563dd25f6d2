"""What one request may take, and what `--setting` changes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from ngramdb.api import Connection
from ngramdb.errors import InvalidArgument

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """The limits of a service.

    time_limit : seconds that a statement may take; a client may ask for less
    rows, max_rows : rows of an answer when none are asked for, and the most that may be asked for
    max_answer : bytes of text in an answer, about; more rows follow on the next page
    max_body : bytes of a request's body
    max_batch : n-grams of a batch
    all_bodies : bytes of the bodies of all requests in progress
    body_timeout : seconds in which a request's body has to arrive
    head_timeout : seconds in which a request's head has to arrive
    connections : open connections; if there are more, the one that has been idle longest is closed
    statements : how many run at a time
    waiting : how many may wait for them; others are turned away
    """

    time_limit: float = 1.0
    rows: int = 100
    max_rows: int = 1000
    max_answer: int = 16 * MEGABYTE
    max_body: int = 32 * MEGABYTE
    max_batch: int = 5_000_000
    all_bodies: int = 256 * MEGABYTE
    body_timeout: float = 10.0
    head_timeout: float = 10.0
    connections: int = 500
    statements: int = max(4, 2 * (os.cpu_count() or 1))
    waiting: int = 64


#: Settings of ngramdb that make sense for all who ask; `timeout` is `time_limit` here.
OF_THE_DATABASE = ("disabled_rules", "match", "prewarm", "threads")
NAMES = tuple(one.name for one in fields(Limits))


def settings_of(
    pairs: Iterable[tuple[str, str]], usual: Limits | None = None
) -> tuple[Limits, dict[str, str]]:
    """The limits, and the settings of the database, that `--setting NAME VALUE` gives.

    `usual` has those that are not given.

    Raises
    ------
    InvalidArgument
        No such setting, or a value that is no number above 0.
    """
    chosen: dict[str, Any] = {}
    others = {}
    for name, text in pairs:
        if name in OF_THE_DATABASE:
            others[name] = text
        elif name in NAMES:
            chosen[name] = _number(name, text, type(getattr(Limits, name)))
        else:
            raise InvalidArgument(f"no setting {name!r}; known: {', '.join((*NAMES, *OF_THE_DATABASE))}")
    limits = replace(usual or Limits(), **chosen)
    if limits.rows > limits.max_rows:
        limits = replace(limits, rows=limits.max_rows)
    return limits, others


def apply_settings(connection: Connection, limits: Limits, others: dict[str, str]) -> None:
    """Put a connection under the same limits: what runs without a statement's token obeys them, too."""
    connection.settings["timeout"] = limits.time_limit
    for name, text in others.items():
        connection.settings[name] = int(text) if text.isdigit() else text


def _number(name: str, text: str, kind: type) -> int | float:
    least = 0 if name == "waiting" else 1 if kind is int else 0.001
    try:
        value = kind(text.replace("_", ""))
    except ValueError:
        value = math.nan
    if not least <= value < 1e12:
        raise InvalidArgument(f"{name} is a number of at least {least}, not {text!r}")
    number: int | float = value
    return number

"""The connection that a corpus belongs to, which corpora do not give."""

from __future__ import annotations

from ngramdb.api.connection import Connection


def connection_of(corpus):
    return Connection(corpus._bound.database)

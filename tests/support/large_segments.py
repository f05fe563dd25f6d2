"""Segments written as large ones are, of any size: what several folders of tests share."""

from __future__ import annotations

import contextlib

import pytest

from ngramdb.segments import builder, merged_arrays
from ngramdb.segments.container.writer import LaterSection


@contextlib.contextmanager
def no_room_for_lcps(is_so):
    """While it lasts, segments are written as those of more than 2**27 symbols are: LCPs beside rows."""
    with pytest.MonkeyPatch.context() as patch:
        if is_so:
            patch.setattr(builder, "lcp_width_for", lambda _: 0)
            patch.setattr(merged_arrays, "lcp_width_for", lambda _: 0)
            patch.setattr(LaterSection, "IN_MEMORY", 5)
        yield

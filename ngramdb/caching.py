"""`cached_property` without a lock, as in Python from 3.12 on.

Before that all objects of a class share one lock while a value is computed: threads wait for each other,
even for different objects, and a process forked meanwhile waits forever. Without the lock two threads may
compute a value at once; one of the two is kept.
"""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TYPE_CHECKING

if not TYPE_CHECKING and sys.version_info < (3, 12):
    from contextlib import nullcontext

    class cached_property(cached_property):  # noqa: N801
        """See the module."""

        def __init__(self, func):
            super().__init__(func)
            self.lock = nullcontext()


__all__ = ["cached_property"]

"""What a process has used, asked of itself: also by actors of Ray, which import this module."""

from __future__ import annotations

import os


def cpu_s(_: object = None) -> float:
    """CPU time of the process so far, of the system's too, in seconds."""
    times = os.times()
    return times.user + times.system

"""Progress lines of a run."""

from __future__ import annotations

import sys
import time


def say(text: str) -> None:
    """One line on standard error, with the time of day."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)

"""Records of the logger `ngramdb` of Python's `logging`, for applications that configure it."""

from __future__ import annotations

import sys

NAME = "ngramdb"
DEBUG, INFO, WARNING = 10, 20, 30


def record(level: int, message: str, *values: object) -> None:
    """Log a message with %-style values. A no-op if `logging` is not imported, since no handler exists."""
    if "logging" not in sys.modules:
        return
    import logging

    logger = logging.getLogger(NAME)
    if not logger.handlers:  # otherwise Python prints warnings without a handler
        logger.addHandler(logging.NullHandler())
    logger.log(level, message, *values, stacklevel=2)

"""What holds for all tests."""

from __future__ import annotations

import os
import signal

import pytest
from writes import Writes


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="replace what golden files and examples on pages expect by what is printed now",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Ctrl-C reaches the tests and the programs they start, also where a shell began them in the background:
    it then has the signal ignored, and children inherit that.
    """
    if config.getoption("--rewrite"):
        os.environ["NGRAMDB_REWRITE"] = "1"
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def writes() -> Writes:
    return Writes()

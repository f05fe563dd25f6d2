"""What holds for all tests."""

from __future__ import annotations

import signal

import pytest
from writes import Writes


def pytest_configure() -> None:
    """Ctrl-C reaches the tests and the programs they start, also where a shell began them in the background:
    it then has the signal ignored, and children inherit that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def writes() -> Writes:
    return Writes()

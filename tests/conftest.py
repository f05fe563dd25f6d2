"""What holds for all tests."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings
from plain_kind import PlainSegment
from writes import Writes

from ngramdb.segments import registry
from ngramdb.segments.far_index import KIND
from ngramdb.segments.registry import Kind


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="replace what golden files and examples on pages expect by what is printed now",
    )
    parser.addoption(
        "--plain",
        action="store_true",
        help="open every segment as one of the plain kind (tests/plain_kind.py): slow, and what looks into "
        "the native kind's arrays fails",
    )
    parser.addoption(
        "--ray",
        action="store_true",
        help="have actors of Ray as the members of crews (tests/crews.py), where tests ask over some: slow",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Ctrl-C reaches the tests and the programs they start, also where a shell began them in the background:
    it then has the signal ignored, and children inherit that.
    """
    if config.getoption("--rewrite"):
        os.environ["NGRAMDB_REWRITE"] = "1"
    if config.getoption("--ray"):
        os.environ["NGRAMDB_TEST_RAY"] = "1"
    if config.getoption("--plain"):
        registry._KINDS["native"] = Kind("native", KIND, PlainSegment)
    signal.signal(signal.SIGINT, signal.default_int_handler)


# An example that takes long on a busy machine is no failure.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
# For a second and third Python: what a property finds there, it finds in few examples (.ci/run).
settings.register_profile("few", max_examples=10, deadline=None)


@pytest.fixture
def writes() -> Writes:
    return Writes()

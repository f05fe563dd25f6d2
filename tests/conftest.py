"""Configuration of all tests."""

from __future__ import annotations

import os
import signal
import sys

import pytest
from hypothesis import HealthCheck, settings
from support.plain_kind import PlainSegment
from support.writes import Writes

from ngramdb.segments import segment
from ngramdb.segments.far_index import KIND
from ngramdb.segments.segment import Kind


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="replace what golden files and examples on pages expect by what is printed now",
    )
    parser.addoption(
        "--plain",
        action="store_true",
        help="open every segment as one of the plain kind (tests/support/plain_kind.py): slow, and "
        "what looks into the native kind's arrays fails",
    )
    parser.addoption(
        "--ray",
        action="store_true",
        help="have actors of Ray as the members of crews (tests/support/crews.py): slow",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C reach the tests and the programs they start, even if a shell started them in the background:
    it then has the signal ignored, and children inherit that.
    """
    if sys.dont_write_bytecode:
        _keep_bytecode_apart(str(config.rootpath / ".pytest_cache" / "bytecode"))
    if config.getoption("--rewrite"):
        os.environ["NGRAMDB_REWRITE"] = "1"
    if config.getoption("--ray"):
        os.environ["NGRAMDB_TEST_RAY"] = "1"
    if config.getoption("--plain"):
        segment._KINDS["native"] = Kind("native", KIND, PlainSegment)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _keep_bytecode_apart(folder: str) -> None:
    """Have compiled modules kept outside the tree if they must not be kept in it. Tests start hundreds of
    processes of Python; each would compile all that it imports, which is two thirds of its time.
    """
    sys.dont_write_bytecode, sys.pycache_prefix = False, folder
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = folder


# Percentage of the examples of each property test: `usual` for each change, `few` for a second Python and
# `make quick`, `thorough` for a night. Only the last draws other examples each time, so that a change that
# passed once passes again. An example that takes long on a busy machine is not a failure.
SHARES = {"few": 10, "usual": 25, "thorough": 1000}
for name in SHARES:
    settings.register_profile(
        name,
        deadline=None,
        derandomize=name != "thorough",
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("usual")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Scale the numbers of examples by the profile."""
    share = SHARES[config.getoption("--hypothesis-profile") or "usual"]
    tests = {id(test): test for test in (getattr(item, "obj", None) for item in items)}
    for test in tests.values():
        asked = getattr(test, "_hypothesis_internal_use_settings", None)
        if asked is not None:
            test = getattr(test, "__func__", test)
            test._hypothesis_internal_use_settings = settings(
                asked,
                deadline=None,
                max_examples=max(1, asked.max_examples * share // 100),
                suppress_health_check=[*asked.suppress_health_check, HealthCheck.too_slow],
            )


@pytest.fixture
def writes() -> Writes:
    return Writes()

"""A forked child does not wait for what threads of its parent have left undone.

Each of these runs in a process of its own (alone.py).
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.alone import run_alone, status_of_child

from ngramdb import fork_safety

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

# A module whose import by a thread of the parent ends on demand.
SLOW = """
import events
events.begun.set()
if not events.is_child:
    events.is_over.wait()
value = 7
"""
EVENTS = "import threading\nbegun, is_over, is_child = threading.Event(), threading.Event(), False\n"


@contextmanager
def slow_import(folder, name="slow"):
    """While a thread imports the module `slow`, or one that imports it; gives the module `events`."""
    Path(folder, "slow.py").write_text(SLOW)
    Path(folder, "events.py").write_text(EVENTS)
    sys.path.insert(0, folder)
    events = importlib.import_module("events")
    thread = threading.Thread(target=importlib.import_module, args=(name,))
    thread.start()
    events.begun.wait()
    try:
        yield events
    finally:
        events.is_over.set()
        thread.join()


def import_that_never_ends(folder):
    fork_safety._IMPORTS_S = 0.02
    with slow_import(folder) as events:

        def in_child():
            events.is_child = True
            assert importlib.import_module("slow").value == 7

        assert status_of_child(in_child) == 0
    assert importlib.import_module("slow").value == 7


def test_a_child_imports_what_a_thread_of_its_parent_was_importing(tmp_path):
    run_alone(import_that_never_ends, tmp_path)


def package_with_a_finished_part(folder):
    fork_safety._IMPORTS_S = 0.02
    Path(folder, "package").mkdir()
    Path(folder, "package", "__init__.py").write_text("from package.part import value\nimport slow\n")
    Path(folder, "package", "part.py").write_text("value = 7\n")
    with slow_import(folder, "package") as events:

        def in_child():
            events.is_child = True
            assert importlib.import_module("slow").value == 7
            with pytest.raises(ImportError):
                importlib.import_module("package")

        assert status_of_child(in_child) == 0
    assert importlib.import_module("package").part.value == 7


def test_a_package_that_would_lack_its_parts_is_an_error_in_the_child(tmp_path):
    run_alone(package_with_a_finished_part, tmp_path)


def program_that_is_an_import(folder):
    fork_safety._IMPORTS_S = 0.02
    Path(folder, "program.py").write_text(
        "import threading, sys\n"
        "from support.alone import status_of_child\n"
        "def in_child():\n"
        "    import program\n"
        "    assert program is sys.modules['program'] and not hasattr(program, 'statuses')\n"
        "found = []\n"
        "thread = threading.Thread(target=lambda: found.append(status_of_child(in_child)))\n"
        "thread.start()\n"
        "thread.join()\n"
        "statuses = found\n"
    )
    sys.path.insert(0, folder)
    assert importlib.import_module("program").statuses == [0]


def test_what_the_main_thread_imports_stays_as_far_as_it_has_come(tmp_path):
    run_alone(program_that_is_an_import, tmp_path)


def import_that_ends_soon(folder):
    fork_safety._IMPORTS_S = 60.0
    with slow_import(folder) as events:
        threading.Timer(0.1, events.is_over.set).start()
        assert status_of_child(lambda: sys.modules["slow"].value) == 0


def test_a_fork_waits_for_imports_of_other_threads(tmp_path):
    run_alone(import_that_ends_soon, tmp_path)


def lock_that_is_held():
    lock = fork_safety.lock()
    held, is_over = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            is_over.wait()

    def in_child():
        assert lock.acquire(timeout=60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    status = status_of_child(in_child)
    is_over.set()
    thread.join()
    assert status == 0


def test_locks_that_others_held_are_free_in_a_child():
    run_alone(lock_that_is_held)

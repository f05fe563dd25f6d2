"""Functions of test modules that run in a Python of their own.

For what forks: the children of a process of the test run would inherit all that other tests have left there,
and a process that crashes takes the rest of its tests along.
"""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

_RUN = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("test_module", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
getattr(module, sys.argv[2])(*sys.argv[3:])
"""


def run_alone(function: Callable[..., None], *arguments: object) -> None:
    """Call a function of a module with arguments, as str, in another process; it fails as that does."""
    done = subprocess.run(
        [
            *(sys.executable, "-X", "faulthandler", "-W", "ignore::DeprecationWarning", "-c", _RUN),
            *(function.__code__.co_filename, function.__name__, *map(str, arguments)),
        ],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def status_of_child(in_child: Callable[[], object]) -> int:
    """Return the exit status of a forked child that runs a function; if it hangs, the child prints where."""
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1]
    try:
        faulthandler.dump_traceback_later(120, exit=True)
        in_child()
        os._exit(0)
    finally:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        os._exit(3)

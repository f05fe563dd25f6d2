"""Ray itself: whether it is there, and a connection to it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ngramdb.errors import ExecutionError, NotSupportedError
from ngramdb.lazy import lazy_module

ray = lazy_module("ray")


def require_ray() -> None:
    """Raises NotSupportedError where Ray is not installed."""
    try:
        ray.__version__  # noqa: B018 - imports it
    except ModuleNotFoundError as error:
        raise NotSupportedError(
            "a cluster takes a library that is not installed: pip install 'ngramdb[ray]'"
        ) from error


def begin(address: str | None) -> bool:
    """Connect to Ray, unless there is a connection; whether this one is ours to end.

    address : that of a Ray cluster; None starts one on this machine

    Raises ExecutionError where there is none.
    """
    if ray.is_initialized():
        return False
    own = {"include_dashboard": False, "logging_level": "error", "log_to_driver": False}
    try:
        ray.init(address=address, **(own if address is None else {}))
    except Exception as error:  # each kind of address has errors of its own
        raise ExecutionError(f"cannot connect to Ray at {address or 'this machine'}: {error}") from error
    return True


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[None]:
    """A connection to Ray, unless there is one; it ends with the block."""
    is_own = begin(address)
    try:
        yield
    finally:
        if is_own:
            ray.shutdown()


def n_cores() -> int:
    """How many cores the cluster has."""
    return max(int(ray.cluster_resources().get("CPU", 1)), 1)

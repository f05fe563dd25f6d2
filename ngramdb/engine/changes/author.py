"""Who writes, for versions and audit records."""

from __future__ import annotations

from functools import cache


@cache
def author() -> str:
    """user@host, as far as the system knows them; "" where it does not."""
    import getpass
    import socket

    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # no such user in the system's list, as in some containers
        user = ""
    try:
        host = socket.gethostname()
    except OSError:
        host = ""
    # What cannot be written as UTF-8 must not make a commit fail.
    name = f"{user}@{host}" if user and host else user or host
    return name.encode("utf-8", "replace").decode("utf-8")

"""The exceptions as attributes of connections, as required by PEP 249 for code that imports no module."""

from __future__ import annotations

from ngramdb import errors


class HasErrors:
    """A connection, local or to a server."""

    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    OperationalError = errors.OperationalError
    ProgrammingError = errors.ProgrammingError
    IntegrityError = errors.IntegrityError
    DataError = errors.DataError
    InternalError = errors.InternalError
    NotSupportedError = errors.NotSupportedError

"""Dataclasses whose methods are created when a class gets its first object.

The standard library compiles up to six methods per class, which takes 0.3 ms before Python 3.13. There
are many classes of syntax and of plans, and a statement creates objects of few of them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(**options: Any) -> Callable[[type], type]:
        """Do what `dataclasses.dataclass` does, with the same options, when the class is first used.

        Not for classes whose objects are pickled: unpickling does not call `__init__`.
        """
        return lambda cls: _postponed(cls, options)


# Held while a class is changed, and while the process forks, so that no child gets a half-changed class.
_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class _Fields:
    """Replaces `__dataclass_fields__`: creates everything except `__init__` when the fields are needed.

    They are needed by `dataclasses.fields`, and by classes derived from this one.
    """

    def __init__(self, cls: type, options: dict[str, Any]) -> None:
        self._cls = cls
        self._options = options

    def __get__(self, _: object, owner: type) -> Any:
        from dataclasses import dataclass as standard

        with _lock:
            if self._cls.__dict__["__dataclass_fields__"] is self:
                standard(**self._options, init=False)(self._cls)
        return owner.__dataclass_fields__  # type: ignore[attr-defined]


def _postponed(cls: type, options: dict[str, Any]) -> type:
    def first(self: Any, *args: Any, **kwargs: Any) -> None:
        from dataclasses import dataclass as standard
        from dataclasses import fields

        fields(cls)
        # A derived class without fields of its own has the same `__init__`. One assignment puts it in place:
        # other threads find either of the two, and both work.
        bare = type(cls.__name__, (cls,), {"__qualname__": cls.__qualname__, "__module__": cls.__module__})
        derived: Any = standard(**{**options, "eq": False, "repr": False})(bare)
        cls.__init__ = derived.__init__  # type: ignore[misc]
        self.__init__(*args, **kwargs)

    cls.__init__ = first  # type: ignore[misc]
    cls.__dataclass_fields__ = _Fields(cls, options)  # type: ignore[attr-defined]
    return cls

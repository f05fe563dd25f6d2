"""Classes whose methods are made late are what the standard library's dataclasses are."""

from __future__ import annotations

import dataclasses
import inspect
import os
import pickle
import threading
from dataclasses import field
from types import SimpleNamespace

import pytest

from ngramdb import lazy


def family(dataclass):
    """Classes of every kind, made by one of the two decorators."""

    @dataclass(frozen=True, kw_only=True)
    class Node:
        span: int | None = field(default=None, compare=False, repr=False)

    @dataclass(frozen=True)
    class Pair(Node):
        left: int
        right: list[int] = field(default_factory=list)

    @dataclass(frozen=True)
    class Marked(Pair):
        mark: str = "x"

        def __repr__(self) -> str:
            return "marked"

    @dataclass(frozen=True, eq=False)
    class Checked(Node):
        size: int

        def __post_init__(self) -> None:
            if self.size < 0:
                raise ValueError("negative")

    @dataclass()
    class Open:
        value: int = 0
        values: tuple[int, ...] = ()

    class Plain(Pair):
        pass

    class Own(Pair):
        def __init__(self, both: int) -> None:
            super().__init__(both, right=[both])

    return SimpleNamespace(**{name: kind for name, kind in locals().items() if isinstance(kind, type)})


def described(what):
    """Describe the value of a call, or the error that it raises."""
    try:
        return repr(what()).replace("0x", "")
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace("AttributeError: cannot", "cannot")


CALLS = [
    lambda of: of.Node(),
    lambda of: of.Node(span=3).span,
    lambda of: of.Node(3),
    lambda of: of.Pair(1),
    lambda of: of.Pair(1, [2], span=5).span,
    lambda of: of.Pair(),
    lambda of: of.Pair(1) == of.Pair(1, [], span=9),
    lambda of: of.Pair(1) == of.Marked(1),
    lambda of: of.Pair(1).right is of.Pair(1).right,
    lambda of: hash(of.Node(span=1)) == hash(of.Node(span=2)),
    lambda of: hash(of.Pair(1)),
    lambda of: of.Marked(1, [2], "y"),
    lambda of: of.Marked(1, mark="y").mark,
    lambda of: of.Plain(1, [2]).right,
    lambda of: of.Own(1),
    lambda of: of.Open(1, (2,)),
    lambda of: pickle.loads(pickle.dumps(of.Open(5))).value,
    lambda of: setattr(of.Pair(1), "left", 2),
    lambda of: setattr(of.Pair(1), "new", 2),
    lambda of: delattr(of.Marked(1), "left"),
    lambda of: of.Checked(-1),
    lambda of: of.Checked(1) == of.Checked(1),
    lambda of: dataclasses.replace(of.Marked(1), mark="z", span=4).span,
    lambda of: dataclasses.asdict(of.Marked(1)),
    lambda of: [(one.name, one.compare, one.kw_only) for one in dataclasses.fields(of.Marked)],
    lambda of: dataclasses.is_dataclass(of.Marked),
    lambda of: setattr(of.Open(), "value", 2),
    lambda of: of.Open(1) == of.Open(1),
    lambda of: of.Marked.mark,
    lambda of: str(inspect.signature((of.Marked(1), of.Marked)[1])),
]


@pytest.mark.parametrize("call", CALLS)
def test_each_use_of_a_class_is_as_if_it_were_the_first_and_as_the_standard_librarys(call):
    late, standard = family(lazy.dataclass), family(dataclasses.dataclass)
    expected = described(lambda: call(standard))
    assert described(lambda: call(late)) == expected
    assert described(lambda: call(late)) == expected


def test_a_class_of_the_standard_library_can_be_derived():
    @dataclasses.dataclass(frozen=True)
    class Derived(family(lazy.dataclass).Pair):
        more: int = 7

    assert dataclasses.astuple(Derived(1, [2], 3)) == (None, 1, [2], 3)


def test_threads_that_need_a_class_at_once_all_get_it_whole():
    for _ in range(50):
        late = family(lazy.dataclass)
        barrier, made = threading.Barrier(4), []

        def make(late=late, barrier=barrier, made=made):
            barrier.wait()
            made.append((late.Marked(1, [2], "y", span=3), late.Pair(1) == late.Pair(1)))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [(one.mark, one.span, equal) for one, equal in made] == [("y", 3, True)] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_can_make_objects_though_another_thread_held_the_lock():
    holding, forked = threading.Event(), threading.Event()

    def hold():
        with lazy._lock:
            holding.set()
            forked.wait(0.2)  # the fork waits for the lock, so this passes without

    thread = threading.Thread(target=hold)
    thread.start()
    holding.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if family(lazy.dataclass).Pair(1).left == 1 else 1)
    forked.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

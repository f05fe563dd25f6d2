"""The jobs: what each of them measures, what it needs, and up to which size it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from peerbench.figures import INFINIGRAM, TOKENGRAMS

from scalebench import asking, building, working
from scalebench.place import Figures, Place

#: Jobs that measure one of peerbench's figures are called so, and by its title.
QUESTION = "question: "


@dataclass(frozen=True)
class Job:
    """One process's work. `makes` is a database, or folder, that others need; those are in `needs`."""

    work: Callable[[Place], Figures]
    makes: str = ""
    needs: tuple[str, ...] = ("bench",)
    most_tokens: int = 1 << 62


JOBS: dict[str, Job] = {
    "load": Job(building.load, "bench", ()),
    "split": Job(building.split, "split", ()),
    "merge on one core": Job(building.merge_one, needs=("split",)),
    "merge on two cores": Job(building.merge_two, needs=("split",)),
    "merge copied documents": Job(building.copies, needs=(), most_tokens=100_000_000),
    "load texts": Job(building.texts, needs=(), most_tokens=30_000_000),
    "build infini-gram": Job(
        asking.build_infinigram, INFINIGRAM, needs=(), most_tokens=asking.PEERS[INFINIGRAM]
    ),
    "build tokengrams": Job(
        asking.build_tokengrams, TOKENGRAMS, needs=(), most_tokens=asking.PEERS[TOKENGRAMS]
    ),
    "cold count": Job(asking.cold),
    "far index": Job(asking.far),
    "trace": Job(working.trace),
    "ngrams": Job(working.ngrams),
    "kwic": Job(working.kwic),
    "group": Job(working.group),
    "overlap": Job(working.overlap),
    "export": Job(working.export),
    "check": Job(working.check),
    "delete": Job(working.delete, "deleted"),
    "compact": Job(working.compact, needs=("deleted",)),
    "analyze": Job(working.analyze, "analyzed"),
    "score": Job(working.score, needs=("analyzed",)),
}
QUESTIONS = tuple(QUESTION + title for title in asking.QUESTIONS)


def names() -> tuple[str, ...]:
    """All jobs, in an order in which each comes after those that make what it needs."""
    return (*JOBS, *QUESTIONS)

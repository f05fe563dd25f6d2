"""Does jobs in a process of its own: `python -m scalebench.child <JSON>`; keeps what they measure."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from scalebench import asking
from scalebench.jobs import JOBS, QUESTION
from scalebench.place import Place


def main(given: str) -> None:
    asked = json.loads(given)
    place = Place(Path(asked["scratch"]), Path(asked["data"]), asked["n_tokens"])
    names: list[str] = asked["jobs"]
    for name in names:
        if name in JOBS:
            place.keep(name, JOBS[name].work(place))
    titles = [name.removeprefix(QUESTION) for name in names if name.startswith(QUESTION)]
    if titles:
        asking.ask(place, titles, lambda title, figures: place.keep(QUESTION + title, figures))


if __name__ == "__main__":
    main(sys.argv[1])

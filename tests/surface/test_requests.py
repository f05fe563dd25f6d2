"""Random requests to the routes of a corpus: a statement with its values, or an error.

The requests are the same in each run. `recorded/requests.txt` has a line or two for each of them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.recorded import compare

from ngramdb.errors import NgramdbError
from ngramdb.questions.requests import Asked, Parameter
from ngramdb.serve.problem_details import Problem
from ngramdb.serve.requests import QUESTIONS, given

RECORDED = Path(__file__).parent / "recorded"
REQUESTS = 80
#: Values that are tried for each kind of parameter: most of them good ones.
VALUES: dict[str, tuple[Any, ...]] = {
    "text": ("a b", "", "natural", 'the "cat"', 7),
    "integer": ("1", 2, "5", "0", "-1", "many"),
    "number": ("0.5", 1, "-2", "much"),
    "flag": ("1", "no", "true", "perhaps"),
    "ids": ("1, 2", [3], "[]", "one"),
    "lengths": ("2", "2..3", "3..", 4),
}
#: Values for the parameters whose texts have a meaning.
TEXTS = {
    "where": ("year > 1900", '"a b" -- note', "year >"),
    "model": ("ngram order 3", "kneser_ney", "infgram min count 2", "nonsense"),
    "pattern": ('"a" [0..2] "b"', '"a" OR "b"', '"a'),
    "order": ("year, `a,b`", "left"),
    "order_by": ("year", "left"),
    "returning": ("year, `a,b`", "kind"),
    "period": ("10", "month", "0"),
    "by": ("year", "source"),
    "against": ("rest", "year < 1950"),
}
#: Parameters without which a route has nothing to answer.
ALWAYS = {"frequency": {"by": "year, kind"}}


def drawn(rng: random.Random, parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    """A request with some of the parameters, few of them more often than many."""
    share = rng.choice((0.15, 0.3, 0.5))
    return {one.name: rng.choice(tried(one)) for one in parameters if rng.random() < share}


def tried(one: Parameter) -> tuple[Any, ...]:
    if one.choices:
        return (*one.choices, "nonsense")
    return TEXTS.get(one.name, VALUES[one.kind]) if one.kind == "text" else VALUES[one.kind]


def lines_of(name: str) -> Iterator[str]:
    rng = random.Random(name)
    question = QUESTIONS[name]
    for _ in range(REQUESTS):
        values = {**ALWAYS.get(name, {}), **drawn(rng, question.parameters)}
        version, offset = rng.choice((None, None, 3)), rng.choice((0, 0, 5))
        yield f"{name} {json.dumps(values, ensure_ascii=False)} version {version} offset {offset}"
        try:
            checked = given(question.parameters, values)
            planned = question.plan(Asked(checked, "c", version, 20, offset))
        except (Problem, NgramdbError) as error:
            yield f"  error: {error}"
            continue
        statement = planned.statement
        yield f"  {statement.text} {json.dumps(statement.values, ensure_ascii=False)}"
        yield f"  shown {statement.shown}; skipped {planned.skipped}; drawn {question.is_drawn(checked)}"


def test_requests() -> None:
    compare(RECORDED / "requests.txt", "\n".join(line for name in QUESTIONS for line in lines_of(name)))

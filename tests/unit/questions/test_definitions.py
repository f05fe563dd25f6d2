"""Definitions of questions, compared with the verbs that they are about."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import ngramdb
from ngramdb.questions.definition import Definition
from ngramdb.questions.requests import Asked, Condition, Given, Occurring, Switch
from ngramdb.questions.verbs import VERBS, Asking


class Verbs(Asking):
    def count(self, ngram: str, where: str | None = None, *, with_docs: bool = False) -> None: ...


def documented(verb: str) -> set[str]:
    """The names in the section Parameters of a verb's docstring."""
    section = (inspect.getdoc(getattr(ngramdb.Corpus, verb)) or "").partition("Parameters\n----------\n")[2]
    lines = [line for line in section.partition("\n\n")[0].splitlines() if not line.startswith(" ")]
    return {name.strip() for line in lines for name in line.partition(" : ")[0].split(",")}


@pytest.mark.parametrize("verb", VERBS)
def test_docstrings_name_every_parameter(verb: str) -> None:
    taken = set(inspect.signature(getattr(ngramdb.Corpus, verb)).parameters) - {"self"}
    # `params` are always the values of `where`.
    assert documented(verb) | {"params"} == taken | {"params"}


def test_a_definition_is_checked_against_the_signature() -> None:
    with pytest.raises(TypeError, match="count has no parameter whree"):
        Definition(Verbs, "count", "COUNT", "", {"ngram": Occurring(), "whree": Condition()})


def test_clauses_follow_the_order_that_is_written() -> None:
    spelled = {"ngram": Occurring(), "where": Condition(), "with_docs": Switch()}
    found = Definition(
        Verbs,
        "count",
        "COUNT",
        "",
        spelled,
        before_from=2,
        written=("ngram", "with_docs", "where"),
        page="TOP",
    )
    assert [one.name for one in found.parameters] == [
        *("q", "ids", "pattern", "match_text", "ignore_case", "where", "with_docs")
    ]
    values = {**dict.fromkeys(("ids", "pattern")), "match_text": False, "ignore_case": True, "q": "a"}
    given = Given({**values, "where": "n > 1", "with_docs": True})
    planned = found.plan(Asked(given, "c", 3, 10, 5))
    assert planned.statement.text == (
        "COUNT :_1 IGNORE CASE WITH DOCS FROM c AT VERSION 3 WHERE n > 1 TOP 16"
    )
    assert (planned.statement.shown.endswith("TOP 15"), planned.skipped) == (True, 5)


def test_modules_of_questions_are_imported_on_first_use() -> None:
    """Clients of a service need none of them either, and a verb is in the end a method like any other."""
    program = """
import sys, ngramdb
from ngramdb.api.remote import RemoteCorpus
loaded = [name for name in sys.modules if name.startswith("ngramdb.questions.")]
assert not {name.rpartition(".")[2] for name in loaded} & {"collocates", "count", "kwic"}, loaded
assert {"count", "collocates"} <= vars(ngramdb.Corpus).keys() & vars(RemoteCorpus).keys()
corpus = ngramdb.connect().create_corpus("c")
try:
    corpus.collocates("a", windw=3)
except TypeError as error:
    assert str(error).startswith("Corpus.collocates() got an unexpected"), error
assert vars(ngramdb.Corpus)["collocates"] is ngramdb.Corpus.collocates
assert "ngramdb.questions.kwic" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)

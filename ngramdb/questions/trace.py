"""TRACE: the parts of a text that occur in the corpus word for word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ngramdb.language import ast
from ngramdb.lazy import lazy_module
from ngramdb.limits import MAX_INTEGER
from ngramdb.questions import to_ast
from ngramdb.questions.definition import Definition, Help, Tool
from ngramdb.questions.requests import Condition, Number, Passage
from ngramdb.questions.verbs import Asking

if TYPE_CHECKING:
    from ngramdb.executor.results.result import Result
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.plan import Plan
    from ngramdb.planner.scope import Scope
    from ngramdb.questions import trace_plan
    from ngramdb.questions.signatures import Ngram
else:
    trace_plan = lazy_module("ngramdb.questions.trace_plan")


class Verbs(Asking):
    """Verbs of a corpus."""

    def trace(
        self,
        text: Ngram,
        min_length: int = 1,
        *,
        docs: int | None = 10,
        returning: str | Sequence[str] | None = None,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """Return the maximal spans of a text that occur verbatim in the corpus: TRACE.

        Parameters
        ----------
        text : text or token ids
        min_length : minimum number of tokens of a span
        docs : number of documents listed for each span; None for all
        returning : one or several fields of each document, which is then a row of its own
        where, params : condition on documents, as after WHERE

        Returns
        -------
        Columns `start` and `length` (in tokens), `span`, `count`, `doc_ids`; or `doc_id` and fields.

        Raises
        ------
        InvalidArgument
            A number out of range.
        """
        docs = to_ast.at_least(0, "docs", docs)
        tree = ast.Trace(
            to_ast.ngram(text),
            min_length=to_ast.number(1, "min_length", min_length),
            returning=to_ast.fields("returning", returning),
        )
        plan = self._bound.bind(tree, where, params)
        return self._bound.run(replace(plan, n_documents=None if docs is None else min(docs, MAX_INTEGER)))


DEFINITION = Definition(
    Verbs,
    "trace",
    "TRACE",
    "The parts of a text that occur in the corpus word for word: TRACE.",
    {
        "text": Passage("the text"),
        "where": Condition(),
        "min_length": Number("the least number of tokens of a part", least=1),
    },
    tool=Tool(
        "trace_text",
        "The parts of a text that occur in the corpus word for word (where it may have been taken from, or "
        "what a model may have seen): the longest spans, how often each occurs, and documents that have "
        "it. `min_length` leaves out short spans, which occur by chance: 5 or more tokens are a good "
        "beginning.",
    ),
    help=Help(
        "TRACE ngram [WHERE condition] [MIN LENGTH n] [RETURNING fields] [FROM source]",
        ('TRACE "a long text"', "the parts of it that occur in the corpus"),
    ),
)


def bind(scope: Scope, node: ast.Trace) -> Plan:
    """Return the plan of TRACE."""
    from ngramdb.planner import bind_conditions, bind_fields

    corpus = scope.corpus(node.source)
    least = scope.number(node.min_length, "MIN LENGTH", 1)
    passage = scope.passage(node.ngram, corpus)
    where = bind_conditions.among(scope, node.where, corpus)
    returning = bind_fields.returned_fields(scope, node.returning, corpus, beside=True)
    return trace_plan.Tracing(
        corpus, passage, 1 if least is None else least, returning=returning, where=where
    )

"""DOCS and COUNT DOCS: documents that meet a condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ngramdb import bool_arguments
from ngramdb.lazy import lazy_module
from ngramdb.questions.definition import Help, Tool, WrittenByHand
from ngramdb.questions.requests import (
    DESCENDING,
    ORDER_DOCUMENTS,
    PATTERN_PARAMETERS,
    RETURNING,
    SAMPLE,
    SEED,
    WHERE,
    Asked,
    Statement,
    fields_of,
    is_sampled,
    pattern_of,
)
from ngramdb.questions.verbs import Asking

if TYPE_CHECKING:
    from ngramdb.executor.results.result import Result
    from ngramdb.language import ast
    from ngramdb.planner import plan as plans
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.scope import Scope
    from ngramdb.questions import docs_plan, to_ast
else:
    ast = lazy_module("ngramdb.language.ast")
    plans = lazy_module("ngramdb.planner.plan")
    docs_plan = lazy_module("ngramdb.questions.docs_plan")
    to_ast = lazy_module("ngramdb.questions.to_ast")


class Verbs(Asking):
    """Verbs of a corpus."""

    def docs(
        self,
        where: str | None = None,
        *,
        order_by: str | Sequence[str] | None = None,
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
        returning: str | Sequence[str] | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """Return the documents that meet a condition, or all documents: DOCS.

        Parameters
        ----------
        where, params : condition as after WHERE
        order_by : one or several fields; doc_id by default. Documents without the field are last
        descending : reverse the order
        limit, offset : maximum number of rows, and number of rows skipped before them
        returning : one or several columns: fields, `doc_id`, `length`, `text`

        Returns
        -------
        A row per document; `summary['total']` is the exact number, also with a `limit`.

        Raises
        ------
        InvalidArgument
            The limit or the offset is not a whole number of at least 0.
        """
        # Called by the hundred thousand: defaults are not checked.
        if descending is not False:
            descending = bool_arguments.as_flag("descending", descending)
        if order_by is not None or returning is not None:
            keys = to_ast.fields("order_by", order_by) or (to_ast.field("doc_id"),)
            tree = ast.Docs(
                order_by=tuple(ast.OrderBy(key, descending) for key in keys),
                limit=to_ast.number(0, "limit", limit),
                offset=to_ast.number(0, "offset", offset),
                returning=to_ast.fields("returning", returning),
            )
            return self._bound.ask(tree, where, params)
        if limit is not None or type(offset) is not int or offset:
            limit, offset = to_ast.at_least(0, "limit", limit), to_ast.whole(0, "offset", offset)
        view = self._bound.current()
        found, phrases = self._bound.documents(where, params, view)
        return self._bound.run(docs_plan.Documents(view, found, descending, limit, offset, phrases=phrases))

    def count_docs(self, where: str | None = None, *, params: ParameterValues = None) -> int:
        """Return the number of documents that meet a condition: COUNT DOCS.

        Parameters
        ----------
        where, params : condition as after WHERE; by default, all documents are counted
        """
        view = self._bound.current()
        found, phrases = self._bound.documents(where, params, view)
        return self._bound.number(docs_plan.CountDocuments(view, found, phrases=phrases))

    def sample(
        self,
        size: int,
        where: str | None = None,
        *,
        seed: int | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """Draw documents at random from those that meet a condition: DOCS … SAMPLE.

        Parameters
        ----------
        size : number of documents
        where, params : condition as after WHERE; by default, documents are drawn from all
        seed : equal seeds draw equal documents; by default, a seed is drawn, and is in `summary['seed']`
        """
        sample = ast.Sample(to_ast.required(1, "size", size), to_ast.number(0, "seed", seed))
        return self._bound.ask(ast.Docs(sample=sample), where, params)


def _documents(asked: Asked) -> Statement:
    """Return the statement; its condition is the pattern, `where`, or both."""
    given = asked.given
    statement = Statement("DOCS", "DOCS").source(asked.corpus, asked.version)
    ways = [name for name in ("q", "ids", "pattern") if given[name] is not None]
    if ways:
        both = Statement().pattern(pattern_of(given))
        if given.text("where"):
            both = Statement().add("(").join(both).add(") AND (").condition("", given["where"]).add(")")
        statement.add("WHERE").join(both)
    else:
        statement.where(given.text("where"))
    statement.order(fields_of(given["order"]), given["descending"])
    return statement.sample(given["sample"], given["seed"]).returning(fields_of(given["returning"]))


# By hand: the verb `docs` has no pattern beside its condition, and `sample` is a verb of its own.
DEFINITION = WrittenByHand(
    "Documents, those with an n-gram or those that meet a condition: DOCS.",
    (*PATTERN_PARAMETERS, WHERE, ORDER_DOCUMENTS, DESCENDING, SAMPLE, SEED, RETURNING),
    _documents,
    page="LIMIT",
    is_drawn=is_sampled,
    tool=Tool(
        "find_documents",
        "Find documents that contain something (`q`, or `pattern`), or meet a condition on fields "
        "(`where`), or both.",
    ),
    help=Help(
        "DOCS [WHERE condition] [ORDER BY keys] [LIMIT k] [OFFSET n] [SAMPLE k [SEED s]]\n"
        "  [RETURNING fields] [FROM source]",
        ('DOCS WHERE "a b" AND year >= 2020 LIMIT 5', "documents with their metadata and text"),
    ),
)


def bind(scope: Scope, node: ast.Docs) -> plans.Plan:
    """Return the plan of DOCS."""
    from ngramdb.planner import bind_conditions, bind_fields
    from ngramdb.questions.sampling import bind_sample

    corpus = scope.corpus(node.source)
    keys = bind_fields.document_keys(scope, node.order_by, corpus)
    by_id = len(keys) == 1 and keys[0] == plans.FieldKey("doc_id", True, keys[0].descending)
    return docs_plan.Documents(
        corpus,
        bind_conditions.condition(scope, node.where, corpus),
        descending=by_id and keys[0].descending,
        limit=scope.number(node.limit, "LIMIT", 0),
        offset=scope.number(node.offset, "OFFSET", 0) or 0,
        order=() if by_id else keys,
        sample=bind_sample(scope, node.sample),
        returning=bind_fields.returned_fields(scope, node.returning, corpus),
    )


def bind_count(scope: Scope, node: ast.CountDocs) -> plans.Plan:
    """Return the plan of COUNT DOCS: one number, or a row for each group."""
    from ngramdb.planner import bind_conditions

    corpus = scope.corpus(node.source)
    where = bind_conditions.condition(scope, node.where, corpus)
    if node.group_by:
        from ngramdb.questions import count_groups

        return count_groups.bind_documents(scope, node, corpus, where)
    if node.order_by or node.top is not None:
        from ngramdb.questions.count_groups import refuse_order

        refuse_order(scope, node)
    return docs_plan.CountDocuments(corpus, where)

"""PERPLEXITY and AGREEMENT: texts measured under several models, in one table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.executor.result import Result, Row
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.lm.evaluation import BATCH_TOKENS, NO_DISTRIBUTION, score_batch
from ngramdb.lm.group_measures import PerplexityTable
from ngramdb.lm.of_corpora import language_model, note_of
from ngramdb.lm.spec import MAX_ORDER, ModelSpec
from ngramdb.planner.plan import Plan
from ngramdb.planner.scope import Scope
from ngramdb.questions import parsing, to_ast
from ngramdb.questions.definition import Definition, Help
from ngramdb.questions.measured import (
    By,
    Item,
    Measured,
    Texts,
    bind_measured,
    tree_of,
    unit_tree,
)
from ngramdb.questions.plans import SliceQuery
from ngramdb.questions.requests import Condition, Parameter, Spelling, Statement
from ngramdb.questions.verbs import Asking
from ngramdb.registries import MODELS
from ngramdb.source import Corpus as CorpusView
from ngramdb.source import IntArray

if TYPE_CHECKING:
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions.signatures import ModelLike, Ngram
    from ngramdb.questions.verbs import Asking as Corpus

    Orders = str | int | Sequence[int | None] | None

# The columns after model, order and group, and their types.
COLUMNS = {
    "documents": int,
    "tokens": int,
    "unknown": int,
    "unanswered": int,
    "zero": int,
    "perplexity": float,
    "perplexity_known": float,
    "perplexity_nonzero": float,
    "bits_per_token": float,
    "bits_per_byte": float,
}
# Orders of a range: more would be a mistake.
MOST_ORDERS = 1000


class Models(Spelling):
    """Language models, separated by commas."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "text", "language models, as after USING, separated by commas", default),)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        for model in arguments[name].split(","):
            to_ast.as_model(model.strip())
        statement.using(arguments[name])


class ModelOrders(Spelling):
    """Orders, written as in the statement: `1..5, INF`."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "text", "orders of the models, as after ORDERS: 1..5, INF"),)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        orders = orders_tree(arguments[name])
        if orders:
            statement.add("ORDERS " + ", ".join(map(_written, orders)))


def _written(order: Any) -> str:
    if isinstance(order, ast.Lengths):
        return f"{order.low}..{order.high}"
    return "INF" if order is None else str(order.value)


class Verbs(Asking):
    """Verbs of a corpus."""

    def perplexity_table(
        self,
        of: Ngram | Corpus,
        models: ModelLike | Sequence[ModelLike] = "kneser_ney",
        orders: Orders = None,
        *,
        by: str | None = None,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """Measure the perplexity of texts under several models and orders in one table: PERPLEXITY.

        `perplexity` takes any documents, and one model; the numbers are the same.

        Parameters
        ----------
        of : text or token ids; a path object, whose documents are read as by COPY; a corpus of the database
        models : one model or several, each as `prob` takes it
        orders : orders of each model, as text (`"1..5, INF"`) or numbers with None for no limit; without any,
            the models' own
        by : 'documents', 'lines', or what GROUP BY takes (of a corpus): a row for each value
        where, params : the models are of the documents that meet this condition, as `prob` takes them

        Returns
        -------
        A row per model, order and group: `model`, `order` (None without a limit), the group; `documents`,
        `tokens`, `unknown`, `unanswered` (n-gram models after an unseen context), `zero` (of probability 0);
        `perplexity`, also of known words only (`perplexity_known`) and without tokens of probability 0;
        `bits_per_token` and `bits_per_byte`.

        Raises
        ------
        InvalidArgument
            An invalid model or order, a model with an order of its own besides `orders`.
        """
        tree = ast.Perplexity(
            tree_of(self._bound, of),
            models_tree(models),
            orders_tree(orders),
            unit_tree(by),
        )
        return self._bound.ask(tree, where, params)


DEFINITION = Definition(
    Verbs,
    "perplexity_table",
    "PERPLEXITY",
    "The perplexity of texts under several models and orders: PERPLEXITY.",
    {
        "of": Texts(),
        "where": Condition(),
        "models": Models(),
        "orders": ModelOrders(),
        "by": By("documents, lines, or a field of the texts' corpus"),
    },
    help=Help(
        "PERPLEXITY OF texts [FROM source [WHERE condition]] [USING model {, model}]\n"
        "  [ORDERS n | n..m | INF {, …}] [BY DOCUMENTS | LINES | group]",
        ("PERPLEXITY OF test USING KNESER_NEY ORDERS 1..5, INF FROM train", "perplexity by order"),
    ),
)


def models_tree(models: Any) -> tuple[ast.ModelClause, ...]:
    """Return the models of USING for the argument of a verb."""
    given = [models] if isinstance(models, (str, ModelSpec)) else models
    if isinstance(models, str):
        given = models.split(",")
    return tuple(map(_model_tree, given))


def _model_tree(model: Any) -> ast.ModelClause:
    clause = to_ast.model(to_ast.as_model(model))
    # Kinds with a default order get it in `bound_models`, unless ORDERS gives others.
    named = isinstance(model, str) and model.strip().lower() in MODELS
    return ast.ModelClause(clause.kind, min_count=clause.min_count, weight=clause.weight) if named else clause


def orders_tree(orders: Any) -> tuple[Any, ...]:
    """Return ORDERS for the argument of a verb; in text, as in a statement."""
    if isinstance(orders, str):
        tree, *others = parsing.parsed(f'PERPLEXITY OF "a" ORDERS {orders}')[0]
        if not isinstance(tree, ast.Perplexity) or others or tree != _ordered(tree.orders):
            raise InvalidArgument(f"orders must be as in 1..5, INF, not {orders!r}")
        return tree.orders
    if orders is None:
        return ()
    given = orders if isinstance(orders, Iterable) else (orders,)
    return tuple(to_ast.number(1, "orders", one) for one in given)


def _ordered(orders: tuple[Any, ...]) -> ast.Perplexity:
    """Return the tree of the statement that has no other clause."""
    return ast.Perplexity(ast.Measured(ast.Text("a")), orders=orders)


def bind(scope: Scope, node: ast.Perplexity) -> Plan:
    """Bind PERPLEXITY."""
    corpus = scope.corpus(node.source)
    return PerplexityQuery(
        corpus,
        bind_measured(scope, node.of, node.by, corpus),
        bound_models(scope, node, "kneser_ney"),
        where=scope.among(node.where, corpus),
    )


def bound_models(scope: Scope, node: ast.Perplexity | ast.Agreement, default: str) -> tuple[ModelSpec, ...]:
    """Return the models of USING, each with every order of ORDERS."""
    clauses = node.model or (ast.ModelClause(default),)
    orders = [order for one in node.orders for order in _orders_of(scope, one)]
    found: list[ModelSpec] = []
    for clause in clauses:
        spec = scope.model(clause)
        if not orders:
            found.append(spec)
            continue
        if clause.order is not None:
            scope.fail(PlanError, f"{spec} has an order already: leave it out, or ORDERS", clause)
        found += [_of_order(scope, clause, spec, order) for order in orders]
    return tuple(found)


def _of_order(scope: Scope, clause: ast.ModelClause, spec: ModelSpec, order: int | None) -> ModelSpec:
    if order is None and MODELS[spec.kind].max_order is not None:
        scope.fail(PlanError, f"{spec.kind.upper()} has no unlimited order: leave INF out of ORDERS", clause)
    try:
        return ModelSpec(spec.kind, order, spec.weight, spec.min_count)
    except InvalidArgument as error:
        scope.fail(PlanError, str(error), clause, error)


def _orders_of(scope: Scope, node: Any) -> list[int | None]:
    if node is None:
        return [None]
    if not isinstance(node, ast.Lengths):
        return [scope.number(node, "ORDERS", 1, MAX_ORDER)]
    if node.low < 1:
        scope.refuse("an order must be at least 1, not 0", node)
    if node.high - node.low >= MOST_ORDERS:
        scope.refuse(f"at most {MOST_ORDERS:,} orders in one table", node)
    return list(range(node.low, node.high + 1))


@dataclass(frozen=True)
class PerplexityQuery(SliceQuery):
    """PERPLEXITY: texts under models of the corpus."""

    of: Measured
    models: tuple[ModelSpec, ...]

    @property
    def path(self) -> str | None:
        """The file that is read besides the database."""
        return self.of.path

    def label(self) -> str:
        return f"perplexity of {self.of} under {', '.join(map(str, self.models))}"

    def answer_whole(self) -> Result:
        """Return a row per model, order and group. Cost: that of SCORE, for each model."""
        groups = Groups()
        models = [language_model(self.corpus, spec) for spec in self.models]
        tables = [PerplexityTable(model) for model in models]
        for batch in batches_of(self.of, self.corpus, groups):
            for model, table in zip(models, tables, strict=True):
                table.add(score_batch(model, batch.pieces, document=True), batch.groups)
        rows = [
            (*named(spec), *group, *_figures(table, number, groups))
            for spec, table in zip(self.models, tables, strict=True)
            for number, group in groups.listed(self.of)
        ]
        return Result(
            ("model", "order", *self.of.columns, *COLUMNS),
            iter([rows]),
            summary=_notes_of(self),
            n_rows=len(rows),
            types=(str, int, *self.of.types, *COLUMNS.values()),
        )


def named(spec: ModelSpec) -> tuple[str, int | None]:
    """Return a model without its order, and the order."""
    return str(spec).replace(f" ORDER {spec.order}", ""), spec.order


def notes_of(corpus: CorpusView, models: Sequence[ModelSpec]) -> dict[str, str]:
    """Return the notes of all models as an entry of a summary."""
    notes = [note_of(corpus, spec).get("note") for spec in models]
    every = "; ".join(dict.fromkeys(note for note in notes if note))
    return {"note": every} if every else {}


def _notes_of(plan: PerplexityQuery) -> dict[str, str]:
    """Return the notes, with a longer one about scores that are not probabilities."""
    others = [spec for spec in plan.models if spec.is_probability]
    notes = [*notes_of(plan.corpus, others).values()]
    notes += [NO_DISTRIBUTION] * (len(others) < len(plan.models))
    return {"note": "; ".join(notes)} if notes else {}


def _figures(table: PerplexityTable, number: int, groups: Groups) -> Row:
    found = table.group(number)
    every, n_bytes = found.every, groups.n_bytes[number] if number < len(groups.n_bytes) else None
    bits = -every.logprob / math.log(2)
    return (
        groups.n_items[number] if number < len(groups.n_items) else 0,
        every.n_tokens,
        found.n_unknown,
        every.n_unanswered,
        every.n_zero,
        or_none(every.perplexity),
        or_none(found.known.perplexity),
        or_none(every.perplexity_nonzero),
        bits / every.n_answered if every.n_answered else None,
        bits / n_bytes if n_bytes and every.n_answered else None,
    )


def or_none(value: float) -> float | None:
    """Return the number; None for NaN."""
    return None if math.isnan(value) else value


# ---- batches of texts with their groups


class Groups:
    """Groups by their values, numbered as they occur, with numbers of items and bytes of texts."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[Any, ...], int] = {}
        self.n_items: list[int] = []
        self.n_bytes: list[int | None] = []

    def number(self, item: Item) -> int:
        """Return the number of the item's group, and count the item."""
        number = self.numbers.setdefault(item.group, len(self.numbers))
        if number == len(self.n_items):
            self.n_items.append(0)
            self.n_bytes.append(0)
        self.n_items[number] += 1
        size = self.n_bytes[number]
        if size is not None:
            self.n_bytes[number] = None if item.texts is None else size + _bytes_of(item.texts)
        return number

    def listed(self, of: Measured) -> list[tuple[int, tuple[Any, ...]]]:
        """Return the numbers and values of all groups, those of a field in the order of values."""
        if of.by is None:
            return [(0, ())]
        found = [(number, group) for group, number in self.numbers.items()]
        if isinstance(of.by, str):
            return found
        return sorted(found, key=lambda one: _rank(one[1][0]))


def _rank(value: Any) -> tuple[int, Any]:
    """Return the place of a value: numbers, texts, others, missing ones."""
    if value is None:
        return 3, 0
    if isinstance(value, (int, float)):
        return 0, value
    return (1, value) if isinstance(value, str) else (2, repr(value))


def _bytes_of(texts: Sequence[str]) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)


class Batch:
    """Pieces that are scored together, and the number of the group of each."""

    def __init__(self) -> None:
        self.pieces: list[IntArray] = []
        self._groups: list[int] = []
        self.n_tokens = 0

    def add(self, item: Item, number: int) -> None:
        """Add the pieces of a document or line."""
        for piece in item.pieces:
            self.pieces.append(piece)
            self._groups.append(number)
            self.n_tokens += len(piece) + 1

    @property
    def groups(self) -> IntArray:
        return np.array(self._groups, dtype=np.int64)


def batches_of(of: Measured, corpus: CorpusView, groups: Groups) -> Iterator[Batch]:
    """Yield the texts in batches of about BATCH_TOKENS tokens."""
    batch = Batch()
    for item in of.items(corpus):
        batch.add(item, groups.number(item))
        if batch.n_tokens >= BATCH_TOKENS:
            yield batch
            batch = Batch()
    if batch.pieces:
        yield batch

"""The binder: a syntax tree, a catalog and parameters become a logical plan.

Names are looked up, n-grams are tokenized by their corpus's own tokenizer, placeholders take their values,
numbers are checked. Whatever cannot be bound is a BindError or a PlanError with its place in the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from ngramdb.errors import BindError, InvalidArgument, PlanError
from ngramdb.language import ast
from ngramdb.planner import plan
from ngramdb.planner.grams import bind_gram
from ngramdb.planner.names import listing, nearest
from ngramdb.planner.options import CORPUS_OPTIONS, LOAD_OPTIONS, OptionType
from ngramdb.planner.parameters import Parameters
from ngramdb.planner.source import Catalog, Corpus

T = TypeVar("T")


class Binder:
    """Binds the statements of one text. `text` is for messages; None when the tree was made by hand."""

    def __init__(
        self, catalog: Catalog, parameters: Parameters | None = None, text: str | None = None
    ) -> None:
        self._catalog = catalog
        self._parameters = parameters if parameters is not None else Parameters((), None)
        self._text = text

    def bind(self, statement: ast.Statement) -> plan.Plan:
        """The logical plan of a statement."""
        handler = _HANDLERS.get(type(statement))
        if handler is None:
            raise PlanError(f"{type(statement).__name__} is no statement that can be run")
        return handler(self, statement)

    # ---- names ------------------------------------------------------------------------------------------

    def corpus(self, source: ast.Source | None) -> Corpus:
        """The corpus that FROM names, else the current one, else the only one there is."""
        if source is None:
            return self._default_corpus()
        if len(source.terms) != 1 or source.terms[0].sign != 1:
            self._fail(PlanError, "a question is asked of one corpus at a time", source)
        return self.named_corpus(source.terms[0].corpus)

    def named_corpus(self, name: ast.Name) -> Corpus:
        """The corpus of that name."""
        return self._catalog.corpus_view(self.corpus_name(name))

    def corpus_name(self, name: ast.Name) -> str:
        """A corpus's name, checked to exist."""
        known = self._catalog.corpus_names()
        if name.value not in known:
            self._unknown("corpus", name, known, "this database has no corpora")
        return name.value

    def _default_corpus(self) -> Corpus:
        names = self._catalog.corpus_names()
        current = self._catalog.current
        if current is not None and current in names:
            return self._catalog.corpus_view(current)
        if len(names) == 1:
            return self._catalog.corpus_view(names[0])
        if not names:
            raise BindError("there is no corpus yet: CREATE CORPUS name makes one", text=self._text)
        raise BindError(
            f"which corpus? Say FROM name, or USE name once; known: {listing(names)}", text=self._text
        )

    def condition(self, node: ast.Condition | None, corpus: Corpus) -> plan.DocExpr:
        """A condition on documents as a document expression; no condition means all documents."""
        if node is None:
            return plan.AllDocs()
        if isinstance(node, ast.Contains):
            return plan.DocsWith(self.gram(node.ngram, corpus))
        if isinstance(node, ast.And):
            return plan.Intersection(tuple(self.condition(item, corpus) for item in node.operands))
        if isinstance(node, ast.Or):
            return plan.UnionOf(tuple(self.condition(item, corpus) for item in node.operands))
        return plan.Complement(self.condition(node.operand, corpus))

    # ---- leaves -----------------------------------------------------------------------------------------

    def gram(self, node: ast.Ngram, corpus: Corpus) -> plan.Gram:
        """An n-gram literal or placeholder, tokenized by the corpus."""
        if isinstance(node, ast.Parameter):
            value = self._parameters.value(node)
            prefix = f"{self._parameters.describe(node)}: "
        else:
            value = node.value if isinstance(node, ast.Text) else node.ids
            prefix = ""
        try:
            return bind_gram(value, corpus.tokenizer)
        except InvalidArgument as error:
            self._fail(PlanError, f"{prefix}{error}", node, error)

    def scalar(self, node: ast.Scalar | ast.Name) -> Any:
        """The value of a SQL value or a placeholder; a bare name is its text."""
        return self._parameters.value(node) if isinstance(node, ast.Parameter) else node.value

    def number(self, node: ast.Scalar | None, what: str, least: int) -> int | None:
        """A whole number of at least `least`; None where the clause is missing."""
        if node is None:
            return None
        value = self.scalar(node)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            prefix = f"{self._parameters.describe(node)}: " if isinstance(node, ast.Parameter) else ""
            self._fail(
                PlanError, f"{prefix}{what} is a whole number of at least {least}, not {value!r}", node
            )
        return value

    def string(self, node: ast.Scalar | ast.Name, what: str) -> str:
        """A string value; paths may be given as path objects."""
        value = self.scalar(node)
        if hasattr(value, "__fspath__"):
            value = value.__fspath__()
        if not isinstance(value, str):
            self._fail(PlanError, f"{what} is a string in single quotes, not {value!r}", node)
        return value

    def model(self, node: ast.Model | None) -> plan.Model:
        """What stands after USING; NGRAM when nothing does."""
        if node is None:
            return plan.Model()
        return plan.Model(node.kind == "infgram", self.number(node.order, "ORDER", 1) or 0)

    def options(self, nodes: tuple[ast.Option, ...], known: dict[str, OptionType]) -> dict[str, Any]:
        """Options in parentheses, checked against the table of known ones."""
        found: dict[str, Any] = {}
        for node in nodes:
            name = node.name.value.lower()
            if name not in known:
                self._unknown("option", node.name, known, "there are no options here")
            value: Any = node.value
            value = tuple(map(self.scalar, value)) if isinstance(value, tuple) else self.scalar(value)
            try:
                found[name] = known[name].check(name.upper(), value)
            except InvalidArgument as error:
                self._fail(PlanError, str(error), node, error)
        return found

    # ---- errors -----------------------------------------------------------------------------------------

    def _unknown(self, kind: str, name: ast.Name, known: Any, none: str) -> NoReturn:
        hint = nearest(name.value, known)
        if hint is not None:
            tail = f"; did you mean {hint}?"
        else:
            tail = f"; known: {listing(known)}" if known else f"; {none}"
        start, stop = self._place(name)
        message = f"no {kind} {name.value!r}{tail}"
        raise BindError(message, text=self._text, start=start, stop=stop, nearest=hint)

    def _fail(
        self, kind: type[PlanError], message: str, node: ast.Node, cause: Exception | None = None
    ) -> NoReturn:
        start, stop = self._place(node)
        raise kind(message, text=self._text, start=start, stop=stop) from cause

    @staticmethod
    def _place(node: ast.Node) -> tuple[int | None, int | None]:
        return (None, None) if node.span is None else (node.span.start, node.span.stop)

    # ---- statements -------------------------------------------------------------------------------------

    def _count(self, node: ast.Count) -> plan.Plan:
        corpus = self.corpus(node.source)
        return plan.CountGram(corpus, self.gram(node.ngram, corpus))

    def _count_docs(self, node: ast.CountDocs) -> plan.Plan:
        corpus = self.corpus(node.source)
        return plan.CountDocuments(corpus, self.condition(node.where, corpus))

    def _prob(self, node: ast.Prob) -> plan.Plan:
        corpus = self.corpus(node.source)
        continuation = self.gram(node.continuation, corpus)
        if not len(continuation):
            self._fail(PlanError, "PROB needs a continuation of at least one token", node.continuation)
        return plan.Probability(corpus, continuation, self.gram(node.context, corpus), self.model(node.model))

    def _dist(self, node: ast.Dist) -> plan.Plan:
        corpus = self.corpus(node.source)
        top = self.number(node.top, "TOP", 0)
        return plan.Distribution(corpus, self.gram(node.context, corpus), self.model(node.model), top)

    def _score(self, node: ast.Score) -> plan.Plan:
        corpus = self.corpus(node.source)
        return plan.Scoring(corpus, self.gram(node.ngram, corpus), self.model(node.model))

    def _docs(self, node: ast.Docs) -> plan.Plan:
        corpus = self.corpus(node.source)
        order = node.order_by
        if order is not None and order.name.value.lower() != "doc_id":
            self._fail(
                PlanError, f"documents can be ordered by doc_id, not by {order.name.value}", order.name
            )
        return plan.Documents(
            corpus,
            self.condition(node.where, corpus),
            descending=order is not None and order.descending,
            limit=self.number(node.limit, "LIMIT", 0),
            offset=self.number(node.offset, "OFFSET", 0) or 0,
        )

    def _create(self, node: ast.CreateCorpus) -> plan.Plan:
        tokenizer = "words" if node.tokenizer is None else self.string(node.tokenizer, "TOKENIZER")
        options = self.options(node.options, CORPUS_OPTIONS)
        if not node.name.value:
            self._fail(PlanError, "a corpus's name has at least one character", node.name)
        return plan.CreateCorpus(node.name.value, tokenizer, node.if_not_exists, options)

    def _copy(self, node: ast.CopyFrom) -> plan.Plan:
        name = self.corpus_name(node.corpus)
        path = self.string(node.path, "the path after FROM")
        return plan.Load(name, (path,), self.options(node.options, LOAD_OPTIONS), node.skip_errors)

    def _drop(self, node: ast.DropCorpus) -> plan.Plan:
        name = node.name.value if node.if_exists else self.corpus_name(node.name)
        return plan.DropCorpus(name, node.if_exists)

    def _use(self, node: ast.Use) -> plan.Plan:
        return plan.UseCorpus(self.corpus_name(node.name))

    def _describe(self, node: ast.Describe) -> plan.Plan:
        return plan.DescribeCorpus(self.named_corpus(node.name))

    def _show(self, node: ast.Show) -> plan.Plan:
        if node.source is None:
            return plan.ShowTable(node.what)
        if node.what not in ("segments", "versions"):
            self._fail(PlanError, f"SHOW {node.what.upper()} takes no FROM", node.source)
        return plan.ShowTable(node.what, self.corpus(node.source).entry.name)

    def _check(self, node: ast.Check) -> plan.Plan:
        if node.name is None:
            return plan.CheckCorpora(tuple(self._catalog.corpus_names()))
        return plan.CheckCorpora((self.corpus_name(node.name),))

    def _setting_name(self, name: ast.Name) -> str:
        known = self._catalog.setting_names()
        if name.value.lower() not in known:
            self._unknown("setting", name, known, "there are no settings")
        return name.value.lower()

    def _set(self, node: ast.SetSetting) -> plan.Plan:
        name = self._setting_name(node.name)
        try:
            value = self._catalog.check_setting(name, self.scalar(node.value))
        except InvalidArgument as error:
            self._fail(PlanError, str(error), node.value, error)
        return plan.ChangeSetting(name, value)

    def _reset(self, node: ast.ResetSetting) -> plan.Plan:
        return plan.ChangeSetting(self._setting_name(node.name), reset=True)


_HANDLERS: dict[type[Any], Callable[[Binder, Any], plan.Plan]] = {
    ast.Count: Binder._count,
    ast.CountDocs: Binder._count_docs,
    ast.Prob: Binder._prob,
    ast.Dist: Binder._dist,
    ast.Score: Binder._score,
    ast.Docs: Binder._docs,
    ast.CreateCorpus: Binder._create,
    ast.CopyFrom: Binder._copy,
    ast.DropCorpus: Binder._drop,
    ast.Use: Binder._use,
    ast.Describe: Binder._describe,
    ast.Show: Binder._show,
    ast.Check: Binder._check,
    ast.SetSetting: Binder._set,
    ast.ResetSetting: Binder._reset,
}

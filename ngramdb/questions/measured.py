"""OF: the texts that a statement measures by a corpus, and BY: the groups into which they are divided.

The texts are a text of the statement, the documents of files, or documents of a corpus. They are split by the
tokenizer of the corpus that measures them. The pieces of a broken document are measured one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ngramdb import interrupts
from ngramdb.conditions.document_functions import Chunk
from ngramdb.conditions.overlap_field import ids_onto, token_chunks
from ngramdb.errors import PlanError
from ngramdb.executor.per_segment import matching
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.patterns import Gram
from ngramdb.planner.bind_conditions import condition
from ngramdb.planner.bind_fields import DOC_ID, bound_key
from ngramdb.planner.parameters import LOAD_OPTIONS
from ngramdb.planner.plan import AllDocs, DocExpr, FieldKey, FunctionCall
from ngramdb.planner.scope import Scope, same_kind
from ngramdb.questions import to_ast
from ngramdb.questions.groups import of_documents
from ngramdb.questions.requests import IDS, Given, Parameter, Spelling, Statement, ngram_of, quoted_name
from ngramdb.questions.verbs import Bound
from ngramdb.source import Corpus, IntArray
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.types import Docs

OPTIONS = {name: LOAD_OPTIONS[name] for name in ("text", "format", "separator")}
# Groups that are not those of a field.
UNITS = ("documents", "lines")


class Item(NamedTuple):
    """A document or a line: the values of its group, its token ids in pieces, its text if it has one."""

    group: tuple[Any, ...]
    pieces: list[IntArray]
    texts: list[str] | None


@dataclass(frozen=True)
class Measured:
    """The texts, as one of: `gram`; the documents of `corpus` that meet `where`; the result of `read`.

    `path` is where `read` reads: the plan then does more than read the database.
    """

    gram: Gram | None = None
    corpus: Corpus | None = None
    where: DocExpr | None = None
    path: str | None = None
    read: Callable[[], Iterable[Any]] | None = field(default=None, compare=False, repr=False)
    by: str | FieldKey | None = None

    def __str__(self) -> str:
        if self.gram is not None:
            n = len(self.gram)
            what = f"{n:,} token{'' if n == 1 else 's'}"
        elif self.corpus is not None:
            what = self.corpus.entry.name
            what += "" if self.where is None else f" where {self.where.label()}"
        else:
            what = str(self.path)
        return f"{what} by {self.unit}" if self.by is not None else what

    @property
    def unit(self) -> str:
        return self.by.label() if isinstance(self.by, FieldKey) else str(self.by)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the values of groups."""
        if self.by is None:
            return ()
        return {"documents": ("document",), "lines": ("document", "line")}.get(self.unit, (self.unit,))

    @property
    def types(self) -> tuple[Any, ...]:
        if isinstance(self.by, FieldKey):
            return (None,)
        is_sum = self.corpus is not None and self.corpus.n_added > 1
        return ((str if is_sum else int), int)[: len(self.columns)]

    def items(self, target: Corpus) -> Iterator[Item]:
        """Yield the texts for a corpus: documents, or their lines. Cost: reading and splitting the texts."""
        for item in self._documents(target.tokenizer):
            interrupts.check()
            if self.by != "lines":
                yield item
                continue
            lines = [line for text in item.texts or () for line in text.split("\n") if line.strip()]
            for number, line in enumerate(lines):
                yield Item((*item.group, number), [_encoded(target.tokenizer, line)], [line])

    def _documents(self, tokenizer: Tokenizer) -> Iterator[Item]:
        if self.corpus is not None:
            where = AllDocs() if self.where is None else self.where
            for i, (segment, docs) in enumerate(matching(self.corpus, where, None, None)):
                for chunk, lengths in token_chunks(segment, docs.numbers()):
                    yield from self._of_chunk(i, chunk, lengths, tokenizer)
            return
        given: Iterable[Any] = ()
        if self.gram is not None:
            given = (self.gram.ids if self.gram.text is None else self.gram.text,)
        elif self.read is not None:
            given = self.read()
        for number, one in enumerate(given):
            group = () if self.by is None else (number,)
            if isinstance(one, bytes):
                one = one.decode("utf-8", "replace")
            ids = _encoded(tokenizer, one) if isinstance(one, str) else np.asarray(one, dtype=np.int64)
            yield Item(group, [ids], [one] if isinstance(one, str) else _text_of(tokenizer, [ids]))

    def _of_chunk(self, i: int, docs: Docs, lengths: IntArray, tokenizer: Tokenizer) -> Iterator[Item]:
        """Yield some documents of segment i."""
        assert self.corpus is not None
        own, segment = self.corpus.tokenizer, self.corpus.segments[i]
        chunk = Chunk(FunctionCall("perplexity", self.corpus), segment, docs, lengths)
        by_text = not same_kind(own, tokenizer)
        has_text = own.kind != "tokens"
        texts: Iterator[list[str] | None] = chunk.texts() if has_text else iter([None] * len(docs))
        pieces: Iterator[list[IntArray]] = iter([[]] * len(docs))
        if not by_text:
            ids_there = ids_onto(own, tokenizer)
            pieces = chunk.in_pieces(chunk.flat if ids_there is None else ids_there[chunk.flat])
        for group, parts, text in zip(self._groups(i, docs), pieces, texts, strict=True):
            yield Item(group, [_encoded(tokenizer, one) for one in text or ()] if by_text else parts, text)

    def _groups(self, i: int, docs: Docs) -> list[tuple[Any, ...]]:
        assert self.corpus is not None
        segment = self.corpus.segments[i]
        if self.by is None:
            return [()] * len(docs)
        if isinstance(self.by, FieldKey):
            _, (codes,) = of_documents([self.by], segment, docs)
            return [(None if code < 0 else codes.values[code],) for code in codes.codes.tolist()]
        ids = segment.doc_ids(docs).tolist()
        if self.corpus.n_added > 1:
            return [(f"{self.corpus.corpus_of(i)}:{doc_id}",) for doc_id in ids]
        return [(doc_id,) for doc_id in ids]


def _encoded(tokenizer: Tokenizer, text: str) -> IntArray:
    return np.asarray(tokenizer.encode(text), dtype=np.int64)


def _text_of(tokenizer: Tokenizer, pieces: Sequence[IntArray]) -> list[str] | None:
    """Return the texts that token ids spell, or None if they spell none."""
    contents = [tokenizer.decode_exact(ids) for ids in pieces]
    if any(content is None for content in contents):
        return None
    return [content.decode("utf-8", "surrogateescape") for content in contents if content is not None]


# ---- binding


def bind_measured(scope: Scope, node: ast.Measured, by: Any, target: Corpus) -> Measured:
    """Bind OF and BY of a statement that measures texts by the corpus `target`."""
    found = _bound(scope, node, target)
    if by is None:
        return found
    if isinstance(by, ast.Name):
        if by.value == "lines" and _lacks_text(found, target):
            scope.fail(PlanError, "token ids have no lines: leave BY LINES out", by)
        return _with(found, by=by.value)
    if found.corpus is None:
        scope.fail(PlanError, "only documents of a corpus have fields; BY takes DOCUMENTS or LINES here", by)
    if isinstance(by, (ast.Unnested, ast.Beside, ast.Form)):
        what = "the groups are sets of documents: BY takes DOCUMENTS, LINES, a field, YEAR(date) or year / 10"
        scope.fail(PlanError, what, by)
    key = bound_key(scope, by, found.corpus)
    return _with(found, by="documents" if key == FieldKey(DOC_ID, own=True) else key)


def _lacks_text(found: Measured, target: Corpus) -> bool:
    if found.corpus is not None:
        return found.corpus.tokenizer.kind == "tokens"
    return target.tokenizer.kind == "tokens" or (found.gram is not None and found.gram.text is None)


def _with(found: Measured, by: str | FieldKey) -> Measured:
    return Measured(found.gram, found.corpus, found.where, found.path, found.read, by)


def _bound(scope: Scope, node: ast.Measured, target: Corpus) -> Measured:
    path = node.path
    if isinstance(node.ngram, ast.Parameter) and hasattr(scope.value_of(node.ngram), "__fspath__"):
        path = node.ngram
    if path is not None:
        name = scope.path(path, "the path after OF")
        options = scope.options(node.options, OPTIONS)
        takes_ids = target.tokenizer.kind == "tokens"
        return Measured(path=name, read=partial(scope.catalog.texts_of_file, name, options, takes_ids))
    if node.ngram is not None:
        return Measured(scope.passage(node.ngram, target))
    assert node.documents is not None
    source, where = node.documents.source, node.documents.where
    corpus = target if source is None else scope.corpus(source)
    if not same_kind(corpus.tokenizer, target.tokenizer) and "tokens" in (
        corpus.tokenizer.kind,
        target.tokenizer.kind,
    ):
        what = f"{corpus.entry.name} and {target.entry.name} have different tokens: one has ids without texts"
        scope.fail(PlanError, what, node.documents)
    return Measured(corpus=corpus, where=None if where is None else condition(scope, where, corpus))


# ---- the same for verbs and requests


def tree_of(bound: Bound, given: Any, where: ast.Condition | None = None) -> ast.Measured:
    """Return OF for the argument of a verb: text, token ids, a path object, or a corpus."""
    if hasattr(given, "_bound"):
        return ast.Measured(documents=ast.DocumentsOf(to_ast.other_corpus(bound, "of", given), where))
    if hasattr(given, "__fspath__"):
        return ast.Measured(path=ast.Value(given.__fspath__()))
    return ast.Measured(to_ast.ngram(given))


def unit_tree(by: Any) -> ast.Name | ast.GroupKey | None:
    """Return BY for the argument of a verb: 'documents', 'lines', or a key of documents."""
    if by is None or (isinstance(by, str) and by in UNITS):
        return None if by is None else ast.Name(by)
    (key,) = to_ast.group_keys("by", by)
    return key


class Texts(Spelling):
    """The texts of a request: a text, token ids, or another corpus."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (
            Parameter("q", "text", "the text"),
            IDS,
            Parameter(name, "text", "in place of a text, a corpus whose documents are measured"),
        )

    def argument(self, name: str, given: Given) -> dict[str, Any]:
        return {name: Corpora(given.text(name)) if given[name] else ngram_of(given)}

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if isinstance(arguments[name], Corpora):
            statement.add(f"OF {quoted_name(str(arguments[name].name))}")
        else:
            statement.ngram(arguments[name], "OF")


class Corpora(NamedTuple):
    """The name of a corpus, as a value of a request."""

    name: str | None


class By(Spelling):
    """The groups."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "text", self.about),)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if arguments[name]:
            by = arguments[name]
            statement.add(f"BY {by.upper() if by in (*UNITS, 'length', 'count', 'tokens') else by}")

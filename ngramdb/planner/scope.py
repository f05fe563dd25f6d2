"""The scope of binding: a catalog, parameters, and the statement's text for messages."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from ngramdb.errors import BindError, InvalidArgument, PlanError, QueryError
from ngramdb.language import ast
from ngramdb.lazy import lazy_module
from ngramdb.limits import MAX_INTEGER
from ngramdb.patterns import Doubt, Gram, Noted, Phrase, may_mislead, show_text
from ngramdb.patterns.grams import bind_gram, bind_text
from ngramdb.planner import plan
from ngramdb.planner.parameters import OptionType, Parameters, default_corpus, listing, nearest
from ngramdb.registries import DEFAULT_MATCH, FILE_TOKENIZERS
from ngramdb.source import Catalog, Corpus
from ngramdb.tokenizers.base import Tokenizer

if TYPE_CHECKING:
    from ngramdb.lm import spec as models
else:
    models = lazy_module("ngramdb.lm.spec")


class Range(NamedTuple):
    """The numbers that a clause accepts, and their description in messages."""

    said: str
    has: Callable[[float], bool]


SHARES = Range("above 0 and at most 1", lambda x: 0 < x <= 1)


class Matching(NamedTuple):
    """The default matching of quoted n-grams."""

    as_text: bool
    ignore_case: bool


# By the values of the setting `match`.
MATCHING = {
    "tokens": Matching(False, False),
    "text": Matching(True, False),
    "text ignore case": Matching(True, True),
}


class Scope:
    """The names and values of one text's statements. `text` is None if the tree was made by hand.

    `removes` : True while binding a condition on documents that will be removed.
    """

    removes = False

    def __init__(
        self, catalog: Catalog, parameters: Parameters | None = None, text: str | None = None
    ) -> None:
        self.catalog = catalog
        self.parameters = parameters if parameters is not None else Parameters((), None)
        self.text = text
        self.phrases: list[Noted] = []

    def bind(self, statement: ast.Statement) -> plan.Plan:
        """Return the logical plan of a statement."""
        raise NotImplementedError

    def condition(self, node: ast.Condition | None, corpus: Corpus) -> plan.DocExpr:
        """Return a condition on documents as a document expression; no condition means all documents."""
        raise NotImplementedError

    def among(self, node: ast.Condition | None, corpus: Corpus) -> plan.DocExpr | None:
        """Return the condition of a query that may be limited to some documents; None without one."""
        return None if node is None else self.condition(node, corpus)

    def matching(self) -> Matching:
        """Return how quoted n-grams are matched by default, as the setting `match` decides."""
        return MATCHING[self.catalog.match()]

    # ---- names ------------------------------------------------------------------------------------------

    def corpus(self, source: ast.Source | None) -> Corpus:
        """Return the corpus, or sum of corpora, named by FROM; else the current one, else the only one."""
        if source is None:
            return self._default_corpus()
        terms = tuple(map(self._term, source.terms))
        if terms[0][0] < 0:
            self.fail(PlanError, "a sum of corpora must begin with an added corpus", source.terms[0])
        try:
            return self.catalog.algebra(terms)
        except BindError as error:
            self.fail(BindError, error.message, source, error)

    def _term(self, term: ast.SourceTerm) -> tuple[int, str, int | None]:
        """Return the sign, name and, if given, version of a corpus in a sum."""
        version = self.version(term.version)
        # A corpus that was dropped later is still in the earlier versions.
        name = self.corpus_name(term.corpus) if version is None else term.corpus.value
        return term.sign, name, version

    def named_corpus(self, name: ast.Name) -> Corpus:
        """Return the corpus of that name."""
        return self.catalog.corpus_view(self.corpus_name(name))

    def corpus_name(self, name: ast.Name) -> str:
        """Return a corpus's name, checked to exist."""
        known = self.catalog.corpus_names()
        if name.value not in known:
            self.unknown("corpus", name, known, "this database has no corpora")
        return name.value

    def new_corpus_name(self, name: ast.Name) -> str:
        """Return a valid name for a new corpus."""
        if not name.value:
            self.fail(PlanError, "a corpus name needs at least one character", name)
        self.check_unicode(name.value, name)
        return name.value

    def _default_corpus(self) -> Corpus:
        try:
            name = default_corpus(self.catalog.current, self.catalog.corpus_names())
        except BindError as error:
            raise BindError(error.message, text=self.text) from None
        return self.catalog.corpus_view(name)

    # ---- leaves -----------------------------------------------------------------------------------------

    def gram(self, node: ast.Ngram, corpus: Corpus) -> Gram:
        """Tokenize an n-gram literal or the value of a placeholder with the corpus's tokenizer."""
        return self.bound(node, self.value_of(node), corpus)

    def context(self, node: ast.Ngram, corpus: Corpus) -> Gram:
        """Like `gram`, for a context, which the corpus is expected to have."""
        found = self.gram(node, corpus)
        self.remember(corpus, found)
        return found

    def remember(self, corpus: Corpus, gram: Gram, **others: Any) -> None:
        """Keep a text that may find nothing because of its tokens, for a note on the answer."""
        if may_mislead(gram.text, corpus.tokenizer.kind):
            self.phrases.append(Phrase(corpus, gram, **others))

    def doubt(self, message: str | None) -> None:
        """Keep a message on a condition that is true of no document, or of all; None is ignored."""
        if message is not None:
            self.phrases.append(Doubt(message))

    def doubt_case(self, items: Sequence[ast.Node], corpus: Corpus) -> None:
        """Warn about IGNORE CASE after only the last of several n-grams, unless the setting ignores case."""
        if isinstance(items[-1], (ast.Contains, ast.Matching)) and not self.matching().ignore_case:
            self.doubt(_of_last_only(items, corpus.tokenizer))

    def bound(self, node: ast.Ngram, value: Any, corpus: Corpus) -> Gram:
        """Like `gram`, if the value is known already."""
        try:
            return bind_gram(value, corpus.tokenizer)
        except InvalidArgument as error:
            self.refuse(str(error), node, error)

    def passage(self, node: ast.Ngram, corpus: Corpus) -> Gram:
        """Return the tokens of a text that is scored or traced, possibly none."""
        try:
            found = bind_text(self.value_of(node), corpus.tokenizer)
        except InvalidArgument as error:
            self.refuse(str(error), node, error)
        self.remember(corpus, found, is_passage=True)
        return found

    def value_of(self, node: ast.Ngram) -> Any:
        """Return an n-gram's text or token ids, from the statement or its parameters."""
        if isinstance(node, ast.Parameter):
            return self.parameters.value(node)
        return node.value if isinstance(node, ast.Text) else node.ids

    def scalar(self, node: ast.Scalar | ast.Name) -> Any:
        """Return the value of a SQL value or a placeholder; for a bare name, its text."""
        return self.parameters.value(node) if isinstance(node, ast.Parameter) else node.value

    def number(self, node: ast.Scalar | None, what: str, least: int, most: int = MAX_INTEGER) -> int | None:
        """Return a whole number from `least` to `most`; None if the clause is missing."""
        if node is None:
            return None
        value = self.scalar(node)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self.refuse(f"{what} must be a whole number of at least {least}, not {value!r}", node)
        if value > most:
            self.refuse(f"{what} must be at most {most:,}, not {value:,}", node)
        return value

    def measure(self, node: ast.Measure | None, known: Sequence[str]) -> str:
        """Return the name of a measure, by default the first one.

        Raises BindError for an unknown name, or InvalidArgument if it was an argument.
        """
        if node is None:
            return known[0]
        if node.name not in known:
            try:
                self.unknown("measure", ast.Name(node.name, span=node.span), known, "")
            except BindError as error:
                if node.span is None:
                    self.refuse(error.message, node)
                raise
        return node.name

    def version(self, node: ast.Scalar | None) -> int | None:
        """Return the number of a version, given by number or name; None if the clause is missing."""
        if node is None or not isinstance(self.scalar(node), str):
            return self.number(node, "VERSION", 1)
        try:
            return self.catalog.version_number(self.scalar(node))
        except BindError as error:
            self.fail(BindError, error.message, node, error)

    def real(self, node: ast.Scalar | None, what: str, allowed: Range) -> float | None:
        """Return a number in a range; None if the clause is missing."""
        if node is None:
            return None
        value = self.scalar(node)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.refuse(f"{what} must be a number, not {value!r}", node)
        if isinstance(value, int) and abs(value) > MAX_INTEGER:
            self.refuse(f"{what} is too large", node)
        if not allowed.has(value):
            self.refuse(f"{what} must be {allowed.said}, not {value!r}", node)
        return float(value)

    def check_unicode(self, text: str, node: ast.Scalar | ast.Name) -> None:
        """Reject a text with half of a surrogate pair, which represents an undecodable byte."""
        try:
            text.encode()
        except UnicodeEncodeError as error:
            code = ord(text[error.start])
            place = f"(U+{code:04X}) at character {error.start}"
            self.refuse(f"the text is not valid Unicode: a lone surrogate {place}", node, error)

    def string(self, node: ast.Scalar | ast.Name, what: str) -> str:
        """Return a string value; paths may be path objects."""
        value = self.scalar(node)
        if hasattr(value, "__fspath__"):
            value = value.__fspath__()
        if not isinstance(value, str):
            self.fail(PlanError, f"{what} must be a string in single quotes, not {value!r}", node)
        return value

    def path(self, node: ast.Scalar | ast.Name, what: str) -> str:
        """Return a path for the operating system: in UTF-8 if the locale's encoding lacks a character."""
        path = self.string(node, what)
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            with contextlib.suppress(UnicodeEncodeError):
                return os.fsdecode(path.encode())
        return path

    def model(self, node: ast.ModelClause | None) -> models.ModelSpec:
        """Return the model of USING; NGRAM by default."""
        if node is None:
            return models.ModelSpec()
        values = (
            self.number(node.order, "ORDER", 1, models.MAX_ORDER),
            self.real(node.weight, "the weight of stupid backoff", SHARES) or models.BACKOFF_WEIGHT,
            self.number(node.min_count, "MIN COUNT", 1, models.MAX_MIN_COUNT) or 1,
        )
        try:
            return models.ModelSpec(node.kind, *values)
        except InvalidArgument as error:
            self.fail(PlanError, str(error), node, error)

    def options(self, nodes: tuple[ast.Option, ...], known: dict[str, OptionType]) -> dict[str, Any]:
        """Return the options in parentheses, checked against a table."""
        found: dict[str, Any] = {}
        for node in nodes:
            name = node.name.value.lower()
            if name not in known:
                self.unknown("option", node.name, known, "there are no options here")
            value: Any = node.value
            value = tuple(map(self.scalar, value)) if isinstance(value, tuple) else self.scalar(value)
            try:
                found[name] = known[name].check(name.upper(), value)
            except InvalidArgument as error:
                self.fail(PlanError, str(error), node, error)
        return found

    def written(self, node: ast.Node, match: str = DEFAULT_MATCH) -> str:
        """Return the statement's text with its parameters' values and the setting, for audit records."""
        if self.text is None or node.span is None:
            return ""
        return self.parameters.told(self.text[node.span.start : node.span.stop], node, match)

    # ---- errors -----------------------------------------------------------------------------------------

    def unknown(self, kind: str, name: ast.Name, known: Collection[str], none: str) -> NoReturn:
        """Raise a BindError for a name that does not exist, with the nearest one that does."""
        hint = nearest(name.value, known)
        if hint is not None:
            tail = f"; did you mean {hint}?"
        else:
            tail = f"; known: {listing(known)}" if known else f"; {none}"
        start, stop = self.place(name)
        message = f"no {kind} {name.value!r}{tail}"
        raise BindError(message, text=self.text, start=start, stop=stop, nearest=hint)

    def refuse(self, message: str, node: ast.Node, cause: Exception | None = None) -> NoReturn:
        """Raise a PlanError about a value that names its placeholder, if there is one.

        For a tree made by hand, the value is an argument, and the error is InvalidArgument.
        """
        if node.span is None:
            raise InvalidArgument(message) from cause
        prefix = f"{self.parameters.describe(node)}: " if isinstance(node, ast.Parameter) else ""
        self.fail(PlanError, prefix + message, node, cause)

    def fail(
        self, kind: type[QueryError], message: str, node: ast.Node, cause: Exception | None = None
    ) -> NoReturn:
        """Raise an error that points to a node's place in the text."""
        start, stop = self.place(node)
        raise kind(message, text=self.text, start=start, stop=stop) from cause

    @staticmethod
    def place(node: ast.Node) -> tuple[int | None, int | None]:
        """Return a node's place in the text; (None, None) if it was made by hand."""
        return (None, None) if node.span is None else (node.span.start, node.span.stop)


def _of_last_only(items: Sequence[ast.Node], tokenizer: Tokenizer) -> str | None:
    """Return a note on IGNORE CASE after only the last of several n-grams or parts, or None.

    It is omitted if one of the others has modifiers.
    """
    leaves = [item.pattern if isinstance(item, ast.Contains) else item for item in items]
    *others, last = leaves
    if not (isinstance(last, ast.Matching) and last.ignore_case):
        return None
    if any(isinstance(item, ast.Matching) for item in others):
        return None
    texts = [item.value for item in others if isinstance(item, ast.Text)]
    cased = [
        text for text in texts if tokenizer.normalized(text.lower()) != tokenizer.normalized(text.upper())
    ]
    if not cased:
        return None
    first = show_text(cased[0])
    return (
        f"IGNORE CASE applies to the last n-gram only, and {first} is matched exactly; write {first} "
        "IGNORE CASE as well"
    )


def same_kind(a: Any, b: Any) -> bool:
    """Return True if two tokenizers split texts into the same tokens, regardless of ids."""
    if a is b or a.kind != b.kind or a.kind not in FILE_TOKENIZERS:
        return bool(a.kind == b.kind)
    return bool(np.array_equal(a.definition().sections["tokenizer"], b.definition().sections["tokenizer"]))


def require_sentences(scope: Scope, node: ast.Node, corpus: Corpus) -> None:
    """Raise a PlanError at the node unless the sentences of all documents are known.

    Cost: for each segment, the first time, a pass over its documents.
    """
    why = _unknown_sentences(corpus, scope.catalog.own_corpus_names())
    if why is not None:
        scope.fail(PlanError, why, node)


def why_not_in_sentences(corpus: Corpus, own_names: Sequence[str]) -> str | None:
    """Return why texts cannot be scored as sentences of a corpus, or None. Cost: as `require_sentences`."""
    if models.is_cut(corpus):
        why: str | None = (
            f"models of {corpus.entry.name} split documents at its sentence_separator, not at the sentences "
            "that patterns find"
        )
    else:
        why = _unknown_sentences(corpus, own_names)
    return None if why is None else f"{why}; DOCUMENT (document=True in Python) scores a text as a document"


def _unknown_sentences(corpus: Corpus, own_names: Sequence[str]) -> str | None:
    for i, segment in enumerate(corpus.segments):
        if segment.n_documents and segment.sentences is None:
            name = corpus.corpus_of(i)
            return f"the sentences of {name} are not known: {_remedy(own_names, name, corpus)}"
    return None


def _remedy(own_names: Sequence[str], name: str, corpus: Corpus) -> str:
    if corpus.tokenizer.kind == "tokens":
        return "its documents are token ids, without a text"
    if name not in own_names:
        return "another program's index does not store where they begin"
    if corpus.tokenizer.kind == "callable":
        return "its tokenizer does not return the positions of tokens in a text (spans)"
    return f"COMPACT {name} finds them in its texts, if it was not created WITH (sentences = FALSE)"

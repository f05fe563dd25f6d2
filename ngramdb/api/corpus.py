"""A corpus: the language's verbs as methods, and array verbs for millions of queries at once.

The verbs of statements are in the statements' modules (`ngramdb.questions`), the others in `data_verbs`,
`field_verbs`, `removal_verbs` and `array_verbs`. One of more than a few lines calls the module that does its
work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ngramdb import display
from ngramdb.api.array_verbs import ArrayVerbs
from ngramdb.api.corpus_handle import BoundCorpus, BoundPart, commits
from ngramdb.api.data_verbs import DataVerbs
from ngramdb.api.database import Database
from ngramdb.api.field_verbs import FieldVerbs
from ngramdb.api.removal_verbs import RemovalVerbs
from ngramdb.display import visible
from ngramdb.errors import InvalidArgument, NgramdbError
from ngramdb.lazy import lazy_module
from ngramdb.questions import verbs
from ngramdb.types import checked_flags

if TYPE_CHECKING:
    from ngramdb.engine.changes.change import ChangeOutcome
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions import (
        agreement,
        collocates,
        continuations,
        count,
        dispersion,
        dist,
        docs,
        duplicate_spans,
        generate,
        keywords,
        kwic,
        near_duplicates,
        ngrams,
        novelty,
        perplexity,
        prob,
        score,
        show,
        trace,
    )
else:
    show = lazy_module("ngramdb.questions.show")


if TYPE_CHECKING:

    class _Verbs(
        DataVerbs,
        FieldVerbs,
        RemovalVerbs,
        ArrayVerbs,
        agreement.Verbs,
        collocates.Verbs,
        continuations.Verbs,
        count.Verbs,
        dispersion.Verbs,
        dist.Verbs,
        docs.Verbs,
        duplicate_spans.Verbs,
        generate.Verbs,
        keywords.Verbs,
        kwic.Verbs,
        perplexity.Verbs,
        near_duplicates.Verbs,
        ngrams.Verbs,
        novelty.Verbs,
        prob.Verbs,
        score.Verbs,
        trace.Verbs,
    ):
        _bound: BoundCorpus
else:
    _Verbs = object


class Corpus(_Verbs):
    """A corpus of a connection. Made by `Connection.corpus` and `create_corpus`; may be shared by threads.

    It answers from the connection's current version: own commits are seen at once, those of other processes
    after the next statement or `Connection.refresh`. Every method that takes an n-gram takes text or token
    ids; text is tokenized by the corpus's own tokenizer, and an out-of-vocabulary word occurs nowhere.

    A condition is text as after WHERE, with `?` or `:name` for the values that are given as `params`. One
    that cannot be parsed or bound raises QueryError, and so does a value that is missing.
    """

    _bound: BoundCorpus

    def __init__(self, database: Database, name: str, at_once: bool = True) -> None:
        """`at_once`: True to open the corpus now, False to open it on the first query."""
        self.name = name
        self._bound = BoundCorpus(database, name, at_once)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name and the database, which unpickling opens again."""
        return _reopened, (self._bound.database, self.name, self._bound.conditions)

    # ---- properties -------------------------------------------------------------------------------------

    @property
    def n_documents(self) -> int:
        """The number of documents."""
        return self._bound.current().n_documents

    @property
    def n_tokens(self) -> int:
        """The number of tokens, without separators; the count of the empty n-gram."""
        return self._bound.current().n_tokens

    @property
    def tokenizer(self) -> Any:
        """The corpus's tokenizer, with `encode` and `decode`."""
        return self._bound.current().tokenizer

    def __repr__(self) -> str:
        try:
            view = self._bound.current()
        except NgramdbError as error:  # debuggers and logs show objects whatever their state
            return visible(f"<ngramdb.Corpus {self.name}: {error}>")
        n_segments = len(view.index.signs)
        return visible(
            f"<ngramdb.Corpus {view.entry.name}: "
            f"{view.n_documents:,} document{'' if view.n_documents == 1 else 's'}, "
            f"{view.n_tokens:,} token{'' if view.n_tokens == 1 else 's'}, "
            f"{n_segments:,} segment{'' if n_segments == 1 else 's'}, tokenizer {view.tokenizer_title}>"
        )

    def _repr_html_(self) -> str:
        """Return the properties of the corpus as HTML, as in DESCRIBE."""
        try:
            view = self._bound.current()
            described = self._bound.run(show.DescribeCorpus(view))
        except NgramdbError:
            return display.table((), (), [repr(self)])
        return described._repr_html_()

    def where(self, condition: str, *, params: ParameterValues = None) -> Corpus:
        """Return the documents that meet a condition, as a corpus for reading with all verbs that query.

        Answers are those of a corpus into which only these documents were loaded, under every model. It
        follows the database's versions as the corpus does.

        Parameters
        ----------
        condition : str
            A condition as after WHERE, with `?` or `:name` for `params`.
        params : sequence or mapping, optional
            Values of the condition's placeholders.

        Returns
        -------
        Corpus
            Verbs that change a corpus raise NotSupportedError on it.

        Raises
        ------
        ResourceError
            More than 200 million tokens would have to be indexed.

        Notes
        -----
        Cost, once per condition and version: finding the documents, and about 0.1 µs per token of these
        documents or of all others, whichever have fewer tokens.
        """
        part = object.__new__(Corpus)
        part.name = self.name
        part._bound = BoundPart(self._bound, condition, params)
        return part

    def _among(self, where: str | None, params: ParameterValues) -> Corpus:
        """Return the corpus, or the part of it that a verb is about."""
        if where is not None:
            return self.where(where, params=params)
        if params is not None:
            raise InvalidArgument("params needs a condition (where), but where is None")
        return self

    @commits
    @checked_flags
    def copy(self, name: str, if_not_exists: bool = False) -> Corpus:
        """Make a corpus of these documents, in one commit: CREATE CORPUS … AS. Of a part, too (`where`).

        Their tokens, texts, metadata and ids are copied, tokenizer, vocabulary and options are the same.

        Parameters
        ----------
        name : any non-empty text; statements need backquotes around names that are not plain words
        if_not_exists : return the existing corpus of that name, whatever its documents

        Raises
        ------
        BindError
            There is a corpus of that name.
        NotSupportedError
            The documents are those of an attached index.

        Notes
        -----
        Cost: as `compact`: 5 to 80 ns per token, and that of texts and metadata.
        """
        if not isinstance(name, str) or not name:
            raise InvalidArgument(f"a corpus's name must be a non-empty str, not {name!r}")
        self._bound.run(self._bound.copying(name, if_not_exists))
        return Corpus(self._bound.database, name)

    # ---- sums and differences

    @commits
    def add(self, other: str | Corpus) -> ChangeOutcome:
        """Add all documents of another corpus permanently: ALTER CORPUS … ADD CORPUS.

        Parameters
        ----------
        other : a whole corpus of the same database, or its name; vocabularies of `words` may differ

        Raises
        ------
        BindError
            The corpus does not exist, or the tokenizers differ.
        InvalidArgument, NotSupportedError
            A corpus of another database, or a part of one.

        Notes
        -----
        Cost: a manifest; with different vocabularies some 100 ns per token of `other`.
        """
        self._bound.check_whole("add")
        return self._combine(1, other)

    @commits
    def subtract(self, other: str | Corpus) -> ChangeOutcome:
        """Remove, for each document of another corpus, an equal one: ALTER CORPUS … SUBTRACT CORPUS.

        Documents with the same tokens are equal. Of several equal ones, the first with the same text and
        metadata is removed, otherwise the first with the same text.

        Parameters
        ----------
        other : a whole corpus of the same database, or its name

        Raises
        ------
        ExecutionError
            The other corpus has a document that does not occur in this one; nothing is removed.
        BindError
            The corpus does not exist, or the tokenizers differ.
        InvalidArgument, NotSupportedError
            A corpus of another database, or a part of one.

        Notes
        -----
        Cost: 20 µs per document of `other` and segment, and that of removing the documents.
        """
        self._bound.check_whole("subtract")
        return self._combine(-1, other)

    def _combine(self, sign: int, other: str | Corpus) -> ChangeOutcome:
        verb = "ADD" if sign > 0 else "SUBTRACT"
        name = self._bound.name_of(other._bound, verb.lower()) if isinstance(other, Corpus) else other
        if not isinstance(name, str):
            raise InvalidArgument(f"the other corpus must be a Corpus or its name, not {type(name).__name__}")
        statement = f"ALTER CORPUS {self.name} {verb} CORPUS {name}"
        with self._bound.work():
            return self._bound.session().run_alter(self.name, name, sign, None, statement)


verbs.attach(Corpus)
for _verbs in (DataVerbs, FieldVerbs, RemovalVerbs, ArrayVerbs):
    verbs.adopt(Corpus, _verbs)


def _reopened(database: Database, name: str, conditions: Sequence[tuple[str, ParameterValues]]) -> Corpus:
    """Return a corpus, or a part of one, of a reopened database."""
    corpus = Corpus(database, name)
    for condition, params in conditions:
        corpus = corpus.where(condition, params=params)
    return corpus

"""SCORE: the probability of a text, token by token."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ngramdb.errors import PlanError
from ngramdb.lazy import dataclass, lazy_module
from ngramdb.limits import SENTENCE_BREAK
from ngramdb.lm.spec import is_cut, separator_of
from ngramdb.questions.definition import Definition, Help, Tool
from ngramdb.questions.plans import SliceQuery
from ngramdb.questions.requests import Condition, Model, Passage, Switch
from ngramdb.questions.verbs import Asking
from ngramdb.registries import MODELS
from ngramdb.types import checked_flags

if TYPE_CHECKING:
    from ngramdb.executor import result
    from ngramdb.executor.result import Result, Row
    from ngramdb.language import ast
    from ngramdb.lm import evaluation, of_corpora, values
    from ngramdb.lm.spec import ModelSpec
    from ngramdb.patterns import Gram
    from ngramdb.planner import scope as scopes
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.scope import Scope
    from ngramdb.questions import packing, prob, results, to_ast
    from ngramdb.questions.packing import Unit
    from ngramdb.questions.results import DocumentScores, Scores
    from ngramdb.questions.signatures import ModelLike, Ngram, Ngrams
    from ngramdb.source import Corpus, IntArray
    from ngramdb.tokenizers.base import Tokenizer
else:
    result = lazy_module("ngramdb.executor.result")
    evaluation = lazy_module("ngramdb.lm.evaluation")
    values = lazy_module("ngramdb.lm.values")
    scopes = lazy_module("ngramdb.planner.scope")
    of_corpora = lazy_module("ngramdb.lm.of_corpora")
    prob = lazy_module("ngramdb.questions.prob")
    results = lazy_module("ngramdb.questions.results")
    to_ast = lazy_module("ngramdb.questions.to_ast")
    packing = lazy_module("ngramdb.questions.packing")

# The columns, and the types of their values.
COLUMNS = {
    "position": int,
    "token": str,
    "token_id": int,
    "effective_n": int,
    "count": int,
    "context_count": int,
    "prob": float,
    "logprob": float,
    "sparse": bool,
}
# The tokens of rows for the end of a sentence, and for a word that does not occur in the corpus.
SHOWN_END = "</s>"
SHOWN_UNKNOWN = "<unk>"


class Verbs(Asking):
    """Verbs of a corpus."""

    @checked_flags
    def score(
        self,
        ngram: Ngram,
        model: ModelLike = "ngram",
        *,
        document: bool = False,
        sentence: bool = False,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Scores:
        """Score every token of a text (or of token ids) given the tokens before it: SCORE, as arrays.

        Parameters
        ----------
        ngram : text or token ids
        model : as `prob` takes it
        document : score the text as a document of the corpus: `<s>`, the beginning of a document, comes
            before it, and `</s>` is scored after it, as one entry more
        sentence : cut the text into sentences, and score each with its `</s>` as a sentence of the corpus.
            Sentences are those of patterns (`<s>`, WITHIN SENTENCE). The first such question indexes those of
            the corpus (about 100 ns per token).
        where, params : as `prob` takes them

        Raises
        ------
        PlanError
            With `sentence`, the sentences of some document are not known, or the corpus was created with a
            `sentence_separator`, at which its models cut documents: `document` scores texts by these.
        ResourceError
            With `sentence`, the corpus has more than 200 million tokens.
        """
        if where is not None or params is not None:
            part: Verbs = self._among(where, params)
            return part.score(ngram, model, document=document, sentence=sentence)
        used, unit = to_ast.as_model(model), packing.unit_of(document, sentence)
        with self._bound.work():
            view = packing.corpus_for(unit, self._bound)
            ids = packing.cut(view, unit, self._bound.passage(ngram), ngram)
            offsets = np.array([0, len(ids)], dtype=np.int64)
            return results.Scores.of(token_scores(view, ids, offsets, used, unit is not None))

    @checked_flags
    def score_many(
        self, docs: Ngrams, model: ModelLike = "ngram", *, document: bool = False, sentence: bool = False
    ) -> DocumentScores:
        """Score many documents in one kernel call; item i equals `score(docs[i])`.

        Parameters
        ----------
        docs : a list of texts or of token ids, or a pair of arrays `(flat ids, offsets)`
        model, document, sentence : as `score` takes them
        """
        used, unit = to_ast.as_model(model), packing.unit_of(document, sentence)
        with self._bound.work():
            view = packing.corpus_for(unit, self._bound)
            flat, offsets = packing.packed(view, unit, docs, self._bound.encode)
            scores = token_scores(view, flat, offsets, used, unit is not None)
        bounds = offsets if unit is None else offsets + np.arange(len(offsets))
        return results.DocumentScores(results.Scores.of(scores), bounds)


DEFINITION = Definition(
    Verbs,
    "score",
    "SCORE",
    "How likely a text is, token by token: SCORE.",
    {
        "ngram": Passage("the text"),
        "where": Condition(),
        "model": Model(),
        "document": Switch("as a document, from its beginning to its end"),
        "sentence": Switch("cut into sentences, each from its beginning to its end"),
    },
    tool=Tool(
        "score_text",
        "How likely a text is under a language model of the corpus, token by token. Models: "
        f"{', '.join(MODELS)}.",
    ),
    help=Help(
        "SCORE ngram [USING model] [WHERE condition] [SENTENCE | DOCUMENT] [FROM source]",
        ('SCORE "a whole sentence"', "probability token by token"),
    ),
)


def bind(scope: Scope, node: ast.Score) -> ScoreQuery:
    """Bind SCORE."""
    corpus = scope.corpus(node.source)
    passage = scope.passage(node.ngram, corpus)
    where = scope.among(node.where, corpus)
    unit = None if node.unit is None else cast("Unit", node.unit.value)
    if node.unit is not None and unit == "sentence":
        why = scopes.why_not_in_sentences(corpus, scope.catalog.own_corpus_names())
        if why is not None:
            scope.fail(PlanError, why, node.unit)
    return ScoreQuery(corpus, passage, scope.model(node.model), unit, where=where)


@dataclass(frozen=True)
class ScoreQuery(SliceQuery):
    """SCORE. `unit`: the text is a document, or is cut into sentences; each is between `<s>` and `</s>`."""

    gram: Gram
    model: ModelSpec
    unit: Unit | None = None

    def label(self) -> str:
        n = len(self.gram)
        what = {None: "", "document": "as a document, ", "sentence": "in sentences, "}[self.unit]
        return f"score {n:,} token{'' if n == 1 else 's'}, {what}{self.model}"

    def answer_whole(self) -> Result:
        """Return a row per token; the summary has the totals."""
        corpus, ids = self.corpus, self.gram.ids
        if self.unit == "sentence":
            cut = corpus.in_sentences()
            corpus, ids = cut, cut.cut(ids, self.gram.text)
        bounds = np.array([0, len(ids)], dtype=np.int64)
        found = token_scores(corpus, ids, bounds, self.model, self.unit is not None)
        separator = separator_of(corpus) if is_cut(corpus) else None
        known = evaluation.are_known(ids, evaluation.types_among(ids, corpus.index), separator)
        return result.Result(
            tuple(COLUMNS),
            _batches(ids, known, found, corpus.tokenizer),
            summary=_totals(known, found) | of_corpora.note_of(corpus, self.model),
            n_rows=len(found),
            types=tuple(COLUMNS.values()),
        )


def token_scores(
    corpus: Corpus, flat: IntArray, offsets: IntArray, model: ModelSpec, between: bool = False
) -> values.Scores:
    """Score the tokens of several documents, one after the other; contexts begin with the document.

    With `between`, each document is between `<s>` and `</s>`, whose score is its last entry.
    """
    if of_corpora.is_counted(corpus, model) and not between:
        return prob.ratios(*corpus.index.score(flat, offsets, model.infgram, model.limit))
    return of_corpora.language_model(corpus, model).score_many(flat, offsets, document=between)


def _totals(known: NDArray[np.bool_], scores: values.Scores) -> dict[str, Any]:
    """Return sums over the tokens with a probability, as `ngramdb.lm.values` defines them.

    `perplexity` is None if no token has one. `perplexity_nonzero` excludes the tokens of probability 0, and
    is only returned if there are any. `known` marks the tokens that occur in the corpus.
    """
    found = scores.measure
    return {
        "tokens": found.n_tokens,
        "unknown_words": int((~known).sum()),
        "unseen_contexts": found.n_unanswered,
        "zero_probabilities": found.n_zero,
        "logprob": found.logprob,
        "perplexity": _or_none(found.perplexity),
        **({"perplexity_nonzero": _or_none(found.perplexity_nonzero)} if found.n_zero else {}),
    }


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _batches(
    ids: IntArray, known: NDArray[np.bool_], found: values.Scores, tokenizer: Tokenizer
) -> Iterator[list[Row]]:
    ended = len(found) > len(ids)
    named = known & (ids >= 0) & (ids < tokenizer.n_vocabulary)
    if ended:
        ids, named = np.append(ids, values.END), np.append(named, False)
    for start in range(0, len(ids), result.BATCH_ROWS):
        part = slice(start, start + result.BATCH_ROWS)
        shown = np.flatnonzero(named[part])
        texts = np.where(ids[part] == SENTENCE_BREAK, SHOWN_END, SHOWN_UNKNOWN).tolist()
        for i, text in zip(shown.tolist(), tokenizer.token_texts(ids[part][shown]), strict=True):
            texts[i] = text
        if ended and part.stop >= len(ids):
            texts[-1] = SHOWN_END
        numbers = (
            ids,
            found.effective_n,
            found.count,
            found.context_count,
            found.prob,
            found.logprob,
            found.sparse,
        )
        yield [
            (
                start + i,
                text,
                None if token < 0 or token == SENTENCE_BREAK else token,
                effective_n,
                count,
                context_count,
                None if math.isnan(prob) else prob,
                None if math.isnan(prob) else logprob,
                sparse,
            )
            for i, (text, token, effective_n, count, context_count, prob, logprob, sparse) in enumerate(
                zip(texts, *(column[part].tolist() for column in numbers), strict=True)
            )
        ]

"""Questions that speak of sentences: whether a corpus knows its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.lm.sentences import is_cut
from ngramdb.planner import plan
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.source import Corpus


def require_sentences(scope: Scope, node: ast.Node, corpus: Corpus) -> None:
    """Fails, at the node, unless the sentences of all documents are known.

    Cost: for each segment, the first time, a look at each document.
    """
    why = _unknown_sentences(corpus, scope.catalog.own_corpus_names())
    if why is not None:
        scope.fail(PlanError, why, node)


def why_not_in_sentences(corpus: Corpus, own_names: Sequence[str]) -> str | None:
    """Return why texts cannot be scored as sentences of a corpus, or None. Cost: as `require_sentences`."""
    if is_cut(corpus):
        why: str | None = (
            f"models of {corpus.entry.name} cut documents at its sentence_separator, and not where patterns "
            "find sentences"
        )
    else:
        why = _unknown_sentences(corpus, own_names)
    return None if why is None else f"{why}; DOCUMENT (document=True in Python) scores a text as a document"


def _unknown_sentences(corpus: Corpus, own_names: Sequence[str]) -> str | None:
    for i, segment in enumerate(corpus.segments):
        if segment.n_documents and segment.sentences is None:
            name = corpus.corpus_of(i)
            return f"{name} does not know its sentences: {_remedy(own_names, name, corpus)}"
    return None


def _remedy(own_names: Sequence[str], name: str, corpus: Corpus) -> str:
    if corpus.tokenizer.kind == "tokens":
        return "its documents are token ids, without a text"
    if name not in own_names:
        return "another program's index does not say where they begin"
    if corpus.tokenizer.kind == "callable":
        return "its tokenizer does not say where in a text its tokens stand (spans)"
    return f"COMPACT {name} finds them in its texts, if it was not created WITH (sentences = FALSE)"


def in_one_sentence(found: plan.Occurring) -> plan.Occurring:
    """The same occurrences, where matches of patterns end with their sentence at the latest."""
    if isinstance(found, plan.OccurrencesOf) and isinstance(
        found.pattern, (plan.StoredWords, plan.TokenPattern)
    ):
        return replace(found, pattern=found.pattern.in_one_sentence())
    children: tuple[Any, ...] = found.children()
    if isinstance(found, plan.AnyOf):
        return replace(found, operands=tuple(map(in_one_sentence, found.operands)))
    if isinstance(found, (plan.InDocs, plan.NearTo)):
        return replace(found, what=in_one_sentence(children[0]))
    return found

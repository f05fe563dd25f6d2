"""Questions that speak of sentences: whether a corpus knows its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.planner import plan
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.source import Corpus


def require_sentences(scope: Scope, node: ast.Node, corpus: Corpus) -> None:
    """Fails, at the node, unless the sentences of all documents are known.

    Cost: for each segment, the first time, a look at each document.
    """
    for i, segment in enumerate(corpus.segments):
        if segment.n_documents and segment.sentences is None:
            name = corpus.corpus_of(i)
            scope.fail(PlanError, f"{name} does not know its sentences: {_remedy(scope, name, corpus)}", node)


def _remedy(scope: Scope, name: str, corpus: Corpus) -> str:
    if corpus.tokenizer.kind == "tokens":
        return "its documents are token ids, without a text"
    if name not in scope.catalog.own_corpus_names():
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

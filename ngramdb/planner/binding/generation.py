"""Binding GENERATE: which clause belongs to which method."""

from __future__ import annotations

from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.lm.spec import ModelSpec
from ngramdb.planner import plan
from ngramdb.planner.binding.conditions import among
from ngramdb.planner.binding.scope import SHARES, Range, Scope

TEMPERATURES = Range("above 0 (METHOD greedy is the limit)", lambda x: x > 0)
DIVERSITIES = Range("0 or more", lambda x: x >= 0)


def generate(scope: Scope, node: ast.Generate) -> plan.Plan:
    """Bind GENERATE."""
    corpus = scope.corpus(node.source)
    method = _method(scope, node)
    n_tokens = scope.number(node.tokens, "TOKENS", 0)
    beams = scope.number(node.method.width, "the number of beams", 1) if node.method else None
    n_returned = scope.number(node.n_returned, "RETURN", 1)
    assert n_tokens is not None
    if node.n_returned is not None and n_returned is not None:
        if method == "greedy" and n_returned > 1:
            what = "greedy generation has one continuation; take sample or beam for more"
            scope.refuse(what, node.n_returned)
        if beams is not None and n_returned > beams:
            what = f"a search with {beams} beams cannot return {n_returned} continuations"
            scope.refuse(what, node.n_returned)
    return plan.Generation(
        corpus,
        scope.context(node.context, corpus),
        n_tokens,
        # With shorter contexts where a long one is unseen, NGRAM is the same; INFGRAM shows it.
        ModelSpec("infgram") if node.model is None else scope.model(node.model),
        method,
        beams=beams,
        temperature=scope.real(node.temperature, "TEMPERATURE", TEMPERATURES),
        top_k=scope.number(node.top, "TOP", 1),
        top_p=scope.real(node.nucleus, "NUCLEUS", SHARES),
        diversity=scope.real(node.diversity, "DIVERSITY", DIVERSITIES),
        seed=scope.number(node.seed, "SEED", 0),
        n_returned=n_returned or 1,
        where=among(scope, node.where, corpus),
    )


def _method(scope: Scope, node: ast.Generate) -> str:
    """The method that is named, else the one that the clauses are of; checked that all of them are."""
    clauses = {
        "sample": (
            ("TEMPERATURE", node.temperature),
            ("TOP", node.top),
            ("NUCLEUS", node.nucleus),
            ("SEED", node.seed),
        ),
        "beam": (("DIVERSITY", node.diversity),),
    }
    given = [
        (kind, name, value) for kind, pairs in clauses.items() for name, value in pairs if value is not None
    ]
    named = node.method.kind if node.method else given[0][0] if given else "greedy"
    for kind, name, value in given:
        # A seed changes nothing where nothing is drawn, and scripts give one everywhere.
        if kind != named and name != "SEED":
            scope.fail(PlanError, f"{name} belongs to METHOD {kind}, not to METHOD {named}", value)
    return named

"""The binder: a syntax tree, a catalog and parameters become a plan.

Names are looked up, n-grams are tokenized with the tokenizer of their corpus, placeholders are replaced by
their values, and numbers are checked. A statement that cannot be bound raises BindError or PlanError with its
place in the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.lazy import lazy_module
from ngramdb.patterns import Phrase
from ngramdb.planner import plan
from ngramdb.planner.parameters import Parameters
from ngramdb.planner.planner import optimize
from ngramdb.planner.scope import Scope
from ngramdb.source import Catalog, Corpus

# A statement imports the module of its own binder only.
if TYPE_CHECKING:
    from ngramdb.planner import bind_conditions
    from ngramdb.questions import (
        agreement,
        collocates,
        continuations,
        corpora,
        count,
        cuts,
        decontamination,
        dispersion,
        dist,
        docs,
        duplicate_spans,
        duplicates,
        fields,
        generate,
        keywords,
        kwic,
        maintenance,
        near_duplicates,
        ngrams,
        novelty,
        perplexity,
        prob,
        score,
        show,
        trace,
        traced_texts,
        update,
    )
else:
    bind_conditions = lazy_module("ngramdb.planner.bind_conditions")
    agreement = lazy_module("ngramdb.questions.agreement")
    collocates = lazy_module("ngramdb.questions.collocates")
    maintenance = lazy_module("ngramdb.questions.maintenance")
    continuations = lazy_module("ngramdb.questions.continuations")
    corpora = lazy_module("ngramdb.questions.corpora")
    count = lazy_module("ngramdb.questions.count")
    cuts = lazy_module("ngramdb.questions.cuts")
    dispersion = lazy_module("ngramdb.questions.dispersion")
    dist = lazy_module("ngramdb.questions.dist")
    docs = lazy_module("ngramdb.questions.docs")
    decontamination = lazy_module("ngramdb.questions.decontamination")
    duplicate_spans = lazy_module("ngramdb.questions.duplicate_spans")
    duplicates = lazy_module("ngramdb.questions.duplicates")
    fields = lazy_module("ngramdb.questions.fields")
    generate = lazy_module("ngramdb.questions.generate")
    keywords = lazy_module("ngramdb.questions.keywords")
    kwic = lazy_module("ngramdb.questions.kwic")
    perplexity = lazy_module("ngramdb.questions.perplexity")
    near_duplicates = lazy_module("ngramdb.questions.near_duplicates")
    ngrams = lazy_module("ngramdb.questions.ngrams")
    novelty = lazy_module("ngramdb.questions.novelty")
    prob = lazy_module("ngramdb.questions.prob")
    score = lazy_module("ngramdb.questions.score")
    show = lazy_module("ngramdb.questions.show")
    trace = lazy_module("ngramdb.questions.trace")
    traced_texts = lazy_module("ngramdb.questions.traced_texts")
    update = lazy_module("ngramdb.questions.update")

Bind = Callable[[Scope, Any], plan.Plan]

# The function that binds each kind of statement, by its class in `language.ast`.
BINDERS: dict[str, Callable[[], Bind]] = {
    "AddFields": lambda: fields.bind_add,
    "Agreement": lambda: agreement.bind,
    "Alter": lambda: corpora.bind_alter,
    "Analyze": lambda: maintenance.bind_analyze,
    "Attach": lambda: corpora.bind_attach,
    "Check": lambda: show.bind_check,
    "Collocates": lambda: collocates.bind,
    "Compact": lambda: maintenance.bind_compact,
    "Continuations": lambda: continuations.bind,
    "CopyFrom": lambda: corpora.bind_copy_from,
    "CopyTo": lambda: corpora.bind_copy_to,
    "Count": lambda: count.bind,
    "CountDocs": lambda: docs.bind_count,
    "CreateCorpus": lambda: corpora.bind_create,
    "CutDuplicates": lambda: cuts.bind_duplicates,
    "CutSpans": lambda: cuts.bind_spans,
    "Decontaminate": lambda: decontamination.bind,
    "Delete": lambda: maintenance.bind_delete,
    "DeleteDuplicates": lambda: duplicates.bind_delete,
    "DeleteNearDuplicates": lambda: near_duplicates.bind_delete,
    "Describe": lambda: show.bind_describe,
    "Detach": lambda: corpora.bind_detach,
    "Dispersion": lambda: dispersion.bind,
    "Dist": lambda: dist.bind,
    "DistBefore": lambda: dist.bind_before,
    "Docs": lambda: docs.bind,
    "DropCorpus": lambda: corpora.bind_drop,
    "DropFields": lambda: fields.bind_drop,
    "DropVersion": lambda: maintenance.bind_drop,
    "Duplicates": lambda: duplicate_spans.bind,
    "Explain": lambda: show.bind_explain,
    "Generate": lambda: generate.bind,
    "KeepVersion": lambda: maintenance.bind_keep,
    "Keywords": lambda: keywords.bind,
    "Kwic": lambda: kwic.bind,
    "NearDuplicates": lambda: near_duplicates.bind,
    "Ngrams": lambda: ngrams.bind,
    "Novelty": lambda: novelty.bind,
    "Perplexity": lambda: perplexity.bind,
    "Prob": lambda: prob.bind,
    "ResetSetting": lambda: corpora.bind_reset,
    "Restore": lambda: maintenance.bind_restore,
    "Score": lambda: score.bind,
    "SetSetting": lambda: corpora.bind_set,
    "Show": lambda: show.bind_show,
    "Trace": lambda: trace.bind,
    "TraceTexts": lambda: traced_texts.bind,
    "Update": lambda: update.bind,
    "Use": lambda: corpora.bind_use,
}


def binder_of(kind: str) -> Bind:
    """Return the function that binds a kind of statement, given the name of its class."""
    if kind not in BINDERS:
        raise PlanError(f"{kind} cannot be run as a statement")
    return BINDERS[kind]()


class Binder(Scope):
    """Binds the statements of one text."""

    def bind(self, statement: ast.Statement) -> plan.Plan:
        """Return the logical plan of a statement."""
        found = binder_of(type(statement).__name__)(self, statement)
        if not self.phrases:
            return found
        where = getattr(statement, "where", None)
        # A phrase in a condition on documents is narrowed by the rest of the condition.
        of_documents = isinstance(
            statement,
            (
                *(ast.Docs, ast.CountDocs, ast.CutDuplicates, ast.Delete, ast.DeleteDuplicates),
                *(ast.DeleteNearDuplicates, ast.Duplicates, ast.NearDuplicates, ast.Update),
            ),
        )
        alone = where is None or of_documents or isinstance(where, ast.Contains)
        narrowed = isinstance(where, ast.And) or not alone
        phrases = (
            phrase._replace(narrowed=narrowed) if isinstance(phrase, Phrase) else phrase
            for phrase in self.phrases
        )
        return plan.changed(found, phrases=tuple(phrases))

    def condition(self, node: ast.Condition | None, corpus: Corpus) -> plan.DocExpr:
        """Return a condition on documents as a document expression; no condition means all documents."""
        return bind_conditions.condition(self, node, corpus)


def make_plan(
    statement: ast.Statement,
    catalog: Catalog,
    parameters: Parameters | None = None,
    text: str | None = None,
    estimated: bool = True,
) -> plan.Plan:
    """Return the plan of a statement, as it is run.

    Parameters
    ----------
    statement : syntax tree
    catalog : what its names are bound to
    parameters : values of its placeholders
    text : the statement as it was written, for messages
    estimated : True if the plan may be shown, not only run; a plan inside EXPLAIN can always be shown

    Raises
    ------
    BindError, PlanError
        A name that does not exist, a value that is missing or wrong; with the place in `text`.
    """
    bound = Binder(catalog, parameters, text).bind(statement)
    return optimize(bound, catalog.disabled_rules(), estimated)[0]

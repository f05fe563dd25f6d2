"""Binding statements that change which documents a corpus has, and that carry documents out of it."""

from __future__ import annotations

from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.planner import plan
from ngramdb.planner.binding.conditions import condition
from ngramdb.planner.binding.fields import returned_fields
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.options import EXPORT_OPTIONS
from ngramdb.planner.source import Catalog, Corpus
from ngramdb.registries import DEFAULT_MATCH


def delete(scope: Scope, node: ast.Delete) -> plan.Plan:
    """Bind DELETE."""
    if node.source is not None and not _is_one_corpus(node.source):
        scope.fail(PlanError, "documents are deleted from one corpus, as it is now", node.source)
    corpus = scope.corpus(node.source)

    def rebind(catalog: Catalog, now: Corpus) -> plan.DocExpr:
        again = Scope(catalog, scope.parameters, scope.text)
        again.removes = True
        return condition(again, node.where, now)

    scope.removes = True
    where = condition(scope, node.where, corpus)
    returning = returned_fields(scope, node.returning, corpus)
    statement = _statement(scope, node, scope.catalog.match())
    return plan.DeleteDocuments(corpus, where, returning, statement, rebind)


def _is_one_corpus(source: ast.Source) -> bool:
    return len(source.terms) == 1 and source.terms[0].sign > 0 and source.terms[0].version is None


def restore(scope: Scope, node: ast.Restore) -> plan.Plan:
    """Bind RESTORE."""
    # The corpus may have been dropped since: its name is looked up in that version.
    version = scope.version(node.version)
    assert version is not None
    return plan.RestoreCorpus(node.name.value, version)


def keep(scope: Scope, node: ast.KeepVersion) -> plan.Plan:
    """Bind KEEP VERSION."""
    name = scope.string(node.name, "the name of a version")
    return plan.KeepVersion(name, scope.number(node.version, "VERSION", 1))


def drop_version(scope: Scope, node: ast.DropVersion) -> plan.Plan:
    """Bind DROP VERSION."""
    return plan.DropVersion(scope.string(node.name, "the name of a version"))


def compact(scope: Scope, node: ast.Compact) -> plan.Plan:
    """Bind COMPACT."""
    if node.name is None:
        return plan.CompactCorpora(tuple(scope.catalog.own_corpus_names()), scope.catalog.compaction)
    return plan.CompactCorpora((scope.corpus_name(node.name),), scope.catalog.compaction)


def alter(scope: Scope, node: ast.Alter) -> plan.Plan:
    """Bind ALTER CORPUS."""
    name = scope.corpus_name(node.name)
    version = scope.version(node.term.version)
    other = scope.corpus_name(node.term.corpus) if version is None else node.term.corpus.value
    return plan.AlterCorpus(name, other, node.term.sign, version, _statement(scope, node))


def export(scope: Scope, node: ast.CopyTo) -> plan.Plan:
    """Bind COPY … TO."""
    question = scope.bind(node.question)
    path = scope.path(node.path, "the path after TO")
    options = scope.options(node.options, EXPORT_OPTIONS)
    question = plan.changed(question, phrases=())  # those of the whole statement
    if isinstance(question, plan.Documents) and not question.returning:
        return plan.ExportDocuments(question, path, options)
    return plan.ExportRows(question, path, options)


def _statement(scope: Scope, node: ast.Node, match: str = DEFAULT_MATCH) -> str:
    """The statement as it was written, the values of its placeholders and the setting, for audit records."""
    if scope.text is None or node.span is None:
        return ""
    return scope.parameters.told(scope.text[node.span.start : node.span.stop], node, match)

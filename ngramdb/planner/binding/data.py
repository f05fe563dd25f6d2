"""Binding statements about corpora, files and settings."""

from __future__ import annotations

from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.language import ast
from ngramdb.lm.spec import MAX_ANALYZED_ORDER, MIN_ANALYZED_ORDER
from ngramdb.planner import plan
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.options import ATTACH_OPTIONS, CORPUS_OPTIONS, LOAD_OPTIONS
from ngramdb.registries import DEFAULT_TOKENIZER


def create(scope: Scope, node: ast.CreateCorpus) -> plan.Plan:
    """Bind CREATE CORPUS."""
    tokenizer = DEFAULT_TOKENIZER if node.tokenizer is None else scope.string(node.tokenizer, "TOKENIZER")
    options = scope.options(node.options, CORPUS_OPTIONS)
    if not node.name.value:
        scope.fail(PlanError, "a corpus's name has at least one character", node.name)
    scope.check_unicode(node.name.value, node.name)
    if node.documents is not None:
        return _copy(scope, node, node.documents)
    return plan.CreateCorpus(node.name.value, tokenizer, node.if_not_exists, options)


def _copy(scope: Scope, node: ast.CreateCorpus, documents: ast.Docs) -> plan.Plan:
    """CREATE CORPUS … AS (DOCS …)."""
    for given, name in ((node.tokenizer, "TOKENIZER"), (node.options, "WITH")):
        if given:
            what = f"{name} and AS don't go together: a copy has the tokenizer and the options of its corpus"
            scope.fail(PlanError, what, node)
    if documents.returning:
        what = "RETURNING chooses columns, and documents are copied whole; leave it out"
        scope.fail(PlanError, what, documents.returning[0])
    if documents.source is not None and len(documents.source.terms) > 1:
        what = "AS takes documents of one corpus; ALTER CORPUS … ADD CORPUS adds those of others"
        scope.fail(PlanError, what, documents.source)
    found = scope.bind(documents)
    assert isinstance(found, plan.Documents)
    return plan.CopyDocuments(node.name.value, plan.changed(found, phrases=()), node.if_not_exists)


def copy_from(scope: Scope, node: ast.CopyFrom) -> plan.Plan:
    """Bind COPY … FROM."""
    name = scope.corpus_name(node.corpus)
    path = scope.path(node.path, "the path after FROM")
    return plan.Load(name, (path,), scope.options(node.options, LOAD_OPTIONS), node.skip_errors)


def drop(scope: Scope, node: ast.DropCorpus) -> plan.Plan:
    """Bind DROP CORPUS."""
    name = node.name.value if node.if_exists else scope.corpus_name(node.name)
    return plan.DropCorpus(name, node.if_exists)


def attach(scope: Scope, node: ast.Attach) -> plan.Plan:
    """Bind ATTACH."""
    path = scope.path(node.path, "the path after ATTACH")
    options = scope.options(node.options, ATTACH_OPTIONS)
    if not node.name.value:
        scope.fail(PlanError, "a corpus's name has at least one character", node.name)
    scope.check_unicode(node.name.value, node.name)
    return plan.AttachIndex(path, node.name.value, options)


def detach(scope: Scope, node: ast.Detach) -> plan.Plan:
    """Bind DETACH."""
    return plan.DetachIndex(scope.corpus_name(node.name))


def use(scope: Scope, node: ast.Use) -> plan.Plan:
    """Bind USE."""
    return plan.UseCorpus(scope.corpus_name(node.name))


def describe(scope: Scope, node: ast.Describe) -> plan.Plan:
    """Bind DESCRIBE."""
    return plan.DescribeCorpus(scope.corpus(None) if node.name is None else scope.named_corpus(node.name))


def analyze(scope: Scope, node: ast.Analyze) -> plan.Plan:
    """Bind ANALYZE."""
    order = scope.number(node.order, "ANALYZE's ORDER", MIN_ANALYZED_ORDER, MAX_ANALYZED_ORDER)
    return plan.AnalyzeCorpus(scope.corpus_name(node.name), order)


def show(scope: Scope, node: ast.Show) -> plan.Plan:
    """Bind SHOW."""
    if node.source is None:
        return plan.ShowTable(node.what)
    if node.what not in ("segments", "versions", "removals"):
        scope.fail(PlanError, f"SHOW {node.what.upper()} takes no FROM", node.source)
    return plan.ShowTable(node.what, scope.corpus(node.source).entry.name)


def check(scope: Scope, node: ast.Check) -> plan.Plan:
    """Bind CHECK."""
    if node.name is None:
        return plan.CheckCorpora(tuple(scope.catalog.corpus_names()))
    return plan.CheckCorpora((scope.corpus_name(node.name),))


def _setting_name(scope: Scope, name: ast.Name) -> str:
    known = scope.catalog.setting_names()
    if name.value.lower() not in known:
        scope.unknown("setting", name, known, "there are no settings")
    return name.value.lower()


def set_setting(scope: Scope, node: ast.SetSetting) -> plan.Plan:
    """Bind SET."""
    name = _setting_name(scope, node.name)
    try:
        value = scope.catalog.check_setting(name, scope.scalar(node.value))
    except InvalidArgument as error:
        scope.fail(PlanError, str(error), node.value, error)
    return plan.ChangeSetting(name, value)


def reset_setting(scope: Scope, node: ast.ResetSetting) -> plan.Plan:
    """Bind RESET."""
    return plan.ChangeSetting(_setting_name(scope, node.name), reset=True)

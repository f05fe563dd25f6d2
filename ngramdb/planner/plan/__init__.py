"""Plan nodes: what is to be done, each able to print itself.

A tree of *document expressions* (which documents) stands below a *statement* (what to answer about them, or
about an n-gram). The binder makes the logical tree, rules rewrite it, and the physical step fills in
`estimate` and the order of operands. Nodes are immutable; estimates take no part in comparisons.

There are many kinds, and a statement has to do with few: a module is imported when something of it is first
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngramdb.lazy import lazy_shelf

if TYPE_CHECKING:
    from ngramdb.planner.plan.actions import (
        ANALYZE_COLUMNS,
        AnalyzeCorpus,
        ChangeSetting,
        CheckCorpora,
        CreateCorpus,
        DescribeCorpus,
        DropCorpus,
        Load,
        ShowTable,
        UseCorpus,
    )
    from ngramdb.planner.plan.base import Constant, ExplainPlan, Plan, Question
    from ngramdb.planner.plan.changes import (
        ALTER_COLUMNS,
        COMPACT_COLUMNS,
        DELETE_COLUMNS,
        EXPORT_COLUMNS,
        RESTORE_COLUMNS,
        AlterCorpus,
        BindCondition,
        CompactCorpora,
        DeleteDocuments,
        ExportDocuments,
        RestoreCorpus,
    )
    from ngramdb.planner.plan.concordance import (
        BY_LEFT,
        BY_PLACE,
        BY_RIGHT,
        CONCORDANCE_COLUMNS,
        CONCORDANCE_ORDERS,
        NGRAM_COLUMNS,
        TRACE_COLUMNS,
        TRACE_DOCUMENTS,
        Concordance,
        NgramList,
        Sampling,
        Tracing,
    )
    from ngramdb.planner.plan.documents import (
        AllDocs,
        Complement,
        CountTest,
        DocsMatching,
        DocsOf,
        DocsWith,
        FieldTest,
        Intersection,
        Nearby,
        NoDocs,
        OverlapTest,
        UnionOf,
    )
    from ngramdb.planner.plan.estimates import Actual, Costs, Estimate
    from ngramdb.planner.plan.folding import one_case, same_letters
    from ngramdb.planner.plan.generation import GENERATION_COLUMNS, Generation
    from ngramdb.planner.plan.grams import SHOWN_CHARACTERS, Gram, show_ids, show_text, takes_text
    from ngramdb.planner.plan.nodes import DocExpr, Node, Occurring, changed
    from ngramdb.planner.plan.occurring import AnyOf, InDocs, NearTo, Nowhere, OccurrencesOf
    from ngramdb.planner.plan.patterns import Gapped, Pattern, Simple, StoredText, Variants
    from ngramdb.planner.plan.phrases import Phrase, may_mislead
    from ngramdb.planner.plan.plain import PlainDocs
    from ngramdb.planner.plan.predicates import (
        Compared,
        InRange,
        Missing,
        OneOf,
        Predicate,
        Resembles,
        Scalar,
        ValuePredicate,
        kind_of,
        show_value,
    )
    from ngramdb.planner.plan.questions import (
        COUNT_COLUMNS,
        DISTRIBUTION_COLUMNS,
        PROBABILITY_COLUMNS,
        SCORE_COLUMNS,
        CountDocuments,
        CountGram,
        CountOccurrences,
        Distribution,
        Documents,
        FieldKey,
        GroupedCount,
        Probability,
        Scoring,
    )

__all__ = [
    "ALTER_COLUMNS",
    "ANALYZE_COLUMNS",
    "BY_LEFT",
    "BY_PLACE",
    "BY_RIGHT",
    "COMPACT_COLUMNS",
    "CONCORDANCE_COLUMNS",
    "CONCORDANCE_ORDERS",
    "COUNT_COLUMNS",
    "DELETE_COLUMNS",
    "DISTRIBUTION_COLUMNS",
    "EXPORT_COLUMNS",
    "GENERATION_COLUMNS",
    "NGRAM_COLUMNS",
    "PROBABILITY_COLUMNS",
    "RESTORE_COLUMNS",
    "SCORE_COLUMNS",
    "SHOWN_CHARACTERS",
    "TRACE_COLUMNS",
    "TRACE_DOCUMENTS",
    "Actual",
    "AllDocs",
    "AlterCorpus",
    "AnalyzeCorpus",
    "AnyOf",
    "BindCondition",
    "ChangeSetting",
    "CheckCorpora",
    "CompactCorpora",
    "Compared",
    "Complement",
    "Concordance",
    "Constant",
    "Costs",
    "CountDocuments",
    "CountGram",
    "CountOccurrences",
    "CountTest",
    "CreateCorpus",
    "DeleteDocuments",
    "DescribeCorpus",
    "Distribution",
    "DocExpr",
    "DocsMatching",
    "DocsOf",
    "DocsWith",
    "Documents",
    "DropCorpus",
    "Estimate",
    "ExplainPlan",
    "ExportDocuments",
    "FieldKey",
    "FieldTest",
    "Gapped",
    "Generation",
    "Gram",
    "GroupedCount",
    "InDocs",
    "InRange",
    "Intersection",
    "Load",
    "Missing",
    "NearTo",
    "Nearby",
    "NgramList",
    "NoDocs",
    "Node",
    "Nowhere",
    "OccurrencesOf",
    "Occurring",
    "OneOf",
    "OverlapTest",
    "Pattern",
    "Phrase",
    "PlainDocs",
    "Plan",
    "Predicate",
    "Probability",
    "Question",
    "Resembles",
    "RestoreCorpus",
    "Sampling",
    "Scalar",
    "Scoring",
    "ShowTable",
    "Simple",
    "StoredText",
    "Tracing",
    "UnionOf",
    "UseCorpus",
    "ValuePredicate",
    "Variants",
    "changed",
    "kind_of",
    "may_mislead",
    "one_case",
    "same_letters",
    "show_ids",
    "show_text",
    "show_value",
    "takes_text",
]

# What most statements need comes first.
_MODULES = (
    *(
        "nodes",
        "base",
        "grams",
        "phrases",
        "questions",
        "occurring",
        "documents",
        "patterns",
        "predicates",
    ),
    *("estimates", "plain", "concordance", "folding", "generation", "actions", "changes"),
)
if not TYPE_CHECKING:
    __getattr__ = lazy_shelf(__name__, _MODULES, frozenset(__all__))

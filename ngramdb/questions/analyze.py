"""ANALYZE."""

from __future__ import annotations

from ngramdb.executor.results.result import Result
from ngramdb.language import ast
from ngramdb.late_dataclasses import dataclass
from ngramdb.lm.spec import MAX_ANALYZED_ORDER, MIN_ANALYZED_ORDER
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.plan import Plan
from ngramdb.questions.plans import Action
from ngramdb.questions.session import Session

ANALYZE_COLUMNS = ("length", "ngrams", "d1", "d2", "d3", "fallback")


def bind(scope: Scope, node: ast.Analyze) -> Plan:
    """Bind ANALYZE."""
    order = scope.number(node.order, "ANALYZE's ORDER", MIN_ANALYZED_ORDER, MAX_ANALYZED_ORDER)
    return AnalyzeCorpus(scope.corpus_name(node.name), order)


@dataclass(frozen=True)
class AnalyzeCorpus(Action):
    """ANALYZE: the statistics of Kneser-Ney models, kept with the corpus.

    order : the greatest length of n-grams that is counted; None: the default of the tokenizer
    """

    name: str
    order: int | None = None

    def label(self) -> str:
        return f"analyze {self.name}" + ("" if self.order is None else f" order {self.order}")

    def act(self, session: Session) -> Result:
        """Return a row per length of n-grams: their number, and the discounts of Kneser-Ney models."""
        report = session.run_analyze(self.name, self.order)
        statistics = report.statistics
        fallen_back = statistics.fallbacks()
        rows = [
            (length, n_types, *discount, length in fallen_back)
            for length, (n_types, discount) in enumerate(
                zip(statistics.n_types, statistics.discounts(), strict=True), start=1
            )
        ]
        note = statistics.note()
        summary = {"version": report.version} | ({} if note is None else {"note": note})
        return Result.of_rows(ANALYZE_COLUMNS, rows, **summary)

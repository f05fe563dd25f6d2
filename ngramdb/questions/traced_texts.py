"""TRACE OF: the maximal spans of texts, of files or of documents that occur verbatim in the corpus."""

from __future__ import annotations

from collections.abc import Iterator

from ngramdb import interrupts
from ngramdb.executor.result import Result, Row
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.planner.plan import Plan
from ngramdb.planner.scope import Scope
from ngramdb.questions.measured import Measured, bind_measured
from ngramdb.questions.plans import SliceQuery
from ngramdb.questions.trace import (
    TRACE_COLUMNS,
    TRACE_DOCUMENTS,
    first_documents,
    longest_matches,
    maximal_spans,
)

TYPES = (int, int, str, int, list)


def bind(scope: Scope, node: ast.TraceTexts) -> Plan:
    """Return the plan of TRACE OF."""
    corpus = scope.corpus(node.source)
    least = scope.number(node.min_length, "MIN LENGTH", 1) or 1
    of = bind_measured(scope, node.of, ast.Name("documents"), corpus)
    return TracedTexts(corpus, of, least, where=scope.among(node.where, corpus))


@dataclass(frozen=True)
class TracedTexts(SliceQuery):
    """TRACE OF: the maximal spans of texts, of at least `min_length` tokens, that occur in the corpus."""

    of: Measured
    min_length: int = 1

    @property
    def path(self) -> str | None:
        """The file that is read besides the database."""
        return self.of.path

    def label(self) -> str:
        least = f", at least {self.min_length:,}" if self.min_length > 1 else ""
        return f"trace {self.of}{least}"

    def answer_whole(self) -> Result:
        """Return a row per text and span."""
        self.corpus.check_difference()
        return Result((*self.of.columns, *TRACE_COLUMNS), self._batches(), types=(*self.of.types, *TYPES))

    def _batches(self) -> Iterator[list[Row]]:
        decode = self.corpus.tokenizer.decode
        for item in self.of.items(self.corpus):
            before = 0
            rows: list[Row] = []
            for ids in item.pieces:
                spans = maximal_spans(longest_matches(self.corpus.index, ids), self.min_length)
                places = (array.tolist() for array in (spans.starts, spans.stops, spans.counts))
                for start, stop, count in zip(*places, strict=True):
                    interrupts.check()
                    span = ids[start:stop]
                    found = first_documents(self.corpus, span, TRACE_DOCUMENTS)
                    rows.append((*item.group, before + start, stop - start, decode(span), count, found))
                before += len(ids)
            yield rows

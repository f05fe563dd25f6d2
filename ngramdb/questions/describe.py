"""DESCRIBE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ngramdb.executor.results.result import Result, Row
from ngramdb.language import ast
from ngramdb.late_dataclasses import dataclass
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.plan import Plan, Question
from ngramdb.questions.document_columns import REST_COLUMN, has_rest, metadata_fields
from ngramdb.questions.language_models import stored_statistics
from ngramdb.questions.plans import Action
from ngramdb.questions.session import Session
from ngramdb.questions.show import shown_time
from ngramdb.segments.metadata_columns import JSON
from ngramdb.source import Corpus

DESCRIBE_COLUMNS = ("property", "value")


def bind(scope: Scope, node: ast.Describe) -> Plan:
    """Bind DESCRIBE."""
    return DescribeCorpus(scope.corpus(None) if node.name is None else scope.named_corpus(node.name))


@dataclass(frozen=True)
class DescribeCorpus(Question, Action):
    """DESCRIBE: the properties of a corpus."""

    only_reads = True

    def label(self) -> str:
        return "describe"

    def act(self, session: Session) -> Result:
        """Return the properties of one corpus; the last rows are the fields of its metadata."""
        view = self.corpus
        entry: Any = view.entry
        segments: Sequence[Any] = entry.segments
        rows: list[Row] = [
            ("corpus", entry.name),
            ("tokenizer", session.tokenizer_title(entry.name)),
            ("vocabulary", view.tokenizer.n_vocabulary),
            ("documents", view.n_documents),
            ("tokens", view.n_tokens),
            ("segments", len(segments)),
            ("bytes", _bytes(entry)),
            (
                "version",
                max((segment.created_version for segment in segments), default=session.manifest.version),
            ),
        ]
        rows.extend((f"option {name}", value) for name, value in sorted(entry.options.items()))
        rows.extend(_statistics(view))
        fields = metadata_fields(view)
        rows.extend((f"field {name}", " or ".join(types)) for name, types in fields.items())
        if has_rest(fields):
            rows.append((f"field {REST_COLUMN}", JSON))
        return Result.of_rows(DESCRIBE_COLUMNS, rows)


def _statistics(view: Corpus) -> Iterator[Row]:
    """When ANALYZE was run, and the discounts that follow: D1, D2 and D3+ of each length of n-grams."""
    entry: Any = view.entry
    taken = getattr(entry, "statistics", None)
    if taken is None:
        return
    statistics = stored_statistics(view)
    if statistics is None:
        yield "statistics", f"taken {shown_time(taken.created)}, out of date: ANALYZE takes them anew"
        return
    yield "statistics", f"taken {shown_time(taken.created)}"
    fallen_back = statistics.fallbacks()
    for length, discount in enumerate(statistics.discounts(), start=1):
        shown = ", ".join(f"{value:.4g}" for value in discount)
        tail = " (fallback: too few n-grams to estimate them)" if length in fallen_back else ""
        yield f"discounts {length}", shown + tail


def _bytes(entry: Any) -> int:
    """Return the corpus's files on disk, segments and tokenizer together."""
    files = [segment.file for segment in entry.segments]
    files.extend(entry.tokenizer.vocabulary)
    if entry.tokenizer.file is not None:
        files.append(entry.tokenizer.file)
    return sum(file.size for file in files)

"""DOCS and COUNT DOCS: which documents meet a condition, and their contents, fetched while they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ngramdb.executor.conditions import Evaluator, Meter
from ngramdb.executor.docset import DocSet
from ngramdb.executor.result import Result, Row, batched
from ngramdb.planner.plan import COUNT_COLUMNS, Costs, CountDocuments, DocExpr, Documents
from ngramdb.planner.source import Corpus, Segment, Tokenizer
from ngramdb.segments.metadata import MAX_COLUMNS
from ngramdb.segments.metadata_values import JSON, flatten, split_path

# Documents per batch: their texts are in memory together.
BATCH_DOCUMENTS = 16

OWN_COLUMNS = frozenset(("doc_id", "length", "text"))

# Where objects have keys that are data there are thousands of fields. Those beyond the first are in a column
# of their own, as one object {path: value}, whatever segments they are in.
MAX_FIELDS = MAX_COLUMNS
REST_COLUMN = "metadata.rest"


def matching(
    corpus: Corpus, where: DocExpr, costs: Costs | None, meter: Meter | None
) -> list[tuple[Segment, DocSet]]:
    """Per segment, in document order, the documents that meet the condition."""
    segments = sorted(corpus.segments, key=lambda segment: segment.first_doc_id)
    return [(segment, Evaluator(segment.index, costs, meter).evaluate(where)) for segment in segments]


def count_documents(plan: CountDocuments, meter: Meter | None = None) -> Result:
    """One row, one number."""
    found = matching(plan.corpus, plan.where, plan.costs, meter)
    return Result.of_rows(COUNT_COLUMNS, [(sum(len(docs) for _, docs in found),)])


def documents(plan: Documents, meter: Meter | None = None) -> Result:
    """A row per document; `total` in the summary is how many there are, whatever LIMIT and OFFSET say.

    Which documents match is settled here; their metadata and texts are read with their rows.
    """
    found = matching(plan.corpus, plan.where, plan.costs, meter)
    total = sum(len(docs) for _, docs in found)
    stop = total if plan.limit is None else min(total, plan.offset + plan.limit)
    fields = metadata_fields(plan.corpus)
    rest = (REST_COLUMN,) if has_rest(fields) else ()
    columns = ("doc_id", *(_column(name) for name in fields), *rest, "length", "text")
    batches = batched(_rows(plan, found, fields, plan.corpus.tokenizer, stop), BATCH_DOCUMENTS)
    return Result(columns, batches, summary={"total": total}, n_rows=max(0, stop - plan.offset))


def metadata_fields(corpus: Corpus) -> dict[str, list[str]]:
    """The first MAX_FIELDS metadata fields, in the order in which documents have them, with their types."""
    fields: dict[str, list[str]] = {}
    for segment in corpus.segments:
        for name, type_name in segment.metadata.fields().items():
            if name not in fields and len(fields) == MAX_FIELDS:
                continue
            types = fields.setdefault(name, [])
            if type_name not in types:
                types.append(type_name)
    return fields


def has_rest(fields: dict[str, list[str]]) -> bool:
    """Whether documents may have other fields than these of `metadata_fields`."""
    return len(fields) == MAX_FIELDS


def _column(field: str) -> str:
    """A field's column; one that is called like a column of ours is told apart by a prefix."""
    return f"metadata.{field}" if field in OWN_COLUMNS else field


def _rows(
    plan: Documents,
    found: Sequence[tuple[Segment, DocSet]],
    fields: dict[str, list[str]],
    tokenizer: Tokenizer,
    stop: int,
) -> Iterator[Row]:
    """The rows at positions `offset … stop` of the ordered matches; segments outside are never opened."""
    position = 0
    for segment, docs in reversed(found) if plan.descending else found:
        n = len(docs)
        first, last = max(plan.offset - position, 0), min(stop - position, n)
        position += n
        if first >= last:
            continue
        numbers = docs.numbers()
        chosen = numbers[::-1][first:last] if plan.descending else numbers[first:last]
        for i in chosen.tolist():
            yield document_row(segment, i, fields, tokenizer)


def document_row(segment: Segment, i: int, fields: dict[str, list[str]], tokenizer: Tokenizer) -> Row:
    """One document's row: id, metadata by field, length in tokens, text."""
    values = segment.metadata.row(i) if fields else {}
    return (
        segment.first_doc_id + i,
        *(value_at(values, name, types) for name, types in fields.items()),
        *((rest_of(values, fields),) if has_rest(fields) else ()),
        segment.document_length(i),
        document_text(segment, i, tokenizer),
    )


def rest_of(values: dict[str, Any], fields: dict[str, list[str]]) -> dict[str, Any] | None:
    """The values of nested metadata that are in none of these fields, by path; None where there are none."""
    rest = {path: value for path, value in flatten(values) if path not in fields and value != {}}
    return rest or None


def document_text(segment: Segment, i: int, tokenizer: Tokenizer) -> str:
    """A document's text; where only token ids were given, the ids as the tokenizer shows them."""
    text = segment.text(i, tokenizer)
    if text is None:
        return tokenizer.decode(segment.document(i))
    # Bytes that are no UTF-8 (a corpus of bytes) are shown escaped rather than refused.
    return text.decode("utf-8", "backslashreplace")


def value_at(values: dict[str, Any], path: str, types: Sequence[str]) -> Any:
    """The value at a path such as `meta.year` of nested metadata; None where there is none.

    An object is a value only in a field of JSON: elsewhere its own fields hold what is in it.
    """
    found: Any = values
    for key in split_path(path):
        if not isinstance(found, dict):
            return None
        found = found.get(key)
    return None if isinstance(found, dict) and JSON not in types else found

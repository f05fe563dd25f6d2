"""DOCS and COUNT DOCS: which documents meet a condition, and their contents, fetched while they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from ngramdb import interrupts
from ngramdb.executor.conditions.docset import DocSet
from ngramdb.executor.conditions.evaluation import Evaluator, PlanMeter
from ngramdb.executor.questions.ordering import in_order
from ngramdb.executor.questions.sampling import sample_documents
from ngramdb.executor.results.result import Result, Row, batched
from ngramdb.planner import choices
from ngramdb.planner.plan import COUNT_COLUMNS, Costs, CountDocuments, DocExpr, Documents, PlainDocs
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

_SHAPES: WeakKeyDictionary[Corpus, tuple[dict[str, list[str]], tuple[str, ...], tuple[type, ...]]] = (
    WeakKeyDictionary()
)


def matching(
    corpus: Corpus, where: DocExpr, costs: Costs | None, meter: PlanMeter | None
) -> list[tuple[Segment, DocSet]]:
    """Per segment, in document order, the documents that meet the condition and have not been removed."""
    found = []
    for i, segment in enumerate(corpus.segments):
        interrupts.step(i, len(corpus.segments))
        if isinstance(where, PlainDocs):
            docs = _plain(where, segment, costs)
        else:
            docs = Evaluator(corpus, segment, costs, meter).evaluate(where)
        removed = corpus.removed(i)
        if len(removed):
            docs = docs & ~DocSet(removed, segment.n_documents)
        found.append((segment, docs))
    return found


def _plain(where: PlainDocs, segment: Segment, costs: Costs | None) -> DocSet:
    """The documents of a segment, found by the kernel."""
    docs, negated = segment.index.docs_where(where.code, where.grams, choices.kernel_costs(costs))
    return DocSet(docs, segment.n_documents, negated)


def count_documents(plan: CountDocuments, meter: PlanMeter | None = None) -> Result:
    """One row, one number."""
    found = matching(plan.corpus, plan.where, plan.costs, meter)
    n = sum(len(docs) for _, docs in found)
    result = Result.of_rows(COUNT_COLUMNS, [(n,)])
    result.found = n > 0
    return result


def documents(plan: Documents, meter: PlanMeter | None = None) -> Result:
    """A row per document; `total` in the summary is how many there are, whatever LIMIT and OFFSET are.

    Which documents match is settled here; their metadata and texts are read with their rows.
    """
    found, summary = chosen(plan, meter)
    n = sum(len(docs) for _, docs in found)
    stop = n if plan.limit is None else min(n, plan.offset + plan.limit)
    fields, columns, types = _shape(plan.corpus)
    if plan.order:
        rows = _rows_by_fields(plan, found, fields, stop)
    else:
        rows = _rows(plan, found, fields, plan.corpus.tokenizer, stop)
    batches = batched(rows, BATCH_DOCUMENTS)
    n_rows = max(0, stop - plan.offset)
    result = Result(columns, batches, summary=summary, n_rows=n_rows, types=types)
    result.found = summary["total"] > 0
    return result


def chosen(
    plan: Documents, meter: PlanMeter | None = None
) -> tuple[list[tuple[Segment, DocSet]], dict[str, int]]:
    """The documents of a DOCS question, its LIMIT aside, and its summary.

    `total` is how many meet the condition; with SAMPLE, `sampled` is how many of them were drawn, and `seed`
    draws the same again.
    """
    found = matching(plan.corpus, plan.where, plan.costs, meter)
    summary = {"total": sum(len(docs) for _, docs in found)}
    if plan.sample is not None:
        found = sample_documents(plan.corpus, found, plan.sample)
        summary.update(sampled=sum(len(docs) for _, docs in found), seed=plan.sample.seed)
    return found, summary


def _shape(corpus: Corpus) -> tuple[dict[str, list[str]], tuple[str, ...], tuple[type, ...]]:
    """The metadata fields of a corpus at one version, and the columns of its documents with their types."""
    shape = _SHAPES.get(corpus)
    if shape is None:
        fields = metadata_fields(corpus)
        rest = (REST_COLUMN,) if has_rest(fields) else ()
        columns = ("doc_id", *(column_of(name) for name in fields), *rest, "length", "text")
        types = (int, *map(column_type, fields.values()), *(dict for _ in rest), int, str)
        shape = _SHAPES[corpus] = fields, columns, types
    return shape


# The Python types of metadata columns; whole numbers and others together are numbers.
_PYTHON_TYPES: dict[str, type] = {"int64": int, "float64": float, "bool": bool, "string": str}


def column_type(stored: Sequence[str]) -> type:
    """What a metadata column's values are, given the types that its segments store: `dict` for anything."""
    found = {list if name.startswith("list<") else _PYTHON_TYPES.get(name, dict) for name in stored}
    if len(found) == 1:
        return found.pop()
    return float if found == {int, float} else dict


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


def column_of(field: str, own: bool = False) -> str:
    """A field's column; metadata with the name of one of our columns get a prefix."""
    return f"metadata.{field}" if field in OWN_COLUMNS and not own else field


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


def _rows_by_fields(
    plan: Documents, found: Sequence[tuple[Segment, DocSet]], fields: dict[str, list[str]], stop: int
) -> Iterator[Row]:
    """The rows at positions `offset … stop` by ORDER BY: only their documents are read."""
    owners, numbers = in_order(plan.order, found)
    for owner, i in zip(
        owners[plan.offset : stop].tolist(), numbers[plan.offset : stop].tolist(), strict=True
    ):
        yield document_row(found[owner][0], i, fields, plan.corpus.tokenizer)


def document_row(segment: Segment, i: int, fields: dict[str, list[str]], tokenizer: Tokenizer) -> Row:
    """One document's row: id, metadata by field, length in tokens, text."""
    values = segment.metadata.row(i) if fields else {}
    return (
        segment.doc_id(i),
        *(value_at(values, name, types) for name, types in fields.items()),
        *((rest_of(values, fields),) if has_rest(fields) else ()),
        segment.document_length(i),
        document_text(segment, i, tokenizer),
    )


def rest_of(values: dict[str, Any], fields: dict[str, list[str]]) -> dict[str, Any] | None:
    """The values of nested metadata that are in none of these fields, by path, or None."""
    rest = {path: value for path, value in flatten(values) if path not in fields and value != {}}
    return rest or None


def document_text(segment: Segment, i: int, tokenizer: Tokenizer) -> str:
    """A document's text; where only token ids were given, the ids as the tokenizer shows them."""
    text = segment.text(i, tokenizer)
    if text is None:
        return tokenizer.decode(segment.document(i))
    # Bytes that are not UTF-8 (a corpus of bytes) are shown escaped rather than refused.
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

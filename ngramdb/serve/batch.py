"""`POST /batch`: counts or probabilities of many n-grams in one request."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import numpy as np

from ngramdb.interrupts import Interrupt
from ngramdb.questions import packing, verbs
from ngramdb.questions.to_ast import as_model
from ngramdb.serve.database_pool import Named
from ngramdb.serve.problem_details import Limits, Problem
from ngramdb.serve.requests import json_object, once, shortened
from ngramdb.serve.responses import json_of

ARROW_FILE = b"ARROW1"
#: The marker that an Arrow stream begins with; the length of the first message follows.
ARROW_STREAM = b"\xff\xff\xff\xff"
FIELDS = ("corpus", "ngrams", "contexts", "continuations", "model")
#: Fields of a request by the names of their columns in a table.
COLUMNS = {"ngram": "ngrams", "context": "contexts", "continuation": "continuations"}

Fields = dict[str, Any]


def is_arrow(body: bytes | bytearray) -> bool:
    """Return True if the body is an Arrow table."""
    return body.startswith((ARROW_FILE, ARROW_STREAM))


def fields_of(body: bytes | bytearray, in_address: Iterable[tuple[str, str]]) -> Fields:
    """Return the fields of the body (JSON or a table) and of the address, where tables name their model.

    Raises Problem.
    """
    fields = once([*(_table(body) if is_arrow(body) else json_object(body)).items(), *in_address])
    unknown = fields.keys() - set(FIELDS)
    if unknown:
        raise Problem(400, f"no field {shortened(sorted(unknown)[0])!r}; known: {', '.join(FIELDS)}")
    has_ngrams, has_contexts = "ngrams" in fields, "contexts" in fields and "continuations" in fields
    if has_ngrams == has_contexts or (has_ngrams and fields.keys() & {"contexts", "continuations"}):
        raise Problem(400, "a batch needs ngrams, or contexts and continuations")
    return fields


def answered(
    named: Named, version: int | None, fields: Fields, as_table: bool, limits: Limits, work: Interrupt
) -> tuple[bytes, int, list[str]]:
    """Return the answer (a table or JSON), the version that was read, and notes. Raises Problem."""
    connection = named.hosted.connection
    snapshot = connection.snapshot
    view: Any = snapshot.view(named.corpus, version)
    told: list[tuple[str, str]] = []
    try:
        with work, verbs.collected(told):
            found = _found(named, view, version, fields, limits)
    except (TypeError, ValueError, OverflowError) as error:
        raise Problem(400, shortened(str(error))) from None
    number = snapshot.version if version is None else version
    notes = [message for message, _ in told]
    if as_table:
        return _as_table(found), number, notes
    values = {name: _plain(values) for name, values in found.items()}
    answer = {"ok": True, "corpus": named.name, "version": number, **values, "notes": notes}
    return json_of(answer) + b"\n", number, notes


def _found(named: Named, view: Any, version: int | None, fields: Fields, limits: Limits) -> dict[str, Any]:
    if "ngrams" in fields:
        ngrams = _checked(fields["ngrams"], limits)
        counts = view.index.count_many(*packing.pack(ngrams, packing.encoder(view.tokenizer)))
        if isinstance(ngrams, list):
            verbs.warn_of_many(view, ngrams, np.flatnonzero(counts == 0))
        return {"counts": counts}
    if version is not None:
        raise Problem(400, "probabilities are available for the newest version only; omit @")
    model = fields.get("model") or "ngram"
    if not isinstance(model, str):
        raise Problem(400, "model must be a string, written as after USING")
    as_model(model)
    contexts, continuations = (_checked(fields[name], limits) for name in ("contexts", "continuations"))
    corpus = named.hosted.connection.corpus(named.corpus)
    scores = corpus.prob_many(contexts, continuations, model)
    return {"prob": scores.prob, "cont_count": scores.count, "context_count": scores.context_count}


def _checked(ngrams: Any, limits: Limits) -> Any:
    """Return n-grams as lists, or as flat ids with offsets. Raises Problem."""
    if not isinstance(ngrams, (list, tuple)):
        raise Problem(400, "n-grams must be a list of strings or of lists of token ids")
    n = len(ngrams[1]) - 1 if isinstance(ngrams, tuple) else len(ngrams)
    if n > limits.max_batch:
        raise Problem(413, f"a batch has at most {limits.max_batch:,} n-grams, not {n:,}")
    return ngrams


def _plain(values: Any) -> Any:
    """Return numbers as JSON values, with null for unknown ones."""
    if values.dtype.kind == "f":
        return [None if one != one else one for one in values.tolist()]
    return values


# ---- tables ---------------------------------------------------------------------------------------------


def _table(body: bytes | bytearray) -> Fields:
    """Return the columns of a table: strings, or lists of token ids as flat ids with offsets."""
    import pyarrow
    import pyarrow.ipc

    try:
        opened = pyarrow.ipc.open_file if body.startswith(ARROW_FILE) else pyarrow.ipc.open_stream
        table = opened(io.BytesIO(body)).read_all()
        table.validate(full=True)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise Problem(400, f"invalid Arrow table in the request body: {shortened(str(error))}") from None
    return {COLUMNS.get(name, name): _column(name, table.column(name)) for name in table.column_names}


def _column(name: str, column: Any) -> Any:
    import pyarrow

    kind = column.type
    if column.null_count:
        raise Problem(400, f"column {shortened(name)} must not contain NULL")
    if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
        return column.to_pylist()
    is_list = pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind)
    if not (is_list and pyarrow.types.is_integer(kind.value_type)):
        raise Problem(400, f"column {shortened(name)} must contain strings or lists of token ids, not {kind}")
    joined = column.combine_chunks()
    if isinstance(joined, pyarrow.ChunkedArray):
        if not joined.num_chunks:
            return (np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64))
        joined = pyarrow.concat_arrays(joined.chunks)
    offsets = joined.offsets.to_numpy().astype(np.int64)
    values = joined.values.slice(offsets[0], offsets[-1] - offsets[0])
    if values.null_count:
        raise Problem(400, f"column {shortened(name)} must not contain NULL among its token ids")
    return values.to_numpy(), offsets - offsets[0]


def _as_table(found: dict[str, Any]) -> bytes:
    import pyarrow
    import pyarrow.ipc

    columns = {"count" if name == "counts" else name: values for name, values in found.items()}
    arrays = {name: pyarrow.array(values, from_pandas=True) for name, values in columns.items()}
    table = pyarrow.table(arrays)
    file = io.BytesIO()
    with pyarrow.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()

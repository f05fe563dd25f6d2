"""n-grams of classes of tokens as Parquet files: `Corpus.export_ngrams`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ngramdb import interrupts
from ngramdb.api.verbs.whole_files import replacing
from ngramdb.errors import InvalidArgument
from ngramdb.lm.ngram_rows import Classes, NgramRows, Rows, classes_of, ngram_rows
from ngramdb.lm.of_corpora import language_model
from ngramdb.lm.spec import Backoff
from ngramdb.questions import to_ast
from ngramdb.source import Corpus

SCHEMA = pa.schema([("n", pa.int32()), ("classes", pa.list_(pa.int32())), ("count", pa.int64())])

# n-grams that are written together.
BATCH = 1 << 18


def export_ngrams(
    view: Corpus, path: str, n: Any, min_count: int, given: Classes, slots: int | None
) -> list[NgramRows]:
    """Implement `Corpus.export_ngrams`."""
    low, high = n if isinstance(n, tuple) and len(n) == 2 else (n, n)
    low, high = to_ast.whole(1, "n", low), to_ast.whole(1, "n", high)
    least = to_ast.whole(1, "min_count", min_count)
    n_slots = None if slots is None else to_ast.whole(1, "slots", slots)
    if low > high:
        raise InvalidArgument(f"n must be a number of tokens, or a pair (least, most), not {n!r}")
    if not path.endswith(".parquet"):
        raise InvalidArgument(f"the file must end in .parquet, not {path!r}")
    model = language_model(view, Backoff(order=max(2, high)))
    classes = classes_of(model.index.types()[0], given, view.tokenizer.token_texts)
    lengths = ngram_rows(model, range(low, high + 1), classes, min_count=least, slots=n_slots)
    found: list[NgramRows] = []
    replacing(path, lambda file: _write(lengths, file, found))
    return found


def _write(lengths: Iterable[Rows], file: Any, found: list[NgramRows]) -> int:
    """Write the rows of each length to a file; return their number, and add what is known about them."""
    with pq.ParquetWriter(file, SCHEMA) as writer:
        for rows in lengths:
            for start in range(0, len(rows.counts), BATCH):
                interrupts.check()
                writer.write_batch(_batch(rows, slice(start, start + BATCH)))
            found.append(rows.about)
    return sum(about.written for about in found)


def _batch(rows: Rows, part: slice) -> Any:
    classes, n = rows.classes[part], rows.about.n
    offsets = np.arange(len(classes) + 1, dtype=np.int32) * n
    lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(classes.reshape(-1).astype(np.int32)))
    columns = [pa.array(np.full(len(classes), n, dtype=np.int32)), lists, pa.array(rows.counts[part])]
    return pa.record_batch(columns, schema=SCHEMA)

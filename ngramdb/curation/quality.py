"""Buckets of quality: documents by their perplexity under a language model of a reference.

The method is that of CCNet (Wenzek et al. 2020, "CCNet: Extracting High Quality Monolingual Datasets from Web
Crawl Data", section 3): text is normalized, each line is scored from `<s>` to `</s>`, and documents are
divided at percentiles of perplexity, by language. The published program (cc_net, bda555b) deletes line feeds
before it splits documents into lines, so that it scores each document as a single line.
"""

from __future__ import annotations

import math
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.conditions.document_functions import Chunk, values_of
from ngramdb.conditions.field_values import FieldReader, codes_of, identity
from ngramdb.conditions.overlap_field import token_chunks
from ngramdb.errors import InvalidArgument
from ngramdb.lm.evaluation import perplexities
from ngramdb.lm.of_corpora import language_model
from ngramdb.planner.plan import FieldKey, FunctionCall
from ngramdb.segments.base import Segment
from ngramdb.segments.metadata import MetadataReader
from ngramdb.segments.metadata_builder import MetadataBuilder
from ngramdb.source import Corpus
from ngramdb.types import Docs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Units scored from `<s>` to `</s>`: each line, the text without line feeds, the tokens of the document.
UNITS = ("lines", "ccnet", "document")
#: Percentiles of CCNet.
PERCENTILES = (30, 60)

# Documents between two interrupt checks.
CHECKED_DOCUMENTS = 4096


class Scoring(NamedTuple):
    """The method of scoring documents.

    call : PERPLEXITY(model FROM reference) of the corpus
    unit : one of UNITS
    normalizes : True to normalize lines
    """

    call: FunctionCall
    unit: str = UNITS[0]
    normalizes: bool = True

    def of(self, segment: Segment, docs: Docs) -> Floats:
        """Return the perplexity of documents (local numbers, ascending): (k,) float64, NaN for no line.

        Cost: that of SCORE, of splitting the text into tokens, and about 0.2 µs per character.
        """
        call = self.call
        if self.unit == "document":
            return np.asarray(values_of(call, segment, docs), dtype=np.float64)
        assert call.model is not None and call.reference is not None
        encode, model = call.reference.tokenizer.encode, language_model(call.reference, call.model)
        found = [np.empty(0)]
        for chunk, lengths in token_chunks(segment, docs):
            texts = Chunk(call, segment, chunk, lengths).texts()
            lines = ([encode(line) for line in self._lines(pieces)] for pieces in texts)
            found.append(perplexities(model, lines))
        values = np.concatenate(found)
        # The published program rounds to one decimal.
        return values if self.unit == "lines" else np.array([round(one, 1) for one in values.tolist()])

    def _lines(self, pieces: Sequence[str]) -> Iterator[str]:
        lines = ["".join(pieces)] if self.unit == "ccnet" else "\n".join(pieces).split("\n")
        for line in lines:
            shown = normalized(line) if self.normalizes else line.strip()
            if shown:
                yield shown


# ---- CCNet's normalization of lines.


# By what they become. Digits and combining marks are in `_table`.
_PUNCTUATION = {
    ",": "\uff0c\u3001",
    ".": "\u3002",
    ". ": "\uff0e",
    "...": "\u2026",
    '"': "\u201e\u201d\u201c\u00ab\u00bb\u300d\u300c\u300a\u300b",
    "'": "\u00b4\u2019",
    ":": "\u2236\uff1a",
    ";": "\uff1b",
    "?": "\uff1f",
    "!": "\uff01",
    "(": "\uff08",
    ")": "\uff09",
    "-": "\u2013\u2501\u25ba",
    " - ": "\u2014",
    "~": "\uff5e",
    "<": "\u3008",
    ">": "\u3009",
    "[": "\u3010",
    "]": "\u3011",
    "%": "\uff05",
}


def normalized(line: str) -> str:
    r"""Return a line in lower case, without accents or control characters, digits as 0, punctuation in ASCII.

    >>> normalized("  «Café» 1.234…\t")
    '"cafe" 0.000...'
    """
    return unicodedata.normalize("NFD", line.strip().lower()).translate(_table())


@cache
def _table() -> dict[int, str | None]:
    """Return the replacement of each character; None to delete it."""
    found: dict[int, str | None] = {
        ord(one): shown for shown, several in _PUNCTUATION.items() for one in several
    }
    found |= dict.fromkeys((*range(32), *range(127, 160)), None)
    for code in range(sys.maxunicode + 1):
        category = unicodedata.category(chr(code))
        if category == "Mn":
            found[code] = None
        elif category == "Nd":
            found[code] = "0"
    return found


# ---- Buckets.


class Bucket(NamedTuple):
    """A row of the report.

    group : the value of the field, None without one
    bucket : its name
    documents, tokens : what is in it
    below : the perplexity that all of it is below; None for the last bucket
    """

    group: Any
    bucket: str
    documents: int
    tokens: int
    below: float | None


class Buckets(NamedTuple):
    """The documents by bucket.

    values : per segment the perplexities of the documents, NaN without one
    numbers : per segment the numbers of their buckets in `names`, -1 without one
    rows : a row per group and bucket
    """

    names: tuple[str, ...]
    values: list[Floats]
    numbers: list[Ints]
    rows: list[Bucket]

    def fields(self, bucket: str, perplexity: str | None) -> list[MetadataReader]:
        """Return per segment a row per document with fields of these paths; a row without a bucket is empty.

        An infinite perplexity is left out, since JSON has no number for it.
        """
        found = []
        for numbers, values in zip(self.numbers, self.values, strict=True):
            builder = MetadataBuilder()
            for i, (number, value) in enumerate(zip(numbers.tolist(), values.tolist(), strict=True)):
                if i % CHECKED_DOCUMENTS == 0:
                    interrupts.check()
                leaves: list[tuple[str, Any]] = [] if number < 0 else [(bucket, self.names[number])]
                if leaves and perplexity is not None and math.isfinite(value):
                    leaves.append((perplexity, value))
                builder.add_leaves(leaves)
            found.append(MetadataReader(builder.finish(), len(numbers), "buckets"))
        return found


def checked_percentiles(at: Any) -> tuple[float, ...]:
    """Return percentiles in ascending order. Raises InvalidArgument."""
    found = tuple(at) if isinstance(at, (list, tuple)) else (at,)
    of_numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in found)
    if not found or not of_numbers or not all(0 < one < 100 for one in found):
        raise InvalidArgument(f"at must be percentiles above 0 and below 100, such as (30, 60), not {at!r}")
    if any(a >= b for a, b in pairwise(found)):
        raise InvalidArgument(f"the percentiles of at must ascend: {at!r}")
    return found


def names_of(n: int) -> tuple[str, ...]:
    """Return the names of the buckets between n percentiles: head, middle and tail of two.

    >>> names_of(1), names_of(3)
    (('head', 'tail'), ('head', 'middle_1', 'middle_2', 'tail'))
    """
    inner = ("middle",) if n == 2 else tuple(f"middle_{i}" for i in range(1, n))
    return ("head", *inner, "tail")


def buckets_of(
    corpus: Corpus,
    documents: Sequence[Docs],
    scoring: Scoring,
    percentiles: Sequence[float] = PERCENTILES,
    by: FieldKey | None = None,
) -> Buckets:
    """Divide documents at percentiles of their perplexity, by the values of a field.

    The cutoff at p percent of n documents with a perplexity is that of the document number ceil(p n / 100),
    counted from 0 in ascending order. A bucket has the documents below its cutoff, and at or above that of
    the bucket before; so documents of equal perplexity are in the same one.

    documents : per segment the local numbers of the documents, ascending
    """
    values = []
    for i, (segment, docs) in enumerate(zip(corpus.segments, documents, strict=True)):
        interrupts.step(i, len(corpus.segments))
        values.append(scoring.of(segment, docs))
    groups, group_values = _groups(corpus, documents, by)
    every = np.concatenate([np.empty(0), *values])
    lengths = [segment.lengths(docs) for segment, docs in zip(corpus.segments, documents, strict=True)]
    sizes = np.concatenate([np.empty(0, dtype=np.int64), *lengths])
    numbers = np.full(len(every), -1, dtype=np.int64)
    names, rows = names_of(len(percentiles)), []
    order = np.lexsort((every, groups))  # NaN comes last
    ends = np.searchsorted(groups[order], np.arange(len(group_values) + 1))
    for group, (start, stop) in zip(group_values, pairwise(ends.tolist()), strict=True):
        places = order[start:stop]
        places = places[~np.isnan(every[places])]
        cutoffs = _cutoffs(every[places], percentiles)
        numbers[places] = np.searchsorted(cutoffs, every[places], side="right")
        for k, name in enumerate(names):
            chosen = places[numbers[places] == k]
            below = cutoffs[k] if k < len(cutoffs) else None
            rows.append(Bucket(group, name, len(chosen), int(sizes[chosen].sum()), below))
    stops = np.cumsum([len(part) for part in values], dtype=np.int64)
    return Buckets(names, values, np.split(numbers, stops)[:-1], rows)


def _cutoffs(ascending: Floats, percentiles: Sequence[float]) -> list[float]:
    """Return the cutoffs of documents with these perplexities; those beyond the last one are left out."""
    n = len(ascending)
    ranks = (math.ceil(Fraction(str(p)) * n / 100) for p in percentiles)
    return [float(ascending[rank]) for rank in ranks if rank < n]


def _groups(corpus: Corpus, documents: Sequence[Docs], by: FieldKey | None) -> tuple[Ints, list[Any]]:
    """Return the number of each document's group, and the groups' values in order; None comes last."""
    if by is None:
        return np.zeros(sum(map(len, documents)), dtype=np.int64), [None]
    found, places = [np.empty(0, dtype=np.int64)], dict[Any, int]()
    values: list[Any] = []
    for segment, docs in zip(corpus.segments, documents, strict=True):
        codes = codes_of(by, FieldReader(segment), docs)
        for value in codes.values:
            if places.setdefault(identity(value), len(values)) == len(values):
                values.append(value)
        own = np.array([*(places[identity(value)] for value in codes.values), -1], dtype=np.int64)
        found.append(own[codes.codes])
    numbers = np.concatenate(found)
    order = sorted(range(len(values)), key=lambda i: identity(values[i]))
    ranks = np.empty(len(values) + 1, dtype=np.int64)
    ranks[[*order, -1]] = np.arange(len(values) + 1)
    used = np.unique(ranks[numbers])
    shown = [*(values[i] for i in order), None]
    return np.searchsorted(used, ranks[numbers]), [shown[i] for i in used.tolist()]

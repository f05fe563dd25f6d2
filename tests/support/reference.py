"""The oracle: the kernel's questions answered by brute force over plain lists of documents.

A document is a list of token ids. Nothing here is fast or clever; every answer follows from its definition in
a few lines. `ReferenceIndex` has the methods of the kernel's `Index`, `ReferenceSegment` those of a segment
and of its index, and `ReferenceCorpus` is a corpus as planner and executor see one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np


def occurrences(document, ngram):
    """Count the n-gram in the document; the empty one occurs once per token."""
    n = len(ngram)
    if not n:
        return len(document)
    return sum(list(document[i : i + n]) == list(ngram) for i in range(len(document) - n + 1))


def contains(document, ngram):
    """Return True if the document contains the n-gram; every document contains the empty one."""
    return not len(ngram) or occurrences(document, ngram) > 0


class ReferenceIndex:
    """Net answers over added documents (and removed ones, which count negatively)."""

    def __init__(self, documents, removed=()):
        self.added = [list(map(int, document)) for document in documents]
        self.removed = [list(map(int, document)) for document in removed]

    @property
    def n_tokens(self):
        return self.count([])

    def count(self, ids):
        ids = list(map(int, ids))
        return self._sum(lambda document: occurrences(document, ids))

    def _sum(self, number):
        return sum(map(number, self.added)) - sum(map(number, self.removed))

    def count_many(self, flat, offsets):
        return np.array([self.count(ngram) for ngram in unpack(flat, offsets)], dtype=np.int64)

    def context(self, context, infgram, order):
        """The part of the context that the model uses."""
        context = list(map(int, context))
        if order:
            context = context[max(0, len(context) - order + 1) :]
        while infgram and context and self.count(context) <= 0:
            context = context[1:]
        return context

    def next_counts(self, context):
        """Count next tokens; None is the end of a document, which never follows the empty context."""
        n = len(context)
        found = Counter()
        for sign, documents in ((1, self.added), (-1, self.removed)):
            for document in documents:
                for stop in range(n, len(document) + 1):
                    if document[stop - n : stop] == context and (n or stop < len(document)):
                        found[document[stop] if stop < len(document) else None] += sign
        return Counter({token: count for token, count in found.items() if count})

    def prob(self, context, token, infgram=False, order=0):
        used = self.context(context, infgram, order)
        found = self.next_counts(used)
        context_count = self.count(used)
        tokens = [other for other in found if other is not None]
        sparse = len(found) == 1 and len(tokens) == 1
        return found[int(token)], context_count, len(used) + 1, sparse

    def prob_many(self, flat, offsets, tokens, infgram=False, order=0):
        contexts = unpack(flat, offsets)
        return columns(
            self.prob(context, token, infgram, order) for context, token in zip(contexts, tokens, strict=True)
        )

    def score(self, flat, offsets, infgram=False, order=0):
        return columns(
            self.prob(document[:i], document[i], infgram, order)
            for document in unpack(flat, offsets)
            for i in range(len(document))
        )

    def dist(self, context, infgram=False, order=0):
        used = self.context(context, infgram, order)
        found = self.next_counts(used)
        n_end = found.pop(None, 0)
        ids = sorted(found)
        counts = np.array([found[token] for token in ids], dtype=np.int64)
        return np.array(ids, dtype=np.uint32), counts, n_end, self.count(used), len(used)


def unpack(flat, offsets):
    """The sequences of a flat array."""
    flat = [int(i) for i in flat]
    return [flat[offsets[i] : offsets[i + 1]] for i in range(len(offsets) - 1)]


def columns(answers):
    """Rows of (cont_count, context_count, effective_n, sparse) as the kernel's four arrays."""
    rows = list(answers)
    dtypes = (np.int64, np.int64, np.int32, np.bool_)
    return tuple(np.array([row[i] for row in rows], dtype=dtype) for i, dtype in enumerate(dtypes))


class ReferenceSegment:
    """One segment, and its own index: suffixes sorted in document-end order, ties by position."""

    def __init__(self, documents, first_doc_id=0, metadata=None):
        self.documents = [list(map(int, document)) for document in documents]
        self.first_doc_id = first_doc_id
        self.rows = sorted(
            (tuple(document[i:]), number, i)
            for number, document in enumerate(self.documents)
            for i in range(len(document))
        )
        self._metadata = metadata or [{} for _ in self.documents]
        self.calls = Counter()

    @property
    def index(self):
        return self

    @property
    def n_tokens(self):
        return len(self.rows)

    @property
    def n_documents(self):
        return len(self.documents)

    def find(self, ids):
        ids = tuple(map(int, ids))
        matching = [row for row, (suffix, _, _) in enumerate(self.rows) if suffix[: len(ids)] == ids]
        return (matching[0], matching[-1] + 1) if matching else (0, 0)

    def positions(self, lo, hi):
        starts = self._starts()
        return np.array([starts[number] + i for _, number, i in self.rows[lo:hi]], dtype=np.uint32)

    def docs_of(self, lo, hi):
        self.calls["docs_of"] += 1
        return np.array(sorted({number for _, number, _ in self.rows[lo:hi]}), dtype=np.uint32)

    def docs_containing(self, ids):
        return self.filter_docs(np.arange(self.n_documents, dtype=np.uint32), ids)

    def first_docs_containing(self, ids, most):
        return self.docs_containing(ids)[:most]

    def filter_docs(self, docs, ids):
        self.calls["filter_docs"] += 1
        kept = [i for i in docs.tolist() if contains(self.documents[i], list(ids))]
        return np.array(kept, dtype=np.uint32)

    def docs_among(self, lo, hi, docs, few):
        return np.array(sorted(set(self.docs_of(lo, hi).tolist()) & set(docs.tolist())), dtype=np.uint32)

    def docs_where(self, code, grams, costs, trace=None):
        """The condition evaluated on each document by itself."""
        self.calls["docs_where"] += 1

        def holds(document, steps, ngrams):
            step = next(steps)
            if step == 0:
                return contains(document, list(next(ngrams)))
            if step == 1:
                return not holds(document, steps, ngrams)
            if step == 5:
                return True
            operands = [holds(document, steps, ngrams) for _ in range(next(steps))]
            return any(operands) if step == 4 else all(operands)

        kept = [i for i, document in enumerate(self.documents) if holds(document, iter(code), iter(grams))]
        return np.array(kept, dtype=np.uint32), False

    def doc_id(self, i):
        return self.first_doc_id + i

    def doc_ids(self, numbers):
        return self.first_doc_id + np.asarray(numbers, dtype=np.int64)

    def local_of(self, doc_id):
        i = doc_id - self.first_doc_id
        return i if 0 <= i < len(self.documents) else None

    def _starts(self):
        return np.cumsum([0, *(len(document) + 1 for document in self.documents)])

    def document_bounds(self, docs):
        starts = self._starts()
        bounds = [(starts[i], starts[i + 1] - 1) for i in np.asarray(docs).tolist()]
        table = np.array(bounds, dtype=np.uint32).reshape(-1, 2)
        return table[:, 0].copy(), table[:, 1].copy()

    def documents_at(self, positions):
        return (np.searchsorted(self._starts(), positions, side="right") - 1).astype(np.uint32)

    def scan(self, starts, stops, ids):
        self.calls["scan"] += 1
        lo, hi = self.find(ids)
        windows = list(zip(starts.tolist(), stops.tolist(), strict=True))
        places = sorted(self.positions(lo, hi).tolist())
        kept = [place for place in places if any(start <= place < stop for start, stop in windows)]
        return np.array(kept, dtype=np.uint32)

    def count_by_document(self, lo, hi):
        found = Counter(number for _, number, _ in self.rows[lo:hi])
        docs = sorted(found)
        return np.array(docs, dtype=np.uint32), np.array([found[i] for i in docs], dtype=np.uint32)

    def document(self, i):
        return np.array(self.documents[i], dtype=np.uint32)

    def document_length(self, i):
        return len(self.documents[i])

    def text(self, i, tokenizer):
        self.calls["text"] += 1
        return tokenizer.decode(self.documents[i]).encode()

    @property
    def metadata(self):
        return self

    def rest(self):
        return None

    def arrow_types(self):
        return {}

    def fields(self):
        names = dict.fromkeys(name for row in self._metadata for name in row)
        return dict.fromkeys(names, "json")

    def rest_has(self, path):
        return False

    def parsed_types(self, path):
        names = {bool: "bool", int: "int64", float: "float64", str: "string"}
        values = [row[path] for row in self._metadata if path in row]
        every = [item for value in values for item in (value if isinstance(value, list) else [value])]
        return frozenset(), frozenset(names[type(item)] for item in every if type(item) in names)

    def row(self, i):
        return self._metadata[i]


class ReferenceTokenizer:
    """Letters a, b, c, … are the words, blanks separate them; anything else is unknown."""

    kind = "words"
    n_vocabulary = 26
    lossless = False
    token_bytes = None
    spellings = None
    has_places = False

    def encode(self, text):
        ids = [ord(word) - 97 if len(word) == 1 and "a" <= word <= "z" else -1 for word in text.split()]
        return np.array(ids, dtype=np.int64)

    def decode(self, ids):
        return " ".join(self.token_text(i) for i in ids)

    def decode_rows(self, rows):
        return [self.decode(row) for row in rows]

    def token_text(self, token):
        return chr(97 + int(token))

    def token_texts(self, ids):
        return [self.token_text(token) for token in ids]


@dataclass(eq=False)
class ReferenceCorpus:
    """A corpus of several segments, as planner and executor see one."""

    segments: list[ReferenceSegment]
    name: str = "letters"
    tokenizer: ReferenceTokenizer = field(default_factory=ReferenceTokenizer)

    @classmethod
    def of(cls, *segments, name="letters"):
        """Build from segments of documents, each written as text: `of(["a b", "c"], ["a"])`."""
        tokenizer = ReferenceTokenizer()
        made, first = [], 0
        for documents in segments:
            made.append(ReferenceSegment([tokenizer.encode(text) for text in documents], first))
            first += len(documents)
        return cls(made, name, tokenizer)

    @property
    def entry(self):
        return SimpleNamespace(name=self.name, segments=self.segments, options={})

    @property
    def index(self):
        return ReferenceIndex([document for segment in self.segments for document in segment.documents])

    n_added = 1

    def removed(self, i):
        return np.empty(0, dtype=np.uint32)

    def corpus_of(self, i):
        return self.name

    @property
    def n_documents(self):
        return sum(segment.n_documents for segment in self.segments)

    @property
    def n_tokens(self):
        return sum(segment.n_tokens for segment in self.segments)


@dataclass
class ReferenceCatalog:
    """A catalog of reference corpora, for the binder."""

    corpora: dict[str, ReferenceCorpus]
    current: str | None = None
    disabled: frozenset[str] = frozenset()

    def own_corpus_names(self):
        return self.corpus_names()

    def compaction(self, name):
        return []

    def texts_of_file(self, path, options, takes_ids):
        return []

    def corpus_names(self):
        return sorted(self.corpora)

    def corpus_view(self, name):
        return self.corpora[name]

    def version_number(self, name):
        raise NotImplementedError

    def setting_names(self):
        return ["threads", "progress"]

    def check_setting(self, name, value):
        return value

    def disabled_rules(self):
        return self.disabled

    def match(self):
        return "tokens"

    def algebra(self, terms):
        """One corpus, added, at its present version: all that planning needs here."""
        ((sign, name, version),) = terms
        assert (sign, version) == (1, None)
        return self.corpora[name]

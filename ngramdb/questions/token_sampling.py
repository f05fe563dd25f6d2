"""SAMPLE n TOKENS: documents drawn until they have a number of tokens, in all or by values of a field.

Documents are drawn in the order of the numbers that SAMPLE k draws by (`sampling.ranks`), so that a sample
depends on the seed and on the documents' ids, and not on segments. With BY, each value is a stratum that
gets its share of the tokens. The numbers are hashes, so the last document is found by their leading bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.field_values import FieldReader, codes_of, identity
from ngramdb.curation.keeping import counting
from ngramdb.errors import ExecutionError, InvalidArgument
from ngramdb.executor.per_segment import matching
from ngramdb.executor.result import Result
from ngramdb.language import ast
from ngramdb.language.scanner import Fault, read_scaled
from ngramdb.lazy import dataclass
from ngramdb.planner.bind_fields import bound_key
from ngramdb.planner.plan import FieldKey
from ngramdb.planner.scope import Scope
from ngramdb.questions import to_ast
from ngramdb.questions.plans import Action, BindCondition, Session
from ngramdb.questions.sampling import Ranks, corpus_salt, drawn_seed, ranks
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus, IntArray

# Leading bits of ranks by which tokens are counted before documents are chosen.
_BITS = 12
#: The most strata without WEIGHTS.
MOST_STRATA = 1000

Found = list[tuple[Segment, DocSet]]


@dataclass(frozen=True)
class TokenSampling:
    """SAMPLE n TOKENS: documents of `tokens` tokens; the seed decides which.

    by : the field whose values are strata, or None
    weights : values and their weights; empty for equal ones
    """

    tokens: int
    seed: int
    by: FieldKey | None = None
    weights: tuple[tuple[Any, float], ...] = ()

    def label(self) -> str:
        """Return the sampling in words, for plans and audit records."""
        by = "" if self.by is None else f" by {self.by.label()}"
        shown = ", ".join(f"{_shown(value)}: {weight:g}" for value, weight in self.weights)
        return f"sample {self.tokens:,} tokens{by}{f' ({shown})' if shown else ''}, seed {self.seed}"


def bind_token_sample(scope: Scope, node: ast.TokenSample, corpus: Corpus) -> TokenSampling:
    """Bind SAMPLE n TOKENS."""
    tokens = scope.scalar(node.tokens)
    if isinstance(tokens, str):  # of a parameter
        tokens = _scaled(scope, tokens, node.tokens)
    if isinstance(tokens, float) and tokens.is_integer():  # 1e9
        tokens = int(tokens)
    if isinstance(tokens, int) and tokens >= 2**63:
        scope.refuse(f"SAMPLE must be at most {2**63 - 1:,} tokens, not {tokens:,}", node.tokens)
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1:
        scope.refuse(f"SAMPLE must be a whole number of at least 1 token, not {tokens!r}", node.tokens)
    by = None if node.by is None else bound_key(scope, node.by, corpus)
    if by is not None and by.unnested:
        scope.refuse("documents are sampled by a value that each has once, not by UNNEST", node)
    weights: dict[Any, tuple[Any, float]] = {}
    for one in node.weights:
        value, weight = scope.scalar(one.value), scope.scalar(one.weight)
        is_number = isinstance(weight, (int, float)) and not isinstance(weight, bool)
        if not is_number or not 0 <= weight < math.inf:
            scope.refuse(f"a weight must be a number of at least 0, not {weight!r}", one)
        if _key(value) in weights:
            scope.refuse(f"{value!r} has two weights", one)
        weights[_key(value)] = value, float(weight)
    total = sum(weight for _, weight in weights.values())
    if weights and not total:
        scope.refuse("at least one weight must be above 0", node)
    if total == math.inf:
        scope.refuse("the sum of the weights is too large", node)
    return TokenSampling(tokens, drawn_seed(scope, node.seed), by, tuple(weights.values()))


def _scaled(scope: Scope, text: str, node: ast.Scalar) -> int | float:
    try:
        value = read_scaled(text.strip(), 0)
    except Fault as fault:
        scope.refuse(f"SAMPLE {text!r} TOKENS: {fault.message}", node)
    if value is None:
        scope.refuse(f"SAMPLE must be a number of tokens such as 5000 or 1B, not {text!r}", node)
    return value


def _few(texts: list[str]) -> str:
    return ", ".join(texts[:5]) + (f" and {len(texts) - 5:,} more" if len(texts) > 5 else "")


def _shown(value: Any) -> str:
    return "NULL" if value is None else repr(value)


def _key(value: Any) -> Any:
    return None if value is None else identity(value)


def node_of(
    tokens: Any, by: str | None, weights: Mapping[Any, float] | None, seed: int | None
) -> ast.TokenSample:
    """Return the clause that a verb's arguments stand for. Raises InvalidArgument."""
    if weights is not None and not isinstance(weights, Mapping):
        raise InvalidArgument(f"weights must be a dictionary of values and weights, not {weights!r}")
    if weights is not None and by is None:
        raise InvalidArgument("weights are those of values of a field, which is given as by")
    keys = to_ast.fields("by", by)
    if len(keys) > 1:
        raise InvalidArgument(f"by must be the name of a field, not {by!r}")
    pairs = () if weights is None else weights.items()
    if isinstance(tokens, float) and tokens.is_integer():  # 1e9
        tokens = int(tokens)
    return ast.TokenSample(
        ast.Value(tokens) if isinstance(tokens, str) else to_ast.required(1, "tokens", tokens),
        to_ast.number(0, "seed", seed),
        keys[0] if keys else None,
        tuple(ast.Weighted(ast.Value(value), ast.Value(weight)) for value, weight in pairs),
    )


def of_documents_or_tokens(
    size: int | None, tokens: Any, by: str | None, weights: Mapping[Any, float] | None, seed: int | None
) -> ast.Sample | ast.TokenSample:
    """Return the clause that the arguments of `Corpus.sample` stand for. Raises InvalidArgument."""
    if (size is None) == (tokens is None):
        raise InvalidArgument("a sample has a size, in documents, or a number of tokens; give one of the two")
    if tokens is not None:
        return node_of(tokens, by, weights, seed)
    if by is not None or weights is not None:
        raise InvalidArgument("by and weights divide a number of tokens; give tokens instead of size")
    return ast.Sample(to_ast.required(1, "size", size), to_ast.number(0, "seed", seed))


class TokenSample(NamedTuple):
    """Drawn documents, per segment; their tokens; and what to know about them."""

    found: Found
    tokens: int
    note: str


def sample_tokens(
    corpus: Corpus, found: Sequence[tuple[Segment, DocSet]], sampling: TokenSampling
) -> TokenSample:
    """Draw documents; `found` has an entry for each segment of the corpus, in order.

    In each stratum the last document is the one with which the share is reached, or passed.

    Cost: 30 ns per document, and reading the field. Memory: 4 bytes per document, 32 KB per stratum.

    Raises
    ------
    ExecutionError
        Without weights, more than `MOST_STRATA` values.
    """
    drawing = _Drawing(corpus, found, sampling)
    bars = drawing.bars()
    chosen, tokens, n_without = [], 0, 0
    for i, (segment, docs) in enumerate(found):
        interrupts.step(i, len(found))
        strata, values = drawing.strata[i], drawing.ranks(i)
        is_drawn = (strata >= 0) & drawing.has_share[strata] & (values <= bars[strata])
        numbers = docs.numbers()[is_drawn]
        n_without += int((strata < 0).sum())
        tokens += int(segment.lengths(numbers).sum())
        chosen.append((segment, DocSet(numbers, segment.n_documents)))
    return TokenSample(chosen, tokens, drawing.note(n_without))


KEPT_COLUMNS = ("documents", "tokens", "removed", "seed", "note", "version")


class KeptSample(NamedTuple):
    """A corpus after all documents outside a sample were removed.

    documents, tokens : what is left
    removed : the number of documents that were removed
    seed : the seed that draws the same again
    note : what was missing, or empty
    """

    documents: int
    tokens: int
    removed: int
    seed: int
    note: str
    version: int


@dataclass(frozen=True)
class KeepSample(Action):
    """Remove all documents outside a sample.

    `condition` and `sampling` are bound to the version that the commit succeeds; `reason` is for the audit
    record, with the sample and `where`, the clause as it is written.
    """

    name: str
    condition: BindCondition = field(compare=False, repr=False)
    sampling: Callable[[Corpus], TokenSampling] = field(compare=False, repr=False)
    where: str = ""
    reason: str = ""

    def label(self) -> str:
        return f"keep a sample of {self.name}"

    def act(self, session: Session) -> Result:
        """Return one row, the fields of `KeptSample`."""
        with session.change(self.name, f"keep a sample of {self.name}") as change:
            view = change.view
            where, costs = session.planned(self.condition, view)
            sampling = self.sampling(view)
            drawn = sample_tokens(view, matching(view, where, costs, None), sampling)
            kept = [docs.numbers() for _, docs in drawn.found]
            if view.n_documents and not any(map(len, kept)):
                why = f": {drawn.note}" if drawn.note else ""
                raise ExecutionError(f"the sample is empty, so that all documents would be removed{why}")
            gone = [
                np.setdiff1d(before, docs, assume_unique=True)
                for before, docs in zip(counting(view), kept, strict=True)
            ]
            change.remove(gone, statement=f"keep a {sampling.label()}{self.where}", reason=self.reason)
            done = change.commit()
        n_kept = sum(map(len, kept))
        row = (n_kept, drawn.tokens, done.documents, sampling.seed, drawn.note, done.version)
        return Result.of_rows(KEPT_COLUMNS, [row], **dict(zip(KEPT_COLUMNS, row, strict=True)))


class _Drawing:
    """The strata of documents, and the last rank of each that is drawn."""

    def __init__(
        self, corpus: Corpus, found: Sequence[tuple[Segment, DocSet]], sampling: TokenSampling
    ) -> None:
        self._corpus, self._found, self._sampling = corpus, found, sampling
        self._numbers = {_key(value): k for k, (value, _) in enumerate(sampling.weights)}
        self._values = [value for value, _ in sampling.weights] if sampling.by else [None]
        self.strata = [self._strata_of(segment, docs) for segment, docs in found]
        weights = [weight for _, weight in sampling.weights] or [1.0] * len(self._values)
        total = math.fsum(weights) or 1.0
        # Computed so that a single stratum has exactly the number that is asked for.
        self._shares = np.array(
            [math.ceil(sampling.tokens * (weight / total)) for weight in weights], dtype=np.int64
        )
        self.has_share = np.append(self._shares > 0, False)  # the last one is that of documents without
        self._has = np.zeros(len(weights), dtype=np.int64)

    def _strata_of(self, segment: Segment, docs: DocSet) -> NDArray[np.int32]:
        """Return the stratum of each document, -1 for none."""
        sampling = self._sampling
        if sampling.by is None:
            return np.zeros(len(docs), dtype=np.int32)
        chosen = None if len(docs) == segment.n_documents else docs.numbers()
        found = codes_of(sampling.by, FieldReader(segment), chosen)
        if not sampling.weights:
            # Columns of numbers also have a value for documents without one, to which no code refers.
            used = np.unique(found.codes[found.codes >= 0]).tolist()
            for value in (found.values[code] for code in used):
                if self._numbers.setdefault(_key(value), len(self._values)) == len(self._values):
                    self._values.append(value)
            if len(self._values) > MOST_STRATA:
                raise ExecutionError(
                    f"{sampling.by.label()} has more than {MOST_STRATA:,} values; name those to draw in "
                    "WEIGHTS (value: weight, …)"
                )
        missing = self._numbers.get(_key(None), -1)
        table = [self._numbers.get(_key(value), -1) for value in found.values]
        # Entry -1, for missing values, is the last one.
        return np.array([*table, missing], dtype=np.int32)[found.codes]

    def ranks(self, i: int) -> Ranks:
        """Return the ranks of the documents of segment i."""
        segment, docs = self._found[i]
        return ranks(self._sampling, corpus_salt(self._corpus, i), segment.doc_ids(docs.numbers()))

    def bars(self) -> Ranks:
        """Return the rank of the last document of each stratum, and one more for documents without any."""
        n, size = len(self._shares), 1 << _BITS
        sums = np.zeros(n * size, dtype=np.int64)
        for i, (segment, docs) in enumerate(self._found):
            interrupts.step(i, 2 * len(self._found))
            some = self.strata[i] >= 0
            places = self.strata[i].astype(np.int64) * size + (self.ranks(i) >> np.uint64(64 - _BITS)).astype(
                np.int64
            )
            lengths = segment.lengths(docs.numbers())
            sums += np.bincount(places[some], weights=lengths[some], minlength=n * size).astype(np.int64)
        reached = np.cumsum(sums.reshape(n, size), axis=1)
        self._has = reached[:, -1]
        # The bin of the last document of each stratum, and the tokens before it.
        last = (reached < self._shares[:, None]).sum(axis=1)
        before = np.where(last > 0, reached[np.arange(n), np.maximum(last, 1) - 1], 0)
        return self._last_ranks(last, before)

    def _last_ranks(self, last: IntArray, before: IntArray) -> Ranks:
        n = len(self._shares)
        nothing = np.empty(0, dtype=np.int64)
        parts = [(nothing.astype(np.int32), nothing.astype(np.uint64), nothing)]
        for i, (segment, docs) in enumerate(self._found):
            interrupts.step(i + len(self._found), 2 * len(self._found))
            values, strata = self.ranks(i), self.strata[i]
            bins = (values >> np.uint64(64 - _BITS)).astype(np.int64)
            near = np.flatnonzero((strata >= 0) & (bins == np.append(last, -1)[strata]))
            parts.append((strata[near], values[near], segment.lengths(docs.numbers()[near])))
        strata, values, lengths = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.lexsort((values, strata))
        strata, values, lengths = strata[order], values[order], lengths[order]
        bars = np.full(n + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
        for k in np.unique(strata).tolist():
            first, stop = np.searchsorted(strata, [k, k + 1])
            reached = before[k] + np.cumsum(lengths[first:stop])
            bars[k] = values[first + int(np.searchsorted(reached, self._shares[k]))]
        return bars

    def note(self, n_without: int) -> str:
        """Return what was missing, as a sentence; empty if nothing was."""
        by = self._sampling.by
        short, missing = [], []
        for value, has, share in zip(self._values, self._has.tolist(), self._shares.tolist(), strict=True):
            if has == 0 and by is not None:
                missing.append(_shown(value))
            elif has < share:
                short.append(f"{'in all' if by is None else _shown(value)}: {has:,} of {share:,}")
        parts = []
        if missing and by is not None:
            parts.append(f"no document has {by.label()} {_few(missing)}")
        if short:
            parts.append(f"all documents were drawn, since they have too few tokens ({_few(short)})")
        if n_without and by is not None:
            what = f"{n_without:,} document{'' if n_without == 1 else 's'}"
            why = "of other values" if self._sampling.weights else f"without {by.label()}"
            parts.append(f"{what} {why} {'is' if n_without == 1 else 'are'} left out")
        return "; ".join(parts)

"""Functions of a document, whose values are tested, ordered, grouped and returned like those of a field.

docs/statements/document-functions.md defines each one. An n-gram is a run of n tokens within a piece of the
document (`segments.base.Breaks`); each place counts. `datatrove` and `datamap` are the definitions of these
programs (`GopherRepetitionFilter`, `MassiveWebRepetitionFilter`), with the corpus's tokens as words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.conditions import interruptible_sort
from ngramdb.conditions.overlap_field import ids_onto, token_chunks
from ngramdb.conditions.stored_text import longest_matches
from ngramdb.fork_safety import cached_property
from ngramdb.lm.evaluation import perplexities
from ngramdb.lm.of_corpora import language_model
from ngramdb.planner.plan import FunctionCall
from ngramdb.segments.base import Segment
from ngramdb.segments.container.layout import piece_offsets
from ngramdb.types import Docs

Ints = NDArray[np.int64]
Marks = NDArray[np.bool_]
Values = NDArray[Any]

# Tokens of the loop of datatrove between two interrupt checks.
CHECK_TOKENS = 1 << 14
# Tokens of which a list is made at a time.
LISTED = 1 << 16
# Tokens of n-grams that are looked up at a time.
LOOKED_UP = 1 << 18
# Longer n-grams are not counted one by one, which copies each: the longest matches are faster.
LONGEST_COUNTED = 64
_LINE_BREAKS = re.compile("\n+")
_PARAGRAPH_BREAKS = re.compile("\n{2,}")
# Line feeds with only white space between them.
_BLANK_LINES = re.compile(r"\n\s*\n")


def values_of(call: FunctionCall, segment: Segment, docs: Docs) -> Values:
    """Return the function's values for documents (local numbers, ascending): (k,) float64 or int64."""
    function = FUNCTIONS[call.name]
    parts = [function(Chunk(call, segment, chunk, lengths)) for chunk, lengths in token_chunks(segment, docs)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.float64)


@dataclass
class Chunk:
    """Some documents of a segment, with their concatenated tokens."""

    call: FunctionCall
    segment: Segment
    docs: Docs
    lengths: Ints

    @cached_property
    def flat(self) -> Ints:
        return self.segment.token_ids(self.docs)[0].astype(np.int64)

    @cached_property
    def offsets(self) -> Ints:
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    @cached_property
    def owners(self) -> Ints:
        """The document of each token, by its place in `docs`."""
        return np.repeat(np.arange(len(self.docs)), self.lengths)

    @cached_property
    def breaks(self) -> Ints:
        """The tokens before which the documents are cut, ascending."""
        return self.segment.breaks_of(self.docs).tokens

    @cached_property
    def pieces(self) -> Ints:
        """The offsets of the pieces, one of each document that is not cut."""
        return piece_offsets(self.offsets, self.breaks)

    def in_pieces(self, flat: Ints) -> Iterator[list[Ints]]:
        """Yield the parts of an array of one value per token for each document's pieces."""
        n_pieces = np.diff(np.searchsorted(self.breaks, self.offsets)) + 1
        bounds = pairwise(self.pieces.tolist())
        for n in n_pieces.tolist():
            yield [flat[start:stop] for start, stop in islice(bounds, n)]

    @cached_property
    def room(self) -> Ints:
        """For each token the number of tokens from it to the end of its piece."""
        pieces = self.pieces
        ends = np.repeat(pieces[1:], np.diff(pieces))
        found: Ints = ends - np.arange(len(ends))
        return found

    @property
    def n(self) -> int:
        """The first argument, at most the number of tokens and one."""
        return min(self.call.numbers[0], len(self.flat) + 1)

    def sums(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of the tokens' weights per document."""
        before = np.concatenate([[0], np.cumsum(weights)])
        found: NDArray[Any] = before[self.offsets[1:]] - before[self.offsets[:-1]]
        return found

    def share(self, marks: Marks, weights: Ints | None = None) -> Values:
        """Return the share of marked tokens, or of their weights, per document; 0 without any."""
        if weights is None:
            return quotients(self.sums(marks), self.lengths)
        return quotients(self.sums(np.where(marks, weights, 0)), self.sums(weights))

    def covered(self, starts: Ints, n: int) -> Marks:
        """Mark the tokens of the n-grams that begin at `starts`."""
        edges = np.zeros(len(self.flat) + 1, dtype=np.int64)
        edges[starts] += 1
        edges[starts + n] -= 1
        return np.asarray(np.cumsum(edges)[:-1] > 0)

    def token_texts(self) -> tuple[str, Ints]:
        """Return the text of all tokens, and the place at which each begins: (n + 1,)."""
        pieces, sizes = [""], [np.zeros(1, dtype=np.int64)]
        for start in range(0, len(self.flat), LISTED):
            interrupts.check()
            distinct, places = np.unique(self.flat[start : start + LISTED], return_inverse=True)
            texts = self.call.corpus.tokenizer.token_texts(distinct)
            sizes.append(np.array(list(map(len, texts)), dtype=np.int64)[places.reshape(-1)])
            pieces.append("".join([texts[place] for place in places.reshape(-1).tolist()]))
        return "".join(pieces), np.cumsum(np.concatenate(sizes))

    def token_sizes(self, in_bytes: bool) -> Ints:
        """Return the characters or bytes of each token's text."""
        distinct, places = np.unique(self.flat, return_inverse=True)
        texts = self.call.corpus.tokenizer.token_texts(distinct)
        sizes = [len(text.encode("utf-8", "surrogatepass")) if in_bytes else len(text) for text in texts]
        return np.array(sizes, dtype=np.int64)[places.reshape(-1)]

    def texts(self) -> Iterator[list[str]]:
        """Yield the text of each document, in its pieces."""
        tokenizer = self.call.corpus.tokenizer
        for i in self.docs.tolist():
            interrupts.check()
            content = self.segment.text(i, tokenizer)
            if content is None:
                yield [tokenizer.decode(ids) for ids in self.segment.pieces(i)]
            else:
                pieces = self.segment.text_pieces(i, content)
                yield [piece.content.decode("utf-8", "surrogateescape") for piece in pieces]

    def text_lengths(self) -> Ints:
        """Return the number of characters of each document's text."""
        return np.array([sum(map(len, pieces)) for pieces in self.texts()], dtype=np.int64)


def quotients(parts: NDArray[Any], wholes: NDArray[Any]) -> Values:
    """Return the quotients; a quotient by 0 is 0."""
    found: Values = np.divide(parts, wholes, out=np.zeros(len(wholes)), where=wholes > 0)
    return found


# ---- n-grams of a document ------------------------------------------------------------------------------


class Ngrams(NamedTuple):
    """The n-grams of documents: places with equal n-grams of one document are neighbours, and ascend.

    starts : (m,) the places
    firsts : (k,) for each distinct n-gram of a document the index of its first place in `starts`
    counts : (k,) how many places it has
    """

    starts: Ints
    firsts: Ints
    counts: Ints


def numbered(chunk: Chunk, n: int) -> tuple[Ints, Ints]:
    """Return the places of n-grams, ascending, and a number for each that equal n-grams of a document share.

    Cost: sorting the tokens log2(n) times.
    """
    codes, length = interruptible_sort.numbered(chunk.flat)[1], 1
    while length < n:
        interrupts.check()
        step = min(length, n - length)
        # Codes at places without room for an n-gram are wrong, and not used.
        pairs = codes * (codes.max(initial=0) + 1) + np.roll(codes, -step)
        codes = interruptible_sort.numbered(pairs)[1]
        length += step
    starts = np.flatnonzero(chunk.room >= n)
    keys = chunk.owners[starts] * (codes.max(initial=0) + 1) + codes[starts]
    return starts, keys


def ngrams_of(chunk: Chunk, n: int) -> Ngrams:
    """Return the n-grams of documents, sorted."""
    starts, keys = numbered(chunk, n)
    order = interruptible_sort.order_of(keys)
    keys = keys[order]
    is_first = np.ones(len(keys), dtype=np.bool_)
    is_first[1:] = keys[1:] != keys[:-1]
    firsts = np.flatnonzero(is_first)
    return Ngrams(starts[order], firsts, np.diff(np.append(firsts, len(keys))))


def dup_ngram_share(chunk: Chunk) -> Values:
    """Return DUP_NGRAM_SHARE(n)."""
    n, dialect = chunk.n, chunk.call.dialect
    if dialect == "datatrove":
        return quotients(_scanned(chunk, n), chunk.text_lengths())
    ngrams = ngrams_of(chunk, n)
    if dialect == "datamap":
        several = np.repeat(ngrams.counts > 1, ngrams.counts)
        return chunk.share(chunk.covered(ngrams.starts[several], n), chunk.token_sizes(in_bytes=True))
    later = np.ones(len(ngrams.starts), dtype=np.bool_)
    later[ngrams.firsts] = False
    return chunk.share(chunk.covered(ngrams.starts[later], n))


def _scanned(chunk: Chunk, n: int) -> Ints:
    """Return the characters of repeated n-grams per document, each of which the scan skips as a whole.

    N-grams are equal if their texts are: tokens are joined without blanks. Cost: n tokens per n-gram.
    """
    joined, before = chunk.token_texts()
    found, seen = np.zeros(len(chunk.docs), dtype=np.int64), set[int]()
    owner, free_from, every = -1, 0, max(CHECK_TOKENS // n, 1)
    for number, (start, begin, end, of) in enumerate(_places(chunk, n, before)):
        if number % every == 0:
            interrupts.check()
        if start < free_from:
            continue
        if of != owner:
            owner = of
            seen.clear()
        # The hash takes less memory than the text, and is of 64 bits.
        key = hash(joined[begin:end])
        if key in seen:
            found[of] += end - begin
            free_from = start + n
        seen.add(key)
    return found


def _places(chunk: Chunk, n: int, before: Ints) -> Iterator[tuple[int, int, int, int]]:
    """Yield for each n-gram its first token, the range of its characters, and its document."""
    starts = np.flatnonzero(chunk.room >= n)
    for some in _parts(starts, n):
        columns = (some, before[some], before[some + n], chunk.owners[some])
        yield from zip(*(column.tolist() for column in columns), strict=True)


def top_ngram_share(chunk: Chunk) -> Values:
    """Return TOP_NGRAM_SHARE(n)."""
    n, dialect = chunk.n, chunk.call.dialect
    ngrams = ngrams_of(chunk, n)
    if dialect == "datatrove":
        before = np.concatenate([[0], np.cumsum(chunk.token_sizes(in_bytes=False))])
        places = ngrams.starts[ngrams.firsts]
        sizes = (before[places + n] - before[places] + n - 1) * ngrams.counts
        top = _best(chunk, ngrams, ngrams.counts)
        return quotients(_of_documents(chunk, ngrams, top, sizes), chunk.text_lengths())
    weights = chunk.token_sizes(in_bytes=True) if dialect else np.ones(len(chunk.flat), dtype=np.int64)
    sizes = np.where(ngrams.counts > 1, _coverage(ngrams, n, weights), 0)
    if dialect:
        before = np.concatenate([[0], np.cumsum(weights)])
        places = ngrams.starts[ngrams.firsts]
        top = _best(chunk, ngrams, ngrams.counts, before[places + n] - before[places])
    else:
        top = _best(chunk, ngrams, sizes)
    return quotients(_of_documents(chunk, ngrams, top, sizes), chunk.sums(weights))


def _coverage(ngrams: Ngrams, n: int, weights: Ints) -> Ints:
    """Return the weight of the tokens within the places of each distinct n-gram."""
    if not len(ngrams.starts):
        return np.empty(0, dtype=np.int64)
    gaps = np.full(len(ngrams.starts), n, dtype=np.int64)
    gaps[:-1] = np.minimum(np.diff(ngrams.starts), n)
    gaps[ngrams.firsts[1:] - 1] = n
    before = np.concatenate([[0], np.cumsum(weights)])
    found: Ints = np.add.reduceat(before[ngrams.starts + gaps] - before[ngrams.starts], ngrams.firsts)
    return found


def _best(chunk: Chunk, ngrams: Ngrams, *measures: Ints) -> Ints:
    """Return, for each document with n-grams, the distinct one that is best by the measures, then first."""
    places = ngrams.starts[ngrams.firsts]
    owners = chunk.owners[places]
    order = np.lexsort((places, *(-measure for measure in reversed(measures)), owners))
    _, first = np.unique(owners[order], return_index=True)
    best: Ints = order[first]
    return best


def _of_documents(chunk: Chunk, ngrams: Ngrams, best: Ints, sizes: Ints) -> Ints:
    found = np.zeros(len(chunk.docs), dtype=np.int64)
    found[chunk.owners[ngrams.starts[ngrams.firsts[best]]]] = sizes[best]
    return found


def loop_share(chunk: Chunk) -> Values:
    """Return LOOP_SHARE(n). Cost: n passes over the tokens."""
    flat, marks = chunk.flat, np.zeros(len(chunk.flat), dtype=np.bool_)
    for period in range(1, min(chunk.call.numbers[0], int(chunk.room.max(initial=0)) // 2) + 1):
        interrupts.check()
        again = np.zeros(len(flat), dtype=np.bool_)
        again[:-period] = (flat[:-period] == flat[period:]) & (chunk.room[:-period] > period)
        edges = np.flatnonzero(np.diff(again, prepend=False, append=False))
        for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            if stop - start >= period:
                marks[start : stop + period] = True
    return chunk.share(marks)


# ---- n-grams of a document in the whole corpus ----------------------------------------------------------


def share_seen(chunk: Chunk) -> Values:
    """Return SHARE_SEEN(n, k). Cost: up to a microsecond per token and segment of the corpus, for any n."""
    n, least = chunk.n, chunk.call.numbers[1]
    starts = np.flatnonzero(chunk.room >= n)
    if n > LONGEST_COUNTED:
        return chunk.share(chunk.covered(starts[_matches(chunk, least)[starts + n - 1] >= n], n))
    parts = [part[_counts(chunk, part, n) >= least] for part in _parts(starts, n)]
    return chunk.share(chunk.covered(np.concatenate([starts[:0], *parts]), n))


def longest_seen(chunk: Chunk) -> Values:
    """Return LONGEST_SEEN(). Cost: up to a microsecond per token and segment of the corpus."""
    found = np.zeros(len(chunk.docs), dtype=np.int64)
    np.maximum.at(found, chunk.owners, _matches(chunk, 2))
    return found


def _matches(chunk: Chunk, least: int) -> Ints:
    """Return the length of the longest n-gram that ends with each token and occurs at least `least` times."""
    pieces = chunk.pieces
    matched, _ = longest_matches(chunk.call.corpus.index, chunk.flat, pieces, least)
    # Each piece has one position more than tokens: the one before its first token.
    return np.delete(matched, pieces[:-1] + np.arange(len(pieces) - 1))


def _parts(starts: Ints, n: int) -> Iterator[Ints]:
    """Yield the places of n-grams in parts whose n-grams have about LOOKED_UP tokens."""
    size = max(LOOKED_UP // n, 1)
    for first in range(0, len(starts), size):
        interrupts.check()
        yield starts[first : first + size]


def _counts(chunk: Chunk, starts: Ints, n: int) -> Ints:
    """Return how often the n-grams at these places occur in the corpus."""
    flat = chunk.flat[starts[:, None] + np.arange(n)].reshape(-1)
    bounds = np.arange(len(starts) + 1, dtype=np.int64) * n
    return np.asarray(chunk.call.corpus.index.count_many(flat, bounds), dtype=np.int64)


# ---- a document under a model of a corpus ---------------------------------------------------------------


def perplexity(chunk: Chunk) -> Values:
    """Return PERPLEXITY(model FROM corpus), NaN without an answer. Cost: that of SCORE."""
    call = chunk.call
    assert call.model is not None and call.reference is not None
    tokenizer = call.reference.tokenizer
    if call.by_text:
        documents = ([tokenizer.encode(piece) for piece in pieces] for pieces in chunk.texts())
        return perplexities(language_model(call.reference, call.model), documents)
    ids_there = ids_onto(call.corpus.tokenizer, tokenizer)
    flat = chunk.flat if ids_there is None else ids_there[chunk.flat]
    return perplexities(language_model(call.reference, call.model), chunk.in_pieces(flat))


# ---- lines and paragraphs of a document's text ----------------------------------------------------------


class _Parts(NamedTuple):
    """The parts that a definition counts.

    divided : divides a text
    of_all_copies : all copies of a part count; else the first one does not
    size : the size of a part
    by_text : sizes are divided by that of the text; else by that of all parts
    empty : the share of a text without parts
    """

    divided: Callable[[str], list[str]]
    of_all_copies: bool = False
    size: Callable[[str], int] = len
    by_text: bool = False
    empty: float = 0.0

    def share(self, pieces: list[str], by_size: bool) -> float:
        """Return the share of repeated parts in the size of all, or in their number."""
        parts = Counter(part for piece in pieces for part in self.divided(piece))
        sizes = {part: self.size(part) if by_size else 1 for part in parts}
        if self.by_text and by_size:
            whole = sum(map(len, pieces))
        else:
            whole = sum(sizes[part] * n for part, n in parts.items())
        first = 0 if self.of_all_copies else 1
        repeated = sum(sizes[part] * (n - first) for part, n in parts.items() if n > 1)
        return repeated / whole if whole else self.empty


def _bytes_of(part: str) -> int:
    return len(part.encode("utf-8", "surrogateescape"))


def _filled(parts: Iterable[str]) -> list[str]:
    return [part for part in parts if part]


# By dialect; '' is our own.
_LINES = {
    "": _Parts(lambda text: _filled(line.strip() for line in text.split("\n"))),
    "datatrove": _Parts(_LINE_BREAKS.split, by_text=True),
    "datamap": _Parts(lambda text: _filled(text.split("\n")), True, _bytes_of, empty=1.0),
}
_PARAGRAPHS = {
    "": _Parts(lambda text: _filled(part.strip() for part in _BLANK_LINES.split(text))),
    "datatrove": _Parts(lambda text: _PARAGRAPH_BREAKS.split(text.strip()), by_text=True),
    "datamap": _Parts(lambda text: _filled(text.split("\n\n")), True, _bytes_of, empty=1.0),
}


def _share_of(parts: dict[str, _Parts], by_size: bool) -> Callable[[Chunk], Values]:
    def values(chunk: Chunk) -> Values:
        of_dialect = parts[chunk.call.dialect]
        return np.array([of_dialect.share(pieces, by_size) for pieces in chunk.texts()], dtype=np.float64)

    return values


FUNCTIONS: dict[str, Callable[[Chunk], Values]] = {
    "dup_ngram_share": dup_ngram_share,
    "top_ngram_share": top_ngram_share,
    "dup_line_share": _share_of(_LINES, by_size=True),
    "dup_line_count_share": _share_of(_LINES, by_size=False),
    "dup_paragraph_share": _share_of(_PARAGRAPHS, by_size=True),
    "dup_paragraph_count_share": _share_of(_PARAGRAPHS, by_size=False),
    "loop_share": loop_share,
    "share_seen": share_seen,
    "longest_seen": longest_seen,
    "perplexity": perplexity,
}

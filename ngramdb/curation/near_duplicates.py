"""Near duplicates: documents that are contained in others that are kept.

Documents are compared by their sets of n-grams of words, case folded and without punctuation. They are taken
in the order of KEEP, the best first. Each is removed if one that has been kept has at least the share
`contained` of its n-grams, and is kept otherwise. So a removed document removes no others, and chains of
similar documents do not disappear as a whole.

Documents of fewer than n words, and those in scripts that do not separate words by blanks, are compared with
one another by 5-grams of characters, of which they need the share `CHARACTERS_CONTAINED`.

The candidates of a document are the kept documents with one of its rarest n-grams: as many of these as it
takes for every document that contains it to have one. With sketches they are those with an equal band of
minimal hashes (MinHash: Broder 1997, "On the resemblance and containment of documents"). Candidates are
always verified. A document is compared with at most `MOST_CANDIDATES` of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.near_duplicates import MOST_KEPT, NearDuplicates
from ngramdb.curation import keeping
from ngramdb.curation.document_keys import Keys, counterparts
from ngramdb.curation.keeping import DocumentOrder, counting
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.types import Docs

#: Kept documents that are compared with a document at most.
MOST_CANDIDATES = MOST_KEPT
#: The least share of 5-grams of characters.
CHARACTERS_CONTAINED = 0.9

# Bytes per n-gram while documents are decided on: its set, which grows by doubling, and lists of kept ones.
BYTES_PER_NGRAM = 88
# Bytes per key of a given document: its place in a list, and three numbers while it is added.
BYTES_PER_KEY = 24
# Documents between checks of memory.
CHECKED_DOCUMENTS = 256
# Characters that are normalized at a time: 20 ms.
SLICE = 1 << 18
# Characters that do not combine with one before them: texts may be normalized in parts that begin so.
_BORDER = re.compile("[\x00-\x7f\u3000-\u3029\u3400-\u9fff]")

_NOT_OF_WORDS = re.compile(r"[\W_]+")
# Thai, Lao, Burmese, Khmer, Japanese and Chinese.
_WITHOUT_BLANKS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)


class Rule(NamedTuple):
    """The rule by which a document is a near duplicate.

    contained : the least share of its n-grams that a kept document has
    n : words of an n-gram
    bands, rows : of sketches; 0 bands to find candidates by n-grams
    """

    contained: float = 1.0
    n: int = 3
    bands: int = 0
    rows: int = 0


#: Every n-gram of three words is in a kept document.
EXACT = Rule()


class NearDuplicate(NamedTuple):
    """A document that is contained in another, which is kept; each as the number of its segment and its own.

    is_given : the kept document is one of `against`
    contained : the share of the document's n-grams that the kept one has
    jaccard : the n-grams of both, as a share of those of either
    length, kept_length : in tokens
    reason : "equal" for the same set of n-grams; otherwise "words" or "characters", which were compared; of a
        rejected pair "too few words" or "too few characters"
    """

    document: tuple[int, int]
    kept: tuple[int, int]
    is_given: bool
    contained: float
    jaccard: float
    length: int
    kept_length: int
    reason: str


class Found(NamedTuple):
    """Near duplicates in the order of documents; rejected pairs; documents with too many candidates."""

    pairs: list[NearDuplicate]
    rejected: list[NearDuplicate]
    n_bounded: int


class _Documents(NamedTuple):
    """Documents of a corpus: the number of each one's segment, its own, and its length in tokens."""

    corpus: Corpus
    owners: NDArray[np.int64]
    numbers: NDArray[np.int64]
    lengths: NDArray[np.int64]


def near_duplicates(
    corpus: Corpus,
    rule: Rule = EXACT,
    *,
    keeps_longest: bool = True,
    order: DocumentOrder | None = None,
    documents: Sequence[Docs] | None = None,
    against: Corpus | None = None,
    rejects: bool = False,
) -> Found:
    """Return the documents to remove, so that none is left that is contained in another.

    Parameters
    ----------
    rule : when a document is contained in another
    keeps_longest : take documents by their number of tokens, the longest first; otherwise by id
    order : these documents, the best one first (KEEP BY), in place of `keeps_longest`
    documents : the documents that count, per segment; by default, all that have not been removed
    against : a corpus whose documents are kept before all others
    rejects : also return rejected pairs: for each document that is kept, the one that has most of its n-grams
        among those that it was compared with

    Raises
    ------
    ResourceError
        the n-grams of the documents need more memory than `memory_limit`

    Notes
    -----
    Cost: 2 to 3 µs per word, and, per verified pair, a nanosecond per n-gram of both; with sketches, half a
    nanosecond per n-gram and hash. Of `against`, the keys of all documents are read once, and kept
    (`document_keys`); after that, only the texts of candidates. Memory: 16 bytes per distinct n-gram of a
    document, and up to 72 per distinct n-gram of all kept documents.
    """
    own = _listed(corpus, counting(corpus) if documents is None else documents)
    kernel = _kernel(rule)
    _add_documents(kernel, own)
    places = _places(own, keeps_longest, order)
    given = None if against is None else _Given(against, kernel, rule)
    if given is None:
        kernel.begin()
    kept, shared, bounded, near, has = kernel.decide(places, rejects, None if given is None else given.load)
    pairs = _Pairs(own, None if given is None else given.documents, kernel)
    return Found(
        [pairs.contained(i, int(kept[i]), int(shared[i])) for i in np.flatnonzero(kept >= 0).tolist()],
        [pairs.rejected(i, int(near[i]), int(has[i])) for i in np.flatnonzero(near >= 0).tolist()],
        int(np.count_nonzero(bounded)),
    )


def _kernel(rule: Rule) -> NearDuplicates:
    return NearDuplicates(rule.n, rule.contained, CHARACTERS_CONTAINED, rule.bands, rule.rows)


class _Given:
    """The documents of another corpus, which are kept: found by their keys, read if they are candidates."""

    def __init__(self, corpus: Corpus, kernel: NearDuplicates, rule: Rule) -> None:
        kept = counting(corpus)
        self.documents = _listed(corpus, kept)
        self._kernel = kernel
        wanted = kernel.all_keys()
        kernel.begin(len(self.documents.numbers), len(wanted))
        n_found = 0
        for i, ranks in enumerate(keeping.ranks(corpus, kept)):
            # One more than are compared, so that it is noticed if there are more.
            for keys, which, found in counterparts(
                corpus, i, _keys(rule), wanted, ranks, MOST_CANDIDATES + 1
            ):
                n_found += len(found)
                interrupts.require_memory(
                    BYTES_PER_NGRAM * kernel.n_grams + BYTES_PER_KEY * n_found, "n-grams of the documents"
                )
                kernel.add_given(keys, which, found)

    def load(self, rank: int) -> tuple[bytes, bool]:
        """Return the text of a document, as `normalized` does."""
        interrupts.check()
        _require_memory(self._kernel.n_grams)
        corpus, owners, numbers, _ = self.documents
        return normalized(corpus.segments[owners[rank]], int(numbers[rank]), corpus.tokenizer)


def _keys(rule: Rule) -> Keys:
    """Return the keys of documents by which a rule finds candidates."""
    kernel = _kernel(rule)

    def of(segment: Segment, i: int, tokenizer: Tokenizer) -> NDArray[np.uint64]:
        return kernel.keys_of(*normalized(segment, i, tokenizer))

    if rule.bands:
        name = f"words{rule.n}-{rule.bands}x{rule.rows}"
        return Keys(name, {"keys": "minhash", "n": rule.n, "bands": rule.bands, "rows": rule.rows}, of)
    return Keys(f"words{rule.n}", {"keys": "words", "n": rule.n}, of)


def _listed(corpus: Corpus, documents: Sequence[Docs]) -> _Documents:
    owners = np.repeat(np.arange(len(documents)), [len(docs) for docs in documents])
    numbers = np.concatenate([np.empty(0, dtype=np.uint32), *documents]).astype(np.int64)
    parts = zip(corpus.segments, documents, strict=True)
    lengths = [np.empty(0, dtype=np.int64), *(segment.lengths(docs) for segment, docs in parts)]
    return _Documents(corpus, owners, numbers, np.concatenate(lengths))


class _Pairs:
    """Makes pairs of places: those of the documents, then those of `against`."""

    def __init__(
        self,
        own: _Documents,
        given: _Documents | None,
        kernel: NearDuplicates,
    ) -> None:
        self._own, self._given = own, given
        self._size_of = kernel.size_of
        _, self._by_characters = kernel.sizes()

    def contained(self, i: int, of: int, both: int) -> NearDuplicate:
        is_equal = both == self._size_of(i) == self._size_of(of)
        return self._pair(i, of, both, "equal" if is_equal else self._compared(i))

    def rejected(self, i: int, of: int, both: int) -> NearDuplicate:
        return self._pair(i, of, both, f"too few {self._compared(i)}")

    def _compared(self, i: int) -> str:
        return "characters" if self._by_characters[i] else "words"

    def _pair(self, i: int, of: int, both: int, reason: str) -> NearDuplicate:
        own, other = self._size_of(i), self._size_of(of)
        n, docs = len(self._own.numbers), self._own
        k, kept = of, self._own
        if self._given is not None and of >= n:
            k, kept = of - n, self._given
        return NearDuplicate(
            (int(docs.owners[i]), int(docs.numbers[i])),
            (int(kept.owners[k]), int(kept.numbers[k])),
            of >= n,
            both / own,
            both / (own + other - both),
            int(docs.lengths[i]),
            int(kept.lengths[k]),
            reason,
        )


def _add_documents(kernel: NearDuplicates, documents: _Documents) -> None:
    n, corpus = len(documents.numbers), documents.corpus
    for k, (owner, i) in enumerate(zip(documents.owners.tolist(), documents.numbers.tolist(), strict=True)):
        if k % CHECKED_DOCUMENTS == 0:
            interrupts.step(k, n)
            _require_memory(kernel.n_grams)
        text, by_characters = normalized(corpus.segments[owner], i, corpus.tokenizer)
        if len(text) > SLICE:
            _require_memory(kernel.n_grams + (len(text) if by_characters else text.count(b" ")))
        kernel.add(text, by_characters)
    _require_memory(kernel.n_grams)


def _require_memory(n_grams: int) -> None:
    interrupts.require_memory(BYTES_PER_NGRAM * n_grams, "n-grams of the documents")


def _places(documents: _Documents, keeps_longest: bool, order: DocumentOrder | None) -> NDArray[np.uint32]:
    """Return the documents in the order of KEEP, as places in the order of segments and numbers."""
    n = len(documents.numbers)
    if order is not None:
        chosen: NDArray[Any] = np.lexsort((order[1], order[0]))
        places = np.empty(n, dtype=np.uint32)
        places[chosen] = np.arange(n)
        return places
    if keeps_longest:
        return np.argsort(-documents.lengths, kind="stable").astype(np.uint32)
    return np.arange(n, dtype=np.uint32)


def normalized(segment: Segment, i: int, tokenizer: Tokenizer) -> tuple[bytes, bool]:
    """Return the words of document i, and True if they are compared by characters.

    Words are in lower case (case folded, NFC), with a blank between them; a newline is at each break. A
    document without letters and digits is returned as it is.
    """
    content = segment.text(i, tokenizer)
    if content is None:
        pieces = [tokenizer.decode(ids) for ids in segment.pieces(i)]
    else:
        pieces = [
            piece.content.decode("utf-8", "backslashreplace") for piece in segment.text_pieces(i, content)
        ]
    words = [words_of(piece) for piece in pieces]
    if not any(words):
        words = [" ".join(piece.split()) for piece in pieces]
    text = "\n".join(words)
    return text.encode("utf-8", "surrogatepass"), not text.isascii() and _lacks_blanks(text)


def words_of(text: str) -> str:
    """Return the words of a text, case folded, with a blank between them."""
    if len(text) <= SLICE:
        return _words_of(text).strip()
    slices: list[str] = []
    start = 0
    while start < len(text):
        interrupts.check()
        border = _BORDER.search(text, start + SLICE)
        stop = border.start() if border else len(text)
        words = _words_of(text[start:stop])
        if slices and slices[-1].endswith(" "):
            words = words.removeprefix(" ")
        if words:
            slices.append(words)
        start = stop
    return "".join(slices).strip()


def _words_of(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return _NOT_OF_WORDS.sub(" ", text.casefold())


def _lacks_blanks(text: str) -> bool:
    """Return True if most characters belong to scripts that do not separate words by blanks."""
    n = 0
    for start in range(0, len(text), SLICE):
        interrupts.check()
        n += sum(len(run) for run in _WITHOUT_BLANKS.findall(text, start, start + SLICE))
    return 2 * n > len(text)

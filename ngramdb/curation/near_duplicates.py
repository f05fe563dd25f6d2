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
# Documents between checks of memory.
CHECKED_DOCUMENTS = 256

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

    contained : the share of the document's n-grams that the kept one has
    jaccard : the n-grams of both, as a share of those of either
    length, kept_length : in tokens
    reason : "equal" for the same set of n-grams; otherwise "words" or "characters", which were compared
    """

    document: tuple[int, int]
    kept: tuple[int, int]
    contained: float
    jaccard: float
    length: int
    kept_length: int
    reason: str


class Found(NamedTuple):
    """Near duplicates in the order of documents, and the number of documents with too many candidates."""

    pairs: list[NearDuplicate]
    n_bounded: int


def near_duplicates(
    corpus: Corpus,
    rule: Rule = EXACT,
    *,
    keeps_longest: bool = True,
    order: DocumentOrder | None = None,
    documents: Sequence[Docs] | None = None,
) -> Found:
    """Return the documents to remove, so that none is left that is contained in another.

    Parameters
    ----------
    rule : when a document is contained in another
    keeps_longest : take documents by their number of tokens, the longest first; otherwise by id
    order : these documents, the best one first (KEEP BY), in place of `keeps_longest`
    documents : the documents that count, per segment; by default, all that have not been removed

    Raises
    ------
    ResourceError
        the n-grams of the documents need more memory than `memory_limit`

    Notes
    -----
    Cost: 2 to 3 µs per word and, per verified pair, a nanosecond per n-gram of both; with sketches,
    half a nanosecond per n-gram and hash. Memory: 16 bytes per distinct n-gram of a document, and up to 72
    per distinct n-gram of all kept documents.
    """
    counted = counting(corpus) if documents is None else documents
    owners = np.repeat(np.arange(len(counted)), [len(docs) for docs in counted])
    numbers = np.concatenate([np.empty(0, dtype=np.uint32), *counted]).astype(np.int64)
    parts = zip(corpus.segments, counted, strict=True)
    lengths = np.concatenate(
        [np.empty(0, dtype=np.int64), *(segment.lengths(docs) for segment, docs in parts)]
    )
    kernel = NearDuplicates(rule.n, rule.contained, CHARACTERS_CONTAINED, rule.bands, rule.rows)
    _add_documents(kernel, corpus, owners, numbers)
    kept, shared, bounded = kernel.decide(_places(owners, numbers, lengths, keeps_longest, order))
    sizes, by_characters = kernel.sizes()
    found = np.flatnonzero(kept >= 0)
    pairs = []
    for i, of in zip(found.tolist(), kept[found].tolist(), strict=True):
        both, own, other = int(shared[i]), int(sizes[i]), int(sizes[of])
        reason = "equal" if both == own == other else "characters" if by_characters[i] else "words"
        pairs.append(
            NearDuplicate(
                (int(owners[i]), int(numbers[i])),
                (int(owners[of]), int(numbers[of])),
                both / own,
                both / (own + other - both),
                int(lengths[i]),
                int(lengths[of]),
                reason,
            )
        )
    return Found(pairs, int(np.count_nonzero(bounded)))


def _add_documents(
    kernel: NearDuplicates, corpus: Corpus, owners: NDArray[np.int64], numbers: NDArray[np.int64]
) -> None:
    n = len(numbers)
    for k, (owner, i) in enumerate(zip(owners.tolist(), numbers.tolist(), strict=True)):
        if k % CHECKED_DOCUMENTS == 0:
            interrupts.step(k, n)
            interrupts.require_memory(BYTES_PER_NGRAM * kernel.n_grams, "n-grams of the documents")
        kernel.add(*normalized(corpus.segments[owner], i, corpus.tokenizer))
    interrupts.require_memory(BYTES_PER_NGRAM * kernel.n_grams, "n-grams of the documents")


def _places(
    owners: NDArray[np.int64],
    numbers: NDArray[np.int64],
    lengths: NDArray[np.int64],
    keeps_longest: bool,
    order: DocumentOrder | None,
) -> NDArray[np.uint32]:
    """Return the documents in the order of KEEP, as places in the order of segments and numbers."""
    if order is not None:
        chosen: NDArray[Any] = np.lexsort((order[1], order[0]))
        places = np.empty(len(numbers), dtype=np.uint32)
        places[chosen] = np.arange(len(numbers))
        return places
    if keeps_longest:
        return np.argsort(-lengths, kind="stable").astype(np.uint32)
    return np.arange(len(numbers), dtype=np.uint32)


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
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return _NOT_OF_WORDS.sub(" ", text.casefold()).strip()


def _lacks_blanks(text: str) -> bool:
    """Return True if most characters belong to scripts that do not separate words by blanks."""
    n = sum(len(run) for run in _WITHOUT_BLANKS.findall(text))
    return 2 * n > len(text)

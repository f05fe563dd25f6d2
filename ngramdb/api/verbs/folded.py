"""Documents of a corpus as words of an evaluation set in which letters' case or white space do not matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.engine.corpus.view import CorpusView, Segment
from ngramdb.kinds import GROWING_TOKENIZERS
from ngramdb.tokenizers import Tokenizer
from ngramdb.types import Docs

Ids = NDArray[np.int64]

# The id of words that the set does not have.
NO_WORD = -1
# The id of words whose folded form depends on their neighbours, or is not one word.
BY_TEXT = -2
# Its lower case depends on the letters around it (Unicode, Final_Sigma).
SIGMA = "\u03a3"


class FoldedWords:
    """Texts as ids of the words of a set, `NO_WORD` for words that it does not have.

    `fold` is applied to a text before it is cut into words; it keeps white space.
    """

    def __init__(self, corpus: CorpusView, words: Tokenizer, fold: Callable[[str], str]) -> None:
        self._corpus = corpus
        self._words = words
        self._fold = fold
        self._table = np.empty(0, dtype=np.int64)

    def of_texts(self, texts: Sequence[str]) -> tuple[Ids, Ids]:
        """Return the words of texts and the offset of each text. Cost: about 20 ns per byte."""
        return self._encoded([self._fold(text) for text in texts])

    def of_documents(self, segment: Segment, docs: Docs) -> tuple[Ids, Ids]:
        """The same of documents of a corpus, whose texts are not read if its tokens are words."""
        tokenizer = self._corpus.tokenizer
        if tokenizer.kind not in GROWING_TOKENIZERS:
            return self.of_texts([text_of(self._corpus, segment, i) for i in docs.tolist()])
        if len(self._table) < tokenizer.n_vocabulary:
            self._table = self._folded_vocabulary(tokenizer)
        documents = [self._table[segment.document(i)] for i in docs.tolist()]
        for k, ids in enumerate(documents):
            if (ids == BY_TEXT).any():
                documents[k], _ = self.of_texts([text_of(self._corpus, segment, int(docs[k]))])
        bounds = np.cumsum([0, *map(len, documents)], dtype=np.int64)
        return np.concatenate([np.empty(0, dtype=np.int64), *documents]), bounds

    def _encoded(self, folded: Sequence[str]) -> tuple[Ids, Ids]:
        # One fork per call: what it learns is forgotten with it.
        ids, offsets = self._words.fork().encode_batch([text.encode() for text in folded])
        return np.where(ids < self._words.n_vocabulary, ids.astype(np.int64), NO_WORD), offsets

    def _folded_vocabulary(self, tokenizer: Any) -> Ids:
        """The id for each word of a vocabulary. Cost: about a microsecond per word."""
        texts = [word.decode("utf-8", "replace") for word in tokenizer.entries()]
        # In one call, since no word contains a line break.
        ids, offsets = self._encoded(self._fold("\n".join(texts)).split("\n") if texts else [])
        return np.array(
            [
                ids[start] if stop - start == 1 and SIGMA not in text else BY_TEXT
                for text, (start, stop) in zip(texts, pairwise(offsets.tolist()), strict=True)
            ],
            dtype=np.int64,
        )


def text_of(view: CorpusView, segment: Segment, i: int) -> str:
    """The text of a document; if none is stored, what its tokens spell."""
    text = segment.text(i, view.tokenizer)
    return view.tokenizer.decode(segment.document(i)) if text is None else text.decode("utf-8", "replace")

"""Questions, answers and passages of an evaluation set, for the measure `decon`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.api.verbs.contamination import EvaluationSet, text_of
from ngramdb.curation.decon import ANSWER, PASSAGE, Decon, Document, Items, Texts
from ngramdb.curation.items import Matches, Pairs
from ngramdb.engine.corpus.view import CorpusView, Segment
from ngramdb.registries import FILE_TOKENIZERS

# Documents whose tokens are kept, since several items may be compared with each.
KEPT_DOCUMENTS = 64


class ItemParts:
    """Scores the items of a set in the documents of a corpus."""

    def __init__(self, view: CorpusView, one: EvaluationSet) -> None:
        self._view, self._one = view, one
        # It learns the words of answers, and, where texts are folded, those of documents.
        self._words = (one.items if one.by.folds else view).tokenizer.fork()
        rows = (segment.metadata.rows(range(segment.n_documents)) for segment in one.items.segments)
        fields = [row for some in rows for row in some]
        answers: list[list[int]] = []
        answers_of: list[range] = []
        for row in fields:
            spellings = self._spellings(row.get(ANSWER))
            answers_of.append(range(len(answers), len(answers) + len(spellings)))
            answers += spellings
        passages = [next(iter(self._spellings(row.get(PASSAGE))), []) for row in fields]
        questions = one.tokens(view)
        parts = Items(questions, Texts.of(answers), answers_of, Texts.of(passages))
        self._decon = Decon(parts, one.by.n, one.by.threshold)

    def values(self, segment: Segment, found: Matches, pairs: Pairs) -> NDArray[np.float64]:
        """Return the score of each pair of an item and a document of a segment."""

        @lru_cache(KEPT_DOCUMENTS)
        def document(i: int) -> Document:
            if self._one.by.folds:
                return Document(self._encoded([text_of(self._view, segment, i)])[0], [])
            return Document(segment.document(i).tolist(), segment.breaks(i).tolist())

        return self._decon.values(found, pairs, document, self._one.frequent_ngrams())

    def _spellings(self, value: Any) -> list[list[int]]:
        """Return the token ids of an answer or a passage, or of each of several; none for other values."""
        if isinstance(value, bool) or value is None or isinstance(value, Mapping):
            return []
        if self._words.kind == "tokens":
            is_ids = isinstance(value, list) and all(type(one) is int for one in value)
            return [value] if is_ids and value else []
        texts = [str(one) for one in (value if isinstance(value, list) else [value])]
        if self._words.kind in FILE_TOKENIZERS:
            # Within a document, a text's first token often begins with a blank.
            texts = [spelled for text in texts for spelled in (" " + text.strip(), text)]
        unique = {tuple(ids): None for ids in self._encoded(texts) if ids}
        return [list(ids) for ids in unique]

    def _encoded(self, texts: Sequence[str]) -> list[list[int]]:
        fold = self._one.fold
        content = [(text if fold is None else fold(text)).encode("utf-8", "replace") for text in texts]
        ids, offsets = self._words.encode_batch(content)
        return [ids[start:stop].tolist() for start, stop in pairwise(offsets.tolist())]

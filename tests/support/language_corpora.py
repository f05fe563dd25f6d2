"""Small corpora for language models, in one segment and in several, with documents taken away."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import strategies as st

from ngramdb.lm import analyze, make
from support.indexes import index_of

# Repeats of every length, a document twice, one that is part of another, an empty one, and one of one token.
DOCUMENTS = [
    [0, 1, 2, 3, 4],
    [0, 1, 2, 3, 5],
    [0, 1, 2, 6],
    [7, 1, 2, 3, 4, 0, 1],
    [0, 1, 2, 3, 4],
    [2, 3],
    [],
    [8],
    [1, 1, 1, 1, 2, 2],
    [0, 2, 0, 2, 0, 2, 3],
]


class View:
    """A corpus as language models see one."""

    def __init__(self, *segments, signs=None, kind="words"):
        self.index = index_of(*segments, signs=signs)
        self.tokenizer = SimpleNamespace(kind=kind)


def model_of(documents, spec, **options):
    """The model over documents in one segment."""
    view = View(documents)
    return make(spec, view, analyze(view, **options))


tokens = st.integers(0, 4)
small_documents = st.lists(st.lists(tokens, max_size=7), min_size=1, max_size=6)


@st.composite
def corpora(draw):
    """The documents that remain, and a View that stores them with others that were added and taken away."""
    kept = draw(small_documents)
    gone = draw(st.lists(st.lists(tokens, max_size=7), max_size=3))
    parts = [[] for _ in range(draw(st.integers(1, 3)))]
    for document in draw(st.permutations(kept + gone)):
        parts[draw(st.integers(0, len(parts) - 1))].append(document)
    segments = [*parts, gone] if gone else parts
    signs = [1] * len(parts) + ([-1] if gone else [])
    return kept, View(*segments, signs=signs)

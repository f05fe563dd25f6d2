"""A suffix array with a pointer that leads out of the text gives an error that names the file, never a
crash.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.indexes import arrays_of
from support.language_corpora import DOCUMENTS, View

from ngramdb._cext.corpus.index import Index
from ngramdb._cext.segment.segment_index import SuffixIndex
from ngramdb.errors import CorruptionError
from ngramdb.lm import KneserNey, analyze, make


@pytest.mark.parametrize("row", [0, 7, -1])
def test_a_pointer_out_of_the_text_is_reported(row):
    arrays = arrays_of(DOCUMENTS, np.uint16)
    arrays[1] = arrays[1].copy()
    arrays[1][row] = 4_000_000_000
    view = View(DOCUMENTS)
    view.index = Index([SuffixIndex(*arrays, "damaged.seg")], [1])
    with pytest.raises(CorruptionError, match=r"damaged\.seg"):
        make(KneserNey(), view, analyze(view)).score([0, 1, 2, 3], document=True)


def test_wrong_arguments_are_refused():
    model = make(KneserNey(), View(DOCUMENTS))
    with pytest.raises(ValueError, match="offsets must ascend"):
        model.score_many([1, 2, 3], [0, 2, 1])
    with pytest.raises(ValueError, match="contexts"):
        model.prob_many([1, 2], [0, 1, 2], [1])
    with pytest.raises(ValueError, match="a token id must be an integer, not float"):
        model.score([0.5])

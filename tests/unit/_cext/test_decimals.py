"""`json_list` against `json.dumps`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngramdb._cext.text.formats import json_list

RANGES = {np.uint32: (0, 2**32 - 1), np.int64: (-(2**63), 2**63 - 1), np.uint64: (0, 2**64 - 1)}


@pytest.mark.parametrize("dtype", RANGES)
@given(st.data())
def test_numbers_are_written_as_json_writes_them(dtype, data):
    least, most = RANGES[dtype]
    values = st.integers(least, most) | st.sampled_from([least, most, 0, 9, 10, 99, 100])
    numbers = data.draw(st.lists(values, max_size=20))
    assert json_list(np.array(numbers, dtype=dtype)) == json.dumps(numbers).encode()


@pytest.mark.parametrize("numbers", [[1, 2], None, np.zeros(2), np.zeros((2, 2), dtype=np.int64)])
def test_other_arguments_are_refused(numbers):
    with pytest.raises((TypeError, ValueError)):
        json_list(numbers)

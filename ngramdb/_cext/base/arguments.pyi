from typing import Any

import numpy as np
from numpy.typing import NDArray

class Ids: ...  # token ids of an n-gram, for kernels

def pack_lists(ngrams: list[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None: ...

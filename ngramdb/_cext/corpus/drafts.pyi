from numpy.typing import ArrayLike

from ngramdb._cext.corpus.index import Index
from ngramdb._cext.corpus.matcher import MatchState

class DraftState:
    match: MatchState
    def __init__(self, index: Index, own: bool = True, least_count: int = 1) -> None: ...
    def append(self, ids: ArrayLike) -> None: ...
    def propose(self, n: int, least_prob: float) -> tuple[list[int], list[int], list[float], int, int]: ...

from numpy import uint32, uint64
from numpy.typing import NDArray

from ngramdb._cext.base.checksums import FileChecksums

def find_documents(
    records: NDArray[uint32],
    wanted: NDArray[uint64],
    ranks: NDArray[uint32],
    most: int,
    checksums: FileChecksums | None = None,
) -> tuple[NDArray[uint32], NDArray[uint32]]: ...

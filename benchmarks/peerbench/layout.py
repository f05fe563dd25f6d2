"""Where the tokens and each index lie in the scratch folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    """Paths for one corpus; `folder` holds the indexes and may be deleted, the ids beside it are kept."""

    scratch: Path
    corpus_name: str

    @property
    def folder(self) -> Path:
        return self.scratch / self.corpus_name

    @property
    def ids(self) -> Path:
        return self.scratch / f"{self.corpus_name}.ids.npy"

    @property
    def offsets(self) -> Path:
        return self.scratch / f"{self.corpus_name}.offsets.npy"

    @property
    def peers(self) -> Path:
        return self.folder / "peers"

    @property
    def token_file(self) -> Path:
        return self.peers / "tokenized.0"

    @property
    def infinigram_table(self) -> Path:
        return self.peers / "table.0"

    @property
    def document_offsets(self) -> Path:
        return self.peers / "offset.0"

    @property
    def tokengrams_index(self) -> Path:
        return self.peers / "tokengrams.index"

    def database(self, label: str) -> Path:
        return self.folder / f"{label}.ngdb"


def warm(layout: Layout) -> None:
    """Read every file of every index once, so that the page cache holds them."""
    for path in layout.folder.rglob("*"):
        if path.is_file():
            with path.open("rb", buffering=0) as file:
                while file.read(1 << 22):
                    pass

"""Where the corpus, the databases and the figures of one size are, and how databases are copied."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from peerbench.bootstrap import write_bootstrap
from peerbench.corpus import TokenCorpus, load_tokens
from peerbench.layout import Layout

DATA = Path(__file__).resolve().parent.parent.parent.parent / "shared" / "data"
BASE = "medium"
SEED = 1
# Files of at least so many bytes are linked when a database is copied: those of segments never change.
LINKED_BYTES = 1 << 16

# What a job measured: the number, or text, of each of its figures.
Figures = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """One size of corpus, in a scratch folder; `data` has the corpus that it is drawn from."""

    scratch: Path
    data: Path
    n_tokens: int

    @property
    def layout(self) -> Layout:
        return Layout(self.scratch, f"{self.n_tokens}")

    def database(self, label: str) -> Path:
        return self.layout.database(label)

    def base(self) -> TokenCorpus:
        """The corpus that all sizes are drawn from."""
        source = self.data / f"{BASE}.jsonl.gz"
        return load_tokens(source, self.data / "gpt2.tokenizer.json", Layout(self.scratch, BASE))

    def corpus(self) -> TokenCorpus:
        """The corpus of this size, drawn when it is first asked for; ids stay in the file."""
        layout = self.layout
        if not layout.ids.exists():
            layout.folder.mkdir(parents=True, exist_ok=True)
            write_bootstrap(self.base(), self.n_tokens, SEED, layout.ids, layout.offsets)
        return TokenCorpus(np.load(layout.ids, mmap_mode="r"), np.load(layout.offsets))

    def copy(self, label: str, new: str) -> Path:
        """A copy of a database that shares the files of its segments."""
        source, target = self.database(label), self.remove(new)
        for path in sorted(source.rglob("*")):
            copied = target / path.relative_to(source)
            if path.is_dir():
                copied.mkdir(parents=True)
            elif path.stat().st_size >= LINKED_BYTES:
                os.link(path, copied)
            else:
                shutil.copy2(path, copied)
        return target

    def marker(self, label: str) -> Path:
        """A file that is there when a job has made all of a database or index."""
        return self.layout.folder / f"{label}.made"

    def remove(self, label: str) -> Path:
        """Removes a database, if it is there; an empty folder is left."""
        path = self.database(label)
        self.marker(label).unlink(missing_ok=True)
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True, exist_ok=True)
        return path

    # -- what has been measured ----------------------------------------------------------------------

    @property
    def _kept(self) -> Path:
        return self.scratch / f"{self.n_tokens}.figures.json"

    def figures(self) -> dict[str, Figures]:
        """What has been measured so far, by job."""
        found: dict[str, Figures] = json.loads(self._kept.read_text()) if self._kept.exists() else {}
        return found

    def keep(self, job: str, figures: Figures) -> None:
        """Keeps what a job measured, whole, whatever ends this process."""
        new = self._kept.with_suffix(".new")
        new.write_text(json.dumps({**self.figures(), job: figures}, indent=1), encoding="utf-8")
        new.replace(self._kept)


def read(database: Path) -> None:
    """Reads the files once, so that the page cache has them; no process has them mapped for that."""
    for path in database.rglob("*"):
        if path.is_file():
            with path.open("rb", buffering=0) as file:
                while file.read(1 << 22):
                    pass

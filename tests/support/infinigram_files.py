"""An index of infini-gram's, made by its own builder from token ids."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

SEPARATOR = 65535


def write_streams(
    folder: Path, documents: Sequence[Sequence[int]], metadata: Sequence[dict[str, Any]], shards: int = 1
) -> None:
    """The files that the builder starts from: documents are dealt round-robin over the shards."""
    folder.mkdir()
    for s in range(shards):
        tokens, starts, lines, line_starts = b"", [], b"", []
        for i in range(s, len(documents), shards):
            starts.append(len(tokens))
            tokens += np.array([SEPARATOR, *documents[i]], dtype="<u2").tobytes()
            line_starts.append(len(lines))
            record = {"path": "documents.jsonl", "linenum": i, "metadata": metadata[i]}
            lines += json.dumps(record).encode() + b"\n"
        (folder / f"tokenized.{s}").write_bytes(tokens)
        (folder / f"offset.{s}").write_bytes(np.array(starts, dtype="<u8").tobytes())
        (folder / f"metadata.{s}").write_bytes(lines)
        (folder / f"metaoff.{s}").write_bytes(np.array(line_starts, dtype="<u8").tobytes())


def build(folder: Path, shards: int = 1) -> None:
    """The suffix arrays, by the peer's builder. It needs 100,000 bytes a shard to make a right one."""
    open_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    options = f"--data_dir {folder} --save_dir {folder} --token_dtype u16 --cpus 1 --shards {shards} --mem 4"
    command = [sys.executable, "-m", "infini_gram.indexing", *options.split(), "--ulimit", str(open_files)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=dict(os.environ))

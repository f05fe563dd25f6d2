"""Parse tables kept between processes, as Python keeps compiled modules.

Making them takes longer than most statements. They lie in the `__pycache__` folder beside the grammar (or
where `PYTHONPYCACHEPREFIX` says), under a key of everything that they are made from. Whatever is wrong with
the file, or with writing it, the tables are made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import os
import pickle
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lark
from lark import Lark

KEY_BYTES = hashlib.sha256().digest_size


def kept_parser(grammar: str, source: object, transformer: object, options: dict[str, Any]) -> Lark:
    """A parser of the grammar, from tables that were kept, or made and kept now.

    Parameters
    ----------
    grammar : the text of the grammar
    source : where it was read from; tables are kept only when that is a file's path
    transformer : what builds the tree, which is no part of the tables
    options : further options of `Lark`, plain values

    Notes
    -----
    About 15 ms from kept tables, 100 ms without.
    """
    path = _path_beside(source)
    made_from = (grammar, sorted(options.items()), lark.__version__, sys.version_info[:3])
    key = hashlib.sha256(repr(made_from).encode()).digest()
    if path is not None:
        with contextlib.suppress(Exception):  # a file of any contents is only a missing one
            return _read(path, key, transformer)
    parser = Lark(grammar, transformer=transformer, **options)
    if path is not None and not sys.dont_write_bytecode:
        with contextlib.suppress(OSError):
            _write(path, key, parser)
    return parser


def _path_beside(source: object) -> Path | None:
    if not isinstance(source, Path):
        return None
    with contextlib.suppress(NotImplementedError):  # an interpreter that keeps nothing
        kept = Path(importlib.util.cache_from_source(str(source.with_suffix(".py"))))
        return kept.with_suffix(".tables")
    return None


def _read(path: Path, key: bytes, transformer: object) -> Lark:
    content = path.read_bytes()
    body = content[2 * KEY_BYTES :]
    if content[: 2 * KEY_BYTES] != key + hashlib.sha256(body).digest():
        raise ValueError("made from something else, or damaged")
    saved = pickle.loads(body)
    # What parsers that lark generates (`lark.tools.standalone`) start from.
    load: Callable[..., Lark] = Lark._load_from_dict
    return load(saved["data"], saved["memo"], transformer=transformer)


def _write(path: Path, key: bytes, parser: Lark) -> None:
    """Write the file in one step: another process sees all of it or nothing."""
    buffer = io.BytesIO()
    parser.save(buffer)
    body = buffer.getvalue()
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        with open(unfinished, "xb") as file:
            file.write(key + hashlib.sha256(body).digest() + body)
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise

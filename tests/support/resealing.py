"""Damage with right checksums: files whose contents were changed and sealed again, and manifests that name
them.

Checksums find what a disk does. Here somebody has written what no program of ours writes: the answer may be
wrong, but it is an answer or an error that names the file.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.segments.container import Container, ContainerWriter, FileInfo
from ngramdb.segments.container.layout import HEADER

SIZES = {"u1": 1, "u2": 2, "u4": 4, "u8": 8, "i1": 1, "i2": 2, "i4": 4, "i8": 8, "f4": 4, "f8": 8}


@dataclass
class Unsealed:
    """The content of a container."""

    kind: str
    flags: tuple[int, int]
    block_size: int
    sections: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    properties: dict[str, Any] = field(default_factory=dict)


def unsealed(content: bytes) -> Unsealed:
    container = Container.open(memoryview(content), "file")
    _, _, _, reader_flags, writer_flags, _ = HEADER.unpack_from(content, 0)
    found = Unsealed(container.kind, (reader_flags, writer_flags), container.block_size)
    for name, place in container.sections.items():
        found.sections[name] = bytes(container.section(name)), place.dtype
    found.properties = dict(container.properties)
    return found


def sealed(parts: Unsealed) -> tuple[bytes, FileInfo]:
    directory = MemoryDirectory()
    reader_flags, writer_flags = parts.flags
    writer = ContainerWriter(
        directory.create("file"),
        parts.kind,
        reader_flags=reader_flags,
        writer_flags=writer_flags,
        block_size=parts.block_size,
    )
    for name, (data, dtype) in parts.sections.items():
        writer.begin(name, dtype)
        writer.write(data if dtype == "u1" else np.frombuffer(data, dtype=f"<{dtype}"))
        writer.end()
    info = writer.finish(parts.properties)
    return bytes(directory.open_read("file")), info


def damaged(files: dict[str, bytes], rng: random.Random) -> tuple[str, dict[str, bytes]]:
    """Return a description of the damage, and the new files: one changed, and all manifests that name it."""
    name = _some_file(files, rng)
    parts = unsealed(files[name])
    if name.startswith("manifests/"):
        what = _change_json_section(parts, "manifest", rng)
        return f"sealed: {what} of {name}", {name: sealed(parts)[0]}
    if (rng.random() < 0.2 and parts.properties) or not parts.sections:
        what = _change_json(parts.properties, rng)
    elif rng.random() < 0.3 and "events" in parts.sections:
        what = _change_json_section(parts, "events", rng)
    else:
        what = _change_section(parts, rng)
    return f"sealed: {what} of {name}", _replaced(files, name, parts)


def edited(files: dict[str, bytes], name: str, change: Callable[[Unsealed], object]) -> dict[str, bytes]:
    """All files, after one of them was changed."""
    parts = unsealed(files[name])
    change(parts)
    return {**files, **_replaced(files, name, parts)}


def _replaced(files: dict[str, bytes], name: str, parts: Unsealed) -> dict[str, bytes]:
    """The file with other contents, and all manifests that name it."""
    content, info = sealed(parts)
    changed = {name: content}
    for other in files:
        if other.startswith("manifests/") and other != name:
            manifest = unsealed(files[other])
            value = json.loads(manifest.sections["manifest"][0])
            if _point(value, name, info):
                manifest.sections["manifest"] = json.dumps(value).encode(), "u1"
                changed[other] = sealed(manifest)[0]
    return changed


def _some_file(files: dict[str, bytes], rng: random.Random) -> str:
    """Segments as a rule; of manifests, as a rule the newest."""
    folder = rng.choice([*4 * ["segments/"], "vocabularies/", "tokenizers/", "audits/", "manifests/"])
    names = sorted(name for name in files if name.startswith(folder)) or sorted(files)
    return names[-1] if folder == "manifests/" and rng.random() < 0.8 else rng.choice(names)


def _point(value: Any, name: str, info: FileInfo) -> bool:
    """Update references to the file `name` to its new contents; return True if there are any."""
    found = False
    if isinstance(value, dict) and value.get("name") == name and "crc" in value:
        value["size"], value["crc"] = info.size, info.crc
        found = True
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        found |= _point(child, name, info)
    return found


def _change_section(parts: Unsealed, rng: random.Random) -> str:
    name = rng.choice(sorted(parts.sections))
    data, dtype = parts.sections[name]
    width = SIZES[dtype]
    kind = rng.choice(
        ["entries", "entries", "entries", "entries", "entries", "length", "type", "gone", "zero"]
    )
    if kind == "gone":
        del parts.sections[name]
    elif kind == "zero":
        parts.sections[name] = bytes(len(data)), dtype
    elif kind == "type":
        other = rng.choice(sorted(SIZES))
        parts.sections[name] = data[: len(data) // SIZES[other] * SIZES[other]], other
    elif kind == "length":
        n = rng.choice([0, 1, 2, len(data) // width - 1, len(data) // width + 1, len(data) // width + 9])
        parts.sections[name] = (data + bytes(10 * width))[: max(n, 0) * width], dtype
    elif data:
        parts.sections[name] = _changed_entries(data, width, rng), dtype
    return f"{kind} of section {name}"


def _changed_entries(data: bytes, width: int, rng: random.Random) -> bytes:
    changed = bytearray(data)
    n = len(data) // width
    top = (1 << 8 * width) - 1
    for _ in range(rng.choice([1, 1, 2, 5])):
        i = rng.choice([0, n - 1, rng.randrange(n), rng.randrange(n)])
        old = int.from_bytes(changed[i * width : (i + 1) * width], "little")
        flipped = old ^ 1 << rng.randrange(8 * width)
        new = rng.choice([0, 1, old - 1, old + 1, n, top, top >> 1, flipped, rng.randrange(top + 1)]) & top
        changed[i * width : (i + 1) * width] = new.to_bytes(width, "little")
    return bytes(changed)


def _change_json_section(parts: Unsealed, name: str, rng: random.Random) -> str:
    value = {"": json.loads(parts.sections[name][0])}
    what = _change_json(value, rng)
    parts.sections[name] = json.dumps(value.get("")).encode(), "u1"
    return f"{name}: {what}"


def _change_json(value: Any, rng: random.Random) -> str:
    """Changes one thing in a value of JSON; the deeper, the likelier."""
    places = list(_places(value))
    parent, key = rng.choice(places)
    old = parent[key]
    kind = rng.choice(["value", "value", "value", "value", "gone", "twice"])
    if kind == "gone":
        del parent[key]
    elif kind == "twice" and isinstance(parent, list):
        parent.append(copy.deepcopy(old))
    else:
        number = old if type(old) is int else 7
        news = [number + 1, number - 1, 0, 1, 2**32, 2**62, 2**63 - 1, 2**64, -1]
        odd = [None, True, "x", "", 1.5, 1e300, [], {}]
        parent[key] = rng.choice(news if type(old) is int and rng.random() < 0.8 else odd)
    return f"{kind} of {key!r}"


def _places(value: Any) -> Any:
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key])

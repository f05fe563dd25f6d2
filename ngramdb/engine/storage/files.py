"""Writing one file of a transaction: a container with given sections."""

from __future__ import annotations

from ngramdb.engine.storage.manifest import FileRef
from ngramdb.engine.storage.store import Transaction
from ngramdb.segments.container import ContainerWriter
from ngramdb.tokenizers.base import FileContent


def write_content(transaction: Transaction, folder: str, suffix: str, content: FileContent) -> FileRef:
    """Write a tokenizer's definition or vocabulary to a new file, synced."""
    name, file = transaction.create_file(folder, suffix)
    writer = ContainerWriter(file, kind=content.kind)
    for section, data in content.sections.items():
        writer.add(section, data)
    info = writer.finish(content.properties)
    return FileRef(name, info.size, info.crc)

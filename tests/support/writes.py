"""Small databases, written below the level of documents, to try things on."""

from __future__ import annotations

from ngramdb.engine.storage.manifest import CorpusEntry, FileRef, SegmentEntry, TokenizerEntry
from ngramdb.segments.container import ContainerWriter


class Writes:
    """Writes files through a transaction and makes catalog entries that refer to them."""

    def segment(self, transaction, payload=b"payload", first_doc_id=0, letters="SEGM"):
        name, file = transaction.create_file("segments", "segment")
        writer = ContainerWriter(file, kind=letters)
        writer.add("payload", payload)
        info = writer.finish({})
        ref = FileRef(name, info.size, info.crc)
        return SegmentEntry(ref, 1, len(payload), 1, first_doc_id, transaction.manifest.version + 1)

    def corpus(self, *segments, name="wiki"):
        tokenizer = TokenizerEntry("bytes", None, (), 256)
        next_doc_id = max((s.first_doc_id + s.n_documents for s in segments), default=0)
        return CorpusEntry(name, "0" * 32, tokenizer, tuple(segments), next_doc_id, {})

    def commit(self, store, *payloads):
        """Adds a segment for each payload to the corpus "wiki"; returns the manifest."""
        with store.begin() as transaction:
            corpora = dict(transaction.manifest.corpora)
            old = corpora["wiki"].segments if "wiki" in corpora else ()
            start = corpora["wiki"].next_doc_id if "wiki" in corpora else 0
            new = [self.segment(transaction, data, start + i) for i, data in enumerate(payloads)]
            corpora["wiki"] = self.corpus(*old, *new)
            return transaction.commit(corpora, "append to wiki")

    def payloads(self, store, manifest=None):
        """Return the contents of the segments of the corpus "wiki" in a version, or in the current one."""
        corpus = (manifest or store.manifest).corpora.get("wiki")
        segments = () if corpus is None else corpus.segments
        return [bytes(store.read(entry.file, "SEGM").section("payload")) for entry in segments]

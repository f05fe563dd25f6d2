"""The database: numbered, immutable versions of a set of files, and the changes that make new ones.

`storage/`: the files: `store` (open, read, begin), `transaction` (commit), `manifest` (the content of a
version), `lock`, and `directory/`: on disk, in memory, failing on purpose, and in an object store with a
block cache. `corpus/`: `view` (one corpus at one version), `algebra` (a sum or difference of corpora as one),
`slice` (some documents as a corpus), `sentences` (its sentences as a corpus), `memory_residency`, `grouped`
(segments on other machines), `attached` (other programs' indexes). `changes/`: `change` (the context of all
changes), `deletion`, `compaction` with its `policy`, `combining`, `keeping`, `audit` (records of removals).
`loading/`: `loads` (what COPY does), `writer` (from documents to segments), `resuming`, `building` (a part of
a corpus), `committing` (of all parts).
"""

"""The database: numbered, immutable versions of a set of files, and what makes the next one.

`storage/`: `store` (open, read, begin), `transaction` (the commit), `manifest` (the content of a version),
`lock`, `orphans`, and `directory/`: real, in memory, failing on purpose, and remote, an object store with a
cache of its blocks. `corpus/`: `view` (one corpus at one version), `algebra` (several with signs as one
view), `slice` (some documents as one), `sentences` (its
sentences as one), `waiting` (segments that lie elsewhere), `attached` (other programs'
indexes). `changes/`: `change` (the context of all), `writer` (loads), `joining` (parts that were built
elsewhere), `deletion`, `compaction` with its `policy`, `far_indexing`, `restoring`, `combining`, `audit`
(records of removals).
"""

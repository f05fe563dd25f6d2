"""The database: numbered, immutable versions of a set of files, and the changes that make new ones.

`storage/`, the files: `store` opens and reads versions, `transaction` commits one, `manifest` is the content
of a version, `files` their names, `unsynced` commits without fsync, `upkeep` checks and removes files.
`directory/` stores them on disk, in memory, or in an object store with a block cache. `corpus/`: `view` (one
corpus at one version), `algebra` (a sum or difference of corpora as one), `slice` (some documents, or
sentences, as a corpus), `grouped` (segments on other machines), `attached` and `infini_gram_files` (other
programs' indexes, read and written), `common`, `caches`. `changes/`: `change` (the context of all changes;
sums, differences and copies), `removals`, `compaction` with its `sizing`, `audit` (records of removals).
`loading/`: `request` and `loads` (a load, from its files to its commit), `encoding` and `writer` (from
documents to segments), `resuming`, `parts` (a build by several processes), `committing` (all parts in one
commit).
"""

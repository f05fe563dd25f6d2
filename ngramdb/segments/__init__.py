"""Searchable, immutable sets of documents of any kind, and the file format of the native kind.

`base` is the interface of all kinds, `registry` those that manifests may name, `testing` their test kit.
The native kind: `container/` (the file), `native` (the names in it), `builder` (writes it), `segment`
(reads the mapped file), `merging` (copies documents of any kind into a new one), `far_index` (by which a
segment is queried remotely). `attached` reads other programs' indexes in place; `infini_gram` and
`tokengrams` know their files.
"""

"""Searchable, immutable sets of documents of any kind, and the file format of the native kind.

`base` is the interface of all kinds, `testing` their test kit. The native kind: `container/` (the file),
`builder` (writes it), `segment` (reads the mapped file, and lists the kinds that manifests may name),
`merging` with `merged_arrays` (copies documents of any kind into a new one), `metadata` and `text` (what is
stored beside the tokens), `far_index` (by which a segment is queried remotely). `attached` reads the indexes
of infini-gram and tokengrams in place.
"""

"""Files, folders and streams to documents, with errors that name file and line.

`sources` finds the files, `reader` chooses the reader of each (`readers/`, one module per format),
`documents` is what they yield, `options` what they are told. `begun` is about loads that go on, `division`
about files that several workers share.
"""

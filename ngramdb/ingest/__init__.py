"""Files, folders and streams to documents, with errors that name file and line.

`sources` finds the files, `reader` chooses the reader of each (`readers/`, one module per format),
`documents` defines what they yield, `options` the options of reading. `work_splitting` divides files among
workers, and recognizes a file that a resumed load has read in part.
"""

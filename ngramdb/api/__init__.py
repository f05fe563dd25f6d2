"""The Python interface: connections, corpora and their results.

The command line and the prompt are built on this package. It is the one place that
wires language, planner, executor and engine together.

`connecting` opens databases. `Connection` (`connection`) and `Corpus` (`corpus`) share `database` (store,
version, settings, writers), `session` (a database at one snapshot, for planner and executor) and
`corpus_handle` (a corpus at the newest version). The methods of `Corpus` that are not those of statements
are in `data_verbs`, `field_verbs`, `removal_verbs` and `array_verbs`. `verbs/` does the work that takes more
than a few lines, `conversion` converts documents given in Python. `remote` queries the database of a service;
`wire` is the format of their messages.

The names are in `__init__.pyi`; each module is imported on the first use of one of its names.
"""

from ngramdb.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

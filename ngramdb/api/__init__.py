"""The Python interface: connections, corpora and what they answer with.

The command line and the REPL stand on this package; of what is below it they know only how the text of
statements is split and coloured. It is the one place that wires language, planner, executor and engine
together.

`Connection` (`connection`) and `Corpus` (`corpus`) stand on what they share: `database` (store, version,
settings, writers), `session` (a database at one snapshot, for planner and executor) and `bound` (a corpus
at the newest version). `verbs/` does what takes more than a few lines, `arguments/` converts what verbs are
given. `remote` asks the database of a service; `wire` is what the two send each other.

The names are in `__init__.pyi`; a module is imported when one of them is first used.
"""

from ngramdb.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

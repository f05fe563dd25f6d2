"""The Python interface: connections, corpora and what they answer with.

The command line and the REPL stand on this package; of what is below it they know only how the text of
statements is split and coloured. It is the one place that wires language, planner, executor and engine
together.

The names are in `__init__.pyi`; a module is imported when one of them is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

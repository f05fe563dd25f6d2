"""The abstract syntax: frozen dataclasses, one per construct, each with the span of text it came from.

Nothing here knows corpora, tokenizers or files. Spans are half-open character ranges of the statement's
text and take no part in comparisons, so that trees made by hand equal trees made by the parser.

There are many kinds, and a statement needs few: a module is imported when a name of it is first used. The
names are in `__init__.pyi`.
"""

from ngramdb.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

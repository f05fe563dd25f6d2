"""Other programs' Python interfaces over ngramdb: a script needs only one import line changed.

Each module is named for the program whose module it stands for, and has its names: `ngramdb.compat.kenlm` for
`kenlm`; `infinigram/` is infini-gram's engine. They are written over the public Python interface, and nothing
imports them. `parts_of` reads options after a database's path, for programs that name their models and
indexes by one string.
"""

from __future__ import annotations

import os
from urllib.parse import parse_qsl

from ngramdb.errors import InvalidArgument


def parts_of(path: str, known: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """Return the folder of `news.ngdb?corpus=de&order=5`, and the options after the question mark.

    An existing path is the folder, question marks included.

    Raises
    ------
    InvalidArgument
        Something else than `known` after the question mark.
    """
    folder, mark, query = path.rpartition("?")
    if not mark or os.path.exists(path):
        return path, {}
    asked = dict(parse_qsl(query, keep_blank_values=True))
    if not asked or asked.keys() - set(known):
        forms = ", ".join(f"{name}=…" for name in known)
        raise InvalidArgument(f"after ? in {path!r} stands {forms}, joined by &")
    return folder, asked

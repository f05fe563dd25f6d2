"""What all models over one corpus share, made once and kept as long as the corpus is in use."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from ngramdb import forks
from ngramdb._cext.lm.models import LanguageIndex
from ngramdb.errors import InvalidArgument
from ngramdb.lm.sentences import View, separator_of
from ngramdb.lm.statistics import Statistics, take_statistics

_LOCK = forks.lock()
# By view, and by the token between sentences.
_INDEXES: WeakKeyDictionary[View, dict[int | None, LanguageIndex]] = WeakKeyDictionary()


def language_index(view: View, separator: int | None = None) -> LanguageIndex:
    """The corpus as language models need it. The first call passes over the suffix arrays (some ns a token).

    separator : the token between sentences; by default the corpus's own, if it has one

    Raises
    ------
    InvalidArgument
        the corpus has token ids that are too large; the corpora of a sum have different
        separators
    """
    if separator is None:
        separator = separator_of(view)
    with _LOCK:
        found = _INDEXES.get(view, {}).get(separator)
    if found is not None:
        return found
    try:
        made = LanguageIndex(view.index.segments, view.index.signs, separator)
    except ValueError as error:
        raise InvalidArgument(str(error)) from error
    with _LOCK:
        return _INDEXES.setdefault(view, {}).setdefault(separator, made)


def carry_over(before: View, after: View) -> None:
    """Lets a view use what was made for another one of the same segments."""
    with _LOCK:
        found = _INDEXES.get(before)
        if found is not None:
            _INDEXES.setdefault(after, dict(found))


def analyze(view: View, max_length: int | None = None, *, separator: int | None = None) -> Statistics:
    """Counts of counts of a corpus, for Kneser-Ney: what ANALYZE computes.

    max_length: up to which n-gram length; 10 by default, 50 where tokens are characters or bytes.
    separator: the token between sentences; by default the corpus's own, if it has one.
    Cost: one pass over the suffix arrays; less than building them. Stops and reports as `ngramdb.interrupts`
    says.
    """
    return take_statistics(view, language_index(view, separator), max_length)

"""Making the model that a specification describes, over a corpus."""

from __future__ import annotations

from typing import Any

from ngramdb.errors import InvalidArgument
from ngramdb.lm.interpolated import KneserNeyModel, WittenBellModel
from ngramdb.lm.katz import KatzModel
from ngramdb.lm.models import BackoffModel, LanguageModel, RelativeModel
from ngramdb.lm.pitman_yor import PitmanYorModel
from ngramdb.lm.skipping import SkipKneserNeyModel
from ngramdb.lm.spec import ModelSpec, View
from ngramdb.lm.statistics import Statistics, language_index, take_statistics

# The class of each kind; those that need statistics take them as the third argument.
CLASSES: dict[str, Any] = {
    "ngram": RelativeModel,
    "infgram": RelativeModel,
    "backoff": BackoffModel,
    "kneser_ney": KneserNeyModel,
    "witten_bell": WittenBellModel,
    "pitman_yor": PitmanYorModel,
    "katz": KatzModel,
    "skip_kneser_ney": SkipKneserNeyModel,
}


def make(
    spec: ModelSpec, view: View, statistics: Statistics | None = None, *, separator: int | None = None
) -> LanguageModel:
    """Make the model over a corpus.

    Parameters
    ----------
    spec : the kind of model and its parameters
    view : the corpus
    statistics : the result of `analyze`, for models that need them; computed if they are missing
    separator : the token between parts of documents; by default the corpus's own, if it has one

    Raises
    ------
    InvalidArgument
        The statistics belong to another corpus or version, or to other sentences.
    """
    index = language_index(view, separator)
    made_of = CLASSES[spec.kind]
    if not spec.needs_statistics:
        return made_of(spec, index)  # type: ignore[no-any-return]
    if statistics is None:
        statistics = take_statistics(view, index)
    elif not statistics.describes(view, index.separator):
        raise InvalidArgument("the statistics are not those of this version of the corpus; run ANALYZE again")
    return made_of(spec, index, statistics)  # type: ignore[no-any-return]

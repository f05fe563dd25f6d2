"""The flags `document` and `sentence`, which select the units in which a text is scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ngramdb import interrupts
from ngramdb.bool_arguments import as_flag
from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.planner.binding.scope import why_not_in_sentences
from ngramdb.questions.arguments import packing

if TYPE_CHECKING:
    from ngramdb.questions.verbs import Bound
    from ngramdb.source import Corpus, IntArray


#: The units that a text is scored in, each from its beginning to its end.
Unit: TypeAlias = Literal["document", "sentence"]


def unit_of(document: bool | None, sentence: bool | None, default: Unit | None = None) -> Unit | None:
    """Return the unit of a text; `default` if neither flag is given (None).

    Raises
    ------
    InvalidArgument
        both flags are True, or one of them is not a flag
    """
    if document is None and sentence is None:
        return default
    document = document is not None and as_flag("document", document)
    sentence = sentence is not None and as_flag("sentence", sentence)
    if document and sentence:
        raise InvalidArgument(
            "either document=True (a text is a document) or sentence=True (it is cut into sentences)"
        )
    return "document" if document else "sentence" if sentence else None


def corpus_for(unit: Unit | None, bound: Bound) -> Corpus:
    """Return the corpus whose models score such texts.

    Raises
    ------
    PlanError
        the sentences of some document are unknown
    ResourceError
        the corpus is too large for an index of its sentences
    """
    view: Corpus = bound.current()
    if unit != "sentence":
        return view
    why = why_not_in_sentences(view, bound.session().own_corpus_names())
    if why is not None:
        raise PlanError(why)
    sentences: Corpus = view.in_sentences()
    return sentences


def cut(corpus: Any, unit: Unit | None, ids: IntArray, given: Any) -> IntArray:
    """Return the ids of a text as models of `corpus_for` score it; `given` is the text, or ids."""
    if unit != "sentence":
        return ids
    interrupts.check()
    cut_ids: IntArray = corpus.cut(ids, given if isinstance(given, str) else None)
    return cut_ids


def packed(corpus: Corpus, unit: Unit | None, docs: Any, encode: packing.Encode) -> tuple[IntArray, IntArray]:
    """Return many texts (or token ids) as `packing.pack` does, cut into sentences if these are scored."""
    given = packing.listed(docs)
    flat, offsets = packing.pack(given, encode)
    if unit != "sentence":
        return flat, offsets
    texts = given if isinstance(given, list) else [None] * (len(offsets) - 1)
    places = zip(offsets[:-1].tolist(), offsets[1:].tolist(), texts, strict=True)
    return packing.pack([cut(corpus, unit, flat[a:b], text) for a, b, text in places], encode)

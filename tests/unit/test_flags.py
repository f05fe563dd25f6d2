"""Arguments that are True or False, in every verb: anything else is refused before anything is done."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import ngramdb
from ngramdb import lm
from ngramdb.api.corpus import Corpus
from ngramdb.errors import InvalidArgument
from ngramdb.types import checked_flags, flags_of


def _flags_of(owner):
    for name, function in inspect.getmembers(owner, inspect.isfunction):
        if not name.startswith("_"):
            for argument in flags_of(inspect.unwrap(function)):
                yield name, argument


VERBS = sorted(_flags_of(Corpus))


@pytest.fixture
def corpus():
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append(["time flies", "Time flies like an arrow"])
        yield corpus


def test_many_verbs_have_flags():
    assert ("count", "match_text") in VERBS and ("decontaminate", "dry_run") in VERBS and len(VERBS) > 25


@pytest.mark.parametrize("verb, flag", VERBS)
@pytest.mark.parametrize("value", ["no", 1, None, [], np.array([True])])
def test_a_flag_is_true_or_false(corpus, verb, flag, value):
    first = ("time",) if verb == "count" else ()
    optional = getattr(Corpus, verb).__annotations__[flag] == "bool | None"
    if optional and value is None:
        value = 0
    with pytest.raises(InvalidArgument, match=f"{flag} must be True or False, not "):
        getattr(corpus, verb)(*first, **{flag: value})


def test_flags_by_place_and_those_of_numpy(corpus):
    with pytest.raises(InvalidArgument, match="match_text must be True or False, not 'no'"):
        corpus.count("time", "no")
    with pytest.raises(InvalidArgument, match="if_not_exists"):
        corpus.copy("d", "no")
    assert corpus.count("time", ignore_case=np.bool_(True)) == 2
    assert corpus.docs(descending=np.True_, returning=["doc_id"]).fetchall() == [(1,), (0,)]


def test_models_take_flags_alike(corpus):
    model = corpus.language_model(lm.NGram())
    for ask in (
        lambda: model.score([0], document="no"),
        lambda: model.score_many([0], [0, 1], document=0),
        lambda: model.state(document=None),
        lambda: lm.perplexity(model, [[0]], document="no"),
    ):
        with pytest.raises(InvalidArgument, match="document must be True or False"):
            ask()


def test_a_function_keeps_its_name_and_signature():
    @checked_flags
    def ask(text: str, is_short: bool = False, *, is_loud: bool = True) -> str:
        """Asks."""
        return f"{text} {is_short} {is_loud}"

    # If annotations are objects, they cannot be used; in this module they are texts.
    assert ask.__name__ == "ask" and ask.__doc__ == "Asks."
    assert ask("a", np.False_, is_loud=False) == "a False False"
    with pytest.raises(InvalidArgument, match="is_loud"):
        ask("a", is_loud="yes")
    with pytest.raises(TypeError):
        ask()

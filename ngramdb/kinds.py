"""The kinds of tokenizers, language models and measures: names, and what they differ in, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TokenizerKind:
    """A kind of tokenizer, by the name that manifests have.

    `is_named`: a user gives it by its name, not as a file. `of_characters`: a token is a character or a part
    of one, so that it takes many to make a word.
    """

    name: str
    is_named: bool = True
    of_characters: bool = False


TOKENIZERS = (
    TokenizerKind("words"),
    TokenizerKind("chars", of_characters=True),
    TokenizerKind("bytes", of_characters=True),
    TokenizerKind("tokens"),
    TokenizerKind("json", is_named=False),
)
TOKENIZER_KINDS = tuple(one.name for one in TOKENIZERS)
NAMED_TOKENIZERS = tuple(one.name for one in TOKENIZERS if one.is_named)
CHARACTER_TOKENIZERS = tuple(one.name for one in TOKENIZERS if one.of_characters)
# That of a corpus that is created without saying which.
DEFAULT_TOKENIZER = "words"


@dataclass(frozen=True)
class ModelKind:
    """A kind of language model, by the name that stands after USING (in any case).

    `is_relative`: what it gives is a count divided by a count. `is_probability`: distributions sum to 1.
    """

    name: str
    is_relative: bool = False
    is_probability: bool = True


MODELS = {
    one.name: one
    for one in (
        ModelKind("ngram", is_relative=True),
        ModelKind("infgram", is_relative=True),
        ModelKind("backoff", is_probability=False),
        ModelKind("kneser_ney"),
    )
}

# What collocates are ranked by, as it stands after BY (in any case). The first one is the default.
ASSOCIATION_MEASURES = ("logdice", "ll", "mi", "mi3", "t", "z", "logratio", "dice")

"""The kinds of tokenizers, language models and measures: names and properties in one place."""

from __future__ import annotations

from typing import NamedTuple

from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_pattern


class TokenizerKind(NamedTuple):
    """A kind of tokenizer, by its name in manifests.

    is_named : users specify it by its name, not as a file; two files may differ, and with files a word after
        a space has other tokens than the word alone
    of_characters : a token is a character or a part of one, so that a word takes many
    grows : each corpus assigns ids to words as documents arrive
    """

    name: str
    is_named: bool = True
    of_characters: bool = False
    grows: bool = False


TOKENIZERS = (
    TokenizerKind("words", grows=True),
    TokenizerKind("words(lower)", grows=True),
    TokenizerKind("words(nfc)", grows=True),
    TokenizerKind("words(lower, nfc)", grows=True),
    TokenizerKind("chars", of_characters=True),
    TokenizerKind("bytes", of_characters=True),
    TokenizerKind("tokens"),
    TokenizerKind("json", is_named=False),
    TokenizerKind("sentencepiece", is_named=False),
    TokenizerKind("callable", is_named=False),
)
TOKENIZER_KINDS = tuple(one.name for one in TOKENIZERS)
FILE_TOKENIZERS = tuple(one.name for one in TOKENIZERS if not one.is_named)
NAMED_TOKENIZERS = tuple(one.name for one in TOKENIZERS if one.is_named)
CHARACTER_TOKENIZERS = tuple(one.name for one in TOKENIZERS if one.of_characters)
GROWING_TOKENIZERS = tuple(one.name for one in TOKENIZERS if one.grows)
# The tokenizer of a corpus that is created without one.
DEFAULT_TOKENIZER = "words"

# Ways to match n-grams in double quotes: token by token, as text, or as text ignoring case.
MATCHES = ("tokens", "text", "text ignore case")
DEFAULT_MATCH = MATCHES[0]


# Options of `words`, in order.
WORDS_OPTIONS = ("lower", "nfc")
_WITH_OPTIONS = lazy_pattern(r"words\s*\(([^)]*)\)")


def canonical_tokenizer(name: str) -> str:
    """Return a tokenizer's name in its stored form: options in order, separated by a comma and a space.

    Raises InvalidArgument for an option that `words` lacks.

    >>> canonical_tokenizer("words(nfc,lower)")
    'words(lower, nfc)'
    """
    found = _WITH_OPTIONS.fullmatch(name)
    if found is None:
        return name
    options = sorted({option.strip() for option in found[1].split(",")})
    unknown = [option for option in options if option not in WORDS_OPTIONS]
    if unknown:
        raise InvalidArgument(
            f"words has the options {' and '.join(WORDS_OPTIONS)}, as in 'words(lower, nfc)', "
            f"not {unknown[0]!r}"
        )
    return f"words({', '.join(options)})"


#: Programs whose indexes can be attached, by their names in ATTACH.
ATTACHED = ("infini_gram", "tokengrams")
# Treatments of a document whose key occurred before.
ON_CONFLICT = ("error", "skip", "replace")
#: Versions of infini-gram's indexes: whether documents are stored in reverse.
INFINI_GRAM_VERSIONS = {4: False, 5: True, 6: False}
#: Bytes per token in their files, by the names of infini-gram.
DTYPE_BYTES = {"u8": 1, "u16": 2, "u32": 4}


class ModelKind(NamedTuple):
    """A kind of language model, by its name after USING (in any case).

    `is_relative`: its values are a count divided by a count. `is_probability`: distributions sum to 1.
    `needs_statistics`: it is made from what ANALYZE counts. `parameters`: what may follow its name.
    `default_order`, `max_order`: of kinds that must have one.
    """

    name: str
    is_relative: bool = False
    is_probability: bool = True
    needs_statistics: bool = False
    parameters: str = "[ORDER n] [MIN COUNT k]"
    default_order: int | None = None
    max_order: int | None = None

    @property
    def has_min_count(self) -> bool:
        return "MIN COUNT" in self.parameters


MODELS = {
    one.name: one
    for one in (
        ModelKind("ngram", is_relative=True),
        ModelKind("infgram", is_relative=True),
        ModelKind("backoff", is_probability=False, parameters="[(weight)] [ORDER n] [MIN COUNT k]"),
        ModelKind("kneser_ney", needs_statistics=True),
        ModelKind("witten_bell"),
        ModelKind("pitman_yor", needs_statistics=True),
        ModelKind("katz", needs_statistics=True, parameters="[ORDER n]", default_order=5, max_order=10),
        # Orders of contexts with gaps: at 8 there are 128 kinds of them.
        ModelKind(
            "skip_kneser_ney", needs_statistics=True, parameters="[ORDER n]", default_order=5, max_order=8
        ),
    )
}

# Measures that rank collocates, as written after BY (in any case). The first one is the default.
ASSOCIATION_MEASURES = ("logdice", "ll", "mi", "mi3", "t", "z", "logratio", "dice")
# The same for keywords.
KEYNESS_MEASURES = ("ll", "logratio", "chi2", "simple")


class ContaminationMeasure(NamedTuple):
    """A measure of contamination, with the n and the threshold of its publication.

    of_items : it is how much of an item a document has (`ngramdb.curation.measures`), not a share of the
        document
    """

    name: str
    n: int
    threshold: float
    of_items: bool = True


CONTAMINATION_MEASURES = (
    ContaminationMeasure("bff", 13, 0.8, of_items=False),
    ContaminationMeasure("gpt3", 13, 0.0),
    ContaminationMeasure("llama2", 10, 0.8),
    ContaminationMeasure("palm", 8, 0.7),
    ContaminationMeasure("longest", 8, 0.5),
    ContaminationMeasure("decon", 5, 0.8),
)
CONTAMINATION_NAMES = tuple(one.name for one in CONTAMINATION_MEASURES)
DEFAULT_CONTAMINATION = CONTAMINATION_NAMES[0]


def contamination_measure(name: str) -> ContaminationMeasure:
    """Return the measure of this name. Raises InvalidArgument if there is none."""
    for one in CONTAMINATION_MEASURES:
        if one.name == name:
            return one
    raise InvalidArgument(f"by must be one of {', '.join(CONTAMINATION_NAMES)}, not {name!r}")


class DocumentFunction(NamedTuple):
    """A function of a document, written as NAME(parameters) where a field may be (its name in any case).

    `parameters` are what its whole numbers are, in order. With `has_dialects`, AS takes one of DIALECTS.
    `is_whole`: its values are whole numbers. `needs_text`: it is computed from the text. `of_model`: it takes
    a language model, and the corpus after FROM that the model is of.
    """

    parameters: tuple[str, ...] = ()
    has_dialects: bool = False
    is_whole: bool = False
    needs_text: bool = False
    of_model: bool = False


DOCUMENT_FUNCTIONS = {
    "dup_ngram_share": DocumentFunction(("the length of the n-grams",), has_dialects=True),
    "top_ngram_share": DocumentFunction(("the length of the n-grams",), has_dialects=True),
    "dup_line_share": DocumentFunction(has_dialects=True, needs_text=True),
    "dup_line_count_share": DocumentFunction(has_dialects=True, needs_text=True),
    "dup_paragraph_share": DocumentFunction(has_dialects=True, needs_text=True),
    "dup_paragraph_count_share": DocumentFunction(has_dialects=True, needs_text=True),
    "loop_share": DocumentFunction(("the longest period",)),
    "share_seen": DocumentFunction(("the length of the n-grams", "the least count")),
    "longest_seen": DocumentFunction(is_whole=True),
    "perplexity": DocumentFunction(of_model=True),
}
# Programs whose definitions of a function can be chosen.
DIALECTS = ("datatrove", "datamap")

# Parts of the expressions below: a number up to 255, a label of a domain, and the characters before an @.
_BYTE = "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)"
_LABEL = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_ATOM = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
#: Expressions that TEXT ~ takes by name (in any case): personal data, as filters of training data look for
#: it. `email` and `ip` match what datatrove's PIIFormatter matches (386e030d), `phone` what dolma's pii_regex
#: matches (0a1a55d1). Both programs discard some matches afterwards.
TEXT_EXPRESSIONS = {
    "email": (
        rf"\b{_ATOM}(?:\.{_ATOM})*@(?:(?:{_LABEL}\.)+{_LABEL}"
        rf"|\[(?:{_BYTE}\.){{3}}(?:{_BYTE}|[a-z0-9-]*[a-z0-9]:)\])"
    ),
    "ip": rf"(?:{_BYTE}\.){{3}}{_BYTE}",
    "phone": r"\s+\(?\d{3}\)?[-. ]*\d{3}[-. ]?\d{4}",
}

r"""Files `tokenizer.json`: conversion from other formats, and the places at which texts may be cut.

A file of tiktoken has a line `<base64 of a token's bytes> <rank>` for each token, and mistral-common's
`tekken.json` the same as JSON. Both libraries split a text by a regular expression, and within each piece
merge the two neighbours whose joined bytes are the token of the lowest rank; a piece that is a token as a
whole stays one. `tokenizers` does that by a list of pairs, so all pairs are listed, in the order of the ranks
of their results.

Special tokens keep their ids, so that documents of ids can be read, but are never found in a text: they are
not "added tokens" here, and no pair makes them.

A long text is split so that the tokens of its pieces, concatenated, are the text's tokens: the library
`tokenizers` works on one text with one core and takes about 150 bytes per byte of it. Most tokenizers look at
a single word at a time, so a text may be split between words. A seam is a blank between two letters, the
blank going to the right, or, for scripts without blanks, the place before a full stop or comma of Chinese and
Japanese; `seam_of` returns the ones that a tokenizer never looks across. It is a list of known cases, each
with its reason: a tokenizer that is not on it gets its texts whole.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from ngramdb.errors import InvalidArgument

_WORDS_OF_GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
_WORDS_OF_CL100K = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"""
    r"""|\s+\z|\s*[\r\n]|\s+(?!\S)|\s"""
)
_LOWER, _UPPER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_WORDS_OF_O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# tiktoken's versions: possessive quantifiers that change nothing, but prevent fast paths of other libraries.
_SAME_PATTERNS = {
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s": _WORDS_OF_GPT2,
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"
    r"|\s*[\r\n]|\s+(?!\S)|\s": _WORDS_OF_CL100K,
}
# `tokenizers` reads `{1,3}+` as a repetition of `{1,3}`. At the end of an alternative, backtracking is
# useless.
_POSSESSIVE = re.compile(r"(\{\d+(?:,\d*)?\})\+")
_POSSESSIVE_AT_END = re.compile(_POSSESSIVE.pattern + r"(?=\||$)")
# The end of the text for tiktoken, but the end of a line for `tokenizers`.
_END_OF_TEXT = re.compile(r"(?<!\\)\$(?=\||\)|$)")

_BYTE_LEVEL = {"type": "ByteLevel", "trim_offsets": True}

# Private attributes of a tiktoken object, whose methods return none of these.
_OF_ENCODING = attrgetter("_mergeable_ranks", "_pat_str", "_special_tokens")


@dataclass(frozen=True)
class Encoding:
    """The facts that a file of ranks leaves out: how a text is split, and which ids are special."""

    pattern: str
    special: Mapping[str, int] = field(default_factory=dict)


#: Encodings of tiktoken by name; their files have the same names.
ENCODINGS = {
    "gpt2": Encoding(_WORDS_OF_GPT2, {"<|endoftext|>": 50256}),
    "r50k_base": Encoding(_WORDS_OF_GPT2, {"<|endoftext|>": 50256}),
    "p50k_base": Encoding(_WORDS_OF_GPT2, {"<|endoftext|>": 50256}),
    "cl100k_base": Encoding(
        _WORDS_OF_CL100K,
        {
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
    "o200k_base": Encoding(_WORDS_OF_O200K, {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}),
}


def from_tiktoken_file(content: bytes, name: str) -> bytes:
    """Return the tokenizer.json of a tiktoken file; its `name` begins with the name of the encoding.

    Raises InvalidArgument if the encoding is unknown, or the content is something else.
    """
    encoding = next((key for key in ENCODINGS if name.startswith(key)), None)
    if encoding is None:
        raise InvalidArgument(
            f"{name} does not define how its texts are split into words: name the file after its encoding "
            f"({', '.join(f'{key}.tiktoken' for key in ENCODINGS)}), or pass the object tiktoken.Encoding in "
            "Python"
        )
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(content.splitlines(), 1):
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token, validate=True)] = int(rank)
        except (ValueError, binascii.Error) as error:
            raise InvalidArgument(
                f"{name} is not a tiktoken file: line {number} is not a token in base64 and its rank"
            ) from error
    known = ENCODINGS[encoding]
    return tokenizer_json(ranks, known.pattern, known.special)


def from_tiktoken(encoding: Any) -> bytes:
    """Return the tokenizer.json of a `tiktoken.Encoding`. Raises InvalidArgument."""
    return tokenizer_json(*_OF_ENCODING(encoding))


def from_tekken(content: bytes, name: str) -> bytes:
    """Return the tokenizer.json of a `tekken.json`. Raises InvalidArgument for other content."""
    try:
        parts = json.loads(content)
        config = parts["config"]
        n_special = int(config["default_num_special_tokens"])
        n_tokens = int(config["default_vocab_size"]) - n_special
        ranks = {
            base64.b64decode(token["token_bytes"]): int(token["rank"]) + n_special
            for token in parts["vocab"][:n_tokens]
        }
        special = {f"<SPECIAL_{i}>": i for i in range(n_special)}
        given = {str(token["token_str"]): int(token["rank"]) for token in parts.get("special_tokens") or ()}
        taken = set(given.values())
        special = {text: i for text, i in special.items() if i not in taken} | given
        pattern = str(config["pattern"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArgument(f"{name} is not a tekken.json of mistral-common: {error!r}") from error
    return tokenizer_json(ranks, pattern, special)


def is_tiktoken(content: bytes) -> bool:
    """Return True if the content begins like a tiktoken file."""
    return re.match(rb"[A-Za-z0-9+/]+=* [0-9]+\r?\n", content[:4096]) is not None


def is_tekken(content: bytes) -> bool:
    """Return True for a tekken.json, False for a tokenizer.json; both begin with a brace."""
    head = content[:4096]
    return b'"default_num_special_tokens"' in head or b'"num_vocab_tokens"' in head


def tokenizer_json(ranks: Mapping[bytes, int], pattern: str, special: Mapping[str, int]) -> bytes:
    """Return the tokenizer.json of a byte-pair tokenizer.

    Parameters
    ----------
    ranks : the id of each token by its bytes; tokens of lower ids are merged first
    pattern : the regular expression whose matches are the pieces of a text
    special : ids of tokens that never occur in a text

    Raises
    ------
    InvalidArgument
        A pattern that `tokenizers` would interpret differently, or a byte without a token.
    """
    pattern = _pattern_of(pattern)
    lacking = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if lacking:
        raise InvalidArgument(f"the tokenizer lacks a token for the byte {lacking[0]}")
    spelled = {token: token.decode("latin-1").translate(BYTE_CHARACTERS) for token in ranks}
    vocabulary = {spelled[token]: rank for token, rank in ranks.items()}
    for text, token_id in special.items():
        vocabulary[text if text not in vocabulary else f"⟨{text}⟩"] = token_id
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": {
                "type": "Sequence",
                "pretokenizers": [
                    {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
                    {
                        "type": "ByteLevel",
                        "add_prefix_space": False,
                        "trim_offsets": True,
                        "use_regex": False,
                    },
                ],
            },
            "post_processor": None,
            "decoder": {**_BYTE_LEVEL, "add_prefix_space": True, "use_regex": True},
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": True,
                "vocab": vocabulary,
                "merges": [[spelled[a], spelled[b]] for a, b in _pairs(ranks)],
            },
        },
        ensure_ascii=False,
    ).encode()


def _pattern_of(pattern: str) -> str:
    """Return the regular expression in the syntax of `tokenizers`. Raises InvalidArgument."""
    same = _SAME_PATTERNS.get(pattern)
    if same is not None:
        return same
    translated = _END_OF_TEXT.sub(r"\\z", _POSSESSIVE_AT_END.sub(r"\1", pattern))
    if _POSSESSIVE.search(translated):
        raise InvalidArgument(
            f"the tokenizer splits texts by {pattern!r}, but the library tokenizers lacks possessive "
            "{…}+; write the pattern without it, if the result is the same"
        )
    return translated


def _pairs(ranks: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """Return all pairs of tokens that make a token, by its rank, then by their own."""
    found = []
    for token in sorted(ranks, key=ranks.__getitem__):
        cuts = ((token[:at], token[at:]) for at in range(1, len(token)))
        pairs = [pair for pair in cuts if pair[0] in ranks and pair[1] in ranks]
        found += sorted(pairs, key=lambda pair: (ranks[pair[0]], ranks[pair[1]]))
    return found


def _byte_characters() -> dict[int, int]:
    """Map each byte to its character in a byte-level vocabulary.

    Printable bytes of Latin-1 are their own characters; the others, in ascending order, have the characters
    from U+0100 on. (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.2.)
    """
    printable = {
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    }
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: byte for byte in printable} | {byte: 0x100 + rank for rank, byte in enumerate(others)}


BYTE_CHARACTERS = _byte_characters()


# ---- Places to split a long text.


# Enough that a call costs little, few enough that a batch of pieces keeps every core busy.
PIECE_CHARS = 1 << 16

_ASCII_BLANK = r"(?<=[A-Za-z]) (?=[A-Za-z])"
_BLANK = r"(?<=[^\W\d_]) (?=[^\W\d_])"
# After ideographs, Hiragana and Katakana that are letters in every version of Unicode.
_STOPS = "。！？；，、："
_BEFORE_STOP = f"(?<=[\u3041-\u3094\u30a1-\u30fa\u4e00-\u9fa5])(?=[{_STOPS}])"

# Normalizers that change a character without looking beyond the letters and marks around it.
_LOCAL_NORMALIZERS = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "BertNormalizer"}

# Pre-tokenizers that always end a piece before a blank that follows a letter, and whose pieces on either side
# depend on that side alone. ByteLevel: ` ?\p{L}+` ends at the blank, and only white space looks one
# character ahead.
_CUTTING_PRE_TOKENIZERS = {"ByteLevel", "Whitespace", "WhitespaceSplit", "BertPreTokenizer"}

# Patterns of Split with the same property: an alternative that matches a letter matches nothing after the
# letters. They are those of GPT-4 and Llama 3 (digits in threes), and of Qwen 2 (one by one).
_CUTTING_PATTERNS = {
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
    + digits
    + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    for digits in (r"\p{N}{1,3}", r"\p{N}")
}
# The pattern of tiktoken's cl100k_base, which matches white space at a text's end as a whole.
_CUTTING_PATTERNS.add(
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s+\z|\s*[\r\n]|\s+(?!\S)|\s"
)

# WhitespaceSplit ends pieces only at blanks.
_BLANKS_ONLY = {"WhitespaceSplit"}

# Under these, the character before a full stop stays a letter. (NFD turns some into a letter and a mark, and
# marks belong with punctuation; BertNormalizer puts blanks around ideographs.)
_KEEPING_NORMALIZERS = {"NFC", "NFKC", "Lowercase"}

# Allowed after a splitting step: these see one piece at a time, and not its place in the text.
_LATER_PRE_TOKENIZERS = _CUTTING_PRE_TOKENIZERS | {"Split", "Digits", "Punctuation"}


# These split a text, and keep all of it.
_KEEPING_PRE_TOKENIZERS = {"ByteLevel", "Split", "Digits", "Punctuation", "UnicodeScripts"}


def seam_of(parts: dict[str, Any]) -> re.Pattern[str] | None:
    """Return a pattern whose matches start where texts may be split, by a `tokenizer.json`; or None."""
    normalizers = {step.get("type") for step in _steps(parts.get("normalizer"), "normalizers")}
    pre_tokenizers = _steps(parts.get("pre_tokenizer"), "pretokenizers")
    added = parts.get("added_tokens") or ()
    if not (
        all(_stays_inside_words(token) for token in added)
        and normalizers <= _LOCAL_NORMALIZERS
        and pre_tokenizers
        and _cuts(pre_tokenizers[0])
        and all(step.get("type") in _LATER_PRE_TOKENIZERS for step in pre_tokenizers[1:])
    ):
        return None
    if "BertNormalizer" in normalizers:
        return re.compile(_ASCII_BLANK)
    if (
        pre_tokenizers[0].get("type") in _BLANKS_ONLY
        or not normalizers <= _KEEPING_NORMALIZERS
        # Then a piece that does not begin with a blank would be given one.
        or any(step.get("add_prefix_space") for step in pre_tokenizers)
        or any(set(_STOPS) & set(token.get("content", "")) for token in added)
    ):
        return re.compile(_BLANK)
    return re.compile(f"{_BLANK}|{_BEFORE_STOP}")


def changes_texts(parts: dict[str, Any]) -> bool:
    """Return True if a `tokenizer.json`'s tokens may spell other bytes than the text has.

    Texts may be normalized, get a blank at their beginning, lose separators, or lose the blanks around
    an added token. Unknown steps are assumed to change texts.
    """
    if _steps(parts.get("normalizer"), "normalizers"):
        return True
    if any(token.get("lstrip") or token.get("rstrip") for token in parts.get("added_tokens") or ()):
        return True
    return any(
        step.get("type") not in _KEEPING_PRE_TOKENIZERS
        or step.get("add_prefix_space")
        or step.get("behavior") == "Removed"
        for step in _steps(parts.get("pre_tokenizer"), "pretokenizers")
    )


def pieces(text: str, seam: re.Pattern[str]) -> Iterator[str]:
    """Yield the text in pieces of about PIECE_CHARS characters, split at seams; whole if there are none."""
    start = 0
    while len(text) - start > PIECE_CHARS:
        found = seam.search(text, start + PIECE_CHARS)
        if found is None:
            break
        yield text[start : found.start()]
        start = found.start()
    yield text[start:] if start else text


def _steps(part: dict[str, Any] | None, name: str) -> list[dict[str, Any]]:
    """Return the steps of a normalizer or pre-tokenizer: those of a Sequence, or itself, or none."""
    if part is None:
        return []
    if part.get("type") == "Sequence":
        return [step for inner in part.get(name, ()) for step in _steps(inner, name)]
    return [part]


def _cuts(part: dict[str, Any]) -> bool:
    if part.get("type") == "ByteLevel":
        return bool(part.get("use_regex", True))
    if part.get("type") == "Split":
        isolates = part.get("behavior") == "Isolated" and not part.get("invert")
        return isolates and part.get("pattern", {}).get("Regex") in _CUTTING_PATTERNS
    return part.get("type") in _CUTTING_PRE_TOKENIZERS


def _stays_inside_words(token: dict[str, Any]) -> bool:
    """Return True if matching an added token ignores white space and the characters beside it."""
    looks_around = token.get("lstrip") or token.get("rstrip") or token.get("single_word")
    content = token.get("content", "")
    return not looks_around and content.split() == [content]

"""Where a long text may be cut so that its pieces' tokens, one after the other, are the text's tokens.

The library `tokenizers` works on one text with one core and takes some 150 bytes per byte of it. Most
tokenizers look at no more than a word at a time, so that a text may be cut between words. A seam is a blank
between two letters, the blank going to the right, or, for scripts without blanks, the place before a full
stop or comma of Chinese and Japanese; `seam_of` says which of them a tokenizer never looks across. It is a
list of known cases, each with its reason: a tokenizer that is not on it gets its texts whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

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
# depend on their own side alone. ByteLevel: ` ?\p{L}+` ends at the blank, and only white space looks one
# character ahead.
_CUTTING_PRE_TOKENIZERS = {"ByteLevel", "Whitespace", "WhitespaceSplit", "BertPreTokenizer"}

# Patterns of Split with the same property: what matches a letter matches nothing after the letters. They are
# those of GPT-4 and Llama 3 (digits in threes), and of Qwen 2 (one by one).
_CUTTING_PATTERNS = {
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
    + digits
    + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    for digits in (r"\p{N}{1,3}", r"\p{N}")
}
# That of tiktoken's cl100k_base, which takes white space at a text's end as a whole.
_CUTTING_PATTERNS.add(
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s+\z|\s*[\r\n]|\s+(?!\S)|\s"
)

# A blank is all that WhitespaceSplit ends a piece at.
_BLANKS_ONLY = {"WhitespaceSplit"}

# Under these, the character before a full stop stays a letter. (NFD makes a letter and a mark of some, and
# marks go with punctuation; BertNormalizer puts blanks around ideographs.)
_KEEPING_NORMALIZERS = {"NFC", "NFKC", "Lowercase"}

# What may come after a cutting step: it sees a piece at a time, and not where in the text the piece stands.
_LATER_PRE_TOKENIZERS = _CUTTING_PRE_TOKENIZERS | {"Split", "Digits", "Punctuation"}


# These cut a text, and keep all of it.
_KEEPING_PRE_TOKENIZERS = {"ByteLevel", "Split", "Digits", "Punctuation", "UnicodeScripts"}


def seam_of(parts: dict[str, Any]) -> re.Pattern[str] | None:
    """Where texts may be cut, by a `tokenizer.json`'s content: at the start of a match; None: nowhere."""
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
    """Whether a `tokenizer.json`'s tokens may have other text than what is tokenized, byte for byte.

    Texts are normalized, given a blank at their beginning, cut at what is left out, or lose the blanks around
    an added token. What is not known here is taken to change them.
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
    """The text in pieces of about PIECE_CHARS characters, cut at seams; whole where there is none."""
    start = 0
    while len(text) - start > PIECE_CHARS:
        found = seam.search(text, start + PIECE_CHARS)
        if found is None:
            break
        yield text[start : found.start()]
        start = found.start()
    yield text[start:] if start else text


def _steps(part: dict[str, Any] | None, name: str) -> list[dict[str, Any]]:
    """The steps of a normalizer or pre-tokenizer: those of a Sequence, or itself, or none."""
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
    """Whether an added token is found without a look at white space, or at the characters beside it."""
    looks_around = token.get("lstrip") or token.get("rstrip") or token.get("single_word")
    content = token.get("content", "")
    return not looks_around and content.split() == [content]

"""Finding places to split a long text so that the tokens of its pieces, concatenated, are the text's tokens.

The library `tokenizers` works on one text with one core and takes about 150 bytes per byte of it. Most
tokenizers look at a single word at a time, so a text may be split between words. A seam is a blank
between two letters, the blank going to the right, or, for scripts without blanks, the place before a full
stop or comma of Chinese and Japanese; `seam_of` returns the ones that a tokenizer never looks across. It is a
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

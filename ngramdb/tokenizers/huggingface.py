"""`json`: any Hugging Face `tokenizer.json`, run by the library `tokenizers`.

The file's settings for truncation, padding, BPE dropout and special tokens around a text are ignored: a
document consists of its own tokens only, and a query is tokenized like documents. If the tokenizer is
byte-level (GPT-2 and its many successors), a text is the concatenation of its tokens' bytes, and decoding is
done here, by a table.

The library is heavy, so only `registry` imports this module, when a `tokenizer.json` is used.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import tokenizers

from ngramdb import interrupts
from ngramdb._cext.text.pieces import PieceTable, gather
from ngramdb.errors import InvalidArgument
from ngramdb.fork_safety import cached_property
from ngramdb.tokenizers import sentences
from ngramdb.tokenizers.base import (
    BLANK,
    DefinedTokenizer,
    Encoder,
    Flags,
    Ids,
    Offsets,
    Pieces,
    Placed,
    QueryIds,
    as_ids,
    batches,
    from_utf8,
    library_errors,
    offsets_of,
    placed,
    to_utf8,
)
from ngramdb.tokenizers.fast import FastWay
from ngramdb.tokenizers.json_definitions import BYTE_CHARACTERS, PIECE_CHARS, changes_texts, pieces, seam_of

# Characters per call of the library. Its encodings take about 150 bytes per byte of text until they are
# collected, and a batch must have enough pieces to keep every core busy.
BATCH_CHARS = 1 << 20

# Memory of the library, the faster one beside it and their word caches per byte of the definition: about
# 150 MB for the 1.6 MB of GPT-2.
MEMORY_PER_BYTE = 96

# Pre-tokenizers that split a text into words and drop the blanks between them.
_WORD_CUTTERS = frozenset({"Whitespace", "WhitespaceSplit", "BertPreTokenizer", "Punctuation", "Digits"})

_PARALLELISM = "TOKENIZERS_PARALLELISM"


class _Threads:
    """A record of whether the library may use its threads, and has done so in this process.

    Unless the variable is set, the library warns on standard error if a process that used its threads
    forks; so it is set. A forked child has none of these threads, but would wait for them forever: it must
    not use them, whoever set the variable.
    """

    used = False

    @classmethod
    def do_without(cls) -> None:
        if cls.used:
            os.environ[_PARALLELISM] = "false"


os.environ.setdefault(_PARALLELISM, "true")
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Threads.do_without)


class HuggingFaceTokenizer(DefinedTokenizer):
    """The tokenizer of a `tokenizer.json`."""

    kind = "json"
    library = f"tokenizers {tokenizers.__version__}"

    def __init__(self, definition: bytes, source: str = "tokenizer.json") -> None:
        """Read a file's content. Raises InvalidArgument."""
        super().__init__(definition, source)
        try:
            self._library = tokenizers.Tokenizer.from_buffer(definition)
        except Exception as error:  # the library raises plain Exception and ValueError
            raise InvalidArgument(
                f"{source} is not a tokenizer.json that `tokenizers` can read: {error}"
            ) from error
        self._library.no_truncation()
        self._library.no_padding()
        if getattr(self._library.model, "dropout", None):
            self._library.model.dropout = None  # random merges: each encoding of a text would differ
        # Missing in older versions; it omits the character offsets, which are not needed here.
        self._encode = getattr(self._library, "encode_batch_fast", self._library.encode_batch)

    @cached_property
    def _parts(self) -> dict[str, Any]:
        """The definition without its vocabulary and merges, which would take tens of megabytes."""
        parts: dict[str, Any] = json.loads(self._definition)
        model = parts.get("model") or {}
        parts["model"] = {name: part for name, part in model.items() if name not in ("vocab", "merges")}
        return parts

    @cached_property
    def _seam(self) -> re.Pattern[str] | None:
        return seam_of(self._parts)

    @cached_property
    def _table(self) -> PieceTable | None:
        return None if self.spellings is None else PieceTable(*self.spellings)

    @cached_property
    def lossless(self) -> bool:  # type: ignore[override]
        return _is_byte_level(self._parts.get("decoder"))

    @cached_property
    def n_vocabulary(self) -> int:
        if self.spellings is not None:  # the library is slow to return its vocabulary: do it only once
            return len(self.spellings[1]) - 1
        return 1 + max(self._library.get_vocab(with_added_tokens=True).values(), default=-1)

    @property
    def token_bytes(self) -> Pieces | None:
        return self.spellings if self._keeps_texts else None

    @cached_property
    def _keeps_texts(self) -> bool:
        """True if every text is what its tokens spell: nothing is normalized, added or left out."""
        return self.lossless and not changes_texts(self._parts) and self._has_every_byte

    @cached_property
    def _has_every_byte(self) -> bool:
        is_bpe = self._parts["model"].get("type") == "BPE"
        return is_bpe and all(
            self._library.token_to_id(chr(code)) is not None for code in BYTE_CHARACTERS.values()
        )

    @cached_property
    def spellings(self) -> Pieces | None:
        if not self.lossless:
            return None
        added = {token["id"]: token["content"] for token in self._parts.get("added_tokens") or ()}
        return _byte_table(self._library.get_vocab(with_added_tokens=True), added)

    def normalized(self, text: str) -> str:
        normalizer = self._library.normalizer
        if normalizer is None:
            return text
        normal: str = normalizer.normalize_str(text)
        return normal.replace(BLANK, " ")

    def encode(self, text: str) -> QueryIds:
        encoded = to_utf8(text)
        if len(text) > PIECE_CHARS:
            return self.encode_batch([encoded])[0].astype(np.int64)
        with library_errors():
            return np.array(self._library.encode(text, add_special_tokens=False).ids, dtype=np.int64)

    def encode_batch(self, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
        """See the base class.

        Cost: the library's time, on all cores. Memory for a batch of a megabyte of text, but for a longer
        document that must not be split (see `seams`): about 150 times its size.
        """
        cut, bounds = self.cut(texts)
        ids, offsets = self.ids_of_pieces(cut)
        return ids, offsets[bounds]

    def cut(self, texts: Sequence[bytes]) -> tuple[list[str], Offsets]:
        """Split texts into pieces to be tokenized separately: text k is pieces bounds[k]:bounds[k + 1]."""
        cut: list[str] = []
        bounds = np.zeros(len(texts) + 1, dtype=np.int64)
        for number, text in enumerate(from_utf8(texts)):
            cut.extend((text,) if self._seam is None else pieces(text, self._seam))
            bounds[number + 1] = len(cut)
        return cut, bounds

    def ids_of_pieces(self, texts: list[str]) -> tuple[Ids, Offsets]:
        """Return ids and offsets of pieces, by the library."""
        ids, offsets = gather(self._ids_of(texts))
        return ids, offsets

    def encoder(self, fast: bool = True) -> Encoder:
        made = _FastEncoder(self, self._fast_way) if fast and self._fast_way else super().encoder()
        dropout = self._parts["model"].get("dropout")
        if dropout:
            made.note = (
                f"the tokenizer's BPE dropout of {dropout} is ignored: with it, each encoding of a text "
                "would differ"
            )
        return made

    @cached_property
    def _fast_way(self) -> FastWay | None:
        """The fast path, for a byte-level BPE with a token for every byte, which never fails; else None."""
        if not (self.lossless and self._has_every_byte):
            return None
        return FastWay(self._definition, self._parts, self.ids_of_pieces, self._texts_of_tokens)

    def _texts_of_tokens(self) -> list[str]:
        """Return the texts of all tokens that are whole characters."""
        assert self._spelled is not None
        spelled, offsets = self._spelled
        ends = offsets.tolist()
        texts = (spelled[start:stop].decode("utf-8", "ignore") for start, stop in pairwise(ends))
        return [text for text in texts if text]

    def _ids_of(self, texts: list[str]) -> Iterator[list[int]]:
        _Threads.used = True
        for batch in batches(texts, BATCH_CHARS):
            interrupts.check()
            # A text that cannot be split takes the library seconds per megabyte, without interrupt checks.
            if any(len(text) > 2 * PIECE_CHARS for text in batch):
                encodings = interrupts.waited_for(partial(self._encodings, batch))
            else:
                encodings = self._encodings(batch)
            for encoding in encodings:
                yield encoding.ids

    def _encodings(self, texts: Sequence[str]) -> Any:
        with library_errors():
            return self._encode(texts, add_special_tokens=False)

    @cached_property
    def has_own_words(self) -> bool:
        """See the base class: the model is WordLevel, and a pre-tokenizer splits texts at blanks."""
        cutter = self._parts.get("pre_tokenizer") or {}
        kinds = {part.get("type") for part in cutter.get("pretokenizers", (cutter,))}
        cuts = kinds <= _WORD_CUTTERS and not kinds <= {"Punctuation", "Digits"}
        return cuts and self._parts["model"].get("type") == "WordLevel"

    def split(self, text: str) -> list[str]:
        if not self.has_own_words:
            return super().split(text)
        normalizer, cutter = self._library.normalizer, self._library.pre_tokenizer
        normal = text if normalizer is None else normalizer.normalize_str(text)
        return [piece for piece, _ in cutter.pre_tokenize_str(normal)]

    def all_texts(self) -> list[str]:
        every = np.arange(self.n_vocabulary)
        return self.pieces(every) if self._table is None else self.token_texts(every)

    @property
    def has_places(self) -> bool:
        return not self._keeps_texts

    def places(self, text: str) -> Placed:
        interrupts.check()
        with library_errors():
            found = self._library.encode(text, add_special_tokens=False)
        return placed(found.ids, found.offsets)

    def decode(self, ids: npt.ArrayLike) -> str:
        values = as_ids(ids)
        spelled = None if self._table is None else self._table.decode(values)
        if spelled is not None:
            text: str = spelled.decode("utf-8", "backslashreplace")
            return text
        text = self._library.decode(self.check_ids(values).tolist(), skip_special_tokens=False)
        return text

    def pieces(self, ids: npt.ArrayLike) -> list[str]:
        found = [self._library.id_to_token(self.check_id(number)) for number in as_ids(ids).tolist()]
        return ["" if piece is None else piece for piece in found]

    def decode_each(self, ids: Ids, offsets: Offsets) -> list[str]:
        found = None if self._table is None else self._table.decode_each(ids, offsets)
        if found is None:
            return super().decode_each(self.check_ids(ids), offsets)
        spelled, starts = found
        bounds = pairwise(starts.tolist())
        return [spelled[start:stop].decode("utf-8", "backslashreplace") for start, stop in bounds]

    def decode_exact(self, ids: npt.ArrayLike) -> bytes | None:
        if self._table is None:
            return None
        spelled: bytes | None = self._table.decode(as_ids(ids))
        return spelled

    def token_text(self, token_id: int) -> str:
        number = self.check_id(token_id)
        token: str | None = self._library.id_to_token(number)
        if token is None:
            raise InvalidArgument(
                f"no token has the id {number}: the vocabulary of {self._source} leaves it out"
            )
        return token if self._table is None else self.decode([number])

    def token_texts(self, ids: npt.ArrayLike) -> list[str]:
        if self._table is None:
            return super().token_texts(ids)
        values = as_ids(ids)
        texts = self.decode_each(values, np.arange(len(values) + 1))
        if all(texts):
            return texts
        # An empty text: an empty token, or an id without a token, which is an error.
        return [text or self.token_text(number) for text, number in zip(texts, values.tolist(), strict=True)]

    @cached_property
    def _spelled(self) -> tuple[bytes, Offsets] | None:
        return None if self.spellings is None else (self.spellings[0].tobytes(), self.spellings[1])

    def reproduces(self, texts: Sequence[bytes], ids: Ids, offsets: Offsets) -> Flags:
        if self._table is None:
            return super().reproduces(texts, ids, offsets)
        flags: Flags = self._table.reproduces(texts, ids, offsets)
        return flags

    @property
    def memory_bytes(self) -> int:
        return MEMORY_PER_BYTE * len(self._definition)

    @cached_property
    def _sizes(self) -> sentences.Sizes:
        assert self.spellings is not None
        return sentences.sizes_of(self.spellings)

    def mark_sentences(self, texts: Sequence[bytes], ids: Ids, offsets: Offsets) -> Flags | None:
        if len(ids) and int(ids.max()) >= self.n_vocabulary:
            return None
        if self.spellings is not None:
            return sentences.mark_spelled(texts, ids, offsets, self._sizes)
        return None


class _FastEncoder(Encoder):
    """An encoder that uses the fast path as long as it is open."""

    def __init__(self, tokenizer: HuggingFaceTokenizer, way: FastWay) -> None:
        super().__init__(tokenizer)
        self._pieces_of = tokenizer.cut
        self._exact = tokenizer.ids_of_pieces
        self._way = way
        self._used = False
        self._n_bytes = 0

    def encode_batch(self, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
        cut, bounds = self._pieces_of(texts)
        found = self._way.ids_of(cut)
        if found is None:
            # Whatever the reason, a library that fails on one text is not trusted on others.
            self.in_doubt = self._used
            self.note = self._way.closed_because or self.note
            found = self._exact(cut)
        else:
            self._used = True
            self._n_bytes += sum(map(len, texts))
        ids, offsets = found
        return ids, offsets[bounds]

    def end(self) -> None:
        self._way.rest(self._n_bytes)


def _is_byte_level(decoder: dict[str, Any] | None) -> bool:
    """Return True if the decoder concatenates the tokens' bytes and does nothing else."""
    if decoder is None:
        return False
    if decoder.get("type") == "Sequence":
        kinds = [part.get("type") for part in decoder.get("decoders", ())]
        return "ByteLevel" in kinds and set(kinds) <= {"ByteLevel", "Fuse"}
    return decoder.get("type") == "ByteLevel"


def _byte_table(vocabulary: dict[str, int], added: dict[int, str]) -> Pieces:
    """Return the bytes of every id: by the byte characters; added tokens, and other characters, as UTF-8."""
    byte_of = {code: byte for byte, code in BYTE_CHARACTERS.items()}
    # A character outside this table must not become a byte: Latin-1's unprintable ones are mapped out of
    # range.
    to_latin1 = {code: byte_of.get(code, 0x100) for code in range(0x200)}
    spelled = [b""] * (1 + max(vocabulary.values(), default=-1))
    for token, token_id in vocabulary.items():
        try:
            spelled[token_id] = token.translate(to_latin1).encode("latin-1")
        except UnicodeEncodeError:
            spelled[token_id] = token.encode("utf-8")
    for token_id, token in added.items():
        spelled[token_id] = token.encode("utf-8")
    return np.frombuffer(b"".join(spelled), dtype=np.uint8), offsets_of([len(piece) for piece in spelled])

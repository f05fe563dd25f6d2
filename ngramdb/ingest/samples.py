"""Notes on texts that are probably not meant to be loaded as they are, from a sample of the documents.

Tags of HTML and XML are text like any other, a line break ends a sentence (UAX #29), and invisible characters
are tokens under the tokenizer `words`. Each is intended in some corpora, so that a load only notes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ngramdb.ingest.documents import Document

# The sample: the first documents and then one at regular intervals; the first bytes of each.
FIRST = 100
EVERY = 64
MOST_BYTES = 1 << 13
# Documents by which a file is recognized that has been loaded before.
RECOGNIZED = 16

# Markup has end tags or line breaks; type parameters such as `Vec<T>` lack both.
_TAG = re.compile(rb"</?[A-Za-z][^<>]{0,1000}>|<!--|<![A-Z]")
_MARKUP = re.compile(rb"</[A-Za-z]|<br\b")
_LEAST_TAGS = 10
_LEAST_SHARE = 0.05
# The end of a line that ends no sentence, before one that is not indented; whether that continues it.
_LINE_BREAK = re.compile(r"(?<=[\w,;:-])\r?\n(?:(?P<continued>[^\W\d_A-Z])|(?=\w))")
_LEAST_BREAKS = 20
_LEAST_LINE = 40  # bytes, on average: lists of words are not paragraphs
_INVISIBLE = {
    "\u00ad": "soft hyphens (U+00AD)",
    "\u200b": "zero-width spaces (U+200B)",
    "\ufeff": "byte order marks (U+FEFF)",
}


class Samples:
    """Counts over a sample of the documents of one load. Cost: some 30 µs per KB of the sample."""

    def __init__(self) -> None:
        #: The first documents, of which texts longer than `MOST_BYTES` are cut.
        self.first: list[Document] = []
        self._n_seen = 0
        self._n_bytes = 0
        self._n_tag_bytes = 0
        self._tags: dict[str, None] = {}
        self._n_tags = 0
        self._has_markup = False
        self._n_lines = 0
        self._n_breaks = 0
        self._n_continued = 0
        self._invisible: dict[str, None] = {}

    def through(self, documents: Iterator[Document]) -> Iterator[Document]:
        """Yield the documents, and count over some of them."""
        for document in documents:
            if document.text and (self._n_seen < FIRST or self._n_seen % EVERY == 0):
                self._see(document.text[:MOST_BYTES])
            if self._n_seen < RECOGNIZED:
                text = document.text
                self.first.append(replace(document, text=None if text is None else text[:MOST_BYTES]))
            self._n_seen += 1
            yield document

    def notes(self, splits_words: bool, finds_sentences: bool) -> Iterator[str]:
        """Yield a sentence for each peculiarity.

        Parameters
        ----------
        splits_words : invisible characters are tokens of their own, as under `words`
        finds_sentences : the corpus records where sentences begin
        """
        share = self._n_tag_bytes / max(self._n_bytes, 1)
        if self._has_markup and self._n_tags >= _LEAST_TAGS and share >= _LEAST_SHARE:
            yield (
                f"{share:.0%} of the text is tags of HTML or XML ({', '.join(self._tags)}), which are loaded "
                "as text; remove them beforehand if they should not count"
            )
        if finds_sentences and self._is_wrapped():
            yield (
                f"paragraphs have line breaks within sentences ({self._n_continued / self._n_breaks:.0%} of "
                "lines without a mark at their end continue in lower case), and every line break ends a "
                "sentence; join the lines of a paragraph beforehand if sentences matter"
            )
        if splits_words and self._invisible:
            yield (
                f"texts have {' and '.join(self._invisible)}, which are tokens of their own and divide "
                "words; remove them beforehand if they should not count"
            )

    def _see(self, content: bytes) -> None:
        self._n_bytes += len(content)
        if b"<" in content:
            self._has_markup = self._has_markup or _MARKUP.search(content) is not None
            for tag in _TAG.finditer(content):
                self._n_tags += 1
                self._n_tag_bytes += len(tag[0])
                if len(self._tags) < 3 and len(tag[0]) <= 30:
                    self._tags[tag[0].decode("utf-8", "replace")] = None
        text = content.decode("utf-8", "ignore")
        self._n_lines += 1 + content.count(b"\n")
        for found in _LINE_BREAK.finditer(text):
            self._n_breaks += 1
            self._n_continued += (found["continued"] or "").islower()
        if not text.isascii():
            self._invisible.update((name, None) for mark, name in _INVISIBLE.items() if mark in text)

    def _is_wrapped(self) -> bool:
        return (
            self._n_breaks >= _LEAST_BREAKS
            and self._n_continued * 2 >= self._n_breaks
            and self._n_breaks * 3 >= self._n_lines
            and self._n_bytes >= _LEAST_LINE * self._n_lines
        )

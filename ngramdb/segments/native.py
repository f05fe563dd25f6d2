"""The file of a native segment: the names in it, which its builder writes and its reader looks for.

Beside the builder, so that who reads a segment need not import it.
"""

from __future__ import annotations

from typing import NamedTuple

from ngramdb.segments.container import FileInfo

#: The container's kind.
KIND = "SEGM"
#: The section with the documents' ids, where they are not one after the other.
DOC_IDS = "documents.ids"
#: The prefix of the sections with the forms of documents' lines.
FORM = "form"


class SegmentSummary(NamedTuple):
    """What a written segment is: its file's size and checksum, and its numbers."""

    file: FileInfo
    n_tokens: int
    n_documents: int
    first_doc_id: int

"""Token ids that an index gave and the vocabulary lacks: the fault of a file, not of the question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ngramdb.errors import CorruptionError, InvalidArgument
from ngramdb.planner.source import Segment, Tokenizer


@contextmanager
def from_files(tokenizer: Tokenizer, segments: Sequence[Segment]) -> Iterator[None]:
    """Where ids that come from segments are turned into text.

    Raises CorruptionError in place of InvalidArgument, where a segment has an id beyond the vocabulary.
    Cost: nothing; after an error a pass over the segments' tokens.
    """
    try:
        yield
    except InvalidArgument as error:
        n_vocabulary = tokenizer.n_vocabulary
        for segment in segments:
            largest = segment.largest_id()
            if largest >= n_vocabulary:
                raise CorruptionError(
                    f"segment {segment.path} is damaged: it has the token id {largest}, and the vocabulary "
                    f"{n_vocabulary} ids; restore the file from a backup, or load its documents again",
                    path=segment.path,
                    expected=f"an id below {n_vocabulary}",
                    found=largest,
                ) from error
        raise

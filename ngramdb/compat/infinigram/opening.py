"""The data that an engine opens: corpora of a database, or the peer's own indexes in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, TypedDict, TypeVar

from typing_extensions import ParamSpec

from ngramdb.api import connect
from ngramdb.compat import parts_of
from ngramdb.errors import InvalidArgument, NotADatabase
from ngramdb.registries import DTYPE_BYTES

#: Largest ids by the type of tokens, which separators have.
LARGEST_IDS = {name: 256**n_bytes - 1 for name, n_bytes in DTYPE_BYTES.items()}

# The version with reversed documents, which the files do not declare.
_REVERSED = 5


def paths_of(index_dir: str | Iterable[str]) -> list[str]:
    """One path or several as a list. Raises InvalidArgument."""
    paths = [index_dir] if isinstance(index_dir, str) else list(index_dir)
    if not paths or not all(isinstance(path, str) for path in paths):
        raise InvalidArgument(f"index_dir must be a path or a list of paths, not {index_dir!r}")
    return paths


def opened(
    added: Sequence[str], subtracted: Sequence[str], version: int, token_dtype: str | None
) -> tuple[Any, Any, str]:
    """Return a connection, a view of the first corpora without the others, and the type of token ids.

    Parameters
    ----------
    version, token_dtype : of the peer's indexes; a type of None is derived from their sizes, and otherwise
        from the vocabulary

    Raises
    ------
    InvalidArgument
        Unknown type, ids that do not fit it, several databases, or folders of other things.
    """
    if token_dtype is not None and token_dtype not in LARGEST_IDS:
        raise InvalidArgument(f"token_dtype must be u8, u16 or u32, not {token_dtype!r}")
    asked = [(1, *parts_of(path, ("corpus",))) for path in added]
    asked += [(-1, *parts_of(path, ("corpus",))) for path in subtracted]
    try:
        connection = connect(asked[0][1], read_only=True)
    except NotADatabase as error:
        return _attached(asked, version, token_dtype, error)
    folders = {folder for _, folder, _ in asked}
    if len(folders) > 1:
        raise InvalidArgument(
            f"corpora queried together must be in one database; these are in {len(folders)}: "
            + ", ".join(sorted(folders))
        )
    view = connection.snapshot.algebra(
        [(sign, connection.corpus(given.get("corpus")).name, None) for sign, _, given in asked]
    )
    return connection, view, _checked_dtype(view, token_dtype)


def _checked_dtype(view: Any, token_dtype: str | None) -> str:
    n_vocabulary = view.tokenizer.n_vocabulary
    dtype = token_dtype or ("u16" if n_vocabulary < 2**16 else "u32")
    if n_vocabulary > LARGEST_IDS[dtype] and view.tokenizer.kind != "tokens":
        raise InvalidArgument(f"the corpus has {n_vocabulary:,} token ids, too many for {dtype}")
    return dtype


def _attached(
    asked: list[tuple[int, str, dict[str, str]]], version: int, token_dtype: str | None, error: NotADatabase
) -> tuple[Any, Any, str]:
    connection = connect()
    terms: list[tuple[int, str, None]] = []
    widths: set[int] = set()
    for sign, folder, _ in asked:
        name = f"index {len(terms)}"
        given: dict[str, Any] = {"version": _REVERSED} if version == _REVERSED else {}
        if token_dtype is not None:
            given["dtype"] = token_dtype
        try:
            connection.attach(folder, name, **given)
        except InvalidArgument as wrong:
            raise wrong if len(terms) else InvalidArgument(f"{error}; {wrong}") from error
        terms.append((sign, name, None))
        segments: Any = connection.snapshot.view(name).segments
        widths |= {segment.token_bytes for segment in segments}
    if len(widths) > 1:
        raise InvalidArgument(
            f"indexes queried together must have tokens of one width; these have {sorted(widths)} bytes"
        )
    width = widths.pop()
    dtype = next(name for name, n in DTYPE_BYTES.items() if n == width)
    return connection, connection.snapshot.algebra(terms), dtype


# ---- The peer's messages about invalid arguments, in its words: scripts compare them.


class Refused(Exception):
    """An argument that makes no sense; the message becomes `{"error": …}`."""


Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def answers_errors(method: Callable[Given, Answer]) -> Callable[Given, Answer | ErrorAnswer]:
    """Make a method return its refusals as dicts, as the original does."""

    @wraps(method)
    def answering(*arguments: Given.args, **named: Given.kwargs) -> Answer | ErrorAnswer:
        try:
            return method(*arguments, **named)
        except Refused as refusal:
            return {"error": str(refusal)}

    return answering


def is_id(value: Any, largest: int) -> bool:
    """Return True if the value is a token id of the index's type."""
    return type(value) is int and 0 <= value <= largest


def check_ids(name: str, ids: Any, largest: int) -> None:
    """Raise Refused unless the value is a list of token ids."""
    # Without a call per id: this check took longer than most questions.
    fine = type(ids) is list and set(map(type, ids)) <= {int}
    if not fine or (ids and not 0 <= min(ids) <= max(ids) <= largest):
        raise Refused(f"{name} must be a list of integers in range [0, {largest}]")


def check_id(name: str, value: Any, largest: int) -> None:
    """Raise Refused unless the value is a token id."""
    if not is_id(value, largest):
        raise Refused(f"{name} must be an integer in range [0, {largest}]")


def check_cnf(cnf: Any, largest: int) -> None:
    """Raise Refused unless the value is a list of lists of n-grams, none of them empty."""
    fine = type(cnf) is list and len(cnf) > 0
    for clause in cnf if fine else ():
        fine = fine and type(clause) is list and len(clause) > 0
        for ids in clause if fine else ():
            fine = fine and type(ids) is list and len(ids) > 0 and all(is_id(one, largest) for one in ids)
    if not fine:
        raise Refused(f"cnf must be a non-empty, triply-nested list of integers in range [0, {largest}]")


def positive(name: str, value: Any, default: int | None) -> int:
    """Return the value, or the default for None. Raises Refused unless it is a whole number from 1 on."""
    chosen = default if value is None else value
    if type(chosen) is not int or chosen <= 0:
        raise Refused(f"{name} must be a positive integer")
    return chosen


def check_not_negative(**values: Any) -> None:
    """Raise Refused unless all values are whole numbers from 0 on."""
    for name, value in values.items():
        if type(value) is not int or value < 0:
            raise Refused(f"{name} must be a non-negative integer")


def check_below(name: str, value: Any, limit: int, step: int = 1) -> None:
    """Raise Refused unless the value is in [0, limit) and a multiple of `step`."""
    if type(value) is not int or not 0 <= value < limit or value % step:
        form = {1: "an integer", 2: "an even integer"}.get(step, f"a multiple of {step}")
        raise Refused(f"{name} must be {form} in range [0, {limit})")


# ---- The dicts that the engine's methods return, as types.


class ErrorAnswer(TypedDict):
    """The answer of every method to invalid arguments."""

    error: str


class FindAnswer(TypedDict):
    """The answer of `find`, with the rows [lo, hi) of each shard."""

    cnt: int
    segment_by_shard: list[tuple[int, int]]


class FindCnfAnswer(TypedDict):
    """The answer of `find_cnf`, with pointers by shard."""

    cnt: int
    approx: bool
    ptrs_by_shard: list[list[int]]


class CountAnswer(TypedDict):
    """The answer of `count` and `count_cnf`."""

    count: int
    approx: bool


class ProbAnswer(TypedDict):
    """The answer of `prob`."""

    prompt_cnt: int
    cont_cnt: int
    prob: float


class InfgramProbAnswer(ProbAnswer):
    """The answer of `infgram_prob`."""

    suffix_len: int


class TokenAnswer(TypedDict):
    """A next token."""

    cont_cnt: int
    prob: float


class DistAnswer(TypedDict):
    """The answer of `ntd`."""

    prompt_cnt: int
    result_by_token_id: dict[int, TokenAnswer]
    approx: bool


class InfgramDistAnswer(DistAnswer):
    """The answer of `infgram_ntd`."""

    suffix_len: int


class DocAnswer(TypedDict):
    """An excerpt of a document."""

    doc_ix: int
    doc_len: int
    disp_len: int
    needle_offset: int
    metadata: str
    token_ids: list[int]
    blocked: bool


class SearchAnswer(TypedDict):
    """The answer of `search_docs` and `search_docs_cnf`."""

    cnt: int
    approx: bool
    idxs: list[int]
    documents: list[DocAnswer]


class CreativityAnswer(TypedDict):
    """The answer of `creativity`."""

    rs: list[int]


class AttributionAnswer(TypedDict):
    """The answer of `attribute`: l, r, length, count, unigram_logprob_sum and docs of each span."""

    spans: list[dict[str, Any]]

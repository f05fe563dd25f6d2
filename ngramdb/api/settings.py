"""The settings of a connection (`SET`), each with its type, range and default."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ngramdb import display
from ngramdb.engine.changes.sizing import memory_bytes
from ngramdb.engine.storage.files import DEFAULT_CACHE_LIMIT
from ngramdb.engine.storage.store import DURABILITY, PREWARM
from ngramdb.engine.storage.upkeep import DEFAULT_KEEP_VERSIONS
from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_module, lazy_pattern
from ngramdb.planner.parameters import MAX_SEGMENT_TOKENS, MIN_SEGMENT_TOKENS, OptionType, listing, nearest
from ngramdb.registries import DEFAULT_MATCH, MATCHES
from ngramdb.types import plain

if TYPE_CHECKING:
    from ngramdb.planner import planner
else:
    planner = lazy_module("ngramdb.planner.planner")

Value = str | int | float | bool

# As many as a segment can have with its separators: a query costs about the same for each segment, whatever
# its size.
DEFAULT_SEGMENT_TOKENS = 2**32 - 2
# Sorting this many peaks near half a gigabyte. With separators they are usually fewer than 2^26 symbols, so
# that rows have six bits for LCPs, which speed up merging.
DEFAULT_SORT_TOKENS = 60_000_000
MAX_THREADS = 1024
MAX_KEEP_VERSIONS = 1_000_000
_NONE: frozenset[str] = frozenset()
# Seconds: a year, which is practically unlimited.
MAX_SECONDS = 365 * 24 * 3600

_SWITCHES = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}


class Setting(NamedTuple):
    """One setting. `check` converts a user's value, or raises InvalidArgument."""

    name: str
    default: Callable[[], Value]
    type_name: str
    description: str
    check: Callable[[str, Any], Value]


def _whole(least: int, most: int) -> Callable[[str, Any], Value]:
    option = OptionType(int, "", least=least, most=most)
    return lambda name, value: int(option.check(name, value))


def checked_timeout(name: str, value: Any) -> float:
    """Check a number of seconds, 0 meaning no limit. Raises InvalidArgument."""
    return float(_seconds(name, value))


def _seconds(name: str, value: Any) -> Value:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidArgument(f"{name} must be a number of seconds, not {value!r}")
    if not 0 <= value <= MAX_SECONDS:
        raise InvalidArgument(f"{name} must be from 0 to {MAX_SECONDS:,} seconds, not {value:,}")
    return float(value)


def _switch(name: str, value: Any) -> Value:
    if isinstance(value, str) and value.lower() in _SWITCHES:
        return _SWITCHES[value.lower()]
    if isinstance(value, bool):
        return value
    raise InvalidArgument(f"{name} must be TRUE or FALSE, not {value!r}")


def _match(name: str, value: Any) -> Value:
    return str(OptionType(str, "", choices=MATCHES).check(name, value))


def _prewarm(name: str, value: Any) -> Value:
    return str(OptionType(str, "", choices=PREWARM).check(name, value))


def _durability(name: str, value: Any) -> Value:
    return str(OptionType(str, "", choices=DURABILITY).check(name, value))


def rules() -> tuple[str, ...]:
    """Return the names that `disabled_rules` may list."""
    return planner.rule_names()


def _rules(name: str, value: Any) -> Value:
    if not isinstance(value, str):
        raise InvalidArgument(f"{name} must be a string of rules separated by commas, not {value!r}")
    known = planner.rule_names()
    given = [rule.strip() for rule in value.split(",") if rule.strip()]
    for rule in given:
        if rule not in known:
            hint = nearest(rule, known)
            raise InvalidArgument(
                f"no rule {rule!r}; " + (f"did you mean {hint}?" if hint else f"known: {listing(known, 99)}")
            )
    return ",".join(dict.fromkeys(given))


_UNITS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# With less memory, half of it would be too little for a load.
_LEAST_MEMORY = 1 << 28
_SIZE = lazy_pattern(r"([0-9]+(?:\.[0-9]+)?) *([KMGT]?)(?:I?B)?", re.IGNORECASE)


def _half_of_memory() -> int:
    """Return half of the machine's memory in whole gigabytes, or megabytes if that is less than one."""
    half = max((memory_bytes() or 0) // 2, _LEAST_MEMORY)
    unit = _UNITS["G"] if half >= _UNITS["G"] else _UNITS["M"]
    return half // unit * unit


def _bytes(name: str, value: Any) -> Value:
    """Check a number of bytes, or a text such as '2 GB' (units are powers of 1024)."""
    found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is not None:
        return int(float(found[1]) * _UNITS[found[2].upper()])
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidArgument(f"{name} must be a number of bytes or a string such as '2GB', not {value!r}")
    return value


SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting(
            "auto_compact",
            lambda: True,
            "boolean",
            "whether small segments are merged after statements that write",
            _switch,
        ),
        Setting(
            "auto_refresh",
            lambda: False,
            "boolean",
            "whether verbs in Python look for commits of other processes, as statements do",
            _switch,
        ),
        Setting(
            "cache_limit",
            lambda: DEFAULT_CACHE_LIMIT,
            "bytes",
            "limit of the local disk cache for databases in object stores; 0 for no limit",
            _bytes,
        ),
        Setting(
            "disabled_rules",
            lambda: "",
            "names",
            "planner rules that are not used; answers stay the same",
            _rules,
        ),
        Setting(
            "durability",
            lambda: DURABILITY[0],
            "string",
            "full (commits survive a crash of the machine) or normal (such a crash loses the last ones)",
            _durability,
        ),
        Setting(
            "far_index",
            lambda: False,
            "boolean",
            "whether COMPACT prepares segments for an object store: few requests per query, 1 byte per token",
            _switch,
        ),
        Setting(
            "fast_tokenizer",
            lambda: True,
            "boolean",
            "whether loads with a tokenizer.json use fastokens if it produces the same ids as tokenizers",
            _switch,
        ),
        Setting(
            "keep_versions",
            lambda: DEFAULT_KEEP_VERSIONS,
            "integer",
            "versions that a commit leaves, including its own; files that only older ones need are removed",
            _whole(1, MAX_KEEP_VERSIONS),
        ),
        Setting(
            "lock_timeout",
            lambda: 0.0,
            "seconds",
            "how long a statement that writes waits for another writer before it gives up",
            _seconds,
        ),
        Setting(
            "match",
            lambda: DEFAULT_MATCH,
            "string",
            "how n-grams in quotes are matched by COUNT, KWIC, conditions: tokens, text or text ignore case",
            _match,
        ),
        Setting(
            "memory_limit",
            _half_of_memory,
            "bytes",
            "memory that loading and compacting may use, half of the machine's by default; 0 for no limit",
            _bytes,
        ),
        Setting(
            "prewarm",
            lambda: PREWARM[0],
            "string",
            "when an index is read into memory: auto (in use, if it fits), on (at the first query) or off",
            _prewarm,
        ),
        Setting(
            "progress",
            lambda: True,
            "boolean",
            "whether COPY reports its progress to the connection's `progress` callback",
            _switch,
        ),
        Setting(
            "segment_tokens",
            lambda: DEFAULT_SEGMENT_TOKENS,
            "integer",
            "most tokens in a segment of a corpus without such an option",
            _whole(MIN_SEGMENT_TOKENS, MAX_SEGMENT_TOKENS),
        ),
        Setting(
            "slow_statement",
            lambda: 0.0,
            "seconds",
            "statements that take this long are logged as warnings; 0 for none",
            _seconds,
        ),
        Setting(
            "sort_tokens",
            lambda: DEFAULT_SORT_TOKENS,
            "integer",
            "most tokens that are sorted at a time; bounds memory, larger segments are merged",
            _whole(MIN_SEGMENT_TOKENS, MAX_SEGMENT_TOKENS),
        ),
        Setting(
            "threads",
            lambda: os.cpu_count() or 1,
            "integer",
            "cores that loading and compacting may use",
            _whole(1, MAX_THREADS),
        ),
        Setting(
            "timeout",
            lambda: 0.0,
            "seconds",
            "work after which a statement is stopped; 0 for no limit",
            _seconds,
        ),
    )
}


class Settings(Mapping[str, Value]):
    """A connection's settings, by name.

    `settings["threads"] = 2`, `settings["threads"]`, `reset("threads")`; `dict(settings)` contains all of
    them.

    Raises
    ------
    InvalidArgument
        A name that does not exist (with the nearest that does), a value of the wrong type or out of range.
    """

    def __init__(self, changed: Callable[[], None] | None = None) -> None:
        """Set all defaults; `changed` is called after each change."""
        values: dict[str, Value] = {name: setting.default() for name, setting in SETTINGS.items()}
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_changed", changed)

    # For type checkers; __init__ bypasses __setattr__.
    _values: dict[str, Value]
    _changed: Callable[[], None] | None

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a setting, like `settings["threads"] = 2`; other attribute names are rejected."""
        self[name] = value

    def __getitem__(self, name: str) -> Value:
        return self._values[_known(name)]

    def __setitem__(self, name: str, value: Any) -> None:
        name = _known(name)
        self._values[name] = SETTINGS[name].check(name, plain(value))
        if self._changed:
            self._changed()

    def __iter__(self) -> Iterator[str]:
        return iter(SETTINGS)

    def __len__(self) -> int:
        return len(SETTINGS)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in SETTINGS

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in self.items())})"

    def reset(self, name: str) -> None:
        """Restore a setting's default."""
        name = _known(name)
        self._values[name] = SETTINGS[name].default()
        if self._changed:
            self._changed()

    @property
    def threads(self) -> int:
        """Number of segments that a load builds at the same time."""
        return int(self._values["threads"])

    @property
    def segment_tokens(self) -> int:
        """The most tokens in a segment."""
        return int(self._values["segment_tokens"])

    @property
    def sort_tokens(self) -> int:
        """The most tokens that a load sorts at a time."""
        return int(self._values["sort_tokens"])

    @property
    def auto_compact(self) -> bool:
        """True if small segments are merged after statements that write."""
        return bool(self._values["auto_compact"])

    @property
    def auto_refresh(self) -> bool:
        """True if verbs look for commits of other processes, as statements do."""
        return bool(self._values["auto_refresh"])

    @property
    def slow_statement(self) -> float:
        """Seconds after which statements are logged as slow; 0 for none."""
        return float(self._values["slow_statement"])

    @property
    def far_index(self) -> bool:
        """True if COMPACT adds far indexes, for queries in an object store."""
        return bool(self._values["far_index"])

    @property
    def fast_tokenizer(self) -> bool:
        """True if loads use a faster library if it produces the tokenizer's ids."""
        return bool(self._values["fast_tokenizer"])

    @property
    def cache_limit(self) -> int:
        """Most bytes of remote files that are cached on the local disk, 0 for no limit."""
        return int(self._values["cache_limit"])

    @property
    def keep_versions(self) -> int:
        """Number of versions that a commit leaves."""
        return int(self._values["keep_versions"])

    @property
    def durability(self) -> str:
        """A value of DURABILITY: commits are synced or not."""
        return str(self._values["durability"])

    @property
    def memory_limit(self) -> int:
        """Most bytes that building segments, and one array of an answer, may use, 0 for no limit."""
        return int(self._values["memory_limit"])

    @property
    def lock_timeout(self) -> float:
        """Seconds that a statement that writes waits for another writer."""
        return float(self._values["lock_timeout"])

    @property
    def timeout(self) -> float:
        """Seconds of work after which a statement is stopped; 0 for no limit."""
        return float(self._values["timeout"])

    @property
    def progress(self) -> bool:
        """True if COPY reports its progress to the connection's callback."""
        return bool(self._values["progress"])

    @property
    def prewarm(self) -> str:
        """When an index is read into memory: a value of PREWARM."""
        return str(self._values["prewarm"])

    @property
    def match(self) -> str:
        """The default matching of n-grams in double quotes, without MATCH: a value of MATCHES."""
        return str(self._values["match"])

    @property
    def disabled_rules(self) -> frozenset[str]:
        """The names of disabled rules of the planner."""
        value = self._values["disabled_rules"]
        return frozenset(str(value).split(",")) if value else _NONE

    def _repr_html_(self) -> str:
        names = ("name", "value", "default", "type", "description")
        return display.table(names, self.rows())

    def rows(self) -> list[tuple[Any, ...]]:
        """Return rows of SHOW SETTINGS: name, value, default, type, description; values as in SET."""
        return [
            (
                name,
                _shown(self._values[name], setting.type_name),
                _shown(setting.default(), setting.type_name),
                setting.type_name,
                setting.description,
            )
            for name, setting in SETTINGS.items()
        ]


def _shown(value: Value, type_name: str) -> str:
    if type_name == "bytes" and value:
        unit = next(unit for unit in "TGMK" + "B" if int(value) % _UNITS[unit] == 0)
        return str(value) if unit == "B" else f"{int(value) // _UNITS[unit]}{unit}B"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _known(name: str) -> str:
    if name.lower() in SETTINGS:
        return name.lower()
    hint = nearest(name, SETTINGS)
    tail = f"did you mean {hint}?" if hint else f"known: {listing(SETTINGS)}"
    raise InvalidArgument(f"no setting {name!r}; {tail}")

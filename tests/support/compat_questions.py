"""Questions to databases of earlier versions, for the script that wrote one and the test that opens it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import ngramdb


def plain(value: Any) -> Any:
    """A value as JSON can hold it: numbers that JSON lacks and dates as texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def ask(db: ngramdb.Connection, statement: str, columns: tuple[str, ...] | None = None) -> dict[str, Any]:
    """A statement and what it answers, column by column; columns that are NULL throughout are left out."""
    result = db.execute(statement)
    rows = result.fetchall()
    by_name = {name: plain([row[i] for row in rows]) for i, name in enumerate(result.columns)}
    wanted = {name: by_name[name] for name in columns or by_name if set(map(str, by_name[name])) != {"None"}}
    return {"statement": statement, "n_rows": len(rows), "columns": wanted}


def fields(db: ngramdb.Connection, name: str) -> dict[str, str]:
    """The types of a corpus's metadata fields."""
    rows = db.execute(f"DESCRIBE {name}").fetchall()
    return {row[0].removeprefix("field "): row[1] for row in rows if row[0].startswith("field ")}


def exported(db: ngramdb.Connection, name: str, folder: Path) -> list[str]:
    """The lines that COPY … TO writes of a corpus."""
    path = folder / f"{name}.jsonl"
    db.execute(f"COPY (DOCS FROM {name}) TO ?", [str(path)])
    return path.read_text(encoding="utf-8").splitlines()

"""Running a plan of curation: each step is a version, and done steps are skipped; the report."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping
from itertools import islice
from typing import Any

from ngramdb import interrupts
from ngramdb.api.connection import Connection
from ngramdb.api.corpus import Corpus
from ngramdb.api.verbs.exporting import write_text
from ngramdb.curation.plans import CurationPlan, Step, read_plan
from ngramdb.errors import InvalidArgument
from ngramdb.formats import endings_of


def curate(
    connection: Connection,
    plan: str | os.PathLike[str] | Mapping[str, Any],
    *,
    dry_run: bool = False,
    sample: int = 0,
    report: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Run the steps of a plan that are not done yet, each in commits of its own.

    The version that a step makes is kept by a name; a step whose version is kept is skipped, so that a plan
    that was interrupted resumes after its last finished step.

    Parameters
    ----------
    plan : a file of JSON, TOML or YAML, or a dictionary
    dry_run : change nothing, and count what each step would remove from the present version
    sample : removed documents to list per step
    report : a file to write the report to, `*.json` or `*.html`

    Returns
    -------
    The report: `corpus`, and `steps` with a dictionary each.

    Raises
    ------
    InvalidArgument
        The plan cannot be read, or a name of a report with another ending.
    """
    found = read_plan(plan)
    target = None if report is None else os.fspath(report)
    if target is not None and endings_of(target)[0] not in (".json", ".html"):
        raise InvalidArgument(f"{target}: the name of a report must end in .json or .html")
    corpus = connection.corpus(found.corpus)
    told: dict[str, Any] = {"corpus": found.corpus, "dry_run": dry_run, "steps": []}
    try:
        for step in found.steps:
            interrupts.check()
            told["steps"].append(_run(connection, corpus, found, step, dry_run, sample))
    finally:
        if target is not None:
            _write(target, told)
    return told


def _run(
    connection: Connection, corpus: Corpus, plan: CurationPlan, step: Step, dry_run: bool, sample: int
) -> dict[str, Any]:
    done = _kept(connection).get(step.version)
    told: dict[str, Any] = {"step": str(step), "done_before": done is not None}
    if done is not None:
        return {**told, "version": done}
    documents, tokens = _size(connection, plan.corpus)
    told |= {"documents": documents, "tokens": tokens}
    if dry_run:
        return {**told, "would_remove": _dry(connection, corpus, step)}
    before = connection.version
    outcome = _RUNS[step.kind](connection, corpus, step.arguments)
    after = _size(connection, plan.corpus)
    told |= {"removed_documents": documents - after[0], "removed_tokens": tokens - after[1]}
    if outcome is not None:
        told["outcome"] = outcome
    told["examples"] = _examples(corpus, before, sample)
    told["version"] = connection.version
    connection.keep_version(step.version)
    return told


def _kept(connection: Connection) -> dict[str, int]:
    rows = connection.execute("SHOW VERSIONS").fetchall()
    return {name: int(row[0]) for row in rows if row[-1] for name in str(row[-1]).split(", ")}


def _size(connection: Connection, name: str) -> tuple[int, int]:
    view = connection.snapshot.view(name)
    return view.n_documents, view.n_tokens


def _examples(corpus: Corpus, before: int, sample: int) -> list[dict[str, Any]]:
    """Return the first documents that were removed after a version."""
    if not sample:
        return []
    removed = (one for one in corpus.removed_documents() if one.removal.version > before)
    return [{"doc_id": one.doc_id, **one.details} for one in islice(removed, sample)]


def _dry(connection: Connection, corpus: Corpus, step: Step) -> int | None:
    """Return how many documents a step would remove; None if it has to run first."""
    if step.kind == "delete":
        return int(corpus.count_docs(where=step.arguments["where"]))
    if step.kind == "decontaminate":
        return int(corpus.decontaminate(**step.arguments, dry_run=True).contaminated)
    if step.kind == "statement":
        connection.execute(f"EXPLAIN {step.arguments['sql']}")
        return None
    return 0


# ---- the kinds of steps: each returns its entries for the report


def _delete(connection: Connection, corpus: Corpus, arguments: Mapping[str, Any]) -> None:
    corpus.delete(arguments["where"])


def _fields(connection: Connection, corpus: Corpus, arguments: Mapping[str, Any]) -> dict[str, int]:
    # A step that was interrupted after its commit runs again.
    done = corpus.add_fields(**{"replace": True, **arguments})
    return {"documents": done.documents, "without_row": done.without_row, "unmatched": done.unmatched}


def _decontaminate(connection: Connection, corpus: Corpus, arguments: Mapping[str, Any]) -> list[Any]:
    return [vars(one) for one in corpus.decontaminate(**arguments).overlaps]


def _export(connection: Connection, corpus: Corpus, arguments: Mapping[str, Any]) -> dict[str, int]:
    n = corpus.export(arguments["path"], arguments.get("where"), format=arguments.get("format"))
    return {"written": n}


def _statement(connection: Connection, corpus: Corpus, arguments: Mapping[str, Any]) -> list[Any]:
    connection.use(corpus.name)
    result = connection.execute(arguments["sql"])
    return [dict(zip(result.columns, row, strict=True)) for row in result.fetchall()]


_RUNS = {
    "delete": _delete,
    "fields": _fields,
    "decontaminate": _decontaminate,
    "export": _export,
    "statement": _statement,
}


# ---- the report


def _write(path: str, told: Mapping[str, Any]) -> None:
    if endings_of(path)[0] == ".json":
        text = json.dumps(told, ensure_ascii=False, indent=1, default=str) + "\n"
    else:
        text = _page(told)
    write_text(path, lambda file: file.write(text.encode("utf-8", "replace").decode()))


def _page(told: Mapping[str, Any]) -> str:
    title = html.escape(f"Curation of {told['corpus']}" + " (dry run)" * told["dry_run"])
    parts = [f"<!doctype html>\n<html lang=en><meta charset=utf-8><title>{title}</title>\n<h1>{title}</h1>"]
    for k, step in enumerate(told["steps"], start=1):
        parts.append(f"<h2>{k}. {html.escape(step['step'])}</h2>\n<table>")
        for key, value in step.items():
            if key not in ("step", "examples"):
                name = html.escape(key.replace("_", " "))
                parts.append(f"<tr><th align=left>{name}<td>{html.escape(_shown(value))}")
        parts.append("</table>")
        if step.get("examples"):
            lines = (f"<li>{html.escape(_shown(one))}" for one in step["examples"])
            parts.append("\n".join(["<p>Examples:</p>\n<ul>", *lines, "</ul>"]))
    return "\n".join(parts) + "\n</html>\n"


def _shown(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)

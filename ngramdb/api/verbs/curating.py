"""Running a plan of curation: each step is a version, and done steps are skipped; the report."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from itertools import islice
from typing import Any

from ngramdb import interrupts
from ngramdb.api.connection import Connection
from ngramdb.api.corpus import Corpus
from ngramdb.api.verbs.exporting import write_text
from ngramdb.api.verbs.rehearsal import Rehearsal, run_export, statements_of
from ngramdb.curation.plans import KINDS, CurationPlan, Step, read_plan
from ngramdb.errors import InvalidArgument, NgramdbError
from ngramdb.formats import endings_of
from ngramdb.language import ast
from ngramdb.questions.parsing import pattern
from ngramdb.questions.requests import quoted_name

__all__ = ["KINDS", "curate"]

# Characters of a removed document in the report.
EXCERPT = 200


def curate(
    connection: Connection,
    plan: str | os.PathLike[str] | Mapping[str, Any],
    *,
    dry_run: bool = False,
    sample: int = 0,
    report: str | os.PathLike[str] | None = None,
    progress: Callable[[Mapping[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Run the steps of a plan that are not done yet, each in commits of its own: `ngramdb curate`.

    The version that a step makes is kept by a name; a step whose version is kept is skipped, so that a plan
    that was interrupted resumes after its last finished step. If documents were added since, all steps run.
    All steps are checked before the first one runs: their arguments, statements, names and files.

    Parameters
    ----------
    connection : the database
    plan : a file of JSON, TOML or YAML, or a dictionary
    dry_run : change nothing: all steps run, each on the result of those before it, with commits to a
        temporary folder that is removed at the end; no file is exported
    sample : documents to list per step, of those that it removed or cut
    report : a file to write the report to, `*.json` or `*.html`
    progress : called with the entry of each step once it is done

    Returns
    -------
    The report: `corpus`, `dry_run`, `steps` with a dictionary each, and the numbers of `documents` and
    `tokens` that are left. A step has the `documents` and `tokens` that it saw, `removed_documents`,
    `cut_documents`, `removed_tokens` (also those cut), `examples`, `version`, and the `outcome` of its verb.

    Raises
    ------
    InvalidArgument
        The plan cannot be read, or a name of a report with another ending.
    NgramdbError
        A step is wrong, and nothing has changed; or a step failed: those before it are done, and the report
        has the error.
    """
    found = read_plan(plan)
    target = None if report is None else os.fspath(report)
    if target is not None and endings_of(target)[0] not in (".json", ".html"):
        raise InvalidArgument(f"{target}: the name of a report must end in .json or .html")
    told: dict[str, Any] = {"corpus": found.corpus, "dry_run": dry_run, "steps": []}
    try:
        _check(connection, found, told)
        if dry_run:
            with connection.trial() as trial:
                _run_all(trial, found, told, sample, progress)
        else:
            _run_all(connection, found, told, sample, progress)
    finally:
        if target is not None:
            _write(target, told)
    return told


def _check(connection: Connection, plan: CurationPlan, told: dict[str, Any]) -> None:
    """Raise what is wrong in a step, before any has run; `told` then has its error."""
    done = _done(connection, plan)
    with connection.trial(has_documents=False) as trial:
        rehearsal = Rehearsal(connection, trial, plan.corpus)
        for number, step in enumerate(plan.steps, start=1):
            if step.version not in done:
                try:
                    rehearsal.check(step, _DRY.get(step.kind, _RUNS[step.kind]))
                except NgramdbError as error:
                    told["steps"].append({"step": str(step), "error": str(error)})
                    _name_step(error, number, step)
                    raise


def _name_step(error: NgramdbError, number: int, step: Step) -> None:
    if hasattr(error, "add_note"):  # from Python 3.11 on
        error.add_note(f"in step {number} of the plan: {step}")


def _run_all(
    connection: Connection,
    plan: CurationPlan,
    told: dict[str, Any],
    sample: int,
    progress: Callable[[Mapping[str, Any]], None] | None,
) -> None:
    corpus = connection.corpus(plan.corpus)
    done = _done(connection, plan)
    for step in plan.steps:
        if step.version not in done and step.version in connection.snapshot.manifest.kept:
            connection.drop_version(step.version)
    for step in plan.steps:
        interrupts.check()
        entry: dict[str, Any] = {"step": str(step)}
        told["steps"].append(entry)
        try:
            if step.version in done:
                entry.update(done_before=True, version=done[step.version])
            else:
                _run(connection, corpus, step, entry, told["dry_run"], sample)
        except NgramdbError as error:
            entry["error"] = str(error)
            _name_step(error, len(told["steps"]), step)
            raise
        finally:
            if progress is not None:
                progress(entry)
    told["documents"], told["tokens"] = _size(connection, plan.corpus)


def _run(
    connection: Connection, corpus: Corpus, step: Step, entry: dict[str, Any], dry_run: bool, sample: int
) -> None:
    entry["done_before"] = False
    entry["documents"], entry["tokens"] = _size(connection, corpus.name)
    before = connection.version
    run = (_DRY if dry_run else {}).get(step.kind, _RUNS[step.kind])
    outcome = run(connection, corpus, step.arguments)
    entry.update(_removed(corpus, before))
    if outcome is not None:
        entry["outcome"] = outcome
    entry["examples"] = _examples(connection, corpus, before, sample)
    entry["version"] = connection.version
    connection.keep_version(step.version)


def _done(connection: Connection, plan: CurationPlan) -> dict[str, int]:
    """Return the names of steps that are done, with the version that each made.

    None is done if documents came after the last of them: some were loaded, or a version was restored.
    """
    manifest = connection.snapshot.manifest
    done = {
        step.version: manifest.kept[step.version].version
        for step in plan.steps
        if step.version in manifest.kept
    }
    if not done:
        return {}
    last = max(done, key=lambda name: done[name])
    before, now = manifest.kept[last].corpora.get(plan.corpus), manifest.corpora[plan.corpus]
    source = f"{quoted_name(plan.corpus)} AT VERSION {done[last]}"
    if before is not None and (before.id, before.next_doc_id) == (now.id, now.next_doc_id):
        ((n_before,),) = connection.execute(f"COUNT DOCS FROM {source}").fetchall()
        if _size(connection, plan.corpus)[0] <= n_before:
            return done
    return {}


def _size(connection: Connection, name: str) -> tuple[int, int]:
    view = connection.snapshot.view(name)
    return view.n_documents, view.n_tokens


def _removed(corpus: Corpus, before: int) -> dict[str, int]:
    """Return what was removed after a version."""
    removals = [one for one in corpus.removals() if one.version > before]
    cut = sum(one.n_cut for one in removals)
    return {
        "removed_documents": sum(one.n_documents for one in removals) - cut,
        "cut_documents": cut,
        "removed_tokens": sum(one.n_tokens for one in removals),
    }


def _examples(connection: Connection, corpus: Corpus, before: int, sample: int) -> list[dict[str, Any]]:
    """Return the first documents that were removed or cut after a version, as they were."""
    if not sample:
        return []
    removed = islice((one for one in corpus.removed_documents() if one.removal.version > before), sample)
    found = [{"doc_id": one.doc_id, **one.details} for one in removed]
    source = f"{quoted_name(corpus.name)} AT VERSION {before}"
    texts = connection.execute(
        f"DOCS WHERE doc_id IN ? RETURNING doc_id, text FROM {source}", [[one["doc_id"] for one in found]]
    )
    by_id = {doc_id: text[:EXCERPT] for doc_id, text in texts.fetchall() if text is not None}
    return [{**one, "text": by_id.get(one["doc_id"])} for one in found]


# ---- the kinds of steps: each returns its entry for the report, or None


Run = Callable[[Connection, Corpus, Mapping[str, Any]], Any]


def _verb(name: str) -> Run:
    """Return the step that calls a verb of the corpus with its arguments, and shows the fields it returns."""

    def run(connection: Connection, corpus: Corpus, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        done = getattr(corpus, name)(**arguments)
        if isinstance(done, tuple) and hasattr(done, "_asdict"):
            return dict(done._asdict())
        return asdict(done) if is_dataclass(done) and not isinstance(done, type) else None

    return run


def _fields(connection: Connection, corpus: Corpus, arguments: Mapping[str, Any]) -> dict[str, int]:
    # A step that was interrupted after its commit runs again.
    done = corpus.add_fields(**{"replace": True, **arguments})
    return {"documents": done.documents, "without_row": done.without_row, "unmatched": done.unmatched}


def _quality(connection: Connection, corpus: Corpus, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    done = corpus.quality(**arguments, replace=True)
    return [dict(row._asdict()) for row in done.table]


def _cut_spans(connection: Connection, corpus: Corpus, arguments: Mapping[str, Any]) -> dict[str, Any]:
    sought = pattern(arguments["pattern"])
    return dict(corpus.cut_spans(**{**arguments, "pattern": sought})._asdict())


def _decontaminate(connection: Connection, corpus: Corpus, arguments: Mapping[str, Any]) -> list[Any]:
    return [vars(one) for one in corpus.decontaminate(**arguments).overlaps]


def _sample(connection: Connection, corpus: Corpus, arguments: Mapping[str, Any]) -> dict[str, Any]:
    # The same seed draws the same sample of a sample: a step may run again.
    return dict(corpus.keep_sample(**{"seed": 0, **arguments})._asdict())


def _export(connection: Connection, corpus: Corpus, arguments: Mapping[str, Any]) -> dict[str, int]:
    return {"written": run_export(corpus, arguments)}


def _not_exported(connection: Connection, corpus: Corpus, arguments: Mapping[str, Any]) -> dict[str, int]:
    return {"would_write": corpus.count_docs(arguments.get("where"))}


def _statement(connection: Connection, corpus: Corpus, arguments: Mapping[str, Any]) -> list[Any]:
    connection.use(corpus.name)
    result = connection.execute(arguments["sql"])
    return [dict(zip(result.columns, row, strict=True)) for row in result.fetchall()]


def _statement_without_files(
    connection: Connection, corpus: Corpus, arguments: Mapping[str, Any]
) -> list[Any]:
    found = []
    for statement, text in statements_of(arguments["sql"]):
        if isinstance(statement, ast.CopyTo):
            connection.use(corpus.name)
            connection.execute(f"EXPLAIN {text}")
        else:
            found = _statement(connection, corpus, {"sql": text})
    return found


_RUNS: dict[str, Run] = {
    "delete": _verb("delete"),
    "delete_duplicates": _verb("delete_duplicates"),
    "delete_near_duplicates": _verb("delete_near_duplicates"),
    "cut_duplicates": _verb("cut_duplicates"),
    "cut_spans": _cut_spans,
    "fields": _fields,
    "update": _verb("update"),
    "quality": _quality,
    "decontaminate": _decontaminate,
    "sample": _sample,
    "export": _export,
    "statement": _statement,
}
# Steps that write files do something else in a dry run.
_DRY: dict[str, Run] = {"export": _not_exported, "statement": _statement_without_files}


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
    if "documents" in told:
        parts.append(f"<p>Left: {told['documents']:,} documents, {told['tokens']:,} tokens.</p>")
    return "\n".join(parts) + "\n</html>\n"


def _shown(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)

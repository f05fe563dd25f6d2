"""The report on the items of evaluation sets as a page of HTML that needs no other file."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from ngramdb.registries import contamination_measure

# Most rows of a table.
MOST_ROWS = 1_000
# Characters of an item that are shown before and after its longest piece.
MOST_BESIDE = 300

_VALUES = {
    "bff": "the share of the document's {n}-grams that items have",
    "gpt3": "1 if the document has any {n}-gram of the item",
    "llama2": "the share of the item's tokens in {n}-grams that the document has",
    "palm": "the share of the item's {n}-grams that the document has",
    "longest": "the longest piece of the item that the document has, of {n} tokens or more, as a share of it",
    "decon": "the score of the item's question, answer and passage near each other, by {n}-grams",
}
_FOLDS = {
    "lower": "the case of letters",
    "fold_space": "white space",
    "nfc": "equivalent forms of characters",
    "fold_quotes": "typographic quotes",
}
_STYLE = """\
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 80em; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 1em 0; width: 100% }
th, td { border-bottom: 1px solid #ddd; padding: .35em .6em; text-align: left; vertical-align: top }
th { background: #f4f4f4; position: sticky; top: 0; font-weight: 600 }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
td.n { white-space: nowrap }
tr.hit td:first-child { border-left: 4px solid #b00 }
tr td:first-child { border-left: 4px solid transparent }
mark { background: #ffe9a8 }
.hit b, .bad { color: #b00 }
.tiles { display: flex; flex-wrap: wrap; gap: 1em; margin: 1em 0 }
.tiles div { border: 1px solid #ddd; border-radius: 6px; padding: .6em 1em; min-width: 8em }
.tiles b { display: block; font-size: 1.6em; font-variant-numeric: tabular-nums }
.bar { display: inline-block; width: 4em; height: .6em; background: #eee; margin-right: .4em }
.bar i { display: block; height: 100%; background: #d90 }
"""


def page_of(report: Mapping[str, Any]) -> str:
    """Return the report as a page of HTML."""
    title = f"Contamination of {_text(report['corpus'])}"
    items, documents = report["items"], report["documents"]
    documents = sorted(documents, key=lambda row: not row["contaminated"])
    parts = [
        f"<!doctype html>\n<html lang=en><meta charset=utf-8><title>{title}</title>",
        f"<style>\n{_STYLE}</style>\n<h1>{title}</h1>",
        *_summary(report),
        "<h2>Evaluation sets</h2>",
        _table(_SETS, [(False, _set_cells(row)) for row in report["sets"]]),
        *_notes(report["sets"]),
        "<h2>Items that were found</h2>",
        "<p>Those with most of their text come first. The longest piece that one document has is marked; "
        "<i>found</i> is how much of the item's text documents have, taken together.",
        _table(_ITEMS, [_item_cells(row, documents) for row in items]),
        "<h2>Documents with any of them</h2>",
        "<p>Contaminated ones come first, each with its items and their values. Of an item that many "
        "documents have, those with most of it are listed, and all contaminated ones.",
        _table(_DOCUMENTS, [_document_cells(row) for row in documents]),
    ]
    return "\n".join(parts) + "\n</html>\n"


def _summary(report: Mapping[str, Any]) -> list[str]:
    criterion, sets = report["criterion"], report["sets"]
    n_contaminated, n_documents = report["contaminated_documents"], report["corpus_documents"]
    some = sum(row["documents"] for row in sets) if len(sets) == 1 else None
    tiles = [
        ("documents compared", n_documents, ""),
        *([] if some is None else [("have any of an item", some, "")]),
        ("are contaminated", n_contaminated, "bad" if n_contaminated else ""),
        ("items", sum(row["items"] for row in sets), ""),
        ("found, in part or whole", sum(row["items_found"] for row in sets), ""),
    ]
    boxes = "".join(f"<div><b class='{kind}'>{n:,}</b>{name}</div>" for name, n, kind in tiles)
    value = _VALUES[criterion["by"]].format(n=criterion["n"])
    threshold = f"{criterion['threshold']:g}"
    above = criterion["strict"] or not criterion["threshold"]
    least = f"above {threshold}" if above else f"of at least {threshold}"
    folded = [name for key, name in _FOLDS.items() if criterion[key]]
    ignored = f" Ignored: {', '.join(folded)}." if folded else ""
    own = "" if contamination_measure(criterion["by"]).of_items else _OF_DOCUMENTS
    return [
        f"<div class=tiles>{boxes}</div>",
        f"<p>A document is contaminated if it has a value {least}. The value, by the measure "
        f"<b>{_text(criterion['by'])}</b>, is {value}.{own}{ignored} Overlaps below the threshold are "
        "listed as well. Red: contaminated.",
    ]


_OF_DOCUMENTS = (
    " Below, the value of an item is another one: the share of its tokens in n-grams that the document has."
)


def _notes(sets: Sequence[Mapping[str, Any]]) -> list[str]:
    notes = []
    if any(row["items_too_short"] for row in sets):
        notes.append("<p>Items that are too short have too few tokens to be compared.")
    if any(row["items_with_frequent_ngrams"] for row in sets):
        notes.append(
            "<p>Items with frequent phrases have n-grams that occur more than 10,000 times in a part of the "
            "corpus. These count as found, but documents that have nothing else of the item are not listed."
        )
    return notes


_SETS = [
    *("set", "n:items", "n:found, in part or whole", "n:that contaminate documents"),
    *("n:too short", "n:with frequent phrases", "n:documents with any"),
]
_ITEMS = [
    "item",
    "text",
    "n:tokens",
    "n:found",
    "n:longest piece",
    "n:value",
    "n:documents",
    "document: value",
]
_DOCUMENTS = ["document", "id", "source", "contaminated", "items"]
# A row is True if it is contaminated, and cells in HTML.
Row = tuple[bool, list[str]]


def _set_cells(row: Mapping[str, Any]) -> list[str]:
    names = ("items", "items_found", "items_contaminated", "items_too_short", "items_with_frequent_ngrams")
    numbers = [row[name] for name in (*names, "documents")]
    return [f"<td>{_text(row['against'])}", *(f"<td class=n>{number:,}" for number in numbers)]


def _item_cells(row: Mapping[str, Any], documents: Sequence[Mapping[str, Any]]) -> Row:
    name = str(row["item"]) if row["item_id"] is None else f"{row['item_id']} (number {row['item']})"
    before, after = row["text_before"][-MOST_BESIDE:], row["text_after"][:MOST_BESIDE]
    piece = row["longest_text"] or ""
    text = f"{_text(before)} <mark>{_text(piece)}</mark> {_text(after)}".strip()
    hits = row["contaminated_documents"]
    first = ", ".join(f"{one['doc_id']}: {one['value']:.3g}" for one in row["first_documents"])
    more = row["documents"] - len(row["first_documents"])
    first += f" and {more:,} more" * (more > 0)
    share = f"{100 * row['covered']:.0f}"
    return hits > 0, [
        f"<td>{_text(name)}",
        f"<td>{text}",
        f"<td class=n>{row['tokens']:,}",
        f"<td class=n><span class=bar><i style='width: {share}%'></i></span>{share} %",
        f"<td class=n>{row['longest']:,}",
        f"<td class=n>{row['value']:.3g}",
        f"<td class=n>{row['documents']:,}" + f"<br><b>{hits:,} contaminated</b>" * (hits > 0),
        f"<td>{_text(first)}",
    ]


def _document_cells(row: Mapping[str, Any]) -> Row:
    ordered = sorted(row["items"], key=lambda one: -float(one["value"]))
    items = ", ".join(_item_in(one) for one in ordered)
    names = [_text(row.get(name, "")) for name in ("doc_id", "id", "source")]
    is_hit = row["contaminated"]
    return is_hit, [
        *(f"<td>{name}" for name in names),
        f"<td>{'<b>yes</b>' if is_hit else 'no'}",
        f"<td>{items}",
    ]


def _item_in(one: Mapping[str, Any]) -> str:
    name = one["item"] if one["item_id"] is None else one["item_id"]
    shown = f"{_text(name)}: {one['value']:.3g}"
    return f"<b>{shown}</b>" if one["contaminates"] else shown


def _table(columns: Sequence[str], rows: Sequence[Row]) -> str:
    heads = (("<th class=n>", one[2:]) if one.startswith("n:") else ("<th>", one) for one in columns)
    head = "".join(tag + _text(name) for tag, name in heads)
    lines = [f"<tr{' class=hit' * is_hit}>{''.join(cells)}" for is_hit, cells in rows[:MOST_ROWS]]
    more = f"<p>The first {MOST_ROWS:,} of {len(rows):,}; a report as JSON has all."
    none = "<p>None." if not rows else ""
    return "\n".join(["<table>", f"<tr>{head}", *lines, "</table>", more * (len(rows) > MOST_ROWS) or none])


def _text(value: Any) -> str:
    return html.escape(str(value))

"""Negation as difference: of x AND NOT y, the x in documents with y are taken off all.

So `COUNT "the" AND NOT "xylophone"` looks into the few documents with the rare word and locates nothing else.
"""

from __future__ import annotations

from dataclasses import replace

from ngramdb.planner.plan import InDocs, Node

NEGATION_AS_DIFFERENCE = "negation_as_difference"


def subtract_negations(node: Node) -> Node:
    """The tree with every restriction to documents free to be counted by what it leaves out."""
    children = node.children()
    if children:
        changed = tuple(map(subtract_negations, children))
        if any(new is not old for new, old in zip(changed, children, strict=True)):
            node = node.with_children(changed)
    return replace(node, difference=True) if isinstance(node, InDocs) else node

"""axe-core finds nothing serious in any view, with the light theme and on a phone with the dark one."""

from __future__ import annotations

from typing import Any

import pytest

from .test_page import VIEWS

axe = pytest.importorskip("axe_playwright_python.sync_playwright")


def serious(page: Any) -> list[str]:
    """The serious findings, each with its first place."""
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_serious_is_wrong(visitor: Any, view: str) -> None:
    assert serious(visitor.open(VIEWS[view])) == []


@pytest.mark.parametrize("view", VIEWS)
def test_a_phone_at_night_has_room_for_everything(on_a_phone: Any, view: str) -> None:
    page = on_a_phone.open(VIEWS[view])
    on_a_phone.picture(f"phone-{view}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert serious(page) == []

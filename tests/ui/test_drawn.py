"""The pictures of the pages in the documentation, drawn from the sample estate.

`DRAW_PAGES=1` writes them anew (`make page-pictures`); without it each is compared in its size
with the page of today, and each screen has to have one.
"""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.app.serving import Served
from tests.ui.browser import tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

DOCS: Final = Path(__file__).parents[2] / "docs"
FOLDER: Final = DOCS / "pictures" / "pages"
SIZE: Final = (1200, 780)
FORECASTS: Final = "table:quillmere:lake.sales.forecasts"
DENIED: Final = {
    "realm": "gravitino",
    "who": "user:hugo",
    "do": "table.alter",
    "on": FORECASTS,
}

SCREENS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "overview": ("/ui/", {}),
    "ask": ("/ui/ask", DENIED),
    "ask-dark": ("/ui/ask", DENIED),
    "who": (
        "/ui/ask/who",
        {"realm": "gravitino", "do": "table.load", "on": "table:quillmere:lake.people.salaries"},
    ),
    "compare": (
        "/ui/ask/compare",
        {"realm": "gravitino", "a": "user:ana", "b": "user:hugo", "do": "table.load"},
    ),
    "what": ("/ui/ask/what", {"realm": "gravitino", "who": "user:ana", "do": "table.load"}),
    "assets": ("/ui/assets", {}),
    "asset": ("/ui/asset", {"realm": "gravitino", "e": "table:quillmere:lake.finance.invoices"}),
    "people": ("/ui/people", {}),
    "principal": ("/ui/principal", {"realm": "gravitino", "p": "group:finance"}),
    "policies": ("/ui/r/datahub/policies", {}),
    "policy": ("/ui/r/datahub/policy", {"urn": "urn:li:dataHubPolicy:custodians-edit"}),
    "roles": ("/ui/r/gravitino/roles", {}),
    "role": ("/ui/r/gravitino/role", {"name": "quillmere:marts_only"}),
    "owners": ("/ui/r/gravitino/owners", {"e": FORECASTS}),
    "privileges": ("/ui/r/cdap/privileges", {}),
    "matrix": ("/ui/r/gravitino/matrix", {}),
    "plan": ("/ui/r/gravitino/plan", {}),
    "statements": ("/ui/r/gravitino/statements", {}),
    "findings": ("/ui/findings", {}),
    "audit": ("/ui/audit", {}),
    "realms": ("/ui/realms", {}),
    "realm": ("/ui/realm", {"name": "datahub"}),
    "suggestions": ("/ui/links/suggestions", {"realm": "gravitino", "other": "datahub"}),
    "playground": ("/ui/playground", {}),
    "settings": ("/ui/settings/server", {}),
    "health": ("/ui/settings/health", {}),
}


def _size(picture: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", picture[16:24])
    return width, height


def test_every_screen_has_its_picture_on_the_page() -> None:
    shown = re.findall(r"\]\(pictures/pages/([a-z-]+)\.png\)", (DOCS / "pages.md").read_text())
    assert sorted({*shown, "ask-dark"}) == sorted(SCREENS)
    assert {path.stem for path in FOLDER.glob("*.png")} == set(SCREENS)


@pytest.mark.nightly
@pytest.mark.parametrize("name", SCREENS)
def test_a_picture_is_of_the_page_of_today(browser: Browser, served: Served, name: str) -> None:
    path, search = SCREENS[name]
    width, height = SIZE
    with tab(
        browser,
        served.address,
        viewport={"width": width, "height": height},
        color_scheme="dark" if name.endswith("dark") else "light",
    ) as found:
        found.sign_in("admin")
        found.open(path, **search)
        found.page.mouse.move(0, 0)
        drawn = found.page.screenshot(animations="disabled", caret="hide")
        found.check()
    kept = FOLDER / f"{name}.png"
    if os.environ.get("DRAW_PAGES"):
        FOLDER.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(drawn)
    assert _size(kept.read_bytes()) == _size(drawn) == SIZE

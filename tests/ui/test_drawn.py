"""The pictures of the pages in the documentation, drawn from the sample estate.

`DRAW_PAGES=1` regenerates them (`make page-pictures`, part of `make golden`); without it, each is
compared with the current page, and each screen must have one.
"""

from __future__ import annotations

import base64
import os
import re
import struct
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.app.serving import Served
from tests.ui import frozen
from tests.ui.browser import WITH_WINDOWS, chromium, tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
BROWSERS = WITH_WINDOWS

DOCS: Final = Path(__file__).parents[2] / "docs"
FOLDER: Final = DOCS / "pictures" / "pages"
SIZE: Final = (1200, 780)
WIDE: Final = (1440, 900)
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

MORE: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "ask-narrow": ("/ui/ask", DENIED),
    "policy-dark": SCREENS["policy"],
    "policies-narrow": SCREENS["policies"],
}
"""Pictures that are compared but not shown on any page of the documentation."""

MOST_DIFFERING: Final = 0.002
NARROW: Final = (390, 844)
GOLDEN: Final = Path(__file__).parents[1] / "golden" / "pages"


def _size(picture: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", picture[16:24])
    return width, height


def test_every_screen_has_its_picture_on_the_page() -> None:
    shown = re.findall(r"\]\(pictures/pages/([a-z-]+)\.png\)", (DOCS / "pages.md").read_text())
    assert sorted({*shown, "ask-dark"}) == sorted(SCREENS)
    assert {path.stem for path in FOLDER.glob("*.png")} == set(SCREENS)


def _viewport(name: str) -> tuple[int, int]:
    if name.endswith("narrow"):
        return NARROW
    return WIDE if name in ("ask", "ask-dark") else SIZE


def _drawn(browser: Browser, served: Served, name: str) -> bytes:
    path, search = {**SCREENS, **MORE}[name]
    width, height = _viewport(name)
    with tab(
        browser,
        served.address,
        viewport={"width": width, "height": height},
        color_scheme="dark" if name.endswith("dark") else "light",
    ) as found:
        found.sign_in("admin")
        if name in frozen.PICTURES:
            frozen.freeze(found.page, served)
        found.open(path, **search)
        found.page.mouse.move(0, 0)
        found.page.evaluate("document.fonts.ready.then(() => true)")
        return found.page.screenshot(animations="disabled", caret="hide")


def _kept(name: str) -> Path:
    return (GOLDEN if name in MORE else FOLDER) / f"{name}.png"


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*SCREENS, *MORE])
def test_a_picture_is_of_the_page_of_today(
    browser: Browser, own_served: Served, name: str, is_debians: bool
) -> None:
    drawn, kept = _drawn(browser, own_served, name), _kept(name)
    if os.environ.get("DRAW_PAGES"):
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(drawn)
    assert _size(kept.read_bytes()) == _size(drawn)
    if not is_debians:
        pytest.skip("fonts are drawn as Debian's Chromium does: compared there only")
    differing = _differing(browser, kept.read_bytes(), drawn)
    assert differing <= MOST_DIFFERING, f"{differing:.2%} differs: `make golden` draws it anew"


@pytest.mark.nightly
def test_a_picture_with_another_word_differs(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 200})
    pictures = []
    for word in ("allowed", "allowed", "denied"):
        page.set_content(f"<h1>May Hugo alter the forecasts? It is {word}.</h1>")
        pictures.append(page.screenshot())
    page.close()
    assert _differing(browser, pictures[0], pictures[1]) == 0
    assert _differing(browser, pictures[0], pictures[2]) > MOST_DIFFERING


@pytest.fixture(scope="module")
def is_debians() -> bool:
    """Whether the browser is the one with which the pictures were drawn."""
    path = chromium(BROWSERS)
    assert path is not None
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    return "Debian" in version.stdout


def _differing(browser: Browser, one: bytes, other: bytes) -> float:
    """The share of differing pixels; the browser decodes the pictures."""
    page = browser.new_page()
    try:
        texts = [base64.b64encode(picture).decode() for picture in (one, other)]
        return float(page.evaluate(_COMPARE, texts))
    finally:
        page.close()


_COMPARE: Final = """
async (texts) => {
  const [one, other] = await Promise.all(texts.map(async (text) => {
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    const picture = await createImageBitmap(new Blob([bytes]));
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    const context = canvas.getContext("2d");
    context.drawImage(picture, 0, 0);
    return context.getImageData(0, 0, picture.width, picture.height).data;
  }));
  if (one.length !== other.length) return 1;
  let differing = 0;
  for (let at = 0; at < one.length; at += 4) {
    const differs = [0, 1, 2].some((part) => Math.abs(one[at + part] - other[at + part]) > 8);
    if (differs) differing += 1;
  }
  return differing / (one.length / 4);
}
"""

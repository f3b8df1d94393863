"""The pictures of the architecture page agree with the code."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    spec = spec_from_file_location("draw_pictures", ROOT / "scripts" / "draw-pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    pictures: dict[str, str] = module.pictures()
    return pictures


def test_the_pictures_are_those_of_the_code(drawn: dict[str, str]) -> None:
    stored = {file.name: file.read_text("utf-8") for file in FOLDER.glob("*.svg")}
    assert stored == drawn, "draw them anew: make docs"


def test_each_is_on_the_page_with_its_title(drawn: dict[str, str]) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    shown = dict(re.findall(r"!\[([^\]]+)\]\(pictures/([\w-]+\.svg)\)", page))
    titles = {
        text.split("<title>")[1].split("</title>")[0].replace("&#x27;", "'"): name
        for name, text in drawn.items()
    }
    assert shown == titles


def test_nothing_lies_outside_of_its_sheet(drawn: dict[str, str]) -> None:
    for text in drawn.values():
        sheet = ET.fromstring(text)  # noqa: S314 — our own
        width, height = int(sheet.attrib["width"]), int(sheet.attrib["height"])
        for box in sheet.iter("{http://www.w3.org/2000/svg}rect"):
            x, y, w, h = (int(box.attrib[name]) for name in ("x", "y", "width", "height"))
            assert x + w <= width
            assert y + h <= height
        assert "prefers-color-scheme: dark" in text

"""The page that walks through the code names only existing things."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "decision-path.md"
SYMBOLS = sorted(set(re.findall(r"`(lakewarden(?:\.\w+)+)`", PAGE.read_text("utf-8"))))


def _resolve(name: str) -> object:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[cut:]:
            found = getattr(found, attribute)
        return found
    raise LookupError(name)


def test_the_page_names_symbols() -> None:
    assert len(SYMBOLS) > 20


@pytest.mark.parametrize("name", SYMBOLS)
def test_a_named_symbol_exists(name: str) -> None:
    assert _resolve(name) is not None

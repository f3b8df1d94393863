"""How many rows a page of a list may have."""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.errors import BadInput

PAGE_ROWS: Final = 100
"""Rows of a page, unless the caller asks for another number."""

MAX_PAGE: Final = 1_000
"""Most rows of a page."""


def check_page_size(size: int, most: int = MAX_PAGE, where: str = "") -> None:
    """Raises `BadInput` for a page of no rows, or of more than `most`."""
    if not 1 <= size <= most:
        raise BadInput(f"expected 1 to {most} per page, got {size}", where=where)

"""The size of a page of a list."""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.errors import BadInput

PAGE_ROWS: Final = 100
"""The rows of a page by default."""

MAX_PAGE: Final = 1_000
"""The most rows of a page."""


def check_page_size(size: int, most: int = MAX_PAGE, where: str = "") -> None:
    """Raises `BadInput` for a page without rows, or with more than `most`."""
    if not 1 <= size <= most:
        raise BadInput(f"expected 1 to {most} per page, got {size}", where=where)

"""The pages of the site that are generated from the code, one by each module."""

from __future__ import annotations

from pathlib import Path

from scripts.docs_site.reference import errors, http, metrics, model_index, options, settings


def pages(root: Path) -> dict[str, str]:
    """Every page, by its path in the nav. `root` is the checkout."""
    return {
        "reference/options.md": options.page(),
        "reference/http.md": http.page(),
        "reference/settings.md": settings.page(),
        "reference/metrics.md": metrics.page(),
        "reference/errors.md": errors.page(),
        model_index.PATH: model_index.page(root),
    }

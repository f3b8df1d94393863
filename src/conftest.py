"""Examples in documentation are tests; a module without any is not imported to look for them."""

from __future__ import annotations

from pathlib import Path


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Pass over modules in which no example stands."""
    if collection_path.suffix == ".py" and b">>>" not in collection_path.read_bytes():
        return True
    return None

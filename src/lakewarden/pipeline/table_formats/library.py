"""The optional libraries that commit tables of a format."""

from __future__ import annotations

from importlib import import_module

from lakewarden.kernel.errors import not_installed


def need(library: str, extra: str, where: str = "--table-format") -> None:
    """Raises `Unavailable`, which names the option `where`, if an extra's library is missing."""
    try:
        import_module(library)
    except ImportError:
        raise not_installed(library.partition(".")[0], extra, where=where) from None

"""The libraries that commit tables of a format, which are extras."""

from __future__ import annotations

from importlib import import_module

from lakewarden.kernel.errors import BadInput


def need(library: str, extra: str, where: str = "--table-format") -> None:
    """Raises `BadInput`, at the option `where`, unless the library of an extra is installed."""
    try:
        import_module(library)
    except ImportError:
        name = library.partition(".")[0]
        message = f"`{name}` is not installed; run: pip install 'lakewarden[{extra}]'"
        raise BadInput(message, where=where) from None

"""One authorization plane for a data estate.

Holds only the public names. Importing this package imports no subpackage and no third-party
library: each name is fetched on first use.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lakewarden.service.warden import Warden

_HOMES = {"Warden": "lakewarden.service.warden"}

__version__: str

__all__ = ["Warden", "__version__"]


def __getattr__(name: str) -> object:
    """Returns the public name `name`, imported on first use; else raises `AttributeError`."""
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("lakewarden")
    elif name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

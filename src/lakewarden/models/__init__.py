"""The declared systems, as data files, and how to load one by name."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.model import Model
from lakewarden.kernel.model_file import read

_SUFFIX = ".toml"


def names() -> tuple[str, ...]:
    """The names of the shipped models, sorted.

    >>> "gravitino" in names()
    True
    """
    files = resources.files(__name__).iterdir()
    return tuple(sorted(f.name.removesuffix(_SUFFIX) for f in files if f.name.endswith(_SUFFIX)))


def load(name: str, settings: Mapping[str, str] | None = None) -> Model:
    """The shipped model `name`, under `settings` (those not given: their defaults).

    Raises `Unknown` for a name that is not shipped, `BadInput` for an unknown setting.
    """
    if name not in names():
        raise Unknown("model", name, f"expected one of: {', '.join(names())}")
    return _shipped(name, tuple(sorted((settings or {}).items())))


@lru_cache(maxsize=64)
def _shipped(name: str, settings: tuple[tuple[str, str], ...]) -> Model:
    """A shipped model; it never changes, so each choice of settings is read once."""
    text = resources.files(__name__).joinpath(name + _SUFFIX).read_text("utf-8")
    return loads(text, f"{name}{_SUFFIX}", dict(settings))


def loads(text: str, where: str, settings: Mapping[str, str] | None = None) -> Model:
    """The model that TOML `text` declares; `where` names it in refusals (`BadInput`)."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(str(error).lower(), where=where) from None
    except RecursionError:
        raise BadInput("nested too deep", where=where) from None
    return read(data, where, settings)

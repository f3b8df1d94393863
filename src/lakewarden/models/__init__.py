"""The declared models of the systems, and how to load one by name."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.kernel.model_file import read
from lakewarden.models.engines import with_engines
from lakewarden.registry import registry

_SUFFIX = ".toml"


def names() -> tuple[str, ...]:
    """The names of the shipped models, sorted.

    >>> "gravitino" in names()
    True
    """
    return registry().models()


def text(name: str) -> str:
    """The file of the shipped model `name`; raises `Unknown`."""
    return registry().of_model(name).model_text(name)


def load(name: str, settings: Mapping[str, str] | None = None) -> Model:
    """The shipped model `name`, under `settings` (those not given: their defaults).

    Raises `Unknown` for a name that is not shipped, `BadInput` for an unknown setting.
    """
    registry().of_model(name)
    return _shipped(name, tuple(sorted((settings or {}).items())))


@lru_cache(maxsize=64)
def _shipped(name: str, settings: tuple[tuple[str, str], ...]) -> Model:
    """A shipped model; it never changes, so each choice of settings is read once."""
    data, where = _parsed(text(name), f"{name}{_SUFFIX}"), f"{name}{_SUFFIX}"
    return with_engines(data, where, name, dict(settings))


def loads(text: str, where: str, settings: Mapping[str, str] | None = None) -> Model:
    """The model that TOML `text` declares; `where` names it in refusals (`BadInput`)."""
    return read(_parsed(text, where), where, settings)


def _parsed(text: str, where: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(str(error).lower(), where=where) from None
    except RecursionError:
        raise BadInput("nested too deep", where=where) from None

"""The declared models of the systems, and how to load one by name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from lakewarden.engines import mapping
from lakewarden.engines.mapping import ON, EngineMapping
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.models.engines import with_engines
from lakewarden.registry import registry

_SUFFIX = ".toml"

_ACT: Final = re.compile(r'\.operations\."(\w+)\.(\w+)"')

ENGINES: Final = "engines"
"""The table of a model file with the requirements of engine acts."""


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
    data, where = parsed(text(name), f"{name}{_SUFFIX}"), f"{name}{_SUFFIX}"
    return with_engines(data, where, mapping.of_model(name), dict(settings))


def loads(text: str, where: str, settings: Mapping[str, str] | None = None) -> Model:
    """The model that TOML `text` declares; `where` names it in errors (`BadInput`)."""
    return of_data(parsed(text, where), where, settings)


def of_data(
    data: dict[str, object], where: str, settings: Mapping[str, str] | None = None
) -> Model:
    """As `loads`, for parsed data; also checks the requirements of its `engines`."""
    own = {key: value for key, value in data.items() if key != ENGINES}
    mappings = engines_of(data, where)
    if not mappings:
        return with_engines(own, where, {}, settings or {})
    chosen = dict(settings or {})
    try:
        with_engines(own, where, mappings, chosen | dict.fromkeys(mappings, ON))
        return with_engines(own, where, mappings, chosen)
    except BadInput as error:
        # The path of an act in the file is below its engine.
        place = _ACT.sub(rf'.{ENGINES}.\1.acts."\2"', error.where)
        raise BadInput(error.message, where=place) from None


def engines_of(data: Mapping[str, object], where: str) -> Mapping[str, EngineMapping]:
    """The requirements of engine acts in the parsed data of a model, by engine."""
    head = data.get("model")
    name = head.get("name") if isinstance(head, Mapping) else None
    return mapping.of_tables(data.get(ENGINES), str(name), f"{where}.{ENGINES}")


def parsed(text: str, where: str) -> dict[str, object]:
    """The tables of TOML `text`; raises `BadInput`, which begins with `where`."""
    try:
        return tomllib.loads(text)
    except ValueError as error:  # malformed, or a number of thousands of digits
        raise BadInput(str(error).lower(), where=where) from None
    except RecursionError:
        raise BadInput("nested too deep", where=where) from None

"""A model with the acts of the engines that a realm of it serves.

A realm serves an engine by a setting of the engine's name (`trino = "on"`). Without it, the model
and its digest depend on its file alone. If a model has rows to filter, a setting of the realm
lists the other engines that read its tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from lakewarden.engines.engine import Engine
from lakewarden.engines.mapping import OFF, ON, EngineMapping
from lakewarden.expressions.engines import SETTING, read_engines
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model, Setting
from lakewarden.kernel.model_file import read


def with_engines(
    data: dict[str, object],
    where: str,
    mappings: Mapping[str, EngineMapping],
    settings: Mapping[str, str],
) -> Model:
    """The model of a parsed file under `settings`, with the operations of engines that are `on`.

    Raises `BadInput` as `model_file.read` does, and for an invalid mapping.
    """
    own = {key: value for key, value in settings.items() if key not in (*mappings, SETTING)}
    chosen = {engine: settings.get(engine, OFF) for engine in mappings}
    for engine, value in chosen.items():
        if value not in (OFF, ON):
            message = f"setting `{engine}` is `{value}`; expected one of: {OFF}, {ON}"
            raise BadInput(message, where=where)
        if value == ON:
            data = _extended(data, mappings[engine].operations)
    model = _listing(read(data, where, own), settings, where)
    return replace(
        model,
        declared_settings={
            **model.declared_settings,
            **{name: _setting(one.engine) for name, one in mappings.items()},
        },
        settings={**model.settings, **chosen},
        enforcing=model.enforcing | mappings.keys(),
    )


def _listing(model: Model, settings: Mapping[str, str], where: str) -> Model:
    """The model with the setting that lists engines."""
    if not any(type.filtered or type.masked for type in model.types.values()):
        if SETTING in settings:
            raise BadInput(f"unknown setting `{SETTING}`", where=where)
        return model
    listed = ", ".join(read_engines(settings.get(SETTING, ""), where))
    return replace(
        model,
        declared_settings={**model.declared_settings, SETTING: _LISTED},
        settings={**model.settings, SETTING: listed},
        enforcing=model.enforcing | {SETTING},
    )


def _extended(
    data: Mapping[str, object], operations: Mapping[str, Mapping[str, object]]
) -> dict[str, object]:
    declared = data.get("operations")
    own = declared if isinstance(declared, Mapping) else {}
    return {**data, "operations": {**own, **operations}}


_LISTED: Final = Setting(
    SETTING,
    "engines that read the tables without asking, with commas between: what one of them cannot say"
    " in a row filter or a column mask is refused",
    (),
    enforces=True,
)


def _setting(engine: Engine) -> Setting:
    title = f"whether the realm answers {engine.title}"
    return Setting(engine.name, title, (OFF, ON), enforces=True)

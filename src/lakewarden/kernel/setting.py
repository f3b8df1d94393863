"""The settings of a model: what a realm may choose, and what each choice means.

A setting has a list of values, or holds types of the model (`of = "types"`). A value of the model
file can depend on a setting with values by `{setting = "NAME", VALUE = …, VALUE = …}`; a setting
of types chooses the rule of the types that it names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import ANY, EntityType, Setting, Table
from lakewarden.kernel.toml_section import Section

TYPES = "types"


Settings = Mapping[str, Setting]


def read_settings(data: Table, where: str) -> dict[str, Setting]:
    """The settings that a model file declares; raises `BadInput`."""
    return {n: _setting(n, s) for n, s in Section(data, where).named("settings").items()}


def _setting(name: str, section: Section) -> Setting:
    values: tuple[str, ...] = ()
    if section.choice("of", {TYPES: None, "values": None}, "values") == "values":
        values = section.texts("values")
        default = section.choice("default", dict.fromkeys(values))
        values = (default, *(value for value in values if value != default))
    title = section.text("title")
    section.text("source", "")
    weakens = Section(section.take("weakens") or {}, section.at("weakens"))
    declared = Setting(
        name,
        title,
        values,
        section.flag("enforces"),
        {value: weakens.text(value) for value in values if value in weakens.names()},
    )
    weakens.close()
    section.close()
    return declared


def choose(declared: Settings, requested: Mapping[str, str], where: str) -> dict[str, str]:
    """The value of every setting; raises `BadInput` for an unknown setting or value."""
    unknown = sorted(set(requested) - set(declared))
    if unknown:
        raise BadInput(f"unknown setting `{unknown[0]}`", where=where)
    chosen = {name: requested.get(name, one.default) for name, one in declared.items()}
    for name, value in chosen.items():
        values = declared[name].values
        if values and value not in values:
            expected = ", ".join(values)
            message = f"setting `{name}` is `{value}`; expected one of: {expected}"
            raise BadInput(message, where=where)
    return chosen


def weakened(declared: Settings, chosen: Mapping[str, str]) -> tuple[str, ...]:
    """What is not checked under the chosen values, one sentence each."""
    return tuple(
        f"`{name}` is {chosen[name]}: {one.weakens[chosen[name]]}"
        for name, one in declared.items()
        if chosen[name] in one.weakens
    )


def named_types(
    name: str, value: str, types: Mapping[str, EntityType], where: str
) -> tuple[str, ...]:
    """The types that a setting names, sorted, in the model's spelling.

    Raises `BadInput` for a type that the model does not have, unless its types are open.
    """
    spelt = {type.lower(): type for type in types}
    listed = [item.strip() for item in value.split(",") if item.strip()]
    for item in listed:
        if item.lower() not in spelt and ANY not in types:
            raise BadInput(f"setting `{name}`: unknown type `{item}`", where=where)
    return tuple(sorted({spelt.get(item.lower(), item) for item in listed}))


def resolve_settings(
    value: object, declared: Settings, chosen: Mapping[str, str], where: str
) -> object:
    """`value` with every table that depends on a setting replaced by the chosen value."""
    if isinstance(value, Mapping):
        if "setting" in value:
            picked = _pick(value, declared, chosen, where)
            return resolve_settings(picked, declared, chosen, where)
        return {
            key: resolve_settings(item, declared, chosen, f"{where}.{key}")
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [
            resolve_settings(item, declared, chosen, f"{where}[{index}]")
            for index, item in enumerate(value)
        ]
    return value


def _pick(table: Table, declared: Settings, chosen: Mapping[str, str], where: str) -> object:
    name = table["setting"]
    if not isinstance(name, str) or not _has_values(declared, name):
        raise BadInput(f"unknown setting `{name}`", where=where)
    if {"setting", *declared[name].values} != set(table):
        expected = ", ".join(declared[name].values)
        raise BadInput(f"expected a value for each `{name}`: {expected}", where=where)
    return table[chosen[name]]


def _has_values(declared: Settings, name: str) -> bool:
    return name in declared and bool(declared[name].values)


def overridden(texts: Mapping[str, str], types: Iterable[str], text: str) -> dict[str, str]:
    """Rule texts by type, with another one for some types; `any` stands for all."""
    return {ANY: text} if ANY in types else {**texts, **dict.fromkeys(types, text)}

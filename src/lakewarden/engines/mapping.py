"""What an engine's acts require in a model: a file of the system, checked against both.

Every act of the engine is listed once, with a rule in the model's language, or with `never` or
`anyone` and the reason. It becomes an operation of the model, `trino.SelectFromColumns`.
A rule applies to a place of `[names]`, which usually has the name of its type: `catalog`, `schema`,
`table`. If several places have one type, each states it. `[parts]` are further parts of names,
with their defaults, which settings of the realm override.

A custom model has its mappings in its own file, as `[engines.trino]`; there, `rest` may give the
reason why acts that are not named are `never` allowed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final

from lakewarden.engines import engine as engines
from lakewarden.engines.engine import Engine
from lakewarden.engines.place import DIGEST, Place, literal, placeholders
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import NONE, Table
from lakewarden.kernel.toml_section import Section
from lakewarden.registry import registry

OFF: Final = "off"
ON: Final = "on"

PARTS: Final = frozenset(
    {
        *("metalake", "catalog", "schema"),
        *("table", "view", "column", "function", "topic", "fileset"),
    }
)
"""The placeholders that a template of a name may have in braces."""

NOBODY: Final = "nobody"
"""The rule of an act that is `never` allowed."""

_UNCONDITIONAL: Final = {"never": NOBODY, "anyone": "anyone"}


@dataclass(frozen=True, eq=False)
class EngineMapping:
    """The acts of an engine in one model.

    `operations` are added to the model, in the form of its file. `places` are by name, `about`
    lists the places for which an act has a rule; empty for an act without a condition. An act that
    is `within` another is also allowed on the container of anything on which the other is allowed.
    `parts` are further parts of names, with their defaults.
    """

    engine: Engine
    model: str
    operations: Mapping[str, Table]
    places: Mapping[str, Place]
    about: Mapping[str, tuple[str, ...]]
    within: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)

    def operation(self, act: str) -> str:
        """The model's operation for an act.

        >>> of_model("gravitino")["trino"].operation("DropTable")
        'trino.DropTable'
        """
        return f"{self.engine.name}.{act}"

    def placed(self, metalake: str, parts: Mapping[str, str]) -> Mapping[str, Place]:
        """The places with the metalake and the further parts filled in from settings.

        Raises `BadInput` for a part that the model's names do not have.
        """
        return _placed(self, metalake, tuple(sorted(parts.items())))

    @property
    def names(self) -> Mapping[str, str]:
        """The templates of names by type, for places that have the name of their type."""
        return {
            place.type: place.template for place in self.places.values() if place.name == place.type
        }


@lru_cache(maxsize=256)
def _placed(
    mapping: EngineMapping, metalake: str, given: tuple[tuple[str, str], ...]
) -> Mapping[str, Place]:
    values, own = {"metalake": metalake}, dict(given)
    unknown = sorted(own.keys() - mapping.parts.keys())
    if unknown:
        expected = ", ".join(sorted(mapping.parts)) or "none"
        message = f"unknown part `{unknown[0]}` of names; expected: {expected}"
        raise BadInput(message, where=f"{mapping.engine.name}.parts")
    for name, default in mapping.parts.items():
        values[name] = own.get(name, default.format_map(values))
    return {name: place.fixed(values) for name, place in mapping.places.items()}


@cache
def of_model(model: str) -> Mapping[str, EngineMapping]:
    """The mappings that the model's system ships, by engine; none for a custom model."""
    system = registry().shipper_of(model)
    if system is None:
        return {}
    mappings = [
        read(system.text(file), f"{system.name}/{file}") for file in system.engines.values()
    ]
    return {mapping.engine.name: mapping for mapping in mappings if mapping.model == model}


def read(text: str, where: str) -> EngineMapping:
    """The mapping that TOML `text` declares; `BadInput` names the file and the field."""
    try:
        file = Section(tomllib.loads(text), where)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(str(error).lower(), where=where) from None
    head = Section(file.take("mapping"), file.at("mapping"))
    engine = engines.load(head.choice("engine", dict.fromkeys(engines.NAMES)))
    model = head.text("model")
    head.close()
    return _of_section(file, engine, model)


def of_tables(value: object, model: str, where: str) -> Mapping[str, EngineMapping]:
    """The mappings in a file of a model, by engine: its table `engines`; raises as `read` does."""
    if value is None:
        return {}
    tables = Section(value, where)
    known, found = dict.fromkeys(engines.NAMES), {}
    for name in tables.names():
        if name not in known:
            message = f"unknown engine; expected one of: {', '.join(known)}"
            raise BadInput(message, where=tables.at(name))
        section = Section(tables.take(name), tables.at(name))
        found[name] = _of_section(section, engines.load(name), model, is_own=True)
    return found


def _of_section(
    file: Section, engine: Engine, model: str, *, is_own: bool = False
) -> EngineMapping:
    parts = _parts(Section(file.take("parts") or {}, file.at("parts")))
    rest = file.text("rest", "") if is_own else ""
    names = Section(file.take("names"), file.at("names"))
    places = {name: _place(names, name, PARTS | parts.keys()) for name in names.names()}
    acts = file.named("acts")
    if rest:
        others = (name for name in engine.acts if name not in acts)
        acts |= {name: Section({"never": rest}, file.at("rest")) for name in others}
    _check_complete(engine, acts, file.at("acts"))
    operations: dict[str, Table] = {}
    about: dict[str, tuple[str, ...]] = {}
    within: dict[str, str] = {}
    for name, section in acts.items():
        inner = section.text("within", "")
        if inner:
            within[name] = inner
        operations[f"{engine.name}.{name}"], about[name] = _operation(engine, name, section, places)
    made = EngineMapping(engine, model, operations, places, about, within, parts)
    for name, place in made.placed("metalake", {}).items():
        if place.touching:
            at = f"{file.at('names')}.{name}"
            raise BadInput("two parts need a character between them", where=at)
    for name, inner in within.items():
        if inner not in engine.acts:
            at = f'{file.at("acts")}."{name}".within'
            raise BadInput(f"`{inner}` is not an operation of {engine.title}", where=at)
    file.close()
    return made


def _parts(section: Section) -> Mapping[str, str]:
    """Further parts of names, with their defaults; a default may use the parts before it."""
    found: dict[str, str] = {}
    for name in section.names():
        if name in PARTS or name == DIGEST or not name.isidentifier():
            raise BadInput("a part of this name is not for mappings", where=section.at(name))
        text = section.text(name, "")
        _check_parts(text, found.keys(), section.at(name))
        found[name] = text
    return found


def _place(names: Section, name: str, parts: Collection[str]) -> Place:
    """A place: a template of a name, or a table with the type, the template and a digest."""
    value = names.take(name)
    if isinstance(value, str) and value:
        _check_parts(value, parts, names.at(name))
        return Place(name, name, value)
    if not isinstance(value, Mapping):
        raise BadInput("expected a non-empty string or a table", where=names.at(name))
    section = Section(value, names.at(name))
    type, template = section.text("type"), section.text("name")
    digest = Section(section.take(DIGEST) or {}, section.at(DIGEST))
    digested = {key: digest.text(key) for key in digest.names()}
    for key, text in digested.items():
        _check_parts(text, parts, digest.at(key))
    allowed = {*parts, DIGEST} if digested else parts
    _check_parts(template, allowed, section.at("name"))
    section.close()
    return Place(name, type, template, digested)


def _check_parts(template: str, parts: Collection[str], where: str) -> None:
    for part in sorted(placeholders(template)):
        if part not in parts:
            expected = ", ".join(sorted(parts))
            raise BadInput(f"unknown `{{{part}}}`; expected one of: {expected}", where=where)
    if not set("{}").isdisjoint(literal(template)):
        raise BadInput("a brace that is not around a part", where=where)


def _check_complete(engine: Engine, acts: Mapping[str, Section], where: str) -> None:
    unknown, missing = sorted({*acts} - {*engine.acts}), sorted({*engine.acts} - {*acts})
    if unknown:
        raise BadInput(f"`{unknown[0]}` is not an operation of {engine.title}", where=where)
    if missing:
        raise BadInput(f"no rule for `{missing[0]}`", where=where)


def _operation(
    engine: Engine, name: str, section: Section, places: Mapping[str, Place]
) -> tuple[Table, tuple[str, ...]]:
    """The act as an operation of a model file, and the places to which it applies.

    Its rules are checked with the model's.
    """
    act = engine.acts[name]
    table: dict[str, object] = {
        "title": f"{engine.title}: {act.title}",
        "source": engine.source,
        "note": section.text("note", ""),
    }
    about: tuple[str, ...] = ()
    for key, rule in _UNCONDITIONAL.items():
        reason = section.text(key, "")
        if reason:
            table |= {"on": NONE, "rule": rule, "gate": False, "note": reason}
    if "rule" not in table:
        rules = section.take("rules")
        if rules is None:
            about, rule = section.texts("on"), section.text("rule")
            types = _by_type(dict.fromkeys(about, rule), places, section)
            table |= {"on": list(types), "rule": rule}
        elif isinstance(rules, Mapping):
            about = tuple(map(str, rules))
            table["rules"] = _by_type(rules, places, section)
        else:
            raise BadInput("expected a table", where=section.at("rules"))
    section.close()
    return table, about


def _by_type(
    rules: Mapping[str, object], places: Mapping[str, Place], section: Section
) -> Mapping[str, object]:
    """The rules by type. A name that is no place is a type that the engine's names do not reach."""
    found: dict[str, object] = {}
    for name, rule in rules.items():
        type = places[name].type if name in places else name
        if found.setdefault(type, rule) != rule:
            message = f"places of type `{type}` have different rules"
            raise BadInput(message, where=section.at("rules"))
    return found

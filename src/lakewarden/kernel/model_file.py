"""Model files: turns the tables of a parsed TOML file into a validated `Model`.

A file is rejected as a whole when a word in it is unknown, misplaced or missing; the error gives
the file, the path of the field, and the column within a rule. Any value can depend on a setting
(`lakewarden.kernel.setting`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Final, cast

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.expression import (
    PARENT,
    And,
)
from lakewarden.kernel.model import (
    ANY,
    NONE,
    VALUES,
    WAYS,
    Attribute,
    EntityType,
    Field,
    Model,
    Operation,
    Privilege,
    Reach,
    Relation,
    Source,
    Table,
)
from lakewarden.kernel.model_check import check_operations
from lakewarden.kernel.principal import GROUP, ROLE, USER
from lakewarden.kernel.rules import RESERVED, Macro, Vocabulary, parse
from lakewarden.kernel.setting import (
    choose,
    named_types,
    overridden,
    read_settings,
    resolve_settings,
    weakened,
)
from lakewarden.kernel.toml_section import Section

EFFECTS = {
    "owner": "the creator becomes the owner of what is created",
    "member": "the creator becomes a member of what is created",
    "holds": "the creator is granted every grantable privilege on what is created",
    "drop": "grants, owners and relations of the entity and of all below it go with it",
    "drop principal": "memberships, roles and ownerships of the removed principal go with it",
    "each": "each entity is judged alone: what may go goes, the rest is reported",
}
"""What a successful operation may change, and the meaning of each word."""

_ATTRIBUTE_TYPES: dict[str, type[str] | type[bool] | type[float]] = {
    "string": str,
    "boolean": bool,
    "number": float,
}
_ORIGINS = frozenset({"type", "name", "owners", "groups", "attribute"})
"""The origins of a field other than relations and the containment parent."""


def read(data: Table, where: str, settings: Mapping[str, str] | None = None) -> Model:
    """The model that the parsed file `data` declares, under `settings` (others: defaults).

    Raises `BadInput` naming the field for anything that is inconsistent.
    """
    declared = read_settings(data, where)
    chosen = choose(declared, settings or {}, where)
    file = Section(resolve_settings(data, declared, chosen, where), where)
    file.take("settings")
    head = Section(file.take("model"), file.at("model"))
    reach = Reach(head.choice("reach", {r.value: r for r in Reach}, "exactly"))
    judged = head.flag("judged")
    gate = head.text("gate", "anyone")
    types = {n: _entity_type(n, s, judged) for n, s in file.named("types").items()}
    _check_parents(types, where)
    named = {
        name: named_types(name, chosen[name], types, where)
        for name, one in declared.items()
        if not one.values
    }
    chosen |= {name: ",".join(listed) for name, listed in named.items()}
    privileges = {n: _privilege(n, s, types, reach) for n, s in file.named("privileges").items()}
    _check_implications(privileges, where)
    spelled = {alias: p.name for p in privileges.values() for alias in p.aliases}
    sets = _sets(file.take("sets"), {*privileges, *spelled}, file.at("sets"))
    relations = {n: _relation(n, s, types) for n, s in file.named("relations").items()}
    fields = {n: _field(n, s, types, relations) for n, s in file.named("fields").items()}
    _check_limits(fields, file.at("fields"))
    attributes = {n: _attribute(n, s) for n, s in file.named("attributes").items()}
    macros = _macros(file.take("macros"), privileges, file.at("macros"))
    vocabulary = Vocabulary(
        privileges=frozenset(privileges),
        types=frozenset(types) - {ANY},
        relations=frozenset(name for name, one in relations.items() if one.grants),
        attributes=frozenset(attributes),
        macros=macros,
    )
    sections = file.named("operations")
    operations = _operations(sections, vocabulary, gate, types, named, head.at("gate"))
    defaults = _raw_tables(file.take("defaults"), file.at("defaults"), sets)
    roles = _raw_tables(file.take("roles"), file.at("roles"), sets)
    access = _access(file.take("access"), operations, file.at("access"))
    model = Model(
        name=head.text("name"),
        title=head.text("title"),
        version=head.text("version"),
        source=head.text("source"),
        spelling=head.text("spelling"),
        binds_identity=head.flag("binds_identity", default=True),
        denies=head.flag("denies"),
        types=types,
        privileges=privileges,
        operations=operations,
        fields=fields,
        relations=relations,
        attributes=attributes,
        declared_settings=declared,
        settings=chosen,
        enforcing=frozenset(name for name, one in declared.items() if one.enforces),
        weakened=weakened(declared, chosen),
        granting=head.text("granting", "") or None,
        self_privileges=frozenset(head.texts("self_privileges")),
        defaults=defaults,
        roles=roles,
        digest=_digest(data, chosen),
        spelled=spelled,
        gate=gate,
        macros={_heading(name, macro): macro.text for name, macro in macros.items()},
        access={way: access[way] for way in WAYS},
        values=access[VALUES],
    )
    head.close()
    file.close()
    check_operations(model, where)
    return model


def _entity_type(name: str, section: Section, judged: bool) -> EntityType:
    principal = section.text("principal", "") or None
    declared = EntityType(
        name=name,
        title=section.text("title", name),
        parents=section.texts("parent"),
        owned=section.flag("owned"),
        principal=principal,
        principal_until=section.text("principal_until", ""),
        judged=section.flag("judged", judged),
        filtered=section.flag("filtered"),
        masked=section.flag("masked"),
        source=section.text("source", ""),
    )
    section.close()
    if principal not in (None, USER, GROUP, ROLE):
        message = f"unknown `{principal}`; expected one of: {GROUP}, {ROLE}, {USER}"
        raise BadInput(message, where=section.at("principal"))
    return declared


def _check_parents(types: Mapping[str, EntityType], where: str) -> None:
    for declared in types.values():
        for parent in declared.parents:
            if parent not in types:
                raise BadInput(
                    f"unknown type `{parent}`", where=f'{where}.types."{declared.name}".parent'
                )


def _sets(value: object, privileges: Set[str], where: str) -> dict[str, tuple[str, ...]]:
    sets: dict[str, tuple[str, ...]] = {}
    section = Section({} if value is None else value, where)
    for name in section.names():
        sets[name] = section.texts(name)
        if name in privileges:
            raise BadInput("a set has the name of a privilege", where=section.at(name))
        for privilege in sets[name]:
            if privilege not in privileges:
                raise BadInput(f"unknown privilege `{privilege}`", where=section.at(name))
    return sets


def _privilege(
    name: str, section: Section, types: Mapping[str, EntityType], reach: Reach
) -> Privilege:
    on = section.texts("on")
    for type in on:
        if type != ANY and type not in types:
            raise BadInput(f"unknown type `{type}`", where=section.at("on"))
    declared = Privilege(
        name=name,
        title=section.text("title", name),
        on=frozenset(on),
        reach=Reach(section.choice("reach", {r.value: r for r in Reach}, reach.value)),
        aliases=section.texts("aliases"),
        implied_by=section.texts("implied_by"),
        grantable=section.flag("grantable", default=True),
        asked=section.text("asked", ""),
        flags=section.texts("flags"),
        source=section.text("source", ""),
        note=section.text("note", ""),
    )
    section.close()
    return declared


def _check_implications(privileges: Mapping[str, Privilege], where: str) -> None:
    taken_names = set(privileges)
    for declared in privileges.values():
        at = f'{where}.privileges."{declared.name}"'
        for broader in declared.implied_by:
            if broader not in privileges or privileges[broader].implied_by:
                raise BadInput(f"`{broader}` is not a privilege that stands for itself", where=at)
        for alias in declared.aliases:
            if alias in taken_names:
                raise BadInput(f"alias `{alias}` is taken", where=at)
            taken_names.add(alias)


def _relation(name: str, section: Section, types: Mapping[str, EntityType]) -> Relation:
    value = section.take("within")
    within = Section({} if value is None else value, section.at("within"))
    declared = Relation(
        name=name,
        sources=frozenset(section.texts("from")),
        targets=frozenset(section.texts("to")),
        within={key: within.text(key) for key in within.names()},
        grants=section.flag("grants", default=True),
        note=section.text("note", ""),
    )
    section.close()
    for type in (*declared.sources, *declared.targets, *declared.within, *declared.within.values()):
        if type not in types:
            raise BadInput(f"unknown type `{type}`", where=section.where)
    return declared


def _field(
    name: str,
    section: Section,
    types: Mapping[str, EntityType],
    relations: Mapping[str, Relation],
) -> Field:
    declared = Field(
        name=name,
        origin=section.texts("origin"),
        up=frozenset(section.texts("up")),
        itself=frozenset(section.texts("itself")),
        inherited=section.flag("inherited"),
        every=section.flag("every"),
        grants=section.flag("grants", default=True),
        limits=section.text("limits", ""),
        aliases=section.texts("aliases"),
        source=section.text("source", ""),
    )
    section.close()
    for item in declared.origin:
        if item not in _ORIGINS and item != PARENT and item not in relations:
            raise BadInput(f"unknown relation `{item}`", where=section.at("origin"))
        if declared.grants and item in relations and not relations[item].grants:
            raise BadInput(f"`{item}` is for filters and masks alone", where=section.at("origin"))
    if not declared.origin or (len(declared.origin) > 1 and _ORIGINS & {*declared.origin}):
        message = "expected one origin, or a list of relations"
        raise BadInput(message, where=section.at("origin"))
    if declared.inherited and (len(declared.origin) > 1 or declared.origin[0] not in relations):
        raise BadInput("expected one relation to inherit", where=section.at("origin"))
    for item in (name, *declared.aliases):
        if item != item.upper():
            raise BadInput(f"expected `{item}` in upper case", where=section.where)
    for item in declared.up | declared.itself:
        if item not in types:
            raise BadInput(f"unknown type `{item}`", where=section.where)
    return declared


def _check_limits(fields: Mapping[str, Field], where: str) -> None:
    for name, field in fields.items():
        if field.limits and (field.limits not in fields or fields[field.limits].grants):
            message = f"`{field.limits}` is no field for filters and masks alone"
            raise BadInput(message, where=f"{where}.{name}.limits")


def _attribute(name: str, section: Section) -> Attribute:
    declared = Attribute(
        name=name,
        type=_ATTRIBUTE_TYPES[section.choice("type", _ATTRIBUTE_TYPES)],
        source=Source(section.choice("source", {s.value: s for s in Source})),
    )
    section.close()
    return declared


def _macros(value: object, privileges: Mapping[str, Privilege], where: str) -> dict[str, Macro]:
    section = Section({} if value is None else value, where)
    macros: dict[str, Macro] = {}
    for key in section.names():
        name, bracket, rest = key.partition("(")
        names = (
            tuple(parameter.strip() for parameter in rest.removesuffix(")").split(","))
            if bracket
            else ()
        )
        identifiers = (name, *names)
        if not all(map(str.isidentifier, identifiers)) or (bracket and not rest.endswith(")")):
            raise BadInput("expected `NAME` or `NAME(a, b)`", where=section.at(key))
        if len(set(names)) < len(names) or name in macros:
            raise BadInput("a name is used twice", where=section.at(key))
        if name in RESERVED or name in privileges:
            raise BadInput(f"`{name}` means something else already", where=section.at(key))
        macros[name] = Macro(names, section.text(key))
    return macros


def _heading(name: str, macro: Macro) -> str:
    return f"{name}({', '.join(macro.parameters)})" if macro.parameters else name


def _operations(
    sections: Mapping[str, Section],
    vocabulary: Vocabulary,
    gate: str,
    types: Mapping[str, EntityType],
    named: Mapping[str, tuple[str, ...]],
    gate_where: str,
) -> dict[str, Operation]:
    vocabulary = replace(vocabulary, operations=frozenset(sections))
    operations = {}
    for name, section in sections.items():
        texts = _overridden(_rule_texts(section, types), section, named)
        operations[name] = _operation(name, section, texts, vocabulary, gate, types, gate_where)
    return operations


def _operation(
    name: str,
    section: Section,
    texts: Mapping[str, str],
    shared: Vocabulary,
    gate: str,
    types: Mapping[str, EntityType],
    gate_where: str,
) -> Operation:
    targets = _named_types(section, "targets", types)
    lists = _named_types(section, "lists", types)
    vocabulary = replace(shared, targets=frozenset(targets), lists=frozenset(lists))
    gated = section.flag("gate", default=gate != "anyone") and gate != "anyone"
    rules = {on: parse(text, vocabulary, section.at("rule")) for on, text in texts.items()}
    if gated:
        condition = parse(gate, vocabulary, gate_where)
        rules = {on: And((condition, rule)) for on, rule in rules.items()}
    effects = section.texts("effects")
    for effect in effects:
        if effect not in EFFECTS:
            expected = ", ".join(sorted(EFFECTS))
            raise BadInput(f"unknown `{effect}`; expected one of: {expected}", where=section.where)
    operation = Operation(
        name=name,
        title=section.text("title", name),
        rules=rules,
        targets=targets,
        lists=lists,
        filter=section.text("filter", "") or None,
        effects=effects,
        gated=gated,
        source=section.text("source", ""),
        since=section.text("since", ""),
        asked=section.text("asked", ""),
        note=section.text("note", ""),
        texts=texts,
    )
    section.close()
    if operation.filter is not None and operation.filter not in shared.operations:
        raise BadInput(f"unknown operation `{operation.filter}`", where=section.at("filter"))
    return operation


def _access(
    value: object, operations: Mapping[str, Operation], where: str
) -> dict[str, tuple[str, ...]]:
    """The operations of each access level, and of values; at most one for each type."""
    section = Section({} if value is None else value, where)
    access = {way: section.texts(way) for way in (*WAYS, VALUES)}
    section.close()
    for way, names in access.items():
        operation_for: dict[str, str] = {}
        for name in names:
            if name not in operations:
                raise BadInput(f"unknown operation `{name}`", where=section.at(way))
            for type in operations[name].rules:
                if type in operation_for:
                    message = f"`{operation_for[type]}` is asked about `{type}` already"
                    raise BadInput(f"`{name}`: {message}", where=section.at(way))
                operation_for[type] = name
    return access


def _named_types(
    section: Section, key: str, types: Mapping[str, EntityType]
) -> dict[str, frozenset[str]]:
    value = section.take(key)
    inner = Section({} if value is None else value, section.at(key))
    types_by_name: dict[str, frozenset[str]] = {}
    for name in inner.names():
        types_by_name[name] = frozenset(inner.texts(name))
        for type in types_by_name[name]:
            if type != ANY and type not in types:
                raise BadInput(f"unknown type `{type}`", where=inner.at(name))
    return types_by_name


def _rule_texts(section: Section, types: Mapping[str, EntityType]) -> dict[str, str]:
    by_type = section.take("rules")
    if by_type is not None:
        inner = Section(by_type, section.at("rules"))
        texts = {key: inner.text(key) for key in inner.names()}
    else:
        text = section.text("rule")
        texts = dict.fromkeys(section.texts("on"), text)
    for on in texts:
        if on not in (ANY, NONE) and on not in types:
            raise BadInput(f"unknown type `{on}`", where=section.where)
    if not texts:
        raise BadInput("expected `on` with a rule, or `rules`", where=section.where)
    return texts


def _overridden(
    texts: dict[str, str], section: Section, named: Mapping[str, tuple[str, ...]]
) -> dict[str, str]:
    """The rules, with those that settings assign to the types they name, in file order."""
    rules = Section(section.take("by_setting") or {}, section.at("by_setting"))
    for name in rules.names():
        if name not in named:
            raise BadInput(f"`{name}` is not a setting that holds types", where=rules.where)
        texts = overridden(texts, named[name], rules.text(name))
    return texts


def _raw_tables(
    value: object, where: str, sets: Mapping[str, tuple[str, ...]]
) -> tuple[Table, ...]:
    """Default statements and roles as tables, with the names of privilege sets replaced."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise BadInput("expected a list of tables", where=where)
    return tuple(_expanded(item, sets) for item in value)


def _expanded(table: Table, sets: Mapping[str, tuple[str, ...]]) -> Table:
    names = table.get("privileges")
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        return table
    return {**table, "privileges": [p for name in listed for p in sets.get(name, (name,))]}


_LIMITED: Final = frozenset({"filtered", "masked"})


def _digest(data: Table, chosen: Mapping[str, str]) -> str:
    """A digest of what decisions depend on, without what only filters and masks use."""
    types = cast("Mapping[str, Table]", data.get("types", {}))
    deciding = {
        name: {key: value for key, value in declared.items() if key not in _LIMITED}
        for name, declared in types.items()
    }
    fields = cast("Mapping[str, Table]", data.get("fields", {}))
    choosing = {
        name: {key: value for key, value in field.items() if key != "limits"}
        for name, field in fields.items()
        if field.get("grants", True)
    }
    relations = cast("Mapping[str, Table]", data.get("relations", {}))
    leading = {name: each for name, each in relations.items() if each.get("grants", True)}
    apart = {"types", "fields", "relations"}
    kept = {key: value for key, value in data.items() if key not in apart}
    kept |= {"types": deciding} if "types" in data else {}
    kept |= {"relations": leading} if "relations" in data else {}
    kept |= {"fields": choosing} if choosing else {}
    text = json.dumps([kept, dict(chosen)], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()

"""A world and a question as the text of a scenario file, to keep a failure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from lakewarden.kernel.entity import NO_RESOURCE
from lakewarden.kernel.principal import GROUP, USER
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement_file import principal_text, write_statement
from lakewarden.service.defaults import built_in
from lakewarden.service.system import System

Lists = Mapping[str, list[str]]


def scenario_text(
    system: System, facts: Facts, request: Request, *, allowed: bool, title: str
) -> str:
    """A scenario file that states that the request must be allowed, or denied.

    `lakewarden.service.scenario_file.reads` reads it back as the same facts, except for roles that
    nobody holds; a user whom no row mentions becomes a stored user. The statements that
    are part of the system exist in any case, and are not written.
    """
    model = system.model
    lines = [
        _pair("model", model.name),
        _pair("title", title),
        _pair("source", "a random world on which two evaluators differed"),
    ]
    if model.settings:
        lines.append(_pair("settings", dict(model.settings)))
    lines += ["", "[world]", *_world(system, facts, request)]
    lines += ["", "[[case]]", *_case(system, request, allowed)]
    return "\n".join(lines) + "\n"


def _world(system: System, facts: Facts, request: Request) -> Iterable[str]:
    rows = sorted(facts.entities)
    people = sorted({*facts.principals, request.principal})
    yield _pair("entities", [str(row.entity) for row in rows])
    placed = {
        str(row.entity): str(row.parent)
        for row in rows
        if row.parent is not None and row.parent != system.spelling.parent(row.entity)
    }
    if placed:
        yield _pair("placed", placed)
    yield _pair("users", [p.name for p in people if p.kind == USER])
    yield _pair("groups", [p.name for p in people if p.kind == GROUP])
    members: dict[str, list[str]] = {}
    for membership in sorted(facts.memberships):
        of = members.setdefault(principal_text(membership.of), [])
        of.append(principal_text(membership.member))
    yield from _table("world.members", members)
    owners: dict[str, list[str]] = {}
    for owner in sorted(facts.owners):
        text = principal_text(owner.owner) + (f"={owner.ownership}" if owner.ownership else "")
        owners.setdefault(str(owner.entity), []).append(text)
    yield from _table("world.owners", owners)
    yield from _metadata(facts)
    shipped = built_in(system)
    for statement in (s for s in facts.statements if s not in shipped):
        yield from _table("world.statement", write_statement(statement), many=True)


def _metadata(facts: Facts) -> Iterable[str]:
    relations: dict[str, dict[str, list[str]]] = {}
    for relation in sorted(facts.relations):
        targets = relations.setdefault(relation.kind, {})
        targets.setdefault(str(relation.source), []).append(str(relation.target))
    for kind, targets in relations.items():
        yield from _table(f"world.relations.{_text(kind)}", targets)
    attributes: dict[str, dict[str, list[str]]] = {}
    for attribute in sorted(facts.attributes):
        values = attributes.setdefault(str(attribute.entity), {})
        values.setdefault(attribute.attribute, []).append(attribute.value)
    for entity, values in attributes.items():
        yield from _table(f"world.attributes.{_text(entity)}", values)


def _case(system: System, request: Request, allowed: bool) -> Iterable[str]:
    kind = "operation" if request.operation in system.model.operations else "privilege"
    yield _pair(kind, request.operation)
    if request.target != NO_RESOURCE:
        yield _pair("on", str(request.target))
    yield _pair("allow" if allowed else "deny", [principal_text(request.principal)])
    if request.targets:
        yield _pair("targets", {k: str(v) for k, v in request.targets.items()})
    if request.lists:
        yield _pair("lists", {k: [str(e) for e in v] for k, v in request.lists.items()})
    if request.attributes:
        yield _pair("attributes", dict(request.attributes))
    if request.subresources:
        yield _pair("subresources", [str(e) for e in request.subresources])
    if request.groups:
        yield _pair("groups", [group.name for group in request.groups])
    if request.roles is not None:
        yield _pair("roles", [principal_text(role) for role in sorted(request.roles)])
    yield _pair("now", request.now)


def _table(name: str, pairs: Mapping[str, object], *, many: bool = False) -> Iterable[str]:
    if pairs:
        yield ""
        yield f"[[{name}]]" if many else f"[{name}]"
        yield from (_pair(key, value) for key, value in pairs.items())


def _pair(key: str, value: object) -> str:
    return f"{key if key.isidentifier() and key.isascii() else _text(key)} = {_value(value)}"


def _value(value: object) -> str:
    match value:
        case Mapping():
            return "{ " + ", ".join(_pair(str(k), v) for k, v in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(_value, value)) + "]"
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case _:
            return repr(value)


def _text(text: str) -> str:
    """The text as a TOML string; JSON's escapes are among TOML's."""
    return json.dumps(text, ensure_ascii=False)

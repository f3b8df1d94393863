"""Converts a stored DataHub policy to a statement.

Values that the engine compares as strings are kept as strings. A policy that a statement cannot
express exactly is narrowed or rejected, never widened: a policy with an unknown field, condition or
type is rejected as a whole; a privilege or actor that matches nothing is left out and noted. Only
`ACTIVE` is active.

SOURCE: datahub reference 2 and 3.3 to 3.8; PR #19737 for values of structured properties.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import ALL_USERS, ANY_GROUP, GROUP, ROLE, USER
from lakewarden.kernel.statement import Condition
from lakewarden.kernel.statement_file import principal_text, read_statements
from lakewarden.names.canonical import quoted
from lakewarden.service.source_row import (
    BAD_STATEMENT,
    STATEMENTS,
    At,
    Row,
    note_row,
    statement_row,
)
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.fields import Fields

_TYPE: Final = "dataHubPolicy"
_METADATA: Final = "METADATA"
_PLATFORM: Final = "PLATFORM"
_PROPERTY: Final = "STRUCTURED_PROPERTY"
_CONSTRAINTS: Final = "privilegeConstraints"
_MATCHES: Final = ("filter", _CONSTRAINTS)


def policy(entity: Entity, value: Fields, at: At) -> Iterator[Row]:
    """The statement of a policy, and notes about the parts without a counterpart.

    INVARIANT: only a policy has a statement. A right to write another entity must not allow grants.
    """
    if entity.type != _TYPE:
        row = statement_row({"id": entity.name}, at.place)
        message = f"expected the URN of a policy, got {quoted(entity.name)}"
        yield row.rejected(BAD_STATEMENT, message)
        return
    notes: list[str] = []
    table: dict[str, object] = {
        "id": entity.name,
        "effect": "allow",
        "title": value.text("displayName"),
        "privileges": _privileges(value, at.model, notes),
        "to": _actors(value, notes),
    }
    if value.text("state") != "ACTIVE":
        table["active"] = False
    type = value.text("type")
    resources = value.object_or_none("resources")
    problem = "" if type in (_METADATA, _PLATFORM) else f"unknown type of policy {quoted(type)}"
    if resources is not None:
        scope = _scope(resources)
        # The resources of a platform policy are not read.
        table |= scope if type == _METADATA else {}
    row = statement_row(table, at.place)
    problem = problem or _refusal(table, at)
    yield row.rejected(BAD_STATEMENT, problem) if problem else row
    yield from (note_row(entity.name, text) for text in notes)


def policy_statement(
    name: str, value: Mapping[str, object], model: Model, where: str
) -> dict[str, Any]:
    """The statement of a policy with that URN, as in a statement file; raises `BadInput`."""
    entity = datahub.parse(_TYPE, name)
    rows = policy(entity, Fields(value, f"{where}.value"), At(where, model))
    (row,) = (row for row in rows if row.table == STATEMENTS)
    if row.reason:
        raise BadInput(row.detail, where=where)
    table: dict[str, Any] = json.loads(row.cells[1])
    return table


def deactivated(row: Row) -> Row:
    """The same statement, inactive."""
    id, text = row.cells
    table = json.loads(text) | {"active": False}
    return row._replace(cells=(id, statement_row(table, "").cells[1]))


def _privileges(value: Fields, model: Model, notes: list[str]) -> list[str]:
    privileges: list[str] = []
    for name in _required(value, "privileges").texts("privileges"):
        try:
            grantable = model.privilege(name).grantable
        except Unknown:
            grantable = False
        if grantable:
            privileges.append(name)
        else:
            notes.append(f"privilege {quoted(name)}")
    return sorted(set(privileges))


def _actors(value: Fields, notes: list[str]) -> list[str]:
    actors = value.object_or_none("actors")
    if actors is None:
        raise BadInput("expected an object", where=value.at("actors"))
    texts: list[str] = []
    for key, kind in (("users", USER), ("groups", GROUP), ("roles", ROLE)):
        for urn in actors.texts(key):
            text = _actor(urn, kind)
            if text:
                texts.append(text)
            else:
                notes.append(f"actor {quoted(urn)} among the {key}")
    if actors.flag("allUsers"):
        texts.append(principal_text(ALL_USERS))
    if actors.flag("allGroups"):
        texts.append(principal_text(ANY_GROUP))
    types = actors.texts("resourceOwnersTypes")
    if actors.flag("resourceOwners"):
        typed = "resourceOwnersTypes" in actors
        # An existing, empty list matches no owner.
        texts += [f"owners:{type}" for type in types if type] if typed else ["owners"]
    return sorted(set(texts))


def _actor(urn: str, kind: str) -> str:
    """The actor in a statement's notation; empty if it is not of the list's kind."""
    try:
        actor = datahub.actor(urn)
    except BadInput:
        return ""
    return principal_text(actor) if actor.kind == kind else ""


def _scope(resources: Fields) -> dict[str, object]:
    match = resources.object_or_none("filter")
    criteria = _legacy_criteria(resources) if match is None else _criteria(match)
    scope: dict[str, object] = {"where": criteria}
    constraints = resources.object_or_none(_CONSTRAINTS)
    if constraints is not None:
        scope["constraint"] = _criteria(constraints)
    return scope


def _legacy_criteria(resources: Fields) -> list[dict[str, object]]:
    """The older fields: a type, and a list of URNs unless all resources are covered."""
    criteria: list[dict[str, object]] = []
    urns = resources.texts("resources")
    if "type" in resources:
        # An empty string is the type of no entity.
        criteria.append(_criterion("TYPE", Condition.EQUALS.value, [resources.text("type")]))
    if "resources" in resources and not resources.flag("allResources"):
        criteria.append(_criterion("URN", Condition.EQUALS.value, urns))
    return criteria


def _criteria(match: Fields) -> list[dict[str, object]]:
    criteria = _required(match, "criteria").objects("criteria")
    return [table for item in criteria for table in _criteria_of(item)]


def _criteria_of(item: Fields) -> Iterator[dict[str, object]]:
    """One criterion; for values of structured properties, one for each property.

    AMBIGUOUS: whether several properties of one criterion are alternatives. All are treated as
    required, which can only narrow.
    """
    field = item.text("field")
    condition = item.text("condition") if "condition" in item else Condition.EQUALS.value
    properties = item.objects("structuredPropertyValues")
    values = (item if properties else _required(item, "values")).texts("values")
    if values or not properties:
        yield _criterion(field, condition, values)
    for member in properties:
        urn, expected = member.text("propertyUrn"), member.texts("values")
        # Either would be meaningless: without a value, `NOT_EQUALS` would match everything.
        sound = field.upper() == _PROPERTY and expected
        pairs = [f"{urn}={value}" for value in expected]
        yield _criterion(field if sound else member.where.rpartition(".")[2], condition, pairs)


def _required(fields: Fields, key: str) -> Fields:
    """The fields, which must include the list; without it a condition could match everything."""
    if key not in fields:
        raise BadInput("expected a list", where=fields.at(key))
    return fields


def _criterion(field: str, condition: str, values: list[str]) -> dict[str, object]:
    return {"field": field, "condition": condition, "values": values}


def check_change(old: Mapping[str, object] | None, new: Mapping[str, object], model: Model) -> None:
    """Rejects invalid names in a policy to write, except names that it already contains.

    These are a field of criteria that is not spelled as declared, in upper case, and an actor or
    type of owners that is not a URN. Raises `BadInput`.
    SOURCE: PolicyFieldTypeValidator, PolicyUpdateInputInfoMapper.
    """
    fields = (field for field in model.fields.values() if field.grants)
    known = {name for field in fields for name in (field.name, *field.aliases)}
    kept = set() if old is None else {*_named_fields(old), *_named_actors(old)}
    for name in _named_fields(new):
        if name not in known and name not in kept:
            expected = ", ".join(sorted(known))
            raise BadInput(f"unknown field {quoted(name)}; expected one of: {expected}")
    for urn in _named_actors(new):
        if urn not in kept:
            datahub.urn_type(urn)


def _named_actors(policy: Mapping[str, object]) -> Iterator[str]:
    """The users, groups, roles and types of owners that a policy names."""
    actors = Fields(policy, "dataHubPolicyInfo").object_or_none("actors")
    if actors is not None:
        for key in ("users", "groups", "roles", "resourceOwnersTypes"):
            yield from actors.texts(key)


def _named_fields(policy: Mapping[str, object]) -> Iterator[str]:
    """The fields that the criteria of a policy name."""
    resources = Fields(policy, "dataHubPolicyInfo").object_or_none("resources")
    matches = () if resources is None else map(resources.object_or_none, _MATCHES)
    for match in matches:
        for criterion in () if match is None else match.objects("criteria"):
            yield criterion.text("field")


def _refusal(table: dict[str, object], at: At) -> str:
    """Why the statement cannot be read; empty if it can."""
    try:
        read_statements([table], at.model, datahub, at.place)
    except BadInput as error:
        return error.message
    return ""

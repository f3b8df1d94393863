"""The message of every 403: who, which operation, on what, what is missing, who may grant it.

`User 'u' is not authorized to perform operation 'o' on metadata 'm': ` and then

| case                                  | text                                                  |
|---------------------------------------|-------------------------------------------------------|
| the asker is not a metalake user      | current user 'u' doesn't exist in the metalake 'lk'   |
| an active role is not held            | cannot assume active role(s) that are not held        |
| privileges would suffice              | requires SELECT_TABLE on table 'c.s.t'                |
| only an owner may                     | requires ownership of table, schema, catalog or …     |
| only a service administrator may      | requires a service administrator                      |

A user who is bound by a row filter or a column mask on a table is told so on attempts to change its
columns, or to rename it or one of its containers.

The missing privileges are those of the decision itself (`kernel.explain.turning`), never of a
second copy of its rule. Only owners are named as those who may grant them, and only of objects
whose owners the asker may read (`owner.load`). So a refusal reveals nothing that another request
would not, and is the same for a hidden name and for one that does not exist.
SOURCE: gravitino reference 2.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from lakewarden.kernel.advice import Change, Need
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.explain import reversing_changes
from lakewarden.kernel.expression import And, At, May, Node, Or, Owner, ServiceAdmin
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Reason, Request
from lakewarden.names.canonical import shown
from lakewarden.service.owner import owners_of
from lakewarden.service.state import RealmState
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http.errors import Failure, forbidden

_READ_OWNER: Final = "owner.load"
_SET_OWNER: Final = "owner.set"

_NAMED: Final = 3

_LISTED: Final = 10
"""Beyond this number, objects, or privileges on objects, are counted instead of listed."""


def denied(state: RealmState, request: Request, reason: Reason, *, is_member: bool) -> Failure:
    """The 403 for a denied request; `is_member`: of the target's metalake."""
    user = f"'{shown(request.principal.name)}'"
    text = f"User {user} is not authorized to perform operation '{request.operation}'"
    if request.target != NO_RESOURCE:
        text = f"{text} on metadata '{shown(gravitino.full_name(request.target))}'"
    if reason is Reason.ROLE_NOT_HELD:
        return forbidden(f"{text}: cannot assume active role(s) that are not held")
    if not is_member:
        metalake = shown(gravitino.metalake(request.target))
        return forbidden(f"{text}: current user {user} doesn't exist in the metalake '{metalake}'")
    return forbidden(f"{text}: {'; '.join(_hints(state, request))}")


def columns_are_limited() -> Failure:
    """The 403 for changing columns of a table on which a filter or a mask binds the caller."""
    return forbidden(
        "a row filter or a column mask binds you on this table: you may not add, rename or delete"
        " its columns"
    )


def names_are_limited(entity: Entity) -> Failure:
    """The 403 for renaming an object on which, or in which, a filter or a mask binds the caller."""
    return forbidden(
        f"a row filter or a column mask binds you on {_object(entity)}, or inside it: you may not"
        " rename it"
    )


def _hints(state: RealmState, request: Request) -> Iterator[str]:
    """The missing privileges, and who may grant them."""
    ways = reversing_changes(state.matrix, request)
    if ways and not ways[0]:
        named = [
            *request.targets.values(),
            *(entity for all in request.lists.values() for entity in all),
        ]
        yield f"requires {_joined([_object(entity) for entity in named])} to exist"
        return
    if ways:
        yield f"requires {_changes(state, ways)}"
        needs = sorted((c for c in ways[0] if isinstance(c, Need)), key=str)
        granting, of = state.system.model.granting or _SET_OWNER, [need.entity for need in needs]
    else:
        yield f"requires {_ownership_levels(state.system.model, request)}"
        granting, of = _SET_OWNER, [request.target]
    grantors = [name for name in (_grantors(state, request, granting, on) for on in of) if name]
    if grantors and len(grantors) == len(of):
        yield f"can be granted by {_joined([*dict.fromkeys(grantors)])}"


def _changes(state: RealmState, ways: tuple[frozenset[Change], ...]) -> str:
    """The smallest way; ways that differ in one privilege only are shown as `A or B`."""
    first, model = ways[0], state.system.model
    parts: dict[Change, set[str]] = {
        change: {change.privilege} for change in first if isinstance(change, Need)
    }
    for way in ways[1:]:
        for own, other in [(a, b) for a in first - way for b in way - first]:
            if len(way) != len(first) or len(first & way) != len(first) - 1:
                continue
            if isinstance(own, Need) and isinstance(other, Need) and own.entity == other.entity:
                parts[own].add(other.privilege)
    phrases = [
        f"{' or '.join(_ordered(model, parts[need]))} on {_object(need.entity)}"
        for need in sorted((c for c in first if isinstance(c, Need)), key=_from_above)
    ]
    statements = state.matrix.snapshot.table.statements
    lifted = sorted(change for change in first if isinstance(change, str))
    against = {name for id in lifted for name in statements[id].privileges}
    if against:
        phrases.append(f"no DENY of {', '.join(_ordered(model, against))}")
    return _joined(phrases)


def _joined(phrases: Sequence[str]) -> str:
    """The phrases joined; of many, the first ones and a count; the audit trail has all."""
    more = len(phrases) - _LISTED
    return " and ".join([*phrases[:_LISTED], *([f"{more} more"] if more > 0 else [])])


def _from_above(need: Change) -> tuple[int, str]:
    entity = need.entity if isinstance(need, Need) else NO_RESOURCE
    return len(_with_containers(entity)), str(need)


def _ordered(model: Model, privileges: Iterable[str]) -> list[str]:
    names = set(privileges)
    return [name for name in model.privileges if name in names]


def _object(entity: Entity) -> str:
    return f"{entity.type} '{shown(gravitino.full_name(entity))}'"


def _ownership_levels(model: Model, request: Request) -> str:
    """The ownership that the rule requires if no privilege would suffice."""
    rule = model.operation(request.operation).rule(request.target.type)
    levels = [
        level
        for levels_of_node in _nodes(model, rule, request.target.type)
        for level in levels_of_node
    ]
    if not levels:
        return "a service administrator"
    own = [request.target.type if level == "self" else level for level in levels]
    return f"ownership of {' or '.join(dict.fromkeys(own))}"


def _nodes(model: Model, rule: Node, type: str) -> Iterator[tuple[str, ...]]:
    """The levels of each part of the rule that requires an owner."""
    match rule:
        case Owner(levels):
            yield levels
        case And(parts) | Or(parts):
            for part in parts:
                yield from _nodes(model, part, type)
        case At(selector, inner):
            yield from _nodes(model, inner, selector if selector in model.types else type)
        case May(operation):
            inner_rule = model.operation(operation).rule_or_none(type)
            if inner_rule is not None:
                yield from _nodes(model, inner_rule, type)
        case ServiceAdmin():
            return
        case _:
            return


def _grantors(state: RealmState, request: Request, granting: str, on: Entity) -> str:
    """The owners who may grant on the nearest known object, if the asker may know them."""
    readable = [
        entity
        for entity in _with_containers(on)
        if _is_allowed(state, request, request.principal, _READ_OWNER, entity)
    ]
    if not readable:
        return ""
    owners = dict.fromkeys(row.owner for entity in readable for row in owners_of(state, entity))
    able = [
        f"'{shown(o.name)}'"
        for o in owners
        if _is_allowed(state, request, o, granting, readable[0])
    ]
    more = f" and {len(able) - _NAMED} more" if len(able) > _NAMED else ""
    return f"{' or '.join(able[:_NAMED])}{more}"


def _is_allowed(
    state: RealmState, request: Request, principal: Principal, operation: str, target: Entity
) -> bool:
    own = principal == request.principal
    groups, roles = (request.groups, request.roles) if own else ((), None)
    if state.system.model.operation(operation).rule_or_none(target.type) is None:
        return False
    question = Request(principal, operation, target, request.now, groups=groups, roles=roles)
    return state.matrix.decide(question).allow


def _with_containers(entity: Entity) -> list[Entity]:
    """The entity and its containers, bottom-up."""
    chain = [] if entity == NO_RESOURCE else [entity]
    while chain and (above := gravitino.parent(chain[-1])) is not None:
        chain.append(above)
    return chain

"""The message of every 403: who, what is missing, on which entity, and for which operation.

The missing actions are those of the decision itself (`kernel.explain.lacking`), never of a second
copy of its rule. The named entity is the target, if something on it alone would suffice; otherwise
the first entity on which something is missing.

| the rule requires                     | text                                             |
|---------------------------------------|--------------------------------------------------|
| certain actions                       | not authorized to perform actions '[…]'          |
| any one of several                    | … any one of the actions '[…]'                   |
| any privilege there or below          | does not have privileges to access entity '…'    |
| the same on a namespace               | … does not have any privilege on this namespace … |
| something that no grant gives         | not authorized to perform action '<operation>'   |

The operation follows in brackets, and for callers who may list others' privileges, who may grant
it.
SOURCE: cdap reference 2.12 and 4.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from lakewarden.kernel.advice import Need
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.explain import missing_needs
from lakewarden.kernel.expression import ServiceAdmin
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import Model, Reach
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.who import who
from lakewarden.names.canonical import shown
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http.errors import Denied, Failure, forbidden

Way = frozenset[Need]

LISTING: Final = "privilege.list"
"""A caller who may do this may know the privileges of everybody."""

MOST_LISTED: Final = 100
"""The maximum number of named entities that prevent a deletion."""

_GRANTORS: Final = 3


def denied(matrix: Matrix, request: Request) -> Failure:
    """The 403 for a denied request."""
    return forbidden(refusal_text(matrix, request))


def denied_all(first: str, ids: Sequence[str]) -> Failure:
    """The 403 for a request that was denied on several entities; `first` is about the first."""
    if len(ids) == 1:
        return forbidden(first)
    more = f" and {len(ids) - MOST_LISTED} more" if len(ids) > MOST_LISTED else ""
    return forbidden(f"{first}\nmissing: {', '.join(ids[:MOST_LISTED])}{more}")


def of_another_owner(operation: str, entity: Entity) -> Denied:
    """The 403 for a change of an entity's owner; no privilege allows it."""
    id = cdap.format_id(entity)
    text = f"'{id}' exists already, and its owner cannot be changed (operation '{operation}')"
    return Denied(text, operation, entity)


def irrevocable(operation: str, entity: Entity) -> Denied:
    """The 403 for a deletion that the settings forbid, for every caller."""
    text = (
        "Namespaces and datasets can be deleted unrecoverably only if"
        " 'enable.unrecoverable.reset' is set to 'true' in the 'cdap-site.xml'"
        f" (operation '{operation}' on entity '{cdap.format_id(entity)}')."
    )
    return Denied(text, operation, entity)


def refusal_text(matrix: Matrix, request: Request) -> str:
    """The text of the 403 for a denied request."""
    text = _text(matrix, request)
    parts = [f"operation '{request.operation}'", *_required_role(matrix, request)]
    return f"{text} ({'; '.join([*parts, *_grantors(matrix, request)])})"


def _required_role(matrix: Matrix, request: Request) -> Iterable[str]:
    if isinstance(matrix.operation(request.operation).rule(request.target.type), ServiceAdmin):
        yield "requires an authorization administrator"


def _grantors(matrix: Matrix, request: Request) -> Iterable[str]:
    """Who may grant privileges on the target, for callers who may know it."""
    model = matrix.snapshot.model
    question = Request(request.principal, LISTING, NO_RESOURCE, request.now, groups=request.groups)
    if model.granting is None or not matrix.decide(question).allow:
        return
    grantors = sorted(
        who(matrix, replace(question, operation=model.granting, target=request.target))
    )
    if grantors:
        names = ", ".join(f"'{shown(grantor.name)}'" for grantor in islice(grantors, _GRANTORS))
        more = f" and {len(grantors) - _GRANTORS} more" if len(grantors) > _GRANTORS else ""
        yield f"can be granted by {names}{more}"


def _text(matrix: Matrix, request: Request) -> str:
    model, principal = matrix.snapshot.model, principal_text(request.principal)
    ways = [way for way in missing_needs(matrix, request) if _can_be_given(model, way)]
    if not ways:
        return _operation_text(principal, request)
    entity = _first_need(ways, request.target)
    needed = [{need.privilege for need in way if need.entity == entity} for way in ways]
    needed = [privileges for privileges in needed if privileges]
    if any(_is_visibility(model, privilege) for privileges in needed for privilege in privileges):
        return _visibility_text(principal, entity)
    return _actions_text(model, principal, entity, needed)


def principal_text(principal: Principal) -> str:
    """A principal in the notation of messages.

    >>> principal_text(Principal("user", "bob"))
    "Principal{name='bob', type=USER, kerberosPrincipal=null}"
    """
    kind = principal.kind.upper()
    return f"Principal{{name='{principal.name}', type={kind}, kerberosPrincipal=null}}"


def _can_be_given(model: Model, way: Way) -> bool:
    """Whether grants alone would suffice: some of the requirements belong to the platform."""
    privileges = [model.privileges[need.privilege] for need in way]
    return all(privilege.grantable or privilege.implied_by for privilege in privileges)


def _first_need(ways: Iterable[Way], target: Entity) -> Entity:
    entity_sets = [{need.entity for need in way} for way in ways]
    if {target} in entity_sets:
        return target
    return min(entity_sets[0], key=lambda entity_in_set: (entity_in_set != target, entity_in_set))


def _is_visibility(model: Model, privilege: str) -> bool:
    return model.privileges[privilege].reach is Reach.ABOVE


def _visibility_text(user: str, entity: Entity) -> str:
    id = cdap.format_id(entity)
    if entity.type == "namespace":
        return (
            f"Principal '{user}' is not allowed to access namespace '{id}', since the principal"
            " does not have any privilege on this namespace or any entity in this namespace."
        )
    return f"Principal '{user}' does not have privileges to access entity '{id}'"


def _actions_text(model: Model, user: str, entity: Entity, needed: list[set[str]]) -> str:
    """`needed`: the requirements of each way on the entity."""
    id = cdap.format_id(entity)
    single = [next(iter(privileges)) for privileges in needed if len(privileges) == 1]
    either = {action for privilege in single for action in _actions(model, privilege)}
    if len(single) == len(needed) and len(either) > 1:
        actions = _in_order(model, either)
        return (
            f"Principal '{user}' is not authorized to perform any one of the actions '{actions}'"
            f" on entity '{id}'"
        )
    actions = _in_order(model, needed[0])
    return f"Principal '{user}' is not authorized to perform actions '{actions}' on entity '{id}'"


def _actions(model: Model, privilege: str) -> tuple[str, ...]:
    return model.privileges[privilege].implied_by or (privilege,)


def _in_order(model: Model, privileges: Iterable[str]) -> str:
    names = set(privileges)
    return f"[{', '.join(name for name in model.privileges if name in names)}]"


def _operation_text(user: str, request: Request) -> str:
    text = f"Principal '{user}' is not authorized to perform action '{request.operation}'"
    if request.target == NO_RESOURCE:
        return text
    return f"{text} on entity '{cdap.format_id(request.target)}'"

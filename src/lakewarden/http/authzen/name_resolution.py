"""Resolves the names of a question: realm, principal, operation, entity.

If no realm is named, neither in the address nor in `resource.properties.realm`, it is the one whose
model has the type and whose spelling has the id. If there are several, those remain that know the
action; if there still are several, the caller must name one. Stored entities make no difference,
so no write ever moves a question to another realm.

`platform/platform` is the question without a resource, an empty id the one about a type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.http.authzen.paging import REFUSED
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.model import NONE
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.names.canonical import quoted
from lakewarden.names.identities import IdForm
from lakewarden.service.state import RealmState

PLATFORM: Final = "platform"
"""The type and the id of the question without a resource."""

_KINDS: Final = frozenset({USER, GROUP, ROLE})


def principal(realm: RealmState, kind: str, id: str) -> Principal:
    """The subject in the realm's spelling; raises `Unknown` if it is not a possible subject.

    Names of callers (`Realm.spellings`) are resolved in the same way as the caller's own name.
    """
    if kind not in _KINDS:
        raise Unknown("subject type", kind, "expected user, group or role")
    name = realm.realm.spellings.get(id, id) if kind == USER else id
    try:
        subject = realm.system.identities.subject(kind, name)
    except BadInput:
        raise Unknown(kind, id) from None
    if subject.kind != kind or not subject.name:
        raise Unknown(kind, id)
    return subject


def entity(realm: RealmState, type: str, id: str) -> Entity:
    """The resource; raises `Unknown` for a type or an id that the realm does not have."""
    if type == id == PLATFORM:
        return NO_RESOURCE
    model, spelling = realm.system.model, realm.system.spelling
    try:
        resource = spelling.parse(type, id)
    except BadInput:
        if id:
            raise Unknown(type, id) from None
        resource = Entity(type, "")
    if resource == NO_RESOURCE:
        return resource
    model.check_type(resource.type)
    return resource


def place(realm: RealmState, named: Entity) -> Entity:
    """The entity after which a page begins, stored or not.

    A token has no secret, so it may contain anything: raises `BadInput` for an entity that the
    realm cannot name.
    """
    try:
        found = entity(realm, *named)
    except (BadInput, Unknown):
        found = NO_RESOURCE
    if found == NO_RESOURCE or found != named:
        raise BadInput(REFUSED, where="page.token")
    return found


def realm_of(realms: Sequence[RealmState], type: str, id: str, action: str) -> RealmState:
    """The realm that the question is about.

    Raises `Unknown` if none fits, `BadInput` with the candidates if several do.
    """
    return _only([realm for realm in realms if _fits(realm, type, id)], type, id, action)


def realm_of_type(realms: Sequence[RealmState], type: str, action: str) -> RealmState:
    """The realm of a search for resources of a type; errors as in `realm_of`.

    Realms that accept any type count if no realm declares it, provided they have such resources.
    """
    declaring = [realm for realm in realms if type in realm.system.model.types]
    having = [realm for realm in realms if type in realm.matrix.snapshot.coded.tree.named]
    return _only(declaring or having, type, "", action)


def _only(fitting: Sequence[RealmState], type: str, id: str, action: str) -> RealmState:
    if not fitting:
        raise Unknown("resource", f"{type}/{id}")
    if len(fitting) == 1:
        return fitting[0]
    knowing = [realm for realm in fitting if not action or has_action(realm, action, type, id)]
    if not knowing:
        raise Unknown("operation or privilege", action)
    if len(knowing) > 1:
        names = ", ".join(realm.realm.name for realm in knowing)
        raise BadInput(
            f"several realms have {quoted(f'{type}/{id}')}: {names};"
            " name one in resource.properties.realm"
        )
    return knowing[0]


def _fits(realm: RealmState, type: str, id: str) -> bool:
    try:
        entity(realm, type, id)
    except (BadInput, Unknown):
        return False
    return True


def has_action(realm: RealmState, action: str, type: str, id: str) -> bool:
    """Whether the realm's model has the action; `platform/platform`: as one without a resource."""
    model = realm.system.model
    declared = model.operations.get(action)
    if declared is None:
        return model.spelled.get(action, action) in model.privileges
    return type != PLATFORM or id != PLATFORM or NONE in declared.rules


def only_realm(realms: Sequence[RealmState], type: str, form: IdForm) -> RealmState | None:
    """The one realm in which a name of this type and form is possible, or None.

    INVARIANT: no other realm fits such a type and id (`realm_of`); it is not checked whether this
    one does.
    """
    if form is IdForm.EMPTY or type == PLATFORM:
        return None
    possible = [realm for realm in realms if _is_possible(realm, type, form)]
    return possible[0] if len(possible) == 1 else None


def _is_possible(realm: RealmState, type: str, form: IdForm) -> bool:
    model = realm.system.model
    if not realm.system.identities.is_possible(type, form):
        return False
    return model.open_types or type in model.types or type.lower() in model.types

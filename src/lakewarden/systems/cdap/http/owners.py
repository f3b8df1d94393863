"""Owner principals: the users as whom programs run, and who may set them.

Creating something with an owner requires the right to make that principal an owner, in addition to
the creation itself. The effective owner is the one in the request, else the principal of the
namespace; the namespace `system` has none.
SOURCE: cdap reference 2.9, 3.4, 4.10 (P9).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal
from lakewarden.service.state import RealmState
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http.authorization import Requirement
from lakewarden.systems.cdap.http.bodies import Json
from lakewarden.systems.cdap.http.creating import PRINCIPAL
from lakewarden.systems.cdap.http.ids import SYSTEM, namespace_of
from lakewarden.systems.cdap.http.refusals import of_another_owner

RELATION: Final = "owner_principal"
"""From a namespace to the principal as which its programs run."""


def principal_entity(name: str) -> Entity:
    """The principal of that name; raises `BadInput` if it is invalid."""
    cdap.user_of(name)
    return cdap.parse("kerberosprincipal", name)


def of_namespace(state: RealmState, namespace: Entity) -> str | None:
    """The principal that the namespace was created with."""
    coded = state.matrix.snapshot.coded
    id = coded.tree.find(namespace)
    if id is None or namespace == SYSTEM:
        return None
    names = [coded.tree.entity(target).name for target, _ in coded.relations[RELATION].of(id)]
    return names[0] if names else None


def effective(state: RealmState, entity: Entity, principal: str | None) -> str | None:
    """The principal as which an object of a namespace runs; None: the platform itself."""
    return of_namespace(state, namespace_of(entity)) if principal is None else principal


def requirements(owner: str | None) -> Sequence[Requirement]:
    """The requirements for a creation with this owner, in addition to the creation itself."""
    return [] if owner is None else [Requirement("principal.use", principal_entity(owner))]


def person(state: RealmState, owner: str | None) -> Principal | None:
    """The user as whom an owner acts."""
    if owner is None:
        return None
    return state.system.spelled(Principal(USER, cdap.user_of(owner)))


def check_same(
    state: RealmState, operation: str, entity: Entity, body: Json, principal: str | None
) -> None:
    """Raises `Failure` 403 if an existing object has another owner than the given one.

    An owner of its own must be repeated; without one, the namespace's owner may be given. `body` is
    the document. SOURCE: cdapio/cdap, SecurityUtil.verifyOwnerPrincipal at v5.1.2.
    """
    own = str(body[PRINCIPAL]) if body.get(PRINCIPAL) else None
    if (own, principal) != (None, None) and principal != effective(state, entity, own):
        raise of_another_owner(operation, entity)

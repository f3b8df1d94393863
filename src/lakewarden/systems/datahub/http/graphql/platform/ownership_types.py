"""Ownership types: their creation, change and deletion.

SOURCE: datahub reference 1.1; datahub-project/datahub:…/resolvers/ownership.
"""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    Kind,
    change,
    creation,
    deletion,
)
from lakewarden.systems.datahub.http.graphql.platform.listing import Listing
from lakewarden.systems.datahub.http.graphql.records import Input, members
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases import ownership_types

_ASPECT: Final = "ownershipTypeInfo"
_TYPE: Final = "ownershipType"
_MANAGE: Final = "ownership_type.manage"


_KIND: Final = Kind(
    _TYPE,
    _ASPECT,
    members("name", "description"),
    stamps=("created", "lastModified"),
    audited_as="ownershipType",
)


def _remove(changes: AspectChanges, type: Entity, input: Input) -> None:
    if input.get("deleteReferences"):
        ownership_types.clear_type(changes.transaction, changes.realm, type.name)


RESOLVERS: Final[Resolvers] = {
    "Query": {"listOwnershipTypes": Listing(_TYPE, _ASPECT, "ownershipTypes")},
    "Mutation": {
        "createOwnershipType": creation(_KIND, _MANAGE),
        "updateOwnershipType": change(_KIND, _MANAGE),
        "deleteOwnershipType": deletion(_KIND, _MANAGE, _remove),
    },
}

"""Users, groups and roles: what is said of them, and what they say of themselves.

SOURCE: datahub reference 6.3, 6.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import entities
from lakewarden.systems.datahub.http.graphql.pages.assets import key
from lakewarden.systems.datahub.http.graphql.pages.following import Fields, many, naming, one, under
from lakewarden.systems.datahub.http.graphql.pages.part import (
    Part,
    aspect,
    custom_properties,
    typed,
)
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_USER: Final = "corpUserInfo"
_OWN: Final = "corpUserEditableInfo"
_GROUP: Final = "corpGroupInfo"


def _status(user: Entity, info: Info) -> str | None:
    word = info.context.aspect(user, "corpUserStatus").get("status")
    return word if word in ("ACTIVE", "SUSPENDED") else None


def _role(member: str) -> Any:
    return lambda role, info: entities.role_info(info.context, role)[member]


def _persona(part: Part, _info: Info) -> Mapping[str, str] | None:
    found = part.text("persona")
    return None if found is None else {"urn": found}


_OF_USER: Final[Fields] = {
    "customProperties": custom_properties,
    "manager": one(naming(_USER, under("managerUrn"), "corpuser")),
}

RESOLVERS: Final[Resolvers] = {
    "CorpUser": {
        "username": key(-1),
        "properties": aspect(_USER),
        "info": aspect(_USER),
        "editableProperties": aspect(_OWN),
        "editableInfo": aspect(_OWN),
        "status": _status,
    },
    "CorpUserProperties": _OF_USER,
    "CorpUserInfo": _OF_USER,
    "CorpUserEditableProperties": {
        "persona": _persona,
        "platforms": many(naming(_OWN, under("platforms"), "dataPlatform")),
    },
    "CorpGroup": {
        "name": key(-1),
        "properties": aspect(_GROUP),
        "info": aspect(_GROUP),
        "editableProperties": aspect("corpGroupEditableInfo"),
        "origin": aspect("origin"),
    },
    "CorpGroupInfo": {
        "admins": many(naming(_GROUP, under("admins"), "corpuser")),
        "members": many(naming(_GROUP, under("members"), "corpuser")),
    },
    "DataHubRole": {"name": _role("name"), "description": _role("description")},
    "Origin": {"type": typed(otherwise="UNKNOWN")},
}

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
    flag,
    number,
    text,
    texts,
    word,
)
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_USER: Final = "corpUserInfo"
_OWN: Final = "corpUserEditableInfo"
_GROUP: Final = "corpGroupInfo"

_SAID: Final = (
    *("displayName", "email", "title", "departmentName", "firstName", "lastName", "fullName"),
    "countryCode",
)
_TOLD: Final = ("displayName", "title", "aboutMe", "pictureLink")


def _status(user: Entity, info: Info) -> str | None:
    word = info.context.aspect(user, "corpUserStatus").get("status")
    return word if word in ("ACTIVE", "SUSPENDED") else None


def _role(member: str) -> Any:
    return lambda role, info: entities.role_info(info.context, role)[member]


def _persona(part: Part, _info: Info) -> Mapping[str, str] | None:
    found = part.text("persona")
    return None if found is None else {"urn": found}


_OF_USER: Final[Fields] = {
    **{name: text(name) for name in _SAID},
    "active": flag("active"),
    "customProperties": custom_properties,
    "departmentId": number("departmentId"),
    "manager": one(naming(_USER, under("managerUrn"), "corpuser")),
}
_OF_ITSELF: Final[Fields] = {
    **{name: text(name) for name in _TOLD},
    "skills": texts("skills"),
    "teams": texts("teams"),
}
_OF_GROUP: Final[Fields] = {
    name: text(name) for name in ("displayName", "description", "email", "slack")
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
    "CorpUserEditableInfo": _OF_ITSELF,
    "CorpUserEditableProperties": {
        **_OF_ITSELF,
        "slack": text("slack"),
        "phone": text("phone"),
        "email": text("email"),
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
    "CorpGroupProperties": _OF_GROUP,
    "CorpGroupInfo": {
        **{name: _OF_GROUP[name] for name in ("displayName", "description", "email")},
        "admins": many(naming(_GROUP, under("admins"), "corpuser")),
        "members": many(naming(_GROUP, under("members"), "corpuser")),
        "groups": texts("groups"),
    },
    "CorpGroupEditableProperties": {
        "description": text("description"),
        "slack": text("slack"),
        "email": text("email"),
        "pictureLink": text("pictureLink"),
    },
    "DataHubRole": {"name": _role("name"), "description": _role("description")},
    "Origin": {
        "type": word("type", ("NATIVE", "EXTERNAL"), "UNKNOWN"),
        "externalType": text("externalType"),
    },
}

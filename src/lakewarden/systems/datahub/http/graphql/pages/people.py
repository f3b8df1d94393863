"""Users and roles: fields that the schema cannot declare. SOURCE: datahub reference 6.3, 6.7."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lakewarden.systems.datahub.http.graphql import entities
from lakewarden.systems.datahub.http.graphql.aspect_record import Record
from lakewarden.systems.datahub.http.graphql.resolving import Field, Info, Resolvers


def _of_role(member: str) -> Field:
    return lambda role, info: entities.role_info(info.context, role)[member]


def _persona(properties: Record, _info: Info) -> Mapping[str, str] | None:
    urn = properties.text("persona")
    return None if urn is None else {"urn": urn}


RESOLVERS: Final[Resolvers] = {
    "CorpUserEditableProperties": {"persona": _persona},
    "DataHubRole": {"name": _of_role("name"), "description": _of_role("description")},
}

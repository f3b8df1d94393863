"""Profiles and contacts of users and groups: two privileges, one mutation.

SOURCE: CorpUserType, CorpGroupType.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import page_edit, shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.links import check_address
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.records import Input
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_CONTACT: Final = ("slack", "phone", "email")
_MEMBERS: Final[Mapping[str, str]] = {"platformUrns": "platforms", "personaUrn": "persona"}
"""Members of an input with a different name in the aspect."""


def _profile_update(type: str, aspect: str, operation: str) -> page_edit.PageEdit:
    """Checks `operation` for everything except contacts, and for an empty input."""

    def ask(edit: Edit, entity: Entity, input: Input) -> None:
        contacts = input["input"].keys() & set(_CONTACT)
        if not contacts or input["input"].keys() - contacts:
            edit.ask(operation, entity)
        if contacts:
            edit.ask("contact.edit", entity)

    def update(edit: Edit, entity: Entity, input: Input) -> None:
        if not input["input"]:
            raise bad("`input`: expected something to be changed")
        changed = {_MEMBERS.get(key, key): value for key, value in input["input"].items()}
        edit.put(entity, aspect, {**shapes.editable_value(edit, entity, aspect), **changed})

    return page_edit.change(page_edit.by_urn(type), ask, update, reads={"input": _provided_members})


def _provided_members(_: Call, argument: str, input: Input) -> Input:
    """The given members of the input; raises `Failure` 400 for values that no page can show."""
    provided = {key: value for key, value in input[argument].items() if value is not None}
    if "pictureLink" in provided:
        check_address("pictureLink", provided["pictureLink"])
    targets.parse_entities("platformUrns", provided.get("platformUrns", ()), "dataPlatform")
    if "personaUrn" in provided:
        targets.parse_entity("personaUrn", provided["personaUrn"], "dataHubPersona")
    return provided


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "updateCorpUserProperties": _profile_update(
            "corpuser", "corpUserEditableInfo", "user.profile.edit"
        ),
        "updateCorpGroupProperties": _profile_update(
            "corpGroup", "corpGroupEditableInfo", "docs.edit"
        ),
    }
}

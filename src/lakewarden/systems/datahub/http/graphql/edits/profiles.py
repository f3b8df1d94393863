"""What users and groups say of themselves, and how they are reached: two rights, one mutation.

SOURCE: CorpUserType, CorpGroupType.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import page_edit, shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.links import checked
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.records import Input
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_CONTACT: Final = ("slack", "phone", "email")
_MEMBERS: Final[Mapping[str, str]] = {"platformUrns": "platforms", "personaUrn": "persona"}
"""Members of an input that have another name in the aspect."""


def _updating(type: str, aspect: str, operation: str) -> page_edit.PageEdit:
    """`operation` is asked for everything but contacts, and where nothing is given."""

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
        edit.put(entity, aspect, {**shapes.begun(edit, entity, aspect), **changed})

    return page_edit.change(page_edit.by_urn(type), ask, update, reads={"input": _provided_members})


def _provided_members(_: Call, argument: str, input: Input) -> Input:
    """The members of the input that are given; raises `Failure` 400 for what no page could show."""
    provided = {key: value for key, value in input[argument].items() if value is not None}
    if "pictureLink" in provided:
        checked("pictureLink", provided["pictureLink"])
    targets.all_parsed("platformUrns", provided.get("platformUrns", ()), "dataPlatform")
    if "personaUrn" in provided:
        targets.parsed("personaUrn", provided["personaUrn"], "dataHubPersona")
    return provided


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "updateCorpUserProperties": _updating(
            "corpuser", "corpUserEditableInfo", "user.profile.edit"
        ),
        "updateCorpGroupProperties": _updating("corpGroup", "corpGroupEditableInfo", "docs.edit"),
    }
}

"""What users and groups say of themselves, and how they are reached: two rights, one mutation.

SOURCE: CorpUserType, CorpGroupType.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.edits import shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.links import checked
from lakewarden.systems.datahub.http.graphql.edits.shown import shown
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_CONTACT: Final = ("slack", "phone", "email")
_KEYS: Final[Mapping[str, str]] = {"platformUrns": "platforms", "personaUrn": "persona"}
"""Fields of an input that the aspect calls otherwise."""


def _updating(type: str, aspect: str, operation: str) -> Callable[..., Entity | None]:
    """`operation` is asked for everything but contacts, and where nothing is given."""

    def update(_: object, info: Info, urn: str, input: Input) -> Entity | None:
        entity = targets.parsed("urn", urn, type)
        given = {key: value for key, value in input.items() if value is not None}
        _check(given)

        def task(edit: Edit) -> None:
            for asked in _asked(given, operation):
                edit.ask(asked, entity)
            targets.check_there(edit, entity)
            if not given:
                raise bad("`input`: expected something to be changed")
            new = {_KEYS.get(key, key): value for key, value in given.items()}
            edit.put(entity, aspect, {**shapes.begun(edit, entity, aspect), **new})

        authorization.edit(info.context, task)
        return shown(info.context, entity)

    return update


def _asked(given: Iterable[str], operation: str) -> list[str]:
    keys = set(given)
    asked = ["contact.edit"] if keys & set(_CONTACT) else []
    return asked if keys and keys <= set(_CONTACT) else [operation, *asked]


def _check(given: Input) -> None:
    """Raises `Failure` 400 for what a page could not show."""
    if "pictureLink" in given:
        checked("pictureLink", given["pictureLink"])
    targets.all_parsed("platformUrns", given.get("platformUrns", ()), "dataPlatform")
    if "personaUrn" in given:
        targets.parsed("personaUrn", given["personaUrn"], "dataHubPersona")


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "updateCorpUserProperties": _updating(
            "corpuser", "corpUserEditableInfo", "user.profile.edit"
        ),
        "updateCorpGroupProperties": _updating("corpGroup", "corpGroupEditableInfo", "docs.edit"),
    }
}

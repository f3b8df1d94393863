"""Assertions of every kind: how often, how many rows, what a statement finds, which columns.

What the record does not say is null. SOURCE: AssertionInfo, AssertionActions and
AssertionRunEvent of acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from typing import Final

from lakewarden.systems.datahub.http.graphql.pages import columns
from lakewarden.systems.datahub.http.graphql.pages.association import SHARED
from lakewarden.systems.datahub.http.graphql.pages.part import (
    Field,
    Part,
    aspect,
    entries,
)
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.listing import shown
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers


def _urn(key: str) -> Field:
    """What a claim is about, if the caller is shown that."""

    def resolve(of: Part, info: Info) -> str | None:
        found = shown(info.context, shapes.entity(of.get(key)))
        return None if found is None else found.name

    return resolve


def _flag(key: str) -> Field:
    def resolve(of: Part, _info: Info) -> bool | None:
        found = of.get(key)
        return found if isinstance(found, bool) else None

    return resolve


def _columns(claim: Part, info: Info) -> list[Part] | None:
    schema = claim.part("schema")
    if schema is None:
        return None
    said = (
        {
            "path": one.text("fieldPath"),
            "type": columns.type_of(one, info),
            "nativeType": one.text("nativeDataType"),
        }
        for one in schema.parts("fields")
    )
    return [claim.of(one) for one in said]


_ABOUT: Final = {"entityUrn": _urn("entity")}

RESOLVERS: Final[Resolvers] = {
    "Assertion": {"ownership": SHARED["ownership"], "actions": aspect("assertionActions")},
    "DatasetAssertionInfo": {"datasetUrn": _urn("dataset")},
    "CustomAssertionInfo": _ABOUT,
    "AssertionRunEvent": {"runtimeContext": entries("runtimeContext")},
    "FreshnessAssertionInfo": _ABOUT,
    "VolumeAssertionInfo": _ABOUT,
    "SqlAssertionInfo": _ABOUT,
    "FieldAssertionInfo": _ABOUT,
    "FieldValuesAssertion": {"excludeNulls": _flag("excludeNulls")},
    "SchemaAssertionInfo": {**_ABOUT, "fields": _columns},
}

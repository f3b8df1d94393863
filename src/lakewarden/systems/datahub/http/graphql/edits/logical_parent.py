"""Logical parents of datasets and columns, in any pair: both sides are asked about."""

from __future__ import annotations

from typing import Final

from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.edits import targets
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_ASPECT: Final = "logicalParent"
_TYPES: Final = ("dataset", "schemaField")


def _set(_: object, info: Info, input: Input) -> bool:
    child = targets.parsed("resourceUrn", input["resourceUrn"], *_TYPES)
    urn = input.get("parentUrn")
    parent = None if urn is None else targets.parsed("parentUrn", urn, *_TYPES)

    def task(edit: Edit) -> bool:
        if parent is None:
            edit.ask("logical_parent.clear", child)
            targets.check_there(edit, child)
            if edit.has(child, _ASPECT):
                edit.put(child, _ASPECT, {})
            return True
        edit.ask("logical_parent.set", child, targets={"logical": parent})
        targets.check_there(edit, child)
        targets.check_named(edit, "parentUrn", parent)
        edge: Value = {"destinationUrn": parent.name, "sourceUrn": child.name}
        stamps = {"created": edit.stamp, "lastModified": edit.stamp}
        edit.put(child, _ASPECT, {"parent": {**edge, **stamps}})
        return True

    return authorization.edit(info.context, task)


RESOLVERS: Final[Resolvers] = {"Mutation": {"setLogicalParent": _set}}

"""Logical parents of datasets and columns: both sides are asked about."""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.names import datahub
from lakewarden.service.aspects import Value
from lakewarden.service.edits import Edit
from lakewarden.wire.datahub.graphql import guarding
from lakewarden.wire.datahub.graphql.edits import targets
from lakewarden.wire.datahub.graphql.edits.targets import Input
from lakewarden.wire.datahub.graphql.errors import bad
from lakewarden.wire.datahub.graphql.resolving import Info, Resolvers

_ASPECT: Final = "logicalParent"
_TYPES: Final = ("dataset", "schemaField")


def _set(_: object, info: Info, input: Input) -> bool:
    child = targets.parsed("resourceUrn", input["resourceUrn"], *_TYPES)
    urn = input.get("parentUrn")
    parent = None if urn is None else targets.parsed("parentUrn", urn, child.type)
    if parent == child:
        raise bad("`parentUrn`: nothing is its own logical parent")

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
        _check_logical(edit, parent)
        edge: Value = {"destinationUrn": parent.name, "sourceUrn": child.name}
        stamps = {"created": edit.stamp, "lastModified": edit.stamp}
        edit.put(child, _ASPECT, {"parent": {**edge, **stamps}})
        return True

    return guarding.edit(info.context, task)


def _check_logical(edit: Edit, parent: Entity) -> None:
    """Raises `Failure` 400 unless the parent's platform says that it is logical."""
    dataset = parent if parent.type == "dataset" else datahub.parent(parent)
    if dataset is None or dataset.type != "dataset":
        raise bad(f"`parentUrn`: expected a column of a dataset, got `{parent.name}`")
    platform = Entity("dataPlatform", datahub.key_parts(dataset.name)[0])
    if edit.value(platform, "dataPlatformInfo").get("logical") is not True:
        raise bad(f"`parentUrn`: `{parent.name}` is not on a logical platform")


RESOLVERS: Final[Resolvers] = {"Mutation": {"setLogicalParent": _set}}

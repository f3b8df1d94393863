"""Logical parents of datasets and columns, in any pair: both sides are asked about."""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.edits import page_edit
from lakewarden.systems.datahub.http.graphql.edits.page_edit import (
    by_urn,
    change,
    exists,
    reference,
)
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_ASPECT: Final = "logicalParent"
_PARENT: Final = "parentUrn"
_TYPES: Final = ("dataset", "schemaField")


def _ask(edit: Edit, child: Entity, input: Input) -> None:
    parent = input.get(_PARENT)
    if parent is None:
        edit.ask("logical_parent.clear", child)
    else:
        edit.ask("logical_parent.set", child, targets={"logical": parent})


def _set(edit: Edit, child: Entity, input: Input) -> None:
    parent = input.get(_PARENT)
    if parent is not None:
        stamps = {"created": edit.stamp, "lastModified": edit.stamp}
        edge = {"destinationUrn": parent.name, "sourceUrn": child.name, **stamps}
        edit.put(child, _ASPECT, {"parent": edge})
    elif edit.has(child, _ASPECT):
        edit.put(child, _ASPECT, {})


RESOLVERS: Final[Resolvers] = page_edit.resolvers(
    {
        "setLogicalParent": change(
            by_urn(*_TYPES, of="resourceUrn"),
            _ask,
            _set,
            reads={_PARENT: reference(*_TYPES)},
            check=exists(_PARENT),
        )
    }
)

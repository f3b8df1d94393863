"""Bodies about the declarations of a model: operations, privileges, fields and settings."""

from __future__ import annotations

from typing import Literal

from lakewarden.http.admin.bodies.base import ResponseBody


class OperationResponse(ResponseBody, kw_only=True):
    """An operation of a model; `rules` by target type, `none` for no resource.

    `kind` is whether it reads, changes or administers; `ways` are the kinds of access that it
    stands for; `group` is the prefix of its name.
    """

    name: str
    title: str
    kind: Literal["read", "change", "administer"]
    ways: list[str]
    types: list[str]
    group: str
    rules: dict[str, str]
    targets: dict[str, list[str]]
    lists: dict[str, list[str]]


class PrivilegeResponse(ResponseBody, kw_only=True):
    """A privilege of a model, and the types on which it can be granted.

    `display` is its display name, `group` its heading. A privilege that is not `grantable` is
    implied by others only.
    """

    name: str
    title: str
    display: str
    group: str
    grantable: bool
    on: list[str]


class FieldResponse(ResponseBody, kw_only=True):
    """A field for criteria of statements.

    `values` is the kind of its values, `types` the types of these entities (empty: any). `below`:
    a value also matches its descendants. Without `grants`, only filters and masks choose by it.
    """

    name: str
    values: Literal["type", "entity", "principal", "text"]
    types: list[str]
    below: bool
    grants: bool


class ModelSettingResponse(ResponseBody, kw_only=True):
    """A setting of a model: its values, its default, and by value what it weakens.

    A setting without `values` is a comma-separated list of entity types.
    """

    name: str
    title: str
    values: list[str]
    default: str
    weakens: dict[str, str]


class Vocabulary(ResponseBody, kw_only=True):
    """The operations, privileges, fields and settings of a realm's model.

    `limits` are the effects that limit what a read returns: those of the model's rows and columns.
    """

    model: str
    title: str
    limits: list[Literal["filter", "mask"]]
    settings: list[ModelSettingResponse]
    operations: list[OperationResponse]
    privileges: list[PrivilegeResponse]
    fields: list[FieldResponse]

"""The bodies of loads of rows."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field

from lakewarden.http.admin.bodies.base import RequestBody, ResponseBody
from lakewarden.http.admin.field_types import ModelFile
from lakewarden.service.load import MAX_QUARANTINED


class QuarantinedRowRequest(RequestBody, kw_only=True):
    """A row that the pipeline rejected: of which table, why, and where it stood in the input."""

    table: str
    reason: str
    detail: str = ""
    place: str = ""


class QuarantineRequest(RequestBody, kw_only=True):
    """The rows that the pipeline rejected: how many, the first of them, and the directory."""

    total: Annotated[int, Meta(ge=0)]
    first: Annotated[list[QuarantinedRowRequest], Meta(max_length=MAX_QUARANTINED)] = field(
        default_factory=list
    )
    directory: str = ""


class LoadRequest(RequestBody, kw_only=True):
    """Rows to load by table, with the model and the settings that they need.

    `quarantine` are the rows that the pipeline rejected, for the audit trail.
    """

    model: str
    model_text: ModelFile | UnsetType = UNSET
    settings: dict[str, str] = field(default_factory=dict)
    prune: bool = False
    quarantine: QuarantineRequest | None = None
    entities: list[tuple[str, str, str | None, str | None]] = field(default_factory=list)
    relations: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    attributes: list[tuple[str, str, str, str]] = field(default_factory=list)
    owners: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    principals: list[tuple[str, str]] = field(default_factory=list)
    memberships: list[tuple[str, str, str, str]] = field(default_factory=list)
    statements: list[dict[str, Any]] = field(default_factory=list)


class RowCounts(ResponseBody, kw_only=True):
    """The numbers of added and changed rows of a table, and of stored rows that were not sent."""

    new: int
    changed: int
    gone: int


class LoadResponse(ResponseBody, kw_only=True):
    """The result of a load; `left` are statements of other keepers, which stay unchanged."""

    new: bool
    revision: int
    pruned: bool
    rows: dict[str, RowCounts]
    left: list[str]

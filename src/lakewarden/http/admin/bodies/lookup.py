"""The bodies of routes about tables of values."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from lakewarden.expressions.lookup import COLUMN_TYPES, LOOKUP_NAME, MAX_COLUMNS, MAX_ROWS
from lakewarden.http.admin.bodies.base import RequestBody, ResponseBody
from lakewarden.http.admin.field_types import described

ColumnName = Annotated[str, described(pattern=f"^{LOOKUP_NAME}$")]
ColumnType = Annotated[str, described(enum=[type.value for type in COLUMN_TYPES])]
Row = list[str | int | bool]


class LookupColumnRequest(RequestBody, kw_only=True):
    """A column of a lookup table."""

    name: ColumnName
    type: ColumnType = "string"


class LookupRequest(RequestBody, kw_only=True):
    """A lookup table. Decimals, dates and timestamps are texts.

    `force` replaces one with other columns although a filter or a mask uses it.
    """

    columns: Annotated[
        list[LookupColumnRequest], described(minItems=1, maxItems=MAX_COLUMNS, uniqueItems=True)
    ]
    rows: Annotated[list[Row], described(maxItems=MAX_ROWS)] = field(default_factory=list)
    force: bool = False


class LookupColumnResponse(ResponseBody, kw_only=True):
    """A column of a lookup table."""

    name: str
    type: str


class LookupResponse(ResponseBody, kw_only=True):
    """A lookup table."""

    name: str
    columns: list[LookupColumnResponse]
    rows: list[Row]


class LookupRow(ResponseBody, kw_only=True):
    """A lookup table without its rows, and the filters and masks that use it."""

    name: str
    columns: list[LookupColumnResponse]
    rows: int
    used_by: list[str]


class Lookups(ResponseBody, kw_only=True):
    """The lookup tables of a realm."""

    lookups: list[LookupRow]

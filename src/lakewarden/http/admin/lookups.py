"""Lookup tables of a realm: the values with which its row filters and column masks compare."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import field

from lakewarden.expressions.lookup import (
    COLUMN_TYPES,
    LOOKUP_NAME,
    MAX_COLUMNS,
    MAX_ROWS,
    LookupTable,
    write_lookup,
)
from lakewarden.http.admin.bodies.base import RequestBody, ResponseBody
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult, Parameter
from lakewarden.http.admin.field_types import described
from lakewarden.http.exchange import Exchange
from lakewarden.service import lookup_tables
from lakewarden.service.control import Denied

_FORCE = Parameter(
    "force", "remove it although a filter or a mask uses it", choices=("true", "false")
)
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


def listed(exchange: Exchange) -> HandlerResult:
    """The lookup tables of a realm."""
    realm = exchange.params["realm"]
    tables = lookup_tables.listed(exchange.state, exchange.actor, realm, exchange.now)
    if isinstance(tables, Denied):
        return tables
    state = exchange.state.realm(realm)
    return Lookups(
        lookups=[
            LookupRow(
                name=name,
                columns=_response(name, table).columns,
                rows=len(table.rows),
                used_by=lookup_tables.users_of(state, name),
            )
            for name, table in tables.items()
        ]
    )


def load(exchange: Exchange) -> HandlerResult:
    """One lookup table."""
    realm, name = exchange.params["realm"], exchange.params["name"]
    table = lookup_tables.load(exchange.state, exchange.actor, realm, name, exchange.now)
    return table if isinstance(table, Denied) else _response(name, table)


def put(exchange: Exchange, body: LookupRequest) -> HandlerResult:
    """Declares a lookup table; replaces the one with its name."""
    realm, name = exchange.params["realm"], exchange.params["name"]
    table: dict[str, Any] = msgspec.to_builtins(body)
    force = table.pop("force")
    declared = exchange.write(
        lambda transaction: lookup_tables.put(transaction, realm, name, table, force=force)
    )
    return declared if isinstance(declared, Denied) else _response(name, declared)


def remove(exchange: Exchange) -> HandlerResult:
    """Removes a lookup table."""
    realm, name = exchange.params["realm"], exchange.params["name"]
    force = exchange.one("force") == "true"
    return exchange.write(
        lambda transaction: lookup_tables.remove(transaction, realm, name, force=force)
    )


def _response(name: str, table: LookupTable) -> LookupResponse:
    return msgspec.convert({"name": name, **write_lookup(table)}, LookupResponse)


_LOOKUP = "/realms/{realm}/lookups/{name}"

ENDPOINTS = (
    Endpoint(
        "GET",
        "/realms/{realm}/lookups",
        "lookup.list",
        listed,
        "list lookup tables",
        response=Lookups,
    ),
    Endpoint("GET", _LOOKUP, "lookup.list", load, "read a lookup table", response=LookupResponse),
    Endpoint(
        "PUT",
        _LOOKUP,
        "lookup.put",
        put,
        "declare a lookup table",
        request=LookupRequest,
        response=LookupResponse,
    ),
    Endpoint("DELETE", _LOOKUP, "lookup.remove", remove, "remove a lookup table", query=(_FORCE,)),
)

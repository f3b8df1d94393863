"""Lookup tables of a realm: the values with which its row filters and column masks compare."""

from __future__ import annotations

from typing import Any

import msgspec

from lakewarden.expressions.lookup import LookupTable, write_lookup
from lakewarden.http.admin.bodies.lookup import LookupRequest, LookupResponse, LookupRow, Lookups
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult, Parameter
from lakewarden.http.exchange import Exchange
from lakewarden.service import lookup_tables
from lakewarden.service.control import Denied

_FORCE = Parameter(
    "force", "remove it although a filter or a mask uses it", choices=("true", "false")
)


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

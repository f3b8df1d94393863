"""Lookup tables of a realm, whose rows filters and masks use.

They are part of the realm's declaration. A table that a filter or a mask uses cannot be removed,
unless forced: then each filter or mask that uses it hides all rows, or the value, and lint reports
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from lakewarden.expressions.lookup import LookupTable, check_lookup_name, read_lookup, types_of
from lakewarden.kernel.errors import BadInput, Conflict, LimitExceeded, Unknown
from lakewarden.kernel.statement import OBLIGING
from lakewarden.kernel.toml_section import Section
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.effect import RealmChanged
from lakewarden.service.obligation_check import lookups_read, newly_broken
from lakewarden.service.state import RealmState, State
from lakewarden.service.statements import stored
from lakewarden.service.system import System
from lakewarden.service.write_transaction import WriteTransaction

MAX_TABLES: Final = 100
"""The most lookup tables of one realm."""

MAX_CHARACTERS: Final = 1_000_000
"""The most characters of all values in a realm's lookup tables."""


def listed(
    state: State, actor: Actor, realm: str, now: float
) -> Mapping[str, LookupTable] | Denied:
    """The lookup tables of a realm, by name. Raises `Unknown` for no such realm."""
    refused = control.denied_in(state, actor, "lookup.list", realm, now)
    if refused is not None:
        return refused
    return dict(sorted(state.realm(realm).realm.lookups.items()))


def load(state: State, actor: Actor, realm: str, name: str, now: float) -> LookupTable | Denied:
    """One lookup table. Raises `Unknown` for no such realm or lookup table."""
    tables = listed(state, actor, realm, now)
    if isinstance(tables, Denied):
        return tables
    if name not in tables:
        known = ", ".join(tables) or "none"
        raise Unknown("lookup table", name, f"there are: {known}")
    return tables[name]


def users_of(realm: RealmState, name: str) -> list[str]:
    """The ids of the filters and masks that use a lookup table."""
    return sorted(id for id, one in stored(realm).items() if name in lookups_read(one))


def put(
    transaction: WriteTransaction,
    realm: str,
    name: str,
    table: Mapping[str, object],
    *,
    force: bool = False,
) -> LookupTable | Denied:
    """Declares a lookup table; replaces the one with the same name.

    Raises `BadInput` for a malformed table, `LimitExceeded` for one that is too large, and unless
    forced `Conflict` if a filter or a mask could no longer use it.
    """
    refused = control.authorize_in_realm(transaction, "lookup.put", realm, lookup=name)
    if refused is not None:
        return refused
    realm_state = transaction.realm(realm)
    check_lookup_name(name, "name")
    lookup = read_lookup(Section(table, "body"))
    lookups = {**realm_state.realm.lookups, name: lookup}
    check_lookups(realm_state.system, lookups)
    if not force:
        _check_uses(realm_state, lookups)
    _store(transaction, realm_state, lookups)
    return lookup


def remove(
    transaction: WriteTransaction, realm: str, name: str, *, force: bool = False
) -> Denied | None:
    """Removes a lookup table, if it is declared.

    Raises `Conflict` if a filter or a mask uses it, unless forced.
    """
    refused = control.authorize_in_realm(
        transaction, "lookup.remove", realm, lookup=name, force=force
    )
    if refused is not None:
        return refused
    realm_state = transaction.realm(realm)
    lookups = {one: table for one, table in realm_state.realm.lookups.items() if one != name}
    if not force:
        _check_uses(realm_state, lookups)
    _store(transaction, realm_state, lookups)
    return None


def check_lookups(system: System, lookups: Mapping[str, LookupTable]) -> None:
    """Refuses too many lookup tables, and any in a system without rows and columns.

    Raises `BadInput`, `LimitExceeded`.
    """
    if lookups and not any(map(system.model.supports, OBLIGING)):
        raise BadInput(f"{system.model.title} has no rows to filter and no columns to mask")
    if len(lookups) > MAX_TABLES:
        raise LimitExceeded(f"{len(lookups)} lookup tables, at most {MAX_TABLES} are allowed")
    characters = sum(lookup.characters for lookup in lookups.values())
    if characters > MAX_CHARACTERS:
        raise LimitExceeded(
            f"the lookup tables have {characters:,} characters, at most {MAX_CHARACTERS:,} are"
            " allowed"
        )


def _check_uses(realm: RealmState, after: Mapping[str, LookupTable]) -> None:
    before = types_of(realm.realm.lookups)
    broken = newly_broken(stored(realm).values(), before, types_of(after))
    if broken:
        ids = ", ".join(f"`{id}`" for id in broken)
        raise Conflict(f"the lookup table is used by {ids}; change these first, or force it")


def _store(
    transaction: WriteTransaction, realm: RealmState, lookups: Mapping[str, LookupTable]
) -> None:
    if lookups != realm.realm.lookups:
        declared = replace(realm.realm, lookups=lookups)
        transaction.change(declared.name, RealmChanged(declared.name, declared))

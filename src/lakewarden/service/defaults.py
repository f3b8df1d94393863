"""The statements that a system ships: built-in ones, and those that the first start applies.

A default of the model file without a set is part of the system and always present. A default in a
set is present if the setting `bootstrap` selects that set; editable ones may have been deleted, and
deleted ones stay deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from lakewarden.kernel.change import StatementAdded, StatementRemoved
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Table
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.effect import Effect, RealmChanged
from lakewarden.service.realm import Realm
from lakewarden.service.system import System

BOOTSTRAP = "bootstrap"
"""The setting that selects the set of defaults."""


def built_in(system: System) -> tuple[Statement, ...]:
    """The default statements without a set, which are always present."""
    return _read(system, (table for table in system.model.defaults if "set" not in table))


def default_statements(
    system: System, deleted: frozenset[str] = frozenset()
) -> tuple[Statement, ...]:
    """The built-in statements and those of the selected set, without the `deleted` ones.

    Raises `BadInput` for a deleted id that is not a default, or that cannot be deleted.
    """
    chosen = system.model.settings.get(BOOTSTRAP, "")
    for id in sorted(deleted):
        if id not in system.model.default_ids:
            raise BadInput(f"`{id}` is not a default statement of {system.model.title}")
        if id in system.model.immutable_ids:
            raise BadInput(f"the default statement `{id}` cannot be deleted")
    remaining = (t for t in system.model.defaults if str(t.get("id", "")) not in deleted)
    return _read(system, (table for table in remaining if _is_chosen(table, chosen)))


def deletions(realm: Realm, system: System, effects: Iterable[Effect]) -> Iterator[Effect]:
    """The change of the realm's deleted defaults, if the effects delete or restore some."""
    removed, put = set[str](), set[str]()
    for effect in effects:
        if isinstance(effect, StatementRemoved):
            removed.add(effect.id)
        elif isinstance(effect, StatementAdded):
            put.add(effect.statement.id)
    declared = with_deletions(realm, system, removed=removed, put=put)
    if declared != realm:
        yield RealmChanged(realm.name, declared)


def with_deletions(
    realm: Realm, system: System, *, removed: Collection[str] = (), put: Collection[str] = ()
) -> Realm:
    """The declaration after statements were removed and put, by id: it records deleted defaults."""
    defaults = system.model.default_ids.intersection(removed)
    return replace(realm, deleted=(realm.deleted | defaults).difference(put))


def _is_chosen(table: Table, chosen: str) -> bool:
    sets = table.get("set", chosen)
    return sets == chosen or (isinstance(sets, list) and chosen in sets)


def _read(system: System, tables: Iterable[Table]) -> tuple[Statement, ...]:
    plain = [{k: v for k, v in t.items() if k not in ("set", "editable")} for t in tables]
    where = f"{system.model.name}: defaults"
    return read_statements(plain, system.model, system.spelling, where, builtin=True)

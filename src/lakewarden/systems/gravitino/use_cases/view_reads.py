"""The entities that a view reads, in Gravitino's names: the values of its attribute `reads`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.systems.gravitino import names

_MAX_READS: Final = 1_000
"""The maximum number of names stored for one view."""


def view_reads(view: Entity, document: Mapping[str, object]) -> tuple[str, ...]:
    """The names that the representations of a view's document read, without duplicates, in order.

    A name without a catalog or schema is in the default one of the document, else in the view's.
    Invalid names for Gravitino are left out.
    """
    own = names.parts(view)
    default = (
        _text(document.get("defaultCatalog")) or own[1],
        _text(document.get("defaultSchema")) or own[2],
    )
    listed = document.get("representations")
    read = {
        text
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, Mapping)
        for text in query_reads(own[0], default, _text(one.get("sql")), _text(one.get("dialect")))
    }
    return tuple(sorted(read)[:_MAX_READS])


def query_reads(metalake: str, default: tuple[str, str], sql: str, dialect: str) -> Iterator[str]:
    """The names that one query reads; `default` is the catalog and schema of unqualified names."""
    # Imported here, because the SQL parser takes a while to load, and few processes need it.
    from lakewarden.expressions.view_sources import view_sources

    for source in view_sources(sql, dialect):
        table = f"{source.catalog or default[0]}.{source.schema or default[1]}.{source.table}"
        try:
            yield _spelled(metalake, "table", table)
        except WardenError:
            continue
        for column in source.columns or ():
            try:
                yield _spelled(metalake, "column", f"{table}.{column}")
            except WardenError:
                continue


def _spelled(metalake: str, type: str, full_name: str) -> str:
    return str(names.entity(metalake, type, full_name))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

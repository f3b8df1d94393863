"""The columns and tables that a view's query reads, from the dataset's aspect `viewProperties`.

Used by lint, which finds views that expose masked columns; no decision uses it. A text that is not
SQL, or cannot be parsed, gives no names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.fields import without_avro_type

ASPECT: Final = "viewProperties"
_DATASET: Final = "dataset"
_SQL: Final = "sql"
_MAX_READS: Final = 1_000
"""The maximum number of names stored for one view."""

_DIALECTS: Final[Mapping[str, str]] = {
    "delta-lake": "spark",
    "glue": "hive",
    "mssql": "tsql",
    "unity-catalog": "databricks",
}
"""Platforms whose SQL dialect has a different name."""


def view_reads(dataset: Entity, value: object) -> tuple[str, ...]:
    """The names that a view reads, as in the attribute `reads`, without duplicates, in order.

    Tables are datasets of the view's platform and environment. A name with fewer parts than the
    view's gets the view's leading parts.

    >>> view = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,shop.v,PROD)")
    >>> view_reads(view, {"viewLogic": "select iban from orders", "viewLanguage": "SQL"})[1][:7]
    'schemaF'
    """
    if dataset.type != _DATASET or not isinstance(value, Mapping):
        return ()
    logic, language = (without_avro_type(value.get(key)) for key in ("viewLogic", "viewLanguage"))
    if not isinstance(logic, str) or not isinstance(language, str) or language.lower() != _SQL:
        return ()
    return tuple(sorted(set(_reads(dataset, logic)))[:_MAX_READS])


def _reads(view: Entity, sql: str) -> Iterator[str]:
    # Imported here, because the SQL parser takes a while to load, and few processes need it.
    from lakewarden.expressions.view_sources import view_sources

    platform, name, environment = datahub.key_parts(view.name)
    own = tuple(name.split("."))
    called = platform.rpartition(":")[2]
    for source in view_sources(sql, _DIALECTS.get(called, called)):
        written = tuple(part for part in source[:3] if part)
        table = ".".join((*own[: max(len(own) - len(written), 0)], *written))
        urn = f"urn:li:dataset:({platform},{table},{environment})"
        yield from _spelled(_DATASET, urn)
        for column in source.columns or ():
            yield from _spelled("schemaField", f"urn:li:schemaField:({urn},{column})")


def _spelled(type: str, urn: str) -> Iterator[str]:
    """The URN after its type; nothing for an invalid URN of DataHub."""
    try:
        entity = datahub.parse(type, urn)
    except BadInput:
        return
    yield str(entity)

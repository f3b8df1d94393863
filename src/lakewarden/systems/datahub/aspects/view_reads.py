"""What the query of a dataset that is a view reads, from its aspect `viewProperties`.

Read for lint, which finds views that hand on masked columns; no decision looks at it. A text that
is no SQL, or that cannot be read, names nothing.
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
"""Of one view no more are kept."""

_DIALECTS: Final[Mapping[str, str]] = {
    "delta-lake": "spark",
    "glue": "hive",
    "mssql": "tsql",
    "unity-catalog": "databricks",
}
"""Platforms whose SQL has another name than they have."""


def view_reads(dataset: Entity, value: object) -> tuple[str, ...]:
    """What a view reads, in the form of the attribute `reads`, each once, in order.

    Tables are datasets of the view's platform and environment. A name with fewer parts than the
    view's has those of the view in front.

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
    # Here, because the library that reads SQL takes a while to load, and few processes need it.
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
    """The URN behind its type, nothing for what is no URN of DataHub's."""
    try:
        entity = datahub.parse(type, urn)
    except BadInput:
        return
    yield f"{entity.type}:{entity.name}"

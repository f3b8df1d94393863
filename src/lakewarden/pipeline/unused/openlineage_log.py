"""Run events of OpenLineage, as Spark, Airflow and dbt send them, read into touches.

A run that is COMPLETE read its `inputs` and wrote its `outputs`, at `eventTime`. Of other runs it
is not known how far they came, so they are no access. A dataset is the first of its `symlinks` of
the type TABLE, or itself: `catalog.schema.table`, or `schema.table` where the mapping names the
catalog. Names with a `/` are files, which are no tables.

Events have no standard for who ran a job. Spark's name `userName`; for others the mapping says
where the event has it, or as whom the jobs run. Facets about ownership say who answers for a job
or a dataset, not who ran it, and are not read.

SOURCE: OpenLineage specification, OpenLineage.json, RunEvent; SymlinksDatasetFacet.json; its Spark
integration, SparkApplicationDetailsFacet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.ingest.files import File
from lakewarden.pipeline.unused.access_record import Touch, day_of, text_of, value_at
from lakewarden.pipeline.unused.log_lines import Read, json_object, lines, or_error
from lakewarden.pipeline.unused.mapping import Tables

_PARTS: Final = ("catalog", "schema", "table")
_COMPLETE: Final = "COMPLETE"


def read_openlineage(file: File, tables: Tables) -> Read:
    """The accesses of a file of run events. Raises `BadInput` for a damaged file."""
    for place, line in lines(file):
        yield from or_error(place, line, partial(_event, tables))


def _event(tables: Tables, place: str, line: str) -> Iterator[Touch]:
    event = json_object(place, line)
    if str(event.get("eventType", "")).upper() != _COMPLETE:
        return
    touched = set()
    for key, act in (("inputs", tables.read), ("outputs", tables.write)):
        touched |= {(act, names) for names in _tables(event, key)}
    for act, names in sorted(touched):
        on = tables.entity.of(dict(zip(_PARTS[-len(names) :], names, strict=True)))
        who = tables.principal.of(event)
        yield Touch(place, who, act, on, day_of(event.get("eventTime")))


def _tables(event: Mapping[str, object], key: str) -> Iterator[tuple[str, ...]]:
    """The names of the tables in a list of datasets."""
    datasets = event.get(key) or []
    if not isinstance(datasets, list):
        raise BadInput(f"expected a list of `{key}`")
    for dataset in datasets:
        if not isinstance(dataset, Mapping):
            raise BadInput(f"expected objects in `{key}`")
        name = _name(dataset)
        if "/" not in name:
            yield tuple(_parts(name))


def _name(dataset: Mapping[str, object]) -> str:
    linked = value_at(dataset, "facets.symlinks.identifiers")
    for one in linked if isinstance(linked, list) else ():
        if isinstance(one, Mapping) and one.get("type") == "TABLE":
            return text_of(one, "name")
    return text_of(dataset, "name")


def _parts(name: str) -> Sequence[str]:
    parts = name.split(".")
    if len(parts) not in (2, 3) or not all(parts):
        raise BadInput(f"expected schema and table, or catalog, schema and table in `{name}`")
    return parts

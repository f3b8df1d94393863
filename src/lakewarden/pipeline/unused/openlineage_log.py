"""Run events of OpenLineage from Spark, Airflow and dbt, parsed into touches.

A run that is COMPLETE has read its `inputs` and written its `outputs`, at `eventTime`. For other
runs it is unknown how far they came, so they are no access. A dataset is named by the first of its
`symlinks` of the type TABLE, or by itself: `catalog.schema.table`, or `schema.table` if the mapping
names the catalog. Names with a `/` are files, not tables.

Events have no standard field for the user who ran a job. Spark's have `userName`; for others, the
mapping names the path in the event, or the principal that the jobs run as. Ownership facets say who
is responsible for a job or a dataset, not who ran it, and are ignored.

SOURCE: OpenLineage specification, OpenLineage.json, RunEvent; SymlinksDatasetFacet.json; its Spark
integration, SparkApplicationDetailsFacet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.ingest.files import File
from lakewarden.pipeline.unused.access_record import LoggedAccess, day_of, text_of, value_at
from lakewarden.pipeline.unused.log_lines import Read, json_object, lines, or_error
from lakewarden.pipeline.unused.mapping import Tables

_PARTS: Final = ("catalog", "schema", "table")
_COMPLETE: Final = "COMPLETE"


def read_openlineage(file: File, tables: Tables) -> Read:
    """The accesses of a file of run events. Raises `BadInput` for a damaged file."""
    for place, line in lines(file):
        yield from or_error(place, line, partial(_event, tables))


def _event(tables: Tables, place: str, line: str) -> Iterator[LoggedAccess]:
    event = json_object(place, line)
    if str(event.get("eventType", "")).upper() != _COMPLETE:
        return
    touched = set()
    for key, act in (("inputs", tables.read), ("outputs", tables.write)):
        touched |= {(act, names) for names in _tables(event, key)}
    for act, names in sorted(touched):
        on = tables.entity.of(dict(zip(_PARTS[-len(names) :], names, strict=True)))
        who = tables.principal.of(event)
        yield LoggedAccess(place, who, act, on, day_of(event.get("eventTime")))


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

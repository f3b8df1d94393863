"""Events of OpenLineage, as Airflow, Spark and dbt send them, as jobs and datasets of DataHub.

Each event becomes the change proposals that DataHub's own receiver of OpenLineage makes of it: its
datasets and its job exist, and the facets `ownership`, `tags` and `lifecycleStateChange` are their
aspects. The newest event of an aspect counts, by `eventTime`. Events are read on the driver; the
memory needed grows with the datasets and jobs, not with the events.

SOURCE: OpenLineage specification, OpenLineage.json (RunEvent, JobEvent, DatasetEvent), and its
facets of ownership, tags, symlinks and lifecycle. datahub-project/datahub, openlineage-converter:
OpenLineagePlatformResolver, OpenLineageDatasetMapper, OpenLineageJobMapper, HdfsPathDataset.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Final

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.ingest.files import find, inputs_of
from lakewarden.pipeline.ingest.json_file import Record, records
from lakewarden.pipeline.ingest.opener import Opener, Options
from lakewarden.pipeline.ingest.source import Progress, Reading
from lakewarden.pipeline.storage.location import Location, location
from lakewarden.service.source_row import Row
from lakewarden.service.system import System
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.ingest import replay
from lakewarden.systems.datahub.ingest.file import SUFFIXES
from lakewarden.systems.datahub.ingest.proposal import Write, writes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENVIRONMENT: Final = "PROD"
TABLE_PLATFORM: Final = "hive"
"""DataHub's platform of tables that a symlink names, except those of Glue."""

NO_URN: Final = "dataset whose name is no URI"

_KEY: Final = {"dataset": "datasetKey", "dataFlow": "dataFlowKey", "dataJob": "dataJobKey"}
_PLATFORMS: Final = {"awsathena": "athena", "sqlserver": "mssql"}
_FILES: Final = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), "abs"),
    **{name: name for name in ("dbfs", "file")},
}
"""Schemes of files, and DataHub's platform of each."""

_GLUE: Final = ("aws:glue:", "arn:aws:glue:")
_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://[^\s<>\"{}|\\^`]*")
_PRODUCER: Final = re.compile(
    r"https?://github\.com/(?:"
    r"(?:apache|trinodb)/(airflow|trino)(?:/.*)?"
    r"|openlineage/openlineage/(?:(?:blob|tree)/[^/]+/)?integration/(airflow|flink|spark|trino)/?"
    r")(?:[?#].*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class OpenLineageFile:
    """The event files at a path."""

    kind: ClassVar[str] = "openlineage-file"
    model: ClassVar[str] = "datahub"
    path: Location
    options: Mapping[str, str] = field(default_factory=dict)

    def inputs(self) -> Sequence[Input]:
        """See `Source`."""
        return inputs_of(find(self.path, SUFFIXES))

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`."""
        newest = _Newest(system.model)
        urns = _Urns(
            self.options.get("environment", ENVIRONMENT),
            self.options.get("platform", TABLE_PLATFORM),
        )
        files = find(self.path, SUFFIXES)
        for done, file in enumerate(files, 1):
            for record in records(file.path, file.name):
                newest.add(_Event(record, file.name, urns))
            progress("read", done, len(files) + 1, f"{newest.events:,} events")
        return Reading(list(newest.rows()), ignored=dict(sorted(newest.ignored.items())))


class _Newest:
    """The newest write of each aspect of each entity."""

    def __init__(self, model: Model) -> None:
        self.events = 0
        self.ignored = Counter[str]()
        self._model = model
        self._writes: dict[str, dict[str, tuple[datetime, Write]]] = {}

    def add(self, event: _Event) -> None:
        """Adds an event; events may come in any order."""
        self.events += 1
        for urn, aspect, value in event.aspects():
            if urn is None:
                self.ignored[NO_URN] += 1
                continue
            proposal: dict[str, object] = {
                "entityType": urn.split(":")[2],
                "entityUrn": urn,
                "aspectName": aspect,
                "aspect": {"json": value},
            }
            record = Record(event.record.line, event.record.path, proposal)
            for write in writes(record, event.file, self._model):
                assert isinstance(write, Write)  # noqa: S101 — INVARIANT: a proposal is one
                self._put(write, event.time)

    def _put(self, write: Write, time: datetime) -> None:
        by_aspect = self._writes.setdefault(write.urn, {})
        known = by_aspect.get(write.aspect)
        if known is None or known[0] <= time:
            by_aspect[write.aspect] = (time, write)

    def rows(self) -> Iterator[Row]:
        """The rows of all entities."""
        for by_aspect in self._writes.values():
            yield from replay.rows((write for _, write in by_aspect.values()), self._model)


class _Event:
    """One event of OpenLineage. Raises `BadInput` for a record that is none."""

    def __init__(self, record: Record, file: str, urns: _Urns) -> None:
        path = f": {record.path}" if record.path else ""
        self.record, self.file, self._urns = record, file, urns
        self._fields = Fields(record.value, f"{file}: line {record.line}{path}")
        if "job" not in self._fields and "dataset" not in self._fields:
            raise BadInput("expected `job` or `dataset`", where=self._fields.where)
        self.time = _moment(self._fields)

    def aspects(self) -> Iterator[tuple[str | None, str, object]]:
        """URN, name and value of each aspect; without a URN what DataHub cannot name."""
        job, dataset = (self._fields.object_or_none(key) for key in ("job", "dataset"))
        if job is not None:
            yield from self._job(job)
        for fields in (*self._fields.objects("inputs"), *self._fields.objects("outputs"), dataset):
            if fields is not None:
                yield from self._dataset(fields)

    def _job(self, job: Fields) -> Iterator[tuple[str | None, str, object]]:
        flow, urn = self._urns.job(self._fields, job)
        yield flow, _KEY["dataFlow"], {}
        yield urn, _KEY["dataJob"], {}
        facets = _facets(job)
        run = self._fields.object_or_none("run")
        tags = [*_tags(facets), *(() if run is None else _tags(_facets(run)))]
        yield from ((urn, *aspect) for aspect in _labels(facets, tags))

    def _dataset(self, dataset: Fields) -> Iterator[tuple[str | None, str, object]]:
        urn = self._urns.dataset(dataset)
        facets = _facets(dataset)
        yield urn, _KEY["dataset"], {}
        if urn is not None:
            yield urn, "status", {"removed": _is_dropped(facets)}
            yield from ((urn, *aspect) for aspect in _labels(facets, _tags(facets)))


def _moment(event: Fields) -> datetime:
    text = event.text("eventTime")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        message = "expected a time such as 2026-01-31T10:00:00Z"
        raise BadInput(message, where=event.at("eventTime")) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _facets(fields: Fields) -> Fields:
    return fields.object_or_none("facets") or Fields({}, fields.at("facets"))


def _tags(facets: Fields) -> list[str]:
    facet = facets.object_or_none("tags")
    tags = [] if facet is None else facet.objects("tags")
    names = (tag.text_or_none("key") or tag.text_or_none("value") for tag in tags)
    return [name for name in names if name is not None]


def _labels(facets: Fields, tags: Sequence[str]) -> Iterator[tuple[str, object]]:
    """The aspects of an entity's owners and tags; none of a facet that is missing or empty.

    As in DataHub, every owner is a user, whatever kind the name begins with.
    """
    ownership = facets.object_or_none("ownership")
    owners = [] if ownership is None else ownership.objects("owners")
    if owners:
        names = [owner.text("name") for owner in owners]
        yield "ownership", {"owners": [{"owner": f"urn:li:corpuser:{name}"} for name in names]}
    if tags:
        yield "globalTags", {"tags": [{"tag": f"urn:li:tag:{tag}"} for tag in sorted({*tags})]}


def _is_dropped(facets: Fields) -> bool:
    change = facets.object_or_none("lifecycleStateChange")
    return change is not None and change.text_or_none("lifecycleStateChange") == "DROP"


class _Urns:
    """The URNs of jobs and datasets.

    A dataset that a symlink names once has this name also in events without the symlink.
    """

    def __init__(self, environment: str, table_platform: str) -> None:
        self._environment = environment
        self._table_platform = table_platform
        self._aliases: dict[str, str] = {}

    def job(self, event: Fields, job: Fields) -> tuple[str, str]:
        """The URNs of the flow and of the job."""
        namespace, name = job.text("namespace"), job.text("name")
        flow = f"urn:li:dataFlow:({_orchestrator(event, job)},{name.split('.')[0]},{namespace})"
        return flow, f"urn:li:dataJob:({flow},{name})"

    def dataset(self, dataset: Fields) -> str | None:
        """The URN of a dataset; None if its name is no URI."""
        named = self._urn(dataset.text("namespace"), dataset.text("name"))
        symlinks = _facets(dataset).object_or_none("symlinks")
        tables = [
            one
            for one in ([] if symlinks is None else symlinks.objects("identifiers"))
            if one.text_or_none("type") == "TABLE"
        ]
        if not tables:
            return named if named is None else self._aliases.get(named, named)
        table = tables[-1]
        is_glue = table.text("namespace").startswith(_GLUE)
        name = table.text("name")
        if name.startswith("table/"):
            name = name.removeprefix("table/").replace("/", ".")
        urn = self._urn("glue" if is_glue else self._table_platform, name)
        if named is not None and urn is not None:
            self._aliases[named] = urn
        return urn

    def _urn(self, namespace: str, name: str) -> str | None:
        if "://" not in namespace + name:
            return self._of(namespace, name)
        if "://" not in namespace:
            address = name
        else:
            slash = "" if namespace.endswith("/") or name.startswith("/") else "/"
            address = f"{namespace}{slash}{name}"
        uri = _URI.fullmatch(address)
        if uri is None:
            return None
        scheme = uri[1]
        if scheme not in _FILES:
            return self._of(_PLATFORMS.get(scheme, scheme), name)
        address = address.rstrip("/")
        if address.count("://") != 1:
            return self._of("hdfs", address)
        path = address.partition("://")[2]
        return self._of(_FILES[scheme], path if scheme == "file" else path.removeprefix("/"))

    def _of(self, platform: str, name: str) -> str:
        return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},{self._environment})"


def _orchestrator(event: Fields, job: Fields) -> str:
    """The first that is known: the integration, the engine, the producer."""
    job_type = _facets(job).object_or_none("jobType")
    run = event.object_or_none("run")
    engine = None if run is None else _facets(run).object_or_none("processing_engine")
    producer = _PRODUCER.fullmatch(event.text_or_none("producer") or "")
    named = (
        None if job_type is None else job_type.text_or_none("integration"),
        None if engine is None else engine.text_or_none("name"),
        None if producer is None else producer[1] or producer[2],
    )
    for name in named:
        if name is not None and name.strip():
            text = name.strip().lower()
            return _PLATFORMS.get(text, text)
    return "unknown"


def _open(place: str, _model: str, options: Options) -> OpenLineageFile:
    return OpenLineageFile(location(place), {k: str(v) for k, v in sorted(options.items())})


SOURCE: Final = Opener(("datahub",), _open, options=("environment", "platform"))

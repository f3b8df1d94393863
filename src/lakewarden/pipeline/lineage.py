"""OpenLineage events of jobs: their inputs, their output, and how they ended.

The client reads its transport from its own variables and file (`OPENLINEAGE_URL`,
`OPENLINEAGE_CONFIG`, `OPENLINEAGE__TRANSPORT__…`, `openlineage.yml`). Without any of them nothing
is sent, and the client is not loaded. If an event cannot be sent, a warning is shown and the job
continues. Addresses of databases and systems are named without credentials.

Source: OpenLineage, specification 2-0-2, and its naming of datasets.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lakewarden import __version__
from lakewarden.kernel.errors import Unavailable
from lakewarden.names.secret import masked, plain_address
from lakewarden.pipeline.storage.location import Location, location
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.version_folder import MANIFEST

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import InputDataset, OutputDataset, RunEvent
    from openlineage.client.facet_v2 import DatasetFacet

NAMESPACE: Final = "OPENLINEAGE_NAMESPACE"
"""The variable with the namespace of jobs, as for other producers."""

PRODUCER: Final = f"urn:lakewarden:{__version__}"
_VARIABLE: Final = "OPENLINEAGE_"
_FILES: Final = ("openlineage.yml", "~/.openlineage/openlineage.yml")
_FILE: Final = "file"

Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Dataset:
    """An input or output of a job: its place and name; for a folder of ours also its content."""

    namespace: str
    name: str
    version: str = ""
    rows: int | None = None


def dataset(place: str | Location) -> Dataset:
    """The dataset at a path or an address, without credentials and query.

    >>> dataset("postgresql+psycopg://ana:secret@db:5432/estate?sslmode=require")
    Dataset(namespace='postgresql+psycopg://db:5432', name='estate', version='', rows=None)
    >>> dataset("env:SOURCE_URL")
    Dataset(namespace='env', name='SOURCE_URL', version='', rows=None)
    """
    if isinstance(place, RemotePath):
        return Dataset(place.root, place.key, *_content(place))
    text = str(place)
    if "://" in text:
        scheme, _, rest = plain_address(text).partition("://")
        host, _, name = rest.partition("/")
        return Dataset(f"{scheme}://{host}", name.strip("/"))
    if text.startswith("env:"):
        return Dataset("env", text.removeprefix("env:"))
    path = location(text).resolve()
    version, rows = _content(path)
    return Dataset(_FILE, path.as_posix(), version, rows)


def _content(path: Location) -> tuple[str, int | None]:
    """The version of a folder of ours, and the number of rows of its tables."""
    try:
        manifest = json.loads((path / MANIFEST).read_text("utf-8"))
        return str(manifest["version"]), sum(t["rows"] for t in manifest["tables"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, Unavailable):
        return "", None


@contextmanager
def recorded(
    job: str, reads: Sequence[str | Location], out: Location, *, warn: Warn = lambda _: None
) -> Iterator[str]:
    """Sends the events of one run: its start, then its completion or failure with the reason.

    Yields the id of the run; it is empty if no events are sent.
    """
    client = _client(warn)
    if client is None:
        yield ""
        return
    from openlineage.client.uuid import generate_new_uuid

    name, id = f"{job}.{out.name}", str(generate_new_uuid())
    run = _Run(client, name, id, tuple(map(dataset, reads)), out, warn)
    run.tell("START")
    try:
        yield id
    except BaseException as error:
        run.tell("FAIL", masked(str(error)) or type(error).__name__)
        raise
    run.tell("COMPLETE")


def is_configured(variables: Mapping[str, str] = os.environ) -> bool:
    """Whether the client is configured to send events."""
    is_set = any(name.startswith(_VARIABLE) and name != NAMESPACE for name in variables)
    return is_set or any(Path(file).expanduser().is_file() for file in _FILES)


def _client(warn: Warn) -> OpenLineageClient | None:
    return _loaded(warn) if is_configured() else None


def _loaded(warn: Warn) -> OpenLineageClient | None:
    try:
        from openlineage.client import OpenLineageClient
    except ImportError:
        warn("no lineage is sent: pip install 'lakewarden[lineage]'")
        return None
    try:
        return OpenLineageClient()
    except Exception as error:  # noqa: BLE001 — the client checks its settings and raises any error
        warn(f"no lineage is sent: {error}")
        return None


@dataclass
class _Run:
    """One run of a job."""

    client: OpenLineageClient
    job: str
    id: str
    reads: Sequence[Dataset]
    out: Location
    warn: Warn

    def tell(self, state: str, error: str = "") -> None:
        """Sends an event."""
        try:
            self.client.emit(self._event(state, error))
        except Exception as failure:  # noqa: BLE001 — each transport raises its own errors
            self.warn(f"lineage was not sent: {failure}")

    def _event(self, state: str, error: str) -> RunEvent:
        from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
        from openlineage.client.facet_v2 import error_message_run, processing_engine_run

        facets: dict[str, Any] = {
            "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
                version=__version__, name="lakewarden"
            )
        }
        if error:
            facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(
                message=error, programmingLanguage="python"
            )
        return RunEvent(
            eventType=RunState[state],
            eventTime=datetime.now(UTC).isoformat(),
            run=Run(self.id, facets),
            job=Job(os.environ.get(NAMESPACE, "lakewarden"), self.job),
            producer=PRODUCER,
            inputs=[_input(one) for one in self.reads],
            outputs=[_output(dataset(self.out), is_made=state == "COMPLETE")],
        )


def _input(of: Dataset) -> InputDataset:
    from openlineage.client.event_v2 import InputDataset

    return InputDataset(of.namespace, of.name, facets=_versioned(of))


def _output(of: Dataset, *, is_made: bool) -> OutputDataset:
    """The output; until it is made, the folder still has the content of the previous version."""
    from openlineage.client.event_v2 import OutputDataset
    from openlineage.client.facet_v2 import output_statistics_output_dataset as statistics

    if not is_made:
        return OutputDataset(of.namespace, of.name)
    made = OutputDataset(of.namespace, of.name, facets=_versioned(of))
    if of.rows is not None:
        rows = statistics.OutputStatisticsOutputDatasetFacet(rowCount=of.rows)
        made.outputFacets = {"outputStatistics": rows}
    return made


def _versioned(of: Dataset) -> dict[str, DatasetFacet]:
    from openlineage.client.facet_v2 import dataset_version_dataset

    if not of.version:
        return {}
    return {"version": dataset_version_dataset.DatasetVersionDatasetFacet(of.version)}

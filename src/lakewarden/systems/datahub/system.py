"""What DataHub brings."""

from __future__ import annotations

from typing import Final

from lakewarden.registry import SystemDefinition

SYSTEM: Final = SystemDefinition(
    name="datahub",
    title="DataHub",
    package="lakewarden.systems.datahub",
    models={"datahub": "model.toml"},
    spellings={"datahub": "names"},
    settings="settings:DataHubSettings",
    dialect="http:DataHub",
    first_start="first_start:FIRST_START",
    extractor="extract:EXTRACTOR",
    datasets="dataset_names:DATASETS",
    sample="sample:SAMPLE",
    sources={"datahub-file": "ingest:SOURCE"},
    precedence=2,
)

"""The parts of CDAP."""

from __future__ import annotations

from typing import Final

from lakewarden.registry import SystemDefinition

SYSTEM: Final = SystemDefinition(
    name="cdap",
    title="CDAP",
    package="lakewarden.systems.cdap",
    models={"cdap": "model.toml", "cdap_parent_write": "model_parent_write.toml"},
    spellings={"cdap": "names"},
    settings="settings:CdapSettings",
    dialect="http:Cdap",
    first_start="first_start:FIRST_START",
    extractor="extract:EXTRACTOR",
    sample="sample:SAMPLE",
    sources={"cdap-file": "ingest:SOURCE"},
    single_headers=("cdap-userid",),
    precedence=3,
)

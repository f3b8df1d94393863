"""The parts of DataHub."""

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
    dbt="ingest.dbt:DBT",
    sample="sample:SAMPLE",
    sources={
        "datahub-file": "ingest.file:SOURCE",
        "openlineage-file": "ingest.openlineage:SOURCE",
    },
    precedence=2,
    search="search.stored_terms:SEARCH",
    engines={"trino": "engines/trino.toml"},
    owner_rules="ingest.ownership:rules_of",
    passwords="use_cases.native_user",
    policies="aspects.policy:policy_statement",
    documents="use_cases.policy_document",
    token_record="use_cases.access_token:remove_record",  # noqa: S106 — a reference, no secret
    column_types="use_cases.column_types:column_types",
    column_name="use_cases.column_types:column_name",
    column_spelling="use_cases.column_types:column_spelling",
    internal_users=frozenset({"__datahub_system"}),
    operator_users=frozenset({"datahub"}),
)

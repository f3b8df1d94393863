"""The parts of Apache Gravitino."""

from __future__ import annotations

from typing import Final

from lakewarden.registry import SystemDefinition

SYSTEM: Final = SystemDefinition(
    name="gravitino",
    title="Apache Gravitino",
    package="lakewarden.systems.gravitino",
    models={"gravitino": "model.toml"},
    spellings={"gravitino": "names"},
    settings="settings:GravitinoSettings",
    dialect="http:Gravitino",
    first_start="first_start:FIRST_START",
    extractor="extract:EXTRACTOR",
    dbt="ingest.dbt:DBT",
    sample="sample:SAMPLE",
    column_types="use_cases.column_types:column_types",
    locations="locations:LOCATED",
    push_styles="push:STYLES",
    sources={
        "gravitino-file": "ingest.file:SOURCE",
        "ranger-file": "ingest.ranger_file:SOURCE",
        "sql": "ingest.sql:SOURCE",
        "unity-catalog": "ingest.catalogs.unity_server:UNITY_SERVER",
        "unity-catalog-file": "ingest.catalogs.source:UNITY",
        "glue": "ingest.catalogs.aws_glue:GLUE",
        "glue-file": "ingest.catalogs.source:GLUE",
        "hive-metastore": "ingest.catalogs.database:HIVE",
        "iceberg-rest": "ingest.catalogs.iceberg_rest:ICEBERG_REST",
        "people-file": "ingest.catalogs.source:PEOPLE",
        "bigquery-file": "ingest.catalogs.source:BIGQUERY",
        "snowflake-file": "ingest.catalogs.source:SNOWFLAKE",
    },
    engines={
        "hdfs": "engines/hdfs.toml",
        "hive": "engines/hive.toml",
        "iceberg": "engines/iceberg.toml",
        "kafka": "engines/kafka.toml",
        "mysql": "engines/mysql.toml",
        "polaris": "engines/polaris.toml",
        "postgresql": "engines/postgresql.toml",
        "spark": "engines/spark.toml",
        "trino": "engines/trino.toml",
    },
    single_headers=("x-gravitino-active-roles",),
    precedence=1,
)

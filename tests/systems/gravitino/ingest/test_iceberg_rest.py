"""An Iceberg REST catalog with real tables, ingested over its protocol."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType, StructType

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.extract.original import Credential
from lakewarden.pipeline.ingest.opener import opener_of
from lakewarden.pipeline.ingest.run import Result, ingest
from tests.http.iceberg.rest_catalog import TOKEN, RestCatalog, rest_catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ADDRESS = StructType(NestedField(4, "town", StringType()))
COLUMNS = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "to", ADDRESS),
)


def ingested(catalog: RestCatalog, out: Path, spark: SparkSession, token: str = TOKEN) -> Result:
    options = {"metalake": "lk", "catalog": "ice", "credential": Credential(token)}
    source = opener_of("iceberg-rest").open(catalog.address, "gravitino", options)
    return ingest(source, out, spark=spark)


def test_namespaces_tables_and_columns(unstarted: SparkSession, tmp_path: Path) -> None:
    with rest_catalog(tmp_path / "catalog") as catalog:
        for namespace in ("shop", "raw", "empty"):
            catalog.tables.create_namespace(namespace)
        for name in ("orders", "people", "totals"):
            catalog.tables.create_table(("shop", name), COLUMNS)
        catalog.tables.create_table(("raw", "orders"), COLUMNS)
        result = ingested(catalog, tmp_path / "out", unstarted)
        assert not ingested(catalog, tmp_path / "out", unstarted).is_new
        with pytest.raises(BadInput, match="refuses the credential"):
            ingested(catalog, tmp_path / "other", unstarted, "wrong")
    entities = {row.entity for row in load(tmp_path / "out").facts.entities}
    by_type = {
        type: {one.name.removeprefix("lk:ice.") for one in entities if one.type == type}
        for type in ("schema", "table", "column")
    }
    tables = {"shop.orders", "shop.people", "shop.totals", "raw.orders"}
    assert by_type == {
        "schema": {"shop", "raw", "empty"},
        "table": tables,
        "column": {f"{name}.{column}" for name in tables for column in ("id", "to", "to.town")},
    }
    assert "grants (the API has no request for them)" in result.report.not_read
    assert result.manifest.source == "iceberg-rest"

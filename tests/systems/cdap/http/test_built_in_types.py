"""Built-in types of datasets, by their short names and by their classes."""

from __future__ import annotations

import pytest

from lakewarden.systems.cdap.http.creating import BUILT_IN_TYPES
from tests.systems.cdap.http.wire import BOSS, Wire

SPACE = "namespaces/sales"
DATASETS = f"{SPACE}/data/datasets"
VERSION = {"Artifact-Version": "1.0"}


@pytest.fixture
def space(wire: Wire) -> Wire:
    """An empty namespace."""
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    wire.good("PUT", SPACE)
    return wire


@pytest.mark.parametrize(
    "type",
    [
        "co.cask.cdap.api.dataset.table.Table",
        "co.cask.cdap.api.dataset.lib.KeyValueTable",
        "co.cask.cdap.api.dataset.lib.PartitionedFileSet",
        "co.cask.cdap.api.dataset.lib.cube.Cube",
        "fileSet",
        "indexedObjectStore",
    ],
)
def test_a_type_that_is_built_in_is_not_custom_by_whatever_name(space: Wire, type: str) -> None:
    assert type in BUILT_IN_TYPES
    space.grant("dana", "dataset:sales.own", "ADMIN")
    space.good("PUT", f"{DATASETS}/own", {"typeName": type}, user="dana")
    found = space.good("GET", f"{DATASETS}/own", user="dana")
    assert found["spec"]["type"] == found["type"]["name"] == type
    path = f"namespaces/system/data/types/{type}"
    assert space.good("GET", path, user="stranger")["name"] == type


def test_a_class_beside_those_of_the_platform_is_custom(space: Wire) -> None:
    space.grant("dana", "dataset:sales.own", "ADMIN")
    other = {"typeName": "co.cask.cdap.api.dataset.table.Tables"}
    status, text = space.ask("PUT", f"{DATASETS}/own", other, user="dana")
    assert status == 403
    assert "dataset_type:sales.co.cask.cdap.api.dataset.table.Tables" in text


def test_an_application_takes_nothing_on_a_class_of_the_platform(space: Wire) -> None:
    for id in ("artifact:sales.etl", "application:sales.shop", "dataset:sales.sums"):
        space.grant("dana", id, "ADMIN")
    space.good("POST", f"{SPACE}/artifacts/etl", b"x", headers=VERSION, user="dana")
    kind = "co.cask.cdap.api.dataset.lib.KeyValueTable"
    config = {"datasets": [{"name": "sums", "type": kind}]}
    body = {"artifact": {"name": "etl", "version": "1.0"}, "config": config}
    space.good("PUT", f"{SPACE}/apps/shop", body, user="dana")
    assert space.good("GET", f"{DATASETS}/sums", user="dana")["spec"]["type"] == kind

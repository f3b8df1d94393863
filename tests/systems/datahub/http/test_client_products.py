"""Data products written by the client: by its command, and by its patches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.systems.datahub.http.commands import CLIENT, TOKEN, check_answered, run
from tests.systems.datahub.http.recorder import Recorder

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("datahub client")]

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
STOCK = ORDERS.replace("orders", "stock")
PRODUCT = "urn:li:dataProduct:basket"
FILE = {
    "id": "basket",
    "domain": "urn:li:domain:shop",
    "display_name": "Basket",
    "assets": [ORDERS],
    "owners": [{"id": "urn:li:corpuser:ana", "type": "BUSINESS_OWNER"}],
    "tags": ["urn:li:tag:pii"],
    "properties": {"tier": "gold"},
}
ABSENT = ("telemetry", "/urn%3Ali%3AdataProduct%3Abasket?aspect=", "aspect=ownershipTypeKey")


def test_the_command_makes_and_changes_a_data_product(
    python: Path, url: str, tmp_path: Path
) -> None:
    datahub = str(python.parent / "datahub")
    with Recorder(url) as recorder:

        def said(*words: str) -> str:
            return run([datahub, *words], recorder.url, tmp_path)

        (tmp_path / "product.yml").write_text(json.dumps({**FILE, "assets": []}))
        assert "Update succeeded" in said("dataproduct", "upsert", "-f", "product.yml")
        said("dataproduct", "add_owner", "--urn", "basket", "--owner", "urn:li:corpuser:bob")
        shown = json.loads(said("dataproduct", "get", "--urn", "basket"))
        assert (shown["domain"], shown["display_name"]) == ("urn:li:domain:shop", "Basket")
        assert "urn:li:corpuser:bob" in shown["owners"]
        check_answered(recorder, ABSENT)


@pytest.mark.nightly
def test_the_command_makes_changes_and_deletes_a_data_product(
    python: Path, url: str, tmp_path: Path
) -> None:
    datahub = str(python.parent / "datahub")
    with Recorder(url) as recorder:

        def said(*words: str) -> str:
            return run([datahub, *words], recorder.url, tmp_path)

        def properties() -> Any:
            return json.loads(said("get", "--urn", PRODUCT))["dataProductProperties"]

        (tmp_path / "status.json").write_text(json.dumps({"removed": False}))
        for urn in (ORDERS, STOCK):
            said("put", "aspect", "--urn", urn, "-a", "status", "-d", "status.json")
        for change in ({}, {"display_name": "Other", "assets": [ORDERS, STOCK]}):
            (tmp_path / "product.yml").write_text(json.dumps({**FILE, **change}))
            assert "Update succeeded" in said("dataproduct", "upsert", "-f", "product.yml")
        assert properties()["name"] == "Other"
        (tmp_path / "product.yml").write_text(json.dumps(FILE))
        assert "Update succeeded" in said("dataproduct", "update", "-f", "product.yml")
        said("dataproduct", "set_description", "--urn", "basket", "--description", "Together")
        said("dataproduct", "add_owner", "--urn", "basket", "--owner", "urn:li:corpuser:bob")
        said("dataproduct", "remove_owner", "--urn", "basket", "urn:li:corpuser:ana")
        said("dataproduct", "add_asset", "--urn", "basket", "--asset", STOCK)
        said("dataproduct", "remove_asset", "--urn", "basket", "--asset", ORDERS)
        found = properties()
        assert (found["name"], found["description"]) == ("Basket", "Together")
        assert [one["destinationUrn"] for one in found["assets"]] == [STOCK]
        shown = json.loads(said("dataproduct", "get", "--urn", "basket"))
        assert shown["domain"] == "urn:li:domain:shop"
        assert shown["owners"] == ["urn:li:corpuser:bob"]
        assert "Update needed" in said("dataproduct", "diff", "-f", "product.yml")
        said("dataproduct", "delete", "--urn", "basket")
        assert json.loads(said("get", "--urn", PRODUCT))["status"] == {"removed": True}
        said("dataproduct", "delete", "--urn", "basket", "--hard")
        assert "does not exist" in said("dataproduct", "get", "--urn", "basket")
        check_answered(recorder, ABSENT)


def test_the_patch_builders_make_and_change_what_they_say(
    python: Path, url: str, tmp_path: Path
) -> None:
    script = str(CLIENT / "patching.py")
    with Recorder(url) as recorder:
        said = run([str(python), "-P", script, recorder.url, TOKEN], recorder.url, tmp_path)
        assert said.splitlines()[-1] == "all: ok"
        check_answered(recorder, ("telemetry",))

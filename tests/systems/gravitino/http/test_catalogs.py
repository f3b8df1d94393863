"""A connection test reports errors by code; a missing version is not dropped."""

from __future__ import annotations

import pytest

from tests.systems.gravitino.http.small_lake import ML
from tests.systems.gravitino.http.wire import Json, Wire

TEST = f"{ML}/catalogs/testConnection"
NEW: Json = {"name": "new", "type": "relational", "provider": "hive"}


@pytest.mark.parametrize("wrong", [{"name": ""}, {"name": "a.b"}, {"provider": None}])
def test_what_a_test_finds_wrong_is_a_code_and_not_a_status(lake: Wire, wrong: Json) -> None:
    status, answer = lake.ask("POST", TEST, {**NEW, **wrong})
    assert (status, answer["code"], answer["type"]) == (200, 1001, "IllegalArgumentException")


def test_a_test_in_a_disabled_metalake_is_a_code_and_not_a_status(lake: Wire) -> None:
    lake.good("PATCH", ML, {"inUse": False})
    status, answer = lake.ask("POST", TEST, NEW)
    assert (status, answer["code"], answer["type"]) == (200, 1009, "MetalakeNotInUseException")


def test_what_cannot_be_read_and_a_refusal_have_their_status(lake: Wire) -> None:
    assert lake.ask("POST", TEST, {**NEW, "type": "paper"})[0] == 400
    assert lake.ask("POST", TEST, {"type": "relational"})[0] == 400
    assert lake.ask("POST", TEST, {**NEW, "name": ""}, user="eve")[0] == 403
    assert lake.ask("POST", TEST.replace("lk", "none"), NEW)[0] == 403


@pytest.mark.parametrize("version", ["versions/0", "aliases/x"])
def test_a_version_of_a_model_that_is_not_there_is_not_dropped(lake: Wire, version: str) -> None:
    models = f"{ML}/catalogs/mod/schemas/s/models"
    for model in ("m", "none"):
        assert lake.good("DELETE", f"{models}/{model}/{version}")["dropped"] is False
    absent = models.replace("/s/", "/none/")
    assert lake.bad("DELETE", f"{absent}/m/{version}") == (404, 1003, "NoSuchSchemaException")


def test_of_two_answers_to_force_the_first_counts(lake: Wire) -> None:
    in_use = (409, 1010, "CatalogInUseException")
    assert lake.bad("DELETE", f"{ML}/catalogs/rel?force=false&force=true") == in_use
    assert lake.good("DELETE", f"{ML}/catalogs/rel?force=TRUE&force=false")["dropped"]

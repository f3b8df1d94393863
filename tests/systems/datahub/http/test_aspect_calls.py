"""Rest.li, aspect by aspect: written as proposals, read, and the permissions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from lakewarden.systems.datahub.settings import DataHubSettings
from tests.systems.datahub.http.views import configure
from tests.systems.datahub.http.wire import REALM, Wire, proposal

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
STOCK = "urn:li:dataset:(urn:li:dataPlatform:hive,shop/stock,PROD)"
SHOP = "urn:li:domain:shop"
TAGS = {"tags": [{"tag": "urn:li:tag:pii"}]}
INGEST = "/aspects?action=ingestProposal"
BATCH = "/aspects?action=ingestProposalBatch"


def proposal_body(urn: str, aspect: str, value: object, change: str = "UPSERT") -> dict[str, Any]:
    return {"proposal": proposal(urn, aspect, value, change), "async": "false"}


def path(urn: str, aspect: str) -> str:
    return f"/aspects/{quote(urn, safe='')}?aspect={aspect}&version=0"


@pytest.mark.parametrize("below", ["", "/api/gms"])
def test_what_is_proposed_is_read_under_the_name_of_its_record(wire: Wire, below: str) -> None:
    assert wire.good("POST", below + INGEST, proposal_body(STOCK, "globalTags", TAGS)) == {
        "value": STOCK
    }
    body = wire.good("GET", below + path(STOCK, "globalTags"))
    assert body == {"aspect": {"com.linkedin.common.GlobalTags": TAGS}, "version": 0}
    key = wire.good("GET", path(STOCK, "datasetKey"))["aspect"]
    assert key["com.linkedin.metadata.key.DatasetKey"]["name"] == "shop/stock"


@pytest.mark.parametrize("word", ["true", "false"])
def test_a_batch_is_written_before_it_is_answered(wire: Wire, word: str) -> None:
    items = [proposal(ORDERS, "globalTags", TAGS), proposal(STOCK, "status", {"removed": False})]
    wire.good("POST", BATCH, {"proposals": items, "async": word})
    assert wire.aspects(ORDERS)["globalTags"] == TAGS
    assert wire.aspects(STOCK)["status"] == {"removed": False}


def test_what_is_not_there_is_404(wire: Wire) -> None:
    assert wire.bad("GET", path(ORDERS, "datasetKey")) == 404
    wire.good("POST", INGEST, proposal_body(ORDERS, "globalTags", TAGS))
    assert wire.bad("GET", path(ORDERS, "ownership")) == 404
    assert wire.bad("GET", path(ORDERS, "globalTags").replace("version=0", "version=3")) == 404


def test_a_patch_changes_what_is_there(wire: Wire) -> None:
    wire.good("POST", INGEST, proposal_body(ORDERS, "globalTags", TAGS))
    add = {"op": "add", "path": "/tags/urn:li:tag:gold", "value": {"tag": "urn:li:tag:gold"}}
    wire.good("POST", INGEST, proposal_body(ORDERS, "globalTags", [add], "PATCH"))
    found = wire.aspects(ORDERS)["globalTags"]["tags"]
    assert [tag["tag"] for tag in found] == ["urn:li:tag:pii", "urn:li:tag:gold"]


def test_unknown_types_and_aspects_are_stored_and_returned(wire: Wire) -> None:
    odd = "urn:li:somethingNew:7"
    wire.good("POST", INGEST, proposal_body(odd, "someAspect", {"a": [1, {"string": "b"}]}))
    assert wire.aspects(odd)["someAspect"] == {"a": [1, {"string": "b"}]}
    assert wire.aspects(odd)["somethingNewKey"] == {"id": "7"}


@pytest.mark.parametrize("name", ["a" * 129, "", "9lives", "a.b", "a b", "aé", "a\n"])
def test_what_cannot_name_a_record_names_no_aspect(wire: Wire, name: str) -> None:
    before = wire.service.state.revision
    assert wire.bad("POST", INGEST, proposal_body(ORDERS, name, {})) == 400
    body = [{"urn": ORDERS, name: {"value": {}}}]
    assert wire.bad("POST", "/openapi/v3/entity/dataset", body) == 400
    assert wire.service.state.revision == before


def test_the_longest_name_of_an_aspect_is_taken(wire: Wire) -> None:
    wire.good("POST", INGEST, proposal_body(ORDERS, "a" * 128, {"a": 1}))
    assert wire.aspects(ORDERS)["a" * 128] == {"a": 1}


def test_unknown_aspects_are_refused_where_the_operator_says_so(wire: Wire) -> None:
    wire.good("POST", INGEST, proposal_body(ORDERS, "someAspect", {}))
    wire.services = type(wire.services)(
        systems={"datahub": DataHubSettings(unknown_aspects="refuse")}
    )
    status, body = wire.ask("POST", INGEST, proposal_body(ORDERS, "otherAspect", {}))
    assert (status, "datahub.unknown_aspects" in body["message"]) == (400, True)
    wire.good("POST", INGEST, proposal_body(ORDERS, "globalTags", TAGS))
    wire.good("POST", INGEST, proposal_body(ORDERS, "someAspect", {}, "DELETE"))
    assert "someAspect" not in wire.aspects(ORDERS)


def test_one_refused_proposal_refuses_the_batch_and_is_audited(wire: Wire) -> None:
    wire.grant("orders", "CREATE_ENTITY", "EDIT_ENTITY", to="ana", URN=[ORDERS])
    items = [proposal(ORDERS, "globalTags", TAGS), proposal(STOCK, "globalTags", TAGS)]
    assert wire.bad("POST", BATCH, {"proposals": items, "async": "true"}, "ana") == 403
    assert wire.aspects(ORDERS) == {}
    last = json.loads(wire.audit()[-1].body)
    told = (last["outcome"], last["operation"], last["target"], last["actor"])
    assert told == ("deny", "entity.create", f"dataset:{STOCK}", "ana")
    wire.good("POST", INGEST, {"proposal": items[0]}, "ana")
    last = json.loads(wire.audit()[-1].body)
    assert (last["outcome"], last["operation"]) == ("allow", "entity.create")


def test_whoever_may_not_read_is_told_nothing(wire: Wire) -> None:
    wire.good("POST", INGEST, proposal_body(ORDERS, "globalTags", TAGS))
    assert wire.bad("GET", path(ORDERS, "globalTags"), user="eve") == 403
    assert wire.bad("GET", path(STOCK, "globalTags"), user="eve") == 403
    wire.grant("see", "VIEW_ENTITY_PAGE", to="eve", URN=[ORDERS])
    wire.good("GET", path(ORDERS, "globalTags"), user="eve")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"proposal": {}},
        proposal_body("urn:li:dataset:x", "status", {}),
        proposal_body(ORDERS, "status", []),
        proposal_body(ORDERS, "status", {}, "INVENT"),
        proposal_body(ORDERS, "globalTags", {"tags": [{"tag": SHOP}]}),
        {"proposal": {**proposal(ORDERS, "status", {}), "entityType": "chart"}},
        {"proposal": {**proposal(ORDERS, "status", {}), "aspect": {"value": "{"}}},
    ],
)
def test_what_makes_no_sense_is_400(wire: Wire, body: dict[str, Any]) -> None:
    revision = wire.service.state.revision
    assert wire.bad("POST", INGEST, body) == 400
    assert wire.service.state.revision == revision


def test_what_is_refused_tells_no_stack_and_an_unknown_action_is_400(wire: Wire) -> None:
    assert wire.bad("POST", "/aspects?action=inventIndices", {}) == 400
    assert wire.bad("POST", "/aspects", {}) == 400
    assert wire.bad("PUT", "/aspects", {}) == 405


@pytest.mark.parametrize(
    ("urn", "aspect", "value"),
    [
        ("urn:li:dataHubSecret:s", "dataHubSecretValue", {"name": "s", "value": "hush"}),
        ("urn:li:corpuser:ana", "corpUserCredentials", {"salt": "hush", "hashedPassword": "hush"}),
        ("urn:li:inviteToken:t", "inviteToken", {"token": "hush"}),
        ("urn:li:dataHubConnection:c", "dataHubConnectionDetails", {"json": {"a": "hush"}}),
    ],
)
def test_a_secret_is_neither_taken_nor_kept_nor_told(
    wire: Wire, tmp_path: Path, urn: str, aspect: str, value: dict[str, Any]
) -> None:
    secret = proposal(urn, aspect, value)
    wire.services = type(wire.services)(systems={"datahub": DataHubSettings(rest=False)})
    assert wire.bad("POST", INGEST, {"proposal": secret}) == 400
    shown = {key: told for key, told in value.items() if "hush" not in str(told)}
    sent = {"proposals": [proposal(urn, aspect, shown), proposal(urn, "status", {})]}
    wire.good("POST", BATCH, sent)
    assert wire.bad("GET", path(urn, aspect)) == 403
    assert wire.bad("GET", f"/entitiesV2/{quote(urn, safe='')}?aspects=List({aspect})") == 403
    newer = f"/openapi/v3/entity/{urn.split(':')[2]}"
    assert wire.bad("GET", f"{newer}/{quote(urn, safe='')}/{aspect}") == 403
    assert wire.bad("GET", f"{newer}/{quote(urn, safe='')}?aspects={aspect}") == 403
    assert wire.bad("POST", f"{newer}/batchGet", [{"urn": urn, aspect: {}}]) == 403
    assert aspect not in wire.aspects(urn)
    assert not any("hush" in row.body for row in wire.audit())
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
    assert b"hush" not in kept


def test_with_rest_authorization_off_nobody_is_asked_but_the_immutable_stays(
    tmp_path: Path,
) -> None:
    with Wire(tmp_path, options=DataHubSettings(rest=False)) as wire:
        wire.good("POST", INGEST, proposal_body(ORDERS, "globalTags", TAGS), "eve")
        wire.good("GET", path(ORDERS, "globalTags"), user="eve")
        wire.grant("mine", "EDIT_ENTITY", to="ana")
        shipped = "urn:li:dataHubPolicy:admin-platform-policy"
        own = wire.aspects("urn:li:dataHubPolicy:mine")["dataHubPolicyInfo"]
        assert (
            wire.bad("POST", INGEST, proposal_body(shipped, "dataHubPolicyInfo", own), "eve") == 403
        )


def test_a_key_aspect_that_is_deleted_takes_the_entity_along(wire: Wire) -> None:
    wire.good("POST", INGEST, proposal_body(ORDERS, "globalTags", TAGS))
    gone = {**proposal(ORDERS, "datasetKey", None, "DELETE"), "aspect": None}
    wire.good("POST", INGEST, {"proposal": gone})
    assert wire.bad("GET", path(ORDERS, "datasetKey")) == 404
    assert json.loads(wire.audit()[-1].body)["operation"] == "entity.delete"


def test_what_a_client_claims_about_itself_opens_nothing(wire: Wire) -> None:
    system = {"runId": "r", "properties": {"appSource": "systemUpdate"}}
    item = {**proposal(ORDERS, "status", {}), "systemMetadata": system}
    assert wire.bad("POST", INGEST, {"proposal": item}, "eve") == 403
    sent = json.dumps({"proposal": item}).encode()
    headers = {"x-datahub-actor": "urn:li:corpuser:admin"}
    assert wire.send("POST", INGEST, sent, user="eve", headers=headers).status == 403


@pytest.mark.parametrize("text", ["[" * 70 + "]" * 70, '{"a": 1, "a": 2}', '{"a": 1e999}'])
def test_what_could_be_read_in_two_ways_is_400_inside_an_aspect_too(wire: Wire, text: str) -> None:
    item = {**proposal(ORDERS, "status", {}), "aspect": {"value": text}}
    assert wire.bad("POST", INGEST, {"proposal": item}) == 400


def test_a_query_is_read_by_its_subjects_under_view_authorization(wire: Wire) -> None:
    query = "urn:li:query:q"
    wire.put((query, "querySubjects", {"subjects": [{"entity": ORDERS}]}))
    wire.grant("see", "VIEW_ENTITY_PAGE", to="eve", URN=[query])
    wire.good("GET", path(query, "querySubjects"), user="eve")
    configure(wire.service, REALM, wire.services, {"view": True})
    assert wire.bad("GET", path(query, "querySubjects"), user="eve") == 403
    wire.grant("subject", "VIEW_ENTITY_PAGE", to="eve", URN=[ORDERS])
    wire.good("GET", path(query, "querySubjects"), user="eve")


def test_the_number_of_aspects_in_one_request_is_limited(wire: Wire) -> None:
    wire.services = type(wire.services)(batch_rows=2)
    items = [proposal(ORDERS, name, {}) for name in ("status", "a", "b")]
    assert wire.bad("POST", BATCH, {"proposals": items}) == 400
    wire.good("POST", BATCH, {"proposals": items[:2]})
    urns = [{"urn": ORDERS}] * 3
    assert wire.bad("POST", "/openapi/v3/entity/dataset/batchGet", urns) == 400

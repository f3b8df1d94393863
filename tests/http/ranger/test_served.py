"""Downloads of Apache Ranger's plugins from a real server, and responses to bad requests."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lakewarden.config.engines import RangerRealm
from lakewarden.kernel.entity import Entity
from tests.app.serving import Answer
from tests.http.opa.test_served import ROOT, Trino, facts_of, served_realm
from tests.http.ranger.judge import judged
from tests.http.ranger.typed_masks import with_columns

CONFIGURATION = """
[ranger.gravitino]
metalake = "lk"
catalogs = { memory = "lake" }
services = { prod = "trino", sql = "hive", stream = "kafka", files = "hdfs" }
governs = { sql = "lake", stream = "lake", files = "hdfs://nn:8020" }

[ranger.silent]
services = { quiet = "trino" }
"""
POLICIES = "service/plugins/policies/download/prod"
ROLES = "service/roles/download/prod"
DOWNLOADS = {
    "plugins/policies": ("lastKnownVersion", "policyVersion"),
    "plugins/secure/policies": ("lastKnownVersion", "policyVersion"),
    "roles": ("lastKnownRoleVersion", "roleVersion"),
    "roles/secure": ("lastKnownRoleVersion", "roleVersion"),
    "tags": ("lastKnownVersion", "tagVersion"),
    "tags/secure": ("lastKnownVersion", "tagVersion"),
    "xusers": ("lastKnownUserStoreVersion", "userStoreVersion"),
    "xusers/secure": ("lastKnownUserStoreVersion", "userStoreVersion"),
}
TYPES = {
    "id": "integer",
    "iban": "string",
    "mail": "varchar(40)",
    "note": "string",
    "region": "string",
}
ORDERS = {"catalog": "memory", "schema": "sales", "table": "orders"}


@pytest.fixture(name="plugin", scope="module")
def _plugin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    facts = with_columns(facts_of(), Entity("table", "lk:lake.sales.orders"), TYPES)
    yield from served_realm(tmp_path_factory.mktemp("ranger"), facts, CONFIGURATION)


def get(plugin: Trino, path: str, *, token: str | None = None, realm: str = "gravitino") -> Answer:
    """The response for a token, by default the engine's."""
    return anonymous(plugin, path, plugin.engine if token is None else token, realm)


def anonymous(
    plugin: Trino, path: str, token: str | None = None, realm: str = "gravitino"
) -> Answer:
    """The response without a token, unless one is given."""
    return plugin.served.ask("GET", f"/r/{realm}/ranger/{path}", token=token)


def document(plugin: Trino, path: str) -> Any:
    answer = get(plugin, path)
    assert answer.status == 200, answer.body
    return answer.json()


def put(plugin: Trino, kind: str, id: str, **body: Any) -> None:
    path = f"/api/v1/realms/gravitino/{kind}s/{id}"
    answer = plugin.served.ask("PUT", path, body, token=ROOT)
    assert answer.status == 200, answer.body


def drop(plugin: Trino, id: str) -> None:
    path = f"/api/v1/realms/gravitino/statements/{id}"
    assert plugin.served.ask("DELETE", path, token=ROOT).status in (200, 204)


@pytest.mark.parametrize("first", DOWNLOADS)
def test_a_document_is_sent_once(plugin: Trino, first: str) -> None:
    parameter, member = DOWNLOADS[first]
    path = f"service/{first}/download/prod?{parameter}="
    sent = document(plugin, f"{path}-1")
    same = get(plugin, f"{path}{sent[member]}&pluginId=trino@host-prod&clusterName=")
    assert (same.status, same.body) == (304, b"")
    assert get(plugin, f"{path}{sent[member] - 1}").status == 200
    assert get(plugin, f"{path}x").status == 200


def test_a_change_makes_another_version(plugin: Trino) -> None:
    before = document(plugin, POLICIES)
    put(plugin, "statement", "more", privileges=["MODIFY_TABLE"], on="table:lk:lake.sales.orders",
        to=["role:lk:reader"])  # fmt: skip
    during = document(plugin, POLICIES)
    drop(plugin, "more")
    after = document(plugin, POLICIES)
    versions = [one["policyVersion"] for one in (before, during, after)]
    assert versions == sorted({*versions})
    assert before["policies"] == after["policies"]


def test_every_document_has_what_trino_needs_for_anything(plugin: Trino) -> None:
    policies = document(plugin, POLICIES)["policies"]
    named = [
        ({name: one["values"] for name, one in policy["resources"].items()},
         policy["policyItems"][0]["accesses"][0]["type"])
        for policy in policies if policy["policyType"] == 0
    ]  # fmt: skip
    assert ({"queryid": ["*"]}, "execute") in named
    assert ({"trinouser": ["{USER}"]}, "impersonate") in named
    information = {"catalog": ["memory"], "schema": ["information_schema"]}
    assert ({**information, "table": ["*"], "column": ["*"]}, "select") in named


def test_wildcards_name_only_what_the_engine_declares(plugin: Trino) -> None:
    for policy in document(plugin, POLICIES)["policies"]:
        values = {name: one["values"] for name, one in policy["resources"].items()}
        if "*" in values.get("table", ()):
            is_declared = values["schema"] == ["information_schema"]
            assert is_declared or values["catalog"] == ["system"], values
        assert "*" not in values.get("schema", ())
        assert "*" not in values.get("catalog", ())


def test_the_password_of_a_user_without_meaning_may_be_the_token(plugin: Trino) -> None:
    def status(password: str) -> int:
        login = base64.b64encode(f"trino:{password}".encode()).decode()
        url = f"{plugin.served.address}/r/gravitino/ranger/{POLICIES}"
        return httpx.get(url, headers={"Authorization": f"Basic {login}"}).status_code

    assert status(plugin.engine) == 200
    assert status(plugin.plain) == 401
    assert status("lw_x") == 401
    assert status("secret") == 401
    assert anonymous(plugin, f"{POLICIES}?token={plugin.engine}").status == 200


def test_who_is_no_enforcement_point_downloads_nothing(plugin: Trino) -> None:
    assert anonymous(plugin, POLICIES).status == 401
    assert get(plugin, POLICIES, token=plugin.stranger).status == 403
    assert get(plugin, "residue/prod", token=plugin.stranger).status == 403


def test_the_service_of_another_realm_is_not_there(plugin: Trino) -> None:
    for name, realm in (("quiet", "gravitino"), ("prod", "silent"), ("..", "gravitino")):
        answer = get(plugin, f"service/plugins/policies/download/{name}", realm=realm)
        assert answer.status in (400, 404), answer.body
    missing = get(plugin, "service/plugins/policies/download/none").json()
    assert isinstance(missing, dict)
    assert missing["statusCode"] == 1
    assert "none" in missing["msgDesc"]
    off = get(plugin, "service/plugins/policies/download/quiet", realm="silent")
    assert off.status == 404
    assert b"set `trino` to `on`" in off.body


def test_other_methods_and_paths_are_refused_in_rangers_form(plugin: Trino) -> None:
    for method, path, status in (("POST", POLICIES, 405), ("GET", "service/none", 404)):
        where = f"/r/gravitino/ranger/{path}"
        answer = plugin.served.ask(method, where, {} if method == "POST" else None,
                                   token=plugin.engine)  # fmt: skip
        assert answer.status == status, answer.body
        body = answer.json()
        assert isinstance(body, dict)
        assert body["statusCode"] == 1


def test_documents_of_hive_name_the_databases_of_one_catalog(plugin: Trino) -> None:
    found = document(plugin, "service/plugins/policies/download/sql")
    assert found["serviceDef"]["name"] == "hive"
    named = [{name: one["values"] for name, one in policy["resources"].items()}
             for policy in found["policies"]]  # fmt: skip
    assert {"database": ["sales"], "table": ["clients", "orders"], "column": ["*"]} in named
    assert not [one for one in named if "catalog" in one]
    left_out = document(plugin, "residue/sql")["residue"]
    assert {"create", "alter", "all", "_any"} <= {one["access"] for one in left_out}


def test_documents_of_hdfs_follow_where_filesets_are_stored(plugin: Trino) -> None:
    token = plugin.served.ask("POST", "/api/v1/tokens", {"user": "olga"}, token=ROOT).json()
    assert isinstance(token, dict)
    filesets = "/r/gravitino/api/metalakes/lk/catalogs/lake/schemas/sales/filesets"
    path = "service/plugins/policies/download/files"

    def change(method: str, where: str, body: object = None) -> None:
        answer = plugin.served.ask(method, where, body, token=token["token"])
        assert answer.status == 200, answer.body

    def paths() -> set[str]:
        return {
            one for policy in document(plugin, path)["policies"]
            for one in policy["resources"]["path"]["values"]
        }  # fmt: skip

    assert paths() == set()
    body = {"name": "raw", "type": "external", "storageLocation": "hdfs://nn:8020/raw"}
    change("POST", filesets, body)
    first = document(plugin, path)
    (policy,) = first["policies"]
    assert policy["resources"]["path"] == {
        "values": ["/raw"], "isExcludes": False, "isRecursive": True
    }  # fmt: skip
    change("POST", filesets, {**body, "name": "more", "storageLocation": "/raw/more"})
    assert paths() == {"/raw", "/raw/more"}
    assert document(plugin, path)["policyVersion"] > first["policyVersion"]
    left_out = {one["entity"] for one in document(plugin, "residue/files")["residue"]}
    assert "fileset:lk:lake.sales.raw" in left_out
    for name in ("raw", "more"):
        change("DELETE", f"{filesets}/{name}")


def test_files_of_a_table_are_read_by_who_reads_all_of_it(plugin: Trino, tmp_path: Path) -> None:
    token = plugin.served.ask("POST", "/api/v1/tokens", {"user": "olga"}, token=ROOT).json()
    assert isinstance(token, dict)
    tables = "/r/gravitino/api/metalakes/lk/catalogs/lake/schemas/sales/tables"
    path = "service/plugins/policies/download/files"
    body = {
        "name": "visits",
        "columns": [{"name": "iban", "type": "string", "nullable": True}],
        "properties": {"location": "hdfs://nn:8020/wh/sales.db/visits"},
    }

    def readers(at: str) -> set[tuple[str, str]]:
        policies, roles = document(plugin, path), document(plugin, "service/roles/download/files")
        asked = [(user, access) for user in ("ana", "olga", "gone")
                 for access in ("read", "write", "execute")]  # fmt: skip
        requests = [{"user": user, "groups": [], "roles": [], "access": access,
                     "resource": {"path": at}} for user, access in asked]  # fmt: skip
        answers = judged(policies, roles, requests, tmp_path)
        return {one for one, answer in zip(asked, answers, strict=True) if answer["allowed"]}

    answer = plugin.served.ask("POST", tables, body, token=token["token"])
    assert answer.status == 200, answer.body
    of_ana, of_olga = ({(user, one) for one in ("read", "execute")} for user in ("ana", "olga"))
    file = "/wh/sales.db/visits/day=1/part-0"
    try:
        assert readers(file) == of_ana | of_olga
        assert readers("/wh/sales.db") == readers("/wh/sales.db/visits2") == set()
        event = {"repo": "files", "reqUser": "ana", "access": "read", "action": "read",
                 "resource": file, "resType": "path", "result": 1}  # fmt: skip
        where = "/r/gravitino/ranger/api/audit/access?serviceName=files"
        kept = plugin.served.ask("POST", where, [event], token=plugin.engine).json()
        assert isinstance(kept, dict)
        assert kept["kept"] == 1
        denied = {"effect": "deny", "privileges": ["SELECT_COLUMN"], "to": ["user:ana"]}
        put(plugin, "statement", "no", on="column:lk:lake.sales.visits.iban", **denied)
        assert readers(file) == of_olga
        drop(plugin, "no")
        put(plugin, "mask", "hidden", on="column:lk:lake.sales.visits.iban", expression="null",
            **{"except": ["user:olga"]})  # fmt: skip
        assert readers(file) == of_olga
        residue = document(plugin, "residue/files")["residue"]
        assert "table:lk:lake.sales.visits" in {one["entity"] for one in residue}
    finally:
        drop(plugin, "hidden")
        plugin.served.ask("DELETE", f"{tables}/visits", token=token["token"])
    assert readers(file) == set()


def test_what_a_service_governs_is_part_of_its_settings() -> None:
    with pytest.raises(ValueError, match="`a` governs is not said"):
        RangerRealm(services={"a": "hive"})
    for services in ({"a": "trino"}, {}):
        with pytest.raises(ValueError, match="`a` governs takes a service of another type"):
            RangerRealm.model_validate({"services": services, "governs": {"a": "lake"}})


def test_what_is_left_out_is_listed(plugin: Trino) -> None:
    left_out = document(plugin, "residue/prod")
    by_access = {one["access"]: one["why"] for one in left_out["residue"]}
    assert left_out["count"] == len(left_out["residue"])
    assert {"create", "grant", "all"} <= by_access.keys()


def test_filters_and_masks_bind_whom_they_are_for(plugin: Trino, tmp_path: Path) -> None:
    table = "table:lk:lake.sales.orders"
    put(plugin, "filter", "own", on=table, expression="region = $user.name",
        **{"except": ["role:lk:writer"]})  # fmt: skip
    put(plugin, "mask", "iban", on="column:lk:lake.sales.orders.iban", expression="null",
        **{"except": ["role:lk:writer"]})  # fmt: skip
    put(plugin, "mask", "mail", on="column:lk:lake.sales.orders.mail", expression="hash",
        **{"except": ["role:lk:writer"]})  # fmt: skip
    try:
        policies, roles = document(plugin, POLICIES), document(plugin, ROLES)
    finally:
        for id in ("own", "iban", "mail"):
            drop(plugin, id)
    texts = [
        item["rowFilterInfo"]["filterExpr"]
        for policy in policies["policies"] if policy["policyType"] == 2
        for item in policy["rowFilterPolicyItems"]
    ]  # fmt: skip
    assert sorted(text.split("= ")[-1] for text in texts) == ["'ana')", "'olga')"]
    asked: list[dict[str, Any]] = [
        {"user": user, "groups": [], "roles": [], "access": "select",
         "resource": {**ORDERS, "column": column}}
        for user in ("ana", "bo", "olga") for column in ("iban", "region")
    ]  # fmt: skip
    asked += [{**one, "resource": ORDERS} for one in asked[::2]]
    asked += [{**asked[0], "resource": {**ORDERS, "column": "mail"}}]
    found = list(judged(policies, roles, asked, tmp_path))
    masked = [one.get("mask", {}).get("type") for one in found[:6]]
    assert all(one["allowed"] for one in found)
    assert masked == ["MASK_NULL", None, None, None, "MASK_NULL", None]
    value = 'CAST(LOWER(TO_HEX(SHA256(TO_UTF8("mail")))) AS varchar(40))'
    assert found[-1]["mask"] == {"type": "CUSTOM", "value": value, "transformer": None}
    filtered = [one.get("filter", "").split("= ")[-1] for one in found[6:-1]]
    assert filtered == ["'ana')", "", "'olga')"]


def test_documents_can_do_without_a_table_that_was_dropped(plugin: Trino) -> None:
    name = "table:lk:lake.sales.brief"

    def entity(method: str) -> None:
        path = "/api/v1/realms/gravitino/entity"
        query, body = ("", {"entity": name}) if method == "PUT" else (f"?entity={name}", None)
        assert plugin.served.ask(method, path + query, body, token=ROOT).status < 300

    def limiting() -> tuple[list[Any], list[Any]]:
        policies = document(plugin, POLICIES)["policies"]
        named = [p for p in policies if p["resources"].get("table", {}).get("values") == ["brief"]]
        return [p["policyType"] for p in named], policies

    before = document(plugin, POLICIES)["policies"]
    entity("PUT")
    put(plugin, "filter", "rows", on=name, expression="id = 1")
    put(plugin, "mask", "value", on=f"column{name[5:]}.iban", expression="null")
    try:
        first, _ = limiting()
        assert {1, 2} <= {*first}
        entity("DELETE")
        assert limiting() == ([], before)
        entity("PUT")
        assert limiting()[0] == first
        entity("DELETE")
    finally:
        drop(plugin, "rows")
        drop(plugin, "value")
    assert document(plugin, POLICIES)["policies"] == before


def test_sql_in_names_is_a_literal_or_hides(plugin: Trino) -> None:
    """Ranger replaces text in braces, before the engine parses the expression."""
    for id, text in (("braces", "region = '{USER}'"), ("script", "region = '${{USER.dept}}'")):
        put(plugin, "filter", id, on="table:lk:lake.sales.orders", expression=text)
        policies, left_out = document(plugin, POLICIES), document(plugin, "residue/prod")
        drop(plugin, id)
        (policy,) = [one for one in policies["policies"] if one["policyType"] == 2]
        said = {item["rowFilterInfo"]["filterExpr"] for item in policy["rowFilterPolicyItems"]}
        assert said == {"FALSE"}
        assert id in {one["statement"] for one in left_out["residue"]}


def test_what_ends_is_not_allowed_a_second_longer(plugin: Trino) -> None:
    put(plugin, "statement", "ends", privileges=["SELECT_TABLE"], on="table:lk:lake.hr.people",
        to=["role:lk:reader"], valid_until="2099-01-01T00:00:00Z")  # fmt: skip
    put(plugin, "statement", "uses", privileges=["USE_SCHEMA"], on="schema:lk:lake.hr",
        to=["role:lk:reader"])  # fmt: skip
    policies = document(plugin, POLICIES)["policies"]
    drop(plugin, "ends")
    drop(plugin, "uses")
    ending = [one for one in policies if "validitySchedules" in one]
    assert [one["resources"]["table"]["values"] for one in ending] == [["people"]]
    (schedule,) = ending[0]["validitySchedules"]
    assert (schedule["endTime"], schedule["timeZone"]) == ("2098/12/31 23:59:59", "UTC")


def test_no_token_is_logged(plugin: Trino) -> None:
    anonymous(plugin, f"{POLICIES}?token={plugin.engine}")
    assert plugin.engine not in plugin.served.log.read_text()


def test_nobody_is_given_anything_of_a_catalog_that_is_not_in_use(plugin: Trino) -> None:
    def policies(service: str) -> list[Any]:
        found = document(plugin, f"service/plugins/policies/download/{service}")["policies"]
        return [
            one
            for one in found
            if any(item.get("users") or item.get("roles") for item in one["policyItems"])
        ]

    def switch(*, on: bool) -> None:
        path = "/r/gravitino/api/metalakes/lk/catalogs/lake"
        answer = plugin.served.ask("PATCH", path, {"inUse": on}, token=owner)
        assert answer.status == 200, answer.body

    def about(service: str) -> list[Any]:
        return [one for one in policies(service) if "sales" in str(one["resources"])]

    made: Any = plugin.served.ask("POST", "/api/v1/tokens", {"user": "olga"}, token=ROOT).json()
    owner = str(made["token"])
    before = {service: about(service) for service in ("prod", "sql")}
    assert all(before.values())
    switch(on=False)
    assert {service: about(service) for service in before} == {service: [] for service in before}
    switch(on=True)
    assert {service: about(service) for service in before} == before

"""Every reason for which an import sets something aside, caused by each system's responses."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from lakewarden.cli import main
from lakewarden.pipeline import check_rules
from lakewarden.service.source_row import BAD_NAME, BAD_STATEMENT

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unstarted")]

Lost = set[tuple[str, str, str]]
"""Table, name and reason of a row set aside."""

REASONS = {
    *(BAD_NAME, BAD_STATEMENT, check_rules.REPEATED, check_rules.CYCLE, check_rules.TOO_DEEP),
    *(check_rules.DANGLING_PARENT, check_rules.NOT_STORED, check_rules.INCOMPLETE),
}
"""All reasons that responses can cause.

Two parents are not among them, because no response gives an entity two places. A dangling target
is not either: systems that deny unknown names send no responses that name one entity in another.
"""

HIVE = "urn:li:dataset:(urn:li:dataPlatform:hive,{},PROD)"


def record(urn: str, aspect: str, value: object) -> dict[str, object]:
    type = urn.split(":")[2]
    about = {"entityType": type, "entityUrn": urn, "changeType": "UPSERT"}
    return {**about, "aspectName": aspect, "aspect": {"json": value}}


def hub() -> Iterable[dict[str, object]]:
    one, other = HIVE.format("one"), HIVE.format("other")
    ana = "urn:li:corpuser:ana"
    yield record(ana, "corpUserKey", {"username": "ana"})
    yield record("urn:li:nothing", "status", {"removed": False})
    yield record(one, "ownership", {"owners": [{"owner": ana}, {"owner": ana}, {"owner": "me"}]})
    yield record(other, "globalTags", {"tags": [{"tag": "urn:li:domain:no-tag"}]})
    for here, there in (("x", "y"), ("y", "x")):
        above = {"name": here, "parentDomain": f"urn:li:domain:{there}"}
        yield record(f"urn:li:domain:{here}", "domainProperties", above)
    yield record("urn:li:domain:d0", "domainProperties", {"name": "top"})
    for level in range(1, check_rules.MAX_LEVELS + 1):
        above = {"name": "d", "parentDomain": f"urn:li:domain:d{level - 1}"}
        yield record(f"urn:li:domain:d{level}", "domainProperties", above)
    subjects = [{"entity": one}, {"entity": "urn:li:tag:no-dataset"}]
    yield record("urn:li:query:q", "querySubjects", {"subjects": subjects})
    criterion = {"field": "COLOUR", "values": ["red"], "condition": "EQUALS"}
    yield record(
        "urn:li:dataHubPolicy:odd",
        "dataHubPolicyInfo",
        {
            "type": "METADATA",
            "state": "ACTIVE",
            "displayName": "odd",
            "description": "",
            "privileges": ["EDIT_ENTITY_TAGS"],
            "actors": {"users": [ana], "groups": [], "allUsers": False, "allGroups": False},
            "resources": {"filter": {"criteria": [criterion]}},
        },
    )


HUB: Lost = {
    ("entities", "nothing:urn:li:nothing", BAD_NAME),
    ("owners", f"dataset:{HIVE.format('one')}:me", BAD_NAME),
    ("owners", f"dataset:{HIVE.format('one')}:user:urn:li:corpuser:ana", check_rules.REPEATED),
    ("relations", f"tag:dataset:{HIVE.format('other')}:domain:urn:li:domain:no-tag", BAD_NAME),
    ("placements", "domain:urn:li:domain:x:domain:urn:li:domain:y", check_rules.CYCLE),
    ("placements", "domain:urn:li:domain:y:domain:urn:li:domain:x", check_rules.CYCLE),
    ("placements", "domain:urn:li:domain:d64:domain:urn:li:domain:d63", check_rules.TOO_DEEP),
    ("relations", "subject:query:urn:li:query:q:tag:urn:li:tag:no-dataset", BAD_NAME),
    (
        "relations",
        f"subject:query:urn:li:query:q:dataset:{HIVE.format('one')}",
        check_rules.INCOMPLETE,
    ),
    ("statements", "urn:li:dataHubPolicy:odd", BAD_STATEMENT),
}


def reply(path: str, **body: object) -> dict[str, object]:
    return {"path": f"/api/metalakes{path}", "reply": {"code": 0, **body}}


def grant(type: str, name: str, privilege: str) -> dict[str, object]:
    allowed = {"name": privilege, "condition": "allow"}
    return {"type": type, "fullName": name, "privileges": [allowed]}


def lake() -> Iterable[dict[str, object]]:
    yield reply("", metalakes=[{"name": "lk"}])
    yield reply("/lk/users", users=[{"name": "ana", "roles": ["readers"]}])
    yield reply("/lk/groups", groups=[])
    yield reply("/lk/roles", names=["readers"])
    objects = [grant("table", "c.s.gone", "SELECT_TABLE"), grant("catalog", "c", "FLY")]
    yield reply("/lk/roles/readers", role={"name": "readers", "securableObjects": objects})
    yield reply("/lk/catalogs", catalogs=[{"name": "c"}])
    yield reply("/lk/catalogs/c/schemas", identifiers=[{"namespace": ["lk", "c"], "name": "s"}])
    yield reply("/lk/catalogs/d/schemas", identifiers=[{"namespace": ["lk", "d"], "name": "s"}])
    tables = [{"namespace": ["lk", "c", "s"], "name": "a.b"}]
    yield reply("/lk/catalogs/c/schemas/s/tables", identifiers=tables)
    yield reply("/lk/owners/schema/c.none", owner={"name": "ana", "type": "user"})


LAKE: Lost = {
    ("statements", "lk:readers/table:c.s.gone/allow", check_rules.NOT_STORED),
    ("statements", "lk:readers/catalog:c/allow", BAD_STATEMENT),
    ("entities", "schema:lk:d.s", check_rules.DANGLING_PARENT),
    ("placements", "schema:lk:d.s:catalog:lk:d", check_rules.DANGLING_PARENT),
    ("entities", "table:lk:c.s.a.b", BAD_NAME),
    ("owners", "schema:lk:c.none:user:ana", check_rules.NOT_STORED),
}


def spaces() -> Iterable[dict[str, object]]:
    def said(path: str, reply: object) -> dict[str, object]:
        return {"path": f"/v3{path}", "reply": reply}

    yield said("/namespaces", [{"name": "sales", "config": {}}, {"name": "no.name"}])
    yield said("/namespaces/sales/data/datasets", [{"name": "t1"}])
    yield said("/namespaces/sales/streams", [{"name": "s p a c e"}])
    odd = {"entityType": "MOON", "entityParts": {"NAMESPACE": "sales"}}
    privilege = {"authorizable": odd, "action": "READ"}
    yield said("/security/authorization/user/ana/privileges", [privilege])
    yield said("/security/authorization/roles", [{"name": "readers"}])
    yield said("/security/authorization/user/ana/roles", [{"name": "readers"}, {"name": "readers"}])


SPACES: Lost = {
    ("entities", "namespace:no.name", BAD_NAME),
    ("entities", "stream:sales.s p a c e", BAD_NAME),
    ("statements", "user:ana/MOON.{'NAMESPACE': 'sales'}", BAD_STATEMENT),
}


def lost(system: str, records: Iterable[Any], folder: Path, capture: Any) -> Lost:
    """The rows that the import of an export sets aside."""
    file = folder / "export.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in records), "utf-8")
    given = ["import", system, str(file), "--to", system, "--dry-run", "--format", "json"]
    capture.readouterr()
    code = main(given)
    out, err = capture.readouterr()
    assert code == 0, err
    report = json.loads(out)
    rows = report["ingested"]["rows"].values()
    assert len(report["set_aside"]) == sum(one["quarantined"] for one in rows)
    assert all(one["detail"] for one in report["set_aside"])
    return {(one["table"], one["name"], one["reason"]) for one in report["set_aside"]}


@pytest.mark.parametrize(
    ("system", "records", "expected"),
    [("datahub", hub, HUB), ("gravitino", lake, LAKE), ("cdap", spaces, SPACES)],
    ids=["datahub", "gravitino", "cdap"],
)
def test_what_was_set_aside_is_named_with_its_reason(
    system: str,
    records: Any,
    expected: Lost,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert lost(system, records(), tmp_path, capfd) == expected


def test_every_reason_that_replies_can_bring_about_is_among_them() -> None:
    assert {reason for _, _, reason in HUB | LAKE | SPACES} == REASONS

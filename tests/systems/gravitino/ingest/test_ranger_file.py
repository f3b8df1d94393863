"""Ranger's policies: never more access than Ranger grants, and as much if expressible."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.ingest.run import ingest
from lakewarden.service.source_row import NOTES, Row
from lakewarden.service.warden import Warden
from lakewarden.systems.gravitino.ingest.ranger_file import RangerFile
from tests.pipeline.ingest.ranger_policies import Policy, item, meant, policy, users

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def notes(rows: Iterable[Row]) -> list[str]:
    return sorted(": ".join(row.cells) for row in rows if row.table == NOTES)


def reads(warden: Warden, table: str, *asked: str) -> list[str]:
    """The users who may load the table."""
    name = f"table:lk:hive1.{table}"
    return [user for user in asked if warden.check(user, "table.load", name).allow]


SALES = policy(
    "sales", "Sales", "*", "*", policyItems=[item("select", users=["ana"], groups=["staff"])]
)
NAMED = policy("named", "sales", "orders", "*", policyItems=[item("select", users=["eve"])])


def test_what_is_allowed_on_a_database_is_allowed_on_its_tables() -> None:
    warden, rows = meant(SALES, NAMED, users(ana=[], ben=["staff"], cid=[], eve=[]))
    assert reads(warden, "sales.orders", "ana", "ben", "cid", "eve") == ["ana", "ben", "eve"]
    assert not warden.check("ana", "table.alter", "table:lk:hive1.sales.orders").allow
    assert notes(rows) == []


def test_writing_takes_reading_updating_and_altering() -> None:
    orders = "table:lk:hive1.sales.orders"
    for words, writes in (
        (("all",), True),
        (("select", "update", "alter"), True),
        (("update", "alter"), False),
        (("select", "update"), False),
    ):
        given = [item(*words, users=["ana"])]
        warden, _ = meant(policy("p", "sales", "orders", "*", policyItems=given))
        assert warden.check("ana", "table.alter", orders).allow is writes


@pytest.mark.parametrize(
    ("given", "note"),
    [
        (policy("p", "sales", "orders", "id"), "select on column:lk:hive1.sales.orders.id"),
        (policy("p", "sales", "orders"), "select on table:lk:hive1.sales.orders"),
        (policy("p", "s*", "orders", "*", conditions=[{"type": "ip"}]), "under a condition"),
        (policy("p", "sales", "ord*", "*"), "no policy names what"),
        (policy("p", "{USER}_db", "*", "*"), "no policy names what database {USER}_db"),
        (policy("p", "sales", "orders", "*", validitySchedules=[{"startTime": ""}]), "at times"),
    ],
)
def test_what_allows_and_cannot_be_said_is_left_out_and_told(given: Policy, note: str) -> None:
    known = policy("known", "sales", "known", "*")
    given["policyItems"] = [item("select", users=["ana"])]
    warden, rows = meant(known, given)
    assert warden.list("ana", "table.load") == ()
    assert note in "; ".join(notes(rows))


@pytest.mark.parametrize(
    ("words", "lost"),
    [
        (("select", "drop", "index"), "drop, index on schema:lk:hive1.sales"),
        (("select", "update"), "update on schema:lk:hive1.sales"),
        (("drop",), "drop on schema:lk:hive1.sales"),
        ((), "no access on schema:lk:hive1.sales"),
        (("select", "update", "alter", "create"), ""),
        (("all",), ""),
    ],
)
def test_an_access_without_a_meaning_is_listed_beside_others(
    words: tuple[str, ...], lost: str
) -> None:
    given = policy("p", "sales", "*", "*", policyItems=[item(*words, users=["ana"])])
    found = notes(meant(given)[1])
    assert found == ([f"policy p: {lost}"] if lost else [])


def test_a_policy_of_another_type_is_listed() -> None:
    _, rows = meant(NAMED, {**SALES, "policyType": 3})
    assert "what a policy of the type 3 allows" in "; ".join(notes(rows))


def test_a_pattern_means_those_that_some_policy_names() -> None:
    wide = policy("wide", "sa?es*", "*", "*", policyItems=[item("select", users=["ana"])])
    other = policy("other", "staff", "people", "*")
    warden, _ = meant(wide, NAMED, other)
    assert warden.list("ana", "table.load") == ("table:lk:hive1.sales.orders",)


DENYING: dict[str, Policy] = {
    "deny": {"denyPolicyItems": [item("select", groups=["staff"])]},
    "deny to a role": {"denyPolicyItems": [item("all", roles=["clerks"])]},
    "unless": {
        "denyPolicyItems": [item("select", groups=["staff"])],
        "denyExceptions": [item("select", users=["ben"])],
    },
    "if": {"denyPolicyItems": [item("select", groups=["staff"], conditions=[{"type": "ip"}])]},
    "recurring": {
        "denyPolicyItems": [item("select", groups=["staff"])],
        "validitySchedules": [{"timeZone": "UTC", "recurrences": [{}]}],
    },
    "mask": {
        "policyType": 1,
        "dataMaskPolicyItems": [
            item("select", groups=["staff"], dataMaskInfo={"dataMaskType": "MASK"})
        ],
    },
    "filter": {
        "policyType": 2,
        "rowFilterPolicyItems": [
            item("select", groups=["staff"], rowFilterInfo={"filterExpr": "a = 1"})
        ],
    },
}
PEOPLE = users(ana=[], ben=["staff"])
CLERKS = {"name": "clerks", "users": [], "groups": [{"name": "staff", "isAdmin": False}]}


@pytest.mark.parametrize("name", sorted(DENYING))
@pytest.mark.parametrize("values", [("sales", "orders", "*"), ("sales", "ord*", "x"), ("*", "*")])
def test_what_takes_away_is_never_left_out(name: str, values: tuple[str, ...]) -> None:
    allow = policy("a", "sales", "orders", "*", policyItems=[item("select", groups=["public"])])
    warden, _ = meant(allow, policy("d", *values, **DENYING[name]), PEOPLE, CLERKS)
    assert reads(warden, "sales.orders", "ana", "ben") == ["ana"]


def test_everything_that_was_said_otherwise_is_told() -> None:
    allow = policy("a", "sales", "orders", "*", policyItems=[item("select", groups=["staff"])])
    allow |= {"allowExceptions": [item("select", users=["ben"])], "policyPriority": 1}
    allow |= {"isDenyAllElse": True}
    odd = policy("d", "sales", "*", "*", **DENYING["unless"])
    odd["validitySchedules"] = [{"timeZone": "Nowhere/Land"}]
    warden, rows = meant(allow, odd, policy("m", "other", **DENYING["mask"]), PEOPLE)
    assert reads(warden, "sales.orders", "ana", "ben") == []
    assert notes(rows) == [
        "policy a: allow exceptions: said as a DENY",
        "policy a: denies all else: said as a DENY to everybody",
        "policy a: priority: a DENY of another policy still counts",
        "policy d: deny exceptions: said as if there were none",
        "policy d: times that cannot be said: what it takes away holds for longer",
        "policy m: mask or row filter: said as a DENY",
    ]


@pytest.mark.parametrize("told", [[], [users(zoe=["staff"])], [PEOPLE]])
def test_who_is_in_a_group_must_be_told_or_everybody_is_meant(told: list[Policy]) -> None:
    allow = policy("a", "sales", "orders", "*", policyItems=[item("select", users=["ana", "ben"])])
    deny = policy("d", "sales", "*", "*", denyPolicyItems=[item("select", groups=["staff"])])
    warden, rows = meant(allow, deny, *told)
    found = reads(warden, "sales.orders", "ana", "ben")
    assert found == (["ana"] if told == [PEOPLE] else [])
    assert ("taken from everybody" in "".join(notes(rows))) is (told != [PEOPLE])


def test_a_role_that_is_not_told_means_everybody_when_it_is_denied() -> None:
    allow = policy("a", "sales", "orders", "*", policyItems=[item("select", users=["ana"])])
    deny = policy("d", "sales", "*", "*", denyPolicyItems=[item("select", roles=["clerks"])])
    assert reads(meant(allow, deny)[0], "sales.orders", "ana") == []
    assert reads(meant(allow, deny, CLERKS)[0], "sales.orders", "ana") == []
    nobody = {**CLERKS, "groups": []}
    assert reads(meant(allow, deny, nobody)[0], "sales.orders", "ana") == ["ana"]


def test_times_are_those_of_the_policy() -> None:
    times = {"startTime": "2026/05/01 00:00:00", "endTime": "2026/06/01 00:00:00"}
    allow = policy(
        "a",
        *("sales", "orders", "*"),
        policyItems=[item("select", users=["ana"])],
        validitySchedules=[{**times, "timeZone": "Asia/Tokyo"}],
    )
    found = []
    for now in (1_777_561_199.0, 1_777_561_200.0, 1_780_239_599.0, 1_780_239_600.0):
        found.append(bool(reads(meant(allow, now=now)[0], "sales.orders", "ana")))
    assert found == [False, True, True, False]


HR = {"hr": {"zoneName": "hr", "resources": [{"database": ["hr"]}], "policies": []}}
"""A zone in the plugins' download format: on `hr`, no other policies apply."""

TAG_DENY = {
    "service": "tags",
    "name": "expired",
    "resources": {"tag": {"values": ["EXPIRES_ON"]}},
    "denyPolicyItems": [item("all", groups=["public"])],
}


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([{**SALES, "zoneName": "eu"}], "security zone `eu`"),
        ([{**SALES, "isSecret": True}], "unknown key `isSecret`"),
        ([SALES, {**SALES, "policyItems": []}], "`sales` occurs twice"),
        ([SALES, {**NAMED, "service": "hive2"}], "several services: hive1, hive2; choose one"),
        ([{**SALES, "serviceType": "hdfs"}], "of type `hdfs`; read are those of: hive, trino"),
        (
            [SALES, {**SALES, "name": "more", "serviceType": "  "}],
            "[1]: `hive1` is a service of type `  `; read are those of: hive, trino",
        ),
        (
            [SALES, {**SALES, "name": "more", "serviceType": "trino"}],
            "[1]: `hive1` is a service of type `trino`, and of `hive` in ",
        ),
        ([SALES, TAG_DENY], "takes away by tag"),
        ([{**SALES, "isEnabled": False}], "no enabled policy"),
        ([{"policyDeltas": [{}], "policies": []}], "expected all policies, got changes"),
        ([{"policies": [SALES], "securityZones": HR}], "security zone `hr`"),
        ([{"policies": [], "tagPolicies": {"securityZones": HR}}], "security zone `hr`"),
        ([{"policies": [SALES], "dataZones": {}}], "unknown key `dataZones`"),
        ([{"what": 1}], "expected policies, roles or users"),
        ([policy("p", "s", resources={"database": {"values": []}})], "at least one value"),
    ],
)
def test_what_could_become_more_refuses_the_input(found: list[Policy], message: str) -> None:
    with pytest.raises(BadInput) as refused:
        meant(*found)
    assert message in str(refused.value)


def test_what_the_caller_says_is_not_there_is_left_out() -> None:
    other = {**NAMED, "service": "hive2"}
    warden, rows = meant(SALES, NAMED, other, TAG_DENY, service="hive1", takes_untagged=True)
    assert reads(warden, "sales.orders", "ana") == ["ana"]
    assert notes(rows) == ["policy expired: policy about tags"]


def test_what_plugins_download_is_read_too() -> None:
    whole = {
        "serviceName": "hive1",
        "policyVersion": 3,
        "serviceDef": {"name": "hive"},
        "policies": [SALES, NAMED],
        "tagPolicies": {
            "serviceName": "tags",
            "policies": [{**TAG_DENY, "denyPolicyItems": []}],
        },
        "securityZones": {},
    }
    warden, rows = meant(whole)
    assert reads(warden, "sales.orders", "ana", "eve") == ["ana", "eve"]
    assert notes(rows) == ["policy expired: policy about tags"]


def test_a_catalog_of_trino_is_used_only_where_that_is_allowed() -> None:
    def trino(name: str, *values: str, accesses: Sequence[str]) -> Policy:
        levels = ("catalog", "schema", "table", "column")
        resources = {
            level: {"values": [value]} for level, value in zip(levels, values, strict=False)
        }
        items = [item(*accesses, users=["ana"])]
        return {"service": "t", "name": name, "resources": resources, "policyItems": items}

    select = trino("s", "lake", "sales", "orders", "*", accesses=["select"])
    use = trino("u", "lake", accesses=["use"])
    table = "table:lk:lake.sales.orders"
    assert not meant(select)[0].check("ana", "table.load", table).allow
    assert meant(select, use)[0].check("ana", "table.load", table).allow
    with pytest.raises(BadInput, match="name their catalogs themselves"):
        meant(select, catalog="x")


def test_the_same_export_again_makes_no_new_version(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    whole = {"policies": [SALES, NAMED, {**SALES, "name": "off", "isEnabled": False}]}
    (folder / "policies.json").write_text(json.dumps(whole), "utf-8")
    (folder / "users.json").write_text(json.dumps([users(ana=[], ben=["staff"])]), "utf-8")
    source = RangerFile(folder, "lk")
    first = ingest(source, tmp_path / "out", spark=unstarted)
    assert first.report.quarantined == {}
    assert first.report.ignored == {"disabled policies": 1}
    assert not ingest(source, tmp_path / "out", spark=unstarted).is_new
    loaded = load(tmp_path / "out")
    warden = Warden(loaded.system, loaded.facts)
    assert reads(warden, "sales.orders", "ana", "ben", "cid") == ["ana", "ben"]

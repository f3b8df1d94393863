"""Objects made over the wire and objects ingested from their replies give the same facts.

The replies of a realm are read like an export, and give exactly the realm's rows: so a loaded
estate cannot be distinguished from one made here.
"""

from __future__ import annotations

import json

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.facts import rows_of
from lakewarden.kernel.principal import IMPLIED
from lakewarden.kernel.relations import AttributeRow, EntityRow, Facts
from lakewarden.kernel.statement_file import write_statement
from lakewarden.pipeline.ingest.exchange import Exchange
from lakewarden.service.actor import SYSTEM
from lakewarden.service.load import load_difference
from lakewarden.service.system import load_system
from lakewarden.systems.gravitino.ingest.file import rows
from tests.systems.gravitino.http.court import (
    CATALOG,
    ML,
    POLICIES,
    ROLES,
    RUNS,
    SCHEMA,
    TABLE,
    TAGS,
    TEMPLATES,
    allow,
    deny,
    hand,
    hold,
    on,
    role,
)
from tests.systems.gravitino.http.wire import REALM, Json, Wire

REPLIES = (
    "metalakes",
    f"{ML}/catalogs?details=true",
    f"{CATALOG}/schemas",
    f"{SCHEMA}/tables",
    TABLE,
    f"{ML}/users?details=true",
    f"{ML}/groups?details=true",
    ROLES,
    f"{ROLES}/readers",
    f"{ROLES}/makers",
    f"{TAGS}?details=true",
    f"{POLICIES}?details=true",
    f"{TEMPLATES}?details=true",
    RUNS,
)

Found = dict[str, set[tuple[str, ...]]]


def furnish(court: Wire) -> list[str]:
    """One object of each kind; returns the paths of all objects with an owner."""
    hold(
        court,
        "ana",
        on("catalog", "c", allow("USE_CATALOG", "USE_SCHEMA")),
        on("table", "c.s.t", allow("SELECT_TABLE") + deny("MODIFY_TABLE")),
        name="readers",
    )
    older = on("metalake", "lk", allow("CREATE_MODEL", "MANAGE_GRANTS"))
    court.good("POST", ROLES, role("makers", older), user="boss")
    hand(court, "makers", "staff", "groups")
    court.good("POST", TAGS, {"name": "pii"}, user="boss")
    content = {"supportedObjectTypes": ["TABLE"]}
    policy = {"name": "keep", "policyType": "custom", "content": content}
    court.good("POST", POLICIES, policy, user="boss")
    template = {"name": "run", "jobType": "shell", "executable": "x.sh"}
    court.good("POST", TEMPLATES, {"jobTemplate": template}, user="boss")
    job = court.good("POST", RUNS, {"jobTemplateName": "run"}, user="boss")["job"]
    court.good("PUT", f"{ML}/owners/table/c.s.t", {"name": "ana", "type": "USER"}, user="boss")
    return [
        "metalake/lk",
        "catalog/c",
        "schema/c.s",
        "table/c.s.t",
        "role/readers",
        "role/makers",
        "tag/pii",
        "policy/keep",
        "job_template/run",
        f"job/{job['jobId']}",
    ]


def ingested(court: Wire, owned: list[str]) -> Found:
    """The rows from the replies."""
    found: Found = {}
    system = court.service.state.realm(REALM).system
    for path in (*REPLIES, *(f"{ML}/owners/{one}" for one in owned)):
        segments = ("api", *path.partition("?")[0].split("/"))
        reply = court.good("GET", path, user="boss")
        for row in rows(Exchange(segments, reply, path), system):
            assert row.reason == "", row
            if row.table != "ignored":
                found.setdefault(row.table, set()).add(tuple(row.cells))
    return found


def kept(facts: Facts) -> Found:
    """The same rows of the realm, without the service admin of the tests."""
    placements: set[tuple[str, ...]] = {
        (*row.entity, *row.parent) for row in facts.entities if row.parent is not None
    }
    statements: set[tuple[str, ...]] = {
        (one.id, json.dumps(write_statement(one), sort_keys=True)) for one in facts.statements
    }
    of_admins = [row for row in facts.memberships if row.of.name == "service-admins"]
    assert len(of_admins) == 1
    return {
        "entities": {tuple(row.entity) for row in facts.entities},
        "placements": placements,
        "owners": {(*row.entity, *row.owner, row.ownership) for row in facts.owners},
        "principals": {tuple(one) for one in facts.principals if one.kind != IMPLIED},
        "memberships": {
            (*row.member, *row.of) for row in facts.memberships if row not in of_admins
        },
        "statements": statements,
    }


def test_replies_read_back_as_the_facts_that_they_show(court: Wire) -> None:
    owned = furnish(court)
    snapshot = court.service.state.realm(REALM).matrix.snapshot
    expected = kept(rows_of(snapshot.coded, snapshot.table.statements))
    found = ingested(court, owned)
    found["statements"] = {
        (id, json.dumps(json.loads(text), sort_keys=True)) for id, text in found["statements"]
    }
    assert found.pop("attributes") == {
        ("catalog", "lk:c", "type", "relational"),
        ("catalog", "lk:c", "provider", "hive"),
        ("column", "lk:c.s.t.id", "type", "long"),
        ("column", "lk:c.s.t.mail", "type", "string"),
    }
    for table, rows_expected in expected.items():
        assert found.pop(table) == rows_expected, table
    assert found == {}


SHOWN: list[Json] = [
    {
        "name": "lake",
        "type": "relational",
        "provider": "hive",
        "comment": "all tables",
        "properties": {"uri": "thrift://host:9083"},
    },
    {"name": "events", "type": "messaging", "provider": "kafka", "properties": {}},
    {
        "name": "old",
        "type": "model",
        "provider": "model",
        "comment": "unused",
        "properties": {"in-use": "false"},
    },
]
"""Catalogs in a reply's format."""


@pytest.fixture
def loaded(court: Wire) -> Wire:
    """The court with catalogs that were loaded from such replies, not created there."""
    sent = [{**one, "properties": {**one["properties"], "password": "x"}} for one in SHOWN]
    state = court.service.state.realm(REALM)
    attributes = []
    reply = {"code": 0, "catalogs": sent}
    for row in rows(Exchange(("api", "metalakes", "lk", "catalogs"), reply, "x"), state.system):
        if row.table == "attributes":
            type, name, attribute, value = row.cells
            attributes.append(AttributeRow(Entity(type, name), attribute, value))
    lake = Entity("metalake", "lk")
    facts = Facts(
        entities=[
            EntityRow(lake, None),
            *(EntityRow(Entity("catalog", f"lk:{one['name']}"), lake) for one in SHOWN),
        ],
        attributes=attributes,
    )
    effects = load_difference(
        Facts(entities=[EntityRow(lake, None)]), facts, state.system.model, prune=False
    )
    court.service.write(SYSTEM, lambda transaction: transaction.change(REALM, *effects.effects))
    return court


def without_audit(catalog: Json) -> Json:
    return {key: value for key, value in catalog.items() if key != "audit"}


def test_a_loaded_catalog_is_shown_as_the_reply_that_it_came_from(loaded: Wire) -> None:
    """Except secrets."""
    listed = loaded.good("GET", f"{ML}/catalogs?details=true", user="boss")["catalogs"]
    found = {one["name"]: without_audit(one) for one in listed}
    for shown in SHOWN:
        assert found[shown["name"]] == shown
        if shown["name"] != "old":
            one = loaded.good("GET", f"{ML}/catalogs/{shown['name']}", user="boss")["catalog"]
            assert without_audit(one) == shown
    assert loaded.bad("GET", f"{ML}/catalogs/old/schemas", user="boss")[:2] == (409, 1009)


def test_what_is_altered_of_a_loaded_catalog_leaves_the_rest_as_it_came(loaded: Wire) -> None:
    path = f"{ML}/catalogs/lake"
    updates = [{"@type": "setProperty", "property": "warehouse", "value": "s3a://b"}]
    loaded.good("PUT", path, {"updates": updates}, user="boss")
    shown = without_audit(loaded.good("GET", path, user="boss")["catalog"])
    properties = {"uri": "thrift://host:9083", "warehouse": "s3a://b"}
    assert shown == {**SHOWN[0], "properties": properties}
    updates = [{"@type": "removeProperty", "property": "uri"}]
    loaded.good("PUT", path, {"updates": updates}, user="boss")
    shown = loaded.good("GET", path, user="boss")["catalog"]
    assert shown["properties"] == {"warehouse": "s3a://b"}


def test_a_catalog_that_came_disabled_can_be_enabled(loaded: Wire) -> None:
    path = f"{ML}/catalogs/old"
    loaded.good("PATCH", path, {"inUse": True}, user="boss")
    shown = loaded.good("GET", path, user="boss")["catalog"]
    assert without_audit(shown) == {**SHOWN[2], "properties": {}}


@pytest.mark.parametrize("properties", ["x", {"a": 1}])
def test_properties_that_are_none_are_refused_with_their_place(properties: object) -> None:
    sent = {"code": 0, "catalogs": [{"name": "c", "type": "model", "properties": properties}]}
    asked = Exchange(("api", "metalakes", "lk", "catalogs"), sent, "x")
    with pytest.raises(BadInput, match="properties"):
        list(rows(asked, load_system("gravitino")))

"""What is made over the wire and what is ingested from its replies are the same facts.

The replies of a realm are read as an export is, and give the very rows that the realm has: so an
estate that was loaded and one that was made here cannot be told apart.
"""

from __future__ import annotations

import json

from lakewarden.kernel.facts import rows_of
from lakewarden.kernel.principal import IMPLIED
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.statement_file import write_statement
from lakewarden.pipeline.ingest.exchange import Exchange
from lakewarden.pipeline.ingest.gravitino_file import rows
from tests.wire.gravitino.court import (
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
from tests.wire.gravitino.wire import REALM, Wire

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
    """One of everything; the paths of all objects that have an owner."""
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
    """The rows that the replies give."""
    found: Found = {}
    system = court.plane.state.realm(REALM).system
    for path in (*REPLIES, *(f"{ML}/owners/{one}" for one in owned)):
        segments = ("api", *path.partition("?")[0].split("/"))
        reply = court.good("GET", path, user="boss")
        for row in rows(Exchange(segments, reply, path), system):
            assert row.reason == "", row
            if row.table != "ignored":
                found.setdefault(row.table, set()).add(tuple(row.cells))
    return found


def kept(facts: Facts) -> Found:
    """The same of what the realm has, without the service admin of the tests."""
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
    snapshot = court.plane.state.realm(REALM).matrix.snapshot
    expected = kept(rows_of(snapshot.coded, snapshot.table.statements))
    found = ingested(court, owned)
    found["statements"] = {
        (id, json.dumps(json.loads(text), sort_keys=True)) for id, text in found["statements"]
    }
    for table, rows_expected in expected.items():
        assert found.pop(table) == rows_expected, table
    assert found == {}

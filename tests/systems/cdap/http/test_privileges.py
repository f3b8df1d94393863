"""Granting, revoking and listing privileges, and roles, over the wire."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from lakewarden.kernel.change import Change, StatementAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import ALL_USERS, MASTER, USER, Principal
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.service.actor import SYSTEM
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.settings import CdapSettings
from tests.systems.cdap.http.wire import ADMIN, BOSS, REALM, Json, Wire, switched

BASE = "security/authorization"
GRANT = f"{BASE}/privileges/grant"
REVOKE = f"{BASE}/privileges/revoke"

T1: Json = {"entityType": "DATASET", "entityParts": {"NAMESPACE": "sales", "DATASET": "t1"}}
DANA: Json = {"name": "dana", "type": "USER"}
GET: Json = {"type": "STANDARD", "name": "GET"}


def held(wire: Wire, who: str, kind: str = "user", asker: str = ADMIN) -> list[tuple[str, str]]:
    """A user's listed ids and actions."""
    found = wire.good("GET", f"{BASE}/{kind}/{who}/privileges", user=asker)
    return sorted(
        (
            f"{one['authorizable']['entityType']}:"
            + ".".join(one["authorizable"]["entityParts"].values()),
            one["action"],
        )
        for one in found
    )


def test_what_is_granted_is_listed_and_what_is_revoked_is_not(either: Wire) -> None:
    either.good(
        "POST", GRANT, {"authorizable": T1, "principal": DANA, "actions": ["READ"]}, user=ADMIN
    )
    assert held(either, "dana") == [("DATASET:sales.t1", "READ")]
    either.good(
        "POST", REVOKE, {"authorizable": T1, "principal": DANA, "actions": ["READ"]}, user=ADMIN
    )
    assert held(either, "dana") == []


def test_a_list_names_the_parts_from_the_outermost_inwards(wire: Wire) -> None:
    wire.grant("dana", "program:sales.ingest.workflow.nightly", "EXECUTE")
    assert wire.good("GET", f"{BASE}/USER/dana/privileges", user="dana") == [
        {
            "authorizable": {
                "entityType": "PROGRAM",
                "entityParts": {
                    "NAMESPACE": "sales",
                    "APPLICATION": "ingest",
                    "PROGRAM": "workflow.nightly",
                },
            },
            "action": "EXECUTE",
        }
    ]


def test_the_form_of_the_older_releases_says_the_same(wire: Wire) -> None:
    entity = {"namespace": "sales", "application": "ingest", "version": "1-SNAPSHOT"}
    program = {**entity, "type": "Workflow", "program": "nightly", "entity": "PROGRAM"}
    for form in ({**entity, "entity": "APPLICATION"}, program):
        wire.good(
            "POST", GRANT, {"entity": form, "principal": DANA, "actions": ["READ"]}, user=ADMIN
        )
    assert held(wire, "dana") == [
        ("APPLICATION:sales.ingest", "READ"),
        ("PROGRAM:sales.ingest.workflow.nightly", "READ"),
    ]


def test_without_actions_all_four_are_granted_and_all_is_short_for_them(wire: Wire) -> None:
    every = [("DATASET:sales.t1", one) for one in ("ADMIN", "EXECUTE", "READ", "WRITE")]
    wire.good("POST", GRANT, {"authorizable": T1, "principal": DANA}, user=ADMIN)
    assert held(wire, "dana") == every
    bob = {"name": "bob", "type": "USER"}
    wire.good("POST", GRANT, {"authorizable": T1, "principal": bob, "actions": ["ALL"]}, user=ADMIN)
    assert held(wire, "bob") == every


def test_revoking_by_entity_and_principal_leaves_other_principals(wire: Wire) -> None:
    for user in ("dana", "bob"):
        wire.grant(user, "dataset:sales.t1")
    wire.good("POST", REVOKE, {"authorizable": T1, "principal": DANA}, user=ADMIN)
    assert held(wire, "dana") == []
    assert len(held(wire, "bob")) == 4


def test_revoking_by_entity_clears_everybody_and_no_other_entity(wire: Wire) -> None:
    for user in ("dana", "bob"):
        wire.grant(user, "dataset:sales.t1")
        wire.grant(user, "dataset:sales.t2", "READ")
    wire.good("POST", REVOKE, {"authorizable": T1}, user=ADMIN)
    assert held(wire, "dana") == held(wire, "bob") == [("DATASET:sales.t2", "READ")]


def test_revoking_some_actions_leaves_the_others(wire: Wire) -> None:
    wire.grant("dana", "dataset:sales.t1")
    wire.revoke("dana", "dataset:sales.t1", "WRITE", "EXECUTE")
    assert held(wire, "dana") == [("DATASET:sales.t1", "ADMIN"), ("DATASET:sales.t1", "READ")]


def test_revoking_what_is_not_there_is_quiet(either: Wire) -> None:
    for id in ("dataset:sales.never", "dataset:sales.*"):
        either.revoke("dana", id)
    assert held(either, "dana") == []


def test_a_wildcard_is_listed_and_revoked_as_it_was_granted(wire: Wire) -> None:
    wire.grant("dana", "dataset:sa*s.t?", "READ")
    assert held(wire, "dana") == [("DATASET:sa*s.t?", "READ")]
    wire.revoke("dana", "dataset:sales.t1", "READ")
    assert held(wire, "dana") == [("DATASET:sa*s.t?", "READ")]
    wire.revoke("dana", "dataset:sa*s.t?", "READ")
    assert held(wire, "dana") == []


def test_grants_outlast_the_process_that_made_them(wire: Wire) -> None:
    wire.grant("dana", "dataset:sales.*", "READ")
    wire.grant("dana", "dataset:sales.t1", "WRITE")
    before = held(wire, "dana")
    wire.reopened()
    assert held(wire, "dana") == before != []


def test_what_several_were_given_at_once_is_taken_from_one_alone(wire: Wire) -> None:
    people = frozenset({Principal(USER, "dana"), Principal(USER, "bob")})
    both = frozenset({"READ", "WRITE"})
    on = On(Entity("dataset", "sales.t1"))
    elsewhere = Statement("made elsewhere", Effect.ALLOW, both, on, people)
    wire.service.write(
        SYSTEM, lambda transaction: transaction.change(REALM, StatementAdded(elsewhere))
    )
    wire.revoke("dana", "dataset:sales.t1", "WRITE")
    assert held(wire, "dana") == [("DATASET:sales.t1", "READ")]
    assert held(wire, "bob") == [("DATASET:sales.t1", "READ"), ("DATASET:sales.t1", "WRITE")]
    wire.good("POST", REVOKE, {"authorizable": T1}, user=ADMIN)
    assert held(wire, "dana") == held(wire, "bob") == []


def test_what_the_platform_keeps_open_is_nobodys_to_revoke(wire: Wire) -> None:
    system: Json = {
        "entityType": "ARTIFACT",
        "entityParts": {"NAMESPACE": "system", "ARTIFACT": "*"},
    }
    before = dict(wire.service.state.realm("cdap").matrix.snapshot.table.statements)
    wire.good("POST", REVOKE, {"authorizable": system}, user=ADMIN)
    assert wire.service.state.realm("cdap").matrix.snapshot.table.statements == before


def test_what_everybody_was_given_elsewhere_is_taken_with_the_rest(either: Wire) -> None:
    on, read = On(Entity("dataset", "sales.t1")), frozenset({"READ"})
    for id, people in (("a", {ALL_USERS}), ("b", {MASTER, Principal(USER, "bob")})):
        stored = StatementAdded(Statement(id, Effect.ALLOW, read, on, frozenset(people)))
        either.service.write(SYSTEM, partial(_changed, change=stored))
    either.revoke("bob", "dataset:sales.t1", "READ")
    statements = either.service.state.realm("cdap").matrix.snapshot.table.statements
    assert statements["b"].principals == {MASTER}
    either.good("POST", REVOKE, {"authorizable": T1}, user=ADMIN)
    assert {"a", "b"}.isdisjoint(
        either.service.state.realm("cdap").matrix.snapshot.table.statements
    )


def test_in_the_older_profile_what_everybody_was_given_goes_with_the_entity(old: Wire) -> None:
    old.grant(BOSS, "instance:cdap", "WRITE")
    old.good("PUT", "namespaces/sales")
    on, read = On(Entity("dataset", "sales.t1")), frozenset({"READ"})
    people = frozenset({ALL_USERS, Principal(USER, "dana")})
    for _ in range(2):
        old.good("PUT", "namespaces/sales/data/datasets/t1", {"typeName": "table"})
        stored = StatementAdded(Statement("a", Effect.ALLOW, read, on, people))
        old.service.write(SYSTEM, partial(_changed, change=stored))
        old.good("DELETE", "namespaces/sales/data/datasets/t1")
        assert "a" not in old.service.state.realm("cdap").matrix.snapshot.table.statements
    assert held(old, "dana") == []


def _changed(transaction: WriteTransaction, change: Change) -> None:
    transaction.change(REALM, change)


def test_a_revocation_is_audited_with_all_that_it_takes(wire: Wire) -> None:
    for user in ("dana", "bob"):
        wire.grant(user, "dataset:sales.t1", "READ", "ADMIN")
    every = ["ADMIN", "EXECUTE", "READ", "WRITE"]
    bodies: list[Json] = [
        {"principal": DANA, "actions": []},
        {"principal": DANA},
        {},
        {},
    ]
    for body in bodies:
        wire.good("POST", REVOKE, {"authorizable": T1, **body}, user=ADMIN)
    with wire.store.reading() as reading:
        rows = [json.loads(row.body)["details"] for row in reading.audit()][-len(bodies) :]
    assert [row["actions"] for row in rows] == [[], every, every, every]
    assert [row.get("taken_from") for row in rows] == [None, None, ["user:bob"], []]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"principal": DANA},
        {"authorizable": T1},
        {"authorizable": T1, "entity": T1, "principal": DANA},
        {"authorizable": T1, "principal": {"name": "dana", "type": "user"}},
        {"authorizable": T1, "principal": {"name": "dana", "type": "TEAM"}},
        {"authorizable": T1, "principal": {"name": "", "type": "USER"}},
        {"authorizable": T1, "principal": {"type": "USER"}},
        {"authorizable": T1, "principal": DANA, "actions": ["read"]},
        {"authorizable": T1, "principal": DANA, "actions": ["ALL", "read"]},
        {"authorizable": T1, "principal": DANA, "permissions": [GET]},
        {"authorizable": T1, "principal": DANA, "actions": ["OPEN"]},
        {"authorizable": T1, "principal": DANA, "actions": ["VISIBLE"]},
        {"authorizable": T1, "principal": DANA, "actions": "READ"},
        {"authorizable": {**T1, "entityType": "dataset"}, "principal": DANA},
        {"authorizable": {**T1, "entityType": "TABLE"}, "principal": DANA},
        {"authorizable": {**T1, "entityParts": {"DATASET": "t1"}}, "principal": DANA},
        {"authorizable": {**T1, "entityType": "STREAM_VIEW"}, "principal": DANA},
    ],
)
def test_what_cannot_be_understood_is_400_and_grants_nothing(wire: Wire, body: Any) -> None:
    before = wire.service.state.revision
    assert wire.status("POST", GRANT, body, user=ADMIN) == 400
    assert wire.service.state.revision == before


def test_permissions_of_later_releases_revoke_no_more_than_they_say(wire: Wire) -> None:
    wire.grant("dana", "dataset:sales.t1")
    body: Json = {"authorizable": T1, "principal": DANA, "permissions": [GET]}
    assert wire.status("POST", REVOKE, body, user=ADMIN) == 400
    assert len(held(wire, "dana")) == 4
    wire.good("POST", REVOKE, {**body, "actions": ["READ"]}, user=ADMIN)
    assert len(held(wire, "dana")) == 3


def test_actions_are_not_taken_from_nobody(wire: Wire) -> None:
    body = {"authorizable": T1, "actions": ["READ"]}
    assert wire.status("POST", REVOKE, body, user=ADMIN) == 400


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"a":1,"a":2}'])
def test_a_body_that_is_no_object_is_400(wire: Wire, body: bytes) -> None:
    assert wire.status("POST", GRANT, body, user=ADMIN) == 400


def test_only_an_authorization_admin_grants(wire: Wire) -> None:
    wire.grant("dana", "dataset:sales.t1")
    body = {"authorizable": T1, "principal": DANA, "actions": ["READ"]}
    status, text = wire.ask("POST", GRANT, body, user="dana")
    assert (status, text) == (
        403,
        "Principal 'Principal{name='dana', type=USER, kerberosPrincipal=null}' is not authorized"
        " to perform action 'privilege.grant' on entity 'dataset:sales.t1'"
        " (operation 'privilege.grant'; requires an authorization administrator)",
    )
    assert wire.status("POST", REVOKE, body, user="dana") == 403


def test_being_an_authorization_admin_is_no_privilege_on_data(wire: Wire) -> None:
    assert held(wire, ADMIN) == []


def test_one_lists_ones_own_privileges_and_no_others(wire: Wire) -> None:
    wire.grant("dana", "dataset:sales.t1", "READ")
    assert held(wire, "dana", asker="dana") == held(wire, "dana") != []
    for kind, path in (("user", "privileges"), ("user", "roles"), ("group", "privileges")):
        assert wire.status("GET", f"{BASE}/{kind}/dana/{path}", user="bob") == 403
    assert wire.status("GET", f"{BASE}/group/dana/privileges", user="dana") == 403


def test_the_type_of_a_principal_is_read_in_any_case_in_a_path(wire: Wire) -> None:
    for word in ("user", "USER", "User"):
        assert wire.good("GET", f"{BASE}/{word}/dana/privileges", user="dana") == []
    assert wire.status("GET", f"{BASE}/team/dana/privileges", user="dana") == 400


def test_a_role_is_made_once_and_dropped_once(either: Wire) -> None:
    role = f"{BASE}/roles/eng"
    assert either.status("PUT", role, user=ADMIN) == 200
    assert either.ask("PUT", role, user=ADMIN) == (409, "'role:eng' already exists.")
    assert either.good("GET", f"{BASE}/roles", user=ADMIN) == [{"name": "eng", "type": "ROLE"}]
    assert either.status("DELETE", role, user=ADMIN) == 200
    assert either.ask("DELETE", role, user=ADMIN) == (404, "'role:eng' was not found.")
    assert either.good("GET", f"{BASE}/roles", user=ADMIN) == []


def test_a_membership_gives_the_roles_privileges_and_its_end_takes_them(either: Wire) -> None:
    either.good("PUT", f"{BASE}/roles/eng", user=ADMIN)
    either.grant("eng", "dataset:sales.t1", "READ", kind="ROLE")
    member = f"{BASE}/user/dana/roles"
    either.good("PUT", f"{member}/eng", user=ADMIN)
    assert either.good("GET", member, user="dana") == [{"name": "eng", "type": "ROLE"}]
    assert held(either, "dana") == [("DATASET:sales.t1", "READ")]
    either.good("DELETE", f"{member}/eng", user=ADMIN)
    assert held(either, "dana") == either.good("GET", member, user="dana") == []
    assert held(either, "eng", "role") == [("DATASET:sales.t1", "READ")]


def test_a_group_hands_on_its_roles(wire: Wire) -> None:
    wire.good("PUT", f"{BASE}/roles/eng", user=ADMIN)
    wire.grant("eng", "dataset:sales.t1", "READ", kind="ROLE")
    wire.grant("staff", "dataset:sales.t2", "READ", kind="GROUP")
    wire.good("PUT", f"{BASE}/group/staff/roles/eng", user=ADMIN)
    both = [("DATASET:sales.t1", "READ"), ("DATASET:sales.t2", "READ")]
    assert held(wire, "staff", "group") == both
    found = wire.good("GET", f"{BASE}/user/dana/privileges", user="dana", groups=("staff",))
    assert len(found) == 2


def test_an_unknown_role_is_404_to_those_who_manage_roles(either: Wire) -> None:
    for method in ("PUT", "DELETE"):
        assert either.status(method, f"{BASE}/user/dana/roles/none", user=ADMIN) == 404
        assert either.status(method, f"{BASE}/user/dana/roles/none", user="dana") == 403


def test_a_dropped_role_comes_back_empty(either: Wire) -> None:
    role = f"{BASE}/roles/eng"
    either.good("PUT", role, user=ADMIN)
    either.grant("eng", "dataset:sales.t1", kind="ROLE")
    either.good("PUT", f"{BASE}/user/dana/roles/eng", user=ADMIN)
    either.good("DELETE", role, user=ADMIN)
    either.good("PUT", role, user=ADMIN)
    assert held(either, "dana") == held(either, "eng", "role") == []


def test_roles_are_managed_by_authorization_admins_alone(either: Wire) -> None:
    for method, path in (
        ("GET", "roles"),
        ("PUT", "roles/eng"),
        ("DELETE", "roles/eng"),
        ("PUT", "user/dana/roles/eng"),
        ("DELETE", "user/dana/roles/eng"),
    ):
        assert either.status(method, f"{BASE}/{path}", user="dana") == 403, path


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (switched(authorization=False), "'authorization'"),
        (switched(security=False), "'authentication'"),
        (switched(security=False, authorization=False), "'authentication'"),
    ],
)
def test_with_a_switch_off_every_authorization_endpoint_is_501(
    either: Wire, options: CdapSettings, text: str
) -> None:
    either.services = replace(either.services, systems={"cdap": options})
    for method, path in (
        ("POST", GRANT),
        ("POST", REVOKE),
        ("GET", f"{BASE}/user/dana/privileges"),
        ("GET", f"{BASE}/roles"),
        ("PUT", f"{BASE}/roles/eng"),
        ("DELETE", f"{BASE}/roles/eng"),
        ("GET", f"{BASE}/user/dana/roles"),
        ("PUT", f"{BASE}/user/dana/roles/eng"),
        ("DELETE", f"{BASE}/user/dana/roles/eng"),
    ):
        status, said = either.ask(method, path, {}, user=ADMIN)
        assert (status, text in said) == (501, True), path


def test_no_actions_at_all_grant_nothing_and_leave_nothing_behind(either: Wire) -> None:
    before = either.service.state.realm(REALM).matrix.snapshot.table.statements
    body: Json = {"authorizable": T1, "principal": DANA, "actions": []}
    either.good("POST", GRANT, body, user=ADMIN)
    assert either.service.state.realm(REALM).matrix.snapshot.table.statements == before

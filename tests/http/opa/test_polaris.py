"""Polaris's requests on a real server: every operation for several users, and hostile bodies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from lakewarden.engines import engine
from lakewarden.kernel.principal import Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, OwnerRow
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.system import load_system
from tests.app.serving import Answer
from tests.http.opa.test_served import ROOT, SETTINGS, Trino, served_realm

Json = dict[str, Any]

ACTS = engine.load("polaris").acts

ENTITIES = (
    *("metalake:lk", "catalog:lk:lake", "schema:lk:lake.sales", "schema:lk:lake.hr"),
    *("table:lk:lake.sales.orders", "view:lk:lake.sales.totals", "table:lk:lake.hr.people"),
)
GRANTS = (
    ("USE_CATALOG", "catalog:lk:lake", "member"),
    ("USE_SCHEMA", "schema:lk:lake.sales", "member"),
    ("SELECT_TABLE", "schema:lk:lake.sales", "reader"),
    ("SELECT_VIEW", "schema:lk:lake.sales", "reader"),
    ("MODIFY_TABLE", "schema:lk:lake.sales", "writer"),
    ("CREATE_TABLE", "schema:lk:lake.sales", "maker"),
    ("CREATE_VIEW", "schema:lk:lake.sales", "maker"),
    ("CREATE_SCHEMA", "catalog:lk:lake", "maker"),
    ("CREATE_CATALOG", "metalake:lk", "maker"),
)
USERS = ("olga", "carl", "sam", "ana", "wes", "mia", "eve")
"""Owners of the metalake, of the catalog and of the schema; reader, writer, creator, and nobody."""

TOP, CATALOG, SCHEMA = "olga", "olga carl", "olga carl sam"
MEMBERS = "olga carl sam ana wes mia"

ALLOWED: Mapping[str, str] = {
    "CREATE_CATALOG": "olga mia",
    "LIST_CATALOGS": TOP,
    "UPDATE_CATALOG DELETE_CATALOG SEND_NOTIFICATIONS": CATALOG,
    "ATTACH_POLICY_TO_CATALOG DETACH_POLICY_FROM_CATALOG": CATALOG,
    "REGISTER_TABLE REGISTER_TABLE_OVERWRITE REGISTER_VIEW SET_TABLE_LOCATION": CATALOG,
    "REGISTER_TABLE_WITH_READ_DELEGATION REGISTER_TABLE_WITH_WRITE_DELEGATION": CATALOG,
    "REGISTER_TABLE_OVERWRITE_WITH_READ_DELEGATION": CATALOG,
    "REGISTER_TABLE_OVERWRITE_WITH_WRITE_DELEGATION": CATALOG,
    "GET_CATALOG GET_APPLICABLE_POLICIES_ON_CATALOG": MEMBERS,
    "CREATE_NAMESPACE": "olga carl mia",
    "LIST_NAMESPACES LOAD_NAMESPACE_METADATA NAMESPACE_EXISTS LIST_TABLES LIST_VIEWS": MEMBERS,
    "GET_APPLICABLE_POLICIES_ON_NAMESPACE LIST_POLICY LOAD_POLICY": MEMBERS,
    "LOAD_SEMANTIC_MODEL LIST_SEMANTIC_MODEL": MEMBERS,
    "DROP_NAMESPACE UPDATE_NAMESPACE_PROPERTIES": SCHEMA,
    "CREATE_POLICY DROP_POLICY UPDATE_POLICY": SCHEMA,
    "ATTACH_POLICY_TO_NAMESPACE DETACH_POLICY_FROM_NAMESPACE": SCHEMA,
    "CREATE_SEMANTIC_MODEL UPDATE_SEMANTIC_MODEL DROP_SEMANTIC_MODEL": SCHEMA,
    "CREATE_TABLE_DIRECT CREATE_TABLE_DIRECT_WITH_WRITE_DELEGATION": "olga carl sam mia",
    "CREATE_TABLE_STAGED CREATE_TABLE_STAGED_WITH_WRITE_DELEGATION": "olga carl sam mia",
    "UPDATE_TABLE_FOR_STAGED_CREATE CREATE_VIEW": "olga carl sam mia",
    "LOAD_TABLE LOAD_TABLE_WITH_READ_DELEGATION TABLE_EXISTS": "olga carl sam ana wes",
    "REPORT_READ_METRICS GET_APPLICABLE_POLICIES_ON_TABLE": "olga carl sam ana wes",
    "LOAD_TABLE_WITH_WRITE_DELEGATION UPDATE_TABLE COMMIT_TRANSACTION": "olga carl sam wes",
    "REPORT_WRITE_METRICS ATTACH_POLICY_TO_TABLE DETACH_POLICY_FROM_TABLE": "olga carl sam wes",
    "ASSIGN_TABLE_UUID UPGRADE_TABLE_FORMAT_VERSION ADD_TABLE_SCHEMA": "olga carl sam wes",
    "SET_TABLE_CURRENT_SCHEMA ADD_TABLE_PARTITION_SPEC ADD_TABLE_SORT_ORDER": "olga carl sam wes",
    "SET_TABLE_DEFAULT_SORT_ORDER ADD_TABLE_SNAPSHOT SET_TABLE_SNAPSHOT_REF": "olga carl sam wes",
    "REMOVE_TABLE_SNAPSHOTS REMOVE_TABLE_SNAPSHOT_REF SET_TABLE_PROPERTIES": "olga carl sam wes",
    "REMOVE_TABLE_PROPERTIES SET_TABLE_STATISTICS": "olga carl sam wes",
    "REMOVE_TABLE_STATISTICS REMOVE_TABLE_PARTITION_SPECS": "olga carl sam wes",
    "DROP_TABLE_WITHOUT_PURGE DROP_TABLE_WITH_PURGE RENAME_TABLE": SCHEMA,
    "LOAD_VIEW VIEW_EXISTS": "olga carl sam ana mia",
    "REPLACE_VIEW DROP_VIEW RENAME_VIEW": SCHEMA,
    "LIST_PRINCIPALS CREATE_PRINCIPAL GET_PRINCIPAL UPDATE_PRINCIPAL DELETE_PRINCIPAL": TOP,
    "ROTATE_CREDENTIALS RESET_CREDENTIALS LIST_PRINCIPAL_ROLES_ASSIGNED": TOP,
    "ASSIGN_PRINCIPAL_ROLE REVOKE_PRINCIPAL_ROLE LIST_PRINCIPAL_ROLES": TOP,
    "CREATE_PRINCIPAL_ROLE GET_PRINCIPAL_ROLE UPDATE_PRINCIPAL_ROLE DELETE_PRINCIPAL_ROLE": TOP,
    "LIST_ASSIGNEE_PRINCIPALS_FOR_PRINCIPAL_ROLE LIST_CATALOG_ROLES_FOR_PRINCIPAL_ROLE": TOP,
    "REVOKE_CATALOG_ROLE_FROM_PRINCIPAL_ROLE LIST_CATALOG_ROLES GET_CATALOG_ROLE": TOP,
    "UPDATE_CATALOG_ROLE DELETE_CATALOG_ROLE LIST_GRANTS_FOR_CATALOG_ROLE": TOP,
    "LIST_ASSIGNEE_PRINCIPAL_ROLES_FOR_CATALOG_ROLE REVOKE_ROOT_GRANT_FROM_PRINCIPAL_ROLE": TOP,
    "REVOKE_CATALOG_GRANT_FROM_CATALOG_ROLE REVOKE_NAMESPACE_GRANT_FROM_CATALOG_ROLE": TOP,
    "REVOKE_TABLE_GRANT_FROM_CATALOG_ROLE REVOKE_VIEW_GRANT_FROM_CATALOG_ROLE": TOP,
    "REVOKE_POLICY_GRANT_FROM_CATALOG_ROLE": TOP,
    "ASSIGN_CATALOG_ROLE_TO_PRINCIPAL_ROLE CREATE_CATALOG_ROLE": "",
    "ADD_ROOT_GRANT_TO_PRINCIPAL_ROLE ADD_CATALOG_GRANT_TO_CATALOG_ROLE": "",
    "ADD_NAMESPACE_GRANT_TO_CATALOG_ROLE ADD_TABLE_GRANT_TO_CATALOG_ROLE": "",
    "ADD_VIEW_GRANT_TO_CATALOG_ROLE ADD_POLICY_GRANT_TO_CATALOG_ROLE": "",
}
"""The permitted users in `prod.sales`; all others are denied."""

EXPECTED = {act: set(users.split()) for acts, users in ALLOWED.items() for act in acts.split()}


def facts() -> Facts:
    system = load_system("gravitino", SETTINGS)
    entities = [system.entity(text) for text in ENTITIES]
    users = {name: system.principal(name) for name in USERS}
    roles = {name: Principal("role", f"lk:{name}") for name in ("member", "reader", "writer")}
    roles["maker"] = Principal("role", "lk:maker")
    lake = members_of("lk")
    memberships = [MembershipRow(users[name], lake) for name in USERS if name != "eve"]
    for name in ("sam", "ana", "wes", "mia"):
        memberships.append(MembershipRow(users[name], roles["member"]))
    for name, role in (("ana", "reader"), ("wes", "writer"), ("mia", "maker")):
        memberships.append(MembershipRow(users[name], roles[role]))
    statements = [
        {"id": privilege, "privileges": [privilege], "on": on, "to": [f"role:lk:{role}"]}
        for privilege, on, role in GRANTS
    ]
    owners = zip(entities[:3], ("olga", "carl", "sam"), strict=True)
    return Facts(
        entities=[EntityRow(one, system.spelling.parent(one)) for one in entities],
        owners=[OwnerRow(entity, users[name]) for entity, name in owners],
        principals=[*users.values(), *roles.values()],
        memberships=memberships,
        statements=read_statements(statements, system.model, system.spelling, "statements"),
    )


@pytest.fixture(name="realm", scope="module")
def _realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    yield from served_realm(tmp_path_factory.mktemp("polaris"), facts())


IN_CATALOG = [{"type": "CATALOG", "name": "prod"}]
IN_NAMESPACE = [*IN_CATALOG, {"type": "NAMESPACE", "name": "sales"}]


def securable(type: str, name: str, *, view: bool = False) -> Json:
    """A securable in `prod.sales`, in Polaris's form."""
    names = {"CATALOG": "prod", "NAMESPACE": "sales", "TABLE_LIKE": "totals" if view else "orders"}
    parents = {
        **dict.fromkeys(("NAMESPACE", "CATALOG_ROLE"), IN_CATALOG),
        **dict.fromkeys(("TABLE_LIKE", "POLICY", "SEMANTIC_MODEL"), IN_NAMESPACE),
    }
    return {"type": type, "name": names.get(type, name), "parents": parents.get(type, [])}


def ask(realm: Trino, user: str, action: str, resource: Json, roles: Sequence[str] = ()) -> Any:
    body = {
        "input": {
            "actor": {"principal": user, "roles": list(roles)},
            "action": action,
            "resource": resource,
            "context": {"request_id": "r-1", "realm": "POLARIS"},
        }
    }
    return realm.post("polaris", body)


def allowed_by(answer: Answer) -> bool:
    value = answer.json()
    assert isinstance(value, dict)
    return value["result"]["allow"] is True


def allows(
    realm: Trino, user: str, action: str, *targets: Json, second: Sequence[Json] = ()
) -> bool:
    answer = ask(realm, user, action, {"targets": list(targets), "secondaries": list(second)})
    assert answer.status == 200, answer.body
    value = answer.json()
    assert isinstance(value, dict)
    # Not all denials of one user in one minute are stored.
    assert set(value) - {"decision_id"} == {"result"}
    assert not (value["result"]["allow"] and "decision_id" in value)
    assert set(value["result"]) == {"allow"}
    return value["result"]["allow"] is True


def usual(action: str, type: str) -> tuple[list[Json], list[Json]]:
    """Targets and secondaries of a request for the operation."""
    act, view = ACTS[action], "VIEW" in action
    second = [securable(act.second[0], "other", view=view)] if act.second else []
    return [securable(type, "x", view=view)], second


def test_the_table_of_outcomes_has_every_operation() -> None:
    assert EXPECTED.keys() == ACTS.keys()


@pytest.mark.parametrize("user", USERS)
def test_every_operation_is_allowed_to_whom_its_rule_allows_it(realm: Trino, user: str) -> None:
    wrong = []
    for action, act in ACTS.items():
        # The last type is the innermost: a catalog has several levels of namespaces.
        targets, second = usual(
            action, "CATALOG" if action == "CREATE_NAMESPACE" else act.resources[-1]
        )
        if allows(realm, user, action, *targets, second=second) is not (user in EXPECTED[action]):
            wrong.append(action)
    assert wrong == []


def test_the_root_is_named_or_left_out(realm: Trino) -> None:
    root = {"type": "ROOT", "name": "root_container", "parents": []}
    assert allows(realm, "mia", "CREATE_CATALOG", root)
    assert allows(realm, "mia", "CREATE_CATALOG")
    assert not allows(realm, "ana", "CREATE_CATALOG")
    orders = securable("TABLE_LIKE", "")
    orders["parents"] = [{"type": "ROOT", "name": "root_container"}, *IN_NAMESPACE]
    assert allows(realm, "ana", "LOAD_TABLE", orders)


def test_all_targets_have_to_be_allowed(realm: Trino) -> None:
    orders = securable("TABLE_LIKE", "")
    people = {
        **orders,
        "name": "people",
        "parents": [*IN_CATALOG, {"type": "NAMESPACE", "name": "hr"}],
    }
    assert allows(realm, "wes", "COMMIT_TRANSACTION", orders, orders)
    assert not allows(realm, "wes", "COMMIT_TRANSACTION", orders, people)
    assert not allows(realm, "wes", "COMMIT_TRANSACTION", people, orders)


def test_a_table_that_moves_has_to_be_allowed_in_its_new_namespace(realm: Trino) -> None:
    def moves(user: str, *to: Json) -> bool:
        return allows(realm, user, "RENAME_TABLE", securable("TABLE_LIKE", ""), second=to)

    sales = securable("NAMESPACE", "")
    hr = {**sales, "name": "hr"}
    as_table = {
        "type": "TABLE_LIKE",
        "name": "kept",
        "parents": [*IN_CATALOG, {"type": "NAMESPACE", "name": "hr"}],
    }
    assert moves("sam", sales)
    assert not moves("sam", hr)
    assert not moves("sam", as_table)
    assert not moves("sam", sales, hr)
    assert moves("carl", hr)
    assert moves("carl", as_table)
    assert not moves("carl")


def test_one_may_rotate_ones_own_credentials_and_those_of_nobody_else(realm: Trino) -> None:
    for user in ("ana", "eve"):
        own: Json = {"type": "PRINCIPAL", "name": user, "parents": []}
        assert allows(realm, user, "ROTATE_CREDENTIALS", own)
        assert not allows(realm, user, "RESET_CREDENTIALS", own)
        assert not allows(realm, user, "ROTATE_CREDENTIALS", {**own, "name": "olga"})
        assert not allows(realm, user, "ROTATE_CREDENTIALS", own, {**own, "name": "olga"})


@pytest.mark.parametrize(
    ("kind", "on", "expression"),
    [
        ("filter", "schema:lk:lake.sales", "id = 1"),
        ("filter", "table:lk:lake.sales.orders", "id = 1"),
        ("mask", "column:lk:lake.sales.orders.iban", "null"),
    ],
)
def test_credentials_for_files_are_not_for_whom_a_filter_or_mask_binds(
    realm: Trino, kind: str, on: str, expression: str
) -> None:
    of_tables = [act for act in ACTS.values() if act.whole and not act.second]
    handing_out = [act.name for act in of_tables if "VIEW" not in act.name]
    assert "LOAD_TABLE_WITH_READ_DELEGATION" in handing_out
    path = f"/api/v1/realms/gravitino/{kind}s/limit"
    body = {"on": on, "expression": expression, "except": ["user:olga"]}
    answer = realm.served.ask("PUT", path, body, token=ROOT)
    assert answer.status == 200, answer.body
    try:
        orders = securable("TABLE_LIKE", "")
        for action in handing_out:
            assert allows(realm, "olga", action, orders), action
            for user in USERS[1:]:
                assert not allows(realm, user, action, orders), (user, action)
        for user in ("carl", "ana", "wes"):
            assert allows(realm, user, "LOAD_TABLE", orders)
    finally:
        assert (
            realm.served.ask(
                "DELETE", "/api/v1/realms/gravitino/statements/limit", token=ROOT
            ).status
            < 300
        )


def test_credentials_to_read_files_are_not_for_whom_a_deny_closes_a_column(realm: Trino) -> None:
    path = "/api/v1/realms/gravitino/statements/no-iban"
    deny = {"effect": "deny", "privileges": ["SELECT_COLUMN"], "to": ["user:ana"]}
    orders, action = securable("TABLE_LIKE", ""), "LOAD_TABLE_WITH_READ_DELEGATION"
    assert allows(realm, "ana", action, orders)
    on = {"on": "column:lk:lake.sales.orders.iban"}
    assert realm.served.ask("PUT", path, {**deny, **on}, token=ROOT).status == 200
    try:
        assert not allows(realm, "ana", action, orders)
        assert allows(realm, "ana", "LOAD_TABLE", orders)
        assert allows(realm, "olga", action, orders)
    finally:
        assert realm.served.ask("DELETE", path, token=ROOT).status < 300


def test_roles_of_polaris_do_not_count(realm: Trino) -> None:
    resource = {"targets": [securable("TABLE_LIKE", "")], "secondaries": []}
    roles = ["lk:reader", "reader", "lk:member", "service_admin"]
    assert allowed_by(ask(realm, "eve", "LOAD_TABLE", resource, roles)) is False


ORDERS = securable("TABLE_LIKE", "")
HOSTILE: Sequence[tuple[str, list[Json], list[Json]]] = [
    ("READ_MINDS", [ORDERS], []),
    ("load_table", [ORDERS], []),
    ("polaris.LOAD_TABLE", [ORDERS], []),
    ("LOAD_TABLE", [], []),
    ("LOAD_TABLE", [securable("NAMESPACE", "")], []),
    ("LOAD_TABLE", [securable("CATALOG", "")], []),
    ("LOAD_TABLE", [{**ORDERS, "type": "TABLE"}], []),
    ("LOAD_TABLE", [{**ORDERS, "type": "NULL_TYPE"}], []),
    ("LOAD_TABLE", [ORDERS, {**ORDERS, "type": "ROOT"}], []),
    ("LOAD_TABLE", [{**ORDERS, "parents": []}], []),
    ("LOAD_TABLE", [{**ORDERS, "parents": IN_CATALOG}], []),
    ("LOAD_TABLE", [{**ORDERS, "parents": IN_NAMESPACE[::-1]}], []),
    ("LOAD_TABLE", [{**ORDERS, "parents": [*IN_NAMESPACE, IN_NAMESPACE[1]]}], []),
    (
        "LOAD_TABLE",
        [{**ORDERS, "parents": [*IN_NAMESPACE, {"type": "TABLE_LIKE", "name": "x"}]}],
        [],
    ),
    ("LOAD_TABLE", [ORDERS], [ORDERS]),
    *(
        ("LOAD_TABLE", [{**ORDERS, "name": name}], [])
        for name in ("", "*", "a.b", "orders.id", "a\x00b")
    ),
    *(
        ("LIST_TABLES", [{"type": "NAMESPACE", "name": name, "parents": IN_CATALOG}], [])
        for name in ("", "*", "sales.orders", "sales\x1forders", "lk:lake.sales")
    ),
    ("LIST_TABLES", [{"type": "NAMESPACE", "name": "b", "parents": IN_NAMESPACE}], []),
    ("LIST_NAMESPACES", [{"type": "NAMESPACE", "name": "a.b", "parents": IN_CATALOG}], []),
    ("GET_CATALOG", [{"type": "CATALOG", "name": "prod.sales", "parents": []}], []),
    ("GET_CATALOG", [{"type": "CATALOG", "name": "prod", "parents": IN_CATALOG}], []),
    ("RENAME_TABLE", [ORDERS], []),
    ("RENAME_TABLE", [ORDERS], [securable("CATALOG", "")]),
    ("RENAME_TABLE", [ORDERS], [securable("NAMESPACE", ""), {"type": "x", "name": "y"}]),
    ("CREATE_CATALOG", [securable("CATALOG", "")], []),
]


def test_what_cannot_be_read_is_denied_and_audited(realm: Trino) -> None:
    for action, targets, second in HOSTILE:
        assert not allows(realm, "olga", action, *targets, second=second), (action, targets, second)
    answer = realm.served.ask("GET", "/api/v1/audit?operation=polaris.unknown", token=ROOT)
    assert answer.status == 200, answer.body
    assert b'"polaris.unknown"' in answer.body
    assert b'"outcome":"deny"' in answer.body.replace(b" ", b"")


NEWER = (
    *("ADD_SEMANTIC_MODEL_GRANT_TO_CATALOG_ROLE", "REVOKE_SEMANTIC_MODEL_GRANT_FROM_CATALOG_ROLE"),
    *("CREATE_TAG", "LOAD_TAG", "DROP_TAG", "UPDATE_TAG", "LIST_TAG", "DROP_TAG_DETACH_ALL"),
    *("RENAME_TAG", "ASSIGN_TAG_TO_CATALOG", "ASSIGN_TAG_TO_NAMESPACE", "ASSIGN_TAG_TO_TABLE"),
    *("ASSIGN_TAG_TO_VIEW", "UNASSIGN_TAG_FROM_CATALOG", "UNASSIGN_TAG_FROM_NAMESPACE"),
    *("UNASSIGN_TAG_FROM_TABLE", "UNASSIGN_TAG_FROM_VIEW"),
)
"""Operations of `PolarisAuthorizableOperation` at 033007e17561, which are in no release yet."""


@pytest.mark.parametrize("user", USERS)
def test_operations_of_a_newer_polaris_are_denied(realm: Trino, user: str) -> None:
    assert not ACTS.keys() & set(NEWER)
    tag: Json = {"type": "TAG", "name": "pii", "parents": IN_CATALOG}
    about = (tag, *(securable(type, "x") for type in ("CATALOG", "NAMESPACE", "TABLE_LIKE")))
    for action in NEWER:
        for target in about:
            assert not allows(realm, user, action, target), action
            assert not allows(realm, user, action, target, second=[tag]), action


NOTHING = {"type": "", "name": ""}
GOOD: Json = {
    "actor": {"principal": "olga", "roles": []},
    "action": "LOAD_TABLE",
    "resource": {"targets": [ORDERS], "secondaries": []},
}


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"", "body"),
        (b"{", "body"),
        (b"[]", "body"),
        (b"[" * 100_000, "body"),
        ({}, "input"),
        ({"input": {**GOOD, "actor": {}}}, "principal"),
        ({"input": {**GOOD, "actor": {"principal": 7}}}, "principal"),
        ({"input": {**GOOD, "actor": {"principal": "a\nb"}}}, "principal"),
        ({"input": {**GOOD, "action": None}}, "action"),
        ({"input": {**GOOD, "resource": {"targets": [ORDERS]}}}, "secondaries"),
        ({"input": {**GOOD, "resource": {"targets": {}, "secondaries": []}}}, "targets"),
        (
            {"input": {**GOOD, "resource": {"targets": [{"type": "ROOT"}], "secondaries": []}}},
            "name",
        ),
        ({"input": {**GOOD, "resource": {"targets": [1], "secondaries": []}}}, "targets"),
        (
            {"input": {**GOOD, "resource": {"targets": [], "secondaries": [NOTHING] * 10_001}}},
            "secondaries",
        ),
        *(({"input": {key: GOOD[key] for key in GOOD if key != left}}, left) for left in GOOD),
    ],
)
def test_a_malformed_request_is_refused_and_names_the_member(
    realm: Trino, body: object, where: str
) -> None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = realm.post("polaris", raw)
    assert answer.status == 400
    value = answer.json()
    assert isinstance(value, dict)
    assert value["code"] == "invalid_parameter"
    assert where in value["message"]


def test_the_token_comes_in_the_header_or_in_the_address(realm: Trino) -> None:
    body = {"input": GOOD}
    assert realm.post("polaris", body).status == 200
    assert realm.post("polaris", body, "?", token=realm.engine).status == 200
    for query in ("?", "?token=", f"?token={realm.plain}"):
        assert realm.post("polaris", body, query).status == 401
    assert realm.post("polaris", body, f"?token={realm.stranger}").status == 403
    where = f"/r/silent/opa/v1/polaris?token={realm.engine}"
    answer = realm.served.ask("POST", where, body)
    assert answer.status == 404
    assert "set `polaris` to `on`" in answer.body.decode()

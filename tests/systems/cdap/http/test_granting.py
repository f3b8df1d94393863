"""Permission to grant in the older profile, ids and wildcards in grants, and error texts."""

from __future__ import annotations

import pytest

from lakewarden.systems.cdap import names as cdap
from tests.systems.cdap.http.wire import ADMIN, BOSS, Json, Wire

GRANT = "security/authorization/privileges/grant"
REVOKE = "security/authorization/privileges/revoke"
BOB: Json = {"name": "bob", "type": "USER"}


def body(id: str, *actions: str) -> Json:
    anchor = cdap.to_authorizable(cdap.parse_pattern_id(id))
    return {"authorizable": anchor, "principal": BOB, "actions": list(actions or ["READ"])}


@pytest.fixture
def sales(old: Wire) -> Wire:
    """The older profile with a namespace that `boss` has created."""
    old.grant(BOSS, "instance:cdap", "WRITE")
    old.good("PUT", "namespaces/sales")
    return old


def test_whoever_holds_admin_grants_and_revokes_there(sales: Wire) -> None:
    assert sales.status("POST", GRANT, body("namespace:sales")) == 200
    assert sales.status("GET", "namespaces/sales", user="bob") == 200
    assert sales.status("POST", REVOKE, body("namespace:sales")) == 200
    assert sales.status("GET", "namespaces/sales", user="bob") == 403


def test_whoever_holds_all_but_admin_does_not(sales: Wire) -> None:
    sales.grant("dana", "namespace:sales", "READ", "WRITE", "EXECUTE")
    for path in (GRANT, REVOKE):
        status, text = sales.ask("POST", path, body("namespace:sales"), user="dana")
        assert status == 403
        assert "to perform actions '[ADMIN]' on entity 'namespace:sales'" in text


def test_on_what_is_not_there_only_an_authorization_admin_grants(sales: Wire) -> None:
    sales.grant("dana", "dataset:sales.t1", "ADMIN")
    assert sales.ask("POST", GRANT, body("dataset:sales.t1"), user="dana") == (
        404,
        "'dataset:sales.t1' was not found.",
    )
    assert sales.status("POST", GRANT, body("dataset:sales.t1"), user="eve") == 403
    assert sales.status("POST", GRANT, body("dataset:sales.t1"), user=ADMIN) == 200


@pytest.mark.parametrize("id", ["instance:cdap", "kerberosprincipal:eve", "namespace:default"])
def test_what_is_never_created_is_granted_on_by_whoever_holds_admin(sales: Wire, id: str) -> None:
    assert sales.status("POST", GRANT, body(id), user="dana") == 403
    sales.grant("dana", id, "ADMIN")
    assert sales.status("POST", GRANT, body(id), user="dana") == 200


def test_by_a_wildcard_only_an_authorization_admin_grants(sales: Wire) -> None:
    sales.grant("dana", "namespace:*", "ADMIN")
    for id in ("namespace:sa*", "namespace:*"):
        assert sales.status("POST", GRANT, body(id), user="dana") == 403
        assert sales.status("POST", GRANT, body(id), user=ADMIN) == 200
    assert sales.status("POST", GRANT, body("namespace:sales"), user="dana") == 200


def test_by_a_wildcard_only_an_authorization_admin_revokes(sales: Wire) -> None:
    sales.grant("dana", "dataset:sales.?", "ADMIN")
    sales.grant("bob", "dataset:sales.*", "READ")
    everybody = {"authorizable": cdap.to_authorizable(cdap.parse_pattern_id("dataset:sales.*"))}
    assert sales.status("POST", REVOKE, everybody, user="dana") == 403
    assert sales.status("POST", REVOKE, body("dataset:sales.t"), user="dana") == 200
    assert sales.status("POST", REVOKE, everybody, user=ADMIN) == 200


def test_a_refused_grant_is_audited(sales: Wire) -> None:
    sales.status("POST", GRANT, body("namespace:sales"), user="eve")
    with sales.store.reading() as reading:
        row = list(reading.audit())[-1]
    assert '"outcome":"deny"' in row.body.replace(" ", "")
    assert "privilege.grant" in row.body


@pytest.mark.parametrize(
    ("type", "parts"),
    [
        ("ARTIFACT", {"ARTIFACT": "art"}),
        ("ARTIFACT", {"NAMESPACE": "ns", "ARTIFACT": "art.1.0"}),
        ("NAMESPACE", {"NAMESPACE": "a.b"}),
        ("PROGRAM", {"NAMESPACE": "ns", "APPLICATION": "app"}),
        ("PROGRAM", {"NAMESPACE": "ns", "APPLICATION": "app", "PROGRAM": "nightly"}),
        ("PROGRAM", {"NAMESPACE": "ns", "APPLICATION": "app", "PROGRAM": "query.q"}),
        ("STREAM", {"STREAM": "s"}),
        ("STREAM", {"NAMESPACE": "ns", "STREAM": "s.x"}),
        ("DATASET", {"DATASET": "x"}),
    ],
)
def test_ids_that_do_not_follow_the_grammar_are_400(
    wire: Wire, type: str, parts: dict[str, str]
) -> None:
    asked = {"authorizable": {"entityType": type, "entityParts": parts}, "principal": BOB}
    assert wire.status("POST", GRANT, asked, user=ADMIN) == 400


@pytest.mark.parametrize(
    "id",
    [
        "program:ns.app.*",
        "program:ns.app.workflow.*",
        "program:*.*.*",
        "dataset:*.com.acme.*",
        "artifact:n?.etl",
        "namespace:*",
        "kerberosprincipal:eve/*@CORP",
        "securekey:ns.*",
        "instance:*",
    ],
)
def test_wildcards_are_taken_anywhere(wire: Wire, id: str) -> None:
    wire.grant("bob", id, "READ")
    found = wire.good("GET", "security/authorization/user/bob/privileges", user="bob")
    assert [one["authorizable"] for one in found] == [
        cdap.to_authorizable(cdap.parse_pattern_id(id))
    ]


def test_a_wildcard_covers_what_comes_later(wire: Wire) -> None:
    wire.grant(BOSS, "namespace:sa*", "ADMIN")
    assert wire.status("PUT", "namespaces/sales") == 200
    assert wire.status("PUT", "namespaces/hr") == 403


def test_a_wildcard_on_a_type_covers_no_other(wire: Wire) -> None:
    wire.grant(BOSS, "namespace:*", "ADMIN")
    wire.good("PUT", "namespaces/sales")
    assert wire.status("PUT", "namespaces/sales/securekeys/k", {"data": "x"}) == 403


def test_a_wildcard_that_is_revoked_covers_nothing_any_more(wire: Wire) -> None:
    wire.grant(BOSS, "namespace:*", "ADMIN")
    wire.good("PUT", "namespaces/sales")
    wire.revoke(BOSS, "namespace:*", "ADMIN")
    assert wire.status("GET", "namespaces/sales") == 403


def test_a_group_of_the_identity_provider_counts(wire: Wire) -> None:
    wire.grant("staff", "namespace:sales", "ADMIN", kind="GROUP")
    assert wire.status("PUT", "namespaces/sales", user="dana") == 403
    assert wire.status("PUT", "namespaces/sales", user="dana", groups=("staff",)) == 200

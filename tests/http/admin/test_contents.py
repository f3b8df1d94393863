"""Statements and entities over our own API."""

from __future__ import annotations

from lakewarden.kernel.change import StatementAdded
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.actor import SYSTEM
from tests.http.admin.api import Api
from tests.http.admin.conftest import HIDDEN, TABLE

G = "/realms/gravitino"


def test_a_statement_comes_back_as_it_was_sent(lake: Api) -> None:
    body = {
        "effect": "deny",
        "privileges": ["SELECT_TABLE"],
        "to": ["group:staff", "user:ana"],
        "on": TABLE,
        "title": "not now",
        "valid_from": "2026-01-01T00:00:00Z",
        "valid_until": "2030-01-01T00:00:00Z",
    }
    made = lake.must("PUT", f"{G}/statements/a%2Fb", body)
    assert made == {"id": "a/b", **body}
    stored = lake.must("GET", f"{G}/statements/a%2Fb")
    words = stored.pop("words")
    assert stored == made
    assert "".join(word["text"] for word in words) == (
        "members of staff and ana may not SELECT_TABLE on table sales.raw.orders"
    )
    check = {"operation": "table.load", "entity": TABLE}
    assert lake.must("POST", f"{G}/check", check, user="ana")["allow"] is False
    assert lake.ask("DELETE", f"{G}/statements/a%2Fb").status == 204
    assert lake.ask("DELETE", f"{G}/statements/a%2Fb").status == 204
    assert lake.ask("GET", f"{G}/statements/a%2Fb").status == 404
    assert lake.must("POST", f"{G}/check", check, user="ana")["allow"] is True


def test_a_moment_beyond_the_calendar_is_shown_as_its_end(lake: Api) -> None:
    system = lake.service.state.realm("gravitino").system
    table = {"id": "far", "privileges": "SELECT_TABLE", "to": "user:ana", "valid_until": 1e15}
    (far,) = read_statements([table], system.model, system.spelling, "")
    lake.service.write(
        SYSTEM, lambda transaction: transaction.change("gravitino", StatementAdded(far))
    )
    shown = lake.must("GET", f"{G}/statements/far")
    assert shown["valid_until"].startswith("9999-12-31T")


def test_criteria_come_back_as_they_were_sent(api: Api) -> None:
    where = [{"field": "DOMAIN", "condition": "EQUALS", "values": ["urn:li:domain:x"]}]
    body = {"privileges": ["VIEW_ENTITY_PAGE"], "to": ["all-users"], "where": where}
    made = api.must("PUT", "/realms/datahub/statements/w", body)
    assert made["where"] == where
    sent = [{"field": "DOMAIN", "values": ["urn:li:domain:x"]}]
    assert api.must("PUT", "/realms/datahub/statements/w", {**body, "where": sent}) == made


def test_statements_are_listed_by_id_filtered_and_in_pages(lake: Api) -> None:
    found = lake.must("GET", f"{G}/statements")
    assert [one["id"] for one in found["statements"]] == ["read", "secret", "use"]
    mine = lake.must("GET", f"{G}/statements", query={"to": "user:zoe"})
    assert [one["id"] for one in mine["statements"]] == ["secret"]
    by_privilege = lake.must("GET", f"{G}/statements", query={"privilege": "USE_SCHEMA"})
    assert [one["id"] for one in by_privilege["statements"]] == ["use"]
    first = lake.must("GET", f"{G}/statements", query={"page.limit": "2"})
    token = first["page"]["next_token"]
    rest = lake.must("GET", f"{G}/statements", query={"page.limit": "2", "page.token": token})
    assert [one["id"] for one in rest["statements"]] == ["use"]


def test_a_malformed_statement_changes_nothing(lake: Api) -> None:
    before = lake.must("GET", f"{G}/statements")
    good = {"privileges": ["SELECT_TABLE"], "to": ["user:ana"], "on": TABLE}
    wrongs: list[dict[str, object]] = [
        {"privileges": []},
        {"privileges": ["SELECT"]},
        {"privileges": ["MEMBER"], "on": "metalake:lk"},
        {"to": []},
        {"to": ["ana"]},
        {"on": "table:lk"},
        {"on": "tag:lk:x"},
        {"matching": "table:*"},
        {"effect": "maybe"},
        {"owner": "ana"},
        {"valid_from": "2026-01-01T00:00:00"},
        {"valid_from": 5},
    ]
    for wrong in wrongs:
        assert lake.ask("PUT", f"{G}/statements/x", {**good, **wrong}).status == 400, wrong
    assert lake.must("GET", f"{G}/statements") == before


def test_what_is_wrong_is_named_as_the_body_has_it(lake: Api) -> None:
    good = {"privileges": ["SELECT_TABLE"], "to": ["user:ana"], "on": TABLE}
    wrong = {"privileges": ["FLY"], "to": ["ana:ben"], "on": "shelf:x"}
    for member, value in wrong.items():
        body = {**good, member: value}
        put = lake.ask("PUT", f"{G}/statements/x", body)
        assert [one["path"] for one in put.body["errors"]] == [f"body.{member}"]
        seen = lake.ask("POST", f"{G}/preview", {"put": [{"id": "x", **body}]})
        assert [one["path"] for one in seen.body["errors"]] == [f"body.put[0].{member}"]


def test_a_repeated_statement_is_no_new_revision(lake: Api) -> None:
    body = {"privileges": ["SELECT_TABLE"], "to": ["user:ana"], "on": TABLE}
    first = lake.ask("PUT", f"{G}/statements/x", body)
    again = lake.ask("PUT", f"{G}/statements/x", body)
    assert first.headers["lakewarden-revision"] == again.headers["lakewarden-revision"]
    assert first.body == again.body


def test_a_marked_statement_is_changed_only_by_who_names_the_mark(lake: Api) -> None:
    body = {"privileges": ["SELECT_TABLE"], "to": ["user:ana"], "on": TABLE}
    lake.must("PUT", f"{G}/statements/kept", {**body, "mark": "git:policies"})
    assert lake.ask("PUT", f"{G}/statements/kept", body).status == 409
    assert lake.ask("DELETE", f"{G}/statements/kept").status == 409
    assert lake.ask("PUT", f"{G}/statements/read", {**body, "mark": "git:policies"}).status == 409
    mark = {"mark": "git:policies"}
    assert lake.ask("DELETE", f"{G}/statements/kept", query=mark).status == 204


def test_what_the_system_needs_stays(api: Api) -> None:
    assert api.ask("DELETE", "/realms/_server/statements/administrators").status == 409
    body = {"privileges": ["ASK_OWN"], "to": ["all-users"], "on": "server:lakewarden"}
    assert api.ask("PUT", "/realms/_server/statements/everyone", body).status == 409


def test_the_rights_of_the_last_administrator_are_not_denied(api: Api) -> None:
    deny = {"effect": "deny", "privileges": ["MANAGE_SERVER"], "on": "server:lakewarden"}
    for to in (["user:admin"], ["all-users"]):
        answer = api.ask("PUT", "/realms/_server/statements/no", {**deny, "to": to})
        assert answer.status == 409
    assert api.must("GET", "/whoami")["administrator"] is True


def test_who_manages_a_realm_writes_in_it_and_hands_out_no_rights(lake: Api) -> None:
    right = {"privileges": ["MANAGE_REALM"], "to": ["user:ben"], "on": "realm:gravitino"}
    lake.must("PUT", "/realms/_server/statements/ben", right)
    body = {"privileges": ["SELECT_TABLE"], "to": ["user:ben"], "on": TABLE}
    assert lake.ask("PUT", f"{G}/statements/x", body, user="ben").status == 200
    refused = lake.ask("PUT", "/realms/_server/statements/y", right, user="ben")
    assert (refused.status, refused.body["operation"]) == (403, "grant.put")
    refused = lake.ask(
        "PUT",
        "/realms/_server/memberships",
        {"member": "user:ben", "of": "service-admins"},
        user="ben",
    )
    assert (refused.status, refused.body["operation"]) == (403, "grant.put")


def test_entities_are_listed_in_place_order_and_in_pages(lake: Api) -> None:
    found = lake.must("GET", f"{G}/entities")
    assert found["total"] == 5
    assert [one["type"] for one in found["entities"]][:3] == ["metalake", "catalog", "schema"]
    tables = lake.must("GET", f"{G}/entities", query={"type": "table"})
    assert tables["total"] == 2
    below = lake.must("GET", f"{G}/entities", query={"within": "schema:lk:sales.raw"})
    assert below["total"] >= 2
    first = lake.must("GET", f"{G}/entities", query={"page.limit": "3"})
    query = {"page.limit": "3", "page.token": first["page"]["next_token"]}
    rest = lake.must("GET", f"{G}/entities", query=query)
    assert first["entities"] + rest["entities"] == found["entities"]


def test_an_entity_is_stored_owned_looked_at_and_dropped(lake: Api) -> None:
    owners = [{"principal": "user:ben", "ownership": ""}]
    made = lake.must("PUT", f"{G}/entity", {"entity": TABLE, "owners": owners})
    assert (made["owners"], made["parent"]) == (owners, "schema:lk:sales.raw")
    assert lake.must("GET", f"{G}/entity", query={"entity": TABLE}) == made
    assert lake.ask("DELETE", f"{G}/entity", query={"entity": TABLE}).status == 204
    assert lake.ask("DELETE", f"{G}/entity", query={"entity": TABLE}).status == 204
    assert lake.ask("GET", f"{G}/entity", query={"entity": TABLE}).status == 404
    ids = {one["id"] for one in lake.must("GET", f"{G}/statements")["statements"]}
    assert ids == {"secret", "use"}


def test_what_cannot_be_stored_is_refused(lake: Api) -> None:
    for body, status in (
        ({"entity": "table:lk:a.b.c"}, 404),
        ({"entity": "shelf:lk:a.b.c"}, 400),
        ({"entity": "table:lk"}, 400),
        ({"entity": "column:lk:sales.raw.orders.id", "owners": [{"principal": "ana"}]}, 400),
    ):
        assert lake.ask("PUT", f"{G}/entity", body).status == status, body
    assert lake.ask("PUT", "/realms/_server/entity", {"entity": "realm:x"}).status == 400
    assert lake.ask("GET", f"{G}/entity", user="ana", query={"entity": HIDDEN}).status == 403

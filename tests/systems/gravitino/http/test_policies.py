"""Policies: their lifecycle, the objects they fit, inheritance, and visibility."""

from __future__ import annotations

from tests.systems.gravitino.http.court import (
    FORBIDDEN,
    ILLEGAL,
    ML,
    POLICIES,
    absent,
    allow,
    hold,
    on,
)
from tests.systems.gravitino.http.wire import Json, Wire

READS = (
    on("catalog", "c", allow("USE_CATALOG", "USE_SCHEMA")),
    on("table", "c.s.t", allow("SELECT_TABLE")),
)
CONTENT: Json = {
    "customRules": {"rule": 1, "deep": {"a": [True]}},
    "supportedObjectTypes": ["TABLE", "catalog"],
    "properties": {"k": "v"},
}


def body(name: str, **more: object) -> Json:
    return {"name": name, "policyType": "custom", "content": CONTENT, **more}


def policy(court: Wire, *names: str, user: str = "boss") -> None:
    for name in names:
        court.good("POST", POLICIES, body(name), user=user)


def of(path: str) -> str:
    return f"{ML}/objects/{path}/policies"


def put(court: Wire, path: str, *names: str, user: str = "boss") -> list[str]:
    given = {"policiesToAdd": list(names), "policiesToRemove": []}
    found: list[str] = court.good("POST", of(path), given, user=user)["names"]
    return found


def test_a_policy_is_shown_as_it_was_given(court: Wire) -> None:
    made = court.good("POST", POLICIES, body("keep", comment="c", enabled=False), user="boss")
    assert made["policy"] == court.good("GET", f"{POLICIES}/keep", user="boss")["policy"]
    shown = dict(made["policy"])
    assert shown.pop("audit")["creator"] == "boss"
    assert shown == {
        "name": "keep",
        "comment": "c",
        "policyType": "custom",
        "enabled": False,
        "content": {
            "customRules": {"rule": 1, "deep": {"a": [True]}},
            "supportedObjectTypes": ["catalog", "table"],
            "properties": {"k": "v"},
        },
    }


def test_a_policy_is_enabled_unless_it_says_otherwise_and_can_be_switched(court: Wire) -> None:
    policy(court, "keep")
    assert court.good("GET", f"{POLICIES}/keep", user="boss")["policy"]["enabled"] is True
    assert court.good("PATCH", f"{POLICIES}/keep", {"enable": False}, user="boss") == {"code": 0}
    assert court.good("GET", f"{POLICIES}/keep", user="boss")["policy"]["enabled"] is False
    assert court.bad("PATCH", f"{POLICIES}/keep", {}, user="boss") == ILLEGAL
    assert court.bad("PATCH", f"{POLICIES}/gone", {"enable": True}, user="boss") == absent("Policy")
    assert court.bad("PATCH", f"{POLICIES}/keep", {"enable": True}, user="ana") == FORBIDDEN


def test_a_policy_that_says_null_is_enabled(court: Wire) -> None:
    body = {"policyType": "custom", "content": {"supportedObjectTypes": ["TABLE"]}}
    made = court.good("POST", POLICIES, {"name": "p", "enabled": None, **body}, user="boss")
    assert made["policy"]["enabled"] is True


def test_a_policy_is_altered_and_deleted(court: Wire) -> None:
    policy(court, "keep")
    new = {**CONTENT, "supportedObjectTypes": ["SCHEMA"]}
    updates: Json = {
        "updates": [
            {"@type": "rename", "newName": "kept"},
            {"@type": "updateComment", "newComment": "new"},
            {"@type": "updateContent", "policyType": "custom", "newContent": new},
        ]
    }
    altered = court.good("PUT", f"{POLICIES}/keep", updates, user="boss")["policy"]
    assert (altered["name"], altered["comment"]) == ("kept", "new")
    assert altered["content"]["supportedObjectTypes"] == ["schema"]
    assert court.good("DELETE", f"{POLICIES}/kept", user="boss")["dropped"] is True
    assert court.good("DELETE", f"{POLICIES}/kept", user="boss")["dropped"] is False


def test_the_type_of_a_policy_does_not_change(court: Wire) -> None:
    policy(court, "keep")
    other = {"@type": "updateContent", "policyType": "system_iceberg_compaction", "newContent": {}}
    assert court.bad("PUT", f"{POLICIES}/keep", {"updates": [other]}, user="boss") == ILLEGAL
    compaction: Json = {"name": "c", "policyType": "SYSTEM_ICEBERG_COMPACTION", "content": {"a": 1}}
    made = court.good("POST", POLICIES, compaction, user="boss")["policy"]
    assert (made["policyType"], made["content"]) == ("system_iceberg_compaction", {"a": 1})


def test_bad_policies_are_refused(court: Wire) -> None:
    policy(court, "keep")
    exists = (409, 1004, "PolicyAlreadyExistsException")
    assert court.bad("POST", POLICIES, body("keep"), user="boss") == exists
    for wrong in (
        {"name": "x"},
        {"name": "x", "policyType": "custom"},
        body("x", policyType="other"),
        body("x", content={}),
        body("x", content={"supportedObjectTypes": []}),
        body("x", content={"supportedObjectTypes": ["ROLE"]}),
        body(""),
    ):
        assert court.bad("POST", POLICIES, wrong, user="boss") == ILLEGAL


def test_create_policy_creates_and_owners_do_the_rest(court: Wire) -> None:
    hold(court, "ana", on("metalake", "lk", allow("CREATE_POLICY")))
    policy(court, "hers", user="ana")
    policy(court, "his")
    comment = {"updates": [{"@type": "updateComment", "newComment": "x"}]}
    court.good("PUT", f"{POLICIES}/hers", comment, user="ana")
    court.good("PATCH", f"{POLICIES}/hers", {"enable": False}, user="ana")
    assert court.bad("PUT", f"{POLICIES}/his", comment, user="ana") == FORBIDDEN
    assert court.bad("DELETE", f"{POLICIES}/his", user="ana") == FORBIDDEN
    assert court.bad("POST", POLICIES, body("x"), user="bob") == FORBIDDEN
    assert court.good("GET", POLICIES, user="ana")["names"] == ["hers"]
    assert court.good("GET", f"{POLICIES}/", user="boss")["names"] == ["hers", "his"]
    details = court.good("GET", f"{POLICIES}?details=true", user="ana")["policies"]
    assert [one["name"] for one in details] == ["hers"]


def test_apply_policy_shows_it_and_puts_it_on_what_one_may_load(court: Wire) -> None:
    policy(court, "keep", "mask")
    hold(court, "ana", *READS, on("policy", "keep", allow("APPLY_POLICY")))
    assert court.good("GET", f"{POLICIES}/keep", user="ana")["policy"]["name"] == "keep"
    assert court.bad("GET", f"{POLICIES}/mask", user="ana") == FORBIDDEN
    assert put(court, "table/c.s.t", "keep", user="ana") == ["keep"]
    mask = {"policiesToAdd": ["mask"]}
    assert court.bad("POST", of("table/c.s.t"), mask, user="ana") == FORBIDDEN


def test_a_policy_goes_only_on_the_types_that_it_supports(court: Wire) -> None:
    policy(court, "keep")
    add = {"policiesToAdd": ["keep"]}
    assert court.bad("POST", of("schema/c.s"), add, user="boss") == ILLEGAL
    assert put(court, "catalog/c", "keep") == ["keep"]


def test_a_repeated_association_alone_is_a_conflict(court: Wire) -> None:
    policy(court, "keep", "mask")
    put(court, "table/c.s.t", "keep")
    again = {"policiesToAdd": ["keep"]}
    repeated = (409, 1004, "PolicyAlreadyAssociatedException")
    assert court.bad("POST", of("table/c.s.t"), again, user="boss") == repeated
    swap = {"policiesToAdd": ["mask"], "policiesToRemove": ["keep"]}
    assert court.good("POST", of("table/c.s.t"), swap, user="boss")["names"] == ["mask"]


def test_inherited_policies_are_shown_and_filtered_like_own_ones(court: Wire) -> None:
    policy(court, "keep", "mask")
    put(court, "catalog/c", "keep")
    put(court, "table/c.s.t", "mask")
    found = court.good("GET", f"{of('table/c.s.t')}?details=true", user="boss")["policies"]
    assert {one["name"]: one["inherited"] for one in found} == {"mask": False, "keep": True}
    hold(court, "ana", *READS, on("policy", "mask", allow("APPLY_POLICY")))
    assert court.good("GET", of("table/c.s.t"), user="ana")["names"] == ["mask"]
    assert court.bad("GET", f"{of('table/c.s.t')}/keep", user="ana") == FORBIDDEN
    one = court.good("GET", f"{of('table/c.s.t')}/keep", user="boss")["policy"]
    assert one["inherited"] is True
    assert court.bad("GET", of("table/c.s.t"), user="bob") == FORBIDDEN


def test_two_empty_lists_take_access_to_the_object(court: Wire) -> None:
    nothing: Json = {"policiesToAdd": [], "policiesToRemove": []}
    assert court.bad("POST", of("table/c.s.t"), nothing, user="ana") == FORBIDDEN
    assert court.good("POST", of("table/c.s.t"), nothing, user="boss")["names"] == []
    assert court.bad("POST", of("table/c.s.t"), {}, user="boss") == ILLEGAL


def test_the_objects_of_a_policy_are_shown_as_far_as_one_may_load_them(court: Wire) -> None:
    policy(court, "keep")
    put(court, "catalog/c", "keep")
    put(court, "table/c.s.t", "keep")
    path = f"{POLICIES}/keep/objects"
    found = court.good("GET", path, user="boss")["metadataObjects"]
    assert found == [
        {"fullName": "c", "type": "catalog"},
        {"fullName": "c.s.t", "type": "table"},
    ]
    hold(court, "ana", on("metalake", "lk", allow("APPLY_POLICY")))
    assert court.good("GET", path, user="ana")["metadataObjects"] == []
    assert court.bad("GET", path, user="bob") == FORBIDDEN
    assert court.bad("GET", f"{POLICIES}/gone/objects", user="boss") == absent("Policy")

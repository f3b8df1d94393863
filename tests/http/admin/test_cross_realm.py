"""Links, and questions about several realms, over the API."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.admin.api import Api
from tests.http.admin.conftest import HIDDEN, TABLE

DATASET = "dataset:sales.orders"
ENDS: dict[str, Any] = {
    "one": {"realm": "gravitino", "entity": TABLE},
    "other": {"realm": "cdap", "entity": DATASET},
}
QUERY = {"one_realm": "gravitino", "one": TABLE, "other_realm": "cdap", "other": DATASET}
GIVEN = {"one": ENDS["other"], "other": ENDS["one"], "keeper": ""}


def grant(api: Api, user: str, words: list[str], *realms: str) -> None:
    for realm in realms:
        body = {"privileges": words, "to": [f"user:{user}"], "on": f"realm:{realm}"}
        api.must("PUT", f"/realms/_server/statements/{user}-{realm}-{words[0]}", body)


@pytest.fixture
def estate(lake: Api) -> Api:
    """`orders` is linked to a dataset in CDAP that `zoe` may read; `gate` may ask about both."""
    lake.must("PUT", "/links", ENDS)
    body = {"privileges": ["READ"], "to": ["user:zoe"], "on": DATASET}
    lake.must("PUT", "/realms/cdap/statements/zoe", body)
    grant(lake, "gate", ["ASK"], "gravitino", "cdap")
    return lake


def test_a_link_is_put_listed_and_taken_away(lake: Api) -> None:
    assert lake.must("PUT", "/links", ENDS) == GIVEN
    found = lake.must("GET", "/links")
    assert (found["links"], found["total"], found["left_out"]) == ([GIVEN], 1, [])
    of_realm = {"realm": "cdap", "entity": DATASET}
    assert lake.must("GET", "/links", query=of_realm)["links"] == [GIVEN]
    assert lake.must("GET", "/links", query={"realm": "datahub"})["links"] == []
    assert lake.ask("DELETE", "/links", query=QUERY).status == 204
    assert lake.ask("DELETE", "/links", query=QUERY).status == 204
    assert lake.must("GET", "/links")["links"] == []


def test_links_come_page_by_page(estate: Api) -> None:
    rows = [["gravitino", TABLE, "cdap", f"dataset:sales.t{number}"] for number in range(5)]
    estate.must("POST", "/links/load", {"keeper": "rules", "links": rows})
    whole = estate.must("GET", "/links")
    assert whole["total"] == 6
    found, token = [], ""
    while True:
        query = {"page.limit": "2", **({"page.token": token} if token else {})}
        page = estate.must("GET", "/links", query=query)
        found += page["links"]
        token = page["page"]["next_token"]
        if not token:
            break
    assert found == whole["links"]


def test_a_load_says_what_it_came_to(estate: Api) -> None:
    rows = [["cdap", DATASET, "gravitino", TABLE], ["cdap", "dataset:a.b", "gravitino", HIDDEN]]
    sent = {"keeper": "rules", "links": rows}
    found = estate.must("POST", "/links/load", sent)
    revision = found.pop("revision")
    assert found == {"new": 1, "gone": 0, "left": 1, "pruned": False}
    again = estate.must("POST", "/links/load", sent)
    assert again == {"new": 0, "gone": 0, "left": 1, "pruned": False, "revision": revision}
    found = estate.must("POST", "/links/load", {"keeper": "rules", "prune": True})
    assert (found["gone"], found["revision"]) == (1, revision + 1)


def test_only_who_manages_both_realms_links_them(lake: Api) -> None:
    grant(lake, "ana", ["MANAGE_REALM", "READ_REALM"], "gravitino")
    refused = lake.ask("PUT", "/links", ENDS, user="ana")
    assert (refused.status, refused.body["object"]) == (403, "realm:cdap")
    grant(lake, "ana", ["MANAGE_REALM", "READ_REALM"], "cdap")
    assert lake.must("PUT", "/links", ENDS, user="ana") == GIVEN


def test_who_is_asked_along_the_links(estate: Api) -> None:
    asking = {"operation": "read", "entity": TABLE}
    found = estate.must("POST", "/estate/who", asking, user="gate")
    union = {one["person"]: one["realms"] for one in found["union"]}
    assert union == {"ana": ["gravitino"], "zoe": ["cdap"]}
    parts = {one["realm"]: (one["operation"], one["users"]) for one in found["realms"]}
    assert parts == {"cdap": ("dataset.read", ["zoe"]), "gravitino": ("table.load", ["ana"])}
    assert found["left_out"] == ["datahub"]
    for more in ({}, {"home": "gravitino"}):
        named = {**asking, **more, "realms": ["cdap"]}
        found = estate.must("POST", "/estate/who", named, user="gate")
        assert [one["person"] for one in found["union"]] == ["zoe"]
    assert estate.ask("POST", "/estate/who", {**asking, "home": "cdap"}, user="gate").status == 400


def test_a_list_goes_on_where_it_says(estate: Api) -> None:
    asking = {"operation": "see", "principal": "ana", "realms": ["gravitino"], "limit": 1}
    first = estate.must("POST", "/estate/list", asking)
    tables = next(one for one in first["realms"] if one["operation"] == "catalog.load")
    assert tables["total"] == 1
    grant(estate, "gate", ["ASK"], "gravitino")
    more = [{"realm": "gravitino", "operation": "table.load", "entity": HIDDEN}]
    rest = estate.must("POST", "/estate/list", {**asking, "after": more})
    assert [one["operation"] for one in rest["realms"]] == ["table.load"]


def test_one_asks_about_oneself_everywhere_and_about_others_nowhere(estate: Api) -> None:
    mine = estate.must("POST", "/estate/list", {"operation": "read"}, user="zoe")
    entities = {one["realm"]: one["entities"] for one in mine["realms"] if one["entities"]}
    assert entities == {}  # the dataset is only named, not stored
    assert mine["left_out"] == []
    why = {"operation": "read", "entity": TABLE}
    found = estate.must("POST", "/estate/explain", why, user="zoe")
    verdicts = {one["realm"]: one["explanation"]["allow"] for one in found["realms"]}
    assert (found["allow"], verdicts) == (True, {"cdap": True, "gravitino": False})
    for verb in ("list", "explain"):
        asking = {**why, "principal": "ana"}
        if verb == "list":
            asking.pop("entity")
        assert estate.ask("POST", f"/estate/{verb}", asking, user="zoe").status == 403
    assert estate.ask("POST", "/estate/who", why, user="zoe").status == 403


def test_access_names_the_people_their_ways_and_what_opens_them(estate: Api) -> None:
    found = estate.must("POST", "/estate/access", {"asset": TABLE})
    assert [one["realm"] for one in found["assets"]] == ["cdap", "gravitino"]
    people = {one["person"]: one["by"] for one in found["people"]}
    read = [by for by in people["zoe"] if by["way"] == "read"]
    assert [(by["realm"], by["entity"], by["operation"]) for by in read] == [
        ("cdap", DATASET, "dataset.read")
    ]
    assert [one["id"] for one in read[0]["statements"]] == ["zoe"]
    assert read[0]["reaching"] == [{"statement": "zoe", "over": []}]
    ana = next(by for by in people["ana"] if by["way"] == "read")
    assert {one["id"] for one in ana["statements"]} == {"use", "read"}
    assert {tuple(one["over"]) for one in ana["reaching"]} == {("role:lk:readers",)}
    assert found["counts"] == {"see": 2, "read": 2, "change": 0}


def test_who_may_not_have_it_explained_is_told_only_who(estate: Api) -> None:
    found = estate.must("POST", "/estate/access", {"asset": TABLE, "ways": ["read"]}, user="gate")
    bys = [by for one in found["people"] for by in one["by"]]
    assert all((by["told"], by["statements"], by["facts"]) == (False, [], []) for by in bys)
    assert found["left_out"] == ["datahub"]


def test_access_comes_page_by_page(estate: Api) -> None:
    asking = {"asset": TABLE, "limit": 1}
    first = estate.must("POST", "/estate/access", asking)
    token = first["page"]["next_token"]
    second = estate.must("POST", "/estate/access", {**asking, "token": token})
    assert [one["person"] for one in first["people"] + second["people"]] == ["ana", "zoe"]
    assert second["page"]["next_token"] == ""
    other = estate.ask("POST", "/estate/access", {"asset": HIDDEN, "token": token})
    assert (other.status, "belongs to another query" in other.body["detail"]) == (400, True)


def test_a_realm_that_may_not_be_asked_is_left_out_with_all_its_links(estate: Api) -> None:
    grant(estate, "clerk", ["ASK"], "gravitino")
    found = estate.must("POST", "/estate/access", {"asset": TABLE}, user="clerk")
    assert [one["realm"] for one in found["assets"]] == ["gravitino"]
    assert [one["person"] for one in found["people"]] == ["ana"]
    assert found["left_out"] == ["cdap", "datahub"]
    alone = estate.must("POST", "/estate/access", {"asset": HIDDEN}, user="clerk")
    assert alone["left_out"] == ["cdap", "datahub"]  # nothing is linked: not revealed


def table(api: Api, **parts: object) -> Any:
    return api.must("POST", "/estate/access/table", {"asset": TABLE, **parts})


def test_access_as_a_table_has_rows_of_groups_people_and_sets_of_roles(estate: Api) -> None:
    for member, of in (("user:ana", "group:staff"), ("user:ben", "group:staff")):
        estate.must("PUT", "/directories/main/memberships", {"member": member, "of": of})
    found = table(estate)
    columns = [(one["realm"], one["way"]) for one in found["columns"]]
    assert {realm for realm, _ in columns} == {"cdap", "gravitino"}
    assert (found["people"], found["total"], found["revision"]) == (
        2,
        2,
        estate.service.state.revision,
    )
    by_key = {one["key"]: one for one in found["rows"]}
    staff, others = by_key["group:staff"], by_key["others:"]
    assert (staff["people"], staff["sample"], staff["acts_as"]) == (2, ["ana", "ben"], [])
    read = columns.index(("gravitino", "read"))
    assert (staff["counts"][read], found["counts"][read]) == (1, 1)
    assert others["counts"][columns.index(("cdap", "read"))] == 1
    everybody = table(estate, rows="people")
    assert {one["key"] for one in everybody["rows"]} == {"user:ana", "user:zoe"}
    sets = {one["key"]: one["acts_as"] for one in table(estate, rows="role_sets")["rows"]}
    assert {"realm": "gravitino", "principal": "role:lk:readers"} in sets["roles:ana"]
    assert table(estate, realms=["cdap"])["people"] == 1


def test_a_row_of_the_table_is_opened_with_its_reasons(estate: Api) -> None:
    asking = {"asset": TABLE, "row": "roles:ana", "operations": ["table.load"]}
    found = estate.must("POST", "/estate/access", asking)
    assert [one["person"] for one in found["people"]] == ["ana"]
    (by,) = found["people"][0]["by"]
    assert (by["way"], by["operation"]) == ("", "table.load")
    assert {one["id"] for one in by["statements"]} == {"use", "read"}
    for row in ("others:", "group:nobody", "user:ben"):
        expected = ["ana"] if row == "others:" else []
        found = estate.must("POST", "/estate/access", {**asking, "row": row})
        assert [one["person"] for one in found["people"]] == expected


def test_operations_are_columns_where_they_are_asked_for(estate: Api) -> None:
    found = table(estate, columns="operations", rows="people")
    names = [(one["realm"], one["operation"]) for one in found["columns"]]
    assert {("cdap", "dataset.read"), ("gravitino", "table.load")} <= set(names)
    assert not any(one["way"] for one in found["columns"])
    (ana,) = (one for one in found["rows"] if one["key"] == "user:ana")
    assert ana["counts"][names.index(("gravitino", "table.load"))] == 1
    assert ana["counts"][names.index(("cdap", "dataset.read"))] == 0


def test_the_table_comes_page_by_page(estate: Api) -> None:
    asking = {"asset": TABLE, "rows": "people", "limit": 1}
    first = estate.must("POST", "/estate/access/table", asking)
    token = first["page"]["next_token"]
    second = estate.must("POST", "/estate/access/table", {**asking, "token": token})
    keys = [one["key"] for one in first["rows"] + second["rows"]]
    assert sorted(keys) == ["user:ana", "user:zoe"]
    assert (first["total"], second["page"]["next_token"]) == (2, "")
    other = {**asking, "rows": "groups", "token": token}
    answer = estate.ask("POST", "/estate/access/table", other)
    assert (answer.status, answer.body["errors"][0]["path"]) == (400, "body.token")


def test_the_table_is_for_who_may_ask_and_leaves_the_rest_out(estate: Api) -> None:
    grant(estate, "clerk", ["ASK"], "gravitino")
    body = {"asset": TABLE, "rows": "people"}
    found = estate.must("POST", "/estate/access/table", body, user="clerk")
    assert [one["key"] for one in found["rows"]] == ["user:ana"]
    assert (found["left_out"], {one["realm"] for one in found["assets"]}) == (
        ["cdap", "datahub"],
        {"gravitino"},
    )
    refused = estate.ask("POST", "/estate/access/table", body, user="zoe")
    assert (refused.status, refused.body["operation"]) == (403, "entity.access")
    outside = estate.ask("POST", "/estate/access/table", {**body, "realm": "cdap"}, user="clerk")
    absent = estate.ask("POST", "/estate/access/table", {**body, "realm": "moon"}, user="clerk")
    for answer in (outside, absent):
        assert (answer.status, answer.body["errors"][0]["path"]) == (400, "body.realm")
    assert outside.body["detail"] == absent.body["detail"]


WRONG = [
    "' OR 1=1 --",
    "../../etc/passwd",
    "a\x00b",
    "\u202eabc",
    "<script>alert(1)</script>",
    "*",
    "",
    "ä" * 300,
    "urn:li:dataset:(((",
    ["x", {}],
    {"x": 1},
    -1,
    True,
]


@pytest.mark.by_day(31)
@pytest.mark.parametrize("word", WRONG, ids=range(len(WRONG)))
@pytest.mark.parametrize("member", ["asset", "realm", "rows", "columns", "limit", "token", "row"])
def test_a_wrong_word_is_bad_input_that_names_its_field(
    estate: Api, member: str, word: object
) -> None:
    if (member, word) == ("token", ""):
        return
    path = "/estate/access" if member == "row" else "/estate/access/table"
    body = {"asset": TABLE, "realm": "gravitino", member: word}
    answer = estate.ask("POST", path, body)
    assert answer.status == 400, answer
    assert answer.body["errors"][0]["path"].startswith(f"body.{member}"), answer

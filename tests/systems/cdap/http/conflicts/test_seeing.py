"""K1 to K7, K9, K10, K16, K17 and K23: visibility, disclosures and denials.

One test for each conflict, named after it; for both profiles if the decision differs.
SOURCE: cdap reference 2.12; CDAP design page, both copies; CDAP authorization reference.
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.systems.cdap.http.estate import (
    API,
    CLICKS,
    ETL,
    NIGHTLY,
    ORDERS,
    SHOP,
    SPACE,
    give,
    lets,
)
from tests.systems.cdap.http.saying import names, refused
from tests.systems.cdap.http.wire import BOSS, Wire

WORKFLOW: Final = "program:sales.shop.workflow.nightly"
SERVICE: Final = "program:sales.shop.service.api"
ANYBODY: Final = {"reader", "writer", "runner", "keeper"}
EVENTS: Final = f"{CLICKS}/events"
KEYS: Final = f"{SPACE}/securekeys"


def test_k01_the_older_profile_lists_every_name_unless_a_setting_filters(
    older: Wire, knobs: Wire
) -> None:
    for wire, shown in ((older, ["default", "sales"]), (knobs, [])):
        assert names(wire, "namespaces", "stranger") == shown
        refused(wire, "stranger", "GET", SPACE)
        wire.grant("reader", "namespace:sales", "READ")
        assert "sales" in names(wire, "namespaces", "reader")


def test_k01_the_later_profile_lists_what_is_visible(new: Wire) -> None:
    assert names(new, "namespaces", "stranger") == []
    new.grant("reader", "dataset:sales.orders", "READ")
    assert names(new, "namespaces", "reader") == ["sales"]


def test_k02_read_on_the_parent_lists_nothing_in_it(estate: Wire) -> None:
    estate.grant("dana", "namespace:sales", "READ")
    for below in ("data/datasets", "streams", "apps", "artifacts?scope=user"):
        assert names(estate, f"{SPACE}/{below}", "dana") == []
    estate.grant("dana", "dataset:sales.orders", "READ")
    assert names(estate, f"{SPACE}/data/datasets", "dana") == ["orders"]


@pytest.mark.parametrize("action", ["WRITE", "ADMIN"])
def test_k03_write_or_admin_lists_as_read_does(estate: Wire, action: str) -> None:
    estate.grant("dana", "dataset:sales.orders", action)
    assert names(estate, f"{SPACE}/data/datasets", "dana") == ["orders"]


def test_k04_details_take_read_in_the_older_profile(older: Wire) -> None:
    give(older, "application:sales.shop")
    assert lets(older, "GET", SHOP) == {"reader"}


def test_k04_details_take_any_privilege_and_data_read_in_the_later_profile(new: Wire) -> None:
    give(new, "stream:sales.clicks")
    new.good("POST", CLICKS, b"an event")
    assert lets(new, "GET", CLICKS) == ANYBODY
    assert lets(new, "GET", EVENTS) == {"reader"}


def test_k05_rows_win_over_the_core_rule_of_getting(older: Wire) -> None:
    one_is_enough = {"artifact:sales.etl": ETL, "application:sales.shop": SHOP, SERVICE: API}
    both_are_needed = {"stream:sales.clicks": CLICKS, "dataset:sales.orders": ORDERS}
    for id, path in {**one_is_enough, **both_are_needed}.items():
        older.grant("dana", id, "READ")
        assert older.status("GET", path, user="dana") == (200 if id in one_is_enough else 403)
    older.grant("dana", "namespace:sales", "READ")
    for path in (SPACE, *both_are_needed.values()):
        assert older.status("GET", path, user="dana") == 200


def test_k06_cells_of_two_lines_ask_for_both(older: Wire) -> None:
    for user, id, action, method, path, body in (
        ("ana", "dataset:sales.orders", "READ", "GET", ORDERS, None),
        ("bob", "dataset:sales.orders", "ADMIN", "PUT", f"{ORDERS}/properties", {}),
        ("cid", WORKFLOW, "EXECUTE", "POST", f"{NIGHTLY}/start", None),
        ("dana", "stream:sales.clicks", "WRITE", "POST", CLICKS, b"an event"),
    ):
        older.grant(user, id, action)
        text = refused(older, user, method, path, body)
        assert "'[READ]' on entity 'namespace:sales'" in text
        older.grant(user, "namespace:sales", "READ")
        assert older.status(method, path, body, user=user) == 200


def test_k07_the_shifted_table_is_read_as_the_whole_page_has_it(new: Wire) -> None:
    refused(new, "dana", "PUT", "namespaces/lab")
    new.grant("dana", "namespace:lab", "ADMIN")
    assert new.status("PUT", "namespaces/lab", user="dana") == 200
    new.grant(BOSS, "securekey:sales.db", "ADMIN")
    new.good("PUT", f"{KEYS}/db", {"data": "open sesame"})
    for name in ANYBODY:
        new.grant(name, "stream:sales.clicks", "READ", "WRITE", "EXECUTE")
    give(new, "securekey:sales.db")
    assert {name for name in ANYBODY if names(new, KEYS, name) == ["db"]} == ANYBODY
    assert lets(new, "DELETE", CLICKS) == set()
    new.grant("keeper", "stream:sales.clicks", "ADMIN")
    assert new.status("DELETE", CLICKS, user="keeper") == 200


def test_k09_instances_are_told_to_read_and_in_the_later_profile_to_anybody(
    new: Wire, older: Wire
) -> None:
    for wire, who in ((new, ANYBODY), (older, {"reader"})):
        give(wire, SERVICE)
        assert lets(wire, "GET", f"{API}/instances") == who


def test_k10_preferences_and_metadata(new: Wire, older: Wire) -> None:
    levels = {"namespace:sales": SPACE, "application:sales.shop": SHOP, WORKFLOW: NIGHTLY}
    for wire, sets, gets in ((new, {"keeper"}, ANYBODY), (older, {"writer"}, {"reader"})):
        for id, path in levels.items():
            give(wire, id)
            assert lets(wire, "PUT", f"{path}/preferences", {"a": "1"}) == sets
            assert lets(wire, "GET", f"{path}/preferences") == gets
            assert lets(wire, "POST", f"{path}/metadata/tags", ["pii"]) == {"keeper"}
            assert lets(wire, "GET", f"{path}/metadata/tags") == gets


def test_k16_who_is_refused_learns_not_whether_it_is_there(estate: Wire) -> None:
    estate.grant(BOSS, "securekey:sales.*")
    estate.good("PUT", f"{KEYS}/db", {"data": "open sesame"})
    for method, path, name, body in (
        ("GET", "apps/{}", "shop", None),
        ("DELETE", "apps/{}", "shop", None),
        ("GET", "data/datasets/{}", "orders", None),
        ("PUT", "data/datasets/{}/properties", "orders", {}),
        ("POST", "streams/{}", "clicks", b"an event"),
        ("GET", "securekeys/{}", "db", None),
    ):
        there, absent = f"{SPACE}/{path.format(name)}", f"{SPACE}/{path.format('none')}"
        told = refused(estate, "stranger", method, absent, body)
        assert refused(estate, "stranger", method, there, body) == told.replace("none", name)
        assert estate.status(method, absent, body) == 404


def test_k16_who_may_not_create_learns_not_whether_it_is_there_already(estate: Wire) -> None:
    body = {"artifact": {"name": "etl", "version": "1.0"}}
    for method, path, name, sent in (
        ("PUT", "namespaces/{}", "sales", None),
        ("PUT", f"{SPACE}/apps/{{}}", "shop", body),
        ("POST", f"{SPACE}/apps/{{}}/update", "shop", {}),
        ("PUT", f"{SPACE}/data/datasets/{{}}", "orders", {"typeName": "table"}),
        ("PUT", f"{SPACE}/streams/{{}}", "clicks", None),
    ):
        told = refused(estate, "stranger", method, path.format("none"), sent)
        again = refused(estate, "stranger", method, path.format(name), sent)
        assert again == told.replace("none", name)


def test_k17_execute_alone_lists_nothing_in_the_older_profile(new: Wire, older: Wire) -> None:
    for wire, shown in ((new, ["nightly"]), (older, [])):
        wire.grant("runner", WORKFLOW, "EXECUTE")
        wire.grant("runner", "namespace:sales", "READ")
        assert names(wire, f"{SPACE}/workflows", "runner") == shown


def test_k23_logs_and_metrics_are_viewed_by_read_alone(estate: Wire) -> None:
    give(estate, WORKFLOW)
    give(estate, "dataset:sales.orders")
    for path in (f"{NIGHTLY}/logs", f"{NIGHTLY}/metrics", f"{ORDERS}/metrics"):
        assert lets(estate, "GET", path) == {"reader"}

"""Views of streams over the wire: requests check the stream instead."""

from __future__ import annotations

import pytest

from tests.systems.cdap.http.wire import BOSS, Json, Wire

SPACE = "namespaces/sales"
CLICKS = f"{SPACE}/streams/clicks"
VIEWS = f"{CLICKS}/views"
CSV: Json = {"format": {"name": "csv", "settings": {"delimiter": ";"}}}


@pytest.fixture
def space(wire: Wire) -> Wire:
    """A namespace with the stream `clicks`."""
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    wire.grant(BOSS, "stream:sales.clicks", "ADMIN")
    wire.good("PUT", SPACE)
    wire.good("PUT", CLICKS)
    return wire


def test_a_view_is_made_changed_shown_and_deleted(space: Wire) -> None:
    assert space.status("PUT", f"{VIEWS}/lines", CSV) == 201
    assert space.status("PUT", f"{VIEWS}/lines", {"format": {"name": "tsv"}}) == 200
    space.ask("PUT", f"{VIEWS}/all", CSV)
    assert space.good("GET", VIEWS) == ["all", "lines"]
    assert space.good("GET", f"{VIEWS}/all") == {"id": "all", **CSV}
    space.good("DELETE", f"{VIEWS}/all")
    assert space.good("GET", VIEWS) == ["lines"]


def test_a_view_that_is_not_there_is_not_found(space: Wire) -> None:
    for method in ("GET", "DELETE"):
        found = space.ask(method, f"{VIEWS}/none")
        assert found == (404, "'stream_view:sales.clicks.none' was not found.")


@pytest.mark.parametrize("body", [{}, {"format": {}}, {"format": {"name": "x"}}, {"format": 1}])
def test_a_view_without_a_known_format_is_refused(space: Wire, body: object) -> None:
    assert space.status("PUT", f"{VIEWS}/lines", body) == 400
    assert space.status("PUT", f"{VIEWS}/a.b", CSV) == 400
    assert space.good("GET", VIEWS) == []


def test_views_go_with_their_stream(space: Wire) -> None:
    space.ask("PUT", f"{VIEWS}/lines", CSV)
    space.good("DELETE", CLICKS)
    space.good("PUT", CLICKS)
    assert space.good("GET", VIEWS) == []


@pytest.mark.parametrize("action", ["READ", "WRITE", "EXECUTE", "ADMIN"])
def test_any_action_on_the_stream_is_good_for_its_views(space: Wire, action: str) -> None:
    space.grant("dana", "stream:sales.clicks", action)
    assert space.status("PUT", f"{VIEWS}/lines", CSV, user="dana") == 201
    assert space.good("GET", VIEWS, user="dana") == ["lines"]
    assert space.status("DELETE", f"{VIEWS}/lines", user="dana") == 200


def test_who_does_not_see_the_stream_is_refused_its_views(space: Wire) -> None:
    status, text = space.ask("PUT", f"{VIEWS}/lines", CSV, user="eve")
    assert status == 403
    assert "does not have privileges to access entity 'stream:sales.clicks'" in text


def test_in_the_older_profile_views_are_made_by_writers_read_by_readers_and_deleted_by_admins(
    old: Wire,
) -> None:
    old.grant(BOSS, "instance:cdap", "WRITE")
    old.good("PUT", SPACE)
    old.good("PUT", CLICKS)
    for user, action in (("writer", "WRITE"), ("reader", "READ"), ("keeper", "ADMIN")):
        old.grant(user, "stream:sales.clicks", action)
    one, who = f"{VIEWS}/lines", ("reader", "keeper", "writer")
    assert [old.status("PUT", one, CSV, user=user) for user in who] == [403, 403, 201]
    assert [old.status("GET", one, user=user) for user in who] == [200, 403, 403]
    assert [old.status("GET", VIEWS, user=user) for user in who] == [200, 200, 200]
    assert [old.status("DELETE", one, user=user) for user in who] == [403, 200, 403]

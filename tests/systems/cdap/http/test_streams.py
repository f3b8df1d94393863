"""Streams over the wire: the requirements of creating, showing and deleting, in both profiles."""

from __future__ import annotations

import pytest

from tests.systems.cdap.http.wire import BOSS, Json, Wire

SPACE = "namespaces/sales"
STREAMS = f"{SPACE}/streams"
CLICKS = f"{STREAMS}/clicks"
OWNED: Json = {"principal": "eve/h1.corp@CORP"}


def names(wire: Wire, user: str) -> list[str]:
    return [one["name"] for one in wire.good("GET", STREAMS, user=user)]


def grants(wire: Wire, user: str) -> list[str]:
    found = wire.good("GET", f"security/authorization/user/{user}/privileges", user=user)
    of_streams = (one for one in found if one["authorizable"]["entityType"] == "STREAM")
    return sorted(one["action"] for one in of_streams)


@pytest.fixture
def space(wire: Wire) -> Wire:
    """A namespace with the stream `clicks`."""
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    wire.grant(BOSS, "stream:sales.clicks", "ADMIN")
    wire.good("PUT", SPACE)
    wire.good("PUT", CLICKS)
    return wire


@pytest.fixture
def old_space(old: Wire) -> Wire:
    """The same in the older profile."""
    old.grant(BOSS, "instance:cdap", "WRITE")
    old.good("PUT", SPACE)
    old.good("PUT", CLICKS)
    return old


def test_creating_takes_admin_granted_ahead_and_gives_nothing(space: Wire) -> None:
    status, text = space.ask("PUT", f"{STREAMS}/views")
    assert status == 403
    assert "to perform actions '[ADMIN]' on entity 'stream:sales.views'" in text
    space.grant("dana", "stream:sales.views", "ADMIN")
    space.good("PUT", f"{STREAMS}/views", user="dana")
    assert grants(space, "dana") == ["ADMIN"]


def test_creating_what_exists_works_for_anyone_with_admin_and_changes_nothing(
    space: Wire,
) -> None:
    space.good("PUT", f"{CLICKS}/properties", {"ttl": 60})
    space.grant("dana", "stream:sales.clicks", "ADMIN")
    space.grant("eve", "stream:sales.clicks", "READ", "WRITE", "EXECUTE")
    space.good("PUT", CLICKS, {"ttl": 1, "description": "mine"}, user="dana")
    assert space.status("PUT", CLICKS, user="eve") == 403
    found = space.good("GET", CLICKS)
    assert (found["ttl"], "description" in found) == (60, False)
    assert grants(space, BOSS) == grants(space, "dana") == ["ADMIN"]


def test_in_the_older_profile_write_on_the_namespace_creates_and_a_repeat_gives_nothing(
    old_space: Wire,
) -> None:
    assert grants(old_space, BOSS) == ["ADMIN", "EXECUTE", "READ", "WRITE"]
    old_space.grant("dana", "namespace:sales", "WRITE")
    old_space.good("PUT", CLICKS, user="dana")
    assert grants(old_space, "dana") == []
    old_space.grant("eve", "stream:sales.clicks", "ADMIN")
    status, text = old_space.ask("PUT", CLICKS, user="eve")
    assert status == 403
    assert "to perform actions '[WRITE]' on entity 'namespace:sales'" in text


def test_a_new_stream_shows_the_defaults(space: Wire) -> None:
    found = space.good("GET", CLICKS)
    assert (found["ttl"], found["notification.threshold.mb"]) == (9223372036854775, 1024)
    assert found["format"]["name"] == "text"


def test_properties_that_are_not_said_stay_as_they_are(space: Wire) -> None:
    space.good("PUT", f"{CLICKS}/properties", {"ttl": 60, "description": "hits"})
    space.good("PUT", f"{CLICKS}/properties", {"format": {"name": "csv"}})
    found = space.good("GET", CLICKS)
    assert (found["ttl"], found["description"]) == (60, "hits")
    assert found["format"] == {"name": "csv"}


@pytest.mark.parametrize(
    "body",
    [
        {"ttl": -1},
        {"ttl": "long"},
        {"notification.threshold.mb": 0},
        {"format": {"name": "parquet"}},
        {"format": {}},
        [],
    ],
)
def test_properties_that_none_can_be_are_refused(space: Wire, body: object) -> None:
    assert space.status("PUT", f"{CLICKS}/properties", body) == 400
    assert space.good("GET", CLICKS)["ttl"] == 9223372036854775


@pytest.mark.parametrize("action", ["READ", "WRITE", "EXECUTE", "ADMIN"])
def test_any_action_shows_a_stream_and_only_admin_manages_it(space: Wire, action: str) -> None:
    space.grant("dana", "stream:sales.clicks", action)
    assert names(space, "dana") == ["clicks"]
    assert space.status("GET", CLICKS, user="dana") == 200
    expected = 200 if action == "ADMIN" else 403
    assert space.status("PUT", f"{CLICKS}/properties", {}, user="dana") == expected
    assert space.status("POST", f"{CLICKS}/truncate", user="dana") == expected
    assert space.status("DELETE", CLICKS, user="dana") == expected


def test_in_the_older_profile_execute_does_not_list_and_getting_takes_read_on_both(
    old_space: Wire,
) -> None:
    old_space.grant("runner", "stream:sales.clicks", "EXECUTE")
    old_space.grant("dana", "stream:sales.clicks", "READ")
    assert names(old_space, "runner") == []
    assert names(old_space, "dana") == ["clicks"]
    status, text = old_space.ask("GET", CLICKS, user="dana")
    assert status == 403
    assert "to perform actions '[READ]' on entity 'namespace:sales'" in text
    old_space.grant("dana", "namespace:sales", "READ")
    assert old_space.status("GET", CLICKS, user="dana") == 200


def test_who_sees_nothing_of_a_namespace_is_refused_its_list(space: Wire) -> None:
    status, text = space.ask("GET", STREAMS, user="eve")
    assert status == 403
    assert "since the principal does not have any privilege on this namespace" in text


def test_a_stream_that_is_not_there_is_told_only_to_who_would_see_it(space: Wire) -> None:
    none = f"{STREAMS}/none"
    space.grant("dana", "stream:sales.none", "READ", "WRITE", "ADMIN")
    calls = [("GET", none), ("DELETE", none), ("POST", f"{none}/truncate"), ("POST", none)]
    for method, path in calls:
        assert space.status(method, path, user="eve") == 403
        assert space.ask(method, path, user="dana") == (404, "'stream:sales.none' was not found.")


def test_a_stream_in_no_namespace_is_not_created(wire: Wire) -> None:
    wire.grant(BOSS, "stream:none.clicks", "ADMIN")
    found = wire.ask("PUT", "namespaces/none/streams/clicks")
    assert found == (404, "'namespace:none' was not found.")


def test_privileges_outlive_a_stream_and_count_again(space: Wire) -> None:
    space.grant("dana", "stream:sales.clicks", "READ")
    space.good("DELETE", CLICKS)
    assert space.status("GET", CLICKS, user="dana") == 404
    space.good("PUT", CLICKS)
    assert names(space, "dana") == ["clicks"]


def test_in_the_older_profile_privileges_go_with_a_stream(old_space: Wire) -> None:
    old_space.grant("dana", "stream:sales.clicks", "READ")
    old_space.good("DELETE", CLICKS)
    assert grants(old_space, "dana") == grants(old_space, BOSS) == []
    old_space.good("PUT", CLICKS)
    assert names(old_space, "dana") == []


def test_delete_all_takes_admin_on_each_and_else_deletes_none(space: Wire) -> None:
    for name in ("a", "b"):
        space.grant(BOSS, f"stream:sales.{name}", "ADMIN")
        space.good("PUT", f"{STREAMS}/{name}")
    space.grant("dana", "stream:sales.clicks", "ADMIN")
    status, text = space.ask("DELETE", STREAMS, user="dana")
    assert status == 403
    assert "to perform actions '[ADMIN]' on entity 'stream:sales.a'" in text
    assert "missing: stream:sales.a, stream:sales.b" in text
    assert names(space, BOSS) == ["a", "b", "clicks"]
    space.good("DELETE", STREAMS)
    assert names(space, BOSS) == []


def test_in_the_older_profile_what_may_go_goes_and_the_rest_is_told(old_space: Wire) -> None:
    old_space.grant("dana", "namespace:sales", "WRITE")
    old_space.good("PUT", f"{STREAMS}/mine", user="dana")
    status, body = old_space.ask("DELETE", STREAMS, user="dana")
    assert status == 207
    assert body["deleted"] == ["stream:sales.mine"]
    assert [one["entity"] for one in body["errors"]] == ["stream:sales.clicks"]
    assert names(old_space, BOSS) == ["clicks"]


def test_an_owner_takes_admin_on_the_principal_unless_it_is_oneself(space: Wire) -> None:
    space.grant("dana", "stream:sales.owned", "ADMIN")
    space.grant("eve", "stream:sales.owned", "ADMIN")
    status, text = space.ask("PUT", f"{STREAMS}/owned", OWNED, user="dana")
    assert status == 403
    assert "'[ADMIN]' on entity 'kerberosprincipal:eve/h1.corp@CORP'" in text
    space.good("PUT", f"{STREAMS}/owned", OWNED, user="eve")
    assert space.good("GET", f"{STREAMS}/owned", user="dana")["principal"] == OWNED["principal"]


def test_the_owner_of_a_stream_cannot_be_changed_and_must_be_repeated(space: Wire) -> None:
    space.grant("eve", "stream:sales.*", "ADMIN")
    space.good("PUT", f"{STREAMS}/owned", OWNED, user="eve")
    space.good("PUT", f"{STREAMS}/owned", OWNED, user="eve")
    for path, body in [
        (f"{STREAMS}/owned", {}),
        (f"{STREAMS}/owned", {"principal": "eve"}),
        (f"{STREAMS}/owned/properties", {"ttl": 1}),
        (CLICKS, OWNED),
    ]:
        status, text = space.ask("PUT", path, body, user="eve")
        assert status == 403
        assert "its owner cannot be changed" in text
    space.good("PUT", f"{STREAMS}/owned/properties", {"ttl": 1, **OWNED}, user="eve")


def test_the_principal_of_a_namespace_owns_its_streams_and_need_not_be_said(wire: Wire) -> None:
    config = {"config": {"principal": "etl@CORP", "keytabURI": "file:///etl.keytab"}}
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    wire.grant(BOSS, "stream:sales.clicks", "ADMIN")
    wire.grant(BOSS, "kerberosprincipal:etl@CORP", "ADMIN")
    wire.good("PUT", SPACE, config)
    wire.grant("dana", "stream:sales.clicks", "ADMIN")
    assert wire.status("PUT", CLICKS, user="dana") == 403
    wire.good("PUT", CLICKS)
    wire.good("PUT", CLICKS, {"principal": "etl@CORP"})


def test_in_the_older_profile_any_principal_may_be_made_the_owner(old_space: Wire) -> None:
    assert old_space.status("PUT", f"{STREAMS}/owned", OWNED) == 200


def test_preferences_of_a_stream_are_set_by_admin_and_go_with_it(space: Wire) -> None:
    space.grant("dana", "stream:sales.clicks", "READ")
    space.good("PUT", f"{CLICKS}/preferences", {"a": "1"})
    assert space.good("GET", f"{CLICKS}/preferences", user="dana") == {"a": "1"}
    assert space.status("PUT", f"{CLICKS}/preferences", {}, user="dana") == 403
    space.good("DELETE", CLICKS)
    space.good("PUT", CLICKS)
    assert space.good("GET", f"{CLICKS}/preferences") == {}

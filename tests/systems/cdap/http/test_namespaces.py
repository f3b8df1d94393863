"""Namespaces over the wire, in both profiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lakewarden.kernel.change import Change, EntityAdded, RelationChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import RelationRow
from lakewarden.service.actor import SYSTEM
from lakewarden.systems.cdap.http import owners
from lakewarden.systems.cdap.settings import CdapSettings
from tests.systems.cdap.http.wire import ADMIN, BOSS, REALM, RUNNER, Json, Wire, switched

SALES = "namespaces/sales"
GONE = "unrecoverable/namespaces/sales"
OWNED: Json = {"config": {"principal": "eve/h1.corp@CORP", "keytabURI": "file:///eve.keytab"}}


def names(wire: Wire, user: str) -> list[str]:
    return [one["name"] for one in wire.good("GET", "namespaces", user=user)]


@pytest.fixture
def filtered(tmp_path: Path) -> Iterator[Wire]:
    """The older profile with lists of namespaces filtered."""
    settings = {"namespace_list": "filtered"}
    with Wire(tmp_path, profile="cdap_parent_write", settings=settings) as one:
        yield one


@pytest.fixture
def by_admin(tmp_path: Path) -> Iterator[Wire]:
    """The older profile, in which holders of ADMIN on the instance may create namespaces."""
    settings = {"instance_create_action": "admin"}
    with Wire(tmp_path, profile="cdap_parent_write", settings=settings) as one:
        yield one


def test_creating_takes_admin_granted_ahead_and_gives_nothing(wire: Wire) -> None:
    assert wire.status("PUT", SALES) == 403
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    assert wire.good("PUT", SALES) == "Namespace 'sales' created successfully."
    found = wire.good("GET", "security/authorization/user/boss/privileges")
    assert [one["action"] for one in found] == ["ADMIN"]


def test_privileges_cleared_hide_the_namespace_and_given_again_show_it(wire: Wire) -> None:
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    wire.good("PUT", SALES)
    assert names(wire, BOSS) == ["sales"]
    wire.revoke(BOSS, "namespace:sales")
    assert names(wire, BOSS) == []
    status, text = wire.ask("GET", SALES)
    assert status == 403
    assert "since the principal does not have any privilege on this namespace" in text
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    assert wire.status("PUT", f"{SALES}/properties", {"description": "again"}) == 200
    assert wire.good("GET", SALES)["description"] == "again"


def test_in_the_older_profile_write_on_the_instance_creates_and_the_creator_holds_all(
    old: Wire,
) -> None:
    status, text = old.ask("PUT", SALES)
    assert (status, text) == (
        403,
        "Principal 'Principal{name='boss', type=USER, kerberosPrincipal=null}' is not authorized"
        " to perform actions '[WRITE]' on entity 'instance:cdap' (operation 'namespace.create')",
    )
    old.grant(BOSS, "instance:cdap", "WRITE")
    old.good("PUT", SALES)
    found = old.good("GET", "security/authorization/user/boss/privileges")
    mine = [one["action"] for one in found if one["authorizable"]["entityType"] == "NAMESPACE"]
    assert sorted(mine) == ["ADMIN", "EXECUTE", "READ", "WRITE"]


def test_what_creating_takes_on_the_instance_is_a_setting(by_admin: Wire) -> None:
    by_admin.grant("writer", "instance:cdap", "WRITE")
    by_admin.grant("keeper", "instance:cdap", "ADMIN")
    assert by_admin.status("PUT", SALES, user="writer") == 403
    assert by_admin.status("PUT", SALES, user="keeper") == 200


def test_creating_what_exists_says_so_to_whoever_sees_it(wire: Wire) -> None:
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    wire.good("PUT", SALES, {"description": "first"})
    wire.grant("dana", "dataset:sales.t1", "EXECUTE")
    said = wire.good("PUT", SALES, {"description": "second"}, user="dana")
    assert said == "Namespace 'sales' already exists."
    assert wire.good("GET", SALES)["description"] == "first"
    assert wire.status("PUT", SALES, user="eve") == 403


def test_in_the_older_profile_creating_what_exists_takes_write_on_the_instance_and_gives_nothing(
    old: Wire,
) -> None:
    for user in (BOSS, "dana"):
        old.grant(user, "instance:cdap", "WRITE")
        old.good("PUT", SALES, user=user)
    old.grant("eve", "namespace:sales", "READ")
    assert old.status("PUT", SALES, user="eve") == 403
    assert len(old.good("GET", "security/authorization/user/dana/privileges", user="dana")) == 1


@pytest.mark.parametrize("name", ["default", "system", "cdap", "a-b", "a.b", "*"])
def test_reserved_and_malformed_names_are_refused(either: Wire, name: str) -> None:
    assert either.status("PUT", f"namespaces/{name}", user=ADMIN) == 400


def test_lists_are_filtered_by_what_is_held_on_the_namespace_or_below(wire: Wire) -> None:
    wire.grant(BOSS, "namespace:*", "ADMIN")
    for name in ("sales", "hr"):
        wire.good("PUT", f"namespaces/{name}")
    wire.grant("dana", "program:sales.never.workflow.*", "EXECUTE")
    assert names(wire, "dana") == ["sales"]
    assert names(wire, BOSS) == ["default", "hr", "sales"]
    assert names(wire, "eve") == []


def test_in_the_older_profile_all_names_are_listed_and_getting_takes_read(old: Wire) -> None:
    old.grant(BOSS, "instance:cdap", "WRITE")
    old.good("PUT", SALES)
    assert names(old, "eve") == ["default", "sales"]
    status, text = old.ask("GET", SALES, user="eve")
    assert status == 403
    assert "to perform actions '[READ]' on entity 'namespace:sales'" in text
    old.grant("eve", "namespace:sales", "READ")
    assert old.status("GET", SALES, user="eve") == 200


def test_the_list_of_namespaces_is_filtered_by_setting(filtered: Wire) -> None:
    filtered.grant(BOSS, "instance:cdap", "WRITE")
    filtered.good("PUT", SALES)
    filtered.grant("runner", "namespace:sales", "EXECUTE")
    assert names(filtered, BOSS) == ["sales"]
    assert names(filtered, "runner") == names(filtered, "eve") == []


@pytest.mark.parametrize(
    "below",
    [
        *("apps", "streams", "data/datasets", "data/types", "securekeys", "artifacts", "flows"),
        "apps/a/schedules",
    ],
)
def test_lists_do_not_tell_which_namespaces_there_are_where_their_names_are_hidden(
    filtered: Wire, below: str
) -> None:
    filtered.grant(BOSS, "instance:cdap", "WRITE")
    filtered.good("PUT", SALES)
    for name in ("sales", "none"):
        found = filtered.ask("GET", f"namespaces/{name}/{below}", user="eve")
        assert found == (200, {} if below == "securekeys" else [])
        for path in ("apps/a/schedules/s", "apps/a/schedules/s/status"):
            refused = filtered.ask("GET", f"namespaces/{name}/{path}", user="eve")
            assert refused[0] == 403
    filtered.grant("eve", "namespace:none", "READ")
    assert filtered.status("GET", f"namespaces/none/{below}", user="eve") == 404


@pytest.mark.parametrize("below", ["apps", "streams", "data/modules", "data/datasets", "artifacts"])
def test_deletions_do_not_tell_which_namespaces_there_are_where_their_names_are_hidden(
    filtered: Wire, below: str
) -> None:
    filtered.grant(BOSS, "instance:cdap", "WRITE")
    filtered.good("PUT", SALES)

    def answers() -> list[object]:
        paths = (f"namespaces/{name}/{below}" for name in ("sales", "empty", "none"))
        found = [filtered.ask("DELETE", path, user="eve") for path in paths]
        return [(status, text.split("'")[1:]) for status, text in found]

    absent = [(404, [f"namespace:{n}", " was not found."]) for n in ("sales", "empty", "none")]
    filtered.good("PUT", "namespaces/empty")
    filtered.good("PUT", f"{SALES}/streams/clicks")
    filtered.good("PUT", f"{SALES}/data/datasets/t", {"typeName": "table", "properties": {}})
    assert answers() == absent
    assert len(filtered.good("GET", f"{SALES}/streams")) == 1
    filtered.grant("eve", "stream:sales.clicks", "READ")
    filtered.grant("eve", "dataset:sales.t", "ADMIN")
    shown = {"streams": 207, "data/datasets": 200}
    assert filtered.status("DELETE", f"{SALES}/{below}", user="eve") == shown.get(below, 404)
    filtered.grant("eve", SALES.replace("namespaces/", "namespace:"), "WRITE")
    assert filtered.status("DELETE", f"{SALES}/{below}", user="eve") in (200, 207)


def test_what_is_not_there_is_told_only_to_who_would_see_it(either: Wire) -> None:
    either.grant("dana", "namespace:none", "READ")
    assert either.ask("GET", "namespaces/none", user="dana") == (
        404,
        "'namespace:none' was not found.",
    )
    assert either.status("GET", "namespaces/none", user="eve") == 403


def test_default_is_always_there(wire: Wire) -> None:
    wire.grant("dana", "namespace:default", "READ")
    assert wire.good("GET", "namespaces/default", user="dana")["name"] == "default"


def test_the_master_user_gets_every_namespace(wire: Wire) -> None:
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    wire.good("PUT", SALES)
    assert wire.good("GET", SALES, user=RUNNER)["name"] == "sales"
    assert wire.status("DELETE", GONE, user=RUNNER) == 403


def test_a_namespace_keeps_what_it_was_made_with(wire: Wire) -> None:
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    body = {"description": "d", "config": {"root.directory": "/data", "unknown": 1}}
    wire.good("PUT", SALES, body)
    assert wire.good("GET", SALES) == {
        "name": "sales",
        "description": "d",
        "config": {"root.directory": "/data"},
    }
    changed = {"config": {"root.directory": "/other"}}
    assert wire.status("PUT", f"{SALES}/properties", changed) == 400
    wire.good("PUT", f"{SALES}/properties", {"config": {"scheduler.queue.name": "q"}})
    wire.reopened()
    kept = wire.good("GET", SALES)
    assert kept["config"] == {"root.directory": "/data", "scheduler.queue.name": "q"}
    assert kept["description"] == "d"


def test_an_owner_principal_takes_admin_on_it_or_being_it(wire: Wire) -> None:
    for user in (BOSS, "eve", "dana"):
        wire.grant(user, "namespace:sales", "ADMIN")
    wire.grant("dana", "kerberosprincipal:eve/h1.corp@CORP", "ADMIN")
    status, text = wire.ask("PUT", SALES, OWNED)
    assert status == 403
    assert "'[ADMIN]' on entity 'kerberosprincipal:eve/h1.corp@CORP'" in text
    assert wire.status("PUT", SALES, OWNED, user="dana") == 200


def test_the_owner_always_sees_the_namespace(wire: Wire) -> None:
    wire.grant("dana", "namespace:sales", "ADMIN")
    wire.grant("dana", "kerberosprincipal:eve/h1.corp@CORP", "ADMIN")
    wire.good("PUT", SALES, OWNED, user="dana")
    assert names(wire, "eve") == ["sales"]
    assert wire.status("GET", SALES, user="eve") == 200
    wire.reopened()
    assert names(wire, "eve") == ["sales"]


def own(wire: Wire, principal: str, present: bool = True) -> None:
    """Sets the principal of a namespace without this dialect."""
    owner = Entity("kerberosprincipal", principal)
    row = RelationRow(owners.RELATION, Entity("namespace", "sales"), owner)
    changes: list[Change] = [RelationChanged(row, present)]
    if not wire.service.state.realm(REALM).matrix.snapshot.coded.is_known(owner):
        changes.insert(0, EntityAdded(owner, None))
    wire.service.write(SYSTEM, lambda transaction: transaction.change(REALM, *changes))


def test_an_owner_that_came_from_elsewhere_is_shown(either: Wire) -> None:
    either.grant(BOSS, "instance:cdap", "WRITE")
    either.grant(BOSS, "namespace:sales", "ADMIN", "READ")
    either.good("PUT", SALES, {"config": {"root.directory": "/data"}})
    own(either, "etl/h@CORP")
    config = {"root.directory": "/data", "principal": "etl/h@CORP"}
    assert either.good("GET", SALES)["config"] == config
    (listed,) = (one for one in either.good("GET", "namespaces") if one["name"] == "sales")
    assert listed["config"] == config


def test_in_the_older_profile_a_list_tells_the_names_alone_of_what_one_may_not_get(
    old: Wire,
) -> None:
    old.grant(BOSS, "instance:cdap", "WRITE")
    old.good("PUT", SALES, {**OWNED, "description": "private"})
    name_alone = {"name": "sales", "description": "", "config": {}}
    for action in ("WRITE", "EXECUTE", "ADMIN"):
        old.grant("dana", "namespace:sales", action)
        assert name_alone in old.good("GET", "namespaces", user="dana")
    old.grant("dana", "namespace:sales", "READ")
    assert old.good("GET", SALES, user="dana") in old.good("GET", "namespaces", user="dana")


def test_an_owner_that_was_changed_elsewhere_is_the_one_that_is_shown_and_kept(wire: Wire) -> None:
    for user in ("eve", BOSS):
        wire.grant(user, "namespace:sales", "ADMIN")
    wire.good("PUT", SALES, OWNED, user="eve")
    old = OWNED["config"]["principal"]
    own(wire, "etl@CORP")
    own(wire, old, present=False)
    assert wire.good("GET", SALES)["config"]["principal"] == "etl@CORP"
    same = {"config": {"principal": "etl@CORP", "keytabURI": "file:///new"}}
    wire.good("PUT", f"{SALES}/properties", same)
    assert wire.good("GET", SALES)["config"] == same["config"]
    assert wire.status("PUT", f"{SALES}/properties", {"config": {"principal": old}}) == 400
    own(wire, "etl@CORP", present=False)
    assert wire.good("GET", SALES)["config"] == {}


def test_in_the_older_profile_nothing_is_asked_of_an_owner_principal(old: Wire) -> None:
    old.grant(BOSS, "instance:cdap", "WRITE")
    assert old.status("PUT", SALES, OWNED) == 200
    assert old.status("GET", SALES, user="eve") == 403


@pytest.mark.parametrize(
    "config",
    [
        {"principal": "eve@CORP"},
        {"keytabURI": "file:///x"},
        {"principal": "eve/@", "keytabURI": "file:///x"},
        {"principal": 1, "keytabURI": "file:///x"},
    ],
)
def test_half_an_owner_is_refused(wire: Wire, config: Json) -> None:
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    assert wire.status("PUT", SALES, {"config": config}) == 400


def test_an_owner_is_never_changed(wire: Wire) -> None:
    wire.grant("eve", "namespace:sales", "ADMIN")
    wire.good("PUT", SALES, OWNED, user="eve")
    for config in ({"principal": "bob@CORP"}, {"principal": "bob@CORP", "keytabURI": "x"}):
        assert wire.status("PUT", f"{SALES}/properties", {"config": config}, user="eve") == 400
    keytab = {"config": {"keytabURI": "file:///new"}}
    assert wire.status("PUT", f"{SALES}/properties", keytab, user="eve") == 200


def test_deleting_takes_admin_and_leaves_grants_to_apply_again(wire: Wire) -> None:
    wire.grant("dana", "namespace:sales", "READ", "WRITE", "EXECUTE")
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    wire.good("PUT", SALES)
    assert wire.status("DELETE", GONE, user="dana") == 403
    assert wire.status("DELETE", GONE) == 200
    assert wire.ask("DELETE", GONE) == (404, "'namespace:sales' was not found.")
    wire.good("PUT", SALES)
    assert names(wire, "dana") == ["sales"]


def test_in_the_older_profile_deleting_takes_all_grants_along(old: Wire) -> None:
    old.grant(BOSS, "instance:cdap", "WRITE")
    old.good("PUT", SALES)
    for id in ("namespace:sales", "dataset:sales.never", "program:sales.a.flow.f"):
        old.grant("dana", id, "READ")
    old.grant("dana", "dataset:hr.t", "READ")
    old.good("DELETE", GONE)
    left = old.good("GET", "security/authorization/user/dana/privileges", user="dana")
    assert [one["authorizable"]["entityParts"]["NAMESPACE"] for one in left] == ["hr"]


def test_nothing_is_deleted_unless_resets_are_enabled(either: Wire) -> None:
    options = CdapSettings(unrecoverable_reset=False)
    either.services = replace(either.services, systems={"cdap": options})
    for path in (GONE, f"{GONE}/datasets"):
        status, text = either.ask("DELETE", path)
        assert (status, "enable.unrecoverable.reset" in text) == (403, True)


def test_what_is_not_below_unrecoverable_is_deleted_without_resets(either: Wire) -> None:
    either.services = replace(
        either.services, systems={"cdap": CdapSettings(unrecoverable_reset=False)}
    )
    either.grant(BOSS, "instance:cdap", "WRITE")
    for id in ("namespace:sales", "dataset:sales.t1"):
        either.grant(BOSS, id, "ADMIN", "WRITE", "READ")
    either.good("PUT", SALES)
    either.good("PUT", f"{SALES}/data/datasets/t1", {"typeName": "table"})
    assert either.status("DELETE", f"{GONE}/datasets") == 403
    assert either.ask("DELETE", f"{SALES}/data/datasets") == (200, "")
    assert either.good("GET", f"{SALES}/data/datasets") == []
    for below in ("apps", "artifacts", "streams", "data/modules"):
        assert either.status("DELETE", f"{SALES}/{below}") == 200


def test_default_is_emptied_and_system_stays(wire: Wire) -> None:
    wire.grant(BOSS, "namespace:default", "ADMIN")
    wire.good("PUT", "namespaces/default/preferences", {"a": "1"})
    assert wire.status("DELETE", "unrecoverable/namespaces/default") == 200
    assert wire.status("GET", "namespaces/default") == 200
    assert wire.good("GET", "namespaces/default/preferences") == {}
    assert wire.status("DELETE", "unrecoverable/namespaces/system", user=RUNNER) == 400


@pytest.mark.parametrize("options", [switched(security=False), switched(authorization=False)])
def test_with_a_switch_off_everybody_may_do_everything(either: Wire, options: CdapSettings) -> None:
    either.services = replace(either.services, systems={"cdap": options})
    either.good("PUT", SALES, user="eve")
    assert names(either, "bob") == ["default", "sales"]
    assert either.status("GET", SALES, user="bob") == 200
    assert either.status("GET", "namespaces/none", user="bob") == 404
    either.services = replace(either.services, systems={"cdap": CdapSettings()})
    assert either.good("GET", "security/authorization/user/eve/privileges", user="eve") == []


def test_preferences_are_set_read_and_deleted_at_every_level(wire: Wire) -> None:
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    wire.grant(BOSS, "instance:cdap", "ADMIN")
    wire.good("PUT", SALES)
    wire.good("PUT", "preferences", {"a": "1", "b": "1"})
    wire.good("PUT", f"{SALES}/preferences", {"b": "2"})
    assert wire.good("GET", f"{SALES}/preferences") == {"b": "2"}
    assert wire.good("GET", f"{SALES}/preferences?resolved=true") == {"a": "1", "b": "2"}
    wire.good("DELETE", f"{SALES}/preferences")
    assert wire.good("GET", f"{SALES}/preferences") == {}
    assert wire.good("GET", "preferences") == {"a": "1", "b": "1"}
    assert wire.good("GET", SALES)["name"] == "sales"


@pytest.mark.parametrize("body", [b"[]", b"", b'{"a":1}', b"{"])
def test_preferences_are_maps_of_texts(wire: Wire, body: bytes) -> None:
    wire.grant(BOSS, "instance:cdap", "ADMIN")
    assert wire.status("PUT", "preferences", body) == 400


def test_preferences_of_what_is_not_there_are_404(wire: Wire) -> None:
    wire.grant(BOSS, "namespace:none", "ADMIN")
    for method in ("GET", "PUT", "DELETE"):
        assert wire.status(method, "namespaces/none/preferences", {}) == 404


def test_preferences_take_what_each_profile_says(either: Wire) -> None:
    sets = "ADMIN" if either.service.state.realm("cdap").realm.model == "cdap" else "WRITE"
    either.grant("setter", "instance:cdap", sets)
    either.grant("reader", "instance:cdap", "READ")
    either.grant("beside", "namespace:sales")
    for user, expected in (("setter", 200), ("reader", 403), ("beside", 403)):
        assert either.status("PUT", "preferences", {}, user=user) == expected
        assert either.status("DELETE", "preferences", user=user) == expected
    assert either.status("GET", "preferences", user="reader") == 200
    assert either.status("GET", "preferences", user="beside") == 403


def test_what_was_granted_ahead_outlasts_the_creation(either: Wire) -> None:
    either.grant("dana", "namespace:sales", "READ")
    either.grant(BOSS, "instance:cdap", "WRITE")
    either.grant(BOSS, "namespace:sales", "ADMIN")
    either.good("PUT", SALES)
    assert either.status("GET", SALES, user="dana") == 200


def test_who_is_refused_a_namespace_learns_nothing_of_what_is_in_it(either: Wire) -> None:
    either.grant(BOSS, "instance:cdap", "WRITE")
    either.grant(BOSS, "namespace:sales", "ADMIN")
    either.good("PUT", SALES)
    either.grant(BOSS, "securekey:sales.hidden", "ADMIN")
    either.grant(BOSS, "namespace:sales", "WRITE")
    either.good("PUT", f"{SALES}/securekeys/hidden", {"data": "x"})
    status, text = either.ask("DELETE", GONE, user="eve")
    assert (status, "hidden" in text) == (403, False)

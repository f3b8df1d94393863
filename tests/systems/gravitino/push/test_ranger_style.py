"""A Ranger admin with the policies and roles of Gravitino's plugin: pushed, and followed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from lakewarden.app.push_connection import connect_target
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import Facts, MembershipRow
from lakewarden.pushdown.grants import Grant
from lakewarden.pushdown.ranger.marks import Marks
from lakewarden.pushdown.ranger.state import Held, held, holders
from lakewarden.service import push_outbox, push_target
from lakewarden.service.push import Reads
from lakewarden.service.push_delivery import Delivery
from lakewarden.service.push_lock import StoreLock
from lakewarden.service.push_target import PushTarget
from tests.pushdown.estate import STORE
from tests.pushdown.ranger.admin_server import PASSWORD, USER, Ranger, serving
from tests.pushdown.ranger.worlds import Told, ranger_of, told
from tests.systems.gravitino.http.wire import REALM, Wire
from tests.systems.gravitino.push.hooked import GRANT, LAKE, READ, switch_on
from tests.systems.gravitino.push.test_database_roles import small, with_role
from tests.systems.gravitino.push.test_ranger_policies import GOLDEN, compact, state_of

EVERYTHING: Final = json.loads((GOLDEN / "gravitino-ranger-hive.json").read_text())
READERS: Final = Principal("role", "lk:readers")


@pytest.fixture(name="ranger")
def _ranger() -> Iterator[Ranger]:
    with serving(ranger_of("hive")) as ranger:
        yield ranger


@pytest.fixture(name="one")
def _one(ranger: Ranger) -> Told:
    return told(ranger, "lk", "pg", "gravitino")


def now_in(ranger: Ranger) -> Held:
    return copy.deepcopy(
        held(Marks("rg", STORE), {}, ranger.policies.values(), ranger.roles.values(), styled=True)
    )


def users(ranger: Ranger) -> dict[str, list[str]]:
    return {
        role["name"]: [user["name"] for user in role["users"]] for role in ranger.roles.values()
    }


def test_a_service_holds_what_the_plug_in_would_have_told_it(ranger: Ranger, one: Told) -> None:
    realm = state_of(small())
    assert one.push(realm) > 0
    policies = {policy["name"]: compact(policy) for policy in ranger.policies.values()}
    assert policies == EVERYTHING["policies"]
    assert users(ranger) == {
        name: own for name, own in EVERYTHING["roles"].items() if name in users(ranger)
    }
    labels = {label for policy in ranger.policies.values() for label in policy["policyLabels"]}
    assert labels == {"MANAGED_BY_GRAVITINO", "lakewarden", f"lakewarden:rg:{STORE}"}
    assert {role["description"].split()[0] for role in ranger.roles.values()} == {
        "MANAGED_BY_GRAVITINO"
    }
    assert one.push(realm) == 0
    assert one.drift(realm).differences == []
    one.reset()
    assert (ranger.policies, ranger.roles) == ({}, {})


def test_a_role_that_changes_gives_at_no_moment_more_and_stays_in_force(
    ranger: Ranger, one: Told
) -> None:
    facts = small()
    grown = replace(
        facts, memberships=[*facts.memberships, MembershipRow(Principal("user", "dee"), READERS)]
    )
    realms = [state_of(one) for one in (facts, grown, _without(facts, READERS), facts)]
    one.push(realms[0])
    for realm in realms[1:]:
        before, moments = holders(now_in(ranger)), list[Mapping[Grant, frozenset[str]]]()

        def watch(_: int, moments: Any = moments) -> str:
            moments.append(holders(now_in(ranger)))
            return ""

        ranger.lose = watch
        assert one.push(realm) > 0
        after = holders(now_in(ranger))
        for moment in moments:
            for grant, who in moment.items():
                assert who <= before.get(grant, frozenset()) | after.get(grant, frozenset()), grant
            for grant in before.keys() & after.keys():
                assert before[grant] & after[grant] <= moment[grant], grant


def _without(facts: Facts, role: Principal) -> Facts:
    kept = [row for row in facts.memberships if role not in (row.member, row.of)]
    return replace(facts, memberships=kept)


def test_names_that_others_have_are_left_to_them(ranger: Ranger, one: Told) -> None:
    """We do not manage the members of others' roles, so they get no grants."""
    for name in ("GRAVITINO_readers", "GRAVITINO_OWNER_ROLE"):
        ranger.put_role({"name": name, "users": [{"name": "mallory"}]})
    realm = state_of(small())
    expected = _by_user(now_of(realm))
    one.push(realm)
    assert _by_user(holders(now_in(ranger))) == expected
    assert users(ranger)["GRAVITINO_readers"] == ["mallory"]
    assert not any("mallory" in who for who in holders(now_in(ranger)).values())
    why = {residue.why for residue in one.plan(realm).residues}
    assert "Ranger cannot have a role of that name for it" in why
    one.reset()
    assert {*users(ranger)} == {"GRAVITINO_readers", "GRAVITINO_OWNER_ROLE"}


def test_of_two_roles_that_differ_in_case_one_is_told(ranger: Ranger, one: Told) -> None:
    """A Ranger on MySQL allows no second role with such a name, and would refuse the push."""
    realm = state_of(with_role("WRITERS"))
    assert one.push(realm) > 0
    assert {name.casefold() for name in users(ranger)} > {"gravitino_writers"}
    assert len({name.casefold() for name in users(ranger)}) == len(users(ranger))
    why = {
        residue.principal
        for residue in one.plan(realm).residues
        if "role of that name" in residue.why
    }
    assert why <= {"role:lk:WRITERS", "role:lk:writers"}
    assert len(why) == 1


def now_of(realm: Any) -> Mapping[Grant, frozenset[str]]:
    """All holders of grants, if no name is taken."""
    with serving(ranger_of("hive")) as other:
        told(other, "lk", "pg", "gravitino").push(realm)
        return holders(now_in(other))


def _by_user(held_by: Mapping[Grant, frozenset[str]]) -> dict[Grant, frozenset[str]]:
    return {grant: who for grant, who in held_by.items() if who}


def of_ranger(ranger: Ranger, type: str) -> dict[str, str]:
    """The properties of a catalog whose plugin is a service of the type."""
    return {
        "authorization-provider": "ranger",
        "authorization.ranger.admin.url": f"http://127.0.0.1:{ranger.port}",
        "authorization.ranger.service.type": type,
        "authorization.ranger.service.name": ranger.service,
        "authorization.ranger.auth.type": "simple",
        "authorization.ranger.username": USER,
        "authorization.ranger.password": PASSWORD,
    }


def test_a_catalog_tells_its_ranger_of_hdfs_where_filesets_lie(tmp_path: Path) -> None:
    """`service.type` = `HDFS`: pushed once the catalog states its file system."""
    with serving(ranger_of("hdfs")) as ranger, Wire(tmp_path) as wire:
        switch_on(wire, "hdfs")
        now = [1_800_000_000.0]
        wire.service.clock = lambda: now[0]
        wire.good("POST", "metalakes", {"name": "lk"})
        wire.good("POST", f"{LAKE}/users", {"name": "ana"})
        properties = of_ranger(ranger, "HDFS")
        body = {"name": "fs", "type": "fileset", "provider": "hadoop", "properties": properties}
        wire.good("POST", f"{LAKE}/catalogs", body)
        catalog = f"{LAKE}/catalogs/fs"
        delivery = Delivery(wire.service, wire.services.sealing, connect_target, ("127.0.0.1",))
        with wire.service.reading() as reading:
            entries = push_outbox.pending(reading, list(push_target.targets(reading, (REALM,))))
        assert [one.error[:33] for one in entries.values()] == ["set the property `location` of th"]
        assert delivery.deliver_due() == 0
        update = {"@type": "setProperty", "property": "location", "value": "hdfs://nn:8020/lake"}
        wire.good("PUT", catalog, {"updates": [update]})
        wire.good("POST", f"{catalog}/schemas", {"name": "raw"})
        fileset = {"name": "a", "type": "external", "storageLocation": "hdfs://nn:8020/lake/a"}
        wire.good("POST", f"{catalog}/schemas/raw/filesets", fileset)
        privileges = [
            {"name": name, "condition": "allow"}
            for name in ("use_catalog", "use_schema", "read_fileset")
        ]
        role = {"fullName": "fs", "type": "catalog", "privileges": privileges}
        wire.good("POST", f"{LAKE}/roles", {"name": "readers", "securableObjects": [role]})
        wire.good("PUT", f"{LAKE}/permissions/users/ana/grant", GRANT)
        now[0] += 600.0
        assert delivery.deliver_due() == 2  # the previous target is emptied and removed
        assert users(ranger)["GRAVITINO_readers"] == ["ana"]
        policies = {policy["name"]: compact(policy) for policy in ranger.policies.values()}
        assert policies["/lake/a"]["roles"]["read"] == ["GRAVITINO_readers"]
        wire.good("DELETE", f"{catalog}?force=true")
        assert delivery.deliver_due() == 1
        assert not ranger.policies


def of_hive(wire: Wire, ranger: Ranger, *, with_plugin: bool = True) -> str:
    """A catalog with a table that pushes to its Hive service, and a role that may read it."""
    switch_on(wire, "hive")
    wire.good("POST", "metalakes", {"name": "lk"})
    wire.good("POST", f"{LAKE}/users", {"name": "ana"})
    properties = of_ranger(ranger, "HadoopSQL") if with_plugin else {}
    body = {"name": "hv", "type": "relational", "provider": "hive", "properties": properties}
    wire.good("POST", f"{LAKE}/catalogs", body)
    catalog = f"{LAKE}/catalogs/hv"
    wire.good("POST", f"{catalog}/schemas", {"name": "raw"})
    table = {"name": "orders", "columns": [{"name": "a", "type": "integer"}]}
    wire.good("POST", f"{catalog}/schemas/raw/tables", table)
    privileges = [{"name": name, "condition": "allow"} for name in READ]
    role = {"fullName": "hv", "type": "catalog", "privileges": privileges}
    wire.good("POST", f"{LAKE}/roles", {"name": "readers", "securableObjects": [role]})
    return catalog


def test_a_realm_that_changes_while_ranger_is_read_is_told_as_it_is_then(
    tmp_path: Path, ranger: Ranger
) -> None:
    """Every realm is written to all the time, also by its other targets."""
    outcomes: list[tuple[int, str]] = []
    with Wire(tmp_path) as wire:
        of_hive(wire, ranger)
        verbs = iter(("grant", "revoke"))

        def connect(
            target: PushTarget, url: str, store: str, reading: Reads, lock: StoreLock
        ) -> Any:
            def changed_first(realm: Any) -> Any:
                wire.good("PUT", f"{LAKE}/permissions/users/ana/{next(verbs)}", GRANT)
                return reading(realm)

            return connect_target(target, url, store, changed_first, lock)

        delivery = Delivery(
            wire.service,
            wire.services.sealing,
            connect,
            ("127.0.0.1",),
            lambda _, count, error: outcomes.append((count, error)),
        )
        for expected in (["ana"], []):
            assert delivery.deliver_due() == 1, outcomes
            assert users(ranger).get("GRAVITINO_readers", []) == expected
        with wire.service.reading() as reading:
            (target,) = push_target.targets(reading, (REALM,))
            assert push_outbox.pending(reading, [target]), "what came meanwhile is looked at again"


def test_a_catalog_tells_its_ranger_what_changes(tmp_path: Path, ranger: Ranger) -> None:
    """`authorization-provider` = `ranger`, over the dialect: a grant, a revoke, a drop."""
    outcomes: list[tuple[str, int, str]] = []
    with Wire(tmp_path) as wire:
        catalog = of_hive(wire, ranger)
        delivery = Delivery(
            wire.service,
            wire.services.sealing,
            connect_target,
            ("127.0.0.1",),
            lambda target, count, error: outcomes.append((target.name, count, error)),
        )

        def members() -> list[str]:
            assert delivery.deliver_due() == 1, outcomes
            return users(ranger).get("GRAVITINO_readers", [])

        assert members() == []
        wire.good("PUT", f"{LAKE}/permissions/users/ana/grant", GRANT)
        assert members() == ["ana"]
        policies = {policy["name"]: compact(policy) for policy in ranger.policies.values()}
        assert policies["raw.orders"]["roles"]["select"] == ["GRAVITINO_readers"]
        wire.good("PUT", f"{LAKE}/permissions/users/ana/revoke", GRANT)
        assert members() == []
        wire.good("DELETE", f"{catalog}?force=true")
        assert members() == []
        assert not ranger.policies
        with wire.service.reading() as reading:
            found = list(push_target.targets(reading, (REALM,)))
            assert not push_outbox.pending(reading, found)

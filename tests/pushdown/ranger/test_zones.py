"""Security zones of Ranger: a target for each zone, evaluated by Ranger's own engine."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pushdown.ranger.state import policy_content
from lakewarden.pushdown.ranger.zones import Zone
from lakewarden.service.ranger.document import Documents
from tests.http.ranger import test_judged as documents
from tests.http.ranger.judge import judged, without_schedules
from tests.pushdown.ranger.admin_server import Ranger, serving
from tests.pushdown.ranger.test_push import EU, FOREIGN, MASK, READ, WRITE, realm_of
from tests.pushdown.ranger.worlds import Told, ranger_of, shipped, told

ORDERS = {"catalog": ["c"], "schema": ["sales"], "table": ["orders"]}


@pytest.fixture(name="ranger")
def _ranger() -> Iterator[Ranger]:
    with serving(ranger_of("trino")) as ranger:
        ranger.zones["eu"] = [ORDERS]
        yield ranger


def both(ranger: Ranger, metalake: str, *zones: str) -> list[Told]:
    """A target for everything outside zones, and one for each zone; they know each other."""
    found = [told(ranger, metalake)]
    for number, zone in enumerate(zones):
        found.append(told(ranger, metalake, name=f"z{number}"))
        found[-1].zone = zone
    for one in found:
        one.beside = [other for other in found if other is not one]
    return found


def in_zone(ranger: Ranger, zone: str) -> list[dict[str, Any]]:
    return [one for one in ranger.policies.values() if (one.get("zoneName") or "") == zone]


def test_a_target_writes_the_zone_that_it_tells(ranger: Ranger) -> None:
    realm = realm_of(READ, WRITE, EU, MASK)
    plain, zoned = both(ranger, "lk", "eu")
    plain.push(realm)
    left = [one for one in plain.plan(realm).residues if "`eu`" in one.why]
    assert left
    assert all("table=orders" in one.entity for one in left)
    assert in_zone(ranger, "eu") == []
    assert zoned.push(realm) > 0
    assert zoned.push(realm) == 0
    assert not zoned.plan(realm).residues.count - plain.plan(realm).residues.count
    assert {one["policyType"] for one in in_zone(ranger, "eu")} == {0, 2}
    tables = {
        name
        for one in in_zone(ranger, "eu")
        for name in one["resources"].get("table", {"values": ["*"]})["values"]
    }
    assert "orders" in tables
    # what a zone's own target pushes is no residue of the other target
    assert not [one for one in plain.plan(realm).residues if "`eu`" in one.why]
    assert not plain.plan(realm).is_pending
    zoned.reset()
    assert in_zone(ranger, "eu") == []
    assert in_zone(ranger, "") != []


def test_drift_sees_policies_of_zones(ranger: Ranger) -> None:
    realm = realm_of(READ, WRITE, EU)
    ranger.zones["us"] = [{**ORDERS, "table": ["clients"]}]
    plain, zoned = both(ranger, "lk", "eu")
    plain.push(realm)
    zoned.push(realm)
    assert plain.drift(realm).foreign == zoned.drift(realm).foreign == []
    own = {**copy.deepcopy(FOREIGN), "name": "by hand"}
    ranger.put_policy({**own, "zoneName": "us"})
    grantee = "user eve by by hand in the security zone us"
    assert {one.grantee for one in plain.drift(realm).foreign} == {grantee}
    assert zoned.drift(realm).foreign == []
    ranger.put_policy({**own, "zoneName": "eu"})
    assert {one.denied for one in zoned.drift(realm).foreign} == {("eve",)}
    assert len({one.grantee for one in plain.drift(realm).foreign}) == 2


def test_what_is_changed_in_a_zone_is_repaired_there(ranger: Ranger) -> None:
    realm = realm_of(READ, WRITE, EU)
    plain, zoned = both(ranger, "lk", "eu")
    plain.push(realm)
    ranger.lose = lambda count: "after" if count % 3 == 0 else ""
    zoned.push(realm)
    ranger.lose = lambda _: ""
    before = copy.deepcopy(ranger.policies)
    changed = next(one for one in in_zone(ranger, "eu") if one["policyType"] == 0)
    changed["policyItems"][0]["users"] = ["eve"]
    assert any("user eve" in str(one) for one in zoned.drift(realm).differences)
    assert plain.drift(realm).differences == []
    zoned.push(realm)
    contents = {id: policy_content(one) for id, one in ranger.policies.items()}
    assert contents == {id: policy_content(one) for id, one in before.items()}


def test_zones_that_cannot_be_told(ranger: Ranger) -> None:
    realm = realm_of(READ)
    (one,) = both(ranger, "lk")
    one.zone = "asia"
    with pytest.raises(BadInput, match="no resources in a security zone `asia`"):
        one.plan(realm)
    ranger.sees_zones = False
    with pytest.raises(BadInput, match="may not see security zones"):
        one.plan(realm)
    one.zone = ""
    one.push(realm)
    assert any("may not see" in each.why for each in one.plan(realm).residues)


@pytest.mark.parametrize(
    ("resource", "place", "has", "may_overlap"),
    [
        ({"schema": ["Sales"]}, {"schema": ["sales"], "table": ["a"]}, True, True),
        ({"schema": ["sal*"]}, {"schema": ["sales"], "table": ["*"]}, True, True),
        ({"schema": ["sales"], "table": ["a"]}, {"schema": ["sales"]}, False, True),
        ({"table": ["a"]}, {"table": ["a", "b"]}, False, True),
        ({"table": ["a", "b"]}, {"table": ["a", "b"]}, True, True),
        ({"table": ["a"]}, {"table": ["*"]}, False, True),
        ({"table": ["a"]}, {"queryid": ["*"]}, False, False),
        ({"schema": ["hr"]}, {"schema": ["sales"]}, False, False),
        ({"path": ["/data"]}, {"path": ["/data/eu"]}, True, True),
        ({"path": ["/data/eu"]}, {"path": ["/data"]}, False, True),
        ({"path": ["/data"]}, {"path": ["/database"]}, False, False),
        ({"path": ["/*"]}, {"path": ["/data"]}, True, True),
        ({"path": ["/d*a"]}, {"path": ["/data"]}, False, True),
        ({}, {"schema": ["sales"]}, False, False),
    ],
)
def test_what_is_in_a_zone(
    resource: dict[str, list[str]], place: dict[str, list[str]], has: bool, may_overlap: bool
) -> None:
    zone = Zone("eu", [resource], folds=True)
    content = {"resources": {level: {"values": values} for level, values in place.items()}}
    assert (zone.has(content), zone.may_overlap(content)) == (has, may_overlap)


# --- random worlds, evaluated by Ranger's own engine ---


def random_zones(realm: documents.Realms, seed: int) -> dict[str, list[dict[str, list[str]]]]:
    """Zones with catalogs, schemas and tables of a world, none nested in another."""
    rng = random.Random(f"zones {seed}")
    paths = sorted(path for type, path in realm.paths if type in ("catalog", "schema", "table"))
    rng.shuffle(paths)
    chosen: list[tuple[str, ...]] = []
    for path in paths:
        apart = all(path[: len(one)] != one and one[: len(path)] != path for one in chosen)
        if apart and len(chosen) < 3 and (len(path) > 1 or rng.random() < 0.2):
            chosen.append(path)
    levels = ("catalog", "schema", "table")
    rows = [dict(zip(levels, ([part] for part in path), strict=False)) for path in chosen]
    return {"z1": rows[:1], "z2": rows[1:]} if len(rows) > 1 else {"z1": rows}


def check_zones(seed: int, folder: Path, *, with_limits: bool = True) -> Counter[str]:
    """The engine's answers after a push to all zones, to some, and with limits."""
    realm = documents.realm_of(seed, limits=6)
    counts: Counter[str] = Counter()
    with serving(Ranger("trino", shipped("trino"))) as ranger:
        ranger.zones = random_zones(realm, seed)
        targets = both(ranger, realm.metalake, *ranger.zones)
        for number, one in enumerate(targets):
            one.push(realm.state)
            assert one.drift(realm.state).differences == []
            if number in (0, len(targets) - 1):
                counts[f"targets {number}"] = ask(realm, targets, folder, number)["True True"]
        residues = targets[0].plan(realm.state).residues
        assert not [one for one in residues if "security zone" in one.why]
        if not with_limits:
            return counts
        held = Documents(
            without_schedules(ranger.download()),
            ranger.download_roles(),
            realm.made.residues,
            realm.made.places,
        )
        counts += documents.check_limits_of(replace(realm, made=held), seed, folder)
    return counts


def ask(realm: documents.Realms, targets: list[Told], folder: Path, number: int) -> Counter[str]:
    """Never more than the realm allows; with all targets pushed, as much except for the residue."""
    ranger = targets[0].ranger
    questions = list(documents.asked(realm))
    requests = [documents.request(*each) for each in questions]
    policies = without_schedules(ranger.download())
    answers = judged(policies, ranger.download_roles(), requests, folder)
    residues = [*targets[0].plan(realm.state).residues]
    left_out = {one.entity for one in residues} | {one.principal for one in residues}
    counts: Counter[str] = Counter()
    for (user, act, path), answer in zip(questions, answers, strict=True):
        allowed = documents.kernel(realm, user, act, path)
        counts[f"{allowed} {answer['allowed']}"] += 1
        if answer["allowed"]:
            assert allowed, (user, act, path, answer)
        elif allowed and act == "SelectFromColumns" and number:
            assert documents._is_residue(realm, left_out, user, path), (user, act, path)
    return counts


def test_zones_of_a_world_are_never_told_more(tmp_path: Path) -> None:
    counts = check_zones(6, tmp_path, with_limits=False)
    assert counts["targets 2"] > counts["targets 0"] > 0, counts


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(500, 540))
def test_random_zones_are_never_told_more(seed: int, tmp_path: Path) -> None:
    check_zones(seed, tmp_path)

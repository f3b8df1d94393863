"""Ranger's own engine on pushed random worlds: it never allows more than the realm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakewarden.service.ranger.document import Documents
from tests.http.ranger import test_judged as documents
from tests.http.ranger import test_judged_services as services
from tests.http.ranger.judge import judged, without_schedules
from tests.http.ranger.service_worlds import FILE_SYSTEM_ADDRESS, world_of
from tests.pushdown.ranger.admin_server import Ranger, serving
from tests.pushdown.ranger.worlds import Told, shipped, told


def pushed(seed: int, limits: int = 0) -> Iterator[tuple[documents.Realms, Told]]:
    """The world of the seed, pushed to an admin with Trino's service as Ranger ships it."""
    realm = documents.realm_of(seed, limits)
    with serving(Ranger("trino", shipped("trino"))) as ranger:
        one = told(ranger, realm.metalake)
        one.push(realm.state)
        yield realm, one


def asked(realm: documents.Realms, one: Told, folder: Path) -> Counter[str]:
    """The engine's answers to all requests of `documents.asked`, compared with the realm's."""
    questions = list(documents.asked(realm))
    requests = [documents.request(*each) for each in questions]
    ranger, residues = one.ranger, [*one.plan(realm.state).residues]
    policies: Mapping[str, Any] = without_schedules(ranger.download())
    answers = judged(policies, ranger.download_roles(), requests, folder)
    left_out = {residue.entity for residue in residues}
    left_out |= {residue.principal for residue in residues}
    counts: Counter[str] = Counter()
    for (user, act, path), answer in zip(questions, answers, strict=True):
        allowed = documents.kernel(realm, user, act, path)
        counts[f"{allowed} {answer['allowed']}"] += 1
        if answer["allowed"]:
            assert allowed, (user, act, path, answer)
        elif allowed and act == "SelectFromColumns":
            assert documents._is_residue(realm, left_out, user, path), (user, act, path)
    return counts


@pytest.mark.parametrize("seed", [1, 310])
def test_what_is_told_is_never_more_than_is_allowed(seed: int, tmp_path: Path) -> None:
    for realm, one in pushed(seed):
        counts = asked(realm, one, tmp_path)
        assert counts["True True"] > 0, counts
        assert not one.plan(realm.state).is_pending
        assert one.drift(realm.state).differences == []


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(300, 340))
def test_random_worlds_are_never_told_more(seed: int, tmp_path: Path) -> None:
    for realm, one in pushed(seed):
        asked(realm, one, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(200, 215))
def test_random_limits_bind(seed: int, tmp_path: Path) -> None:
    """Filters and masks in the admin bind the users whom they bind in the realm."""
    for realm, one in pushed(seed, limits=8):
        ranger = one.ranger
        held = Documents(
            without_schedules(ranger.download()),
            ranger.download_roles(),
            realm.made.residues,
            realm.made.places,
        )
        documents.check_limits_of(replace(realm, made=held), seed, tmp_path)


def check_files(seed: int, folder: Path) -> Counter[str]:
    """A world pushed to an admin with HDFS as Ranger ships it, with requests about paths."""
    world = world_of("hdfs", seed)
    with serving(Ranger("hdfs", shipped("hdfs"))) as ranger:
        one = told(ranger, world.naming.metalake)
        one.located, one.file_system = world.located, FILE_SYSTEM_ADDRESS
        one.push(world.state)
        residues = one.plan(world.state).residues
        assert one.drift(world.state).differences == []
        policies = without_schedules(ranger.download())
        held = Documents(policies, ranger.download_roles(), residues, world.made.places)
        return services.check_of(replace(world, made=held), seed, folder)


def test_paths_of_a_file_system_are_never_told_more(tmp_path: Path) -> None:
    counts = check_files(1, tmp_path)
    assert counts["True True"] > 10, counts
    assert counts["False False"] > 10, counts


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(400, 420))
def test_random_file_systems_are_never_told_more(seed: int, tmp_path: Path) -> None:
    check_files(seed, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("type", ["hive", "kafka"])
@pytest.mark.parametrize("seed", range(400, 410))
def test_random_services_of_one_catalog_are_never_told_more(
    type: str, seed: int, tmp_path: Path
) -> None:
    world = world_of(type, seed)
    definition = shipped(type)
    if type == "kafka":  # a service that does not distinguish topics is refused
        for resource in definition["resources"]:
            resource["matcherOptions"]["ignoreCase"] = "false"
    with serving(Ranger(type, definition)) as ranger:
        one = told(ranger, world.naming.metalake, world.naming.governs)
        one.push(world.state)
        residues = one.plan(world.state).residues
        policies = without_schedules(ranger.download())
        held = Documents(policies, ranger.download_roles(), residues, world.made.places)
        services.check_of(replace(world, made=held), seed, tmp_path)

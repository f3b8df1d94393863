"""Policies with Gravitino's names for Ranger's Hive: like its plugin's, within the permissions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakewarden.engines import mapping, ranger_service
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.pushdown.ranger.style import RangerForm
from lakewarden.service.permanent_access import permanent_access
from lakewarden.service.ranger.file_places import Files
from lakewarden.service.ranger.places import Naming
from lakewarden.service.realm import Realm
from lakewarden.service.residue import Residues
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import load_system
from lakewarden.systems.gravitino.push.ranger_policies import (
    FILESET,
    OWNERS,
    plugin_form,
)
from lakewarden.testing.world_draft import NOW
from tests.http.ranger.judge import judged
from tests.http.ranger.service_worlds import ServiceWorld, world_of
from tests.systems.gravitino.push.test_database_roles import small

GOLDEN = Path(__file__).parents[3] / "golden/push"
SETTINGS = {"hive": "on", "hdfs": "on"}
SERVICE = ranger_service.load("hive")
MAPPING = mapping.of_model("gravitino")["hive"]


HOLDERS = {"loaders": ("dee",), "viewers": ("ana", "bo", "cy"), "no-b": ("bo",)}
USING = ("USE_CATALOG", "USE_SCHEMA")


def state_of(facts: Facts) -> RealmState:
    system = load_system("gravitino", SETTINGS)
    matrix = Matrix(compile(facts, system.model, system.spelling, now=NOW))
    return RealmState(Realm("lake", "gravitino", settings=SETTINGS), system, matrix, People())


def of_hive() -> RangerForm:
    naming = Naming("hiveDev", "lk", {}, "pg")
    return plugin_form(state_of(small()), MAPPING, SERVICE, naming, NOW, Residues())


def of_files() -> RangerForm:
    """Two filesets, a role that may load both, and one that may read them, with one denied."""
    lake, catalog = Entity("metalake", "lk"), Entity("catalog", "lk:fs")
    schema = Entity("schema", "lk:fs.landing")
    filesets = {name: Entity("fileset", f"lk:fs.landing.{name}") for name in ("a", "b")}
    users = [Principal("user", name) for name in ("ana", "bo", "cy", "dee")]
    grants = (
        ("loaders", catalog, (*USING, "WRITE_FILESET"), Effect.ALLOW),
        ("viewers", catalog, (*USING, "READ_FILESET"), Effect.ALLOW),
        ("no-b", filesets["b"], ("READ_FILESET",), Effect.DENY),
    )
    facts = Facts(
        entities=[
            EntityRow(lake, None),
            EntityRow(catalog, lake),
            EntityRow(schema, catalog),
            *(EntityRow(one, schema) for one in filesets.values()),
        ],
        principals=[*users, *(Principal("role", f"lk:{name}") for name in HOLDERS)],
        memberships=[
            *(MembershipRow(user, members_of("lk")) for user in users),
            *(
                MembershipRow(Principal("user", name), Principal("role", f"lk:{role}"))
                for role, names in HOLDERS.items()
                for name in names
            ),
        ],
        statements=[
            Statement(
                role, effect, frozenset(what), On(on), frozenset({Principal("role", f"lk:{role}")})
            )
            for role, on, what, effect in grants
        ],
    )
    state = state_of(facts)
    places = [(one, [f"hdfs://nn:8020/lake/{name}"]) for name, one in filesets.items()]
    files = Files(state.matrix.snapshot.coded.tree, places, "hdfs://nn:8020", Residues())
    service, engine = ranger_service.load("hdfs"), mapping.of_model("gravitino")["hdfs"]
    naming = Naming("hdfsDev", "lk", {}, "", files)
    return plugin_form(state, engine, service, naming, NOW, Residues())


FORMS = {"hive": of_hive, "hdfs": of_files}


def compact(policy: Any) -> dict[str, Any]:
    """A policy in the golden file's format."""
    found: dict[str, Any] = {"roles": {}, "users": {}}
    found["resources"] = {name: one["values"] for name, one in policy["resources"].items()}
    for item in policy["policyItems"]:
        (access,) = item["accesses"]
        by_name = item["roles"] == [OWNERS]
        found["users" if by_name else "roles"][access["type"]] = item[
            "users" if by_name else "roles"
        ]
    return found


@pytest.mark.parametrize("type", FORMS)
def test_policies_and_roles_are_those_of_the_original(type: str) -> None:
    golden = json.loads((GOLDEN / f"gravitino-ranger-{type}.json").read_text())
    made = FORMS[type]()
    assert {one["name"]: compact(one) for one in made.policies} == golden["policies"]
    roles = {one["name"]: [user["name"] for user in one["users"]] for one in made.roles}
    assert roles == golden["roles"]
    rows = [[one.principal, one.entity, one.access] for one in made.residues if one.principal]
    assert sorted(rows) == golden["left_out"]


@pytest.mark.parametrize("type", FORMS)
def test_what_is_ours_has_the_label_of_the_original(type: str) -> None:
    made = FORMS[type]()
    assert {label for one in made.policies for label in one["policyLabels"]} == {
        "MANAGED_BY_GRAVITINO"
    }
    assert {one["description"] for one in made.roles} == {"MANAGED_BY_GRAVITINO"}
    signatures = [json.dumps(one["resources"], sort_keys=True) for one in made.policies]
    assert len({*signatures}) == len(signatures)  # Ranger refuses two policies on one resource
    assert not any(one["denyPolicyItems"] for one in made.policies)


# --- Ranger's own engine ---


def requests(world: ServiceWorld) -> Iterator[tuple[dict[str, Any], bool, bool]]:
    """A plugin's requests, the kernel's decisions, and whether the form should express them."""
    database, table = SERVICE.levels["database"], SERVICE.levels["table"]
    matrix = Matrix(permanent_access(world.state.matrix.snapshot))
    forever = replace(world, state=replace(world.state, matrix=matrix))
    for user in world.users():
        for path, entity in world.stored.items():
            names = path[2:]
            if entity.type == "schema":
                allowed = world.sees(user, database, entity)
                yield ask(user, "_any", database=names[0]), allowed, False
                yield ask(user, "select", database=names[0], table="not_stored"), False, False
            elif entity.type in ("table", "view"):
                at = {"database": names[0], "table": names[1]}
                for access in SERVICE.accesses.values():
                    acts, within = access.opens.get("table", ()), access.within.get("table", ())
                    if within:
                        above = world.stored[path[:-1]]
                        allowed = world.sees(user, table, entity) and world.opens(
                            user, database, within, above
                        )
                    else:
                        allowed = bool(acts) and world.opens(user, table, acts, entity)
                    for more in ({}, {"column": "c1"}):
                        # `alter` also permits setting owners; expiring access is in no policy.
                        said = _is_said(names) and access.name != "alter"
                        said = said and bool(acts) and forever.opens(user, table, acts, entity)
                        yield ask(user, access.name, **at, **more), allowed, said


def _is_said(names: tuple[str, ...]) -> bool:
    return all(name.islower() and name.isalnum() for name in names)


def ask(user: str, access: str, **resource: str) -> dict[str, Any]:
    return {"user": user, "access": access, "resource": resource}


def document(made: RangerForm, type: str) -> dict[str, Any]:
    """The policies in the download format, with Ranger's own definition of the type."""
    policies = [
        {"id": id, "version": 1, "policyType": 0, **one} for id, one in enumerate(made.policies, 1)
    ]
    definition = {"id": 1, "name": type}
    return {
        "serviceName": "svc",
        "serviceId": 1,
        "policies": policies,
        "serviceDef": definition,
    }


def roles_of(made: RangerForm) -> dict[str, Any]:
    roles = [{"id": id, "isEnabled": True, **one} for id, one in enumerate(made.roles, 1)]
    return {"serviceName": "svc", "rangerRoles": roles}


def check(world: ServiceWorld, folder: Path) -> Counter[str]:
    made = plugin_form(world.state, world.mapping, SERVICE, world.naming, NOW, Residues())
    asked = list(requests(world))
    numbered = [{"id": str(number), **one} for number, (one, _, _) in enumerate(asked)]
    left_out = {one.entity for one in made.residues if one.entity and not one.principal}
    unnamed = {one.principal for one in made.residues if "the name of the user" in one.why}
    named = {tuple(path[2:]): f"{one.type}:{one.name}" for path, one in world.stored.items()}
    counts: Counter[str] = Counter()
    for (request, allowed, said), answer in zip(
        asked, judged(document(made, "hive"), roles_of(made), numbered, folder), strict=True
    ):
        counts[f"{allowed} {answer['allowed']}"] += 1
        assert allowed or not answer["allowed"], request
        at = (request["resource"]["database"], request["resource"].get("table", ""))
        if f"user:{request['user']}" in unnamed or named.get(at) in left_out:
            continue
        if allowed and said:
            assert answer["allowed"], request
    return counts


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(40))
def test_ranger_allows_at_most_what_the_kernel_allows_in_many_worlds(
    tmp_path: Path, seed: int
) -> None:
    counts = check(world_of("hive", seed, limits=seed % 3 * 5), tmp_path)
    assert counts["False False"] > 100, counts


def check_files(world: ServiceWorld, folder: Path) -> Counter[str]:
    """Access at a path requires it on all filesets whose folders contain the path."""
    service = world.service
    made = plugin_form(world.state, world.mapping, service, world.naming, NOW, Residues())
    level, counts = service.levels[FILESET], Counter[str]()
    asked = [
        (ask(user, access.name, path=path), all(
            world.opens(user, level, access.opens[FILESET], entity) for entity in entities
        ))
        for user in world.users()
        for access in service.accesses.values()
        for path, entities in world.folders.items()
    ]  # fmt: skip
    numbered = [{"id": str(number), **one} for number, (one, _) in enumerate(asked)]
    answers = judged(document(made, "hdfs"), roles_of(made), numbered, folder)
    for (request, allowed), answer in zip(asked, answers, strict=True):
        counts[f"{allowed} {answer['allowed']}"] += 1
        assert allowed or not answer["allowed"], request
    return counts


@pytest.mark.nightly
def test_ranger_allows_files_as_the_kernel_does(tmp_path: Path) -> None:
    counts = sum((check_files(world_of("hdfs", seed), tmp_path) for seed in range(20)), Counter())
    assert counts["True True"] > 20, counts
    assert counts["False False"] > 100, counts

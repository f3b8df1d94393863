"""Ranger's own engine on documents for Hive, Kafka and HDFS: never more than the kernel allows."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from lakewarden.engines.ranger_service import ANY, Level
from lakewarden.http.engine_access import vouched
from lakewarden.kernel.entity import Entity
from lakewarden.service.ranger.definition import named
from lakewarden.service.read_limits import column_mask, row_filters
from lakewarden.testing.world_draft import NOW
from tests.http.ranger.judge import judged, without_schedules
from tests.http.ranger.service_worlds import FOLDERS, ServiceWorld, world_of
from tests.http.ranger.test_judged import COLUMNS
from tests.http.ranger.typed_masks import said, shown

SEEDS = {"hive": 1, "kafka": 1, "hdfs": 1}


@dataclass(frozen=True)
class Question:
    """The plugin's request, and its decisive entities and acts of the engine."""

    user: str
    access: str
    resource: dict[str, str]
    level: Level
    acts: tuple[str, ...]
    within: tuple[str, ...]
    entities: tuple[Entity, ...]

    def request(self) -> dict[str, Any]:
        return {"user": self.user, "groups": [], "roles": [], "access": self.access,
                "resource": self.resource}  # fmt: skip

    def allowed(self, world: ServiceWorld) -> bool:
        """The kernel's decision; for files with several entities, of all; for unknown names, no."""
        if self.within:  # creation is checked on the container
            above = [(one, world.state.system.spelling.parent(one)) for one in self.entities]
            return bool(above) and all(
                world.sees(self.user, self.level, one)
                and all(world.allows(self.user, act, parent) for act in self.within)
                for one, parent in above
            )
        if not self.acts:
            return False
        if not self.level.part:
            return all(world.allows(self.user, act, None) for act in self.acts)
        return bool(self.entities) and all(
            world.opens(self.user, self.level, self.acts, one) for one in self.entities
        )


def questions(world: ServiceWorld) -> Iterator[Question]:
    """Every access on stored entities, on unknown names, and on names outside every catalog."""
    for user in world.users():
        for level in world.service.levels.values():
            if level.hidden:
                continue
            asked = {
                name: (access.opens.get(level.name, ()), access.within.get(level.name, ()))
                for name, access in world.service.accesses.items()
            }
            asked |= {ANY: (level.any, ())} if level.part and not level.located else {}
            for access, (acts, within) in asked.items():
                for resource, entities in resources(world, level):
                    yield Question(user, access, resource, level, acts, within, entities)


def resources(
    world: ServiceWorld, level: Level
) -> Iterator[tuple[dict[str, str], tuple[Entity, ...]]]:
    """The plugin's names on a level, each with its entities."""
    names = named(world.service, level)
    if not level.part:
        yield {names[0]: "x"}, ()
    elif level.located:
        for folder in sorted({*FOLDERS, *world.folders, "/data/a/b/of_a_table"}):
            for path in (folder.rstrip("/") or "/", f"{folder.rstrip('/')}/more", f"{folder}x"):
                entities = _innermost(world, path)
                if level is _level(world, entities, level):
                    yield {names[0]: path}, entities
    else:
        types = {"schema": ("schema",), "table": ("table", "view")}.get(level.part, (level.part,))
        found: dict[tuple[str, ...], tuple[Entity, ...]] = {}
        for parts, entity in world.stored.items():
            if entity.type in types:
                key = _visible(world, level, parts)
                found[key] = (*found.get(key, ()), entity)
        for key in {(*key[:-1], "absent") for key in found}:
            found.setdefault(key, ())
        for key, entities in sorted(found.items()):
            resource = dict(zip(names, key, strict=False))
            yield {**resource, **dict.fromkeys(level.rest, "some_column")}, entities


def _level(world: ServiceWorld, entities: tuple[Entity, ...], level: Level) -> Level:
    """The level of the entities at a path: one request covers all of them."""
    located = [one for one in world.service.levels.values() if one.located]
    types = {one.type for one in entities}
    return next((one for one in located if types == {one.part}), located[0])


def _visible(world: ServiceWorld, level: Level, path: tuple[str, ...]) -> tuple[str, ...]:
    """The parts of a name that policies contain."""
    shown = [not one.hidden for one in world.service.path(level)]
    return tuple(part for part, is_shown in zip(path[1:], shown, strict=True) if is_shown)


def _innermost(world: ServiceWorld, path: str) -> tuple[Entity, ...]:
    """The filesets that contain a path; of several, the longest one."""
    at = [one for one in world.folders if one in ("/", path) or path.startswith(one + "/")]
    return world.folders[max(at, key=len)] if at else ()


def check(type: str, seed: int, folder: Path) -> Counter[str]:
    limits = 3 if type == "hdfs" else 0  # files have all rows, so limits decide there
    return check_of(world_of(type, seed, limits), seed, folder)


def check_of(world: ServiceWorld, seed: int, folder: Path) -> Counter[str]:
    """The engine's answers on the world's documents here, compared with the kernel's."""
    type = world.service.type
    asked = list(questions(world))
    policies = without_schedules(world.made.policies)
    answers = judged(policies, world.made.roles, [one.request() for one in asked], folder)
    left_out = {one.entity for one in world.made.residues} - {""}
    people = {one.principal.partition(":")[2] for one in world.made.residues} - {""}
    accesses = world.service.accesses
    withheld = {one.access for one in world.made.residues if one.access in accesses}
    withheld -= {name for name, access in accesses.items() if access.left}
    counts: Counter[str] = Counter()
    for question, answer in zip(asked, answers, strict=True):
        allowed = question.allowed(world)
        counts[f"{allowed} {answer['allowed']}"] += 1
        if answer["allowed"]:
            assert allowed, (type, seed, question, answer)
        elif allowed:
            named_in = {
                f"{above.type}:{above.name}"
                for one in question.entities
                for above in _with_containers(world, one)
            }
            is_withheld = question.access in withheld
            if question.access == ANY:
                is_withheld = bool(question.level.unseen)
            is_residue = named_in & left_out or is_withheld
            # Policies name only stored users.
            is_unknown = question.user in people or question.user == "nobody-of-that-name"
            assert is_residue or is_unknown, (type, seed, question, answer)
            counts[f"residue {question.access}"] += 1
    return counts


def check_limits(seed: int, folder: Path) -> Counter[str]:
    """Users who may read a table in Hive's plugin are bound by the realm's filters and masks."""
    world = world_of("hive", seed, limits=8)
    level = world.service.levels["table"]
    tables = [(path, one) for path, one in sorted(world.stored.items())
              if one.type in ("table", "view")]  # fmt: skip
    asked = list(itertools.product(world.users(), tables, COLUMNS))
    requests = []
    for user, (path, _), column in asked:
        where = dict(zip(named(world.service, level), path[2:], strict=False))
        requests += [
            {"user": user, "groups": [], "roles": [], "access": "select", "resource": resource}
            for resource in (where, {**where, "column": column})
        ]
    policies = without_schedules(world.made.policies)
    for policy in policies["policies"]:
        if policy["policyType"] != 0:  # masks and filters name no wildcards
            assert "*" not in str(policy["resources"]), policy
    answers = list(judged(policies, world.made.roles, requests, folder))
    counts: Counter[str] = Counter()
    pairs = zip(asked, answers[::2], answers[1::2], strict=True)
    for (user, (_, table), column), of_table, of_column in pairs:
        counts[f"read {of_column['allowed']}"] += 1
        if not of_column["allowed"]:
            continue
        filters, is_masked, value = _bound(world, user, table, column)
        asked_for = (seed, user, table, column, of_table, of_column)
        if filters:
            hides = any("{" in sql for sql in filters)
            expected = "FALSE" if hides else " AND ".join(f"({sql})" for sql in filters)
            assert of_table["filter"] == expected, asked_for
        assert ("filter" in of_table) is bool(filters), asked_for
        assert ("mask" in of_column) is is_masked, asked_for
        if is_masked:
            assert said(of_column) == value, (*asked_for, value)
            counts["shown" if value != "NULL" else "hidden"] += 1
        counts[f"{bool(filters)} {is_masked}"] += 1
    return counts


def _bound(
    world: ServiceWorld, user: str, table: Entity, column: str
) -> tuple[list[str], bool, str]:
    """The realm's filters, whether the column has a mask, and the value shown then."""
    asking = vouched(world.state, user, (), NOW)
    masked = [Entity("column", f"{table.name}.{column}")]
    if table.type == "view":  # where a column cannot be named, it has the view's masks
        masked.append(table)
    asked = [replace(asking, target=one) for one in masked]
    is_masked = any(column_mask(world.state, [one], "hive", column, "string") for one in asked)
    value = shown(world.state, world.service, asked, table, column) if is_masked else ""
    return row_filters(world.state, replace(asking, target=table), "hive"), is_masked, value


def _with_containers(world: ServiceWorld, entity: Entity) -> Iterator[Entity]:
    at: Entity | None = entity
    while at is not None:
        yield at
        at = world.state.system.spelling.parent(at)


@pytest.mark.parametrize("type", SEEDS)
def test_a_small_world_is_judged_as_the_kernel_does(type: str, tmp_path: Path) -> None:
    counts = check(type, SEEDS[type], tmp_path)
    assert counts["True True"] > 10, counts
    assert counts["False False"] > 10, counts


def test_limits_bind_by_ranger_whom_they_bind_in_the_realm(tmp_path: Path) -> None:
    counts = check_limits(2, tmp_path)
    assert {"False True", "True False", "False False", "shown"} <= {*counts}, counts


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(400, 430))
def test_random_limits_bind_as_in_the_realm(tmp_path: Path, seed: int) -> None:
    check_limits(seed, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(300, 330))
@pytest.mark.parametrize("type", SEEDS)
def test_random_worlds_are_never_given_more(type: str, tmp_path: Path, seed: int) -> None:
    check(type, seed, tmp_path)

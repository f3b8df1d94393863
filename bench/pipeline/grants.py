"""The world of grants, under Gravitino's model: a tree of objects, owners, roles, denials.

Three metalakes of very different size hold catalogs of tables and views, of filesets and of topics.
Some catalogs have many schemas, and some schemas very many tables. `bench.pipeline.granting`
generates the grants of roles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa

from bench.pipeline.estate import Drawn, Size, World
from bench.pipeline.granting import Granting
from bench.pipeline.people import Cells, People
from bench.pipeline.rows import (
    Ints,
    Rows,
    Texts,
    chunks,
    either,
    joined,
    numbered,
    positions,
    skewed,
    taken,
    write_few,
)
from bench.pipeline.tree import LAKES, Tree
from lakewarden.kernel.principal import GROUP, IMPLIED, USER, members_of

USERS = (1.0, 0.3, 0.1)
"""Shares of the users that are members of each metalake; always the first users."""

OWNED = {"metalake": 1.0, "catalog": 1.0, "role": 1.0, "schema": 0.5}
"""Shares of the containers and roles that have an owner."""

OWNED_BY_GROUP = 0.15


def user_name(number: int) -> str:
    """The name of a user."""
    return f"u{number:05}"


def group_name(number: int) -> str:
    """The name of a group."""
    return f"g{number:04}"


@dataclass
class _Writing:
    """The two tables that receive all entities, in order of types and names."""

    entities: Rows
    owners: Rows
    size: Size
    draw: np.random.Generator

    def add(self, type: str, names: Texts, above: str | None = None, parents: Texts = None) -> None:
        """Entities with their parents, and the owners of some of them."""
        self.entities.add(type, names, above, parents)
        share = OWNED.get(type, self.size.owned if above == "schema" else 0.0)
        owned = np.flatnonzero(self.draw.random(len(names)) < share)
        if len(owned):
            by_group = self.draw.random(len(owned)) < OWNED_BY_GROUP
            users = numbered("u", skewed(self.draw, len(owned), self.size.users), 5)
            groups = numbered("g", skewed(self.draw, len(owned), self.size.groups), 4)
            kinds = taken(pa.array([USER, GROUP]), by_group.astype(np.int64))
            self.owners.add(type, taken(names, owned), kinds, either(by_group, groups, users), "")

    def add_objects(self, type: str, tree: Tree) -> None:
        """All objects of a type."""
        numbers = tree.of_type(type)
        for part in chunks(len(numbers)):
            names, parents = tree.names(type, numbers[part])
            self.add(type, names, "schema", parents)

    def add_columns(self, tree: Tree) -> None:
        """The columns of all tables."""
        tables = tree.of_type("table")
        for part in chunks(len(tables), self.size.columns):
            names, parents = tree.columns(tables[part], self.size.columns)
            self.entities.add("column", names, "table", parents)

    def add_people(self, type: str, mark: str, counts: Ints, width: int) -> None:
        """The entities of users or groups; each metalake has the first `counts` of them."""
        lakes, numbers = positions(counts)
        if len(numbers):
            parents = numbered("lake", lakes, 1)
            names = joined(parents, numbered(f":{mark}", numbers, width))
            self.add(type, names, "metalake", parents)


def draw(folder: Path, size: Size, seed: int) -> Drawn:
    """Writes the tables of one such world."""
    tree = Tree.draw(size.entities, np.random.default_rng([seed, 1]), lopsided=size.lopsided)
    people = People.draw(size.users, size.groups, size.roles, Random(seed))
    if size.lopsided:
        people = people.with_everybody()
    granting = Granting.draw(tree, size.roles, size.statements, seed, size.columns)
    role = granting.role_name
    with Rows(folder, "entities") as entities, Rows(folder, "owners") as owners:
        writing = _Writing(entities, owners, size, np.random.default_rng([seed, 2]))
        _entities(writing, tree, granting)
    tables = {
        "entities": entities.content(),
        "owners": owners.content(),
        "principals": write_few(
            folder, "principals", list(people.principals(user_name, group_name, role))
        ),
        "memberships": write_few(
            folder,
            "memberships",
            [*people.memberships(user_name, group_name, role), *_members(size)],
        ),
    }
    return Drawn(tables, granting.found.values())


def _entities(writing: _Writing, tree: Tree, granting: Granting) -> None:
    """All entities, by type."""
    size = writing.size
    writing.add("catalog", tree.catalogs, "metalake", taken(tree.lakes, tree.lake_of))
    if size.columns:
        writing.add_columns(tree)
    writing.add_objects("fileset", tree)
    everywhere = np.full(len(LAKES), size.groups)
    writing.add_people("group", "g", everywhere, 4)
    writing.add("metalake", tree.lakes, None, None)
    lakes = numbered("lake", granting.lake_of_role, 1)
    roles = joined(lakes, numbered(":r", np.arange(size.roles), 5))
    writing.add("role", roles, "metalake", lakes)
    writing.add("schema", tree.schemas, "catalog", taken(tree.catalogs, tree.catalog_of))
    writing.add_objects("table", tree)
    writing.add_objects("topic", tree)
    writing.add_people("user", "u", np.array(_user_counts(size)), 5)
    writing.add_objects("view", tree)


def _user_counts(size: Size) -> list[int]:
    """The number of users of each metalake."""
    return [round(size.users * share) for share in USERS]


def _members(size: Size) -> Iterator[Cells]:
    """Users are members of the metalakes that they use."""
    for lake, count in enumerate(_user_counts(size)):
        of = members_of(f"lake{lake}")
        for number in range(count):
            yield USER, user_name(number), IMPLIED, of.name


GRANTS = World("grants", "gravitino", {"mode": "next"}, draw)

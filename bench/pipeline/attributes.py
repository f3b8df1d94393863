"""The world of attributes, under DataHub's model: datasets, and the entities that describe them.

Datasets of several platforms lie in schemas of databases. A schema's datasets mostly share a
domain; tags, glossary terms, owners and a tier differ by dataset. Domains lie in domains and terms
in nested nodes. `bench.pipeline.policies` generates the policies on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa

from bench.pipeline.estate import Drawn, Size, World
from bench.pipeline.people import People
from bench.pipeline.policies import (
    OWNERSHIPS,
    TIER,
    TIERS,
    Vocabulary,
    group_name,
    policies,
    role_name,
    user_name,
)
from bench.pipeline.rows import (
    Ints,
    Rows,
    Texts,
    chunks,
    joined,
    numbered,
    positions,
    skewed,
    spread,
    taken,
    words,
    write_few,
)
from lakewarden.kernel.principal import GROUP, USER

PLATFORMS = ("bigquery", "hive", "kafka", "postgres", "snowflake")
DATASETS_PER_SCHEMA = 200
SCHEMAS_PER_DATABASE = 25
SCHEMA_SKEW = 1.5
"""Standard deviation of the logarithm of the number of datasets in a schema."""

IN_DOMAIN, AT_HOME = 0.8, 0.7
"""Shares of the datasets that have a domain, and of these that have the domain of their schema."""

MOST = {"tag": 4, "term": 3, "owner": 2}
"""The most of each per dataset; every number up to it is equally likely."""

OWNED_BY_GROUP, TIERED = 0.3, 0.1


@dataclass(frozen=True, slots=True)
class Catalog:
    """Databases, schemas and datasets as numbers, counted over all platforms.

    Numbers are in the order of names. `first[s]` is the first dataset of schema s (one more entry
    closes the last); `home[s]` is the domain of most of its datasets.
    """

    platform_of: Ints
    database_of: Ints
    schema_of: Ints
    first: Ints
    width: int
    home: Ints
    prefixes: Texts
    vocabulary: Vocabulary

    @staticmethod
    def draw(entities: int, draw: np.random.Generator, random: Random) -> Catalog:
        """A catalog with this number of entities, including those that describe datasets."""
        schemas = max(10, entities // DATASETS_PER_SCHEMA)
        databases = max(len(PLATFORMS), schemas // SCHEMAS_PER_DATABASE)
        vocabulary = Vocabulary.draw(entities, databases, schemas, random)
        left = entities - vocabulary.count
        platform_of, _ = positions(spread(draw, databases, np.ones(len(PLATFORMS))))
        database_of, _ = positions(spread(draw, schemas, np.ones(databases)))
        sizes = spread(draw, left, np.exp(draw.normal(0, SCHEMA_SKEW, schemas)))
        platforms = taken(pa.array(PLATFORMS), platform_of)
        paths = joined(platforms, numbered(",d", np.arange(databases), 4))
        paths = joined(taken(paths, database_of), numbered(".s", np.arange(schemas), 6))
        return Catalog(
            platform_of=platform_of,
            database_of=database_of,
            schema_of=positions(sizes)[0],
            first=np.concatenate([[0], np.cumsum(sizes)]),
            width=len(str(int(sizes.max()))),
            home=skewed(draw, schemas, len(vocabulary.domains), 2.0),
            prefixes=joined("urn:li:dataset:(urn:li:dataPlatform:", paths, ".t"),
            vocabulary=vocabulary,
        )

    @property
    def datasets(self) -> int:
        """The number of datasets."""
        return len(self.schema_of)

    def names(self, part: slice) -> Texts:
        """The names of some consecutive datasets."""
        schemas = self.schema_of[part]
        numbers = np.arange(part.start, part.stop)
        within = numbered("", numbers - self.first[schemas], self.width)
        return joined(taken(self.prefixes, schemas), within, "_", words(numbers), ",PROD)")


def draw(folder: Path, size: Size, seed: int) -> Drawn:
    """Writes the tables of one such world."""
    random = Random(seed)
    catalog = Catalog.draw(size.entities, np.random.default_rng([seed, 1]), random)
    people = People.draw(size.users, size.groups, size.roles, random)
    names = (user_name, group_name, role_name)
    tables = {
        "principals": write_few(folder, "principals", list(people.principals(*names))),
        "memberships": write_few(folder, "memberships", list(people.memberships(*names))),
    }
    filling = _Filling(catalog, size, np.random.default_rng([seed, 2]))
    fillers = {
        "entities": filling.entities,
        "relations": filling.relations,
        "attributes": filling.attributes,
        "owners": filling.owners,
    }
    for table, fill in fillers.items():
        with Rows(folder, table) as rows:
            fill(rows)
        tables[table] = rows.content()
    return Drawn(tables, policies(catalog.vocabulary, size, random))


@dataclass(frozen=True, slots=True)
class _Filling:
    """Adds the rows of each table, in their order."""

    catalog: Catalog
    size: Size
    draw: np.random.Generator

    def entities(self, rows: Rows) -> None:
        """All entities, by type."""
        size, catalog, vocabulary = self.size, self.catalog, self.catalog.vocabulary
        databases, schemas = pa.array(vocabulary.databases), pa.array(vocabulary.schemas)
        rows.add("container", databases, None, None)
        rows.add("container", schemas, "container", taken(databases, catalog.database_of))
        rows.add("corpGroup", pa.array([group_name(n) for n in range(size.groups)]), None, None)
        rows.add("corpuser", pa.array([user_name(n) for n in range(size.users)]), None, None)
        rows.add("dataHubRole", pa.array([role_name(n) for n in range(size.roles)]), None, None)
        for part in chunks(catalog.datasets):
            parents = taken(schemas, catalog.schema_of[part])
            rows.add("dataset", catalog.names(part), "container", parents)
        for type, parent_type, placed in vocabulary.placed():
            names, parents = (pa.array(side, pa.string()) for side in zip(*placed, strict=True))
            above = [None if parent is None else parent_type for _, parent in placed]
            rows.add(type, names, pa.array(above, pa.string()), parents)

    def relations(self, rows: Rows) -> None:
        """Domains, then tags, then terms: by kind, and within it by dataset."""
        vocabulary = self.catalog.vocabulary
        self._domains(rows)
        self._described(rows, "tag", "tag", vocabulary.tags)
        self._described(rows, "term", "glossaryTerm", vocabulary.terms)

    def _domains(self, rows: Rows) -> None:
        catalog, draw = self.catalog, self.draw
        domains = pa.array(catalog.vocabulary.domains)
        for part in chunks(catalog.datasets):
            home = catalog.home[catalog.schema_of[part]]
            at_home = draw.random(len(home)) < AT_HOME
            chosen = np.where(at_home, home, draw.integers(0, len(domains), len(home)))
            some = np.flatnonzero(draw.random(len(home)) < IN_DOMAIN)
            names = taken(catalog.names(part), some)
            rows.add("domain", "dataset", names, "domain", taken(domains, chosen[some]))

    def _described(self, rows: Rows, kind: str, type: str, values: Sequence[str]) -> None:
        for part in chunks(self.catalog.datasets):
            shape = (part.stop - part.start, MOST[kind])
            drawn = skewed(self.draw, shape[0] * shape[1], len(values), 1.5).reshape(shape)
            of, number = self._kept(drawn, len(values))
            names = taken(self.catalog.names(part), of)
            rows.add(kind, "dataset", names, type, taken(pa.array(values), number))

    def attributes(self, rows: Rows) -> None:
        """The tiers."""
        for part in chunks(self.catalog.datasets):
            some = np.flatnonzero(self.draw.random(part.stop - part.start) < TIERED)
            if len(some):
                tiers = taken(pa.array(TIERS), self.draw.integers(0, len(TIERS), len(some)))
                rows.add("dataset", taken(self.catalog.names(part), some), TIER, tiers)

    def owners(self, rows: Rows) -> None:
        """Groups sort before users, and types of ownership among themselves."""
        size, draw = self.size, self.draw
        groups = [group_name(number) for number in range(size.groups)]
        owners = pa.array([*groups, *(user_name(number) for number in range(size.users))])
        kinds, types = pa.array([GROUP, USER]), pa.array(OWNERSHIPS)
        for part in chunks(self.catalog.datasets):
            shape = (part.stop - part.start, MOST["owner"])
            users = size.groups + skewed(draw, shape[0] * shape[1], size.users).reshape(shape)
            drawn = skewed(draw, shape[0] * shape[1], size.groups).reshape(shape)
            drawn = np.where(draw.random(shape) < OWNED_BY_GROUP, drawn, users)
            drawn = drawn * len(types) + draw.integers(0, len(types), shape)
            of, number = self._kept(drawn, len(owners) * len(types))
            chosen = number // len(types)
            rows.add(
                "dataset",
                taken(self.catalog.names(part), of),
                taken(kinds, (chosen >= size.groups).astype(np.int64)),
                taken(owners, chosen),
                taken(types, number % len(types)),
            )

    def _kept(self, drawn: Ints, limit: int) -> tuple[Ints, Ints]:
        """Keeps none, some or all numbers of each row (below `limit`): rows and numbers, sorted."""
        count, most = drawn.shape
        kept = np.arange(most) < self.draw.integers(0, most + 1, count)[:, None]
        keys = np.unique((np.arange(count)[:, None] * limit + drawn)[kept])
        return keys // limit, keys % limit


ATTRIBUTES = World("attributes", "datahub", {"bootstrap": "closed"}, draw)

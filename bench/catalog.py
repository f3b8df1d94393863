"""An attribute-rich estate under the declared DataHub model, drawn from a seed.

Datasets lie in containers and carry domains, tags, glossary terms and owners; policies combine
criteria on these. Hardly any two datasets lie in the same scopes. Workload W differs: there, a
million tables share hundreds of classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, OwnerRow, RelationRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Condition, Criterion, Effect, Owners, Statement, Where

SEED = 11
DOMAINS, TOP_DOMAINS = 100, 10
NODES, TERMS, TAGS = 30, 300, 500
DATABASES = 50
PLATFORMS = ("hive", "kafka", "snowflake", "postgres")
OWNERSHIPS = ("urn:li:ownershipType:technical", "urn:li:ownershipType:business", "")
PRIVILEGES = (
    "VIEW_ENTITY_PAGE",
    "EDIT_ENTITY",
    "EDIT_ENTITY_DOCS",
    "EDIT_ENTITY_TAGS",
    "EDIT_ENTITY_OWNERS",
    "EDIT_ENTITY_GLOSSARY_TERMS",
    "EDIT_LINEAGE",
    "EDIT_DOMAINS_PRIVILEGE",
)
OPERATIONS = ("entity.view", "docs.edit", "tags.edit", "owners.edit", "lineage.edit")


@dataclass(frozen=True, slots=True)
class Size:
    """The size of the estate."""

    datasets: int
    schemas: int
    policies: int
    users: int
    groups: int


RICH = Size(datasets=100_000, schemas=2_000, policies=2_000, users=2_000, groups=200)
MODEST = Size(datasets=100_000, schemas=2_000, policies=100, users=2_000, groups=200)
QUICK_RICH = Size(datasets=30_000, schemas=600, policies=600, users=500, groups=50)
QUICK_MODEST = Size(datasets=30_000, schemas=600, policies=100, users=500, groups=50)


class Catalog:
    """The estate as rows, and the questions about it."""

    def __init__(self, size: Size) -> None:
        random = Random(SEED)
        self.users = [Principal(USER, f"urn:li:corpuser:u{i:05d}") for i in range(size.users)]
        self.groups = [Principal(GROUP, f"urn:li:corpGroup:g{i:04d}") for i in range(size.groups)]
        self._things = _Things.of(size, random)
        self.facts = Facts(
            entities=list(self._entities(random)),
            relations=list(self._relations(random)),
            owners=list(self._owners(random)),
            principals=[*self.users, *self.groups],
            memberships=[
                MembershipRow(user, group)
                for user in self.users
                for group in random.sample(self.groups, 3)
            ],
            statements=[self.policy(f"policy{i:05d}", random) for i in range(size.policies)],
        )

    @property
    def datasets(self) -> Sequence[Entity]:
        """The datasets that the questions are about."""
        return self._things.datasets

    def questions(self, count: int) -> list[Request]:
        """Requests with evenly drawn users, operations and datasets."""
        random = Random(SEED + 1)
        return [
            Request(random.choice(self.users), random.choice(OPERATIONS), dataset)
            for dataset in random.choices(self.datasets, k=count)
        ]

    def _entities(self, random: Random) -> Iterator[EntityRow]:
        things = self._things
        for number, domain in enumerate(things.domains):
            parent = random.choice(things.domains[: min(number, DOMAINS // 2)] or [domain])
            yield EntityRow(domain, None if number < TOP_DOMAINS else parent)
        yield from (EntityRow(node) for node in things.nodes)
        yield from (EntityRow(term, random.choice(things.nodes)) for term in things.terms)
        yield from (EntityRow(tag) for tag in things.tags)
        yield from (EntityRow(database) for database in things.databases)
        for number, schema in enumerate(things.schemas):
            yield EntityRow(schema, things.databases[number % DATABASES])
        for dataset in things.datasets:
            yield EntityRow(dataset, random.choice(things.schemas))

    def _relations(self, random: Random) -> Iterator[RelationRow]:
        things = self._things
        for dataset in things.datasets:
            if random.random() < 0.8:
                yield RelationRow("domain", dataset, random.choice(things.domains))
            for tag in random.sample(things.tags, random.randrange(5)):
                yield RelationRow("tag", dataset, tag)
            for term in random.sample(things.terms, random.randrange(4)):
                yield RelationRow("term", dataset, term)

    def _owners(self, random: Random) -> Iterator[OwnerRow]:
        for dataset in self._things.datasets:
            for _ in range(random.randrange(3)):
                owner = random.choice(self.groups if random.random() < 0.3 else self.users)
                yield OwnerRow(dataset, owner, random.choice(OWNERSHIPS))

    def policy(self, id: str, random: Random) -> Statement:
        """A policy: one to five criteria, for groups, users or owners."""
        kind = random.random()
        who: Sequence[Principal] = ()
        if kind < 0.6:
            who = random.sample(self.groups, random.randint(1, 3))
        elif kind < 0.85:
            who = random.sample(self.users, random.randint(1, 4))
        types = None if random.random() < 0.5 else frozenset({OWNERSHIPS[0]})
        return Statement(
            id=id,
            effect=Effect.ALLOW,
            privileges=frozenset(random.sample(PRIVILEGES, random.randint(1, 3))),
            scope=Where(tuple(self._criteria(random))),
            principals=frozenset(who),
            owners=None if who else Owners(types),
        )

    def _criteria(self, random: Random) -> Iterator[Criterion]:
        things = self._things
        values = {
            "DOMAIN": things.domains,
            "TAG": things.tags,
            "GLOSSARY": [*things.terms, *things.nodes],
            "CONTAINER": [*things.databases, *things.schemas],
        }
        for number, name in enumerate(random.sample(sorted(values), random.randint(1, 3))):
            chosen = random.sample(values[name], random.randint(1, 6))
            without = number > 0 and random.random() < 0.2
            condition = Condition.NOT_EQUALS if without else Condition.EQUALS
            yield Criterion(name, condition, tuple(entity.name for entity in chosen))
        if random.random() < 0.3:
            yield Criterion("TYPE", Condition.EQUALS, ("dataset",))
        if random.random() < 0.05:
            prefix = f"urn:li:dataset:(urn:li:dataPlatform:{random.choice(PLATFORMS)},"
            yield Criterion("URN", Condition.STARTS_WITH, (prefix,))


@dataclass(frozen=True, slots=True)
class _Things:
    """All entities, by type."""

    domains: list[Entity]
    nodes: list[Entity]
    terms: list[Entity]
    tags: list[Entity]
    databases: list[Entity]
    schemas: list[Entity]
    datasets: list[Entity]

    @staticmethod
    def of(size: Size, random: Random) -> _Things:
        def some(type: str, count: int, mark: str = "") -> list[Entity]:
            return [Entity(type, f"urn:li:{type}:{mark}{i:04d}") for i in range(count)]

        return _Things(
            domains=some("domain", DOMAINS),
            nodes=some("glossaryNode", NODES),
            terms=some("glossaryTerm", TERMS),
            tags=some("tag", TAGS),
            databases=some("container", DATABASES, "db"),
            schemas=some("container", size.schemas, "schema"),
            datasets=[_dataset(i, random) for i in range(size.datasets)],
        )


def _dataset(number: int, random: Random) -> Entity:
    platform = f"urn:li:dataPlatform:{random.choice(PLATFORMS)}"
    return Entity("dataset", f"urn:li:dataset:({platform},t{number:06d},PROD)")

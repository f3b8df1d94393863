"""The entities that describe datasets in the world of attributes, and the policies on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from bench.catalog import PRIVILEGES
from bench.pipeline.estate import Size
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.statement import Condition, Criterion, Effect, Owners, Statement, Where

OWNERSHIPS = ("", "urn:li:ownershipType:business", "urn:li:ownershipType:technical")
"""Types of ownership in their order; the empty one means no type."""

TIER = "urn:li:structuredProperty:tier"
TIERS = ("bronze", "gold", "silver")

Placed = Sequence[tuple[str, str | None]]
"""Names, and the names of their parents."""


def user_name(number: int) -> str:
    """The name of a user."""
    return f"urn:li:corpuser:u{number:05}"


def group_name(number: int) -> str:
    """The name of a group."""
    return f"urn:li:corpGroup:g{number:04}"


def role_name(number: int) -> str:
    """The name of a role."""
    return f"urn:li:dataHubRole:r{number:05}"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Containers and the entities that describe datasets, by name; with their parents, if any."""

    databases: tuple[str, ...]
    schemas: tuple[str, ...]
    domains: tuple[str, ...]
    nodes: tuple[str, ...]
    terms: tuple[str, ...]
    tags: tuple[str, ...]
    parents: dict[str, str]

    @staticmethod
    def draw(entities: int, databases: int, schemas: int, random: Random) -> Vocabulary:
        """A vocabulary in proportion to the estate, up to the size that a large one needs."""
        domains = _called("domain", "m", min(300, entities // 20))
        nodes = _called("glossaryNode", "n", min(100, entities // 50))
        terms = _called("glossaryTerm", "w", min(1_000, entities // 20))
        parents = {term: random.choice(nodes) for term in terms}
        for names in (domains, nodes):
            for number, name in enumerate(names[max(1, len(names) // 20) :]):
                parents[name] = names[random.randrange(number // 3 + 1)]
        return Vocabulary(
            databases=_called("container", "d", databases),
            schemas=_called("container", "s", schemas),
            domains=domains,
            nodes=nodes,
            terms=terms,
            tags=_called("tag", "x", min(1_000, entities // 20)),
            parents=parents,
        )

    @property
    def count(self) -> int:
        """The number of these entities."""
        containers = len(self.databases) + len(self.schemas)
        return containers + sum(map(len, (self.domains, self.nodes, self.terms, self.tags)))

    def placed(self) -> Iterator[tuple[str, str, Placed]]:
        """Type, type of parent, and names with their parents, by type."""
        sides = (
            ("domain", "domain", self.domains),
            ("glossaryNode", "glossaryNode", self.nodes),
            ("glossaryTerm", "glossaryNode", self.terms),
            ("tag", "tag", self.tags),
        )
        for type, parent_type, names in sides:
            yield type, parent_type, [(name, self.parents.get(name)) for name in names]


def _called(type: str, mark: str, count: int) -> tuple[str, ...]:
    return tuple(f"urn:li:{type}:{mark}{number:06}" for number in range(count))


def policies(vocabulary: Vocabulary, size: Size, random: Random) -> Iterator[Statement]:
    """The policies of a world, each for groups, roles, users, or owners."""
    drawing = _Policies(vocabulary, size, random)
    for number in range(size.statements):
        yield drawing.policy(f"urn:li:dataHubPolicy:p{number:05}")


@dataclass(frozen=True, slots=True)
class _Policies:
    vocabulary: Vocabulary
    size: Size
    random: Random

    def policy(self, id: str) -> Statement:
        random = self.random
        principals = frozenset(self._principals())
        types = None if random.random() < 0.5 else frozenset({random.choice(OWNERSHIPS[1:])})
        privileges = frozenset(random.sample(PRIVILEGES, random.randint(1, 3)))
        return Statement(
            id=id,
            effect=Effect.ALLOW,
            privileges=privileges,
            scope=Where(tuple(self._criteria())),
            principals=principals,
            owners=None if principals else Owners(types),
            constraint=self._constraint() if "EDIT_ENTITY_TAGS" in privileges else None,
        )

    def _principals(self) -> Iterator[Principal]:
        """The principals of the policy; without any, it is for the owners."""
        size, kind = self.size, self.random.random()
        if kind < 0.45:
            for number in self._some(size.groups, 3):
                yield Principal(GROUP, group_name(number))
        elif kind < 0.65:
            for number in self._some(size.roles, 2):
                yield Principal(ROLE, role_name(number))
        elif kind < 0.8:
            for number in self._some(size.users, 4):
                yield Principal(USER, user_name(number))

    def _some(self, limit: int, most: int) -> list[int]:
        return self.random.sample(range(limit), self.random.randint(1, min(most, limit)))

    def _criteria(self) -> Iterator[Criterion]:
        """One to three criteria that must all hold; the first one is never negated."""
        values = self._values()
        for number, name in enumerate(
            self.random.sample(sorted(values), self.random.randint(1, 3))
        ):
            without = number > 0 and self.random.random() < 0.25
            condition = Condition.NOT_EQUALS if without else Condition.EQUALS
            known = values[name]
            most = min(6, len(known))
            chosen = self.random.sample(known, self.random.randint(1, most))
            yield Criterion(name, condition, tuple(sorted(chosen)))
        if self.random.random() < 0.2:
            yield Criterion("TYPE", Condition.EQUALS, ("dataset",))
        if self.random.random() < 0.05:
            tier = f"{TIER}={self.random.choice(TIERS)}"
            yield Criterion("STRUCTURED_PROPERTY", Condition.EQUALS, (tier,))
        if self.random.random() < 0.1:
            yield Criterion("URN", Condition.STARTS_WITH, (self._prefix(),))

    def _values(self) -> dict[str, Sequence[str]]:
        words = self.vocabulary
        return {
            "CONTAINER": (*words.databases, *words.schemas),
            "DOMAIN": words.domains,
            "GLOSSARY": (*words.nodes, *words.terms),
            "TAG": words.tags,
        }

    def _prefix(self) -> str:
        """The name prefix of a platform, or of one of its databases."""
        platform = self.random.choice(("hive", "kafka", "snowflake"))
        within = self.random.choice(("", "d0", "d00"))
        return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{within}"

    def _constraint(self) -> tuple[Criterion, ...] | None:
        """For some policies about tags: which tags."""
        if self.random.random() < 0.7:
            return None
        tags = self.random.sample(self.vocabulary.tags, min(5, len(self.vocabulary.tags)))
        return (Criterion("URN", Condition.EQUALS, tuple(sorted(tags))),)

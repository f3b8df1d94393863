"""Random realms as Ranger's services see them: one catalog, or one file system."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lakewarden.config.engines import TrinoRealm
from lakewarden.engines import mapping, ranger_service
from lakewarden.engines.mapping import EngineMapping
from lakewarden.engines.ranger_service import FILE_SYSTEM, Level, RangerService
from lakewarden.http.engine_access import EngineAccess, vouched
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, OwnerRow
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement import Effect, Matching, On, Statement
from lakewarden.service.ranger.document import Documents, documents
from lakewarden.service.ranger.file_places import Files
from lakewarden.service.ranger.places import Naming
from lakewarden.service.realm import Realm
from lakewarden.service.residue import Residues
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import load_system
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, make
from tests.http.ranger.test_judged import COLUMNS, limit
from tests.http.ranger.typed_masks import carried_types, with_typed_masks

SIZE = Size(entities=45, users=8, groups=4, roles=4, statements=30, goals=12)
MEMBERS = {"hive": ("table", "view", "function"), "kafka": ("topic",), "hdfs": ("fileset", "table")}
"""The types of the members that fill the schemas of each service."""

PRIVILEGES = {
    "hive": ("SELECT_TABLE", "SELECT_VIEW", "MODIFY_TABLE", "INSERT_ROWS", "EXECUTE_FUNCTION"),
    "kafka": ("CONSUME_TOPIC", "PRODUCE_TOPIC"),
    "hdfs": ("READ_FILESET", "WRITE_FILESET", "SELECT_TABLE"),
}
FOLDERS = ("/data", "/data/a", "/data/a/b", "/data/ab", "/lake/x", "/lake/x/", "/lake/./y")
WAREHOUSE = ("/wh/s.db/a", "/wh/s.db/b", "/wh/s.db", "/wh/t.db/c", "/wh/t.db/d", "/wh/u/e")
FILE_SYSTEM_ADDRESS = "hdfs://nn:8020"
ODD = ("s3a://bucket/data", "/data/*", "hdfs://other:8020/data", "hdfs://nn/lake/z", "/", "/d {a}")


@dataclass(frozen=True)
class ServiceWorld:
    """A random realm, one of its services, and the documents of that service.

    `stored` are the paths of the entities that the service could name, by type, in the realm's
    names. `folders` are the drawn paths of filesets and tables, `located` their addresses.
    """

    service: RangerService
    mapping: EngineMapping
    state: RealmState
    naming: Naming
    made: Documents
    stored: Mapping[tuple[str, ...], Entity]
    folders: Mapping[str, tuple[Entity, ...]]
    located: Sequence[tuple[Entity, Sequence[str]]] = ()

    def users(self) -> list[str]:
        memberships = self.state.matrix.snapshot.coded.memberships
        stored = (memberships.principals[id] for id in sorted(memberships.stored))
        people = [one for one in stored if one.kind == USER]
        return [*map(self.state.system.identities.person, people), "nobody-of-that-name"]

    def allows(self, user: str, act: str, entity: Entity | None) -> bool:
        """The kernel's decision about one entity."""
        access = EngineAccess(
            self.state, self.mapping, TrinoRealm(), vouched(self.state, user, (), NOW)
        )
        declared = self.service.engine.acts[act]
        if entity is None:
            operation = self.state.matrix.operation(self.mapping.operation(act))
            if "metalake" in operation.rules:
                entity = Entity("metalake", self.naming.metalake)
            else:
                return access.decides(declared, {})
        if declared.whole and access.is_limited(entity):
            return False
        return access.decides_on(declared, entity)

    def has_rule(self, act: str, type: str) -> bool:
        return type in self.state.matrix.operation(self.mapping.operation(act)).rules

    def opens(self, user: str, level: Level, acts: tuple[str, ...], entity: Entity) -> bool:
        """Whether all acts with a rule for the entity are allowed, and it is visible.

        Entities in another metalake are outside the service.
        """
        if self.state.system.spelling.parts(entity)[0] != self.naming.metalake:
            return False
        asked = [act for act in acts if self.has_rule(act, entity.type)]
        return (
            bool(asked)
            and self.sees(user, level, entity)
            and all(self.allows(user, act, entity) for act in asked)
        )

    def sees(self, user: str, level: Level, entity: Entity) -> bool:
        """Whether the entity and its containers are visible."""
        path, at = self.service.path(level), entity
        for one in reversed(path):
            acts = [act for act in one.any if self.has_rule(act, at.type)]
            if not all(self.allows(user, act, at) for act in acts):
                return False
            parent = self.state.system.spelling.parent(at)
            assert parent is not None
            at = parent
        return True


def world_of(type: str, seed: int, limits: int = 0) -> ServiceWorld:
    """The world of the seed, with one service of the type, and `limits` filters and masks."""
    service, settings = ranger_service.load(type), {type: "on"}
    system, rng = load_system("gravitino", settings), random.Random(f"{type} {seed}")
    facts = make(system, seed, SIZE).facts
    facts = _filled(facts, rng, type)
    if limits:
        facts = with_typed_masks(_limited(facts, rng, limits), rng)
    matrix = Matrix(compile(facts, system.model, system.spelling, now=NOW))
    state = RealmState(Realm("lake", "gravitino", settings=settings), system, matrix, People())
    tree = matrix.snapshot.coded.tree
    catalog = max(
        (tree.entity(id) for id in tree.stored if tree.entity(id).type == "catalog"),
        key=lambda one: len(tree.subtree(tree.find(one) or 0)),
    )
    metalake, own = system.spelling.parts(catalog)
    stored = {
        tuple(system.spelling.parts(one)): one
        for one in (tree.entity(id) for id in tree.stored)
        if one.type in ("schema", *MEMBERS[type])
        and system.spelling.parts(one)[0] == metalake
        and (service.governs == FILE_SYSTEM or system.spelling.parts(one)[1] == own)
    }
    residues = Residues()
    naming = Naming("svc", metalake, {}, own)
    folders, located = dict[str, tuple[Entity, ...]](), list[Located]()
    if type == "hdfs":
        folders, located = _placed(rng, state, stored)
        files = Files(tree, located, FILE_SYSTEM_ADDRESS, residues)
        naming = Naming("svc", metalake, {}, files=files)
    engine = mapping.of_model("gravitino")[type]
    made = documents(state, engine, service, naming, NOW, residues, carried_types(state))
    return ServiceWorld(service, engine, state, naming, made, stored, folders, located)


def _filled(facts: Facts, rng: random.Random, type: str) -> Facts:
    """Adds members to every schema, grants on them, and users who can access these."""
    metalakes = [row.entity for row in facts.entities if row.entity.type == "metalake"]
    entities = list(facts.entities)
    if not metalakes:
        metalakes = [Entity("metalake", "lk")]
        entities.append(EntityRow(metalakes[0]))
    lake = metalakes[0]
    catalog = Entity("catalog", f"{lake.name}:own")
    schemas = [Entity("schema", f"{catalog.name}.{name}") for name in ("s", "t")]
    entities += [EntityRow(catalog, lake), *(EntityRow(one, catalog) for one in schemas)]
    members = [
        EntityRow(Entity(kind, f"{schema.name}.{name}"), schema)
        for schema in schemas
        for kind in MEMBERS[type]
        for name in rng.sample([f"{kind[0]}{n}" for n in range(4)] + ["Big", "o*"], 4)
    ]
    return replace(
        facts,
        entities=[*entities, *members],
        owners=[*facts.owners, OwnerRow(schemas[0], rng.choice(sorted(facts.principals)))],
        statements=[*facts.statements, *_grants(facts, rng, type, catalog, schemas, members)],
        memberships=[
            *facts.memberships,
            *(MembershipRow(one, members_of(lake.name)) for one in facts.principals
              if one.kind == USER),
        ],
    )  # fmt: skip


def _limited(facts: Facts, rng: random.Random, limits: int) -> Facts:
    """Adds columns to some tables, and filters and masks on both, also by wildcards."""
    tables = [row.entity for row in facts.entities if row.entity.type == "table"]
    columns = [
        EntityRow(Entity("column", f"{table.name}.{name}"), table)
        for table in rng.sample(tables, len(tables) // 2)
        for name in rng.sample((*COLUMNS[:3], "O'dd"), 2)
    ]
    statements = [limit(facts, random.Random(f"{rng.random()}"), n) for n in range(limits)]
    for number in range(2):
        *above, _ = rng.choice(tables).name.replace(":", ".").split(".")
        scope = Matching("column", (*above, "*", rng.choice(("*", "i*", "?a*"))))
        to = frozenset(rng.sample(sorted(facts.principals), 2))
        statements.append(
            Statement(f"wild-{number}", Effect.MASK, frozenset(), scope, to, expression="null")
        )
    return replace(
        facts,
        entities=[*facts.entities, *columns],
        statements=[*facts.statements, *statements],
    )


def _grants(
    facts: Facts,
    rng: random.Random,
    type: str,
    catalog: Entity,
    schemas: list[Entity],
    members: list[EntityRow],
) -> Iterator[Statement]:
    people = sorted(facts.principals)
    using = frozenset({"USE_CATALOG", "USE_SCHEMA"})
    reading = frozenset(PRIVILEGES[type][: 3 if type == "hdfs" else 2])
    yield Statement("reading", Effect.ALLOW, reading, On(catalog), frozenset(people[::3]))
    yield Statement("using", Effect.ALLOW, using, On(catalog), frozenset(people))
    for number in range(20):
        anchor = rng.choice([catalog, *schemas, *(row.entity for row in members)])
        effect = Effect.ALLOW if rng.random() < 0.8 else Effect.DENY
        privileges = frozenset({rng.choice(PRIVILEGES[type])})
        to = frozenset(rng.sample(people, rng.choice((1, 2, 3))))
        start, end = rng.choice(((None, None), (None, None), (NOW + 50, None), (None, NOW + 90)))
        yield Statement(f"more-{number}", effect, privileges, On(anchor), to,
                        valid_from=start, valid_until=end)  # fmt: skip


Located = tuple[Entity, Sequence[str]]


def _placed(
    rng: random.Random, state: RealmState, stored: Mapping[tuple[str, ...], Entity]
) -> tuple[dict[str, tuple[Entity, ...]], list[Located]]:
    """Locations of filesets, some of them nested, of tables, and one outside all of them."""
    filesets = sorted(one for one in stored.values() if one.type == "fileset")
    drawn: list[Located] = [
        (one, rng.sample([*FOLDERS, *FOLDERS, *ODD], rng.choice((1, 1, 2)))) for one in filesets
    ]
    warehouse = [*WAREHOUSE, *WAREHOUSE, *FOLDERS, *ODD]
    own = sorted(one for one in stored.values() if one.type == "table")
    drawn += [(table, rng.sample(warehouse, 1)) for table in own]
    tree = state.matrix.snapshot.coded.tree
    tables = sorted(tree.entity(id) for id in tree.stored if tree.entity(id).type == "table")
    beside = [one for one in tables if one not in stored.values()]
    if beside and rng.random() < 0.3:
        drawn.append((beside[0], ["/data/a/b/of_a_table"]))
    folders: dict[str, tuple[Entity, ...]] = {}
    for entity, addresses in drawn:
        for one in addresses:
            path = {"hdfs://nn/lake/z": "/lake/z", "/lake/./y": "/lake/y"}.get(one, one)
            if "://" not in path:
                path = path.rstrip("/") or "/"
                folders[path] = (*folders.get(path, ()), entity)
    return folders, drawn

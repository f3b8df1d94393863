"""Ranger's own engine on the documents of random worlds: it never allows more than the kernel."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from lakewarden.config.engines import TrinoRealm
from lakewarden.engines import mapping, ranger_service
from lakewarden.http.engine_access import EngineAccess, vouched
from lakewarden.http.opa.evaluator import Evaluator
from lakewarden.http.opa.question import read
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, members_of
from lakewarden.kernel.relations import Facts, MembershipRow
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement import Effect, On, Scope, Statement
from lakewarden.service.ranger.document import Documents, documents
from lakewarden.service.ranger.places import Naming
from lakewarden.service.read_limits import column_mask, row_filters
from lakewarden.service.realm import Realm
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import load_system
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, make
from tests.http.ranger.judge import REQUESTS, judged, without_schedules
from tests.http.ranger.typed_masks import carried_types, said, shown, with_typed_masks

SETTINGS = {"trino": "on"}
SERVICE = ranger_service.load("trino")
MAPPING = mapping.of_model("gravitino")["trino"]
KINDS = {"catalog": 1, "schema": 2, "table": 3, "view": 3, "function": 3}
PARTS = ("catalogName", "schemaName", "tableName")
COLUMNS = ("iban", "mail", "region", "note", "absent")
SIZE = Size(entities=45, users=8, groups=4, roles=4, statements=30, goals=12)


@dataclass(frozen=True)
class Realms:
    """A random realm, the contents of one of its metalakes, and its documents."""

    state: RealmState
    metalake: str
    paths: frozenset[tuple[str, tuple[str, ...]]]
    made: Documents


def realm_of(
    seed: int, limits: int = 0, changed: Callable[[Facts, int], Facts] = lambda facts, _: facts
) -> Realms:
    """The realm of the seed, with `limits` filters and masks, and with changes."""
    system = load_system("gravitino", SETTINGS)
    facts = make(system, seed, SIZE).facts
    more = [limit(facts, random.Random(f"{seed} {n}"), n) for n in range(limits)]
    facts = replace(facts, statements=[*facts.statements, *more])
    if limits:
        facts = replace(
            facts,
            statements=[*facts.statements, *reading(facts)],
            memberships=[*facts.memberships, *belonging(facts)],
        )
        facts = with_typed_masks(facts, random.Random(f"masks {seed}"))
    facts = changed(facts, seed)
    matrix = Matrix(compile(facts, system.model, system.spelling, now=NOW))
    state = RealmState(Realm("lake", "gravitino", settings=SETTINGS), system, matrix, People())
    tree, parts = matrix.snapshot.coded.tree, system.spelling.parts
    stored = [tree.entity(id) for id in tree.stored]
    named = [(one.type, tuple(parts(one))) for one in stored if one.type in KINDS]
    found = Counter(path[0] for _, path in named).most_common(1)
    metalake = found[0][0] if found else "lk"
    paths = frozenset((type, path[1:]) for type, path in named if path[0] == metalake)
    naming = Naming("svc", metalake, {})
    types = carried_types(state)
    made = documents(state, MAPPING, SERVICE, naming, NOW, types=types)
    return Realms(state, metalake, paths, made)


def reading(facts: Facts) -> Iterator[Statement]:
    """Statements by which every second user may read all tables without a DENY."""
    metalakes = [row.entity for row in facts.entities if row.entity.type == "metalake"]
    people = sorted(one for one in facts.principals if one.kind == USER)[::2]
    reads = frozenset({"USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "SELECT_VIEW"})
    for metalake in metalakes:
        yield Statement(
            f"reads-{metalake.name}", Effect.ALLOW, reads, On(metalake), frozenset(people)
        )


def belonging(facts: Facts) -> Iterator[MembershipRow]:
    """Memberships of every user in every metalake."""
    for row in facts.entities:
        for one in facts.principals:
            if row.entity.type == "metalake" and one.kind == USER:
                yield MembershipRow(one, members_of(row.entity.name))


def limit(facts: Facts, rng: random.Random, number: int) -> Statement:
    """A filter or a mask for some users, not for others, possibly not yet or no longer in force."""
    tables = [row.entity for row in facts.entities if row.entity.type in ("table", "view")]
    above = [row.entity for row in facts.entities if row.entity.type in ("schema", "catalog")]
    people = sorted(facts.principals)
    effect = rng.choice((Effect.FILTER, Effect.MASK))
    anchor = rng.choice(tables if rng.random() < 0.8 or not above else above)
    scope: Scope = On(anchor)
    if effect is Effect.MASK and anchor.type in ("table", "view") and rng.random() < 0.7:
        scope = On(Entity("column", f"{anchor.name}.{rng.choice(COLUMNS)}"))
    start, end = rng.choice(((None, None), (None, None), (NOW + 50, None), (None, NOW + 90)))
    texts = ("region = 'eu'", "region = $user.name", "region = '{USER}'", "note = 'it''s'")
    return Statement(
        id=f"limit-{number}",
        effect=effect,
        privileges=frozenset(),
        scope=scope,
        principals=frozenset(rng.sample(people, rng.choice((0, 0, 1, 2)))),
        exceptions=frozenset(rng.sample(people, rng.choice((0, 1)))),
        valid_from=start,
        valid_until=end,
        expression="null" if effect is Effect.MASK else rng.choice(texts),
    )


def check_limits(seed: int, folder: Path) -> Counter[str]:
    """Users who may read a table in Ranger are bound by their filters and masks in the realm."""
    return check_limits_of(realm_of(seed, limits=8), seed, folder)


def check_limits_of(realm: Realms, seed: int, folder: Path) -> Counter[str]:
    """The same, for the realm's documents here."""
    tables = sorted(path for type, path in realm.paths if type in ("table", "view"))
    questions = list(itertools.product(users(realm), tables, COLUMNS))
    requests = [
        {"user": user, "groups": [], "roles": [], "access": "select", "resource": resource}
        for user, path, column in questions
        for resource in (_named(path), {**_named(path), "column": column})
    ]
    answers = list(
        judged(without_schedules(realm.made.policies), realm.made.roles, requests, folder)
    )
    counts: Counter[str] = Counter()
    pairs = zip(questions, answers[::2], answers[1::2], strict=True)
    for (user, path, column), of_table, of_column in pairs:
        if not of_column["allowed"]:
            continue
        filters, mask, value = _bound(realm, user, path, column)
        where = (seed, user, path, column, of_table, of_column)
        if filters:
            hides = any("{" in sql for sql in filters)
            expected = "FALSE" if hides else " AND ".join(f"({sql})" for sql in filters)
            assert of_table["filter"] == expected, where
        assert ("filter" in of_table) is bool(filters), where
        assert ("mask" in of_column) is mask, where
        if mask:
            assert said(of_column) == value, (*where, value)
            counts["shown" if value != "NULL" else "hidden"] += 1
        counts[f"{bool(filters)} {mask}"] += 1
    return counts


def _named(path: tuple[str, ...]) -> dict[str, str]:
    return dict(zip(("catalog", "schema", "table"), path, strict=True))


def _bound(
    realm: Realms, user: str, path: tuple[str, ...], column: str
) -> tuple[list[str], bool, str]:
    """The realm's filters, whether the column has a mask, and the value shown then.

    A mask of all columns, with any name, is NULL.
    """
    asking = vouched(realm.state, user, (), NOW)
    access = EngineAccess(realm.state, MAPPING, TrinoRealm(metalake=realm.metalake), asking)
    names = dict(zip(("catalog", "schema", "table"), path, strict=True))
    table = access.stored(("table", "view"), names)
    assert table is not None
    masked = [Entity("column", f"{table.name}.{column}")]
    if table.type == "view":  # where a column cannot be named, it has the view's masks
        masked.append(table)
    asked = [access.request("", one) for one in masked]
    is_masked = any(column_mask(realm.state, [one], "trino", column, "varchar") for one in asked)
    other = access.request("", Entity("column", f"{table.name}.of_no_table"))
    is_hidden = table.type == "view" or column_mask(realm.state, [other], "trino", "x", "varchar")
    value = "NULL"
    if is_masked and not is_hidden:
        value = shown(realm.state, SERVICE, asked, table, column)
    return row_filters(realm.state, access.request("", table), "trino"), is_masked, value


def users(realm: Realms) -> list[str]:
    memberships = realm.state.matrix.snapshot.coded.memberships
    stored = (memberships.principals[id] for id in sorted(memberships.stored))
    people = [one for one in stored if one.kind == USER]
    return [*map(realm.state.system.identities.person, people), "nobody-of-that-name"]


def kernel(realm: Realms, user: str, act: str, path: tuple[str, ...]) -> bool:
    """The realm's own answer to Trino."""
    kind = SERVICE.engine.acts[act].resource
    names = dict(zip(PARTS, path, strict=False))
    if kind == "catalog":
        names = {"name": path[0]}
    if kind == "function":
        names = dict(zip((*PARTS[:2], "functionName"), path, strict=False))
    action: dict[str, Any] = {"operation": act}
    if kind != "none":
        action["resource"] = {kind: names}
    body = {"input": {"context": {"identity": {"user": user, "groups": []}}, "action": action}}
    settings = TrinoRealm(metalake=realm.metalake)
    return Evaluator(realm.state, MAPPING, settings, read(json.dumps(body).encode()), NOW).allows()


def asked(realm: Realms) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Users, acts, and stored or unknown names."""
    by_level: dict[str, set[tuple[str, ...]]] = {"catalog": set(), "schema": set(), "table": set()}
    by_level |= {"schemafunction": set(), "queryid": {()}, "sysinfo": {()}}
    for type, path in realm.paths:
        level = {"view": "table", "function": "schemafunction"}.get(type, type)
        by_level[level] |= {path, (*path[:-1], "absent")}
    by_level["column"] = by_level["table"]
    for user, (act, (_, level)) in itertools.product(users(realm), REQUESTS.items()):
        for path in sorted(by_level[level]):
            # Trino distinguishes the types, but the plugin requires one access in both cases.
            other = {"DropTable": "view", "DropView": "table"}.get(act)
            if (other, path) not in realm.paths:
                yield user, act, path


def request(user: str, act: str, path: tuple[str, ...]) -> Mapping[str, Any]:
    access, level = REQUESTS[act]
    names = ["catalog", "schema", level if level == "schemafunction" else "table"]
    resource = dict(zip(names, path, strict=False)) if path else {level: "x"}
    if level == "column":
        resource["column"] = "any_column"
    return {"user": user, "groups": [], "roles": [], "access": access, "resource": resource}


def check(seed: int, folder: Path) -> Counter[str]:
    realm = realm_of(seed)
    questions = list(asked(realm))
    answers = judged(
        without_schedules(realm.made.policies),
        realm.made.roles,
        [request(*one) for one in questions],
        folder,
    )
    counts: Counter[str] = Counter()
    left_out = {residue.entity for residue in realm.made.residues} | {
        residue.principal for residue in realm.made.residues
    }
    for (user, act, path), answer in zip(questions, answers, strict=True):
        allowed = kernel(realm, user, act, path)
        counts[f"{allowed} {answer['allowed']}"] += 1
        if answer["allowed"]:
            assert allowed, (seed, user, act, path, answer)
        elif allowed and act == "SelectFromColumns":
            assert _is_residue(realm, left_out, user, path), (seed, user, act, path)
    return counts


def _is_residue(realm: Realms, left_out: set[str], user: str, path: tuple[str, ...]) -> bool:
    """Whether a denied read is left out with a reported reason."""
    seen = (("AccessCatalog", 1), ("FilterSchemas", 2), ("FilterTables", 3))
    if not all(kernel(realm, user, act, path[:depth]) for act, depth in seen):
        return True
    names = {f"{realm.metalake}:{'.'.join(path[:depth])}" for depth in (1, 2, 3)}
    return any(one and (name in one) for one in left_out for name in (*names, user))


def test_limits_bind_by_ranger_whom_they_bind_in_the_realm(tmp_path: Path) -> None:
    counts = check_limits(6, tmp_path)
    assert {"shown", "hidden"} <= {*counts}, counts


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(200, 230))
def test_random_limits_bind_as_in_the_realm(tmp_path: Path, seed: int) -> None:
    check_limits(seed, tmp_path)


def test_a_small_world_is_judged_as_the_kernel_does(tmp_path: Path) -> None:
    counts = check(1, tmp_path)
    assert counts["True True"] > 0, counts


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 140))
def test_random_worlds_are_never_given_more(tmp_path: Path, seed: int) -> None:
    check(seed, tmp_path)

"""Ranger's own engine on pushed tags of random worlds: exact, and never more."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.relations import EntityRow, Facts, RelationRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Condition, Criterion, Effect, Statement, Where
from lakewarden.testing.world_draft import NOW
from tests.http.ranger import test_judged as documents
from tests.http.ranger.judge import judged, without_schedules
from tests.http.ranger.typed_masks import MASKS, said
from tests.pushdown.ranger.admin_server import Ranger, serving
from tests.pushdown.ranger.worlds import TAG_SERVICE, Told, linked, shipped, told

TAGS = ("pii", "secret", "Public", "a b")
CARRIERS = ("catalog", "schema", "table", "view", "column")
Place = tuple[tuple[str, ...], str]


def with_tags(facts: Facts, seed: int) -> Facts:
    """The facts with tags on entities of all levels, and filters and masks by them."""
    rng = random.Random(f"tags {seed}")
    metalakes = [row.entity.name for row in facts.entities if row.entity.type == "metalake"]
    tags = [Entity("tag", f"{lake}:{tag}") for lake in metalakes for tag in TAGS]
    relations = [
        RelationRow("tag", row.entity, Entity("tag", f"{lake}:{rng.choice(TAGS)}"))
        for row in facts.entities
        for lake in metalakes
        if row.entity.type in CARRIERS
        and row.entity.name.startswith(f"{lake}:")
        and rng.random() < (0.6 if row.entity.type == "column" else 0.12)
    ]
    made = [_by_tag(facts, rng, lake, number) for lake in metalakes for number in range(3)]
    stored = {row.entity for row in facts.entities}
    rows = [EntityRow(tag, Entity("metalake", tag.name.partition(":")[0])) for tag in tags]
    return replace(
        facts,
        entities=[*facts.entities, *(row for row in rows if row.entity not in stored)],
        relations=[*facts.relations, *relations],
        statements=[*facts.statements, *made],
    )


def _by_tag(facts: Facts, rng: random.Random, lake: str, number: int) -> Statement:
    people, effect = sorted(facts.principals), Effect.MASK if number else Effect.FILTER
    names = tuple(f"{lake}:{tag}" for tag in rng.sample(TAGS, rng.choice((1, 1, 2))))
    return Statement(
        id=f"by-tag-{lake}-{number}",
        effect=effect,
        privileges=frozenset(),
        scope=Where((Criterion("TAG", Condition.EQUALS, names),)),
        principals=frozenset(rng.sample(people, rng.choice((0, 0, 2)))),
        exceptions=frozenset(rng.sample(people, rng.choice((0, 1, 2)))),
        expression=rng.choice(MASKS) if effect is Effect.MASK else "region = 'eu'",
    )


def pushed(seed: int, limits: int) -> Iterator[tuple[documents.Realms, Told]]:
    """The world of the seed, pushed to an admin with its tags."""
    realm = documents.realm_of(seed, limits, with_tags)
    with serving(linked(Ranger("trino", shipped("trino")))) as ranger:
        one = told(ranger, realm.metalake)
        one.tags = TAG_SERVICE
        one.push(realm.state)
        assert not one.plan(realm.state).is_pending
        assert one.drift(realm.state).differences == []
        yield realm, one


def check_masks(seed: int, folder: Path, limits: int = 5) -> Counter[str]:
    """Readers see what the realm defines; with a tag assigned by others, never more than NULL."""
    counts: Counter[str] = Counter()
    for realm, one in pushed(seed, limits):
        tables = sorted(path for type, path in realm.paths if type in ("table", "view"))
        later = put_later(realm, one.ranger, tables, seed)
        questions = list(itertools.product(documents.users(realm), tables, documents.COLUMNS))
        requests = [
            {"user": user, "groups": [], "roles": [], "access": "select",
             "resource": {**documents._named(path), "column": column}}
            for user, path, column in questions
        ]  # fmt: skip
        answers = judged(
            without_schedules(one.ranger.download()),
            one.ranger.download_roles(),
            requests,
            folder,
            one.ranger.tags.document("svc"),
        )
        for (user, path, column), answer in zip(questions, answers, strict=True):
            if answer["allowed"]:
                counts[check_one(realm, user, (path, column), answer, later)] += 1
        counts["tagged"] = len(one.ranger.tags.lying)
    return counts


def put_later(
    realm: documents.Realms, ranger: Ranger, tables: list[tuple[str, ...]], seed: int
) -> dict[Place, str]:
    """Entities that others tag without the realm's knowledge: some columns of tables."""
    rng, names = random.Random(f"later {seed}"), about(ranger)
    plain = [path for path in tables if not {*"*?{}"} & {*"".join(path)}]  # no wildcards for others
    places = [(path, column) for path in plain for column in documents.COLUMNS]
    later = {one: rng.choice(names) for one in rng.sample(places, len(places) // 4) if names}
    for (path, column), tag in later.items():
        ranger.tags.put(tag, {**documents._named(path), "column": column})
    return later


def about(ranger: Ranger) -> list[str]:
    policies = [one for one in ranger.policies.values() if one["service"] == TAG_SERVICE]
    values = {tag for one in policies for tag in one["resources"]["tag"]["values"]}
    return sorted(values & {*TAGS})


def check_one(
    realm: documents.Realms,
    user: str,
    at: Place,
    answer: Mapping[str, Any],
    later: Mapping[Place, str],
) -> str:
    """The kind of agreement, in one word."""
    _, is_masked, value = documents._bound(realm, user, *at)
    where = (user, at, answer, value, later.get(at))
    if is_masked:
        assert "mask" in answer, where
        assert said(answer) == value, where
        return "hidden" if value == "NULL" else "shown"
    if "mask" not in answer:
        assert not (at in later and binds(realm, user, later[at])), where
        return "open"
    assert said(answer) == "NULL", where
    assert at in later, where
    assert binds(realm, user, later[at]), where
    return "later"


def binds(realm: documents.Realms, user: str, tag: str) -> bool:
    """Whether a mask by the tag binds the user, on any entity."""
    matrix, identities = realm.state.matrix, realm.state.system.identities
    subject = matrix.subject(Request(identities.user(user), "", NO_RESOURCE, NOW))
    return any(
        f"{realm.metalake}:{tag}" in granted.statement.scope.criteria[0].values
        and (not granted.statement.principals or granted.statement.principals & subject.named)
        and not granted.statement.exceptions & subject.named
        for granted in matrix.snapshot.table.obligations(Effect.MASK)
        if isinstance(granted.statement.scope, Where)
    )


def test_masks_by_tags_are_judged_as_the_kernel_does(tmp_path: Path) -> None:
    counts = check_masks(6, tmp_path)
    assert {"hidden", "shown", "open", "later", "tagged"} <= {*counts}, counts


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(600, 640))
def test_random_masks_by_tags_are_judged_as_the_kernel_does(seed: int, tmp_path: Path) -> None:
    check_masks(seed, tmp_path, limits=seed % 9)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(640, 655))
def test_tags_give_no_access(seed: int, tmp_path: Path) -> None:
    """The permissions equal those without tags: never more than the realm's."""
    for realm, one in pushed(seed, 4):
        questions = list(documents.asked(realm))
        answers = judged(
            without_schedules(one.ranger.download()),
            one.ranger.download_roles(),
            [documents.request(*each) for each in questions],
            tmp_path,
            one.ranger.tags.document("svc"),
        )
        allowed = Counter[bool]()
        for (user, act, path), answer in zip(questions, answers, strict=True):
            allowed[answer["allowed"]] += 1
            if answer["allowed"]:
                assert documents.kernel(realm, user, act, path), (user, act, path, answer)
        assert allowed[True] > 0

"""Toxic combinations of privileges: their holders, and files with an error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import GROUP
from lakewarden.pipeline.access.combinations import read_combinations
from lakewarden.pipeline.access.run import Options
from lakewarden.pipeline.review.labels import TAGS
from tests.pipeline.access.worlds import Pair, decided, export, report, rows
from tests.pipeline.review.whole import compiled, some

WAYS = frozenset({"see", "read", "change"})
ONE = '[[combination]]\nid = "a"\nfirst = {way = "see", asset = "x:a"}\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[Pair]]:
    folder = tmp_path_factory.mktemp("combinations")
    (world,) = some("gravitino", 9_130, 1)
    snapshot = compiled(world)
    export(folder / "export", world, snapshot)
    return folder, decided(Matrix(snapshot))


def side(way: str, asset: str) -> str:
    return f'{{way = "{way}", asset = "{asset}"}}'


def test_who_has_both_sides_is_named_with_the_reasons(made: tuple[Path, set[Pair]]) -> None:
    folder, allowed = made
    assets = sorted({(way, asset) for way, asset, _ in allowed})
    pairs = [(a, b) for n, a in enumerate(assets) for b in assets[n + 1 :]][::40]
    file = folder / "toxic.toml"
    file.write_text(
        "".join(
            f'[[combination]]\nid = "{n}"\nfirst = {side(*a)}\nsecond = {side(*b)}\n'
            for n, (a, b) in enumerate(pairs)
        )
    )
    result = report(folder / "export", folder / "toxic", Options(combinations=file))
    found = rows(folder / "toxic", result, "toxic")
    expected = {
        (str(n), user)
        for n, (a, b) in enumerate(pairs)
        for way, asset, user in allowed
        if (way, asset) == a and (*b, user) in allowed
    }
    assert expected
    assert {(row["combination"], row["user"]) for row in found} == expected
    assert len(found) == len(expected) == result.manifest.facts["toxic"]
    assert all(row["first_reason"] and row["second_reason"] for row in found)


def test_who_acts_as_an_exception_is_left_out(made: tuple[Path, set[Pair]]) -> None:
    folder, allowed = made
    way, asset, user = min(allowed)
    others = sorted({(w, a) for w, a, u in allowed if u == user} - {(way, asset)})
    file, out = folder / "excepted.toml", folder / "excepted"
    sides = f"first = {side(way, asset)}\nsecond = {side(*others[0])}\n"
    excepted = f'except = ["user:{user}"]\n'
    file.write_text(
        f'[[combination]]\nid = "all"\n{sides}[[combination]]\nid = "but"\n{sides}{excepted}'
    )
    result = report(folder / "export", out, Options(combinations=file))
    found = {(row["combination"], row["user"]) for row in rows(out, result, "toxic")}
    assert ("all", user) in found
    assert ("but", user) not in found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", r"at least one `\[\[combination\]\]`"),
        ("combination = 1", "expected a list of tables"),
        ("[[combination]]\n", "id: expected a non-empty string"),
        (ONE, "second: expected a table"),
        (ONE + 'second = {way = "see"}', "second: expected exactly one of `asset`"),
        (ONE + 'second = {way = "eat", asset = "x:a"}', "second.way: unknown `eat`"),
        (ONE + 'second = {way = "see", asset = "x:a"}', "another side than `first`"),
        (ONE + 'second = {way = "see", asset = "x:b", tag = "t:a"}', "exactly one of"),
        (ONE + 'second = {way = "see", asset = "x:b", more = 1}', "unknown key `more`"),
        (ONE + 'second = {way = "see", asset = "x:b"}\nexcpet = ["user:a"]', "unknown key"),
        (2 * (ONE + 'second = {way = "see", asset = "x:b"}\n'), r"\[1\].id: `a` is there twice"),
    ],
)
def test_a_file_with_a_slip_is_refused(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "toxic.toml"
    file.write_text(text)
    with pytest.raises(BadInput, match=says):
        read_combinations(file, WAYS)


@pytest.mark.parametrize(
    ("second", "more", "says"),
    [
        ('asset = "table:no.such"', "", "second.asset: unknown `table:no.such`; expected an asset"),
        ('inside = "schema:no"', "", "second.inside: unknown `schema:no`; expected an entity"),
        ('tag = "tag:no"', "", "second.tag: unknown `tag:no`"),
        ('owner = "user:nobody"', "", "second.owner: unknown `user:nobody`"),
        ('type = "tale"', "", "second.type: unknown `tale`; expected a type"),
        ('type = "table"', 'except = ["role:no"]', "except: unknown `role:no`"),
    ],
)
def test_a_name_that_does_not_exist_makes_nothing(
    second: str, more: str, says: str, made: tuple[Path, set[Pair]]
) -> None:
    folder, _ = made
    file = folder / "slip.toml"
    file.write_text(
        '[[combination]]\nid = "a"\nfirst = {way = "see", type = "table"}\n'
        f'second = {{way = "read", {second}}}\n{more}\n'
    )
    with pytest.raises(BadInput, match=says):
        report(folder / "export", folder / "slip", Options(combinations=file))
    assert not (folder / "slip" / "manifest.json").exists()


def test_tags_owners_and_containers_may_be_only_named(tmp_path: Path) -> None:
    """In DataHub, most labels are not stored, and owners may have left."""
    (world,) = some("datahub", 9_140, 1)
    known, absent = world.facts, {"tag", "container"}
    facts = replace(
        known,
        entities=[row for row in known.entities if row.entity.type not in absent],
        relations=[row for row in known.relations if row.source.type not in absent],
        attributes=[row for row in known.attributes if row.entity.type not in absent],
        owners=[row for row in known.owners if row.entity.type not in absent],
        principals=[one for one in known.principals if one.kind != GROUP],
    )
    world = replace(world, facts=facts)
    snapshot = compiled(world)
    export(tmp_path / "export", world, snapshot)
    coded = snapshot.coded
    tree = coded.tree
    targets = {t for id in tree.stored for kind in TAGS for t, _ in coded.relations[kind].of(id)}
    holding = {tree.parents[id] for id in tree.stored} - {-1}
    owning = {o for id in tree.stored for o, _ in coded.owners.of(id)}
    tag, container = (
        ":".join(tree.entity(next(id for id in sorted(ids) if id not in tree.stored)))
        for ids in (targets, holding)
    )
    everybody = coded.memberships
    owner = next(o for o in sorted(owning) if o not in everybody.stored)
    named = ":".join(everybody.principals[owner])
    kinds = sorted({tree.entity(id).type for id in tree.stored})
    kind = next(one for one in kinds if coded.model.reaching("see", one))
    file = tmp_path / "toxic.toml"
    for selector, value in (("tag", tag), ("inside", container), ("owner", named)):
        side = f'{{way = "see", {selector} = "{value}"}}'
        other = f'{{way = "see", type = "{kind}"}}'
        file.write_text(f'[[combination]]\nid = "a"\nfirst = {side}\nsecond = {other}\n')
        out = tmp_path / selector
        result = report(tmp_path / "export", out, Options(combinations=file))
        assert rows(out, result, "combinations")[0]["first_assets"] > 0, selector

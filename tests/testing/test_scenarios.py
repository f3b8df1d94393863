"""Scenario files are parsed strictly, and the runner reports every differing answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from lakewarden import models
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.principal import SERVICE_ADMINS, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.service.scenario_file import find, read, reads
from lakewarden.service.scenarios import NOW, Question, Scenario, run
from lakewarden.service.system import System, of_model

MODEL = """
[model]
name = "tiny"
title = "Tiny"
version = "1"
source = "made for this test"
spelling = "gravitino"
reach = "below"

[settings.mode]
values = ["plain", "odd"]
default = "plain"
title = "which of two"

[types.metalake]
owned = true
[types.catalog]
parent = "metalake"
owned = true
[types.tag]
parent = "metalake"
[types.role]
parent = "metalake"
principal = "role"
[types.user]
parent = "metalake"
principal = "user"
judged = { setting = "mode", plain = false, odd = true }

[relations.tagged]
from = ["catalog"]
to = ["tag"]

[attributes."action.soft"]
type = "boolean"
source = "request"
[attributes."context.level"]
type = "number"
source = "request"
[attributes."resource.status"]
type = "string"
source = "request over stored"

[privileges.SEE]
on = ["metalake", "catalog"]

[operations."catalog.see"]
on = "catalog"
rule = "owner(self) or SEE"
[operations."catalog.tag"]
on = "catalog"
rule = "SEE @ by or every(request.tags, anyone)"
targets = { by = ["catalog"] }
lists = { tags = ["tag"] }
[operations."server.see"]
on = "none"
rule = "service_admin"
"""

WORLD = """
model = "tiny"
title = "a small world"
source = "this test"
[world]
entities = ["metalake:lk", "catalog:lk:a", "catalog:lk:b", "tag:lk:pii", "role:lk:idle"]
users = ["ana", "bob"]
groups = ["staff"]
[world.members]
"service-admins" = ["user:root"]
"role:lk:readers" = ["user:ana", "group:staff"]
[world.owners]
"catalog:lk:a" = ["user:bob", "group:staff=main"]
[world.relations.tagged]
"catalog:lk:a" = ["tag:lk:pii", "tag:lk:unheard"]
[world.attributes."catalog:lk:a"]
"resource.status" = "open"
[[world.statement]]
id = "readers"
privileges = ["SEE"]
to = ["role:lk:readers", "user:named"]
on = "metalake:lk"
"""

ONE_CASE = """
[[case]]
title = "ana sees"
operation = "catalog.see"
on = "catalog:lk:a"
allow = ["ana"]
"""

TAGGING = 'operation = "catalog.tag"\non = "catalog:lk:a"\nallow = ["ana"]\n'

A, B = Entity("catalog", "lk:a"), Entity("catalog", "lk:b")
ANA, BOB = Principal("user", "ana"), Principal("user", "bob")


def load(name: str, settings: Mapping[str, str]) -> System:
    if name != "tiny":
        raise Unknown("model", name)
    return of_model(models.loads(MODEL, "tiny.toml", settings))


def scenario(text: str, world: str = WORLD) -> Scenario:
    return reads(world + text, Path("tiny.toml"), load)


def case(fields: str) -> Scenario:
    return scenario(f"[[case]]\n{fields}\n")


class Fake:
    """Allows the given users, lists both catalogs for them, and records all requests."""

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self.allowed = frozenset(allowed)
        self.prepared: list[float] = []
        self.asked: list[Question] = []
        self.listed: list[tuple[object, ...]] = []

    def prepare(self, system: System, facts: Facts, now: float) -> Fake:
        self.prepared.append(now)
        return self

    def check(self, question: Question) -> bool:
        self.asked.append(question)
        if question.principal.name == "named":
            raise Unknown("entity", question.entity.name)
        return question.principal.name in self.allowed

    def listing(
        self,
        user: Principal,
        operation: str,
        within: Entity | None,
        *,
        groups: frozenset[Principal] = frozenset(),
        roles: frozenset[Principal] | None = None,
    ) -> frozenset[Entity]:
        self.listed.append((user, operation, within, groups, roles))
        if user.name == "named":
            raise Unknown("operation", operation)
        return frozenset({A, B}) if user.name in self.allowed else frozenset()


def test_the_world_becomes_facts_with_the_parents_that_names_spell() -> None:
    facts = scenario(ONE_CASE).facts
    parents = {row.entity: row.parent for row in facts.entities}
    assert parents[A] == Entity("metalake", "lk")
    assert parents[Entity("metalake", "lk")] is None
    assert [(row.owner.name, row.ownership) for row in facts.owners] == [
        ("bob", ""),
        ("staff", "main"),
    ]
    assert {row.target.name for row in facts.relations} == {"lk:pii", "lk:unheard"}
    assert [row.value for row in facts.attributes] == ["open"]
    assert [statement.id for statement in facts.statements] == ["readers"]


def test_users_groups_entities_that_are_principals_and_roles_with_members_are_stored() -> None:
    facts = scenario(ONE_CASE).facts
    assert set(facts.principals) == {
        ANA,
        BOB,
        Principal("group", "staff"),
        Principal("role", "lk:idle"),
        Principal("role", "lk:readers"),
    }
    assert {row.member.name for row in facts.memberships if row.of == SERVICE_ADMINS} == {"root"}


def test_a_placed_entity_has_the_parent_that_the_file_gives() -> None:
    world = WORLD.replace(
        "[world.members]", '[world.placed]\n"catalog:lk:b" = "catalog:lk:a"\n[world.members]'
    )
    parents = {row.entity: row.parent for row in scenario(ONE_CASE, world).facts.entities}
    assert parents[B] == A


def test_a_file_tells_its_model_settings_title_and_source() -> None:
    world = WORLD.replace("[world]\n", 'settings = { mode = "odd" }\n[world]\n', 1)
    found = scenario(ONE_CASE, world)
    assert (found.model_name, found.title, found.source) == ("tiny", "a small world", "this test")
    assert found.settings == {"mode": "odd"}
    assert found.system.model.settings == {"mode": "odd"}


def test_a_check_carries_everything_that_the_case_names() -> None:
    found = case(
        """
        title = "tagging"
        rows = ["T-1"]
        operation = "catalog.tag"
        on = "catalog:lk:a"
        allow = ["ana"]
        deny = ["bob", "group:staff"]
        targets = { by = "catalog:lk:b" }
        lists = { tags = ["tag:lk:pii", "tag:lk:absent"] }
        attributes = { "action.soft" = true, "context.level" = 3, "resource.status" = "open" }
        subresources = ["tag:lk:pii"]
        groups = ["staff", "group:guests"]
        roles = ["role:lk:readers"]
        now = 17
        """
    )
    fake = Fake(["ana"])
    assert run(found, fake) == []
    assert fake.prepared == [17.0]
    asked = fake.asked[0]
    assert (asked.principal, asked.operation, asked.privilege) == (ANA, "catalog.tag", None)
    assert (asked.entity, asked.targets, asked.now) == (A, {"by": B}, 17.0)
    assert [tag.name for tag in asked.lists["tags"]] == ["lk:pii", "lk:absent"]
    assert asked.attributes == {
        "action.soft": True,
        "context.level": 3.0,
        "resource.status": "open",
    }
    assert asked.subresources == (Entity("tag", "lk:pii"),)
    assert {group.name for group in asked.groups} == {"staff", "guests"}
    assert asked.roles == frozenset({Principal("role", "lk:readers")})
    assert fake.asked[2].principal == Principal("group", "staff")


def test_without_on_a_case_asks_about_no_resource_and_with_a_bare_type_about_the_type() -> None:
    found = scenario(
        """
        [[case]]
        operation = "server.see"
        deny = ["ana"]
        [[case]]
        privilege = "SEE"
        on = "catalog:"
        deny = ["ana"]
        """
    )
    assert [c.on for c in found.cases] == [NO_RESOURCE, Entity("catalog", "")]
    assert [c.privilege for c in found.cases] == [None, "SEE"]
    assert found.cases[0].roles is None
    assert found.cases[0].now == NOW


def test_no_active_roles_differs_from_all_of_them() -> None:
    found = case('operation = "server.see"\ndeny = ["ana"]\nroles = []')
    assert found.cases[0].roles == frozenset()


def test_a_wrong_answer_is_told_with_file_case_user_and_both_answers() -> None:
    found = case(
        'title = "who sees"\noperation = "catalog.see"\non = "catalog:lk:a"\n'
        'allow = ["ana"]\ndeny = ["bob", "named"]'
    )
    failures = run(found, Fake(["bob"]))
    assert [(f.title, f.user, f.expected, f.actual) for f in failures] == [
        ("who sees", "user:ana", "allow", "deny"),
        ("who sees", "user:bob", "deny", "allow"),
        ("who sees", "user:named", "deny", "error: unknown entity `lk:a`"),
    ]
    assert str(failures[0]) == "tiny.toml: who sees: user:ana: expected allow, got deny"


def test_a_listing_is_compared_whole() -> None:
    found = case(
        'operation = "catalog.see"\nwithin = "metalake:lk"\n'
        'lists = { ana = ["catalog:lk:b", "catalog:lk:a"], bob = ["catalog:lk:a"], named = [] }'
    )
    fake = Fake(["ana", "bob"])
    failures = run(found, fake)
    assert [(f.user, f.expected, f.actual) for f in failures] == [
        ("user:bob", "[catalog:lk:a]", "[catalog:lk:a, catalog:lk:b]"),
        ("user:named", "[]", "error: unknown operation `catalog.see`"),
    ]
    assert fake.listed[0] == (ANA, "catalog.see", Entity("metalake", "lk"), frozenset(), None)


def test_a_listing_may_name_groups_and_active_roles_and_no_container() -> None:
    found = case('operation = "catalog.see"\nlists = { ana = [] }\ngroups = ["g"]\nroles = []')
    fake = Fake()
    assert run(found, fake) == []
    group = Principal("group", "g")
    assert fake.listed == [(ANA, "catalog.see", None, frozenset({group}), frozenset())]


def test_the_world_is_prepared_once_for_each_moment() -> None:
    text = "\n".join(
        f'[[case]]\noperation = "server.see"\ndeny = ["ana"]\nnow = {now}' for now in (5, 6, 5)
    )
    fake = Fake()
    assert run(scenario(text), fake) == []
    assert fake.prepared == [5.0, 6.0]
    assert [question.now for question in fake.asked] == [5.0, 6.0, 5.0]


def test_a_moment_may_be_a_date_and_time_with_an_offset() -> None:
    found = case('operation = "server.see"\ndeny = ["ana"]\nnow = 2024-01-01T01:00:00+01:00')
    assert found.cases[0].now == 1_704_067_200.0
    with pytest.raises(BadInput, match="now: expected a number"):
        case('operation = "server.see"\ndeny = ["ana"]\nnow = 2024-01-01T00:00:00')


def test_someone_who_is_not_in_the_world_is_refused_unless_the_model_judges_users() -> None:
    text = 'operation = "server.see"\ndeny = ["stranger"]'
    with pytest.raises(
        BadInput, match=r"case\[0\]\.deny: `stranger` is not defined in the scenario"
    ):
        case(text)
    world = WORLD.replace("[world]\n", 'settings = { mode = "odd" }\n[world]\n', 1)
    found = scenario(f"[[case]]\n{text}", world)
    assert found.cases[0].deny == (Principal("user", "stranger"),)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ('operation = "catalog.sea"\non = "catalog:lk:a"\nallow = ["ana"]', "operation: unknown"),
        ('privilege = "SEA"\non = "catalog:lk:a"\nallow = ["ana"]', "privilege: unknown"),
        ('allow = ["ana"]', "expected one of `operation` and `privilege`"),
        ('operation = "catalog.see"\nprivilege = "SEE"\nallow = ["ana"]', "expected one of"),
        ('operation = "catalog.see"\nallow = ["ana"]', "on: unknown target type"),
        ('operation = "catalog.see"\non = "tag:lk:pii"\nallow = ["ana"]', "on: unknown target"),
        ('operation = "catalog.see"\non = "topic:lk:a.b.c"\nallow = ["ana"]', "on: unknown type"),
        ('operation = "catalog.see"\non = "topic:"\nallow = ["ana"]', "on: unknown type"),
        ('operation = "catalog.see"\non = "catalog:lk"\nallow = ["ana"]', "on: expected"),
        ('operation = "server.see"', "expected `allow` or `deny`, or `lists`"),
        ('privilege = "SEE"\nlists = { ana = [] }', "expected `allow` or `deny`, or `lists`"),
        ('operation = "server.see"\nallow = ["ana"]\nwithin = "metalake:lk"', "unknown key"),
        ('operation = "catalog.see"\non = "catalog:lk:a"\nlists = { ana = [] }', "with `within`"),
        ('operation = "catalog.see"\nlists = { eve = [] }', "`eve` is not defined in the scenario"),
        (
            'operation = "catalog.see"\nlists = { ana = ["catalog:lk:x"] }',
            "is not defined in the scenario",
        ),
        ('operation = "server.see"\nallow = ["ana"]\nlists = { x = [] }', "takes no list `x`"),
        (
            TAGGING + 'lists = { tags = ["catalog:lk:a"] }',
            "expected one of: tag; got a `catalog`",
        ),
        (
            'operation = "server.see"\nallow = ["ana"]\ntargets = { by = "catalog:lk:a" }',
            "has no target `by`",
        ),
        (
            TAGGING + 'targets = { by = "tag:lk:pii" }',
            "expected one of: catalog; got a `tag`",
        ),
        (
            'operation = "catalog.see"\nlists = { ana = [] }\nsubresources = ["tag:lk:pii"]',
            "a listing has no",
        ),
        (
            'operation = "server.see"\nallow = ["ana"]\nattributes = { soft = true }',
            "requests have no attribute `soft`",
        ),
        (
            'operation = "server.see"\nallow = ["ana"]\nattributes = { "action.soft" = "yes" }',
            "expected true or false",
        ),
        ('operation = "server.see"\nallow = ["ana"]\nroles = ["user:ana"]', "`role:NAME`"),
        ('operation = "server.see"\nallow = ["ana"]\nroles = ["readers"]', "roles: expected"),
        ('operation = "server.see"\nallow = ["ana"]\ngroups = [""]', "groups: expected"),
        ('operation = "server.see"\nallow = ["ana", ""]', "allow: expected a name"),
        ('operation = "server.see"\nallow = ["ana"]\ndeny = ["ana"]', "allowed and denied"),
        ('operation = "server.see"\nallow = ["ana"]\nnow = "noon"', "now: expected a number"),
        ('operation = "server.see"\nallow = ["ana"]\nallows = ["bob"]', "unknown key `allows`"),
        ('operation = "server.see"\nallow = ["ana"]\ntargets = "x"', "expected a table"),
    ],
)
def test_a_malformed_case_is_refused_with_file_and_path(fields: str, told: str) -> None:
    with pytest.raises(BadInput) as refusal:
        case(fields)
    assert refusal.value.where.startswith("tiny.toml.case[0]")
    assert told in str(refusal.value)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"metalake:lk", ', "", "`metalake:lk`, above `lk:a`, is missing"),
        ('"catalog:lk:b"', '"catalog:lk:a"', "entities: `catalog:lk:a` occurs twice"),
        ('"catalog:lk:b"', '"catalogue:lk:b"', "entities: unknown type `catalogue`"),
        ('users = ["ana", "bob"]', 'users = ["ana", ""]', "users: expected a name"),
        ('"role:lk:readers" = ', '"readers" = ', "members.readers: expected"),
        ('"user:ana", "group:staff"]', '"ana"]', "expected `user:NAME`"),
        (
            '"catalog:lk:a" = ["user:bob"',
            '"catalog:lk:c" = ["user:bob"',
            "is not defined in the scenario",
        ),
        ('"catalog:lk:a" = ["user:bob"', '"tag:lk:pii" = ["user:bob"', "a `tag` has no owner"),
        ('["user:bob", ', '["bob", ', "owners.catalog:lk:a: expected `user:NAME`"),
        ("relations.tagged", "relations.marked", "unknown relation `marked`"),
        ('= ["tag:lk:pii", ', '= ["catalog:lk:b", ', "expected one of: tag; got a `catalog`"),
        ('"resource.status" =', '"action.soft" =', "no stored attribute `action.soft`"),
        ('privileges = ["SEE"]', 'privileges = ["SEA"]', "statement[0].privileges: unknown"),
        ("[[world.statement]]", "[world.statement]", "statement: expected a list of tables"),
        ("groups =", "group =", "unknown key `group`"),
        ('model = "tiny"', 'model = "large"', "tiny.toml.model: unknown model `large`"),
        ('title = "a small world"\n', "", "tiny.toml.title: expected a non-empty string"),
        ("[world]\n", "settings = { mood = 'x' }\n[world]\n", "unknown setting `mood`"),
        ("[world]\n", "settings = []\n[world]\n", "settings: expected a table"),
        ("[world]\n", "worlds = 1\n[world]\n", "unknown key `worlds`"),
        ("[world]", "[world", "tiny.toml: expected ']'"),
        (
            "[world.members]",
            '[world.placed]\n"catalog:lk:z" = "metalake:lk"\n[world.members]',
            "`catalog:lk:z` is not defined in the scenario",
        ),
    ],
)
def test_a_malformed_world_is_refused_with_file_and_path(old: str, new: str, told: str) -> None:
    assert old in WORLD
    with pytest.raises(BadInput) as refusal:
        scenario(ONE_CASE, WORLD.replace(old, new, 1))
    assert str(refusal.value).startswith("tiny.toml")
    assert told in str(refusal.value)


def test_a_file_without_cases_is_refused() -> None:
    with pytest.raises(BadInput, match="expected at least one `case`"):
        scenario("")


def test_files_are_found_below_a_folder_in_order(tmp_path: Path) -> None:
    for name in ("b.toml", "a/z.toml", "a/notes.txt"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("")
    assert find(tmp_path) == [tmp_path / "a/z.toml", tmp_path / "b.toml"]


def test_a_file_is_read_from_its_path(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(WORLD + ONE_CASE, "utf-8")
    assert read(file, load).path == file
    file.write_bytes(b"title = '\xff'")
    with pytest.raises(BadInput, match=r"one\.toml: not UTF-8"):
        read(file, load)

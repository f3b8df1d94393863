"""The oracle itself, on worlds small enough to verify by eye."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import Unknown
from lakewarden.kernel.principal import (
    ALL_USERS,
    ANY_GROUP,
    SERVICE_ADMINS,
    Principal,
    members_of,
)
from lakewarden.kernel.relations import (
    AttributeRow,
    EntityRow,
    Facts,
    MembershipRow,
    OwnerRow,
    RelationRow,
)
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import (
    Anything,
    Condition,
    Criterion,
    Effect,
    Matching,
    On,
    Owners,
    Scope,
    Statement,
    Where,
)
from tests.agreement import everything
from tests.oracle import oracle as module
from tests.oracle.oracle import Oracle

ANA, BOB, STAFF = Principal("user", "ana"), Principal("user", "bob"), Principal("group", "staff")
HAT = Principal("role", "r.hat")
REALM, AREA, THING = Entity("realm", "r"), Entity("area", "r.a"), Entity("thing", "r.a.t")
PART, BOX, INNER = Entity("part", "r.a.t.p"), Entity("box", "b"), Entity("box", "c")
LABEL, SUBLABEL = Entity("label", "l"), Entity("label", "m")
ROWS = (
    EntityRow(REALM),
    EntityRow(AREA, REALM),
    EntityRow(THING, AREA),
    EntityRow(PART, THING),
    EntityRow(BOX),
    EntityRow(INNER, BOX),
    EntityRow(LABEL),
    EntityRow(SUBLABEL, LABEL),
)


def allow(
    privilege: str, scope: Scope, *to: Principal, effect: Effect = Effect.ALLOW, **more: object
) -> Statement:
    return Statement(
        f"{privilege} {scope} {sorted(to)} {effect}",
        effect,
        frozenset({privilege}),
        scope,
        frozenset(to),
        **more,  # type: ignore[arg-type]
    )


def deny(privilege: str, scope: Scope, *to: Principal) -> Statement:
    return allow(privilege, scope, *to, effect=Effect.DENY)


def world(*statements: Statement, **rows: object) -> Oracle:
    system = everything.system()
    facts = Facts(entities=ROWS, statements=statements, **rows)  # type: ignore[arg-type]
    return Oracle(facts, system.model, system.spelling)


def may(
    oracle: Oracle, operation: str, target: Entity, who: Principal = ANA, **more: object
) -> bool:
    return oracle.check(Request(who, operation, target, now=100.0, **more))  # type: ignore[arg-type]


def test_the_definition_stays_short_and_imports_only_shapes() -> None:
    path = Path(module.__file__)
    assert len(path.read_text("utf-8").splitlines()) < 350
    shapes = {
        "entity",
        "expression",
        "model",
        "principal",
        "relations",
        "request",
        "statement",
        "wildcard",
    }
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lakewarden"):
            names = [alias.name for alias in node.names]
            rooms = names if node.module == "lakewarden.kernel" else [str(node.module)[18:]]
            assert set(rooms) <= shapes


def test_nothing_is_allowed_without_a_statement() -> None:
    assert not may(world(), "READ", THING)


def test_a_privilege_reaches_below_where_it_is_granted_and_not_above() -> None:
    oracle = world(allow("READ", On(AREA), ANA))
    assert [may(oracle, "READ", e) for e in (REALM, AREA, THING, PART)] == [
        False,
        True,
        True,
        True,
    ]


def test_a_privilege_that_reaches_exactly_stays_where_it_is() -> None:
    oracle = world(allow("TOUCH", On(AREA), ANA))
    assert may(oracle, "TOUCH", AREA)
    assert not may(oracle, "TOUCH", THING)


def test_what_follows_from_a_privilege_may_reach_upwards() -> None:
    oracle = world(allow("READ", On(THING), ANA))
    assert [may(oracle, "SHOWN", e) for e in (REALM, AREA, THING, PART, BOX)] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_a_deny_implies_nothing_and_an_allow_does() -> None:
    oracle = world(allow("TOUCH", On(THING), ANA), deny("READ", On(THING), ANA))
    assert may(oracle, "SHOWN", THING)
    assert may(oracle, "LISTED", THING)


def test_a_deny_above_beats_an_allow_below() -> None:
    oracle = world(allow("READ", On(THING), ANA), deny("READ", On(REALM), STAFF))
    assert may(oracle, "READ", THING)
    denied = world(*oracle.facts.statements, memberships=[MembershipRow(ANA, STAFF)])
    assert not may(denied, "READ", THING)


def test_an_older_name_of_a_privilege_is_the_privilege() -> None:
    oracle = world(allow("LOOK", On(THING), ANA), deny("PEEK", On(PART), ANA))
    assert may(oracle, "READ", THING)
    assert may(oracle, "LOOK", THING)
    assert not may(oracle, "READ", PART)


def test_groups_in_groups_and_their_roles_count() -> None:
    crew = Principal("group", "crew")
    oracle = world(
        allow("READ", On(THING), HAT),
        memberships=[
            MembershipRow(ANA, STAFF),
            MembershipRow(STAFF, crew),
            MembershipRow(crew, HAT),
        ],
    )
    assert may(oracle, "READ", THING)
    assert not may(oracle, "READ", THING, BOB)
    assert may(oracle, "READ", THING, BOB, groups=(STAFF,))


def test_everybody_is_all_users_and_any_group_needs_a_group() -> None:
    oracle = world(
        allow("READ", On(THING), ALL_USERS),
        allow("WRITE", On(THING), ANY_GROUP),
        memberships=[MembershipRow(BOB, STAFF)],
    )
    assert may(oracle, "READ", THING)
    assert not may(oracle, "READ", THING, STAFF)
    assert not may(oracle, "WRITE", THING)
    assert may(oracle, "WRITE", THING, BOB)
    assert may(oracle, "WRITE", THING, STAFF)
    assert may(oracle, "WRITE", THING, groups=(Principal("group", "unheard of"),))


def test_what_an_implied_set_holds_all_in_it_hold() -> None:
    oracle = world(
        allow("WRITE", On(THING), ANY_GROUP), memberships=[MembershipRow(ALL_USERS, STAFF)]
    )
    assert may(oracle, "WRITE", THING)


def test_a_member_of_a_container_is_a_member_below_it() -> None:
    oracle = world(memberships=[MembershipRow(ANA, members_of("r"))])
    assert may(oracle, "MEMBER", THING)
    assert not may(oracle, "MEMBER", BOX)
    assert not may(oracle, "MEMBER", THING, BOB)


def test_active_roles_narrow_allows_but_neither_denies_nor_ownership() -> None:
    held = [MembershipRow(ANA, HAT)]
    oracle = world(
        allow("READ", On(THING), HAT),
        deny("WRITE", On(THING), HAT),
        allow("WRITE", On(AREA), ANA),
        memberships=held,
        owners=[OwnerRow(THING, HAT)],
    )
    assert may(oracle, "READ", THING, roles=frozenset({HAT}))
    assert not may(oracle, "READ", THING, roles=frozenset())
    assert not may(oracle, "WRITE", THING, roles=frozenset())
    assert may(oracle, "thing.own", THING, roles=frozenset())
    assert not may(oracle, "thing.own", THING, roles=frozenset({Principal("role", "r.other")}))


@pytest.mark.parametrize(
    ("types", "ownership", "expected"),
    [
        (None, "", True),
        (None, "x", True),
        (frozenset({"x"}), "x", True),
        (frozenset({"x"}), "y", False),
        (frozenset({"x"}), "", False),
        (frozenset(), "x", False),
        (frozenset({""}), "", False),
    ],
)
def test_an_owner_meets_a_statement_for_owners_by_type(
    types: frozenset[str] | None, ownership: str, expected: bool
) -> None:
    statement = allow("READ", On(REALM), owners=Owners(types))
    oracle = world(statement, owners=[OwnerRow(THING, ANA, ownership)])
    assert may(oracle, "READ", THING) is expected
    assert not may(oracle, "READ", AREA)


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [(None, None, True), (100.0, None, True), (100.5, None, False), (None, 100.0, False)],
)
def test_a_window_of_validity_holds_its_beginning_and_not_its_end(
    since: float | None, until: float | None, expected: bool
) -> None:
    oracle = world(allow("READ", On(THING), ANA, valid_from=since, valid_until=until))
    assert may(oracle, "READ", THING) is expected


def test_an_inactive_statement_says_nothing() -> None:
    assert not may(world(allow("READ", On(THING), ANA, active=False)), "READ", THING)


def test_names_that_are_not_stored_are_denied_unless_their_type_is_judged() -> None:
    oracle = world(allow("READ", Anything(), ANA))
    assert not may(oracle, "READ", Entity("thing", "r.a.other"))
    assert may(oracle, "READ", Entity("label", "other"))
    assert may(oracle, "READ", Entity("label", ""))
    assert may(oracle, "READ", NO_RESOURCE)


def test_a_name_that_is_not_stored_hangs_under_the_stored_parents_of_its_container() -> None:
    system = everything.system(open_types=True)
    moved = (EntityRow(BOX), EntityRow(Entity("thing", "t"), BOX))
    oracle = Oracle(Facts(entities=moved), system.model, system.spelling)
    assert oracle.ancestors(Entity("part", "t.p")) == (Entity("thing", "t"), BOX)
    assert oracle.ancestors(Entity("part", "x.y.z.p")) == (
        Entity("thing", "x.y.z"),
        Entity("area", "x.y"),
        Entity("realm", "x"),
    )


def test_what_lies_in_itself_has_nothing_above_it() -> None:
    system = everything.system()
    rows = (EntityRow(BOX, INNER), EntityRow(INNER, BOX), EntityRow(THING, INNER))
    oracle = Oracle(Facts(entities=rows), system.model, system.spelling)
    assert oracle.ancestors(BOX) == oracle.ancestors(INNER) == ()
    assert oracle.ancestors(THING) == (INNER,)


def test_patterns_match_part_by_part() -> None:
    oracle = world(allow("READ", Matching("thing", ("r", "?", "*")), ANA))
    assert may(oracle, "READ", THING)
    assert may(oracle, "READ", PART)
    assert not may(oracle, "READ", AREA)
    assert not may(world(allow("READ", Matching("thing", ("r", "*")), ANA)), "READ", THING)


def test_the_first_parts_of_a_pattern_show_what_lies_above() -> None:
    oracle = world(allow("READ", Matching("part", ("r", "a", "*", "*")), ANA))
    assert [may(oracle, "SHOWN", e) for e in (REALM, AREA, THING, PART)] == [True] * 4
    other = world(allow("READ", Matching("part", ("r", "b", "*", "*")), ANA))
    assert [may(other, "SHOWN", e) for e in (REALM, AREA)] == [True, False]


def where(field: str, condition: Condition, *values: str) -> Statement:
    return allow("READ", Where((Criterion(field, condition, values),)), ANA)


@pytest.mark.parametrize(
    ("statement", "target", "expected"),
    [
        (where("TYPE", Condition.EQUALS, "thing", "box"), THING, True),
        (where("TYPE", Condition.EQUALS, "label"), Entity("label", ""), True),
        (where("NAME", Condition.EQUALS, ""), Entity("label", ""), False),
        (where("NAME", Condition.NOT_EQUALS, "x"), Entity("label", ""), True),
        (where("NAME", Condition.STARTS_WITH, "r.a"), THING, True),
        (where("NAME", Condition.STARTS_WITH, ""), THING, False),
        (where("NAME", Condition.EQUALS), THING, False),
        (where("NAME", Condition.NOT_EQUALS), THING, True),
        (where("LABEL", Condition.EQUALS, "m"), THING, True),
        (where("LABEL", Condition.EQUALS, "l"), THING, True),
        (where("LABEL", Condition.NOT_EQUALS, "l"), THING, False),
        (where("LABEL", Condition.EQUALS, "l"), SUBLABEL, True),
        (where("LABEL", Condition.EQUALS, "m"), LABEL, False),
        (where("BOX", Condition.EQUALS, "b"), INNER, True),
        (where("BOX", Condition.EQUALS, "r.a"), THING, False),
        (where("PLACE", Condition.EQUALS, "r"), THING, True),
        (where("PLACE", Condition.EQUALS, "r"), PART, False),
        (where("OWNER", Condition.EQUALS, "staff"), THING, True),
        (where("PROPERTY", Condition.EQUALS, "tier"), THING, True),
        (where("PROPERTY", Condition.EQUALS, "tier=high"), THING, True),
        (where("PROPERTY", Condition.EQUALS, "tier=low"), THING, False),
        (where("CREW", Condition.EQUALS, "staff"), Entity("person", "bob@x"), True),
        (where("CREW", Condition.EQUALS, "staff"), THING, False),
        (where("LINK", Condition.EQUALS, "m"), THING, True),
        (allow("READ", Where(()), ANA), THING, True),
        (allow("READ", Where(()), ANA), NO_RESOURCE, False),
    ],
)
def test_a_criterion_holds_on_what_its_field_resolves_to(
    statement: Statement, target: Entity, expected: bool
) -> None:
    oracle = world(
        statement,
        relations=[RelationRow("tagged", THING, SUBLABEL)],
        owners=[OwnerRow(THING, STAFF)],
        attributes=[AttributeRow(THING, "tier", "high")],
        memberships=[MembershipRow(BOB, STAFF)],
    )
    assert may(oracle, "READ", target) is expected


def test_one_statement_alone_must_cover_all_sub_resources() -> None:
    def limited(name: str) -> Statement:
        criterion = Criterion("NAME", Condition.EQUALS, (name,))
        return allow("READ", On(THING), ANA, constraint=(criterion,), title=name)

    oracle = world(limited("l"), limited("m"))
    assert may(oracle, "READ", THING)
    assert may(oracle, "READ", THING, subresources=(LABEL,))
    assert not may(oracle, "READ", THING, subresources=(LABEL, SUBLABEL))
    anything = Entity("allEntities", "urn:li:allEntities:all")
    assert may(oracle, "READ", THING, subresources=(anything, SUBLABEL))
    assert not may(oracle, "READ", THING, subresources=(NO_RESOURCE,))


def test_no_criterion_holds_on_nothing() -> None:
    other = Criterion("NAME", Condition.NOT_EQUALS, ("l",))
    for constraint in ((), (other,)):
        oracle = world(allow("READ", On(THING), ANA, constraint=constraint))
        assert may(oracle, "READ", THING, subresources=(SUBLABEL,))
        assert not may(oracle, "READ", THING, subresources=(NO_RESOURCE,))


def test_every_asks_for_at_least_one_and_for_all() -> None:
    statements = (allow("READ", On(LABEL), ANA), allow("READ", On(THING), ANA))
    assert not may(world(*statements), "thing.tags", THING)
    one = world(*statements, relations=[RelationRow("tagged", THING, LABEL)])
    assert may(one, "thing.tags", THING)
    strange = RelationRow("tagged", THING, Entity("label", "strange"))
    two = world(*statements, relations=[*one.facts.relations, strange])
    assert not may(two, "thing.tags", THING)


def test_a_part_is_judged_as_the_thing_that_it_is_in() -> None:
    note = Entity("note", "r.a.n")
    oracle = Oracle(
        Facts(
            entities=[*ROWS, EntityRow(note, AREA)],
            relations=[RelationRow("about", note, PART)],
            statements=[allow("SEE", On(THING), ANA), deny("SEE", On(PART), ANA)],
        ),
        world().model,
        world().spelling,
    )
    assert may(oracle, "note.read", note)


def test_lists_and_targets_come_with_the_request() -> None:
    oracle = world(
        allow("READ", On(THING), ANA),
        allow("WRITE", On(LABEL), ANA),
        allow("WRITE", On(THING), ANA),
    )
    assert not may(oracle, "thing.apply", THING)
    assert may(oracle, "thing.apply", THING, lists={"labels": (LABEL, SUBLABEL)})
    strange = Entity("label", "strange")
    assert not may(oracle, "thing.apply", THING, lists={"labels": (LABEL, strange)})
    assert not may(oracle, "thing.link", THING)
    assert may(oracle, "thing.link", THING, targets={"other": THING})
    assert not may(oracle, "thing.link", THING, targets={"other": Entity("thing", "r.a.x")})


@pytest.mark.parametrize(
    ("stored", "sent", "operation", "expected"),
    [
        ({"status": "high"}, {}, "thing.status", True),
        ({"status": "low"}, {}, "thing.status", False),
        ({}, {}, "thing.not_status", False),
        ({"status": "low"}, {}, "thing.not_status", True),
        ({"status": "low"}, {"resource.status": "high"}, "thing.status", False),
        ({"level": "1.0"}, {}, "thing.level", True),
        ({"level": "one"}, {}, "thing.level", False),
        ({"level": "1"}, {"resource.level": 5}, "thing.level", False),
        ({"level": "5"}, {"resource.level": 2.0}, "thing.level", True),
        ({"level": "5"}, {"resource.level": True}, "thing.level", False),
        ({"open": "true"}, {}, "thing.soft", True),
        ({}, {"resource.open": "true"}, "thing.soft", False),
        ({"team": "low"}, {}, "thing.team", False),
    ],
)
def test_an_attribute_is_read_where_and_as_it_is_declared(
    stored: dict[str, str], sent: dict[str, object], operation: str, expected: bool
) -> None:
    oracle = world(
        allow("READ", On(THING), ANA),
        attributes=[AttributeRow(THING, name, value) for name, value in stored.items()],
    )
    assert may(oracle, operation, THING, attributes=sent) is expected


def test_the_asker_s_own_attribute_is_that_of_the_entity_that_it_is() -> None:
    person = Entity("person", "ana@x")
    oracle = Oracle(
        Facts(
            entities=[*ROWS, EntityRow(person)],
            attributes=[AttributeRow(person, "team", "low")],
            statements=[allow("READ", On(THING), ANA)],
        ),
        world().model,
        world().spelling,
    )
    assert may(oracle, "thing.team", THING)


def test_self_is_what_one_acts_as_and_a_self_privilege_is_one_s_own() -> None:
    oracle = world(memberships=[MembershipRow(ANA, HAT)])
    hat, own, other = Entity("hat", "r.hat"), Entity("person", "ana@x"), Entity("person", "bob")
    stored = Oracle(
        Facts(entities=[*ROWS, EntityRow(hat, REALM)], memberships=oracle.facts.memberships),
        oracle.model,
        oracle.spelling,
    )
    assert may(stored, "crew.see", hat)
    assert not may(stored, "crew.see", hat, BOB)
    assert may(oracle, "person.see", own)
    assert may(oracle, "OWN_PAGE", own)
    assert not may(oracle, "OWN_PAGE", other)
    assert not may(oracle, "READ", own)


def test_owners_are_asked_at_the_level_that_the_rule_names() -> None:
    oracle = world(owners=[OwnerRow(REALM, ANA), OwnerRow(AREA, BOB)])
    assert may(oracle, "thing.own", THING)
    assert not may(oracle, "thing.own", THING, BOB)
    with_read = world(allow("READ", On(AREA), BOB), owners=oracle.facts.owners)
    assert may(with_read, "thing.own", THING, BOB)


def test_selectors_lead_to_parent_platform_and_type() -> None:
    assert may(world(allow("TOUCH", On(AREA), ANA)), "thing.touch", THING)
    platform = world(allow("RUN", Anything(), ANA), allow("READ", On(THING), ANA))
    assert may(platform, "thing.platform", THING)
    by_type = Criterion("TYPE", Condition.EQUALS, ("box",))
    assert may(world(allow("READ", Where((by_type,)), ANA)), "any.page", Entity("box", ""))


def test_a_service_administrator_and_nobody() -> None:
    oracle = world(memberships=[MembershipRow(ANA, SERVICE_ADMINS)])
    assert may(oracle, "server.run", NO_RESOURCE)
    assert not may(oracle, "server.run", NO_RESOURCE, BOB)
    assert may(oracle, "server.open", NO_RESOURCE, BOB)
    assert not may(oracle, "server.shut", NO_RESOURCE)


def test_a_listing_is_what_a_check_allows_below_something() -> None:
    oracle = world(allow("READ", On(AREA), ANA), principals=[ANA, BOB, STAFF])
    request = Request(ANA, "any.page", now=100.0)
    assert oracle.listing(request) == {AREA, THING, PART}
    assert oracle.listing(request, AREA) == {THING, PART}
    assert oracle.listing(Request(ANA, "thing.read", now=100.0)) == {THING}
    assert oracle.who(Request(BOB, "READ", THING, now=100.0)) == {ANA}


def test_what_the_model_has_not_is_refused() -> None:
    with pytest.raises(Unknown, match="privilege"):
        may(world(), "thing.fly", THING)
    with pytest.raises(Unknown, match="target type"):
        may(world(), "thing.read", AREA)

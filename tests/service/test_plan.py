"""Policy as code: a plan shows the changes, and exactly these are applied."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from lakewarden.kernel.change import EntityAdded, PrincipalChanged
from lakewarden.kernel.errors import BadInput, Conflict, LimitExceeded, Unknown
from lakewarden.kernel.principal import Principal
from lakewarden.service import statements
from lakewarden.service.actor import SYSTEM
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import LinkChanged, ValueChanged
from lakewarden.service.link import Asset, link
from lakewarden.service.plan import KEEPER, AppliedPlan, apply_plan, plan
from lakewarden.service.plan_result import Plan, read_plan
from lakewarden.service.policy import current, written
from lakewarden.service.realm import DIRECTORY, people_of
from lakewarden.service.write_transaction import WriteTransaction
from tests.service.opened_services import ADMIN, EVE, LAKE, furnish, opened

READ = {
    "id": "read",
    "privileges": ["SELECT_TABLE"],
    "to": ["role:lk:readers"],
    "on": "schema:lk:c.s",
}
FILE = {
    "roles": ["lk:readers"],
    "members": {"role:lk:readers": ["user:ana", "user:ben"]},
    "statement": [READ],
}
EMPTY: dict[str, object] = {}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    with opened(tmp_path) as found:
        furnish(found)
        yield found


def planned(
    service: DecisionService, table: object, *, keeper: str = KEEPER, adopts: bool = False
) -> Plan:
    parts = [("policy.toml", table)]
    found = plan(service, ADMIN, LAKE, parts, keeper=keeper, adopts=adopts)
    assert isinstance(found, Plan)
    return found


def done(service: DecisionService, table: object, made: Plan) -> Plan:
    found = apply_plan(
        service,
        ADMIN,
        LAKE,
        [("policy.toml", table)],
        revision=made.revision,
        digest=made.digest,
        keeper=made.keeper,
        adopts=made.adopts,
    )
    assert isinstance(found, AppliedPlan)
    assert found.revision == service.state.revision
    return found.plan


def applied(service: DecisionService, table: object, **how: object) -> Plan:
    made = planned(service, table, **how)  # type: ignore[arg-type]
    return done(service, table, made)


def allowed(service: DecisionService, user: str, table: str) -> bool:
    found = service.catch_up().realm(LAKE)
    asked = ADMIN.request(found.realm, found.system, "SELECT_TABLE", now=service.clock())
    entity, principal = found.system.entity(table), found.system.principal(user)
    return found.matrix.decide(replace(asked, principal=principal, target=entity)).allow


def test_a_plan_shows_statements_people_and_access(service: DecisionService) -> None:
    made = planned(service, FILE)
    assert [(edit.id, edit.was is None) for edit in made.edits] == [("read", True)]
    assert made.new_roles == (Principal("role", "lk:readers"),)
    assert [row.member.name for row in made.new_members] == ["ana", "ben"]
    told = {
        (name, h.type): (len(h.users), h.entities)
        for h in made.access.held
        for name in h.privileges
    }
    assert told["SELECT_TABLE", "table"] == (2, 2)
    assert made.access.lost == 0
    assert not allowed(service, "ana", "table:lk:c.s.t")


def test_a_plan_in_json_is_read_back_with_its_digest(service: DecisionService) -> None:
    until = {**READ, "id": "until", "valid_until": 4_000_000_000.25, "active": False}
    applied(service, {**FILE, "statement": [READ, until]})
    wider = {**READ, "on": "catalog:lk:c", "title": "ü"}
    changed = {"roles": ["lk:readers", "lk:more"], "statement": [wider]}
    for table in (FILE, changed, EMPTY):
        made = planned(service, table)
        sent = json.loads(json.dumps(made.table()))
        back = read_plan(sent, service.state.realm(LAKE).system)
        assert back == made
        assert back.digest == made.digest == sent["digest"]


def test_what_was_planned_is_applied_and_then_nothing_is_pending(service: DecisionService) -> None:
    made = applied(service, FILE)
    assert not made.is_empty
    assert allowed(service, "ana", "table:lk:c.s.t")
    assert not allowed(service, "cid", "table:lk:c.s.t")
    again = planned(service, FILE)
    assert again.is_empty
    assert (again.access.held, again.access.reached) == ((), ())
    revision = service.state.revision
    assert done(service, FILE, again).is_empty
    assert service.state.revision == revision


def test_what_leaves_the_files_leaves_the_realm(service: DecisionService) -> None:
    applied(service, FILE)
    fewer = {**FILE, "members": {"role:lk:readers": ["user:ana"]}}
    made = applied(service, fewer)
    assert [row.member.name for row in made.gone_members] == ["ben"]
    assert sum(h.pairs for h in made.access.held if not h.gained) == 3
    assert not any(h.gained for h in made.access.held)
    made = applied(service, EMPTY)
    assert made.gone_roles == (Principal("role", "lk:readers"),)
    found = service.state.realm(LAKE)
    assert "read" not in statements.stored(found)
    assert not found.matrix.snapshot.coded.is_known(found.system.entity("role:lk:readers"))
    assert planned(service, EMPTY).is_empty


def test_a_changed_statement_shows_what_it_was(service: DecisionService) -> None:
    applied(service, FILE)
    wider = {**FILE, "statement": [{**READ, "on": "catalog:lk:c"}]}
    made = applied(service, wider)
    (edit,) = made.edits
    assert edit.was is not None
    assert edit.now is not None
    assert edit.was.scope != edit.now.scope
    assert allowed(service, "ana", "table:lk:c.p.secret")


def test_what_others_made_is_left_alone(service: DecisionService) -> None:
    other = {"id": "other", "privileges": ["USE_CATALOG"], "to": ["user:cid"], "on": "catalog:lk:c"}
    service.write(ADMIN, lambda transaction: statements.put(transaction, LAKE, other))
    service.write(
        ADMIN,
        lambda transaction: statements.put(transaction, LAKE, {**other, "id": "his"}, "terraform"),
    )
    made = applied(service, FILE)
    assert made.foreign >= 2
    applied(service, EMPTY)
    assert {"other", "his"} <= set(statements.stored(service.state.realm(LAKE)))


def test_a_statement_of_others_is_not_changed_but_may_be_adopted(service: DecisionService) -> None:
    other = {**READ, "id": "other", "to": ["user:cid"]}
    service.write(ADMIN, lambda transaction: statements.put(transaction, LAKE, other))
    service.write(
        ADMIN,
        lambda transaction: statements.put(transaction, LAKE, {**other, "id": "his"}, "terraform"),
    )
    mine = {"statement": [{**other, "privileges": ["MODIFY_TABLE"]}]}
    with pytest.raises(Conflict, match="`other` already exists and has no mark"):
        planned(service, mine)
    made = applied(service, mine, adopts=True)
    (told,) = [h for h in made.access.held if h.gained and not h.technical]
    assert (made.access.gained, told.privileges) == (0, ("MODIFY_TABLE",))
    assert {need.privilege for need in told.idle[0].lacks} == {"USE_CATALOG", "USE_SCHEMA"}
    assert planned(service, mine).is_empty
    with pytest.raises(Conflict, match="`his` already exists and has the mark `terraform`"):
        planned(service, {"statement": [{**other, "id": "his"}]}, adopts=True)
    with pytest.raises(Conflict, match="the mark `policy`"):
        service.write(ADMIN, lambda transaction: statements.remove(transaction, LAKE, "other"))


def test_a_plan_is_refused_once_the_realm_or_its_people_have_changed(
    service: DecisionService,
) -> None:
    made = planned(service, FILE)
    dan = Principal("user", "dan")
    change = PrincipalChanged(dan, True)
    service.write(SYSTEM, lambda transaction: transaction.change(people_of(DIRECTORY), change))
    with pytest.raises(Conflict, match="has changed since revision"):
        done(service, FILE, made)
    made = planned(service, FILE)
    system = service.state.realm(LAKE).system
    table = system.entity("table:lk:c.s.new")
    added = EntityAdded(table, system.spelling.parent(table))
    service.write(SYSTEM, lambda transaction: transaction.change(LAKE, added))
    with pytest.raises(Conflict, match="plan again"):
        done(service, FILE, made)
    assert not allowed(service, "ana", "table:lk:c.s.t")


def test_a_plan_outlives_what_no_access_depends_on(service: DecisionService) -> None:
    made = planned(service, FILE)
    system = service.state.realm(LAKE).system
    table, schema = system.entity("table:lk:c.s.t"), system.entity("schema:lk:c.s")
    profile = ValueChanged(table, "datasetProfile", 1, "m", {"rows": 1})
    linked = LinkChanged(link(Asset(LAKE, table), Asset(LAKE, schema)), "")

    def write(transaction: WriteTransaction) -> None:
        transaction.change(LAKE, profile)
        transaction.change(people_of(DIRECTORY), linked)

    service.write(SYSTEM, write)
    assert done(service, FILE, made).edits == made.edits


def test_only_what_the_plan_showed_is_applied(service: DecisionService) -> None:
    made = planned(service, FILE)
    wider = {**FILE, "statement": [{**READ, "on": "catalog:lk:c"}]}
    with pytest.raises(Conflict, match="the files have changed since the plan"):
        done(service, wider, made)
    assert planned(service, FILE).edits == made.edits


def test_a_plan_of_a_revision_that_is_not_there_is_refused(service: DecisionService) -> None:
    made = planned(service, FILE)
    with pytest.raises(Conflict, match="plan again"):
        apply_plan(
            service, ADMIN, LAKE, [("f", FILE)], revision=made.revision + 1, digest=made.digest
        )


def test_a_keeper_has_a_readable_name(service: DecisionService) -> None:
    assert planned(service, EMPTY, keeper="k" * 200).is_empty
    with pytest.raises(LimitExceeded):
        planned(service, EMPTY, keeper="k" * 201)
    for keeper in ("", "a\nb"):
        with pytest.raises(BadInput):
            planned(service, EMPTY, keeper=keeper)


def test_two_keepers_do_not_meddle(service: DecisionService) -> None:
    applied(service, FILE, keeper="readers")
    mine = {"members": {"role:lk:readers": ["user:cid"]}}
    applied(service, mine, keeper="team")
    assert allowed(service, "cid", "table:lk:c.s.t")
    assert planned(service, FILE, keeper="readers").is_empty
    applied(service, EMPTY, keeper="team")
    assert allowed(service, "ana", "table:lk:c.s.t")
    assert not allowed(service, "cid", "table:lk:c.s.t")


def test_a_role_goes_only_with_every_statement_that_names_it(service: DecisionService) -> None:
    applied(service, FILE)
    other = {**READ, "id": "other"}
    service.write(ADMIN, lambda transaction: statements.put(transaction, LAKE, other))
    with pytest.raises(
        Conflict, match="`lk:readers` cannot be removed: statement `other` names it"
    ):
        planned(service, EMPTY)
    service.write(ADMIN, lambda transaction: statements.remove(transaction, LAKE, "other"))
    mask = {"id": "hidden", "effect": "mask", "on": "table:lk:c.s.t", "expression": "null"}
    excepted = {**mask, "to": [], "except": ["role:lk:readers"]}
    service.write(ADMIN, lambda transaction: statements.put(transaction, LAKE, excepted))
    with pytest.raises(Conflict, match="statement `hidden` names it"):
        planned(service, EMPTY)


def test_an_export_is_a_policy_without_changes(service: DecisionService) -> None:
    applied(service, FILE)
    table = written(current(service.state.realm(LAKE)), LAKE)
    assert table["roles"] == ["lk:readers"]
    adopted = planned(service, table, adopts=True)
    assert (adopted.edits, adopted.access.held) == ((), ())
    done(service, table, adopted)
    assert planned(service, table).is_empty
    fresh = DecisionService(service.store, clock=service.clock)
    fresh.open()
    assert planned(fresh, table).is_empty


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"states": []}, "f: unknown key `states`"),
        ({"realm": "other"}, "f.realm: is for realm `other`, not `lake`"),
        ({"members": {"nobody": []}}, "f.members: expected `user:NAME`"),
        ({"members": {"service-admins": ["user:ana"]}}, "are set in the configuration"),
        ({"members": {"role:lk:no": ["user:ana"]}}, "role `lk:no` is not stored; name it"),
        ({"statement": [{**READ, "on": "schema:lk:c.nope"}]}, "which is not stored"),
        ({"statement": [{**READ, "id": "implied:x"}]}, "must not start with `implied:`"),
        ({"statement": [{**READ, "privileges": "NOPE"}]}, "unknown privilege `NOPE`"),
        ({"statement": {}}, "expected a list of tables"),
        ({"statement": [{**READ, "valid_from": inf}]}, "`read` has an infinite time"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_place(
    service: DecisionService, table: object, message: str
) -> None:
    with pytest.raises(BadInput) as caught:
        plan(service, ADMIN, LAKE, [("f", table)])
    assert message in str(caught.value)


def test_an_id_is_used_in_one_file_only(service: DecisionService) -> None:
    with pytest.raises(BadInput, match="id `read` is used in `a` too"):
        plan(service, ADMIN, LAKE, [("a", FILE), ("b", FILE)])


def test_a_default_that_nobody_may_change_is_no_part_of_a_policy(tmp_path: Path) -> None:
    with opened(tmp_path, "datahub") as service:
        found = service.state.realm(LAKE)
        fixed = [t for t in found.system.model.defaults if not t.get("editable")]
        first = str(fixed[0]["id"])
        assert first not in current(found).statements
        table = {"statement": [{"id": first, "privileges": [], "to": []}]}
        with pytest.raises(BadInput, match="that cannot be changed"):
            plan(service, ADMIN, LAKE, [("f", table)])


def test_planning_and_applying_need_the_right_to(service: DecisionService) -> None:
    assert isinstance(plan(service, EVE, LAKE, [("f", FILE)]), Denied)
    made = planned(service, FILE)
    found = apply_plan(
        service, EVE, LAKE, [("policy.toml", FILE)], revision=made.revision, digest=made.digest
    )
    assert isinstance(found, Denied)
    with pytest.raises(Unknown, match="unknown realm `nope`"):
        plan(service, ADMIN, "nope", [("f", FILE)])


def test_the_last_administrator_is_not_planned_away(service: DecisionService) -> None:
    deny = {
        "id": "none",
        "effect": "deny",
        "privileges": ["MANAGE_SERVER"],
        "to": ["all-users"],
        "on": "server:lakewarden",
    }
    parts = [("f", {"statement": [deny]})]
    made = plan(service, ADMIN, "_server", parts)
    assert isinstance(made, Plan)
    if made.access.lost:
        with pytest.raises(Conflict, match="no user who may grant privileges"):
            apply_plan(service, ADMIN, "_server", parts, revision=made.revision, digest=made.digest)


def test_a_plan_of_hundreds_of_statements_for_hundreds_of_people_stays_small(
    service: DecisionService,
) -> None:
    users = [f"user:person.number.{n:04}@corp.test" for n in range(300)]
    roles = [f"lk:team-{n}" for n in range(20)]
    places = ("schema:lk:c.s", "schema:lk:c.p", "catalog:lk:c", "table:lk:c.s.t", "table:lk:c.s.u")
    table = {
        "roles": roles,
        "members": {"members:lk": users, **{f"role:{r}": users[n::2] for n, r in enumerate(roles)}},
        "statement": [
            {**READ, "id": f"{role}-{place}", "to": [f"role:{role}"], "on": place}
            for role in roles
            for place in places
        ],
    }
    made = planned(service, table)
    sent = made.table()
    access = json.dumps(sent["access"])
    assert access.count("person.number.0007@") == 1
    assert len(access) < 100_000
    back = read_plan(json.loads(json.dumps(sent)), service.state.realm(LAKE).system)
    assert back == made

"""A small Trino realm pushed to a Ranger admin: drift, races, lost connections, errors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable, Unknown
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import ROLE, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, RelationRow
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.pushdown.drift import ADDED, MISSING
from lakewarden.pushdown.grants import Grant
from lakewarden.pushdown.ranger import admin
from lakewarden.pushdown.ranger.address import read_address
from lakewarden.pushdown.ranger.admin import TRIES
from lakewarden.pushdown.ranger.marks import Marks
from lakewarden.pushdown.ranger.order import steps
from lakewarden.pushdown.ranger.state import ITEMS, Held, held, holders
from lakewarden.service.realm import Realm
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import load_system
from lakewarden.testing.world_draft import NOW
from tests.pushdown.estate import STORE
from tests.pushdown.ranger.admin_server import Ranger, serving
from tests.pushdown.ranger.worlds import Told, ranger_of, told

SETTINGS = {"trino": "on"}
COLUMN = "column:lk:c.sales.clients.iban"
ALL = [f"table:lk:c.sales.{name}" for name in ("orders", "clients", "items")]
READ: dict[str, Any] = {"id": "read", "privileges": ["SELECT_TABLE"], "on": "schema:lk:c.sales",
                        "to": ["role:lk:reader"]}  # fmt: skip
USING: list[dict[str, Any]] = [
    {"id": one, "privileges": [one], "on": "catalog:lk:c", "to": ["members:lk"]}
    for one in ("USE_CATALOG", "USE_SCHEMA")
]
WRITE: dict[str, Any] = {"id": "write", "privileges": ["MODIFY_TABLE"], "on": ALL[0],
                         "to": ["user:bo"]}  # fmt: skip
EU: dict[str, Any] = {"id": "eu", "effect": "filter", "on": ALL[0], "to": ["user:bo"],
                      "expression": "region = 'eu'"}  # fmt: skip
US = {**EU, "expression": "region = 'us'"}
MASK: dict[str, Any] = {"id": "iban", "effect": "mask", "on": COLUMN,
                        "to": ["user:ana"], "expression": "null"}  # fmt: skip
FOREIGN: dict[str, Any] = {
    "service": "svc", "name": "all - table", "policyType": 0,
    "resources": {level: {"values": ["*"]} for level in ("catalog", "schema", "table")},
    "policyItems": [{"accesses": [{"type": "select", "isAllowed": True}], "users": ["eve"],
                     "groups": [], "roles": [], "conditions": [], "delegateAdmin": True}],
}  # fmt: skip


def realm_of(
    *stated: Mapping[str, Any],
    readers: tuple[str, ...] = ("ana", "bo"),
    more: tuple[str, ...] = (),
    tagged: Sequence[tuple[str, str]] = (),
    settings: Mapping[str, str] = SETTINGS,
) -> RealmState:
    """Three tables of a schema, four users, and the grants of these statements besides its use.

    `tagged` are entities, each with one of its tags.
    """
    system = load_system("gravitino", settings)
    names = ("metalake:lk", "catalog:lk:c", "schema:lk:c.sales", *ALL, COLUMN, *more)
    tags = [f"tag:lk:{tag}" for tag in dict.fromkeys(tag for _, tag in tagged)]
    entities = [system.entity(one) for one in (*names, *tags)]
    users = [system.principal(name) for name in ("ana", "bo", "eve", "olga")]
    reader = Principal(ROLE, "lk:reader")
    facts = Facts(
        entities=[EntityRow(one, system.spelling.parent(one)) for one in entities],
        principals=[*users, reader],
        memberships=[
            *(MembershipRow(one, members_of("lk")) for one in users),
            *(MembershipRow(one, reader) for one in users if one.name in readers),
        ],
        relations=[
            RelationRow("tag", system.entity(one), system.entity(f"tag:lk:{tag}"))
            for one, tag in tagged
        ],
        statements=read_statements([*USING, *stated], system.model, system.spelling, "statements"),
    )
    matrix = Matrix(compile(facts, system.model, system.spelling, now=NOW))
    return RealmState(Realm("lake", "gravitino", settings=settings), system, matrix, People())


@pytest.fixture(name="ranger")
def _ranger() -> Iterator[Ranger]:
    with serving(ranger_of("trino")) as ranger:
        yield ranger


@pytest.fixture(name="one")
def _one(ranger: Ranger) -> Told:
    return told(ranger, "lk")


def state_of(ranger: Ranger) -> Held:
    marks, roles = Marks("rg", STORE), ranger.roles.values()
    return copy.deepcopy(held(marks, {}, ranger.policies.values(), roles))


def test_a_push_is_done_once_and_reset_takes_it_back(ranger: Ranger, one: Told) -> None:
    ranger.put_policy(copy.deepcopy(FOREIGN))
    ranger.put_role({"name": "lw_rg_readers", "users": [{"name": "eve"}]})
    realm = realm_of(READ, WRITE, EU, MASK)
    assert one.push(realm) > 0
    assert one.push(realm) == 0
    who = holders(state_of(ranger))
    orders, clients = ("c", "sales", "orders"), ("c", "sales", "clients")
    assert who[Grant(("c", "sales", "clients", "*"), "select")] == {"ana", "bo"}
    assert who[Grant(orders, "row filter (\"region\" = 'eu')")] == {"bo"}
    assert who[Grant((*clients, "iban"), "mask MASK_NULL")] == {"ana"}
    assert all(one["policyLabels"] == ["lakewarden", f"lakewarden:rg:{STORE}"]
               for one in ranger.policies.values() if one["name"] != "all - table")  # fmt: skip
    found = one.drift(realm)
    assert found.differences == []
    assert [(each.grant.privilege, each.users, each.denied) for each in found.foreign] == [
        (privilege, ("eve",), ("eve",)) for privilege in ("delegateAdmin", "select")
    ]
    assert {each.grantee for each in found.foreign} == {"user eve by all - table"}
    one.reset()
    assert [policy["name"] for policy in ranger.policies.values()] == ["all - table"]
    assert [role["name"] for role in ranger.roles.values()] == ["lw_rg_readers"]


def _first(ranger: Ranger, access: str, level: str = "table") -> dict[str, Any]:
    return next(
        policy
        for policy in ranger.policies.values()
        if "sales" in policy["resources"].get("schema", {"values": ()})["values"]
        and level in policy["resources"]
        and policy["name"] != "all - table"
        and any(
            each["type"] == access for item in policy["policyItems"] for each in item["accesses"]
        )
    )


def _add_user(ranger: Ranger) -> None:
    _first(ranger, "select")["policyItems"][0]["users"] = ["eve"]


def _disable(ranger: Ranger) -> None:
    _first(ranger, "select")["isEnabled"] = False


def _delete(ranger: Ranger) -> None:
    del ranger.policies[_first(ranger, "insert")["id"]]


def _rename(ranger: Ranger) -> None:
    _first(ranger, "select")["name"] = "readers, by hand"


def _unlabel(ranger: Ranger) -> None:
    _first(ranger, "select")["policyLabels"] = []


def _deny(ranger: Ranger) -> None:
    policy = _first(ranger, "select")
    policy["denyPolicyItems"] = copy.deepcopy(policy["policyItems"])


def _widen(ranger: Ranger) -> None:
    _first(ranger, "select")["resources"]["table"]["values"] = ["*"]


def _exclude(ranger: Ranger) -> None:
    _first(ranger, "select")["resources"]["table"]["isExcludes"] = True


def _beside(ranger: Ranger) -> None:
    _first(ranger, "select")["additionalResources"] = [{"catalog": {"values": ["c"]}}]


def _delegate(ranger: Ranger) -> None:
    _first(ranger, "select")["policyItems"][0]["delegateAdmin"] = True


def _condition(ranger: Ranger) -> None:
    at_night = {"type": "accessed-after-expiry", "values": ["no"]}
    _first(ranger, "select")["policyItems"][0]["conditions"] = [at_night]


def _drop_mask(ranger: Ranger) -> None:
    for id in [id for id, each in ranger.policies.items() if each["policyType"] == 1]:
        del ranger.policies[id]


def _loosen(ranger: Ranger) -> None:
    for each in ranger.policies.values():
        for item in each["rowFilterPolicyItems"]:
            item["rowFilterInfo"]["filterExpr"] = "true"


def _join(ranger: Ranger) -> None:
    for role in ranger.roles.values():
        role["users"] = [*role["users"], {"name": "eve", "isAdmin": True}]


def _leave(ranger: Ranger) -> None:
    for role in ranger.roles.values():
        role["users"] = role["users"][1:]


EDITS: Mapping[str, tuple[Callable[[Ranger], None], str]] = {
    "add a user": (_add_user, "user eve"),
    "disable": (_disable, "isEnabled False"),
    "delete": (_delete, "insert"),
    "rename": (_rename, "name readers, by hand"),
    "take the label": (_unlabel, "labels"),
    "deny": (_deny, "denyPolicyItems"),
    "widen": (_widen, "'*'"),
    "exclude": (_exclude, "'* but "),
    "name more": (_beside, "path=('c',), privilege='select'"),
    "delegate": (_delegate, "privilege='delegateAdmin'"),
    "put a condition": (_condition, "content "),
    "drop the mask": (_drop_mask, "mask MASK_NULL"),
    "loosen the filter": (_loosen, "row filter true"),
    "join roles": (_join, "user eve, who may change it"),
    "leave roles": (_leave, "user "),
}


@pytest.mark.parametrize("edit", EDITS)
def test_drift_names_what_others_did_and_a_push_undoes_it(
    edit: str, ranger: Ranger, one: Told
) -> None:
    realm = realm_of(READ, WRITE, EU, MASK)
    ranger.put_policy(copy.deepcopy(FOREIGN))
    one.push(realm)
    before, others = state_of(ranger), copy.deepcopy(ranger.policies[1])
    change, said = EDITS[edit]
    change(ranger)
    differences = one.drift(realm).differences
    assert any(said in str(each) for each in differences), differences
    assert {each.kind for each in differences} <= {MISSING, ADDED}
    assert one.push(realm) > 0
    assert state_of(ranger).same(before)
    assert ranger.policies[1] == others
    assert one.drift(realm).differences == []


# --- no access is opened on the way ---


def _users_with(items: list[dict[str, Any]], roles: Mapping[str, frozenset[str]]) -> set[str]:
    return {
        user
        for item in items
        for user in (*item["users"], *(one for role in item["roles"] for one in roles[role]))
    }


Views = Mapping[tuple[str, str], tuple[str, frozenset[str]]]


def views(ranger: Ranger) -> tuple[set[tuple[str, str, str]], Views]:
    """The users' accesses on tables, and each reader's view: the condition, the masks.

    Computed from the admin's contents, like Ranger does: the first matching filter.
    """
    roles: dict[str, frozenset[str]] = {}
    stored = {role["name"]: role for role in ranger.roles.values()}

    def users(name: str) -> frozenset[str]:
        direct = frozenset(one["name"] for one in stored[name]["users"])
        return direct.union(*(users(one["name"]) for one in stored[name]["roles"]))

    roles = {name: users(name) for name in stored}
    access: set[tuple[str, str, str]] = set()
    filters: dict[tuple[str, str], str] = {}
    masks: dict[tuple[str, str], set[str]] = {}
    for policy in ranger.policies.values():
        if not policy["isEnabled"] or "table" not in policy["resources"]:
            continue
        for table in policy["resources"]["table"]["values"]:
            for item in policy["policyItems"]:
                for user in _users_with([item], roles):
                    access |= {(user, table, one["type"]) for one in item["accesses"]}
            for item in policy["rowFilterPolicyItems"]:
                for user in _users_with([item], roles):
                    filters.setdefault((user, table), item["rowFilterInfo"]["filterExpr"])
            for user in _users_with(policy["dataMaskPolicyItems"], roles):
                masks.setdefault((user, table), set()).update(
                    policy["resources"]["column"]["values"]
                )
    seen = {
        (user, table): (filters.get((user, table), ""), frozenset(masks.get((user, table), ())))
        for user, table, one in access
        if one == "select"
    }
    return access, seen


def check_never_more(
    now: tuple[set[tuple[str, str, str]], Views],
    sides: list[tuple[set[tuple[str, str, str]], Views]],
) -> None:
    """Every access and every view of a user exists on one of the two sides."""
    access, seen = now
    assert access <= set().union(*(side[0] for side in sides)), access
    for key, (condition, masks) in seen.items():
        allowed = [side[1][key] for side in sides if key in side[1]]
        assert any(
            (not other or condition == other) and hidden <= masks for other, hidden in allowed
        ), (key, condition, masks, allowed)


Two = tuple[RealmState, RealmState]
ON_ORDERS = {**MASK, "on": ALL[0], "to": ["user:bo"]}
CHANGES: Mapping[str, Callable[[], Two]] = {
    "all at once": lambda: (realm_of(), realm_of(READ, WRITE, EU, MASK)),
    "all gone": lambda: (realm_of(READ, WRITE, EU, MASK), realm_of()),
    "mask for filter": lambda: (realm_of(READ, EU), realm_of(READ, ON_ORDERS)),
    "filter for mask": lambda: (realm_of(READ, ON_ORDERS), realm_of(READ, EU, WRITE)),
    "a reader goes as limits do": lambda: (
        realm_of(READ, WRITE, EU, MASK),
        realm_of(READ, readers=("ana",)),
    ),
    "another condition": lambda: (
        realm_of(READ, WRITE, EU, MASK),
        realm_of(READ, US, readers=("bo", "eve")),
    ),
}
"""Realms before and after changes that affect access, filters and masks at once."""


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", ["mask for filter", "a reader goes as limits do"])
def test_a_push_that_is_killed_opens_nothing_and_goes_on(name: str) -> None:
    """Killed at a few requests; nightly at each."""
    check_kills(CHANGES[name](), 17)


@pytest.mark.nightly
@pytest.mark.parametrize("name", CHANGES)
def test_a_push_that_is_killed_at_any_request_opens_nothing(name: str) -> None:
    check_kills(CHANGES[name](), 1)


def _killed_at(
    ranger: Ranger, before: RealmState, after: RealmState, number: int, when: str
) -> bool:
    """Whether the push reached that request, which was the first without a response."""
    one = told(ranger, "lk")
    one.push(before)
    old = views(ranger)
    made = one.plan(after)
    done = ranger.changes
    ranger.lose = lambda count: (
        "" if count < done + number else when if count == done + number else "before"
    )
    try:
        one.push(after)
        killed = False
    except Unavailable:
        killed = True
    middle = views(ranger)
    ranger.lose = lambda _: ""
    if killed:
        assert one.target.journal
        assert one.drift(after).differences == []
        assert one.plan(after).resumes(made.digest)
    one.push(after)
    check_never_more(middle, [old, views(ranger)])
    assert not one.target.journal
    assert not one.plan(after).is_pending
    assert one.drift(after).differences == []
    return killed


Kills = Callable[[Ranger, RealmState, RealmState, int, str], bool]
"""Whether a push from one realm to the next reached the numbered request, which is lost."""


def check_kills(
    two: Two,
    step: int,
    makes: Callable[[], Ranger] = lambda: ranger_of("trino"),
    killed_at: Kills = _killed_at,
) -> None:
    """Loses one in so many requests, or its response, each time with a new Ranger."""
    number, lost = 1, True
    while lost:
        lost = False
        for when in ("before", "after"):
            with serving(makes()) as ranger:
                lost |= killed_at(ranger, *two, number, when)
        number += step


def test_an_answer_that_has_no_end_is_given_up(
    ranger: Ranger, one: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin, "ANSWER_SECONDS", -1.0)
    with pytest.raises(Unavailable, match="cannot be reached: the response took over"):
        one.plan(realm_of(READ))


def test_a_lost_answer_is_asked_for_again(ranger: Ranger, one: Told) -> None:
    ranger.lose = lambda count: "after" if count % 3 == 0 else "before" if count % 3 == 1 else ""
    realm = realm_of(READ, WRITE, EU, MASK)
    one.push(realm)
    assert not one.plan(realm).is_pending
    assert one.slept > 0


TABLE = {"catalog": {"values": ["c"]}, "schema": {"values": ["s"]}, "table": {"values": ["t"]}}
READERS = {"r": {"users": [["ana", False]]}}


def _policy(type: int, column: str, priority: int = 0, **says: object) -> dict[str, Any]:
    """A policy on the table, or on its columns of that name, for one role."""
    resources = {**TABLE, **({"column": {"values": [column]}} if column else {})}
    item = {"accesses": ["select"], "roles": ["r"], **says}
    name = f"{type} {column} {priority}"
    content = {"name": name, "type": type, "labels": [], "resources": resources}
    return {**content, **({"policyPriority": priority} if priority else {}), ITEMS[type]: [item]}


def _side(condition: str, *masks: tuple[str, str, int]) -> Held:
    """A readable table, with a filter and masks: the column, the shown value, the priority."""
    made = [_policy(0, "*")] + ([_policy(2, "", filter=condition)] if condition else [])
    made += [
        _policy(1, column, priority, mask={"dataMaskType": "MASK_NULL"} if shown == "NULL" else
                {"dataMaskType": "CUSTOM", "valueExpr": shown})
        for column, shown, priority in masks
    ]  # fmt: skip
    return Held({one["name"]: one for one in made}, READERS)


def _seen(policies: Mapping[str, Any]) -> tuple[str, set[str]]:
    """The condition, and the possible values of a column, whichever policy Ranger takes first."""
    condition, shown = "", set()
    for one in policies.values():
        first = one[ITEMS[one["type"]]][0]
        condition = first.get("filter", condition)
        if "mask" in first:
            shown.add(first["mask"].get("valueExpr", "NULL"))
    return condition, shown or {""}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (_side("", ("x", "NULL", 0)), _side("eu", ("x", "last4", 0))),
        (_side("eu", ("x", "last4", 0)), _side("", ("x", "NULL", 0))),
        (_side("", ("*", "NULL", 0)), _side("eu", ("x", "last4", 1))),
        (_side("eu", ("x", "last4", 1)), _side("", ("*", "NULL", 0))),
        (_side("eu", ("x", "last4", 0)), _side("us", ("x", "first4", 0))),
        (_side("eu", ("x", "last4", 0)), _side("eu", ("x", "first4", 0))),
    ],
)
def test_rows_of_one_side_are_never_shown_with_values_of_the_other(
    before: Held, after: Held
) -> None:
    now = dict(before.policies)
    sides = [_seen(before.policies), _seen(after.policies)]
    for step in steps(before, after):
        if step.content is None:
            del now[step.name]
        else:
            now[step.name] = step.content
        condition, shown = _seen(now)
        for value in shown:
            assert any(rows in ("", condition) and value in ("NULL", *values)
                       for rows, values in sides), (step, condition, shown)  # fmt: skip
    assert now == after.policies


# --- impossible pushes ---


def test_a_policy_of_others_on_the_same_resources_stays(ranger: Ranger, one: Told) -> None:
    """Ranger refuses a second policy on the same resources; without the filter, no read."""
    realm = realm_of(READ, EU)
    one.push(realm)
    filters = [each for each in ranger.policies.values() if each["policyType"] == 2]
    one.reset()
    item = {**filters[0]["rowFilterPolicyItems"][0], "roles": [], "users": ["olga"]}
    own = {"name": "own filter", "guid": "", "rowFilterPolicyItems": [item]}
    ranger.put_policy({**copy.deepcopy(filters[0]), **own})
    one.push(realm)
    made = one.plan(realm)
    assert any("`own filter`" in residue.why for residue in made.residues)
    assert not any(table == "orders" for _, table in views(ranger)[1])
    assert "own filter" in {each["name"] for each in ranger.policies.values()}


def test_errors_say_what_to_do(ranger: Ranger, one: Told) -> None:
    realm = realm_of(READ)
    for status, error, said in (
        (401, BadInput, "does not know the user `ops`"),
        (403, BadInput, "administrator of the service"),
        (500, Unavailable, "responded with 500"),
        (503, Unavailable, "cannot be reached"),
    ):
        ranger.status = status
        with pytest.raises(error, match=said):
            one.plan(realm)
    assert len(ranger.requests) == 3 + TRIES
    ranger.status = 0
    ranger.type = "hbase"
    ranger.definition["name"] = "hbase"
    with pytest.raises(BadInput, match="of type `hbase`; expected one of: hdfs, hive, kafka"):
        one.plan(realm)
    one.file_system = "hdfs://nn"
    ranger.type = "hive"
    with pytest.raises(BadInput, match="of type `hive` does not accept `\\?file_system"):
        one.plan(realm)
    one.file_system = ""
    ranger.type = "hive"
    with pytest.raises(BadInput, match="has no resource `database`"):
        one.plan(realm)
    ranger.service = "renamed"
    lost = replace(one, ranger=replace(ranger, service="svc"))
    with pytest.raises(Unknown, match="svc"):
        lost.plan(realm)


@pytest.mark.parametrize("other", ["Orders", "ORDERS", "\u0130tems", "\u0131tems"])
def test_names_that_ranger_takes_for_one_another_are_left_out(
    other: str, ranger: Ranger, one: Told
) -> None:
    """Its own definitions ignore case, so a policy would apply to both."""
    realm = realm_of(READ, more=(f"table:lk:c.sales.{other}",))
    one.push(realm)
    told_of = {table for _, table in views(ranger)[1]}
    hidden = "orders" if other.lower() == "orders" else "items"
    assert told_of & {"orders", "clients", "items"} == {"orders", "clients", "items"} - {hidden}
    left = {residue.entity for residue in one.plan(realm).residues if "case" in residue.why}
    assert left == {f"table:lk:c.sales.{hidden}"}


def test_topics_are_not_told_where_ranger_takes_others_for_them() -> None:
    ranger = ranger_of("kafka")
    for each in ranger.definition["resources"]:
        each["matcherOptions"] = {**each["matcherOptions"], "ignoreCase": "true"}
    with serving(ranger), pytest.raises(BadInput, match="set `ignoreCase` of it to `false`"):
        told(ranger, "lk", "c").plan(realm_of())


def test_what_others_change_meanwhile_is_a_conflict(ranger: Ranger, one: Told) -> None:
    one.push(realm_of(READ))
    realm = realm_of(READ, readers=("ana",))
    with one.session(realm) as session:
        made = session.plan(realm, NOW)
        changed = next(step for step in made.steps if step.key.startswith("policy"))
        del ranger.policies[made.held.policy_ids[changed.name]]
        with pytest.raises(Conflict):
            session.apply(made)


@pytest.mark.parametrize(
    "address",
    [
        "ranger+https://host/svc",
        "ranger+https://ops:pw@host",
        "ranger+ftp://ops:pw@host/svc",
        "ranger+https://ops:pw@host/svc/more",
        "ranger+https://ops:pw@host/svc?rate=0",
        "ranger+https://ops:pw@host/svc?verify=no",
        "ranger+https://ops:pw@host:port/svc",
        "ranger+https://ops:pw@host/svc?file_system=namenode:8020",
        "ranger+https://ops:pw@host/svc?file_system=hdfs:///data",
    ],
)
def test_an_address_that_cannot_be_is_refused_without_the_password(address: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_address(address)
    assert "pw" not in str(refused.value)

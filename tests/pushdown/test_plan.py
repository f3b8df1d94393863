"""Steps reach the wanted state, and on the way nobody has more than before or after."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lakewarden.pushdown.grants import (
    GRANTABLE,
    Grant,
    MaskingView,
    Role,
    Roles,
    RowPolicy,
    as_data,
    from_data,
)
from lakewarden.pushdown.plan import Act, Step, access_changes, named, replaced, steps

USERS = st.sampled_from(["ana", "bo", "cy", "dee"])
GRANTS = st.sampled_from(
    [
        Grant((), "CONNECT"),
        *(Grant(("s", t), p) for t in "tu" for p in ("SELECT", "INSERT")),
        *(Grant(("s", "t", c), "SELECT") for c in "ab"),
        Grant(("s", "t"), "SELECT WITH GRANT OPTION"),
    ]
)
POLICIES = st.builds(RowPolicy, st.just(("s", "t")), st.sampled_from(["true", "a = 1"]))
VIEWS = st.builds(
    MaskingView,
    st.sampled_from([("s", "t"), ("s", "u")]),
    st.sampled_from([(("a", "NULL"), ("b", "")), (("a", ""),)]),
    st.sampled_from(["true", "a = 1"]),
)
ROLES = st.builds(
    Role,
    st.frozensets(USERS, min_size=1),
    st.frozensets(GRANTS, min_size=1),
    st.frozensets(POLICIES, max_size=1),
    st.frozensets(VIEWS, max_size=2),
)
WANTED = st.lists(ROLES, max_size=5, unique_by=lambda role: role.members)
NOBODY = Role(frozenset())


def simulated(held: Roles, done: Iterable[Step]) -> Roles:
    """A target's state after some steps."""
    roles: dict[str, Role] = dict(held.roles)
    for step in done:
        role = roles.get(step.role, Role(frozenset()))
        member = frozenset({step.member})
        grant = frozenset() if step.grant is None else frozenset({step.grant})
        policy = frozenset() if step.policy is None else frozenset({step.policy})
        view = frozenset() if step.view is None else frozenset({step.view})
        match step.act:
            case Act.DROP_ROLE:
                del roles[step.role]
            case Act.CREATE_ROLE:
                roles[step.role] = role
            case Act.REVOKE_MEMBER:
                roles[step.role] = replace(role, members=role.members - member)
            case Act.ADD_MEMBER:
                roles[step.role] = replace(role, members=role.members | member)
            case Act.REVOKE:
                roles[step.role] = replace(role, grants=role.grants - grant - lost(step, role))
            case Act.GRANT:
                roles[step.role] = replace(role, grants=role.grants | grant)
            case Act.DROP_POLICY:
                roles[step.role] = replace(role, policies=role.policies - policy)
            case Act.ADD_POLICY:
                roles[step.role] = replace(role, policies=role.policies | policy)
            case Act.DROP_VIEW:
                roles[step.role] = replace(role, views=role.views - view)
            case Act.ADD_VIEW:
                roles[step.role] = replace(role, views=role.views | view)
    return Roles(roles)


def lost(step: Step, role: Role) -> frozenset[Grant]:
    """What databases revoke with a privilege on a table: the same on its columns."""
    path, privilege = (step.grant.path, step.grant.privilege) if step.grant else ((), "")
    plain = privilege.removesuffix(GRANTABLE)
    return frozenset(
        one for one in role.grants if (one.path[:-1], one.privilege) == (path, plain)
        and len(one.path) == 3
    )  # fmt: skip


def readers(of: Roles) -> dict[MaskingView, frozenset[str]]:
    found: dict[MaskingView, frozenset[str]] = {}
    for role in of.roles.values():
        for view in role.views:
            found[view] = found.get(view, frozenset()) | role.members
    return found


@given(WANTED, WANTED)
def test_nobody_has_more_on_the_way(first: list[Role], second: list[Role]) -> None:
    held = named(first, Roles(), Roles(), "lw_")
    desired = named(second, held, Roles(), "lw_")
    before, after = held.holders(), desired.holders()
    seen_before, seen_after = readers(held), readers(desired)
    whole = list(steps(held, desired))
    for count in range(len(whole) + 1):
        now = simulated(held, whole[:count])
        for grant, users in now.holders().items():
            assert users <= before.get(grant, frozenset()) | after.get(grant, frozenset())
        for view, users in readers(now).items():
            assert users <= seen_before.get(view, frozenset()) | seen_after.get(view, frozenset())
    assert simulated(held, whole) == desired


@given(WANTED)
def test_nothing_is_to_be_done_twice(wish: list[Role]) -> None:
    held = named(wish, Roles(), Roles(), "lw_")
    assert not list(steps(held, named(reversed(wish), held, Roles(), "lw_")))
    assert from_data(as_data(held)) == held  # type: ignore[arg-type]  # as JSON has it


def test_a_role_keeps_its_name_while_its_members_or_its_grants_stay() -> None:
    read = frozenset({Grant(("s", "t"), "SELECT")})
    more = read | {Grant(("s", "u"), "SELECT")}
    held = named([Role(frozenset({"ana"}), read)], Roles(), Roles(), "lw_")
    (name,) = held.roles
    for wish in (Role(frozenset({"ana", "bo"}), read), Role(frozenset({"ana"}), more)):
        assert [*named([wish], held, Roles(), "lw_").roles] == [name]
    other = Role(frozenset({"bo"}), more)
    assert name not in named([other], held, Roles(), "lw_").roles


def test_access_is_told_for_those_it_concerns_together() -> None:
    read = Grant(("s", "t"), "SELECT")
    held = Roles({"lw_a": Role(frozenset({"ana", "bo"}), frozenset({read}))})
    desired = Roles({"lw_b": Role(frozenset({"bo", "cy"}), frozenset({read}))})
    told = [(one.gained, one.users, one.objects) for one in access_changes(held, desired)]
    assert told == [(True, ("cy",), 1), (False, ("ana",), 1)]


def test_a_role_with_a_member_who_cannot_be_taken_out_is_made_anew() -> None:
    read = frozenset({Grant(("s", "t"), "SELECT")})
    bo = Role(frozenset({"bo"}))
    held = Roles({"lw_a": Role(frozenset({"ana", "cy"}), read), "lw_b": bo})
    desired = Roles({"lw_a": Role(frozenset({"ana"}), read)})
    assert not replaced(desired, desired).roles
    irrevocable = Roles({"lw_a": Role(frozenset({"cy"})), "lw_b": bo})
    recreated = replaced(irrevocable, desired)
    assert recreated == irrevocable
    assert [(step.act, step.role) for step in steps(held, desired, recreated)] == [
        (Act.REVOKE_MEMBER, "lw_a"),
        (Act.REVOKE, "lw_a"),
        (Act.DROP_ROLE, "lw_a"),
        (Act.DROP_ROLE, "lw_b"),
        (Act.CREATE_ROLE, "lw_a"),
        (Act.ADD_MEMBER, "lw_a"),
        (Act.GRANT, "lw_a"),
    ]

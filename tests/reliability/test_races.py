"""Many do what only one may: one wins, and what must stay true stays true (F-05)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from lakewarden.kernel.change import EntityRenamed, MembershipChanged, OwnerChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Conflict, Unknown, WardenError
from lakewarden.kernel.principal import ROLE, SERVICE_ADMINS, USER, Principal
from lakewarden.kernel.relations import MembershipRow, OwnerRow
from lakewarden.service import control, people
from lakewarden.service import grant as grants
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.desk import Desk
from lakewarden.service.plane import Plane
from lakewarden.service.realm import CONTROL
from lakewarden.service.realms import establish_control
from lakewarden.store import SqlStore, open_store
from tests.reliability import whole
from tests.reliability.estate import (
    ANA,
    OWNER,
    READ,
    REALM,
    add_tables,
    build,
    check,
    put,
    table,
    try_create,
)

ROUNDS = 5


@pytest.fixture
def store(url: str) -> Iterator[SqlStore]:
    with open_store(url) as opened:
        yield opened
        assert whole.faults(opened) == []


@pytest.fixture
def planes(store: SqlStore) -> list[Plane]:
    """Four planes on one store, each as a process of its own would have it."""
    found = [Plane(store) for _ in range(4)]
    for plane in found:
        plane.open()
    build(found[0])
    return found


def at_once(tasks: list[Callable[[], object]]) -> list[object]:
    """What each task came to, all begun together; an error of ours is what it came to."""
    together = threading.Barrier(len(tasks))

    def run(task: Callable[[], object]) -> object:
        together.wait()
        try:
            return task()
        except WardenError as error:
            return error

    with ThreadPoolExecutor(len(tasks)) as pool:
        return list(pool.map(run, tasks))


def test_of_64_who_make_one_table_one_makes_it(planes: list[Plane]) -> None:
    for number in range(ROUNDS):
        entity = table(number)
        came = at_once([lambda p=planes[n % 4]: try_create(p, entity) for n in range(64)])  # type: ignore[misc]  # noqa: B023
        assert sorted(map(str, came)) == ["False"] * 63 + ["True"]


def owners(plane: Plane, entity: Entity) -> set[Principal]:
    coded = plane.catch_up().realm(REALM).matrix.snapshot.coded
    id = coded.tree.find(entity)
    assert id is not None
    return {coded.acting.principals[owner] for owner, _ in coded.owners.of(id)}


def give_up(desk: Desk, entity: Entity, owner: Principal) -> None:
    """One of several owners leaves; the last one may not."""
    coded = desk.realm(REALM).matrix.snapshot.coded
    id = coded.tree.find(entity)
    assert id is not None
    if len(coded.owners.of(id)) == 1:
        raise Conflict("the last owner stays")
    desk.change(REALM, OwnerChanged(OwnerRow(entity, owner), False))


def test_of_two_owners_who_both_leave_one_stays(planes: list[Plane]) -> None:
    for number in range(ROUNDS):
        entity = table(number)
        add_tables(planes[0], entity)
        both = OwnerChanged(OwnerRow(entity, ANA), True)
        planes[0].write(SYSTEM, lambda desk: desk.change(REALM, both))  # noqa: B023
        came = at_once(
            [
                lambda p=plane, o=owner: p.write(SYSTEM, lambda d: give_up(d, entity, o))  # type: ignore[misc]  # noqa: B023
                for plane, owner in zip(planes, (ANA, OWNER), strict=False)
            ]
        )
        assert sum(isinstance(each, Conflict) for each in came) == 1
        assert len(owners(planes[2], entity)) == 1


def test_of_two_administrators_who_remove_each_other_one_stays(planes: list[Plane]) -> None:
    ben = Principal(USER, "ben")

    def begin(desk: Desk) -> None:
        establish_control(desk)
        people.administer(desk, "ana", "main")

    planes[0].write(SYSTEM, begin)
    for _ in range(ROUNDS):
        for user in (ANA, ben):
            row = MembershipRow(user, SERVICE_ADMINS)
            planes[0].write(SYSTEM, lambda d, u=user: people.administer(d, u.name, "main"))  # type: ignore[misc]
            planes[0].write(SYSTEM, lambda d, r=row: d.change(CONTROL, MembershipChanged(r, True)))  # type: ignore[misc]

        def remove(plane: Plane, actor: Principal, other: Principal) -> object:
            text = f"user:{other.name}"
            return plane.write(
                Actor(actor.name),
                lambda desk: people.leave_own(desk, CONTROL, text, "service-admins"),
            )

        came = at_once([lambda: remove(planes[0], ANA, ben), lambda: remove(planes[1], ben, ANA)])
        state = planes[2].catch_up()
        assert len(control.administrators(state, planes[2].clock())) == 1
        assert sum(each is None for each in came) == 1


def test_the_last_administrator_stays_however_many_try(planes: list[Plane]) -> None:
    def begin(desk: Desk) -> None:
        establish_control(desk)
        people.administer(desk, "ana", "main")

    planes[0].write(SYSTEM, begin)
    leave = lambda desk: people.leave_own(desk, CONTROL, "user:ana", "service-admins")  # noqa: E731
    came = at_once([lambda p=plane: p.write(Actor("ana"), leave) for plane in planes])  # type: ignore[misc]
    assert all(isinstance(each, Conflict) for each in came)
    assert len(control.administrators(planes[0].catch_up(), planes[0].clock())) == 1


def test_who_was_revoked_uses_the_right_no_more(planes: list[Plane]) -> None:
    """A write is decided under the lock, so after the revocation it is refused."""

    def use(desk: Desk, number: int) -> bool:
        realm = desk.realm(REALM)
        ana = Actor("ana")
        request = ana.request(realm.realm, realm.system, "table.load", key, now=desk.now)
        used = desk.allowed(REALM, request)
        if used:
            grants.give(desk, REALM, Principal(USER, f"u{number}"), {key: READ})
        return used

    for number in range(ROUNDS):
        key = table(number)
        add_tables(planes[0], key)
        put(planes[0], key, allowed=True)
        done: list[tuple[str, int]] = []

        def user(plane: Plane, each: int) -> None:
            used = plane.write(SYSTEM, lambda desk: (use(desk, each), desk.store.revision))
            done.append(("used" if used[0] else "refused", used[1]))  # noqa: B023

        def revoke() -> None:
            done.append(("revoked", put(planes[0], key, allowed=False)))  # noqa: B023

        came = at_once([*(lambda p=p, n=n: user(p, n) for n, p in enumerate(planes * 2)), revoke])
        assert came == [None] * 9
        assert check(planes[1], key) is False
        with planes[0].reading() as reading:
            outcomes = [
                row.body for row in reading.audit() if f'"{key.type}:{key.name}"' in row.body
            ]
        allowed = ['"outcome":"allow"' in body for body in outcomes]
        assert allowed == sorted(allowed, reverse=True)  # never used again once refused


def test_a_grant_that_races_with_a_rename_follows_it_or_is_refused(planes: list[Plane]) -> None:
    readers = Principal(ROLE, "lk:readers")
    for number in range(ROUNDS):
        old, new = table(f"old{number}"), table(f"new{number}")
        add_tables(planes[0], old)

        def grant(plane: Plane, to: Principal) -> None:
            def change(desk: Desk) -> None:
                if not desk.realm(REALM).matrix.snapshot.coded.is_known(old):  # noqa: B023
                    raise Unknown("entity", old.name)  # noqa: B023
                grants.give(desk, REALM, to, {old: READ})  # noqa: B023

            plane.write(SYSTEM, change)

        def rename(plane: Plane) -> None:
            plane.write(SYSTEM, lambda d: d.change(REALM, EntityRenamed(old, new.name)))  # noqa: B023

        came = at_once(
            [
                lambda: grant(planes[0], ANA),
                lambda: rename(planes[1]),
                lambda: grant(planes[2], readers),
            ]
        )
        state = planes[3].catch_up().realm(REALM)
        given = [grants.given_on(state, to, new) for to in (ANA, readers)]
        assert [bool(each) for each in given] == [came[0] is None, came[2] is None]
        assert not any(grants.given_on(state, to, old) for to in (ANA, readers))
        assert check(planes[3], new) is (came[0] is None)

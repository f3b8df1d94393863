"""Many callers attempt what only one may do: one wins, and invariants hold (F-05)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from lakewarden.kernel.change import EntityRenamed, MembershipChanged, OwnerChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Conflict, Unknown, WardenError
from lakewarden.kernel.principal import ROLE, SERVICE_ADMINS, USER, Principal
from lakewarden.kernel.relations import MembershipRow, OwnerRow
from lakewarden.service import control, people
from lakewarden.service import grant as grants
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import CONTROL
from lakewarden.service.realms import establish_control
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import SqlStore, open_store
from tests.administrators import make_administrator
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


@pytest.fixture
def store(url: str) -> Iterator[SqlStore]:
    with open_store(url) as opened:
        yield opened
        assert whole.faults(opened) == []


@pytest.fixture
def services(store: SqlStore) -> list[DecisionService]:
    """Four planes on one store, each like in a separate process."""
    found = [DecisionService(store) for _ in range(4)]
    for service in found:
        service.open()
    build(found[0])
    return found


@pytest.fixture(params=[1, pytest.param(5, marks=pytest.mark.nightly)])
def rounds(request: pytest.FixtureRequest) -> int:
    """The number of repetitions of a race."""
    number: int = request.param
    return number


def at_once(tasks: list[Callable[[], object]]) -> list[object]:
    """The results of the tasks, all started together; a result may be one of our errors."""
    together = threading.Barrier(len(tasks))

    def run(task: Callable[[], object]) -> object:
        together.wait()
        try:
            return task()
        except WardenError as error:
            return error

    with ThreadPoolExecutor(len(tasks)) as pool:
        return list(pool.map(run, tasks))


def test_of_64_who_make_one_table_one_makes_it(
    services: list[DecisionService], rounds: int
) -> None:
    for number in range(rounds):
        entity = table(number)
        came = at_once([lambda p=services[n % 4]: try_create(p, entity) for n in range(64)])  # type: ignore[misc]  # noqa: B023
        assert sorted(map(str, came)) == ["False"] * 63 + ["True"]


def owners(service: DecisionService, entity: Entity) -> set[Principal]:
    coded = service.catch_up().realm(REALM).matrix.snapshot.coded
    id = coded.tree.find(entity)
    assert id is not None
    return {coded.memberships.principals[owner] for owner, _ in coded.owners.of(id)}


def give_up(transaction: WriteTransaction, entity: Entity, owner: Principal) -> None:
    """One of several owners leaves; the last one may not."""
    coded = transaction.realm(REALM).matrix.snapshot.coded
    id = coded.tree.find(entity)
    assert id is not None
    if len(coded.owners.of(id)) == 1:
        raise Conflict("the last owner stays")
    transaction.change(REALM, OwnerChanged(OwnerRow(entity, owner), False))


def test_of_two_owners_who_both_leave_one_stays(
    services: list[DecisionService], rounds: int
) -> None:
    for number in range(rounds):
        entity = table(number)
        add_tables(services[0], entity)
        both = OwnerChanged(OwnerRow(entity, ANA), True)
        services[0].write(SYSTEM, lambda transaction: transaction.change(REALM, both))  # noqa: B023
        came = at_once(
            [
                lambda p=service, o=owner: p.write(SYSTEM, lambda d: give_up(d, entity, o))  # type: ignore[misc]  # noqa: B023
                for service, owner in zip(services, (ANA, OWNER), strict=False)
            ]
        )
        assert sum(isinstance(each, Conflict) for each in came) == 1
        assert len(owners(services[2], entity)) == 1


def test_of_two_administrators_who_remove_each_other_one_stays(
    services: list[DecisionService], rounds: int
) -> None:
    ben = Principal(USER, "ben")

    def begin(transaction: WriteTransaction) -> None:
        establish_control(transaction)
        make_administrator(transaction, "ana", "main")

    services[0].write(SYSTEM, begin)

    def administer(transaction: WriteTransaction, user: Principal) -> None:
        make_administrator(transaction, user.name, "main")
        row = MembershipRow(user, SERVICE_ADMINS)
        transaction.change(CONTROL, MembershipChanged(row, True))

    for _ in range(rounds):
        for user in (ANA, ben):
            services[0].write(SYSTEM, partial(administer, user=user))

        def remove(service: DecisionService, actor: Principal, other: Principal) -> object:
            text = f"user:{other.name}"
            return service.write(
                Actor(actor.name),
                lambda d: people.remove_realm_member(d, CONTROL, text, "service-admins"),
            )

        came = at_once(
            [lambda: remove(services[0], ANA, ben), lambda: remove(services[1], ben, ANA)]
        )
        state = services[2].catch_up()
        assert len(control.administrators(state, services[2].clock())) == 1
        assert sum(each is None for each in came) == 1


def test_the_last_administrator_stays_however_many_try(services: list[DecisionService]) -> None:
    def begin(transaction: WriteTransaction) -> None:
        establish_control(transaction)
        make_administrator(transaction, "ana", "main")

    services[0].write(SYSTEM, begin)

    def leave(transaction: WriteTransaction) -> Denied | None:
        return people.remove_realm_member(transaction, CONTROL, "user:ana", "service-admins")

    came = at_once([lambda p=service: p.write(Actor("ana"), leave) for service in services])  # type: ignore[misc]
    assert all(isinstance(each, Conflict) for each in came)
    assert len(control.administrators(services[0].catch_up(), services[0].clock())) == 1


def test_who_was_revoked_uses_the_right_no_more(
    services: list[DecisionService], rounds: int
) -> None:
    """A write is authorized under the lock, so after the revocation it is denied."""

    def use(transaction: WriteTransaction, number: int) -> bool:
        realm = transaction.realm(REALM)
        ana = Actor("ana")
        request = ana.request(realm.realm, realm.system, "table.load", key, now=transaction.now)
        used = transaction.allowed(REALM, request)
        if used:
            grants.grant_privileges(transaction, REALM, Principal(USER, f"u{number}"), {key: READ})
        return used

    for number in range(rounds):
        key = table(number)
        add_tables(services[0], key)
        put(services[0], key, allowed=True)
        done: list[tuple[str, int]] = []

        def user(service: DecisionService, each: int) -> None:
            used = service.write(
                SYSTEM, lambda transaction: (use(transaction, each), transaction.store.revision)
            )
            done.append(("used" if used[0] else "refused", used[1]))  # noqa: B023

        def revoke() -> None:
            done.append(("revoked", put(services[0], key, allowed=False)))  # noqa: B023

        came = at_once([*(lambda p=p, n=n: user(p, n) for n, p in enumerate(services * 2)), revoke])
        assert came == [None] * 9
        assert check(services[1], key) is False
        with services[0].reading() as reading:
            outcomes = [
                row.body for row in reading.audit() if f'"{key.type}:{key.name}"' in row.body
            ]
        allowed = ['"outcome":"allow"' in body for body in outcomes]
        assert allowed == sorted(allowed, reverse=True)  # never used again after a denial


def test_a_grant_that_races_with_a_rename_follows_it_or_is_refused(
    services: list[DecisionService], rounds: int
) -> None:
    def grant(service: DecisionService, to: Principal, on: Entity) -> None:
        def change(transaction: WriteTransaction) -> None:
            if not transaction.realm(REALM).matrix.snapshot.coded.is_known(on):
                raise Unknown("entity", on.name)
            grants.grant_privileges(transaction, REALM, to, {on: READ})

        service.write(SYSTEM, change)

    def rename(service: DecisionService, old: Entity, new: Entity) -> None:
        service.write(SYSTEM, lambda d: d.change(REALM, EntityRenamed(old, new.name)))

    readers = Principal(ROLE, "lk:readers")
    for number in range(rounds):
        old, new = table(f"old{number}"), table(f"new{number}")
        add_tables(services[0], old)
        came = at_once(
            [
                partial(grant, services[0], ANA, old),
                partial(rename, services[1], old, new),
                partial(grant, services[2], readers, old),
            ]
        )
        state = services[3].catch_up().realm(REALM)
        given = [grants.privileges_on(state, to, new) for to in (ANA, readers)]
        assert [bool(each) for each in given] == [came[0] is None, came[2] is None]
        assert not any(grants.privileges_on(state, to, old) for to in (ANA, readers))
        assert check(services[3], new) is (came[0] is None)

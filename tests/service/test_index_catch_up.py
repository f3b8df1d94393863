"""A realm compiled at an earlier revision and brought up to date equals the stored one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.change import (
    EntityAdded,
    EntityDropped,
    MembershipChanged,
    PrincipalChanged,
    StatementAdded,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.snapshot import Snapshot, compile
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.service import index_catch_up, realms
from lakewarden.service.actor import SYSTEM
from lakewarden.service.audit import START
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import DocumentChanged, RealmChanged
from lakewarden.service.index_catch_up import Compiled, history_mark, rows_since, start_from_index
from lakewarden.service.load import LoadResult, load_rows
from lakewarden.service.realm import DIRECTORY, people_of
from lakewarden.service.state import People, State
from lakewarden.store import SqlStore, open_store, restore
from lakewarden.testing.changes import change
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import make
from tests.agreement import harness
from tests.agreement.conftest import a_share_of_the_examples
from tests.service.opened_services import ADMIN, LAKE, furnish, opened
from tests.service.test_state import same

ANA, STAFF = Principal(USER, "ana"), Principal(GROUP, "staff")
TABLE = Entity("table", "lk:c.s.t")
seeds = st.integers(0, 2**32 - 1)
few = a_share_of_the_examples(10, by_day=3)


class Used(Exception):
    """All rows of the realm were read, which must not happen."""


def as_it_is(service: DecisionService) -> Compiled:
    """The realm as currently stored, compiled on demand."""
    with service.reading() as reading:
        system = service.state.realm(LAKE).system
        facts = reading.facts(LAKE, system)

        def snapshot(people: People) -> Snapshot:
            together = replace(
                facts, principals=[*people.principals], memberships=[*people.memberships]
            )
            return compile(together, system.model, system.spelling, now=NOW)

        return Compiled(LAKE, reading.revision, history_mark(reading), system, snapshot, "index")


def resumed(service: DecisionService, compiled: Compiled, *, rows: bool = False) -> State:
    """Another process's state from it; unless `rows`, it may not read all rows of the realm."""
    other, told = DecisionService(service.store, clock=lambda: NOW), list[Compiled]()
    with pytest.MonkeyPatch.context() as patch:
        if not rows:
            patch.setattr(index_catch_up, "from_rows", _used)
        other.open({compiled.realm: start_from_index(compiled, told.append)})
    assert rows or told == [compiled]
    return other.state


def _used(*_: object) -> None:
    raise Used


def _told(service: DecisionService, *names: str) -> None:
    """Performs an irrelevant write that the audit trail records."""
    spellings = {f"{name}@corp.test": name for name in names}
    service.write(ADMIN, lambda transaction: realms.alter(transaction, LAKE, spellings=spellings))


def loaded(service: DecisionService) -> State:
    other = DecisionService(service.store, clock=lambda: NOW)
    other.open()
    return other.state


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    """A decision service over a small lake, with some recorded writes."""
    with opened(tmp_path) as found:
        furnish(found)
        _told(found, "first")
        yield found


@pytest.mark.by_day(1)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["gravitino", "datahub", "cdap"])
@few
@given(seed=seeds)
def test_whatever_happened_since_it_is_what_loading_the_rows_gives(name: str, seed: int) -> None:
    with TemporaryDirectory() as folder, opened(Path(folder), name) as service:
        system = service.state.realm(LAKE).system
        facts = make(system, seed, harness.SMALL).facts
        try:
            assert isinstance(load_rows(service, ADMIN, LAKE, system, facts), LoadResult)
        except WardenError:
            return  # a world with a cycle
        _told(service, "first")
        compiled = as_it_is(service)
        for step in range(5):
            with service.reading() as reading:
                stored = reading.facts(LAKE, system)
            made, _ = change(system, stored, seed + step)
            service.write(SYSTEM, lambda transaction, made=made: transaction.change(LAKE, made))  # type: ignore[misc]
        found = resumed(service, compiled, rows=True)
        assert same(found, loaded(service))
        assert found.revision == service.state.revision


def test_where_nothing_happened_it_is_as_it_was(service: DecisionService) -> None:
    found = resumed(service, as_it_is(service))
    assert same(found, loaded(service))
    assert found.realm(LAKE).matrix.revision == service.state.revision


def test_rows_statements_and_people_that_came_since_are_there(service: DecisionService) -> None:
    compiled = as_it_is(service)
    scope = people_of(DIRECTORY)
    grant = Statement("g", Effect.ALLOW, frozenset({"SELECT_TABLE"}), On(TABLE), frozenset({STAFF}))
    new = Entity("table", "lk:c.s.new")
    for effects in (
        (LAKE, EntityAdded(new, Entity("schema", "lk:c.s"))),
        (LAKE, EntityDropped(Entity("table", "lk:c.s.u"))),
        (LAKE, StatementAdded(grant)),
        (LAKE, DocumentChanged(TABLE, {"comment": "of no matter"})),
        (scope, PrincipalChanged(STAFF, True)),
        (scope, MembershipChanged(MembershipRow(ANA, STAFF), True)),
        (LAKE, MembershipChanged(MembershipRow(ANA, STAFF), False)),
        (LAKE, PrincipalChanged(Principal(USER, "ben"), False)),
    ):
        service.write(SYSTEM, lambda transaction, given=effects: transaction.change(*given))  # type: ignore[misc]
    found = resumed(service, compiled)
    assert same(found, loaded(service))
    snapshot = found.realm(LAKE).matrix.snapshot
    assert snapshot.coded.is_known(new)
    assert "g" in snapshot.table.statements


def test_more_changes_than_compiling_takes_are_read_from_the_rows(
    service: DecisionService, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = as_it_is(service)
    for number in range(3):
        service.write(SYSTEM, lambda transaction, n=number: transaction.change(LAKE, _table(n)))  # type: ignore[misc]
    for module, limit in ((index_catch_up, "BULK"), (index_catch_up, "MANY")):
        with monkeypatch.context() as patch:
            patch.setattr(module, limit, 2)
            with pytest.raises(Used):
                resumed(service, compiled)
            assert same(resumed(service, compiled, rows=True), loaded(service))


def _table(number: int) -> EntityAdded:
    return EntityAdded(Entity("table", f"lk:c.s.n{number}"), Entity("schema", "lk:c.s"))


def test_a_change_that_what_was_compiled_does_not_fit_leaves_the_rows_to_decide(
    service: DecisionService,
) -> None:
    compiled = as_it_is(service)
    service.write(SYSTEM, lambda transaction: transaction.change(LAKE, _table(1)))
    wrong = replace(compiled, snapshot=as_it_is(service).snapshot)  # already has the table
    with pytest.raises(Used):
        resumed(service, wrong)
    assert same(resumed(service, wrong, rows=True), loaded(service))


# --- errors ---


def refused(service: DecisionService, compiled: Compiled) -> str:
    with pytest.raises(BadInput) as caught:
        resumed(service, compiled)
    assert str(caught.value).startswith("index: ")
    return str(caught.value).removeprefix("index: ")


def test_a_realm_that_the_store_does_not_have_is_refused(service: DecisionService) -> None:
    compiled = replace(as_it_is(service), realm="sea")
    with (
        service.reading() as reading,
        pytest.raises(BadInput, match="has no realm `sea`") as caught,
    ):
        rows_since(compiled, reading)
    assert "there are: _server, lake" in str(caught.value)


def test_other_settings_than_the_realm_has_now_are_refused(service: DecisionService) -> None:
    compiled = as_it_is(service)
    realm = service.state.realm(LAKE).realm
    changed = RealmChanged(LAKE, replace(realm, settings={"mode": "next"}))
    service.write(SYSTEM, lambda transaction: transaction.change(LAKE, changed))
    assert "with another model, or other settings, than `lake` has now" in refused(
        service, compiled
    )


def test_a_revision_that_is_still_to_come_is_refused(service: DecisionService) -> None:
    compiled = replace(as_it_is(service), revision=99)
    assert "has revision 99, but the newest of the store is" in refused(service, compiled)


def test_a_revision_that_the_feed_does_not_reach_back_to_is_refused(
    service: DecisionService,
) -> None:
    compiled = as_it_is(service)
    service.write(SYSTEM, lambda transaction: transaction.change(LAKE, _table(1)))
    store = service.store
    assert isinstance(store, SqlStore)
    store.prune(compiled.revision + 1)
    assert same(resumed(service, compiled), loaded(service))
    store.prune(compiled.revision + 2)
    said = refused(service, compiled)
    assert "which the change feed no longer contains; rebuild the index" in said


def test_a_realm_that_was_dropped_and_made_again_is_refused(service: DecisionService) -> None:
    compiled = as_it_is(service)
    realm = service.state.realm(LAKE).realm
    service.write(ADMIN, lambda transaction: realms.drop(transaction, LAKE))
    service.write(ADMIN, lambda transaction: realms.create(transaction, realm))
    assert "was built from the realm `lake`, which was dropped" in refused(service, compiled)


def test_another_store_is_refused_however_alike(service: DecisionService, tmp_path: Path) -> None:
    compiled = as_it_is(service)
    folder = tmp_path / "other"
    folder.mkdir()
    with opened(folder) as other:
        furnish(other)
        _told(other, "first", "and", "another")
        other.write(SYSTEM, lambda transaction: transaction.change(LAKE, _table(1)))
        assert "was built from another store" in refused(other, compiled)


@pytest.mark.parametrize(
    "text", ["", ":", "x:ab", "0:ab", f"0:{START}", "1", "1:ab", "99:ab", "²:ab"]
)
def test_a_mark_that_is_none_of_the_store_is_refused(service: DecisionService, text: str) -> None:
    assert "was built from another store" in refused(
        service, replace(as_it_is(service), history_mark=text)
    )


def test_what_a_backup_took_back_is_refused(service: DecisionService, tmp_path: Path) -> None:
    store = service.store
    assert isinstance(store, SqlStore)
    store.backup(tmp_path / "backup")
    _told(service, "lost")
    compiled = as_it_is(service)
    before = tmp_path / "before.db"
    restore(tmp_path / "backup", f"sqlite:///{before}")
    with open_store(f"sqlite:///{before}") as old:
        again = DecisionService(old, clock=lambda: NOW)
        again.open()
        assert "if the store was restored from a backup" in refused(again, compiled)
        _told(again, "done", "afterwards")
        assert again.state.revision == compiled.revision
        assert "that a restored backup does not have" in refused(again, compiled)


def test_the_mark_of_a_revision_is_the_one_that_the_store_had_then(
    service: DecisionService,
) -> None:
    marks = {}
    for name in ("a", "b", "c"):
        _told(service, name)
        with service.reading() as reading:
            marks[reading.revision] = history_mark(reading)
    with service.reading() as reading:
        assert {revision: history_mark(reading, revision) for revision in marks} == marks
    assert len(set(marks.values())) == 3

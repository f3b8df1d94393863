"""Loading a directory: only the differences, in an order that always works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from lakewarden.kernel.change import (
    EntityAdded,
    EntityDropped,
    MembershipChanged,
    PrincipalChanged,
    StatementAdded,
    StatementRemoved,
)
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.facts import rows_of
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, OwnerRow
from lakewarden.kernel.snapshot import Snapshot, compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service import load as loads
from lakewarden.service import statements, token
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.defaults import built_in
from lakewarden.service.effect import DocumentChanged, Effect, TokenChanged
from lakewarden.service.load import Count, LoadDifference, LoadResult, load_difference, load_rows
from lakewarden.service.realm import CONTROL
from lakewarden.service.state_builder import Scoped
from lakewarden.service.statements import MARK
from lakewarden.service.system import System, load_system
from lakewarden.service.write_health import Deadlocked
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store.writing import SqlWriting
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import make
from tests.agreement import harness
from tests.agreement.conftest import a_share_of_the_examples
from tests.service.opened_services import ADMIN, EVE, LAKE, furnish, opened

seeds = st.integers(0, 2**32 - 1)
few = a_share_of_the_examples(4, by_day=3)


def compiled(system: System, facts: Facts) -> Snapshot:
    return compile(facts, system.model, system.spelling, now=NOW)


def rows(facts: Facts) -> dict[str, set[object]]:
    found = {name: set(getattr(facts, name)) for name in Facts.__slots__ if name != "statements"}
    return {**found, "statements": {(s.id, s) for s in facts.statements}}


def stored(system: System, facts: Facts) -> dict[str, set[object]]:
    """The rows in the compiled form."""
    snapshot = compiled(system, facts)
    return rows(rows_of(snapshot.coded, snapshot.table.statements))


@pytest.mark.parametrize("name", ["gravitino", "datahub", "cdap"])
@few
@given(seed=seeds)
def test_the_effects_lead_from_any_rows_to_any_others(name: str, seed: int) -> None:
    system = harness.system(name)
    old = make(system, seed, harness.SMALL).facts
    new = make(system, seed + 1, harness.SMALL).facts
    for coded in (compiled(system, facts).coded for facts in (old, new)):
        if coded.tree.looped or coded.memberships.inert:
            return  # no write may close a cycle
    found = load_difference(old, new, system.model, prune=True)
    changes = [e for e in found.effects if not isinstance(e, DocumentChanged)]
    matrix = apply(
        Matrix(compiled(system, old)),
        changes,  # type: ignore[arg-type]
        now=NOW,
        revision=2,
    )
    snapshot = matrix.snapshot
    reached = rows(rows_of(snapshot.coded, snapshot.table.statements))
    wanted = stored(system, new)
    for table in ("entities", "relations", "attributes", "owners", "statements"):
        assert reached[table] == wanted[table], table
    assert reached["memberships"] >= wanted["memberships"]
    assert reached["principals"] >= wanted["principals"]


@pytest.mark.parametrize("name", ["gravitino", "datahub", "cdap"])
@few
@given(seed=seeds)
def test_nothing_lies_between_rows_and_themselves(name: str, seed: int) -> None:
    system = harness.system(name)
    facts = make(system, seed, harness.SMALL).facts
    found = load_difference(facts, facts, system.model, prune=True)
    assert found.effects == ()
    assert set(found.counts.values()) == {Count()}


def lake(system: System, *more: str) -> Facts:
    """A catalog, one statement, one membership, and further entities."""
    texts = ("metalake:lk", "catalog:lk:c", *more)
    entities = [system.entity(text) for text in texts]
    statement = {"id": "use", "privileges": "USE_CATALOG", "to": "user:ana", "on": "catalog:lk:c"}
    ana = system.principal("ana")
    return Facts(
        entities=[EntityRow(e, system.spelling.parent(e)) for e in entities],
        principals=[ana],
        memberships=[MembershipRow(ana, system.principal("members:lk"))],
        statements=[
            *built_in(system),
            *read_statements([statement], system.model, system.spelling, "test"),
        ],
    )


def load(service: DecisionService, facts: Facts, *, prune: bool = False) -> LoadResult:
    found = load_rows(service, ADMIN, LAKE, load_system("gravitino"), facts, prune=prune)
    assert isinstance(found, LoadResult)
    return found


def test_a_load_is_one_revision_and_a_second_one_none(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        before = service.state.revision
        facts = lake(service.state.realm(LAKE).system, "schema:lk:c.s")
        found = load(service, facts)
        assert found.revision == service.state.revision == before + 1
        assert found.gap.counts["entities"] == Count(3, 0, 0)
        assert found.gap.counts["statements"] == Count(1, 0, 0)
        again = load(service, facts, prune=True)
        assert (again.revision, again.gap.effects) == (before + 1, ())
        with service.reading() as reading:
            assert sum(1 for _ in reading.audit()) == reading.audit_head.seq >= 2


def test_what_is_gone_is_counted_and_goes_only_when_asked(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        system = service.state.realm(LAKE).system
        load(service, lake(system, "schema:lk:c.s", "table:lk:c.s.t"))
        table = system.entity("table:lk:c.s.t")
        found = load(service, lake(system))
        assert found.gap.counts["entities"] == Count(0, 0, 2)
        assert service.state.realm(LAKE).matrix.snapshot.coded.is_known(table)
        found = load(service, lake(system), prune=True)
        assert found.gap.counts["entities"] == Count(0, 0, 2)
        assert not service.state.realm(LAKE).matrix.snapshot.coded.is_known(table)


def test_an_entity_keeps_its_id_and_its_document(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        system = service.state.realm(LAKE).system
        load(service, lake(system))
        catalog = system.entity("catalog:lk:c")
        service.write(
            SYSTEM,
            lambda transaction: transaction.change(
                LAKE, DocumentChanged(catalog, {"comment": "mine"})
            ),
        )
        with service.reading() as reading:
            ids = reading.ids(LAKE, [catalog])
        load(service, lake(system, "schema:lk:c.s"), prune=True)
        with service.reading() as reading:
            assert reading.ids(LAKE, [catalog]) == ids
            assert reading.documents(LAKE, [catalog]) == {catalog: {"comment": "mine"}}


def test_a_statement_that_others_keep_is_left_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        system = service.state.realm(LAKE).system
        load(service, lake(system))
        service.write(
            SYSTEM,
            lambda transaction: transaction.change(LAKE, DocumentChanged("use", {MARK: "git"})),
        )
        facts = lake(system)
        found = load(service, replace(facts, statements=built_in(system)), prune=True)
        assert found.gap.left == ("use",)
        assert found.gap.effects == ()


def test_filters_and_masks_that_others_keep_outlive_a_table_that_is_pruned(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        system = service.state.realm(LAKE).system
        names = ("schema:lk:c.s", "table:lk:c.s.t")
        tables = [
            {"id": "git", "privileges": "SELECT_TABLE", "to": "user:ana", "on": names[1]},
            {"id": "rows", "effect": "filter", "on": names[1], "expression": "a = 1"},
            {"id": "iban", "effect": "mask", "on": f"column{names[1][5:]}.b", "expression": "null"},
        ]
        stated = read_statements(tables, system.model, system.spelling, "test")
        load(service, lake(system, *names))
        effects = [*map(StatementAdded, stated)]
        marks = [DocumentChanged(statement.id, {MARK: "git"}) for statement in stated]
        service.write(SYSTEM, lambda transaction: transaction.change(LAKE, *effects, *marks))
        found = load(service, lake(system, names[0]), prune=True)
        assert set(found.gap.left) == {"rows", "iban"}
        load(service, lake(system, *names), prune=True)
        statements = service.state.realm(LAKE).matrix.snapshot.table.statements
        assert {"rows", "iban"} <= set(statements)
        assert "git" not in statements


def test_administrators_that_the_configuration_names_are_never_pruned() -> None:
    system = load_system("gravitino")
    admin = system.principal("root")
    row = MembershipRow(admin, system.principal("service-admins"))
    found = load_difference(Facts(memberships=[row]), Facts(), system.model, prune=True)
    assert found.effects == ()


def test_an_administrator_of_lakewarden_stays_in_the_roles_that_a_system_ships() -> None:
    system = load_system("datahub")
    ana, ben = (Principal(USER, f"urn:li:corpuser:{name}") for name in ("ana", "ben"))
    shipped, other = (Principal(ROLE, f"urn:li:dataHubRole:{name}") for name in ("Admin", "Mine"))
    rows = [MembershipRow(who, of) for who in (ana, ben) for of in (shipped, other)]
    found = load_difference(
        Facts(memberships=rows), Facts(), system.model, prune=True, administrators=[ana]
    )
    gone = {e.row for e in found.effects if isinstance(e, MembershipChanged)}
    assert gone == set(rows) - {MembershipRow(ana, shipped)}


def test_a_container_is_dropped_behind_what_lies_in_it_and_made_before() -> None:
    system = load_system("gravitino")
    full, empty = lake(system, "schema:lk:c.s", "table:lk:c.s.t"), Facts()
    into = load_difference(empty, full, system.model, prune=True).effects
    added = [e.entity.type for e in into if isinstance(e, EntityAdded)]
    assert added == ["metalake", "catalog", "schema", "table"]
    out = load_difference(full, empty, system.model, prune=True).effects
    dropped = [e.entity.type for e in out if isinstance(e, EntityDropped)]
    assert dropped == ["table", "schema", "catalog", "metalake"]


def test_a_deleted_default_stays_deleted(tmp_path: Path) -> None:
    with opened(tmp_path, "datahub") as service:
        system = service.state.realm(LAKE).system
        editable = [t["id"] for t in system.model.defaults if t.get("editable")]
        first = str(editable[0])
        kept = [s for s in service.state.realm(LAKE).system.model.defaults if s["id"] != first]
        with service.reading() as reading:
            facts = reading.facts(LAKE, system)
        assert first in {s.id for s in facts.statements}
        less = replace(facts, statements=[s for s in facts.statements if s.id != first])
        found = load_rows(service, ADMIN, LAKE, system, less, prune=True)
        assert isinstance(found, LoadResult)
        assert service.state.realm(LAKE).realm.deleted == {first}
        assert kept
        assert isinstance(load_rows(service, ADMIN, LAKE, system, facts), LoadResult)
        assert service.state.realm(LAKE).realm.deleted == frozenset()


def test_rows_that_could_not_be_compiled_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path, "datahub") as service:
        system, revision = service.state.realm(LAKE).system, service.state.revision
        one, two = (system.entity(f"urn:li:container:{name}") for name in ("a", "b"))
        ring = Facts(entities=[EntityRow(one, two), EntityRow(two, one)])
        with pytest.raises(BadInput, match="are below themselves"):
            load_rows(service, ADMIN, LAKE, system, ring)
        owned = Facts(owners=[OwnerRow(one, system.principal("ana"))])
        with pytest.raises(BadInput, match="which is not stored"):
            load_rows(service, ADMIN, LAKE, system, owned)
        assert service.catch_up().revision == revision


def test_another_model_and_other_settings_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        with pytest.raises(BadInput, match="of model `gravitino`, not `cdap`"):
            load_rows(service, ADMIN, LAKE, load_system("cdap"), Facts())
        other = load_system("gravitino", {"mode": "next"})
        with pytest.raises(BadInput, match="has `mode = seed`, the directory `mode = next`"):
            load_rows(service, ADMIN, LAKE, other, Facts())
        with pytest.raises(BadInput, match="cannot be loaded from a directory"):
            load_rows(service, ADMIN, "_server", load_system("gravitino"), Facts())
        with pytest.raises(Unknown, match="unknown realm `nope`"):
            load_rows(service, ADMIN, "nope", load_system("gravitino"), Facts())


def test_how_a_realm_is_enforced_is_its_own_matter(tmp_path: Path) -> None:
    with opened(tmp_path, "datahub") as service:
        guarded = load_system("datahub", {"view_authorization": "on"})
        assert isinstance(load_rows(service, ADMIN, LAKE, guarded, Facts()), LoadResult)
        assert service.state.realm(LAKE).system.model.settings["view_authorization"] == "off"


def test_who_may_not_change_the_realm_may_not_load_into_it(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        revision = service.state.revision
        found = load_rows(service, EVE, LAKE, load_system("gravitino"), Facts())
        assert isinstance(found, Denied)
        assert service.catch_up().revision == revision


def test_what_others_change_meanwhile_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as service:
        furnish(service)
        system = service.state.realm(LAKE).system
        with service.reading() as reading:
            facts = reading.facts(LAKE, system)
        other, real = DecisionService(service.store, clock=lambda: NOW), loads.load_difference
        other.open()
        late, calls = system.entity("table:lk:c.s.late"), []

        def meanwhile(*rows: Any, **how: Any) -> LoadDifference:
            calls.append(how)
            if len(calls) == 1:
                added = EntityAdded(late, system.spelling.parent(late))
                other.write(SYSTEM, lambda transaction: transaction.change(LAKE, added))
            return real(*rows, **how)

        monkeypatch.setattr(loads, "load_difference", meanwhile)
        new = replace(facts, principals=[*facts.principals, system.principal("dan")])
        found = load_rows(service, ADMIN, LAKE, system, new, prune=True)
        assert isinstance(found, LoadResult)
        assert len(calls) == 2
        assert found.gap.counts["entities"] == Count(0, 0, 1)
        assert not service.state.realm(LAKE).matrix.snapshot.coded.is_known(late)


def mind(service: DecisionService, monkeypatch: pytest.MonkeyPatch, *more: Scoped) -> list[int]:
    """Lets another process commit during the first load; the revisions of the loads so far."""
    other, real = DecisionService(service.store, clock=lambda: NOW), loads.load_difference
    other.open()
    revisions: list[int] = []

    def change(transaction: WriteTransaction) -> None:
        for scope, effect in more:
            transaction.change(scope, effect)

    def meanwhile(*rows: Any, **how: Any) -> LoadDifference:
        if not revisions:
            other.write(SYSTEM, change)
        revisions.append(other.state.revision)
        return real(*rows, **how)

    monkeypatch.setattr(loads, "load_difference", meanwhile)
    return revisions


def test_what_another_stores_during_a_load_too_is_no_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as service:
        system = service.state.realm(LAKE).system
        facts = lake(system, "schema:lk:c.s")
        first = facts.entities[0]
        revisions = mind(service, monkeypatch, (LAKE, EntityAdded(*first)))
        assert load(service, facts).gap.counts["entities"] == Count(2, 0, 0)
        assert len(revisions) == 2


def test_a_load_that_waited_for_another_write_and_that_for_it_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, told = SqlWriting.apply, list[str]()

    def applied(writing: SqlWriting, scope: str, effects: Sequence[Effect]) -> None:
        if not told:
            told.append(scope)
            raise Deadlocked("deadlock detected")
        real(writing, scope, effects)

    with opened(tmp_path) as service:
        facts = lake(service.state.realm(LAKE).system, "schema:lk:c.s")
        monkeypatch.setattr(SqlWriting, "apply", applied)
        assert load(service, facts).gap.counts["entities"] == Count(3, 0, 0)
    assert told == [LAKE]


HELD = {"id": "eve", "privileges": ["MANAGE_REALM"], "to": ["user:eve"], "on": f"realm:{LAKE}"}
STAFF, ALL = Principal(GROUP, "staff"), Principal(GROUP, "all")


def test_rights_that_end_during_a_load_end_the_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as service:
        service.write(ADMIN, lambda d: statements.put(d, CONTROL, HELD))
        mind(service, monkeypatch, (CONTROL, StatementRemoved("eve")))
        system = load_system("gravitino")
        assert isinstance(load_rows(service, EVE, LAKE, system, lake(system)), Denied)
        assert service.catch_up().realm(LAKE).matrix.snapshot.coded.tree.stored == BitMap()


@pytest.mark.parametrize(
    ("effect", "loads"),
    [
        (lambda id: TokenChanged(id, None), 2),
        (lambda _: TokenChanged("other", None), 1),
        (lambda _: PrincipalChanged(Principal(USER, "new"), True), 1),
        (lambda _: MembershipChanged(MembershipRow(STAFF, ALL), True), 2),
    ],
    ids=["the token", "another token", "a person", "a membership"],
)
def test_a_load_is_decided_again_where_that_may_come_out_otherwise(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    effect: Callable[[str], Effect],
    loads: int,
) -> None:
    with opened(tmp_path) as service:
        issued = service.write(ADMIN, lambda d: token.create(d, ADMIN.user))
        assert not isinstance(issued, Denied)
        id = issued.token.id
        actor = Actor(ADMIN.user, credential=f"token:{id}")
        revisions = mind(service, monkeypatch, ("@main", effect(id)))
        system = load_system("gravitino")
        load_rows(service, actor, LAKE, system, lake(system))
        assert len(revisions) == loads


def test_a_circle_that_the_directory_closes_during_a_load_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as service:
        system = load_system("gravitino")
        facts = lake(system)
        nested = replace(facts, memberships=[*facts.memberships, MembershipRow(STAFF, ALL)])
        mind(service, monkeypatch, ("@main", MembershipChanged(MembershipRow(ALL, STAFF), True)))
        with pytest.raises(BadInput, match="members of themselves"):
            load_rows(service, ADMIN, LAKE, system, nested)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"id": "implied:x"}, "must not start with `implied:`"),
        ({"id": "implied:member:lk"}, "must not start with `implied:`"),
        ({"id": "a\nb"}, "control character"),
        ({"effect": "filter", "expression": "no ("}, "statement `x`.expression"),
        ({"effect": "mask", "expression": "no ("}, "statement `x`.expression"),
    ],
)
def test_a_statement_that_nobody_may_put_is_not_loaded_either(
    tmp_path: Path, wrong: dict[str, object], message: str
) -> None:
    system = load_system("gravitino")
    facts = lake(system)
    table = {"id": "x", "to": ["user:eve"], "on": "catalog:lk:c", **wrong}
    if "effect" not in wrong:
        table["privileges"] = ["USE_CATALOG"]
    made = read_statements([table], system.model, system.spelling, "test")
    with opened(tmp_path) as service:
        revision = service.state.revision
        loaded = replace(facts, statements=[*facts.statements, *made])
        with pytest.raises(BadInput, match=message):
            load_rows(service, ADMIN, LAKE, system, loaded)
        assert service.catch_up().revision == revision


def test_a_statement_that_is_stored_with_a_reserved_id_is_listed_and_removed(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as service:
        furnish(service)
        system = service.state.realm(LAKE).system
        table = {"id": "implied:x", "privileges": "USE_CATALOG", "to": "user:eve"}
        table |= {"on": "catalog:lk:c"}
        (made,) = read_statements([table], system.model, system.spelling, "test")
        service.write(SYSTEM, lambda d: d.change(LAKE, StatementAdded(made)))
        with service.reading() as reading:
            facts = reading.facts(LAKE, system)
        assert load(service, facts).gap.effects == ()
        assert set(statements.stored(service.state.realm(LAKE))) == {"implied:x"}
        assert service.write(ADMIN, lambda d: statements.remove(d, LAKE, "implied:x")) is None
        assert statements.stored(service.state.realm(LAKE)) == {}


@pytest.mark.nightly
def test_a_hundred_thousand_entities_come_and_go(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        system = service.state.realm(LAKE).system
        tables = (f"table:lk:c.s.t{number:06}" for number in range(100_000))
        found = load(service, lake(system, "schema:lk:c.s", *tables))
        assert found.gap.counts["entities"].new == 100_003
        assert load(service, lake(system, "schema:lk:c.s"), prune=True).gap.counts["entities"] == (
            0,
            0,
            100_000,
        )

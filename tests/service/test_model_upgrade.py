"""Upgrades of a custom model: planned, refused if rows become invalid, done in one revision."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.analysis.model_change import access_under
from lakewarden.kernel.change import EntityAdded, PrincipalChanged, RelationChanged, StatementAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict, Unknown
from lakewarden.kernel.relations import RelationRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect as Way
from lakewarden.kernel.statement import On, Statement
from lakewarden.models.own import ModelText
from lakewarden.service import realms
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import Effect
from lakewarden.service.model_upgrade import (
    Orphan,
    Upgrade,
    apply_upgrade,
    plan_upgrade,
    read_upgrade,
)
from lakewarden.service.realm import Realm
from lakewarden.service.replay import compare
from lakewarden.testing.world_draft import NOW
from tests.own_model import GIVEN, NAME, NO_READ, STRICTER, changed
from tests.service.opened_services import ADMIN, EVE, opened
from tests.service.test_own_models import ANA, BEN, EXPECTED, MINE, PLAN, answers, furnish

FOLDER = Entity("folder", "plans")
INSIDE = Entity("document", "inside")

NO_FOLDERS = changed(
    (
        '[types.folder]\ntitle = "folder"\nparent = ["folder", "workspace"]'
        "  # the types of its container\nowned = true\n",
        "",
    ),
    ('parent = ["folder", "workspace"]', 'parent = "workspace"'),
    ('"folder", ', ""),
    (', "folder"]', "]"),
)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    with opened(tmp_path) as service:
        service.write(ADMIN, lambda transaction: realms.create(transaction, MINE))
        furnish(service)
        more: list[Effect] = [
            EntityAdded(FOLDER, Entity("workspace", "home")),
            EntityAdded(INSIDE, FOLDER),
            *(PrincipalChanged(user, True) for user in (ANA, BEN)),
            StatementAdded(
                Statement("inside", Way.ALLOW, frozenset({"WRITE"}), On(FOLDER), frozenset({BEN}))
            ),
        ]
        service.write(ADMIN, lambda transaction: transaction.change("mine", *more))
        yield service


def planned(service: DecisionService, text: ModelText) -> Upgrade:
    found = plan_upgrade(service, ADMIN, "mine", text)
    assert isinstance(found, Upgrade)
    assert read_upgrade(found.table()) == found
    return found


def applied(service: DecisionService, text: ModelText, *, drop: bool = False) -> Upgrade:
    found = apply_upgrade(service, ADMIN, "mine", text, drop=drop)
    assert isinstance(found, Upgrade)
    return found


def test_a_rule_that_changed_is_told_with_who_loses_what(service: DecisionService) -> None:
    before = service.state.revision
    found = planned(service, STRICTER)
    assert (found.was, found.now) == (GIVEN.digest, STRICTER.digest)
    assert found.terms["operations"].changed == ("document.read",)
    assert (found.orphans, found.orphaned) == ((), {})
    (lost,) = found.access.reached
    assert (lost.operations, lost.ways, lost.gained) == (("document.read",), ("read",), False)
    assert (lost.users, lost.sample) == ((BEN,), PLAN)
    assert (found.access.lost, found.access.gained, found.access.is_whole) == (1, 0, True)
    assert service.state.revision == before
    assert answers(service) == EXPECTED


def test_what_is_applied_is_what_was_planned_and_one_revision(service: DecisionService) -> None:
    plan, before = planned(service, STRICTER), service.state.revision
    found = applied(service, STRICTER)
    assert found.access == plan.access
    assert service.state.revision == found.revision == before + 1
    assert service.state.realm("mine").realm == Realm("mine", NAME, text=STRICTER)
    assert answers(service) == [True, False, False]
    with service.reading() as reading:
        assert compare(reading) == []
        assert any(STRICTER.digest in row.body for row in reading.audit())
    assert planned(service, STRICTER).is_empty
    assert applied(service, STRICTER).is_empty
    assert service.state.revision == before + 1


def test_a_privilege_that_goes_orphans_its_statements(service: DecisionService) -> None:
    found = planned(service, NO_READ)
    assert found.terms["privileges"].gone == ("READ",)
    assert [(one.kind, one.name) for one in found.orphans] == [("statement", "read")]
    assert "unknown privilege `READ`" in found.orphans[0].reason
    before = service.state.revision
    with pytest.raises(Conflict, match=r"orphans 1 × statement, such as statement `read`"):
        apply_upgrade(service, ADMIN, "mine", NO_READ)
    assert service.state.revision == before
    applied(service, NO_READ, drop=True)
    assert set(service.state.realm("mine").matrix.snapshot.table.statements) == {"inside"}
    assert answers(service) == [True, False, False]
    with service.reading() as reading:
        assert compare(reading) == []


def test_a_type_that_goes_takes_along_what_lies_below_it(service: DecisionService) -> None:
    found = planned(service, NO_FOLDERS)
    assert found.terms["types"].gone == ("folder",)
    assert found.orphans == (
        Orphan("entity", "folder:plans", "there is no type `folder`"),
        Orphan("entity", "document:inside", "folder:plans is removed"),
        Orphan("statement", "inside", "folder:plans is removed"),
    )
    assert found.orphaned == {"entity": 2, "statement": 1}
    applied(service, NO_FOLDERS, drop=True)
    tree = service.state.realm("mine").matrix.snapshot.coded.tree
    assert [tree.find(one) is None for one in (FOLDER, INSIDE, PLAN)] == [True, True, False]
    assert set(service.state.realm("mine").matrix.snapshot.table.statements) == {"read"}
    with service.reading() as reading:
        assert compare(reading) == []


def test_a_filter_stays_where_only_its_entity_does_not_fit(service: DecisionService) -> None:
    document = '[types.document]\ntitle = "document"\n'
    rows = (document, f"{document}filtered = true\n")
    limited = {"filter": On(INSIDE), "gone": On(FOLDER)}
    applied(service, changed(rows))
    filters = [
        Statement(id, Way.FILTER, frozenset(), on, expression="a = 1") for id, on in limited.items()
    ]
    service.write(
        ADMIN,
        lambda transaction: transaction.change("mine", *map(StatementAdded, filters)),
    )
    edition = changed(rows, text=NO_FOLDERS.text)
    orphans = {one.name for one in planned(service, edition).orphans if one.kind == "statement"}
    assert orphans == {"inside", "gone"}
    applied(service, edition, drop=True)
    snapshot = service.state.realm("mine").matrix.snapshot
    assert snapshot.coded.tree.find(INSIDE) is None
    assert set(snapshot.table.statements) == {"read", "filter"}
    with service.reading() as reading:
        assert compare(reading) == []


def test_owners_and_places_that_the_edition_does_not_know_are_orphaned(
    service: DecisionService,
) -> None:
    text = changed(
        (
            'parent = ["folder", "workspace"]\nowned = true\n\n# --- privileges',
            'parent = "folder"\n\n# --- privileges',
        ),
        ('rule = "KEEPER and not denied', 'rule = "MANAGE and not denied'),
    )
    found = planned(service, text)
    assert found.orphans == (
        Orphan("entity", "document:plan", "a document cannot be a child of a workspace"),
    )
    loose = changed(
        (
            'parent = ["folder", "workspace"]\nowned = true\n\n# --- privileges',
            'parent = ["folder", "workspace"]\n\n# --- privileges',
        )
    )
    found = planned(service, loose)
    reason = "a document cannot have an owner"
    assert found.orphans == (Orphan("owner", "ana of document:plan", reason),)
    applied(service, loose, drop=True)
    assert answers(service) == [False, True, False]


RELATED = changed(
    (
        "# --- privileges",
        '[relations.about]\nfrom = "document"\nto = "document"\n\n# --- privileges granted',
    ),
)


def test_relations_that_the_edition_does_not_declare_are_orphaned(
    service: DecisionService,
) -> None:
    applied(service, RELATED)
    edge = RelationRow("about", PLAN, INSIDE)
    service.write(
        ADMIN, lambda transaction: transaction.change("mine", RelationChanged(edge, True))
    )
    assert planned(service, RELATED).is_empty
    found = planned(service, GIVEN)
    assert [(one.kind, one.name) for one in found.orphans] == [
        ("relation", "about of document:plan")
    ]
    elsewhere = changed(('from = "document"\nto', 'from = "folder"\nto'), text=RELATED.text)
    assert planned(service, elsewhere).orphaned == {"relation": 1}
    applied(service, GIVEN, drop=True)
    with service.reading() as reading:
        assert compare(reading) == []


DEFAULTS = changed(
    (
        "# --- the operations that mean",
        '[[defaults]]\nid = "guide"\nprivileges = ["READ"]\n'
        'to = "all-users"\non = "workspace:home"\n\n# --- which of these',
    ),
)


def test_default_statements_follow_the_edition(service: DecisionService) -> None:
    found = planned(service, DEFAULTS)
    assert found.access.gained > 0
    applied(service, DEFAULTS)
    statements = service.state.realm("mine").matrix.snapshot.table.statements
    assert "guide" in statements
    other = changed(('to = "all-users"', 'to = "user:ana"'), text=DEFAULTS.text)
    applied(service, other)
    statements = service.state.realm("mine").matrix.snapshot.table.statements
    assert statements["guide"].principals == {ANA}
    applied(service, GIVEN)
    assert "guide" not in service.state.realm("mine").matrix.snapshot.table.statements


def test_who_may_not_is_refused_and_what_is_no_edition_too(service: DecisionService) -> None:
    assert isinstance(plan_upgrade(service, EVE, "mine", STRICTER), Denied)
    assert isinstance(apply_upgrade(service, EVE, "mine", STRICTER), Denied)
    other = changed(('name = "documents"', 'name = "papers"'))
    with pytest.raises(BadInput, match="expected the model `documents`, got `papers`"):
        plan_upgrade(service, ADMIN, "mine", other)
    with pytest.raises(Conflict, match="has the shipped model `gravitino`"):
        plan_upgrade(service, ADMIN, "lake", GIVEN)
    with pytest.raises(Unknown):
        plan_upgrade(service, ADMIN, "none", GIVEN)


def test_after_so_many_listings_the_rest_is_said_to_be_missing(service: DecisionService) -> None:
    before = service.state.realm("mine").matrix
    applied(service, STRICTER)
    after = service.state.realm("mine").matrix
    assert access_under(before, after, NOW).is_whole
    found = access_under(before, after, NOW, limit=8)
    assert not found.is_whole
    # Differing rules are checked first.
    assert [one.operations for one in found.reached] == [("document.read",)]
    assert not after.decide(Request(BEN, "document.read", PLAN, NOW)).allow

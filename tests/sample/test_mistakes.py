"""The planted mistakes are there: each does what the sample's README says."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.sample import company
from lakewarden.service.warden import Warden
from tests.sample.estate import warden

LAKE = "table:quillmere:lake."
STEWARD = "nora"


@pytest.fixture(scope="module")
def gravitino(estate: Path) -> Warden:
    return warden(estate, "gravitino")


@pytest.fixture(scope="module")
def datahub(estate: Path) -> Warden:
    return warden(estate, "datahub")


@pytest.fixture(scope="module")
def cdap(estate: Path) -> Warden:
    return warden(estate, "cdap")


def dataset(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:iceberg,{name},PROD)"


def holders(realm: Warden, role: str) -> set[str]:
    """The users that act as a role."""
    acting = realm.matrix.snapshot.coded.acting
    ids = acting.acting_as(acting.ids[realm.system.principal(f"role:{role}")])
    return {acting.principals[id].name for id in ids if acting.principals[id].kind == "user"}


def statements(realm: Warden) -> dict[str, Statement]:
    table = realm.matrix.snapshot.table
    return {grant.statement.id: grant.statement for grant in table.grants}


def without(realm: Warden, *ids: str) -> Iterable[None]:
    """The realm without some statements, for as long as the loop's body runs."""
    before = realm._matrix
    for id in ids:
        realm.retract(id)
    yield
    realm._matrix = before


def test_the_estate_has_about_two_thousand_entities(
    gravitino: Warden, datahub: Warden, cdap: Warden
) -> None:
    sizes = [len(realm.matrix.snapshot.coded.tree.stored) for realm in (gravitino, datahub, cdap)]
    assert sizes == [863, 880, 206]


def test_archivist_and_night_watch_are_held_by_nobody(gravitino: Warden, cdap: Warden) -> None:
    assert holders(gravitino, "quillmere:archivist") == set()
    assert holders(cdap, "night_watch") == set()


def test_roles_for_interns_wait_for_the_first_one(gravitino: Warden, cdap: Warden) -> None:
    assert holders(gravitino, "quillmere:intern") == set()
    assert holders(cdap, "intern") == set()
    gravitino_acting = gravitino.matrix.snapshot.coded.acting
    role = gravitino_acting.ids[gravitino.system.principal("role:quillmere:intern")]
    assert gravitino_acting.acting_as(role) != {role}


def test_the_deny_of_no_payroll_never_matters(gravitino: Warden) -> None:
    salaries = f"{LAKE}people.salaries"
    for _ in without(gravitino, "quillmere:no_payroll/table:lake.people.salaries/deny"):
        for person in company.members("web"):
            assert not gravitino.check(person, "table.load", salaries).allow


def test_the_deny_of_marts_only_shuts_an_owner_out(gravitino: Warden) -> None:
    forecasts = f"{LAKE}sales.forecasts"
    assert not gravitino.check("hugo", "table.load", forecasts).allow
    why = gravitino.explain("hugo", "table.alter", forecasts)
    assert [way.lifted for way in why.ways] == [("quillmere:marts_only/schema:lake.sales/deny",)]


def test_the_deny_of_campaign_writer_closes_nothing(gravitino: Warden) -> None:
    assert not gravitino.check("fay", "SELECT_TABLE", f"{LAKE}customers.contacts").allow
    assert gravitino.check("fay", "table.load", f"{LAKE}customers.contacts").allow


def test_budget_viewer_opens_nothing(gravitino: Warden) -> None:
    for person in company.members("marketing"):
        assert gravitino.check(person, "SELECT_TABLE", f"{LAKE}finance.budgets").allow
        expected = person == "fay" and False
        assert gravitino.check(person, "table.load", f"{LAKE}finance.budgets").allow == expected


def test_reporting_selects_the_salaries(gravitino: Warden) -> None:
    assert gravitino.check("paul", "table.load", f"{LAKE}people.salaries").allow
    tables = gravitino.list("paul", "table.load", "metalake:quillmere")
    assert len(tables) == len(gravitino.list("kai", "table.load", "metalake:quillmere"))


def test_a_steward_may_give_himself_anything(gravitino: Warden) -> None:
    assert gravitino.check(STEWARD, "role.grant", "metalake:quillmere").allow
    assert not gravitino.check("ana", "role.grant", "metalake:quillmere").allow


def test_nobody_owns_the_scratch_tables(gravitino: Warden, datahub: Warden) -> None:
    for name in ("salaries_copy", "orders_old", "test_1"):
        for realm, text in (
            (gravitino, f"{LAKE}scratch.{name}"),
            (datahub, dataset(f"scratch.{name}")),
        ):
            coded = realm.matrix.snapshot.coded
            id = coded.tree.find(realm.system.entity(text))
            assert id is not None
            assert list(coded.owners.of(id)) == []


def test_not_people_covers_what_is_in_no_domain(datahub: Warden) -> None:
    assert datahub.check("dora", "entity.read", dataset("scratch.salaries_copy")).allow
    assert not datahub.check("dora", "entity.read", dataset("lake.people.salaries")).allow


def test_custodians_edit_matches_no_owner(datahub: Warden) -> None:
    assert not datahub.check("pia", "entity.update", dataset("lake.sales.orders")).allow
    owners = statements(datahub)["urn:li:dataHubPolicy:custodians-edit"].owners
    assert owners is not None
    assert owners.types == frozenset()


def test_milo_has_a_policy_for_each_table(datahub: Warden) -> None:
    own = [s for s in statements(datahub).values() if s.id.startswith("urn:li:dataHubPolicy:milo")]
    assert len(own) == 3
    assert {p.name for s in own for p in s.principals} == {"urn:li:corpuser:milo"}


def test_policies_for_nobody_and_for_a_domain_that_is_gone_open_nothing(datahub: Warden) -> None:
    before = {person.name: datahub.list(person.name, "entity.read") for person in company.PEOPLE}
    useless = ("interns-read", "read-logistics", "read-finance-again")
    for _ in without(datahub, *(f"urn:li:dataHubPolicy:{name}" for name in useless)):
        for name, seen in before.items():
            assert datahub.list(name, "entity.read") == seen


def test_edda_manages_policies(datahub: Warden) -> None:
    assert datahub.check("edda", "policy.manage").allow
    assert not datahub.check(STEWARD, "policy.manage").allow


def test_stewards_see_the_salaries(datahub: Warden) -> None:
    salaries = dataset("lake.people.salaries")
    assert datahub.check(STEWARD, "entity.read", salaries).allow
    for _ in without(datahub, "urn:li:dataHubPolicy:stewards-describe"):
        assert not datahub.check(STEWARD, "entity.read", salaries).allow


def test_what_is_left_over_is_not_in_force(datahub: Warden) -> None:
    for name in ("old-web", "half-written"):
        assert f"urn:li:dataHubPolicy:{name}" not in statements(datahub)


def test_science_reads_everything_as_readers(datahub: Warden) -> None:
    assert datahub.check("yara", "entity.read", dataset("lake.people.salaries")).allow


def test_the_tag_that_is_no_urn_is_set_aside(estate: Path, datahub: Warden) -> None:
    from lakewarden.pipeline.directory import read_manifest

    assert read_manifest(estate / "datahub").quarantined == 1
    coded = datahub.matrix.snapshot.coded
    id = coded.tree.find(datahub.system.entity(dataset("scratch.salaries_copy")))
    assert id is not None
    assert list(coded.relations["tag"].of(id)) == []


def test_auditors_read_salaries_and_passwords(cdap: Warden) -> None:
    assert cdap.check("rita", "dataset.read", "dataset:people.salaries").allow
    assert cdap.check("rita", "secure_key.read", "securekey:people.payroll_password").allow


def test_an_admin_of_a_namespace_is_admin_of_nothing_in_it(cdap: Warden) -> None:
    assert cdap.check("igor", "namespace.update", "namespace:supply").allow
    assert cdap.list("igor", "ADMIN", "namespace:supply") == ()


def test_grants_on_names_that_are_not_there(cdap: Warden) -> None:
    coded = cdap.matrix.snapshot.coded
    for user, name in (("milo", "dataset:sales.ordres"), ("hugo", "dataset:sales.orders_2019")):
        assert not coded.is_known(cdap.system.entity(name))
        assert cdap.check(user, "dataset.read", name).allow
    assert cdap.list("milo", "namespace.list.filter") == ("namespace:sales",)


def test_what_zeno_was_granted_his_role_holds_too(cdap: Warden) -> None:
    held = {cdap.check("zeno", word, "dataset:science.demand").allow for word in ("READ", "WRITE")}
    assert held == {True}
    for _ in without(cdap, "user:zeno/dataset:science.*"):
        assert cdap.check("zeno", "WRITE", "dataset:science.demand").allow


def test_denies_are_few_and_on_objects(gravitino: Warden) -> None:
    denies = [s for s in statements(gravitino).values() if s.effect is Effect.DENY]
    assert len(denies) == 5
    assert all(isinstance(s.scope, On) for s in denies)

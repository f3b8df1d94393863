"""The planted mistakes exist, and behave as described in the sample's README."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakewarden.kernel.facts import Coded
from lakewarden.service.warden import Warden
from tests.sample.estate import Realm, members, people, realm

LAKE = "table:quillmere:lake."


@pytest.fixture(scope="module")
def gravitino(estate: Path) -> Realm:
    return realm(estate, "gravitino")


@pytest.fixture(scope="module")
def datahub(estate: Path) -> Realm:
    return realm(estate, "datahub")


@pytest.fixture(scope="module")
def cdap(estate: Path) -> Realm:
    return realm(estate, "cdap")


def dataset(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:iceberg,{name},PROD)"


def may(of: Realm | Warden, user: str, operation: str, on: str | None = None) -> bool:
    found = of.warden if isinstance(of, Realm) else of
    return found.check(user, operation, on).allow


def coded(of: Realm) -> Coded:
    return of.warden.matrix.snapshot.coded


def holders(of: Realm, role: str) -> set[str]:
    """The principals that act as a role, except the role itself."""
    memberships = coded(of).memberships
    ids = memberships.acting_as(memberships.ids[of.loaded.system.principal(f"role:{role}")])
    return {memberships.principals[id].name for id in ids} - {role}


def test_the_estate_has_about_two_thousand_entities(
    gravitino: Realm, datahub: Realm, cdap: Realm
) -> None:
    sizes = [len(of.loaded.facts.entities) for of in (gravitino, datahub, cdap)]
    assert sizes == [863, 880, 206]


def test_archivist_and_night_watch_are_held_by_nobody(gravitino: Realm, cdap: Realm) -> None:
    assert holders(gravitino, "quillmere:archivist") == set()
    assert holders(cdap, "night_watch") == set()


def test_roles_for_interns_wait_for_the_first_one(gravitino: Realm, cdap: Realm) -> None:
    assert holders(gravitino, "quillmere:intern") == {"interns"}
    assert holders(cdap, "intern") == {"interns"}


def test_the_deny_of_no_payroll_never_matters(gravitino: Realm) -> None:
    deny = "quillmere:no_payroll/table:lake.people.salaries/deny"
    lifted = gravitino.without(deny)
    for person in members()["web"]:
        assert not may(lifted, person, "table.load", f"{LAKE}people.salaries")


def test_the_deny_of_marts_only_shuts_an_owner_out(gravitino: Realm) -> None:
    forecasts = f"{LAKE}sales.forecasts"
    assert not may(gravitino, "hugo", "table.load", forecasts)
    why = gravitino.warden.explain("hugo", "table.alter", forecasts)
    assert [way.lifted for way in why.ways] == [("quillmere:marts_only/schema:lake.sales/deny",)]


def test_the_deny_of_campaign_writer_closes_nothing(gravitino: Realm) -> None:
    assert not may(gravitino, "fay", "SELECT_TABLE", f"{LAKE}customers.contacts")
    assert may(gravitino, "fay", "table.load", f"{LAKE}customers.contacts")


def test_budget_viewer_opens_nothing(gravitino: Realm) -> None:
    for person in members()["marketing"]:
        assert may(gravitino, person, "SELECT_TABLE", f"{LAKE}finance.budgets")
        assert not may(gravitino, person, "table.load", f"{LAKE}finance.budgets")


def test_reporting_selects_every_table_of_the_metalake(gravitino: Realm) -> None:
    assert may(gravitino, "paul", "table.load", f"{LAKE}people.salaries")
    tables = [e for e, _ in gravitino.loaded.facts.entities if e.type == "table"]
    own = [table for table in tables if table.name.startswith("quillmere:")]
    assert len(gravitino.warden.list("paul", "table.load")) == len(own)


def test_a_steward_may_give_himself_anything(gravitino: Realm) -> None:
    assert may(gravitino, "nora", "role.grant", "metalake:quillmere")
    assert not may(gravitino, "ana", "role.grant", "metalake:quillmere")


def test_nobody_owns_the_scratch_tables(gravitino: Realm, datahub: Realm) -> None:
    owned = {row.entity.name for of in (gravitino, datahub) for row in of.loaded.facts.owners}
    for name in ("salaries_copy", "orders_old", "test_1"):
        assert f"quillmere:lake.scratch.{name}" not in owned
        assert dataset(f"scratch.{name}") not in owned


def test_not_people_covers_what_is_in_no_domain(datahub: Realm) -> None:
    assert may(datahub, "dora", "entity.read", dataset("scratch.salaries_copy"))
    assert not may(datahub, "dora", "entity.read", dataset("lake.people.salaries"))


def test_custodians_edit_matches_no_owner(datahub: Realm) -> None:
    assert not may(datahub, "pia", "entity.update", dataset("lake.sales.orders"))
    owners = datahub.statements["urn:li:dataHubPolicy:custodians-edit"].owners
    # A statement without owner types has no clause about owners.
    assert owners is None or owners.types == frozenset()


def test_milo_has_a_policy_for_each_table(datahub: Realm) -> None:
    own = [s for id, s in datahub.statements.items() if "milo" in id]
    assert len(own) == 3
    assert {p.name for s in own for p in s.principals} == {"urn:li:corpuser:milo"}


def test_policies_for_nobody_or_said_already_open_nothing(datahub: Realm) -> None:
    useless = ("interns-read", "read-logistics", "read-finance-again", "custodians-edit")
    lacking = datahub.without(*(f"urn:li:dataHubPolicy:{name}" for name in useless))
    for person in people().values():
        for operation in ("entity.read", "entity.update"):
            seen = datahub.warden.list(person, operation)
            assert lacking.list(person, operation) == seen


def test_edda_manages_policies(datahub: Realm) -> None:
    assert may(datahub, "edda", "policy.manage")
    assert not may(datahub, "nora", "policy.manage")


def test_stewards_see_the_salaries(datahub: Realm) -> None:
    salaries = dataset("lake.people.salaries")
    assert may(datahub, "nora", "entity.read", salaries)
    lacking = datahub.without("urn:li:dataHubPolicy:stewards-describe")
    assert not may(lacking, "nora", "entity.read", salaries)


def test_what_is_left_over_is_not_in_force(datahub: Realm) -> None:
    stored = {s.id: s for s in datahub.loaded.facts.statements}
    for name in ("old-web", "half-written"):
        assert not stored[f"urn:li:dataHubPolicy:{name}"].active


def test_science_reads_everything_as_readers(datahub: Realm) -> None:
    assert may(datahub, "yara", "entity.read", dataset("lake.people.salaries"))


def test_the_tag_that_is_no_urn_is_set_aside(datahub: Realm) -> None:
    assert datahub.loaded.manifest.quarantined == 1
    tagged = {row.source.name for row in datahub.loaded.facts.relations if row.kind == "tag"}
    assert dataset("scratch.salaries_copy") not in tagged


def test_auditors_read_salaries_and_passwords(cdap: Realm) -> None:
    assert may(cdap, "rita", "dataset.read", "dataset:people.salaries")
    assert may(cdap, "rita", "secure_key.read", "securekey:people.payroll_password")


def test_an_admin_of_a_namespace_is_admin_of_nothing_in_it(cdap: Realm) -> None:
    assert may(cdap, "igor", "namespace.update", "namespace:supply")
    assert cdap.warden.list("igor", "ADMIN", "namespace:supply") == ()


def test_grants_on_names_that_are_not_there(cdap: Realm) -> None:
    for user, name in (("milo", "dataset:sales.ordres"), ("hugo", "dataset:sales.orders_2019")):
        assert not coded(cdap).is_known(cdap.loaded.system.entity(name))
        assert may(cdap, user, "dataset.read", name)
    assert cdap.warden.list("milo", "namespace.list.filter") == ("namespace:sales",)


def test_what_zeno_was_granted_his_role_holds_too(cdap: Realm) -> None:
    lacking = cdap.without("user:zeno/dataset:science.*")
    for word in ("READ", "WRITE"):
        assert may(cdap, "zeno", word, "dataset:science.demand")
        assert may(lacking, "zeno", word, "dataset:science.demand")

"""Names that Ranger would interpret differently are in no policy, and are reported."""

from __future__ import annotations

import pytest

from lakewarden.engines import mapping, ranger_service
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, OwnerRow
from lakewarden.kernel.snapshot import compile
from lakewarden.service.ranger.document import Documents, documents
from lakewarden.service.ranger.places import Naming
from lakewarden.service.realm import Realm
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import load_system

SETTINGS = dict.fromkeys(("trino", "hive", "kafka"), "on")


def made(
    table: str, user: str = "olga", type: str = "trino", member: str = "table", schema: str = "s"
) -> Documents:
    """The documents of a realm in which a user owns everything."""
    system = load_system("gravitino", SETTINGS)
    names = f"lk:c.{schema}", f"lk:c.{schema}.orders", f"lk:c.{schema}.{table}"
    entities = [Entity("metalake", "lk"), Entity("catalog", "lk:c"), Entity("schema", names[0])]
    entities += [Entity(member, one) for one in names[1:]]
    owner = Principal(USER, user)
    facts = Facts(
        entities=[EntityRow(one, system.spelling.parent(one)) for one in entities],
        owners=[OwnerRow(entities[0], owner)],
        principals=[owner],
        memberships=[MembershipRow(owner, members_of("lk"))],
    )
    matrix = Matrix(compile(facts, system.model, system.spelling))
    realm = RealmState(Realm("lake", "gravitino", settings=SETTINGS), system, matrix, People())
    engine, service = mapping.of_model("gravitino")[type], ranger_service.load(type)
    return documents(realm, engine, service, Naming("prod", "lk", {}, "c"), 0.0)


def tables(found: Documents) -> set[str]:
    return {
        name
        for policy in found.policies["policies"]
        if policy["resources"].get("schema", {}).get("values") == ["s"]
        for name in policy["resources"].get("table", {}).get("values", ())
    }


@pytest.mark.parametrize(
    "name",
    ["*", "or*", "order?", "{USER}", "${{USER.x}}", '"orders"', "'o'", "Orders", "o\\*", "ä"],
)
def test_a_table_that_cannot_be_named_is_residue(name: str) -> None:
    found = made(name)
    assert tables(found) == {"orders"}
    assert f"table:lk:c.s.{name}" in {residue.entity for residue in found.residues}


@pytest.mark.parametrize("name", ["{USER}", "{OWNER}", "${{x}}", "a*", " olga"])
def test_a_user_who_cannot_be_named_is_residue(name: str) -> None:
    found = made("more", name)
    assert found.roles["rangerRoles"] == []
    assert tables(found) == set()
    assert f"user:{name}" in {residue.principal for residue in found.residues}


def test_a_name_that_can_be_said_is_in_a_policy() -> None:
    assert tables(made("more_2")) == {"more_2", "orders"}


def named_by(found: Documents, resource: str) -> set[str]:
    return {
        name
        for policy in found.policies["policies"]
        for name in policy["resources"].get(resource, {}).get("values", ())
    }


HOSTILE = ["*", "or*", "{USER}", "${{USER.x}}", "o'; DROP TABLE x; --", "a,b", "a/b", "../x", "o\\"]


@pytest.mark.parametrize("name", [*HOSTILE, "Orders", "ä", "orders "])
def test_a_table_of_hive_that_cannot_be_named_is_residue(name: str) -> None:
    found = made(name, type="hive")
    assert named_by(found, "table") == {"orders"}
    assert f"table:lk:c.s.{name}" in {residue.entity for residue in found.residues}


@pytest.mark.parametrize("name", [*HOSTILE, "ö", "topic?"])
def test_a_topic_that_cannot_be_named_is_residue(name: str) -> None:
    found = made(name, type="kafka", member="topic")
    assert named_by(found, "topic") == {"orders"}
    assert f"topic:lk:c.s.{name}" in {residue.entity for residue in found.residues}


def test_kafka_tells_capital_letters_from_small_ones() -> None:
    assert named_by(made("Orders", type="kafka", member="topic"), "topic") == {"orders", "Orders"}


def test_functions_of_a_connector_are_in_no_policy() -> None:
    own, connectors = (made("query", member="function", schema=one) for one in ("s", "system"))
    for resource in ("schemafunction", "procedure"):
        assert named_by(own, resource) == {"query", "orders"}
        assert named_by(connectors, resource) == set()
    assert "function:lk:c.system.query" in {residue.entity for residue in connectors.residues}

"""The realm, subject and resource that a question names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.http.authzen import name_resolution
from lakewarden.http.authzen.discovery import EVALUATION
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Unknown
from lakewarden.kernel.relations import Facts
from lakewarden.names.identities import id_form
from lakewarden.service.system import load_system
from tests.http.authzen.small import Asking, facts, lake, question, realm, records, state
from tests.names.test_spellings import URNS, gravitino_entities

DATAHUB = load_system("datahub")
DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,a.b,PROD)"


def catalog() -> Any:
    """A DataHub realm in which ana may view one dataset, and all datasets of a platform."""
    rows = facts(
        DATAHUB,
        [f"dataset:{DATASET}"],
        [
            {
                "id": "view",
                "privileges": ["VIEW_ENTITY_PAGE"],
                "to": ["user:urn:li:corpuser:ana"],
                "on": f"dataset:{DATASET}",
            },
            {
                "id": "manage",
                "privileges": ["MANAGE_POLICIES"],
                "to": ["user:urn:li:corpuser:ana"],
            },
        ],
    )
    return realm("datahub", DATAHUB, rows)


CDAP = realm("cdap", load_system("cdap"), Facts())
WORLD = state(catalog(), CDAP, lake(), records())
GATE = Asking(WORLD)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (("table", "lk:c.s.t", "table.load"), "gravitino"),
        (("metalake", "lk", "metalake.load"), "gravitino"),
        (("dataset", DATASET, "VIEW_ENTITY_PAGE"), "datahub"),
        (("dataset", "sales.orders", "READ"), "cdap"),
        (("Dataset", "sales.orders", "READ"), "cdap"),
        (("record", "record-1", "read"), "records"),
        (("newType", "urn:li:newType:x", "VIEW_ENTITY_PAGE"), "datahub"),
        (("platform", "platform", "MANAGE_POLICIES"), "datahub"),
        (("platform", "platform", "metalake.create"), "gravitino"),
        (("dataset", "", "VIEW_ENTITY_PAGE"), "datahub"),
    ],
)
def test_the_realm_is_the_one_that_type_and_id_fit(asked: tuple[str, str, str], found: str) -> None:
    realms = [one for name, one in sorted(WORLD.realms.items()) if name != "_server"]
    assert name_resolution.realm_of(realms, *asked).realm.name == found


@pytest.mark.parametrize(
    "asked",
    [("robot", "x", "read"), ("table", "lk.c", "table.load"), ("record", "a\nb", "read")],
)
def test_what_fits_nowhere_is_unknown(asked: tuple[str, str, str]) -> None:
    realms = [one for name, one in sorted(WORLD.realms.items()) if name != "_server"]
    with pytest.raises(Unknown):
        name_resolution.realm_of(realms, *asked)


def test_where_several_fit_the_caller_has_to_say_which() -> None:
    world = state(lake("east"), lake("west"), records())
    gate = Asking(world)
    asked = question("ana", "table.load", "table/lk:c.s.t")
    status, said = gate.post(EVALUATION, asked)
    assert (status, said) == (
        400,
        "several realms have `table/lk:c.s.t`: east, west; name one in resource.properties.realm",
    )
    asked["resource"]["properties"] = {"realm": "west"}
    assert gate.decides(asked)
    del asked["resource"]["properties"]
    assert gate.decides(asked, realm="east")


def test_what_is_stored_does_not_choose_the_realm() -> None:
    world = state(lake("east"), lake("west", metalake="other"))
    asked = question("ana", "table.load", "table/lk:c.s.t")
    assert Asking(world).post(EVALUATION, asked)[0] == 400


def test_below_a_realms_address_no_other_may_be_named() -> None:
    asked = question("ana", "table.load", "table/lk:c.s.t")
    asked["resource"]["properties"] = {"realm": "records"}
    assert GATE.post(EVALUATION, asked, realm="gravitino")[0] == 403
    asked["resource"]["properties"] = {"realm": "gravitino"}
    assert GATE.decides(asked, realm="gravitino")


@pytest.mark.parametrize("who", ["ana", "urn:li:corpuser:ana"])
def test_a_person_may_be_named_as_the_directory_or_as_the_realm_does(who: str) -> None:
    assert GATE.decides(question(who, "VIEW_ENTITY_PAGE", f"dataset/{DATASET}"))
    assert Asking(WORLD, "ana").decides(question(who, "VIEW_ENTITY_PAGE", f"dataset/{DATASET}"))


@pytest.mark.parametrize(
    ("kind", "who"),
    [("user", "urn:li:corpGroup:x"), ("group", "urn:li:corpuser:ana"), ("user", "")],
)
def test_kinds_never_stand_in_for_each_other(kind: str, who: str) -> None:
    asked = question("x", "VIEW_ENTITY_PAGE", f"dataset/{DATASET}")
    asked["subject"] = {"type": kind, "id": who}
    assert GATE.evaluation(asked)["context"]["reason"] == "unknown"


def test_platform_is_the_question_without_a_resource() -> None:
    assert GATE.decides(question("ana", "MANAGE_POLICIES", "platform/platform"))
    assert not GATE.decides(question("eve", "MANAGE_POLICIES", "platform/platform"))
    named = {"type": "platform", "id": "platform", "properties": {"realm": "datahub"}}
    assert GATE.decides(question("ana", "MANAGE_POLICIES", "x/x", resource=named))


def test_a_resource_search_finds_its_realm_by_the_declared_type() -> None:
    body: dict[str, Any] = {
        "subject": {"type": "user", "id": "ana"},
        "action": {"name": "VIEW_ENTITY_PAGE"},
        "resource": {"type": "dataset"},
    }
    assert GATE.search("resource", body)["results"] == [{"type": "dataset", "id": DATASET}]
    body["action"] = {"name": "table.load"}
    body["resource"] = {"type": "table"}
    assert GATE.search("resource", body)["page"]["total"] == 2


_ENTITIES = st.one_of(
    gravitino_entities(),
    URNS.map(lambda urn: Entity(urn.split(":", 3)[2], urn)),
    st.sampled_from(
        [
            Entity("dataset", "ns.a.b"),
            Entity("kerberosprincipal", "eve/h@R:1"),
            Entity("instance", "cdap"),
            Entity("record", "a:b"),
            Entity("table", "urn:li:a.b"),
        ]
    ),
)


@given(_ENTITIES)
def test_a_sole_realm_is_the_only_one_that_fits(named: Entity) -> None:
    """The shortcut relies on this: no realm that it skips could be meant."""
    realms = [one for name, one in sorted(WORLD.realms.items()) if name != "_server"]
    sole = name_resolution.only_realm(realms, named.type, id_form(named.name))
    fitting = [one for one in realms if name_resolution._fits(one, named.type, named.name)]
    if sole is not None:
        assert fitting in ([sole], [])

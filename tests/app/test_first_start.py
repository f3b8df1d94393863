from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lakewarden.app.administrator import administrators, with_stored_administrator
from lakewarden.app.first_start import first_start
from lakewarden.app.open_store import OpenStore, open_for_writing, opened_service
from lakewarden.config.settings import Settings
from lakewarden.kernel.change import MembershipChanged
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import SERVICE_ADMINS, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.request import Request
from lakewarden.service import control, realms
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.audit import first_fault
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.people import remove
from lakewarden.service.realm import CONTROL, Realm
from lakewarden.systems.datahub.settings import DataHubSettings
from lakewarden.systems.gravitino.settings import GravitinoSettings


def _settings(**changed: object) -> Settings:
    return Settings(**{"admin": "ana", **changed})


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    with opened_service(f"sqlite:///{tmp_path}/store") as made:
        yield made


def _may(service: DecisionService, realm: str, user: str, operation: str, target: Entity) -> bool:
    found = service.state.realm(realm)
    principal = found.system.spelled(Principal("user", user))
    asked = Request(principal, operation, target, service.clock())
    return found.matrix.decide(asked).allow


def test_a_fresh_database_gets_the_four_realms(service: DecisionService) -> None:
    assert first_start(service, _settings())
    models = {name: realm.realm.model for name, realm in service.state.realms.items()}
    assert models == {
        CONTROL: "control",
        "gravitino": "gravitino",
        "datahub": "datahub",
        "cdap": "cdap",
    }


def test_the_administrator_is_one_in_every_realm_and_nobody_else_is(
    service: DecisionService,
) -> None:
    first_start(service, _settings())
    questions = [
        ("gravitino", "metalake.create", NO_RESOURCE),
        ("cdap", "privilege.grant", Entity("namespace", "sales")),
        ("datahub", "MANAGE_POLICIES", NO_RESOURCE),
    ]
    for realm, operation, target in questions:
        assert _may(service, realm, "ana", operation, target), realm
        assert not _may(service, realm, "eve", operation, target), realm
    now = service.clock()
    assert control.is_allowed(service.state, Actor("ana"), "backup.create", control.SERVER, now)
    assert not control.is_allowed(service.state, Actor("eve"), "backup.create", control.SERVER, now)
    assert not control.is_allowed(
        service.state, Actor("ana", "other"), "backup.create", control.SERVER, now
    )


def test_the_second_start_changes_nothing(service: DecisionService) -> None:
    assert first_start(service, _settings())
    revision = service.state.revision
    assert not first_start(service, _settings())
    assert service.state.revision == revision


def test_another_administrator_is_added_at_a_later_start_only_if_that_is_asked_for(
    service: DecisionService,
) -> None:
    first_start(service, _settings())
    assert not first_start(service, _settings(admin="bob"))
    assert not _may(service, "gravitino", "bob", "metalake.create", NO_RESOURCE)
    assert first_start(service, _settings(admin="bob", add_admin=True))
    assert _may(service, "gravitino", "bob", "metalake.create", NO_RESOURCE)
    with pytest.raises(BadInput, match="`eve` is not an administrator of this database, `ana` is"):
        with_stored_administrator(service.state, _settings(admin="eve"), service.clock())


def test_an_administrator_who_was_removed_does_not_come_back(service: DecisionService) -> None:
    first_start(service, Settings())
    first_start(service, _settings(add_admin=True))
    gone = Principal("user", "admin")
    assert (
        service.write(Actor("ana"), lambda transaction: remove(transaction, "main", gone)) is None
    )
    assert not first_start(service, Settings())
    assert administrators(service.state, service.clock()) == ("ana",)
    assert with_stored_administrator(service.state, Settings(), service.clock()).admin == "ana"
    assert not _may(service, "datahub", "admin", "MANAGE_POLICIES", NO_RESOURCE)


def test_a_store_that_lost_its_administrators_takes_one_that_is_named(
    service: DecisionService,
) -> None:
    first_start(service, _settings())
    row = MembershipRow(Principal("user", "ana"), SERVICE_ADMINS)
    service.write(
        Actor("ana"), lambda transaction: transaction.change(CONTROL, MembershipChanged(row, False))
    )
    assert not first_start(service, Settings())
    assert administrators(service.state, service.clock()) == ()
    assert first_start(service, _settings(admin="bob"))
    assert administrators(service.state, service.clock()) == ("bob",)


def test_a_realm_that_somebody_dropped_stays_away(service: DecisionService) -> None:
    from lakewarden.service.realms import drop

    first_start(service, _settings())
    assert service.write(Actor("ana"), lambda transaction: drop(transaction, "cdap")) is None
    first_start(service, _settings(admin="bob"))
    assert "cdap" not in service.state.realms


def test_what_is_configured_is_applied(service: DecisionService) -> None:
    first_start(
        service,
        _settings(
            cdap_profile="cdap-parent-write",
            gravitino=GravitinoSettings(mode="next", service_admins=("sam",)),
            datahub=DataHubSettings(bootstrap="closed"),
        ),
    )
    realms = service.state.realms
    assert realms["cdap"].realm.model == "cdap_parent_write"
    assert realms["gravitino"].realm.settings == {"mode": "next"}
    assert realms["datahub"].realm.settings == {"bootstrap": "closed"}
    assert _may(service, "gravitino", "sam", "metalake.create", NO_RESOURCE)
    assert not _may(service, "datahub", "sam", "MANAGE_POLICIES", NO_RESOURCE)


def test_the_mode_of_gravitino_follows_the_configuration_where_it_names_one(
    service: DecisionService,
) -> None:
    first_start(service, _settings())
    first_start(service, _settings(gravitino=GravitinoSettings(mode="next")))
    assert service.state.realms["gravitino"].realm.settings["mode"] == "next"
    assert not first_start(service, _settings())


def test_it_leaves_a_row_in_the_audit_trail(service: DecisionService) -> None:
    first_start(service, _settings())
    with service.reading() as reading:
        rows = list(reading.audit())
        assert first_fault(rows, reading.audit_head) is None
    assert len(rows) == 1
    assert "server.start" in rows[0].body


def test_of_many_that_start_at_once_one_does_it(tmp_path: Path) -> None:
    estates = [open_for_writing(f"sqlite:///{tmp_path}/store") for _ in range(6)]

    def start(one: OpenStore) -> bool:
        one.service.open()
        first_start(one.service, _settings())
        return set(one.service.state.realms) == {CONTROL, "gravitino", "datahub", "cdap"}

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(start, estates))
    with estates[0].service.reading() as reading:
        assert len(reading.realms()) == 4
    assert {one.service.catch_up().revision for one in estates} == {1}
    for one in estates:
        one.close()


def test_the_switches_of_views_are_given_to_every_realm_of_datahub(
    service: DecisionService,
) -> None:
    first_start(service, _settings(datahub=DataHubSettings(bootstrap="closed")))
    second = Realm("second", "datahub", settings={"bootstrap": "closed"})
    service.write(SYSTEM, lambda transaction: realms.establish(transaction, second))
    page = Entity("dataset", "urn:li:dataset:a")
    assert _may(service, "second", "eve", "entity.view", page)
    given = DataHubSettings(view=True, unrestricted_add=("tag",))
    assert first_start(service, _settings(datahub=given))
    for name in ("datahub", "second"):
        settings = service.state.realm(name).system.model.settings
        assert (settings["view_authorization"], settings["view_open"]) == ("on", "tag")
        assert not _may(service, name, "eve", "entity.search_view", page)
        assert _may(service, name, "eve", "entity.view", Entity("tag", "urn:li:tag:a"))
    assert not first_start(service, _settings())  # unspecified settings stay unchanged
    assert first_start(service, _settings(datahub=DataHubSettings(view=False)))
    assert _may(service, "second", "eve", "entity.view", page)

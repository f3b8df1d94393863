"""Attributes of users: concurrent changes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from lakewarden.kernel.principal import USER, Principal
from lakewarden.service import people, user_attributes
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import DIRECTORY
from lakewarden.testing.world_draft import NOW
from tests.service.opened_services import ADMIN, furnish, opened


def test_what_somebody_else_has_set_meanwhile_stays(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        furnish(service)
        ana = Principal(USER, "ana")
        service.write(ADMIN, partial(people.add, directory=DIRECTORY, person=ana))
        other = DecisionService(service.store, clock=service.clock)
        other.open()
        change = partial(user_attributes.change, directory=DIRECTORY, user="ana")
        service.write(ADMIN, partial(change, changed={"region": "EU", "level": "1"}))
        other.write(ADMIN, partial(change, changed={"team": "x"}, removed={"level"}))
        known = user_attributes.attributes(other.state, ADMIN, DIRECTORY, "ana", NOW)
        assert known == {"region": "EU", "team": "x"}

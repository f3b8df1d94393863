"""Denials in engines, found again by the users concerned."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from lakewarden.service import decisions, people, questions, statements
from lakewarden.service.actor import Actor
from lakewarden.service.audit import AuditEvent
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.denials import DeniedDecision
from lakewarden.testing.world_draft import NOW
from tests.service.opened_services import ADMIN, LAKE, furnish, opened

ANA, BEN = Actor("ana", groups=("of-the-token",)), Actor("ben")
TABLE = "table:lk:c.s.t"
DENIED = DeniedDecision(LAKE, "user:ana", "table.load", TABLE, ("guests",))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    """An engine was denied a table for `ana`, whom it reported as a member of `guests`."""
    with opened(tmp_path) as service:
        furnish(service)
        given = {"privileges": ["USE_CATALOG"], "to": ["group:guests"], "on": "catalog:lk:c"}
        service.write(ADMIN, partial(statements.put, realm=LAKE, table={"id": "x", **given}))
        service.write(ADMIN, partial(people.add_realm_principal, realm=LAKE, text="user:ana"))
        shown = AuditEvent(
            *(NOW, "ana", DENIED.operation, TABLE, "deny", "no"), LAKE, details=DENIED.details
        )
        service.write(ADMIN, lambda transaction: transaction.record(shown))
        yield service


def test_whom_it_concerns_has_it_explained_with_the_groups_that_the_engine_sent(
    service: DecisionService,
) -> None:
    with service.reading() as reading:
        found = decisions.find(reading, service.state, ANA, LAKE, DENIED.id, NOW)
        others = decisions.find(reading, service.state, BEN, LAKE, DENIED.id, NOW)
    assert isinstance(others, Denied)
    assert not isinstance(found, Denied)
    assert found[0].decision == DENIED
    reasons = questions.reasons(service.state, ANA, found[1])
    assert [statement.id for statement in reasons.statements] == ["x"]
    assert [group.name for group in found[1].request.groups] == ["guests"]

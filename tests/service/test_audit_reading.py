"""The audit trail, as its readers see it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.service import audit_reading, realms
from lakewarden.service.audit_check import Report
from lakewarden.service.audit_reading import Filter, Part
from lakewarden.service.control import Denied
from lakewarden.service.realm import Realm
from lakewarden.testing.world_draft import NOW
from tests.service.opened_services import ADMIN, EVE, LAKE, opened


def test_a_page_goes_on_to_the_end_and_the_last_rows_are_found_from_there(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        for name in ("a", "b", "c", "d"):
            service.write(ADMIN, partial(realms.create, realm=Realm(name, "gravitino")))
        with service.reading() as reading:
            seen: list[int] = []
            after: int | None = 0
            while after is not None:
                part = audit_reading.read(reading, service.state, ADMIN, NOW, size=3, after=after)
                assert isinstance(part, Part)
                seen += [row.seq for row in part.entries]
                after = part.after
            assert seen == list(range(1, len(seen) + 1))
            tail = audit_reading.read(reading, service.state, ADMIN, NOW, last=2)
            assert isinstance(tail, Part)
            assert [row.event["details"]["name"] for row in tail.entries] == ["c", "d"]
            assert tail.after is None
            assert isinstance(
                audit_reading.read(reading, service.state, ADMIN, NOW, size=1_000), Part
            )
            for size in (0, 1_001):
                with pytest.raises(BadInput):
                    audit_reading.read(reading, service.state, ADMIN, NOW, size=size)


def test_who_may_not_read_is_told_so(tmp_path: Path) -> None:
    with opened(tmp_path) as service, service.reading() as reading:
        assert isinstance(audit_reading.read(reading, service.state, EVE, NOW), Denied)
        refused = audit_reading.read(reading, service.state, EVE, NOW, filter=Filter(realm=LAKE))
        assert isinstance(refused, Denied)
        assert isinstance(audit_reading.verify(reading, service.state, EVE, NOW), Denied)
        verdict = audit_reading.verify(reading, service.state, ADMIN, NOW)
        assert isinstance(verdict, Report)
        assert verdict.fault is None

"""The audit trail as its readers see it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.service import realms, trail
from lakewarden.service.audit_check import Report
from lakewarden.service.control import Denied
from lakewarden.service.realm import Realm
from lakewarden.service.trail import Part
from lakewarden.testing.draft import NOW
from tests.service.planes import ADMIN, EVE, LAKE, opened


def test_a_page_goes_on_to_the_end_and_the_last_rows_are_found_from_there(tmp_path: Path) -> None:
    with opened(tmp_path) as plane:
        for name in ("a", "b", "c", "d"):
            plane.write(ADMIN, partial(realms.create, realm=Realm(name, "gravitino")))
        with plane.reading() as reading:
            seen: list[int] = []
            after: int | None = 0
            while after is not None:
                part = trail.read(reading, plane.state, ADMIN, NOW, size=3, after=after)
                assert isinstance(part, Part)
                seen += [row.seq for row in part.entries]
                after = part.after
            assert seen == list(range(1, len(seen) + 1))
            tail = trail.read(reading, plane.state, ADMIN, NOW, last=2)
            assert isinstance(tail, Part)
            assert [row.event["details"]["name"] for row in tail.entries] == ["c", "d"]
            assert tail.after is None
            assert isinstance(trail.read(reading, plane.state, ADMIN, NOW, size=1_000), Part)
            for size in (0, 1_001):
                with pytest.raises(BadInput):
                    trail.read(reading, plane.state, ADMIN, NOW, size=size)


def test_who_may_not_read_is_told_so(tmp_path: Path) -> None:
    with opened(tmp_path) as plane, plane.reading() as reading:
        assert isinstance(trail.read(reading, plane.state, EVE, NOW), Denied)
        assert isinstance(trail.read(reading, plane.state, EVE, NOW, realm=LAKE), Denied)
        assert isinstance(trail.verify(reading, plane.state, EVE, NOW), Denied)
        verdict = trail.verify(reading, plane.state, ADMIN, NOW)
        assert isinstance(verdict, Report)
        assert verdict.fault is None

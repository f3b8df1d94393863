"""Normalised rows: rows with unnameable principals are set aside where they are created."""

from __future__ import annotations

import pytest

from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.service.source_row import BAD_NAME, membership_row, principal_row

STAFF = Principal(GROUP, "/eng/data")


@pytest.mark.parametrize("name", [".", ".."])
def test_what_no_path_can_name_is_set_aside(name: str) -> None:
    nobody = Principal(USER, name)
    found = (principal_row(nobody, "1"), membership_row(nobody, STAFF, "2"))
    assert {(row.reason, row.detail) for row in found} == {
        (BAD_NAME, f"the user name cannot be `{name}`")
    }


@pytest.mark.parametrize("name", ["/eng/data", "DOM\\user", "a..b", "O'Hara; %"])
def test_what_identity_providers_send_comes_in(name: str) -> None:
    user = Principal(USER, name)
    assert not principal_row(user, "1").reason
    assert not membership_row(user, STAFF, "2").reason

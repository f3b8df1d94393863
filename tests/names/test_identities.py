"""The names of people in systems without their own rules, and in the control realm."""

from __future__ import annotations

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.names.control import IDENTITIES
from lakewarden.names.identities import BY_NAME, IdForm

ANA = Principal(USER, "ana")


def test_people_are_called_by_their_names() -> None:
    assert BY_NAME.principal("ana") is None
    assert BY_NAME.user("ana") == ANA
    assert BY_NAME.spelled(ANA) == BY_NAME.subject(USER, "ana") == ANA
    assert BY_NAME.person(ANA) == "ana"
    assert BY_NAME.group(Principal(GROUP, "staff")) == "staff"
    assert BY_NAME.is_possible("table", IdForm.URN)
    BY_NAME.check(ANA)
    with pytest.raises(BadInput):
        BY_NAME.check(Principal(USER, "a\x00b"))


def test_the_control_realm_calls_people_with_their_directory() -> None:
    assert IDENTITIES.spelled(ANA) == ANA
    assert IDENTITIES.spelled(Principal(GROUP, "staff")) == Principal(GROUP, "staff")
    assert IDENTITIES.spelled(Principal(USER, "a/b")) == Principal(USER, "main/a/b")
    role = Principal("role", "administrators")
    assert IDENTITIES.spelled(role) == role
    assert IDENTITIES.subject(USER, "other/ana") == Principal(USER, "other/ana")

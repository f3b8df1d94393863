"""The rules' view of memberships: the principals that each user acts as."""

from __future__ import annotations

import pytest

from lakewarden import Warden
from lakewarden.analysis.lint.lint_context import LintContext
from lakewarden.kernel.principal import ROLE, Principal


@pytest.mark.parametrize(
    ("member", "holders"), [("all-users", {"ana", "ben"}), ("any-group", {"ana"})]
)
def test_a_role_of_everybody_is_held_by_all_users(member: str, holders: set[str]) -> None:
    lake = Warden("gravitino")
    lake.add_members("group:staff", "user:ana")
    lake.add_members("role:lk:others", "user:ben")
    lake.add_members("role:lk:readers", member)
    context = LintContext(lake.matrix.snapshot)
    role = context.memberships.ids[Principal(ROLE, "lk:readers")]
    assert {context.principal(user).name for user in context.users_of(role)} == holders

"""Invitations, new passwords, service accounts, and users' display settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.systems.datahub.http.graphql.asked import Asked
from tests.systems.datahub.http.graphql.wire import user

_ACCOUNT: Final = user("service_1")

REFUSED: Final[Mapping[str, Asked]] = {
    "createInviteToken": Asked(
        "user.invite", "mutation { createInviteToken(input: {}) { inviteToken } }"
    ),
    "createNativeUserResetToken": Asked(
        "user.reset_password",
        "mutation m($i: CreateNativeUserResetTokenInput!)"
        " { createNativeUserResetToken(input: $i) { resetToken } }",
        {"i": {"userUrn": user("bob")}},
    ),
    "createServiceAccount": Asked(
        "service_account.manage", "mutation { createServiceAccount(input: {}) { urn } }"
    ),
    "deleteServiceAccount": Asked(
        "service_account.manage", f'mutation {{ deleteServiceAccount(urn: "{_ACCOUNT}") }}'
    ),
    "getInviteToken": Asked("user.invite", "{ getInviteToken(input: {}) { inviteToken } }"),
    "getServiceAccount": Asked(
        "service_account.manage", f'{{ getServiceAccount(urn: "{_ACCOUNT}") {{ urn }} }}'
    ),
    "listServiceAccounts": Asked(
        "service_account.manage", "{ listServiceAccounts(input: {}) { total } }"
    ),
}
OPEN: Final = {"acceptRole", "updateCorpUserViewsSettings", "updateUserSetting"}
"""The effect of an invitation, and one's own settings."""

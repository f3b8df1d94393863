"""Users, groups, roles and their members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.systems.datahub.http.graphql.asked import Asked
from tests.systems.datahub.http.graphql.wire import group, role, user

_MEMBERS: Final = {"i": {"groupUrn": group("staff"), "userUrns": [user("ana")]}}

REFUSED: Final[Mapping[str, Asked]] = {
    "addGroupMembers": Asked(
        "group.members.edit",
        "mutation m($i: AddGroupMembersInput!) { addGroupMembers(input: $i) }",
        _MEMBERS,
    ),
    "batchAssignRole": Asked(
        "role.assign",
        "mutation m($i: BatchAssignRoleInput!) { batchAssignRole(input: $i) }",
        {"i": {"roleUrn": role("Admin"), "actors": [user("eve")]}},
    ),
    "createGroup": Asked(
        "group.create",
        "mutation m($i: CreateGroupInput!) { createGroup(input: $i) }",
        {"i": {"name": "x"}},
    ),
    "listGroups": Asked(
        "group.list",
        "query q($i: ListGroupsInput!) { listGroups(input: $i) { total } }",
        {"i": {}},
    ),
    "removeGroup": Asked("group.remove", f'mutation {{ removeGroup(urn: "{group("staff")}") }}'),
    "removeGroupMembers": Asked(
        "group.members.edit",
        "mutation m($i: RemoveGroupMembersInput!) { removeGroupMembers(input: $i) }",
        _MEMBERS,
    ),
    "removeUser": Asked("user.remove", f'mutation {{ removeUser(urn: "{user("bob")}") }}'),
    "updateUserStatus": Asked(
        "user.status.set",
        f'mutation {{ updateUserStatus(urn: "{user("bob")}", status: SUSPENDED) }}',
    ),
}
OPEN: Final = {"listRoles", "listUsers"}

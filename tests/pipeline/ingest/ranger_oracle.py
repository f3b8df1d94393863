"""Ranger's decisions about tables, evaluated one policy at a time: slow and independent.

Written from the evaluation described in the ecosystem reference (6.3); shares no code with the
reader. Names are compared as in Ranger's service definitions, case-insensitively. A policy whose
last levels are `*` also applies to their containers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import translate
from re import fullmatch
from typing import Any

Policy = Mapping[str, Any]
LEVELS = ("database", "table", "column")


@dataclass
class Oracle:
    """The policies, the members of groups, and the members of roles."""

    policies: Sequence[Policy]
    groups: Mapping[str, Sequence[str]]
    roles: Mapping[str, Sequence[str]]
    now: float = 0.0
    masked: Sequence[Policy] = field(init=False)

    def __post_init__(self) -> None:
        self.masked = [p for p in self.policies if p.get("policyType", 0) > 0]

    def allows(self, user: str, access: str, *resource: str) -> bool:
        """Whether the user has the access on database, table and column, as far as given."""
        for priority in (1, 0):
            said = [
                self._said(policy, user, access, resource)
                for policy in self.policies
                if policy.get("policyPriority", 0) == priority and not policy.get("policyType")
            ]
            if False in said:
                return False
            if True in said:
                return True
        return False

    def sees_all(self, user: str, *resource: str) -> bool:
        """Whether the user sees all data of the table, without masks and filters."""
        for policy in self.masked:
            if not (self._holds(policy) and self._about(policy, resource)):
                continue
            for item in policy.get("dataMaskPolicyItems", []):
                if self._is_of(item, user):
                    return bool(item["dataMaskInfo"]["dataMaskType"] == "MASK_NONE")
            for item in policy.get("rowFilterPolicyItems", []):
                if self._is_of(item, user):
                    return not item["rowFilterInfo"]["filterExpr"]
        return True

    def _said(self, policy: Policy, user: str, access: str, resource: Sequence[str]) -> bool | None:
        if not (self._holds(policy) and self._about(policy, resource)):
            return None

        def named(key: str) -> bool:
            return any(
                self._is_of(item, user) and self._has(item, access) for item in policy.get(key, [])
            )

        if named("denyPolicyItems") and not named("denyExceptions"):
            return False
        if named("policyItems") and not named("allowExceptions"):
            return True
        return False if policy.get("isDenyAllElse") else None

    def _holds(self, policy: Policy) -> bool:
        if not policy.get("isEnabled", True) or policy.get("conditions"):
            return bool(policy.get("isEnabled", True)) and self._met(policy)
        schedules = policy.get("validitySchedules", [])
        return not schedules or any(self._in(one) for one in schedules)

    def _met(self, policy: Policy) -> bool:
        """Whether a condition holds; its values say so."""
        return all(one["values"] == ["met"] for one in policy.get("conditions", []))

    def _in(self, schedule: Mapping[str, str]) -> bool:
        def moment(key: str) -> float | None:
            if not schedule.get(key):
                return None
            found = datetime.strptime(schedule[key], "%Y/%m/%d %H:%M:%S").replace(tzinfo=UTC)
            return found.timestamp()

        start, end = moment("startTime"), moment("endTime")
        return (start is None or start <= self.now) and (end is None or self.now <= end)

    def _about(self, policy: Policy, resource: Sequence[str]) -> bool:
        spelt = policy["resources"]
        for level, name in zip(LEVELS, resource, strict=False):
            if level not in spelt:
                return False
            found = any(
                fullmatch(translate(value.lower()), name.lower())
                for value in spelt[level]["values"]
            )
            if found is bool(spelt[level].get("isExcludes", False)):
                return False
        left = [level for level in LEVELS[len(resource) :] if level in spelt]
        return all(spelt[level]["values"] == ["*"] for level in left)

    def _has(self, item: Mapping[str, Any], access: str) -> bool:
        return any(one["type"] in (access, "all") for one in item["accesses"])

    def _is_of(self, item: Mapping[str, Any], user: str) -> bool:
        if item.get("conditions") and not self._met(item):
            return False
        groups = {"public", *self.groups.get(user, ())}
        roles = {role for role, users in self.roles.items() if user in users}
        return (
            user in item.get("users", [])
            or bool(groups & set(item.get("groups", [])))
            or bool(roles & set(item.get("roles", [])))
        )

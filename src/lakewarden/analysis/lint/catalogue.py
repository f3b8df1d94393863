"""All rules, in the order of their ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from lakewarden.analysis.lint.finding import Rule
from lakewarden.analysis.lint.rules import (
    beaten_allow,
    broad_grant,
    busy_group,
    bypassed_deny,
    crowded_user,
    dangling_entity,
    dangling_principal,
    deep_container,
    deep_domain,
    denied_owner,
    deprecated_privilege,
    domain_boundary,
    duplicate_statement,
    editable_criterion,
    empty_criterion,
    empty_group,
    empty_statement,
    everyone_may_write,
    expired_statement,
    homeless_entity,
    idle_deny,
    idle_privilege,
    implicit_self,
    inactive_leftover,
    lifted_constraint,
    many_admins,
    many_groups,
    may_grant,
    no_resources,
    not_equals_only,
    not_inherited,
    outsider,
    overlapping_domains,
    per_user_policy,
    policy_count,
    repeated_privilege,
    role_overrides_views,
    search_guard,
    set_aside,
    shadowed_statement,
    typed_owner,
    unfollowed_cycle,
    unheld_role,
    unknown_privilege,
    unowned_container,
    unowned_schema,
    unreachable_privilege,
    unusable_principal,
    urn_policies,
    vacuous_scope,
    view_by_type,
    wrong_type,
)
from lakewarden.kernel.errors import Unknown

_MODULES: Final = (
    beaten_allow,
    broad_grant,
    busy_group,
    bypassed_deny,
    crowded_user,
    dangling_entity,
    dangling_principal,
    deep_container,
    deep_domain,
    denied_owner,
    deprecated_privilege,
    domain_boundary,
    duplicate_statement,
    editable_criterion,
    empty_criterion,
    empty_group,
    empty_statement,
    everyone_may_write,
    expired_statement,
    homeless_entity,
    idle_deny,
    idle_privilege,
    implicit_self,
    inactive_leftover,
    lifted_constraint,
    many_admins,
    many_groups,
    may_grant,
    no_resources,
    not_equals_only,
    not_inherited,
    outsider,
    overlapping_domains,
    per_user_policy,
    policy_count,
    repeated_privilege,
    role_overrides_views,
    search_guard,
    set_aside,
    shadowed_statement,
    typed_owner,
    unfollowed_cycle,
    unheld_role,
    unknown_privilege,
    unowned_container,
    unowned_schema,
    unreachable_privilege,
    unusable_principal,
    urn_policies,
    vacuous_scope,
    view_by_type,
    wrong_type,
)

RULES: Final[Mapping[str, Rule]] = {module.RULE.id: module.RULE for module in _MODULES}
"""Every rule, by its id."""


def rule(id: str) -> Rule:
    """The rule of this id; raises `Unknown`."""
    found = RULES.get(id)
    if found is None:
        near = get_close_matches(id, RULES, n=1)
        hint = f"did you mean `{near[0]}`?" if near else "`lakewarden lint --list-rules` lists them"
        raise Unknown("rule", id, hint)
    return found


def chosen(wanted: Iterable[str], ignored: Iterable[str]) -> tuple[Rule, ...]:
    """The rules asked for, all if none are, less those ignored; raises `Unknown`."""
    names = {rule(id).id for id in wanted} or set(RULES)
    left_out = {rule(id).id for id in ignored}
    return tuple(RULES[id] for id in RULES if id in names - left_out)

"""The caller, its privileges, and the privileges of others.

SOURCE: datahub reference 3.10, 6.2, 6.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.principal import USER, Principal
from lakewarden.systems.datahub.http.graphql import (
    authorization,
    evaluation,
    kinds,
)
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import POLICIES
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad, forbidden
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_APPLICATIONS: Final = Entity("application", "")
"""The type of applications; no privilege of the platform is about them."""

_PROPERTIES: Final = Entity("structuredProperty", "")
"""The type of structured properties, the target of the checks of their mutations."""

_PLATFORM: Final = {
    "viewAnalytics": "analytics.view",
    "viewMetadataProposals": "proposal.view",
    "manageIdentities": "identity.manage",
    "manageIngestion": "ingestion.manage",
    "manageSecrets": "secret.manage",
    "manageDomains": "MANAGE_DOMAINS",
    "manageTests": "test.manage",
    "manageGlossaries": "glossary.change_root",
    "manageUserCredentials": "user.invite",
    "manageTags": "MANAGE_TAGS",
    "viewManageTags": "tag.view_page",
    "createDomains": "domain.create",
    "createTags": "tag.create",
    "createLogicalModels": "logical_model.create",
    "manageTokens": "token.manage",
    "viewTests": "test.view",
    "manageDocuments": "document.manage",
    "manageGlobalSettings": "platform_settings.manage",
    "manageGlobalViews": "public_view.manage",
    "manageOwnershipTypes": "ownership_type.manage",
    "manageGlobalAnnouncements": "home_post.delete",
    "createBusinessAttributes": "business_attribute.create",
    "manageBusinessAttributes": "business_attribute.manage",
    "viewStructuredPropertiesPage": "structured_property.view",
    "manageFeatures": "feature.manage",
    "manageHomePageTemplates": "home_template.manage",
    "manageServiceAccounts": "service_account.manage",
}
"""The operation, or privilege, that each member checks without a resource."""


def _me(_: object, info: Info) -> Mapping[str, Any]:
    call: Call = info.context
    authorization.allow(call, "me.read")
    return {"corpUser": call.actor, "platformPrivileges": call.actor}


def _on_platform(operation: str) -> Callable[[Entity, Info], bool]:
    return lambda _, info: authorization.is_allowed(info.context, operation)


def _can_manage_policies(_: Entity, info: Info) -> bool:
    return authorization.is_allowed(info.context, "policy.manage", POLICIES)


def _can_manage_properties(_: Entity, info: Info) -> bool:
    return authorization.is_allowed(info.context, "structured_property.manage", _PROPERTIES)


def _can_manage_applications(_: Entity, info: Info) -> bool:
    return authorization.is_allowed(info.context, "entity.manage", _APPLICATIONS)


def _can_generate_tokens(caller: Entity, info: Info) -> bool:
    return authorization.is_allowed(info.context, "token.create_personal", caller)


def _granted_privileges(_: object, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Call = info.context
    actor = calls.entity(input["actorUrn"], "corpuser")
    manages = authorization.is_allowed(call, "privileges.read", POLICIES)
    if not manages and not authorization.is_allowed(call, "privileges.read", actor):
        raise forbidden("privileges.read")
    target = _target(input.get("resourceSpec"), info)
    principal, now = Principal(USER, actor.name), call.exchange.now
    details = None
    explained = authorization.is_allowed(call, "privileges.explain", POLICIES)
    if input["includeEvaluationDetails"] and explained:
        details = [
            {"policyName": reason.policy, "reason": reason.reason}
            for reason in evaluation.reasons(call.state, principal, target, now)
        ]
    granted = authorization.granted_privileges(call.state, principal, target, now)
    return {"privileges": granted, "evaluationDetails": details}


def _target(spec: Mapping[str, Any] | None, info: Info) -> Entity:
    """The target entity or type; the type in the URN must agree with the enum value."""
    if spec is None:
        return NO_RESOURCE
    type_name, urn = spec["resourceType"], spec["resourceUrn"]
    if urn:
        target = calls.entity(urn)
        if kinds.type_word(target, info) != type_name:
            raise bad(f"`{urn}` is not of type `{type_name}`")
        return target
    types = (Entity(type, "") for type in info.context.state.system.model.types)
    of_type = next(
        (candidate for candidate in types if kinds.type_word(candidate, info) == type_name), None
    )
    if of_type is None or type_name == "OTHER":
        raise bad(f"there is no type `{type_name}` to be asked about")
    return of_type


def _access_report(_: object, info: Info, userUrn: str) -> Mapping[str, Any]:  # noqa: N803 — the schema's name
    call: Call = info.context
    user = calls.entity(userUrn, "corpuser")
    authorization.allow(call, "access.debug", user)
    access = evaluation.effective_access(call.state, Principal(USER, user.name), call.exchange.now)
    return {
        "roles": access.roles,
        "groups": access.groups,
        "groupsWithRoles": access.groups_with_roles,
        "rolesViaGroups": access.roles_via_groups,
        "allRoles": sorted({*access.roles, *access.roles_via_groups}),
        "policies": access.policies,
        "privileges": access.privileges,
    }


RESOLVERS: Final[Resolvers] = {
    "Query": {
        "me": _me,
        "getGrantedPrivileges": _granted_privileges,
        "debugAccess": _access_report,
    },
    "PlatformPrivileges": {
        **{member: _on_platform(operation) for member, operation in _PLATFORM.items()},
        "managePolicies": _can_manage_policies,
        "manageApplications": _can_manage_applications,
        "manageStructuredProperties": _can_manage_properties,
        "generatePersonalAccessTokens": _can_generate_tokens,
    },
}

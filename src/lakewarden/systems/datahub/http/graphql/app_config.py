"""The configuration for a frontend: the available features, and the grantable privileges.

Settings of a frontend's appearance are left to the frontend.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from graphql import GraphQLObjectType

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.model import Model, Privilege
from lakewarden.systems.datahub.http.graphql import kinds
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.settings import DataHubSettings

_ALL: Final = "all"
_ANY: Final = "any"
_LOOKS: Final = ("queriesTab", "entityProfiles", "searchResult", "theme", "application")

_GENERIC: Final = frozenset({"dataHubIngestionSource", "dataHubView", "structuredProperty"})
"""Types that are offered for policies, although no privilege is only about them.

SOURCE: PoliciesConfig, the privileges of each type.
"""

SERVED: Final = frozenset(
    (
        *("assetSummaryPageV1", "businessAttributeEntityEnabled", "contextDocumentsEnabled"),
        *("dataContractsEnabled", "datasetSummaryPageV1", "editableDatasetNameEnabled"),
        *("erModelRelationshipFeatureEnabled", "glossaryBasedPoliciesEnabled"),
        *("logicalModelsEnabled", "nestedDomainsEnabled", "platformBrowseV2"),
        *("schemaFieldCLLEnabled", "showAccessManagement", "showAutoCompleteResults"),
        *("showBrowseV2", "showHomePageRedesign", "showManageStructuredProperties"),
        *("showManageTags", "showSearchFiltersV2", "showSeparateSiblings"),
        *("themeV2Default", "themeV2Enabled"),
    )
)
"""The features with everything that a frontend needs; it offers no others."""


def _config(_: object, info: Info) -> Mapping[str, Any]:
    call: Call = info.context
    services, model = call.exchange.services, call.state.system.model
    flags = info.schema.type_map["FeatureFlagsConfig"]
    names = flags.fields if isinstance(flags, GraphQLObjectType) else ()
    enabled, without = {"enabled": True}, {"enabled": False}
    return {
        "appVersion": services.of(DataHubSettings).version,
        "authConfig": {"tokenAuthEnabled": True},
        "analyticsConfig": enabled,
        "policiesConfig": {
            "enabled": services.of(DataHubSettings).policies,
            "platformPrivileges": [
                _privilege_record(privilege)
                for privilege in _grantable_privileges(model)
                if not privilege.on
            ],
            "resourcePrivileges": list(_by_type(model, info)),
        },
        "identityManagementConfig": enabled,
        # Sources and tests are stored, but nothing on this server runs them.
        "managedIngestionConfig": without,
        "lineageConfig": {"supportsImpactAnalysis": True},
        "visualConfig": {name: {} for name in _LOOKS},
        "telemetryConfig": {"enableThirdPartyLogging": False},
        "testsConfig": without,
        "viewsConfig": enabled,
        "searchBarConfig": {"apiVariant": "AUTOCOMPLETE_FOR_MULTIPLE"},
        "searchCardConfig": {"showDescription": True},
        "searchFlagsConfig": {"defaultSkipHighlighting": False},
        "featureFlags": {name: name in SERVED for name in names},
        "chromeExtensionConfig": {**without, "lineageEnabled": False},
        "homePageConfig": {"firstInPersonalSidebar": "YOUR_ASSETS"},
        "semanticSearchConfig": {**without, "enabledEntities": []},
    }


def _grantable_privileges(model: Model) -> Iterable[Privilege]:
    return (privilege for privilege in model.privileges.values() if privilege.grantable)


def _by_type(model: Model, info: Info) -> Iterable[Mapping[str, Any]]:
    """The privileges that can be granted on all types, and on each type that has any."""
    on_any = [privilege for privilege in _grantable_privileges(model) if privilege.on]
    yield {
        "resourceType": _ALL,
        "resourceTypeDisplayName": "All Types",
        "entityType": None,
        "privileges": [_privilege_record(privilege) for privilege in on_any],
    }
    for name, type in sorted(model.types.items()):
        own = [_privilege_record(privilege) for privilege in on_any if privilege.on & {name, _ANY}]
        type_name = kinds.type_word(Entity(name, ""), info)
        if name in _GENERIC or any(name in privilege.on for privilege in on_any):
            yield {
                "resourceType": name,
                "resourceTypeDisplayName": type.title or name,
                "entityType": None if type_name == "OTHER" else type_name,
                "privileges": own,
            }


def _privilege_record(privilege: Privilege) -> Mapping[str, str | None]:
    return {
        "type": privilege.name,
        "displayName": privilege.title,
        "description": privilege.note or None,
    }


RESOLVERS: Final[Resolvers] = {"Query": {"appConfig": _config}}

"""What DataHub keeps for the platform itself, and what is noted of assets beside their pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lakewarden.systems.datahub.http.graphql.platform import (
    analytics,
    applications,
    assertion_kinds,
    assertion_output,
    assertions,
    asset_tests,
    assets,
    business_attributes,
    connections,
    data_contracts,
    deletion,
    documents,
    er_relationships,
    executions,
    form_answers,
    form_output,
    forms,
    health,
    incidents,
    ingestion,
    lineage,
    ownership_types,
    page_templates,
    posts,
    property_values,
    secrets,
    settings,
    steps,
    structured_properties,
    views,
)
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers

_MODULES: Final = (
    analytics,
    applications,
    assertion_kinds,
    assertion_output,
    assertions,
    asset_tests,
    assets,
    business_attributes,
    connections,
    data_contracts,
    deletion,
    documents,
    er_relationships,
    executions,
    form_answers,
    form_output,
    forms,
    health,
    incidents,
    ingestion,
    lineage,
    ownership_types,
    page_templates,
    posts,
    property_values,
    secrets,
    settings,
    steps,
    structured_properties,
    views,
)
"""Each has `RESOLVERS`: by type and field."""


def _together() -> dict[str, Mapping[str, Callable[..., Any]]]:
    found: dict[str, dict[str, Callable[..., Any]]] = {}
    for module in _MODULES:
        for type, fields in module.RESOLVERS.items():
            found.setdefault(type, {}).update(fields)
    return {**found}


RESOLVERS: Final[Resolvers] = _together()

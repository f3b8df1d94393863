"""A field that several types share shows the same aspect on each of them."""

from __future__ import annotations

from typing import Any, Final

import pytest

from lakewarden.kernel.model import Model
from lakewarden.systems.datahub.aspects.meaning import READERS
from lakewarden.systems.datahub.http.graphql.kinds import KINDS
from lakewarden.systems.datahub.http.graphql.schema import schema
from tests.systems.datahub.http.graphql.pages.kinds import FEATURE, FLOW, JOB, KEY, MODELS
from tests.systems.datahub.http.graphql.pages.kinds import MODEL as CHURN
from tests.systems.datahub.http.graphql.pages.test_kinds import put
from tests.systems.datahub.http.graphql.pages.world import ASPECTS, HIVE, INSTANCE, ORDERS, column
from tests.systems.datahub.http.graphql.wire import Wire

SHARED: Final = {
    "access": ("access", "roles { associatedUrn }"),
    "assetOrigin": ("origin", "type"),
    "browsePathV2": ("browsePathsV2", "path { name }"),
    "container": ("container", "urn"),
    "dataPlatformInstance": ("dataPlatformInstance", "urn"),
    "deprecation": ("deprecation", "note"),
    "domain": ("domains", "domain { urn }"),
    "embed": ("embed", "renderUrl"),
    "globalTags": ("globalTags", "tags { tag { urn } }"),
    "glossaryTerms": ("glossaryTerms", "terms { term { urn } }"),
    "institutionalMemory": ("institutionalMemory", "elements { url }"),
    "ownership": ("ownership", "owners { owner { ... on CorpUser { urn } } }"),
    "parentContainers": ("container", "count"),
    "platform": ("dataPlatformInstance", "urn"),
    "siblings": ("siblings", "isPrimary"),
    "status": ("status", "removed"),
    "structuredProperties": ("structuredProperties", "properties { associatedUrn }"),
    "subTypes": ("subTypes", "typeNames"),
    "tags": ("globalTags", "tags { tag { urn } }"),
}
"""Fields, the aspect that each shows, and its selected members."""

URNS: Final = {
    "chart": "urn:li:chart:(looker,c)",
    "dashboard": "urn:li:dashboard:(looker,d)",
    "dataFlow": FLOW,
    "dataJob": JOB,
    "dataPlatformInstance": INSTANCE,
    "dataset": ORDERS,
    "metric": f"urn:li:metric:({HIVE},sales,revenue)",
    "mlFeature": FEATURE,
    "mlFeatureTable": f"urn:li:mlFeatureTable:({HIVE},t)",
    "mlModel": CHURN,
    "mlModelDeployment": CHURN.replace("mlModel:", "mlModelDeployment:"),
    "mlModelGroup": MODELS,
    "mlPrimaryKey": KEY,
    "notebook": "urn:li:notebook:(querybook,n)",
    "schemaField": column("id"),
    "semanticModel": f"urn:li:semanticModel:({HIVE},sales,model)",
    "versionSet": "urn:li:versionSet:(v,dataset)",
}
"""Entities of the types whose names have several parts."""

_NONE: Final = {"restricted"}
"""Represents a hidden entity."""


def can_have(model: Model, type: str, aspect: str) -> bool:
    """Whether the model permits the aspect's facts for entities of the type."""
    relation = {"domains": "domain", "globalTags": "tag", "glossaryTerms": "term"}.get(aspect)
    if aspect not in READERS or relation is None:
        return True
    sources = model.relations[relation].sources
    return not sources or type in sources


@pytest.mark.parametrize("type", sorted(set(KINDS) - _NONE))
def test_what_every_page_has_is_shown_on_this_one(wire: Wire, type: str) -> None:
    urn = URNS.get(type, f"urn:li:{type}:x")
    told: Any = schema().type_map[KINDS[type]]
    model = wire.service.state.realm("datahub").system.model
    fields = {
        name: selected
        for name, (aspect, selected) in SHARED.items()
        if name in told.fields and can_have(model, type, aspect)
        # The state of an incident, and of a user, has the same name as a status.
        if name != "status" or str(told.fields[name].type) == "Status"
    }
    put(wire, urn, {"status": {"removed": False}})
    put(wire, urn, {SHARED[name][0]: ASPECTS[SHARED[name][0]] for name in fields})
    body = " ".join(f"{name} {{ {selected} }}" for name, selected in fields.items())
    page = f"... on {told.name} {{ urn {body} }}"
    query = f"query q($u: String!) {{ entity(urn: $u) {{ urn {page} }} }}"
    found = wire.good(query, u=urn)
    assert {name for name in fields if not found[name]} == set()
    if "ownership" in fields:
        assert len(found["ownership"]["owners"]) == 2
    if "tags" in fields:
        assert found["tags"]["tags"][0]["tag"]["urn"] == "urn:li:tag:pii"

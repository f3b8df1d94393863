"""Key aspects: the parts of a URN, in the form of the aspect that clients read.

SOURCE: key records of acryl-datahub 1.7.0.17; datahub reference 6.7 and 6.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub import names as datahub

_FIELDS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "application": ("applicationKey", ("id",)),
    "assertion": ("assertionKey", ("assertionId",)),
    "businessAttribute": ("businessAttributeKey", ("id",)),
    "chart": ("chartKey", ("dashboardTool", "chartId")),
    "container": ("containerKey", ("guid",)),
    "corpGroup": ("corpGroupKey", ("name",)),
    "corpuser": ("corpUserKey", ("username",)),
    "dashboard": ("dashboardKey", ("dashboardTool", "dashboardId")),
    "dataFlow": ("dataFlowKey", ("orchestrator", "flowId", "cluster")),
    "dataHubRetention": ("dataHubRetentionKey", ("entityName", "aspectName")),
    "dataJob": ("dataJobKey", ("flow", "jobId")),
    "dataPlatform": ("dataPlatformKey", ("platformName",)),
    "dataPlatformInstance": ("dataPlatformInstanceKey", ("platform", "instance")),
    "dataProcess": ("dataProcessKey", ("name", "orchestrator", "origin")),
    "dataset": ("datasetKey", ("platform", "name", "origin")),
    "domain": ("domainKey", ("id",)),
    "glossaryNode": ("glossaryNodeKey", ("name",)),
    "glossaryTerm": ("glossaryTermKey", ("name",)),
    "metric": ("metricKey", ("platform", "path", "id")),
    "mlFeature": ("mlFeatureKey", ("featureNamespace", "name")),
    "mlFeatureTable": ("mlFeatureTableKey", ("platform", "name")),
    "mlModel": ("mlModelKey", ("platform", "name", "origin")),
    "mlModelDeployment": ("mlModelDeploymentKey", ("platform", "name", "origin")),
    "mlModelGroup": ("mlModelGroupKey", ("platform", "name", "origin")),
    "mlPrimaryKey": ("mlPrimaryKeyKey", ("featureNamespace", "name")),
    "notebook": ("notebookKey", ("notebookTool", "notebookId")),
    "semanticModel": ("semanticModelKey", ("platform", "path", "id")),
    "schemaField": ("schemaFieldKey", ("parent", "fieldPath")),
    "tag": ("tagKey", ("name",)),
    "telemetry": ("telemetryKey", ("name",)),
    "versionSet": ("versionSetKey", ("id", "entityType")),
}


def key_of(entity: Entity) -> tuple[str, dict[str, object]] | None:
    """The name and value of an entity's key aspect; None for a key of unknown arity.

    >>> key_of(Entity("corpuser", "urn:li:corpuser:ana"))
    ('corpUserKey', {'username': 'ana'})
    >>> key_of(Entity("dataHubPolicy", "urn:li:dataHubPolicy:7"))
    ('dataHubPolicyKey', {'id': '7'})
    """
    aspect, fields = _FIELDS.get(entity.type, (name_of(entity.type), ("id",)))
    parts = datahub.key_parts(entity.name)
    if len(parts) != len(fields):
        return None
    return aspect, dict(zip(fields, parts, strict=True))


def name_of(type: str) -> str:
    """The name of the key aspect of a type.

    >>> name_of("corpuser"), name_of("dataHubPolicy")
    ('corpUserKey', 'dataHubPolicyKey')
    """
    known = _FIELDS.get(type)
    return f"{type}Key" if known is None else known[0]

"""The record of each aspect: its full name, under which clients of DataHub look for it.

A name that is not in the tables is derived by rule, since DataHub's own list grows.

SOURCE: Avro schemas of acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted

_SPACES: Final[Mapping[str, str]] = {
    "com.linkedin.access.token": "dataHubAccessTokenInfo",
    "com.linkedin.agent": "aiAgentDependencies aiAgentInfo",
    "com.linkedin.agentskill": "agentSkillInfo",
    "com.linkedin.api": "apiProperties apiSignature restApiProperties",
    "com.linkedin.application": """\
applicationKey applicationLineage applicationProperties applications""",
    "com.linkedin.assertion": """\
assertionActions assertionInfo assertionNote assertionRunEvent assertionRunSummary""",
    "com.linkedin.businessattribute": """\
businessAttributeInfo businessAttributeKey businessAttributes""",
    "com.linkedin.chart": """\
chartInfo chartQuery chartUsageStatistics editableChartProperties""",
    "com.linkedin.common": """\
access aiContext aliases browsePaths browsePathsV2 cost dataPlatformInstance dataTransformLogic
deprecation displayProperties documentation embed forms globalTags glossaryTerms
incidentsSummary inputFields institutionalMemory operation origin ownership semanticContent
semanticText siblings status subTypes upstreamMetrics versionProperties""",
    "com.linkedin.connection": "dataHubConnectionDetails",
    "com.linkedin.container": "container containerProperties editableContainerProperties",
    "com.linkedin.dashboard": """\
dashboardInfo dashboardUsageStatistics editableDashboardProperties""",
    "com.linkedin.datacontract": "dataContractProperties dataContractStatus",
    "com.linkedin.datajob": """\
dataFlowInfo dataJobInfo dataJobInputOutput editableDataFlowProperties editableDataJobProperties
versionInfo""",
    "com.linkedin.datajob.datahub": """\
datahubIngestionCheckpoint datahubIngestionRunSummary""",
    "com.linkedin.dataplatform": "dataPlatformInfo",
    "com.linkedin.dataplatform.slack": "slackUserInfo",
    "com.linkedin.dataplatforminstance": """\
dataPlatformInstanceProperties icebergWarehouseInfo""",
    "com.linkedin.dataprocess": """\
dataProcessInfo dataProcessInstanceInput dataProcessInstanceOutput dataProcessInstanceProperties
dataProcessInstanceRelationships dataProcessInstanceRunEvent""",
    "com.linkedin.dataproduct": "dataProductKey dataProductProperties dataProducts",
    "com.linkedin.dataset": """\
datasetDeprecation datasetProfile datasetProperties datasetUpstreamLineage
datasetUsageStatistics editableDatasetProperties icebergCatalogInfo partitionsSummary
semanticModelProperties upstreamLineage viewProperties""",
    "com.linkedin.datatype": "dataTypeInfo dataTypeKey",
    "com.linkedin.domain": "domainProperties domains",
    "com.linkedin.entitytype": "entityTypeInfo entityTypeKey",
    "com.linkedin.ermodelrelation": """\
editableERModelRelationshipProperties erModelRelationshipProperties""",
    "com.linkedin.execution": """\
dataHubExecutionRequestInput dataHubExecutionRequestResult dataHubExecutionRequestSignal""",
    "com.linkedin.file": "dataHubFileInfo",
    "com.linkedin.form": "dynamicFormAssignment formInfo",
    "com.linkedin.glossary": "glossaryNodeInfo glossaryRelatedTerms glossaryTermInfo",
    "com.linkedin.identity": """\
corpGroupEditableInfo corpGroupInfo corpUserCredentials corpUserEditableInfo corpUserInfo
corpUserSettings corpUserStatus groupMembership inviteToken nativeGroupMembership roleMembership""",
    "com.linkedin.incident": """\
incidentExternalLinks incidentInfo incidentNotes incidentSource""",
    "com.linkedin.ingestion": "dataHubIngestionSourceInfo",
    "com.linkedin.knowledge": "documentInfo documentSettings documentUsageStatistics",
    "com.linkedin.lifecycle": "lifecycleStageTypeInfo",
    "com.linkedin.logical": "logicalParent",
    "com.linkedin.metadata.key": """\
agentSkillKey aiAgentKey apiKey assertionKey chartKey containerKey corpGroupKey corpUserKey
dashboardKey dataContractKey dataFlowKey dataHubAccessTokenKey dataHubActionKey
dataHubConnectionKey dataHubExecutionRequestKey dataHubFileKey dataHubIngestionSourceKey
dataHubOpenAPISchemaKey dataHubPageModuleKey dataHubPageTemplateKey dataHubPersonaKey
dataHubPolicyKey dataHubRetentionKey dataHubRoleKey dataHubSecretKey dataHubStepStateKey
dataHubUpgradeKey dataHubViewKey dataJobKey dataPlatformInstanceKey dataPlatformKey
dataProcessInstanceKey dataProcessKey datasetKey documentKey domainKey erModelRelationshipKey
formKey globalSettingsKey glossaryNodeKey glossaryTermKey incidentKey inviteTokenKey
lifecycleStageTypeKey metricKey mlFeatureKey mlFeatureTableKey mlModelDeploymentKey
mlModelGroupKey mlModelKey mlPrimaryKeyKey notebookKey ownershipTypeKey postKey queryKey roleKey
schemaFieldKey searchTemplateKey semanticModelKey tagKey telemetryKey testKey versionSetKey""",
    "com.linkedin.metadata.search.features": "storageFeatures usageFeatures",
    "com.linkedin.metric": "metricInfo metricRelationships metricUpstreams",
    "com.linkedin.ml.metadata": """\
editableMlFeatureProperties editableMlFeatureTableProperties editableMlModelGroupProperties
editableMlModelProperties editableMlPrimaryKeyProperties intendedUse mlFeatureProperties
mlFeatureTableProperties mlHyperParam mlMetric mlModelCaveatsAndRecommendations
mlModelDeploymentProperties mlModelEthicalConsiderations mlModelEvaluationData
mlModelFactorPrompts mlModelGroupProperties mlModelMetrics mlModelProperties
mlModelQuantitativeAnalyses mlModelTrainingData mlPrimaryKeyProperties mlTrainingRunProperties
sourceCode""",
    "com.linkedin.module": "dataHubPageModuleProperties",
    "com.linkedin.mxe": "systemMetadata",
    "com.linkedin.notebook": "editableNotebookProperties notebookContent notebookInfo",
    "com.linkedin.ownership": "ownershipTypeInfo",
    "com.linkedin.persona": "dataHubPersonaInfo",
    "com.linkedin.platformresource": "platformResourceInfo platformResourceKey",
    "com.linkedin.policy": "dataHubPolicyInfo dataHubRoleInfo",
    "com.linkedin.post": "postInfo",
    "com.linkedin.query": "queryProperties querySubjects queryUsageStatistics",
    "com.linkedin.repository": """\
repositoryKey repositoryLineage repositoryProperties repositorySource""",
    "com.linkedin.retention": "dataHubRetentionConfig",
    "com.linkedin.role": "actors roleProperties",
    "com.linkedin.schema": "editableSchemaMetadata schemaMetadata",
    "com.linkedin.schemafield": "schemaFieldAliases schemafieldInfo",
    "com.linkedin.search.template": "searchTemplateProperties",
    "com.linkedin.secret": "dataHubSecretValue",
    "com.linkedin.semanticmodel": "semanticFieldAnnotation semanticModelInfo",
    "com.linkedin.service": """\
mcpServerProperties serviceDefinition serviceKey serviceProperties""",
    "com.linkedin.settings.asset": "assetSettings",
    "com.linkedin.settings.global": "globalSettingsInfo",
    "com.linkedin.step": "dataHubStepStateProperties",
    "com.linkedin.structured": """\
propertyDefinition structuredProperties structuredPropertyKey structuredPropertySettings""",
    "com.linkedin.tag": "tagProperties",
    "com.linkedin.telemetry": "telemetryClientId",
    "com.linkedin.template": "dataHubPageTemplateProperties",
    "com.linkedin.test": "testInfo testResults",
    "com.linkedin.upgrade": "dataHubUpgradeRequest dataHubUpgradeResult",
    "com.linkedin.versionset": "versionSetProperties",
    "com.linkedin.view": "dataHubViewInfo",
}
"""The names of aspects, by the namespace of their records."""

_IRREGULAR: Final[Mapping[str, str]] = {
    "aiAgentDependencies": "AIAgentDependencies",
    "aiAgentInfo": "AIAgentInfo",
    "aiAgentKey": "AIAgentKey",
    "dataHubExecutionRequestInput": "ExecutionRequestInput",
    "dataHubExecutionRequestKey": "ExecutionRequestKey",
    "dataHubExecutionRequestResult": "ExecutionRequestResult",
    "dataHubExecutionRequestSignal": "ExecutionRequestSignal",
    "editableMlFeatureProperties": "EditableMLFeatureProperties",
    "editableMlFeatureTableProperties": "EditableMLFeatureTableProperties",
    "editableMlModelGroupProperties": "EditableMLModelGroupProperties",
    "editableMlModelProperties": "EditableMLModelProperties",
    "editableMlPrimaryKeyProperties": "EditableMLPrimaryKeyProperties",
    "erModelRelationshipKey": "ERModelRelationshipKey",
    "erModelRelationshipProperties": "ERModelRelationshipProperties",
    "mlFeatureKey": "MLFeatureKey",
    "mlFeatureProperties": "MLFeatureProperties",
    "mlFeatureTableKey": "MLFeatureTableKey",
    "mlFeatureTableProperties": "MLFeatureTableProperties",
    "mlHyperParam": "MLHyperParam",
    "mlMetric": "MLMetric",
    "mlModelCaveatsAndRecommendations": "CaveatsAndRecommendations",
    "mlModelDeploymentKey": "MLModelDeploymentKey",
    "mlModelDeploymentProperties": "MLModelDeploymentProperties",
    "mlModelEthicalConsiderations": "EthicalConsiderations",
    "mlModelEvaluationData": "EvaluationData",
    "mlModelFactorPrompts": "MLModelFactorPrompts",
    "mlModelGroupKey": "MLModelGroupKey",
    "mlModelGroupProperties": "MLModelGroupProperties",
    "mlModelKey": "MLModelKey",
    "mlModelMetrics": "Metrics",
    "mlModelProperties": "MLModelProperties",
    "mlModelQuantitativeAnalyses": "QuantitativeAnalyses",
    "mlModelTrainingData": "TrainingData",
    "mlPrimaryKeyKey": "MLPrimaryKeyKey",
    "mlPrimaryKeyProperties": "MLPrimaryKeyProperties",
    "mlTrainingRunProperties": "MLTrainingRunProperties",
    "propertyDefinition": "StructuredPropertyDefinition",
    "schemafieldInfo": "SchemaFieldInfo",
}
"""Records with names that differ from those of their aspects."""

TIMESERIES: Final = frozenset(
    (
        "assertionRunEvent",
        "chartUsageStatistics",
        "dashboardUsageStatistics",
        "dataProcessInstanceRunEvent",
        "datahubIngestionCheckpoint",
        "datahubIngestionRunSummary",
        "datasetProfile",
        "datasetUsageStatistics",
        "documentUsageStatistics",
        "operation",
        "queryUsageStatistics",
    )
)
"""Aspects that are timeseries, not single values."""

_FIRST_WORD = re.compile(r"^(?:[A-Z]+(?=[A-Z][a-z])|[A-Z])")

_UNKNOWN: Final = "com.linkedin.common"
"""The namespace of records that are not in the tables."""

_BY_ASPECT: Final = {name: space for space, names in _SPACES.items() for name in names.split()}

_BY_RECORD: Final = {record: aspect for aspect, record in _IRREGULAR.items()}


MOST_CHARACTERS: Final = 128
"""The maximum length of an aspect's name; DataHub's own have at most 42 characters."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_name(aspect: str, where: str) -> None:
    """Rejects names that no record can have in any model; raises `BadInput`.

    SOURCE: the Avro and PDL specifications, names.
    """
    if len(aspect) > MOST_CHARACTERS:
        raise BadInput(
            f"the name of an aspect has {len(aspect):,} characters, at most {MOST_CHARACTERS} are"
            " allowed",
            where=where,
        )
    if _NAME.fullmatch(aspect) is None:
        raise BadInput(
            f"{quoted(aspect)} cannot name an aspect: expected letters, digits and `_`, the first"
            " no digit",
            where=where,
        )


def is_known(aspect: str) -> bool:
    """Whether the aspect is in DataHub's own model."""
    return aspect in _BY_ASPECT


def record_name(aspect: str) -> str:
    """The full name of an aspect's record.

    >>> record_name("globalTags"), record_name("mlModelMetrics")
    ('com.linkedin.common.GlobalTags', 'com.linkedin.ml.metadata.Metrics')
    """
    short = _IRREGULAR.get(aspect) or aspect[:1].upper() + aspect[1:]
    return f"{_BY_ASPECT.get(aspect, _UNKNOWN)}.{short}"


def aspect_name(class_name: str) -> str:
    """The name of the aspect whose record has this short class name.

    >>> aspect_name("GlobalTags"), aspect_name("MLModelProperties")
    ('globalTags', 'mlModelProperties')
    """
    known = _BY_RECORD.get(class_name)
    return known or _FIRST_WORD.sub(lambda match: match[0].lower(), class_name)


def is_timed(aspect: str) -> bool:
    """Whether the aspect is a timeseries."""
    return aspect in TIMESERIES

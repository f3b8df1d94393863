"""The aspects of each entity type, for clients that request them.

Nothing is refused because of it: entities of other types, and other aspects, are stored alike.

SOURCE: Avro schemas of acryl-datahub 1.7.0.17, key records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_ASPECTS: Final[Mapping[str, str]] = {
    "agentSkill": """\
agentSkillInfo dataPlatformInstance domains globalTags glossaryTerms institutionalMemory
ownership semanticContent status structuredProperties versionProperties""",
    "aiAgent": """\
aiAgentDependencies aiAgentInfo dataPlatformInstance displayProperties domains globalTags
glossaryTerms incidentsSummary institutionalMemory ownership semanticContent status
structuredProperties upstreamLineage versionProperties""",
    "api": """\
apiProperties apiSignature dataPlatformInstance domains globalTags glossaryTerms
institutionalMemory ownership restApiProperties semanticContent status structuredProperties
subTypes versionProperties""",
    "application": """\
applicationLineage applicationProperties domains forms globalTags glossaryTerms
institutionalMemory ownership status structuredProperties subTypes testResults""",
    "assertion": """\
assertionActions assertionInfo assertionNote assertionRunEvent assertionRunSummary
dataPlatformInstance globalTags ownership status""",
    "businessAttribute": "businessAttributeInfo institutionalMemory ownership status",
    "chart": """\
applications browsePaths browsePathsV2 chartInfo chartQuery chartUsageStatistics container
dataPlatformInstance dataProducts deprecation documentation domains editableChartProperties
embed forms globalTags glossaryTerms incidentsSummary inputFields institutionalMemory ownership
status structuredProperties subTypes testResults upstreamMetrics""",
    "container": """\
access applications browsePaths browsePathsV2 container containerProperties dataPlatformInstance
dataProducts deprecation documentation domains editableContainerProperties forms globalTags
glossaryTerms institutionalMemory ownership status structuredProperties subTypes testResults""",
    "corpGroup": """\
corpGroupEditableInfo corpGroupInfo forms globalTags origin ownership roleMembership status
structuredProperties subTypes testResults""",
    "corpuser": """\
corpUserCredentials corpUserEditableInfo corpUserInfo corpUserSettings corpUserStatus forms
globalTags groupMembership nativeGroupMembership origin roleMembership slackUserInfo status
structuredProperties subTypes testResults""",
    "dashboard": """\
access applications browsePaths browsePathsV2 container dashboardInfo dashboardUsageStatistics
dataPlatformInstance dataProducts deprecation documentation domains editableDashboardProperties
embed forms globalTags glossaryTerms incidentsSummary inputFields institutionalMemory ownership
status structuredProperties subTypes testResults upstreamMetrics""",
    "dataContract": "dataContractProperties dataContractStatus status structuredProperties",
    "dataFlow": """\
applications browsePaths browsePathsV2 container dataFlowInfo dataPlatformInstance dataProducts
deprecation documentation domains editableDataFlowProperties forms globalTags glossaryTerms
incidentsSummary institutionalMemory ownership status structuredProperties subTypes testResults
versionInfo""",
    "dataHubAccessToken": "dataHubAccessTokenInfo",
    "dataHubAction": "",
    "dataHubConnection": "dataHubConnectionDetails dataPlatformInstance",
    "dataHubExecutionRequest": """\
dataHubExecutionRequestInput dataHubExecutionRequestResult dataHubExecutionRequestSignal""",
    "dataHubFile": "dataHubFileInfo status",
    "dataHubIngestionSource": "dataHubIngestionSourceInfo ownership",
    "dataHubOpenAPISchema": "systemMetadata",
    "dataHubPageModule": "dataHubPageModuleProperties",
    "dataHubPageTemplate": "dataHubPageTemplateProperties",
    "dataHubPersona": "dataHubPersonaInfo",
    "dataHubPolicy": "dataHubPolicyInfo",
    "dataHubRetention": "dataHubRetentionConfig",
    "dataHubRole": "dataHubRoleInfo",
    "dataHubSecret": "dataHubSecretValue",
    "dataHubStepState": "dataHubStepStateProperties",
    "dataHubUpgrade": "dataHubUpgradeRequest dataHubUpgradeResult",
    "dataHubView": "dataHubViewInfo",
    "dataJob": """\
applications browsePaths browsePathsV2 container dataJobInfo dataJobInputOutput
dataPlatformInstance dataProducts dataTransformLogic datahubIngestionCheckpoint
datahubIngestionRunSummary deprecation documentation domains editableDataJobProperties forms
globalTags glossaryTerms incidentsSummary institutionalMemory ownership status
structuredProperties subTypes testResults versionInfo""",
    "dataPlatform": "dataPlatformInfo",
    "dataPlatformInstance": """\
dataPlatformInstanceProperties deprecation globalTags icebergWarehouseInfo institutionalMemory
ownership status""",
    "dataProcess": "dataProcessInfo ownership status subTypes testResults",
    "dataProcessInstance": """\
container dataPlatformInstance dataProcessInstanceInput dataProcessInstanceOutput
dataProcessInstanceProperties dataProcessInstanceRelationships dataProcessInstanceRunEvent
mlTrainingRunProperties status subTypes testResults""",
    "dataProduct": """\
applications assetSettings dataProductProperties deprecation domains forms globalTags
glossaryTerms institutionalMemory ownership status structuredProperties subTypes testResults""",
    "dataset": """\
access aliases applications assetSettings browsePaths browsePathsV2 container
dataPlatformInstance dataProducts datasetDeprecation datasetProfile datasetProperties
datasetUpstreamLineage datasetUsageStatistics deprecation documentation domains
editableDatasetProperties editableSchemaMetadata embed forms globalTags glossaryTerms
icebergCatalogInfo incidentsSummary institutionalMemory logicalParent operation ownership
partitionsSummary schemaMetadata semanticModelProperties siblings status storageFeatures
structuredProperties subTypes testResults upstreamLineage upstreamMetrics usageFeatures
versionProperties viewProperties""",
    "dataType": "dataTypeInfo institutionalMemory status",
    "document": """\
browsePathsV2 dataPlatformInstance dataProducts documentInfo documentSettings
documentUsageStatistics documentation domains globalTags glossaryTerms institutionalMemory
ownership semanticContent semanticText status structuredProperties subTypes""",
    "domain": """\
assetSettings deprecation displayProperties domainProperties forms institutionalMemory ownership
structuredProperties testResults""",
    "entityType": "entityTypeInfo institutionalMemory status",
    "erModelRelationship": """\
editableERModelRelationshipProperties erModelRelationshipProperties globalTags glossaryTerms
institutionalMemory ownership status""",
    "form": "dynamicFormAssignment formInfo ownership",
    "globalSettings": "globalSettingsInfo",
    "glossaryNode": """\
applications assetSettings displayProperties domains forms globalTags glossaryNodeInfo
institutionalMemory ownership status structuredProperties subTypes testResults""",
    "glossaryTerm": """\
applications assetSettings browsePaths deprecation displayProperties domains forms globalTags
glossaryRelatedTerms glossaryTermInfo institutionalMemory ownership schemaMetadata status
structuredProperties subTypes testResults""",
    "incident": "globalTags incidentExternalLinks incidentInfo incidentNotes",
    "inviteToken": "inviteToken",
    "lifecycleStageType": "lifecycleStageTypeInfo status",
    "metric": """\
aiContext applications browsePathsV2 dataPlatformInstance deprecation documentation domains
globalTags glossaryTerms institutionalMemory metricInfo metricRelationships metricUpstreams
ownership status structuredProperties subTypes""",
    "mlFeature": """\
applications browsePaths browsePathsV2 dataPlatformInstance dataProducts deprecation
documentation domains editableMlFeatureProperties forms globalTags glossaryTerms
incidentsSummary institutionalMemory mlFeatureProperties ownership status structuredProperties
subTypes testResults""",
    "mlFeatureTable": """\
applications browsePaths browsePathsV2 dataPlatformInstance dataProducts deprecation
documentation domains editableMlFeatureTableProperties forms globalTags glossaryTerms
incidentsSummary institutionalMemory mlFeatureTableProperties ownership status
structuredProperties subTypes testResults""",
    "mlModel": """\
applications browsePaths browsePathsV2 container cost dataPlatformInstance dataProducts
deprecation documentation domains editableMlModelProperties forms globalTags glossaryTerms
incidentsSummary institutionalMemory intendedUse mlModelCaveatsAndRecommendations
mlModelEthicalConsiderations mlModelEvaluationData mlModelFactorPrompts mlModelMetrics
mlModelProperties mlModelQuantitativeAnalyses mlModelTrainingData ownership sourceCode status
structuredProperties subTypes testResults versionProperties""",
    "mlModelDeployment": """\
container dataPlatformInstance deprecation globalTags mlModelDeploymentProperties ownership
status testResults""",
    "mlModelGroup": """\
applications browsePaths browsePathsV2 container dataPlatformInstance dataProducts deprecation
documentation domains editableMlModelGroupProperties forms globalTags glossaryTerms
institutionalMemory mlModelGroupProperties ownership status structuredProperties subTypes
testResults""",
    "mlPrimaryKey": """\
applications dataPlatformInstance dataProducts deprecation domains
editableMlPrimaryKeyProperties forms globalTags glossaryTerms institutionalMemory
mlPrimaryKeyProperties ownership status structuredProperties subTypes testResults""",
    "notebook": """\
applications browsePaths browsePathsV2 dataPlatformInstance dataProducts documentation domains
editableNotebookProperties globalTags glossaryTerms institutionalMemory notebookContent
notebookInfo ownership status subTypes testResults""",
    "ownershipType": "ownershipTypeInfo status",
    "platformResource": "dataPlatformInstance platformResourceInfo status",
    "post": "postInfo subTypes",
    "query": """\
dataPlatformInstance queryProperties querySubjects queryUsageStatistics status subTypes""",
    "repository": """\
browsePathsV2 dataPlatformInstance domains globalTags glossaryTerms institutionalMemory
ownership repositoryLineage repositoryProperties repositorySource semanticContent status
structuredProperties subTypes""",
    "role": "actors roleProperties",
    "schemaField": """\
aiContext businessAttributes deprecation documentation domains forms globalTags glossaryTerms
incidentsSummary logicalParent ownership schemaFieldAliases schemafieldInfo
semanticFieldAnnotation status structuredProperties subTypes testResults""",
    "searchTemplate": "searchTemplateProperties",
    "semanticModel": """\
aiContext applications browsePathsV2 dataPlatformInstance deprecation documentation domains
globalTags glossaryTerms institutionalMemory ownership semanticModelInfo status
structuredProperties subTypes upstreamLineage""",
    "service": """\
dataPlatformInstance globalTags incidentsSummary mcpServerProperties ownership semanticContent
serviceDefinition serviceProperties status subTypes""",
    "structuredProperty": """\
institutionalMemory propertyDefinition status structuredPropertySettings""",
    "tag": "deprecation ownership status tagProperties testResults",
    "telemetry": "telemetryClientId",
    "test": "testInfo",
    "versionSet": "versionSetProperties",
}
"""All aspects except the key aspect, by type."""

TYPES: Final = tuple(_ASPECTS)


def aspects_of(type: str) -> tuple[str, ...]:
    """The aspects of a type except its key; none for an unknown type.

    >>> aspects_of("tag")
    ('deprecation', 'ownership', 'status', 'tagProperties', 'testResults')
    """
    return tuple(_ASPECTS.get(type, "").split())

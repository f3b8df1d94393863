"""Machine learning: models, their versions at work, and what they learn from.

SOURCE: records of acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.pages.assets import key, origin
from lakewarden.systems.datahub.http.graphql.pages.following import (
    Fields,
    each,
    follow,
    many,
    naming,
    shown,
    under,
)
from lakewarden.systems.datahub.http.graphql.pages.part import (
    Field,
    Part,
    aspect,
    custom_properties,
    of_aspect,
    stamp,
)
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_CODE: Final = (
    *("ML_MODEL_SOURCE_CODE", "TRAINING_PIPELINE_SOURCE_CODE"),
    "EVALUATION_PIPELINE_SOURCE_CODE",
)
_MODEL: Final = "mlModelProperties"
_GROUP: Final = "mlModelGroupProperties"
_DEPLOYMENT: Final = "mlModelDeploymentProperties"
_FEATURE: Final = "mlFeatureProperties"
_TABLE: Final = "mlFeatureTableProperties"
_KEY: Final = "mlPrimaryKeyProperties"


def _version(part: Part, _info: Info) -> str | None:
    found = part.part("version")
    return None if found is None else found.text("versionTag")


_JOBS: Final = {
    aspect: naming(aspect, under("trainingJobs", "downstreamJobs")) for aspect in (_MODEL, _GROUP)
}


def _jobs(model: Part, info: Info) -> Mapping[str, list[str]]:
    """The jobs that trained a model, and those that use it, of those that the caller is shown."""
    seen = {one.name for one in shown(info.context, model.entity, _JOBS[model.aspect])}
    return {
        key: [urn for urn in model.texts(key) if urn in seen]
        for key in ("trainingJobs", "downstreamJobs")
    }


def _made(part: Part, _info: Info) -> int | None:
    """When it was made: by the newer member, or else by the older."""
    found = part.part("created")
    return part.number("date") if found is None else found.number("time")


def _data(aspect_name: str, key: str) -> Field:
    """The data under a key of an aspect, of which the caller is shown the dataset."""
    datasets = naming(aspect_name, each(key, "dataset"), "dataset")

    def resolve(entity: Entity, info: Info) -> list[Part] | None:
        value = info.context.aspect(entity, aspect_name)
        found = Part(entity, value, aspect_name).parts(key)
        seen = {one.name for one in shown(info.context, entity, datasets)}
        return [one for one in found if one.text("dataset") in seen] if value else None

    return resolve


_USED: Final = naming(_MODEL, under("mlFeatures"))


def _features(model: Part, info: Info) -> list[str]:
    """The features as URNs, those that the caller is shown."""
    return [one.name for one in follow(info.context, model.entity, _USED)]


def _results(key: str) -> Field:
    def resolve(part: Part, _info: Info) -> Mapping[str, Any] | None:
        found = part.text(key)
        return None if found is None else {"__typename": "StringBox", "stringValue": found}

    return resolve


def _code(source: Part, _info: Info) -> list[Part]:
    """The pieces of code that are of a kind that the schema has."""
    found = source.parts("sourceCode")
    return [one for one in found if one.text("type") in _CODE and one.text("sourceCodeUrl")]


def _pays(cost: Part, _info: Info) -> Part:
    return cost.part("cost") or cost.of({})


def _number(part: Part, _info: Info) -> float | None:
    found = part.get("costId")
    return float(found) if isinstance(found, int | float) else None


def _feature(aspect_name: str) -> Fields:
    sources = naming(aspect_name, under("sources"), "dataset")
    return {
        "sources": many(sources),
        "customProperties": custom_properties,
    }


RESOLVERS: Final[Resolvers] = {
    "MLModel": {
        "name": key(1),
        "origin": origin,
        "description": of_aspect(_MODEL),
        "properties": aspect(_MODEL),
        "editableProperties": aspect("editableMlModelProperties"),
        "intendedUse": aspect("intendedUse"),
        "factorPrompts": aspect("mlModelFactorPrompts"),
        "metrics": aspect("mlModelMetrics"),
        "evaluationData": _data("mlModelEvaluationData", "evaluationData"),
        "trainingData": _data("mlModelTrainingData", "trainingData"),
        "quantitativeAnalyses": aspect("mlModelQuantitativeAnalyses"),
        "ethicalConsiderations": aspect("mlModelEthicalConsiderations"),
        "caveatsAndRecommendations": aspect("mlModelCaveatsAndRecommendations"),
        "sourceCode": aspect("sourceCode"),
        "cost": aspect("cost"),
    },
    "MLModelProperties": {
        "mlModelLineageInfo": _jobs,
        "created": stamp("created"),
        "lastModified": stamp("lastModified"),
        "date": _made,
        "version": _version,
        "mlFeatures": _features,
        "groups": many(naming(_MODEL, under("groups"), "mlModelGroup")),
        "customProperties": custom_properties,
    },
    "QuantitativeAnalyses": {
        "unitaryResults": _results("unitaryResults"),
        "intersectionalResults": _results("intersectionalResults"),
    },
    "SourceCode": {"sourceCode": _code},
    "Cost": {"costType": lambda _cost, _info: "ORG_COST_TYPE", "costValue": _pays},
    "CostValue": {"costId": _number},
    "MLModelGroup": {
        "name": key(1),
        "origin": origin,
        "description": of_aspect(_GROUP),
        "properties": aspect(_GROUP),
        "editableProperties": aspect("editableMlModelGroupProperties"),
    },
    "MLModelGroupProperties": {
        "mlModelLineageInfo": _jobs,
        "created": stamp("created"),
        "lastModified": stamp("lastModified"),
        "customProperties": custom_properties,
    },
    "MLModelDeployment": {
        "name": key(1),
        "origin": origin,
        "properties": aspect(_DEPLOYMENT),
    },
    "MLModelDeploymentProperties": {"customProperties": custom_properties},
    "MLFeature": {
        "name": key(1),
        "featureNamespace": key(0),
        "description": of_aspect(_FEATURE),
        "dataType": of_aspect(_FEATURE),
        "properties": aspect(_FEATURE),
        "featureProperties": aspect(_FEATURE),
        "editableProperties": aspect("editableMlFeatureProperties"),
    },
    "MLFeatureProperties": _feature(_FEATURE),
    "MLFeatureTable": {
        "name": key(1),
        "description": of_aspect(_TABLE),
        "properties": aspect(_TABLE),
        "featureTableProperties": aspect(_TABLE),
        "editableProperties": aspect("editableMlFeatureTableProperties"),
    },
    "MLFeatureTableProperties": {
        "mlFeatures": many(naming(_TABLE, under("mlFeatures"), "mlFeature")),
        "mlPrimaryKeys": many(naming(_TABLE, under("mlPrimaryKeys"), "mlPrimaryKey")),
        "customProperties": custom_properties,
    },
    "MLPrimaryKey": {
        "name": key(1),
        "featureNamespace": key(0),
        "description": of_aspect(_KEY),
        "dataType": of_aspect(_KEY),
        "properties": aspect(_KEY),
        "primaryKeyProperties": aspect(_KEY),
        "editableProperties": aspect("editableMlPrimaryKeyProperties"),
    },
    "MLPrimaryKeyProperties": _feature(_KEY),
}

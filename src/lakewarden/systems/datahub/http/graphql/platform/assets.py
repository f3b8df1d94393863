"""What is noted of single assets here: what their pages embed, their summary, what was done.

SOURCE: datahub reference 1.2, 1.3; datahub-project/datahub:…/resolvers/{embed,settings,operation}.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.pages.part import Part, aspect
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.draft import Draft, given, write
from lakewarden.systems.datahub.http.graphql.platform.listing import shown
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_EMBED: Final = "embed"
_SETTINGS: Final = "assetSettings"
_OPERATION: Final = "operation"
_TEMPLATE: Final = "dataHubPageTemplate"

HAVING_SETTINGS: Final = ("DataProduct", "Dataset", "Domain", "GlossaryNode", "GlossaryTerm")
"""The types of assets that have a summary."""


def _embed(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    asset = calls.entity(input["urn"], "dataset", "dashboard", "chart")

    def task(draft: Draft) -> bool:
        draft.check_there(asset)
        value = {**draft.value(asset, _EMBED), "renderUrl": input.get("renderUrl")}
        draft.put(asset, _EMBED, value)
        return True

    return write(info.context, "embed.edit", asset, task)


def _settings(_: object, info: Info, input: Mapping[str, Any]) -> Part:
    asset = calls.entity(input["urn"])

    def task(draft: Draft) -> Part:
        draft.check_there(asset)
        value = draft.value(asset, _SETTINGS)
        if input.get("summary") is not None:
            template = calls.entity(input["summary"]["template"], _TEMPLATE)
            draft.check_there(template)
            summary = shapes.mapping(value.get("assetSummary"))
            templates = [{"template": template.name}]
            value["assetSummary"] = {**summary, "templates": templates}
        draft.put(asset, _SETTINGS, value)
        return Part(asset, value)

    return write(info.context, "asset_summary.edit", asset, task)


def _report(_: object, info: Info, input: Mapping[str, Any]) -> str:
    asset = calls.entity(input["urn"], "dataset")
    if (input["operationType"] == "CUSTOM") != (input.get("customOperationType") is not None):
        raise bad("`customOperationType` is for operations of type `CUSTOM`, and for all of them")

    def task(draft: Draft) -> str:
        draft.check_there(asset)
        time = input.get("timestampMillis")
        done = draft.now_ms if time is None else time
        value: dict[str, Any] = {
            "timestampMillis": draft.now_ms,
            "lastUpdatedTimestamp": done,
            "actor": draft.call.actor.name,
            **given(input, "operationType", "customOperationType", "sourceType"),
            **given(input, "numAffectedRows"),
        }
        if input.get("customProperties") is not None:
            entries = input["customProperties"]
            value["customProperties"] = {one["key"]: one.get("value") or "" for one in entries}
        if input.get("partition") is not None:
            value["partitionSpec"] = {"type": "PARTITION", "partition": input["partition"]}
        draft.put(asset, _OPERATION, value)
        return "true"

    return write(info.context, "operations.edit", asset, task)


def _templates(summary: Part, info: Info) -> list[Mapping[str, Any]]:
    found = (shapes.entity(one.get("template"), _TEMPLATE) for one in summary.parts("templates"))
    shown_ones: list[Entity | None] = [shown(info.context, one) for one in found]
    return [{"template": one} for one in shown_ones if one is not None]


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "updateEmbed": _embed,
        "updateAssetSettings": _settings,
        "reportOperation": _report,
    },
    **{type: {"settings": aspect(_SETTINGS)} for type in HAVING_SETTINGS},
    "AssetSummarySettings": {"templates": _templates},
}

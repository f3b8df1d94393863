"""Single assets: embedded content, summary, and reported operations.

SOURCE: datahub reference 1.2, 1.3; datahub-project/datahub:…/resolvers/{embed,settings,operation}.
"""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.aspect_record import aspect
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    by_urn,
    mutation,
)
from lakewarden.systems.datahub.http.graphql.records import (
    Input,
    Member,
    entries,
    members,
    provided_members,
)
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers

_SETTINGS: Final = "assetSettings"
_TEMPLATE: Final = "dataHubPageTemplate"


def _embed(changes: AspectChanges, asset: Entity, input: Input) -> None:
    changes.check_exists(asset)
    changes.merge(asset, "embed", renderUrl=input.get("renderUrl"))


def _set(changes: AspectChanges, asset: Entity, input: Input) -> None:
    changes.check_exists(asset)
    value = changes.value(asset, _SETTINGS)
    if input.get("summary") is not None:
        template = calls.entity(input["summary"]["template"], _TEMPLATE)
        changes.check_exists(template)
        summary = shapes.mapping(value.get("assetSummary"))
        value["assetSummary"] = {**summary, "templates": [{"template": template.name}]}
    changes.put(asset, _SETTINGS, value)


_REPORT: Final = (
    *members("operationType", "customOperationType", "sourceType", "numAffectedRows"),
    Member("customProperties", read=entries),
    Member(
        "partitionSpec",
        of="partition",
        read=lambda partition: {"type": "PARTITION", "partition": partition},
    ),
)


def _operation_type(_: Call, argument: str, input: Input) -> str:
    if (input[argument] == "CUSTOM") != (input.get("customOperationType") is not None):
        raise bad("`customOperationType` is for operations of type `CUSTOM`, and for all of them")
    return str(input[argument])


def _report(changes: AspectChanges, asset: Entity, input: Input) -> None:
    changes.check_exists(asset)
    time, now = input.get("timestampMillis"), changes.now_ms
    value = {
        "timestampMillis": now,
        "lastUpdatedTimestamp": now if time is None else time,
        "actor": changes.call.actor.name,
        **provided_members(_REPORT, input),
    }
    changes.put(asset, "operation", value)


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "updateEmbed": mutation(by_urn("dataset", "dashboard", "chart"), "embed.edit", _embed),
        "updateAssetSettings": mutation(
            by_urn(),
            "asset_summary.edit",
            _set,
            answer=lambda asset, info: aspect(info.context, asset, _SETTINGS),
        ),
        "reportOperation": mutation(
            by_urn("dataset"),
            "operations.edit",
            _report,
            reads={"operationType": _operation_type},
            answer=lambda *_: "true",
        ),
    },
}

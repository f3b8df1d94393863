"""Settings of the whole platform: parts of one aspect, each with its own privilege.

SOURCE: datahub reference 1.1; datahub-project/datahub:…/resolvers/settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import personal, shapes, views
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    AspectWrite,
    Change,
    mutation,
)
from lakewarden.systems.datahub.http.graphql.platform.listing import visible_entity
from lakewarden.systems.datahub.http.graphql.platform.page_templates import TEMPLATE
from lakewarden.systems.datahub.http.graphql.records import Input
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value

_ALL: Final = Entity("globalSettings", "urn:li:globalSettings:0")
_ASPECT: Final = "globalSettingsInfo"
_MANAGE: Final = "platform_settings.manage"
_VIEWS: Final = "public_view.manage"
_FEATURES: Final = "feature.manage"


def _part(call: Call, name: str) -> Mapping[str, Any]:
    return shapes.mapping(call.aspect(_ALL, _ASPECT).get(name))


def _views(_: object, info: Info) -> Mapping[str, Any]:
    call: Call = info.context
    authorization.allow(call, _VIEWS)
    return {"defaultView": shapes.text(_part(call, "views").get("defaultView"))}


def _set_views(changes: AspectChanges, _: Entity, input: Input) -> None:
    urn = input.get("defaultView")
    if urn is not None:
        view = calls.entity(urn, views.TYPE)
        changes.check_exists(view)
        if changes.value(view, views.ASPECT).get("type") != personal.GLOBAL:
            raise bad("`defaultView`: everybody starts with a view that is everybody's")
    _put(changes, views={"defaultView": urn})


def _propagation(_: object, info: Info) -> Mapping[str, Any]:
    call: Call = info.context
    authorization.allow(call, _FEATURES)
    columns = _part(call, "docPropagation").get("columnPropagationEnabled")
    return {"docColumnPropagation": columns is not False}


def _set_propagation(changes: AspectChanges, _: Entity, input: Input) -> None:
    columns = input.get("docColumnPropagation")
    before = shapes.mapping(changes.value(_ALL, _ASPECT).get("docPropagation"))
    part = {"enabled": before.get("enabled", True), "columnPropagationEnabled": columns}
    _put(changes, **({} if columns is None else {"docPropagation": part}))


def _settings(_: object, info: Info) -> Mapping[str, Any]:
    call: Call = info.context
    authorization.allow(call, _MANAGE)
    return _settings_record(call)


def _home(_: object, info: Info) -> Mapping[str, Any]:
    """The default home page, visible to every caller."""
    return {"defaultTemplate": _template(info.context)}


def _template(call: Call) -> Entity | None:
    return visible_entity(
        call, shapes.entity(_part(call, "homePage").get("defaultTemplate"), TEMPLATE)
    )


def _settings_record(call: Call) -> Mapping[str, Any]:
    return {
        "homePageSettings": {"defaultTemplate": _template(call)},
        "applicationsSettings": {"enabled": _part(call, "applications").get("enabled") is True},
    }


def _set(changes: AspectChanges, _: Entity, input: Input) -> None:
    home, applications = input.get("homePageSettings"), input.get("applicationsSettings")
    parts: dict[str, Value] = {}
    if home is not None:
        template = calls.entity(home["defaultTemplate"], TEMPLATE)
        changes.check_exists(template)
        parts["homePage"] = {"defaultTemplate": template.name}
    if applications is not None:
        parts["applications"] = {"enabled": applications["enabled"]}
    _put(changes, **parts)


def _put(changes: AspectChanges, **parts: Value) -> None:
    """Changes members of parts of the settings; the others stay."""
    value = changes.value(_ALL, _ASPECT)
    changed = {name: {**shapes.mapping(value.get(name)), **part} for name, part in parts.items()}
    changes.put(_ALL, _ASPECT, {**value, **changed})


def _settings_write(operation: str, write: Change) -> AspectWrite:
    return mutation(lambda *_: [_ALL], operation, write, about=NO_RESOURCE)


RESOLVERS: Final[Resolvers] = {
    "Query": {
        "globalViewsSettings": _views,
        "docPropagationSettings": _propagation,
        "globalSettings": _settings,
        "globalHomePageSettings": _home,
    },
    "Mutation": {
        "updateGlobalViewsSettings": _settings_write(_VIEWS, _set_views),
        "updateDocPropagationSettings": _settings_write(_FEATURES, _set_propagation),
        "updateGlobalSettings": _settings_write(_MANAGE, _set),
    },
}

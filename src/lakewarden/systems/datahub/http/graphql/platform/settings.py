"""Settings of the whole platform: parts of one aspect, each with the right of its own.

SOURCE: datahub reference 1.1; datahub-project/datahub:…/resolvers/settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import personal, shapes, views
from lakewarden.systems.datahub.http.graphql.platform.draft import Draft, write
from lakewarden.systems.datahub.http.graphql.platform.listing import shown
from lakewarden.systems.datahub.http.graphql.platform.page_output import TEMPLATE
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_ALL: Final = Entity("globalSettings", "urn:li:globalSettings:0")
_ASPECT: Final = "globalSettingsInfo"
_MANAGE: Final = "platform_settings.manage"
_VIEWS: Final = "public_view.manage"
_FEATURES: Final = "feature.manage"

Change = Callable[[Draft, dict[str, Any]], None]


def _part(call: Call, name: str) -> Mapping[str, Any]:
    return shapes.mapping(call.aspect(_ALL, _ASPECT).get(name))


def _changed(info: Info, operation: str, change: Change) -> bool:
    def task(draft: Draft) -> bool:
        value = draft.value(_ALL, _ASPECT)
        change(draft, value)
        draft.put(_ALL, _ASPECT, value)
        return True

    return write(info.context, operation, NO_RESOURCE, task)


def _with(value: Mapping[str, Any], name: str, **members: Any) -> dict[str, Any]:
    return {**shapes.mapping(value.get(name)), **members}


def _views(_: object, info: Info) -> Mapping[str, Any]:
    call: Call = info.context
    authorization.allow(call, _VIEWS)
    return {"defaultView": shapes.text(_part(call, "views").get("defaultView"))}


def _set_views(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    urn = input.get("defaultView")

    def change(draft: Draft, value: dict[str, Any]) -> None:
        if urn is not None:
            view = calls.entity(urn, views.TYPE)
            draft.check_there(view)
            if draft.value(view, views.ASPECT).get("type") != personal.GLOBAL:
                raise bad("`defaultView`: everybody starts with a view that is everybody's")
        value["views"] = _with(value, "views", defaultView=urn)

    return _changed(info, _VIEWS, change)


def _propagation(_: object, info: Info) -> Mapping[str, Any]:
    call: Call = info.context
    authorization.allow(call, _FEATURES)
    columns = _part(call, "docPropagation").get("columnPropagationEnabled")
    return {"docColumnPropagation": columns is not False}


def _set_propagation(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    def change(_: Draft, value: dict[str, Any]) -> None:
        wanted = input.get("docColumnPropagation")
        if wanted is not None:
            value["docPropagation"] = {
                "enabled": True,
                **_with(value, "docPropagation", columnPropagationEnabled=wanted),
            }

    return _changed(info, _FEATURES, change)


def _settings(_: object, info: Info) -> Mapping[str, Any]:
    call: Call = info.context
    authorization.allow(call, _MANAGE)
    return _shown(call)


def _home(_: object, info: Info) -> Mapping[str, Any]:
    """The home page that everybody starts with, whoever asks."""
    return {"defaultTemplate": _template(info.context)}


def _template(call: Call) -> Entity | None:
    return shown(call, shapes.entity(_part(call, "homePage").get("defaultTemplate"), TEMPLATE))


def _shown(call: Call) -> Mapping[str, Any]:
    return {
        "homePageSettings": {"defaultTemplate": _template(call)},
        "applicationsSettings": {"enabled": _part(call, "applications").get("enabled") is True},
    }


def _set(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    def change(draft: Draft, value: dict[str, Any]) -> None:
        home, applications = input.get("homePageSettings"), input.get("applicationsSettings")
        if home is not None:
            template = calls.entity(home["defaultTemplate"], TEMPLATE)
            draft.check_there(template)
            value["homePage"] = _with(value, "homePage", defaultTemplate=template.name)
        if applications is not None:
            enabled = applications["enabled"]
            value["applications"] = _with(value, "applications", enabled=enabled)

    return _changed(info, _MANAGE, change)


RESOLVERS: Final[Resolvers] = {
    "Query": {
        "globalViewsSettings": _views,
        "docPropagationSettings": _propagation,
        "globalSettings": _settings,
        "globalHomePageSettings": _home,
    },
    "Mutation": {
        "updateGlobalViewsSettings": _set_views,
        "updateDocPropagationSettings": _set_propagation,
        "updateGlobalSettings": _set,
    },
}

"""What users chose to be shown: each changes its own, kept as the aspect `corpUserSettings`.

SOURCE: datahub reference 6.3, `me`; `UpdateUserSettingResolver` and
`UpdateCorpUserViewsSettingsResolver`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.service import aspects
from lakewarden.service.aspects import Write
from lakewarden.service.desk import Desk
from lakewarden.wire.datahub.graphql import call as calls
from lakewarden.wire.datahub.graphql import entities, guarding
from lakewarden.wire.datahub.graphql.call import Call
from lakewarden.wire.datahub.graphql.errors import missing
from lakewarden.wire.datahub.graphql.resolving import Info, Resolvers

_ASPECT: Final = "corpUserSettings"
_VIEW: Final = "dataHubView"
_HOME: Final = "showSimplifiedHomepage"
_THEME: Final = "showThemeV2"
_FIELDS: Final = {"SHOW_SIMPLIFIED_HOME_PAGE": _HOME, "SHOW_THEME_V2": _THEME}

Value = dict[str, Any]


def _settings(user: Entity, info: Info) -> Mapping[str, Any] | None:
    call: Call = info.context
    value = call.aspect(user, _ASPECT)
    if not value:
        return None
    chosen = _part(value, "appearance")
    appearance = {name: _flag(chosen.get(name)) for name in (_HOME, _THEME)}
    return {"appearance": appearance, "views": {"defaultView": _view(call, value)}}


def _view(call: Call, value: Mapping[str, Any]) -> Entity | None:
    urn = _part(value, "views").get("defaultView")
    view = Entity(_VIEW, urn) if isinstance(urn, str) else None
    return view if view is not None and entities.is_known(call.state, view) else None


def _switch(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    def changed(value: Value) -> Value:
        appearance = {**_part(value, "appearance"), _FIELDS[input["name"]]: input["value"]}
        return {**value, "appearance": appearance}

    return _change(info.context, changed)


def _set_view(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    call: Call = info.context
    urn = input.get("defaultView")
    view = None if urn is None else calls.entity(urn, _VIEW)

    def changed(value: Value) -> Value:
        views = {key: each for key, each in _part(value, "views").items() if key != "defaultView"}
        if view is not None:
            if not entities.is_known(call.state, view):
                raise missing(view.name)
            views["defaultView"] = view.name
        # The record has no meaning without this part.
        return {"appearance": {_HOME: False}, **value, "views": views}

    return _change(call, changed)


def _change(call: Call, changed: Callable[[Value], Value]) -> bool:
    def task(desk: Desk) -> bool:
        realm, user = call.exchange.realm, call.actor
        read = aspects.read(desk.store, desk.realm(realm), [user]).get(user, {})
        before = dict(read[_ASPECT].value) if _ASPECT in read else {}
        aspects.write(desk, realm, [Write(user, _ASPECT, changed(before))], user.name)
        return True

    return guarding.write(call, "me.settings.set", NO_RESOURCE, task)


def _part(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = value.get(key)
    return part if isinstance(part, Mapping) else {}


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


RESOLVERS: Final[Resolvers] = {
    "CorpUser": {"settings": _settings},
    "Mutation": {"updateUserSetting": _switch, "updateCorpUserViewsSettings": _set_view},
}

"""What users chose to be shown: each changes its own, kept as the aspect `corpUserSettings`.

SOURCE: datahub reference 6.3, `me`; `UpdateUserSettingResolver` and
`UpdateCorpUserViewsSettingsResolver`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.aspects.meaning import target
from lakewarden.systems.datahub.http.graphql import authorization, entities
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad, missing
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspects import Write

_ASPECT: Final = "corpUserSettings"
_VIEW: Final = "dataHubView"
_LONGEST: Final = 64
_MOST_DISMISSED: Final = 1_000
_PAGE: Final = "dataHubPageTemplate"
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
    return {
        "appearance": appearance,
        "views": {"defaultView": default_view(call, user)},
        "homePage": _home(call, value),
        "locale": {"language": _text(_part(value, "locale").get("language"))},
    }


def default_view(call: Call, user: Entity) -> Entity | None:
    """The view that a user's searches begin with, if it is there."""
    return _view(call, call.aspect(user, _ASPECT))


def _home(call: Call, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The user's own home page, and what it was told and does not want to be told again."""
    own = _part(value, "homePage")
    page, problem = target(_text(own.get("pageTemplate")) or "", frozenset({_PAGE}))
    shown = [] if problem else authorization.visible(call, [page])
    dismissed = own.get("dismissedAnnouncements")
    urns = dismissed if isinstance(dismissed, list) else []
    return {
        "pageTemplate": next((one for one in shown if entities.is_known(call.state, one)), None),
        "dismissedAnnouncementUrns": [urn for urn in urns if isinstance(urn, str)],
    }


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


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


def _set_language(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    language = input.get("language")
    if language is not None and not 0 < len(language) <= _LONGEST:
        raise bad(f"`language`: expected 1 to {_LONGEST} characters")

    def changed(value: Value) -> Value:
        return {"appearance": {_HOME: False}, **value, "locale": {"language": language}}

    return _change(info.context, changed)


def _set_home(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    call: Call = info.context
    urn = input.get("pageTemplate")
    page = None if urn is None else calls.entity(urn, _PAGE)
    new = [one for one in input.get("newDismissedAnnouncements") or () if one]

    def changed(value: Value) -> Value:
        home = dict(_part(value, "homePage"))
        if page is not None:
            if not entities.is_known(call.state, page):
                raise missing(page.name)
            home["pageTemplate"] = page.name
        elif input.get("removePageTemplate"):
            home.pop("pageTemplate", None)
        before = home.get("dismissedAnnouncements")
        dismissed = dict.fromkeys([*(before if isinstance(before, list) else ()), *new])
        if len(dismissed) > _MOST_DISMISSED:
            raise bad(f"`newDismissedAnnouncements`: more than {_MOST_DISMISSED} are not kept")
        home["dismissedAnnouncements"] = list(dismissed)
        return {"appearance": {_HOME: False}, **value, "homePage": home}

    return _change(call, changed)


def _change(call: Call, changed: Callable[[Value], Value]) -> bool:
    def task(transaction: WriteTransaction) -> bool:
        realm, user = call.exchange.realm, call.actor
        read = aspects.read(transaction.store, transaction.realm(realm), [user]).get(user, {})
        before = dict(read[_ASPECT].value) if _ASPECT in read else {}
        aspects.write(transaction, realm, [Write(user, _ASPECT, changed(before))], user.name)
        return True

    return authorization.write(call, "me.settings.set", NO_RESOURCE, task)


def _part(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = value.get(key)
    return part if isinstance(part, Mapping) else {}


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


RESOLVERS: Final[Resolvers] = {
    "CorpUser": {"settings": _settings},
    "Mutation": {
        "updateUserSetting": _switch,
        "updateCorpUserViewsSettings": _set_view,
        "updateCorpUserLocaleSettings": _set_language,
        "updateUserHomePageSettings": _set_home,
    },
}

"""Settings of users: each user changes their own, stored as the aspect `corpUserSettings`.

SOURCE: datahub reference 6.3, `me`; `UpdateUserSettingResolver` and
`UpdateCorpUserViewsSettingsResolver`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.systems.datahub.aspects.meaning import target
from lakewarden.systems.datahub.http.graphql import authorization, entities
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad, missing
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    AspectWrite,
    Change,
    Read,
    mutation,
    reference,
)
from lakewarden.systems.datahub.http.graphql.records import Input
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value, Write

_ASPECT: Final = "corpUserSettings"
_VIEW: Final = "dataHubView"
_LONGEST: Final = 64
_MOST_DISMISSED: Final = 1_000
_PAGE: Final = "dataHubPageTemplate"
_HOME: Final = "showSimplifiedHomepage"
_THEME: Final = "showThemeV2"
_FIELDS: Final = {"SHOW_SIMPLIFIED_HOME_PAGE": _HOME, "SHOW_THEME_V2": _THEME}


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
    """The default view of a user's searches, if it exists."""
    return _view(call, call.aspect(user, _ASPECT))


def _home(call: Call, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The user's own home page, and its dismissed announcements."""
    own = _part(value, "homePage")
    page, problem = target(_text(own.get("pageTemplate")) or "", frozenset({_PAGE}))
    templates = [] if problem else authorization.visible(call, [page])
    dismissed = own.get("dismissedAnnouncements")
    urns = dismissed if isinstance(dismissed, list) else []
    return {
        "pageTemplate": next(
            (template for template in templates if entities.is_known(call.state, template)), None
        ),
        "dismissedAnnouncementUrns": [urn for urn in urns if isinstance(urn, str)],
    }


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _view(call: Call, value: Mapping[str, Any]) -> Entity | None:
    urn = _part(value, "views").get("defaultView")
    view = Entity(_VIEW, urn) if isinstance(urn, str) else None
    return view if view is not None and entities.is_known(call.state, view) else None


def _set_switch(changes: AspectChanges, user: Entity, input: Input) -> None:
    appearance = _stored_part(changes, user, "appearance")
    _put(changes, user, "appearance", {**appearance, _FIELDS[input["name"]]: input["value"]})


def _set_view(changes: AspectChanges, user: Entity, input: Input) -> None:
    views, view = _stored_part(changes, user, "views"), input.get("defaultView")
    views.pop("defaultView", None)
    if view is not None:
        _check_known(changes.call, view)
        views["defaultView"] = view.name
    _put(changes, user, "views", views)


def _language(_: Call, argument: str, input: Input) -> str:
    language: str = input[argument]
    if not 0 < len(language) <= _LONGEST:
        raise bad(f"`language`: expected 1 to {_LONGEST} characters")
    return language


def _set_language(changes: AspectChanges, user: Entity, input: Input) -> None:
    _put(changes, user, "locale", {"language": input.get("language")})


def _set_home(changes: AspectChanges, user: Entity, input: Input) -> None:
    home, page = _stored_part(changes, user, "homePage"), input.get("pageTemplate")
    if page is not None:
        _check_known(changes.call, page)
        home["pageTemplate"] = page.name
    elif input.get("removePageTemplate"):
        home.pop("pageTemplate", None)
    before = home.get("dismissedAnnouncements")
    new = [urn for urn in input.get("newDismissedAnnouncements") or () if urn]
    dismissed = dict.fromkeys([*(before if isinstance(before, list) else ()), *new])
    if len(dismissed) > _MOST_DISMISSED:
        raise bad(f"`newDismissedAnnouncements`: more than {_MOST_DISMISSED} are not kept")
    home["dismissedAnnouncements"] = list(dismissed)
    _put(changes, user, "homePage", home)


def _check_known(call: Call, entity: Entity) -> None:
    if not entities.is_known(call.state, entity):
        raise missing(entity.name)


def _stored_part(changes: AspectChanges, user: Entity, part: str) -> Value:
    return dict(_part(changes.value(user, _ASPECT), part))


def _put(changes: AspectChanges, user: Entity, part: str, value: Value) -> None:
    # The record has no meaning without its appearance.
    begun = {"appearance": {_HOME: False}, **changes.value(user, _ASPECT)}
    changes.write(Write(user, _ASPECT, {**begun, part: value}))


def _setting_write(write: Change, **reads: Read) -> AspectWrite:
    return mutation(
        lambda call, _: [call.actor], "me.settings.set", write, about=NO_RESOURCE, reads=reads
    )


def _part(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = value.get(key)
    return part if isinstance(part, Mapping) else {}


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


RESOLVERS: Final[Resolvers] = {
    "CorpUser": {"settings": _settings},
    "Mutation": {
        "updateUserSetting": _setting_write(_set_switch),
        "updateCorpUserViewsSettings": _setting_write(_set_view, defaultView=reference(_VIEW)),
        "updateCorpUserLocaleSettings": _setting_write(_set_language, language=_language),
        "updateUserHomePageSettings": _setting_write(_set_home, pageTemplate=reference(_PAGE)),
    },
}

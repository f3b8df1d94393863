"""The definition of a service type, which accompanies its policies.

Its names are compared byte for byte; Ranger's own definition ignores case.
"""

from __future__ import annotations

from typing import Any, Final

from lakewarden.engines.ranger_service import Level, RangerService

_MATCHER: Final = "org.apache.ranger.plugin.resourcematcher.RangerDefaultResourceMatcher"
_PATH_MATCHER: Final = "org.apache.ranger.plugin.resourcematcher.RangerPathResourceMatcher"
_OPTIONS: Final = {"wildCard": "true", "ignoreCase": "false"}
_EXACT: Final = {"wildCard": "false", "ignoreCase": "false"}
MASKS: Final = ("MASK_NULL", "CUSTOM")
"""The kinds of masks in our policies: NULL, or an expression."""


def definition(service: RangerService) -> dict[str, Any]:
    """The service type with the names that our policies use: resources, accesses, masks."""
    paths = [named(service, level) for level in service.levels.values() if not level.hidden]
    paths += [] if service.own is None else [(service.own[0],)]
    parents = {
        name: (path[depth - 1] if depth else "", depth)
        for path in paths
        for depth, name in enumerate(path)
    }
    located = {level.named for level in service.levels.values() if level.located}
    excluding = {name for one in service.levels.values() if one.excludes for name in one.rest}
    resources = [
        {
            **_resource(number, name, parent, depth, located=name in located),
            "excludesSupported": name in excluding,
        }
        for number, (name, (parent, depth)) in enumerate(parents.items(), 1)
    ]
    return {
        "id": 1,
        "name": service.type,
        "label": service.type,
        "implClass": "",
        "resources": resources,
        "accessTypes": _items(tuple(service.accesses)),
        **_limiting(service, resources),
    }


def named(service: RangerService, level: Level) -> tuple[str, ...]:
    """Ranger's names of the levels of a policy, from the outermost.

    >>> from lakewarden.engines.ranger_service import load
    >>> named(load("hive"), load("hive").levels["table"])
    ('database', 'table', 'column')
    """
    own = service.path(level) if level.part else ()
    return (*(one.named for one in own if not one.hidden), *level.rest)


def _limiting(service: RangerService, resources: list[dict[str, Any]]) -> dict[str, Any]:
    """The names for row filters and column masks; empty if the service type has none."""
    reading = service.reading
    if reading is None:
        return {}
    path = named(service, service.levels[reading.reads])
    if not service.wildcards:
        resources = [{**one, "matcherOptions": _EXACT} for one in resources]
    return {
        "dataMaskDef": {
            "maskTypes": _items(MASKS),
            "accessTypes": _items((reading.name,)),
            "resources": _of(resources, *path),
        },
        "rowFilterDef": {
            "accessTypes": _items((reading.name,)),
            "resources": _of(resources, *path[:-1]),
        },
    }


def _items(names: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{"itemId": number, "name": name, "label": name} for number, name in enumerate(names, 1)]


def _of(resources: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [resource for resource in resources if resource["name"] in names]


def _resource(number: int, name: str, parent: str, depth: int, *, located: bool) -> dict[str, Any]:
    return {
        "itemId": number,
        "name": name,
        "type": "path" if located else "string",
        "parent": parent,
        "level": 10 * (depth + 1),
        "mandatory": True,
        "isValidLeaf": True,
        "lookupSupported": False,
        "recursiveSupported": located,
        "matcher": _PATH_MATCHER if located else _MATCHER,
        "matcherOptions": _OPTIONS,
        "label": name,
    }

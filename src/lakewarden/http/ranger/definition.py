"""The definition of a service type that goes along with its policies.

Names are compared byte for byte there: Ranger's own definition does not look at case.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from lakewarden.engines.ranger_service import Level, RangerService

_MATCHER: Final = "org.apache.ranger.plugin.resourcematcher.RangerDefaultResourceMatcher"
_OPTIONS: Final = {"wildCard": "true", "ignoreCase": "false"}
_MASKS: Final = ("MASK_NULL", "MASK_NONE", "CUSTOM")


def definition(service: RangerService) -> dict[str, Any]:
    """The service type with what our policies name: resources, accesses, masks."""
    paths = [_named(service, level) for level in service.levels.values()]
    paths += [] if service.own is None else [(service.own[0],)]
    parents = {
        name: (path[depth - 1] if depth else "", depth)
        for path in paths
        for depth, name in enumerate(path)
    }
    resources = [
        _resource(number, name, parent, depth)
        for number, (name, (parent, depth)) in enumerate(parents.items(), 1)
    ]
    return {
        "id": 1,
        "name": service.type,
        "label": service.type,
        "implClass": "",
        "resources": resources,
        "accessTypes": _items(tuple(service.accesses)),
        "dataMaskDef": {
            "maskTypes": _items(_MASKS),
            "accessTypes": _items(tuple(_reading(service))),
            "resources": _of(resources, *_read_path(service)),
        },
        "rowFilterDef": {
            "accessTypes": _items(tuple(_reading(service))),
            "resources": _of(resources, *_read_path(service)[:-1]),
        },
    }


def _named(service: RangerService, level: Level) -> tuple[str, ...]:
    """What Ranger calls the levels of a policy, from the outermost."""
    named = tuple(one.named for one in service.path(level)) if level.part else ()
    return (*named, *level.rest)


def _reading(service: RangerService) -> Iterator[str]:
    return (access.name for access in service.accesses.values() if access.reads)


def _read_path(service: RangerService) -> tuple[str, ...]:
    (level,) = {access.reads for access in service.accesses.values() if access.reads}
    return _named(service, service.levels[level])


def _items(names: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{"itemId": number, "name": name, "label": name} for number, name in enumerate(names, 1)]


def _of(resources: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [resource for resource in resources if resource["name"] in names]


def _resource(number: int, name: str, parent: str, depth: int) -> dict[str, Any]:
    return {
        "itemId": number,
        "name": name,
        "type": "string",
        "parent": parent,
        "level": 10 * (depth + 1),
        "mandatory": True,
        "isValidLeaf": True,
        "lookupSupported": False,
        "recursiveSupported": False,
        "excludesSupported": False,
        "matcher": _MATCHER,
        "matcherOptions": _OPTIONS,
        "label": name,
    }

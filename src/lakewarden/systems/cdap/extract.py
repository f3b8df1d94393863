"""Reads a running CDAP over its REST API.

Its API lists roles, but neither users nor groups, nor the members of a role. So the caller passes
the principals to query; the principals that namespaces run as are queried, too.

SOURCE: cdap reference 1.2, 4.3 to 4.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.pipeline.extract.export import Export
from lakewarden.pipeline.extract.extractor import Extractor
from lakewarden.pipeline.extract.original import Original, segment

_LISTS: Final = {
    "artifacts": "artifacts",
    "datasets": "data/datasets",
    "modules": "data/modules",
    "types": "data/types",
    "streams": "streams",
    "securekeys": "securekeys",
    "profiles": "profiles",
}
"""The kinds of objects listed in a namespace, and their paths."""

_SECURITY: Final = "/v3/security/authorization"

_NOTES: Final = (
    "users and groups: CDAP lists none, so what others than those named hold is not carried",
    "owner principals of applications, datasets and streams; those of namespaces are carried",
    "which privileges a user has through a group alone: they become the user's own where listed",
    "values of secure keys, rows of datasets and events of streams",
)


def walk(original: Original, export: Export, principals: Iterable[Principal]) -> None:
    """Reads every visible namespace, the roles, and the privileges of the principals."""
    for text in _NOTES:
        export.note(text)
    reply = original.get("/v3/namespaces")
    if reply is None:
        raise BadInput("the original does not list its namespaces", where="/v3/namespaces")
    export.reply("namespaces", "/v3/namespaces", reply)
    questioned = set(principals)
    for item in _objects(reply, "/v3/namespaces"):
        name = _name(item, "/v3/namespaces")
        questioned |= set(_running_as(_with_configuration(original, export, name, item)))
        _namespace(original, export, name)
    _security(original, export, questioned)


def read_principals(text: str, where: str) -> list[Principal]:
    """Users and groups, one on each line as `user:NAME` or `group:NAME`. Raises `BadInput`."""
    principals = []
    for number, line in enumerate(text.split("\n"), 1):
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        kind, _, name = entry.partition(":")
        if kind not in (USER, GROUP) or not name:
            message = "expected `user:NAME` or `group:NAME`"
            raise BadInput(message, where=f"{where}: line {number}")
        principals.append(Principal(kind, name))
    return principals


def _namespace(original: Original, export: Export, namespace: str) -> None:
    above = f"/v3/namespaces/{segment(namespace, '/v3/namespaces')}"
    for kind, list_name in _LISTS.items():
        export.replies(kind, _exported(original, f"{above}/{list_name}"))
    for path, reply in _exported(original, f"{above}/apps"):
        export.reply("applications", path, reply)
        names = dict.fromkeys(_name(item, path) for item in _objects(reply, path))
        details = (f"{path}/{segment(name, path)}" for name in names)
        export.replies("applications", original.each(details))


def _with_configuration(
    original: Original, export: Export, name: str, item: dict[str, Any]
) -> dict[str, Any]:
    """A namespace with its configuration, which a list may omit or withhold."""
    path = f"/v3/namespaces/{segment(name, '/v3/namespaces')}"
    for _, reply in _exported(original, path) if "config" not in item else ():
        if not isinstance(reply, dict):
            raise BadInput("expected an object", where=path)
        export.reply("namespaces", path, reply)
        return reply
    return item


def _exported(original: Original, path: str) -> Iterator[tuple[str, Any]]:
    reply = original.get(path)
    if reply is not None:
        yield path, reply


def _security(original: Original, export: Export, questioned: set[Principal]) -> None:
    path = f"{_SECURITY}/roles"
    reply = original.get(path)
    if reply is not None:
        export.reply("roles", path, reply)
        questioned |= {Principal(ROLE, _name(item, path)) for item in _objects(reply, path)}
    about = [f"{_SECURITY}/{kind}/{segment(name, _SECURITY)}" for kind, name in sorted(questioned)]
    export.replies("privileges", original.each(f"{path}/privileges" for path in about))
    holders = [path for path in about if not path.startswith(f"{_SECURITY}/{ROLE}/")]
    export.replies("roles", original.each(f"{path}/roles" for path in holders))


def _running_as(namespace: dict[str, Any]) -> Iterator[Principal]:
    """The user behind the Kerberos principal of a namespace: its short name."""
    config = namespace.get("config")
    name = config.get("principal") if isinstance(config, dict) else None
    if isinstance(name, str) and name:
        yield Principal(USER, name.partition("@")[0].partition("/")[0])


def _objects(reply: Any, path: str) -> list[dict[str, Any]]:
    if not isinstance(reply, list) or not all(isinstance(item, dict) for item in reply):
        raise BadInput("expected a list of objects", where=path)
    return reply


def _name(item: dict[str, Any], path: str) -> str:
    name = item.get("name")
    if not isinstance(name, str) or not name:
        raise BadInput("expected an object with a name", where=path)
    return name


EXTRACTOR: Final = Extractor(walk, "cdap-file", read_principals)

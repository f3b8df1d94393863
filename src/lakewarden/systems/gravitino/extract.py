"""Reads a running Gravitino over its REST API.

The walk fails if the API withholds a role, user or group: a role may hold a DENY, and the access
that it denies would be open without it. Everything else that is withheld can only narrow access.

SOURCE: gravitino reference 3, 4.3, 4.4.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import Principal
from lakewarden.pipeline.extract.export import Export
from lakewarden.pipeline.extract.extractor import Extractor
from lakewarden.pipeline.extract.original import Original, segment

_LEAVES: Final[Mapping[str, Sequence[str]]] = {
    "relational": ("tables", "views", "functions"),
    "messaging": ("topics",),
    "fileset": ("filesets",),
    "model": ("models",),
}
"""The kinds of objects in a catalog, by its type."""

_EVERY_LEAF: Final = tuple(name for names in _LEAVES.values() for name in names)

_NO_SUCH_KIND: Final = frozenset({400, 404, 405, 501})
"""The statuses with which a catalog answers for a kind that it cannot hold."""

_WHOLE: Final = {"tags": "tag", "policies": "policy"}

_NOTES: Final = (
    "who is in which group: Gravitino knows groups by name; --identity FILE gives the members",
    "service administrators: they stand in the configuration of the original",
    "which tags and policies are put on what, and the templates of jobs: no rule asks about them",
)


def walk(original: Original, export: Export, _: Iterable[Principal] = ()) -> None:
    """Reads every metalake that the caller may see."""
    for text in _NOTES:
        export.note(text)
    reply = _ask(original, "/api/metalakes")
    if reply is None:
        raise BadInput("the original does not list its metalakes", where="/api/metalakes")
    export.reply("metalakes", "/api/metalakes", reply)
    for lake in _names(reply, "metalakes"):
        _Metalake(original, export, lake).walk()


def _ask(original: Original, path: str, unserved: Container[int] = ()) -> Any:
    """The reply, or None for an error; Gravitino may send errors with status 200."""
    return _checked_reply(original, path, original.get(path, unserved))


def _checked_reply(original: Original, path: str, reply: Any) -> Any:
    if reply is None:
        return None
    if not isinstance(reply, dict) or not isinstance(reply.get("code"), int):
        raise BadInput("expected a reply of Gravitino: an object with a `code`", where=path)
    if reply["code"] != 0:
        original.note(path, 200, f"code {reply['code']}: {reply.get('message', '')}")
        return None
    return reply


def _names(reply: Any, key: str, name: str = "name") -> list[str]:
    """Names of a list of objects."""
    items = reply.get(key)
    if not isinstance(items, list):
        raise BadInput("expected a list", where=key)
    names = [item.get(name) if isinstance(item, dict) else None for item in items]
    if not all(isinstance(name, str) for name in names):
        raise BadInput("expected objects with a name", where=key)
    return [str(name) for name in names]


def _texts(reply: Any, key: str) -> list[str]:
    items = reply.get(key)
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise BadInput("expected a list of texts", where=key)
    return items


@dataclass
class _Metalake:
    """One metalake; `owned` collects type and full name of all objects that may have an owner."""

    original: Original
    export: Export
    lake: str
    owned: list[tuple[str, str]] = field(default_factory=list)

    def walk(self) -> None:
        self.owned.append(("metalake", self.lake))
        self._people()
        self._catalogs()
        self._labels()
        self._jobs()
        paths = (self._path("owners", type, name) for type, name in self.owned)
        self._keep_all("owners", paths)

    def _path(self, *segments: str) -> str:
        parts = (segment(part, "/api/metalakes") for part in (self.lake, *segments))
        return "/".join(("/api/metalakes", *parts))

    def _keep(
        self, kind: str, path: str, *, must: bool = False, unserved: Container[int] = ()
    ) -> Any:
        """Queries and stores a reply. Raises `BadInput` if a required one is withheld."""
        reply = _ask(self.original, path, unserved)
        if reply is not None:
            self.export.reply(kind, path, reply)
        elif must:
            self._refuse(path)
        return reply

    def _keep_all(self, kind: str, paths: Iterator[str]) -> None:
        for path, reply in self.original.each(paths):
            if _checked_reply(self.original, path, reply) is not None:
                self.export.reply(kind, path, reply)

    def _refuse(self, path: str) -> None:
        last = self.original.withheld[-1]
        message = f"not shown ({last.status}), and a DENY may be in it: {last.why}"
        raise BadInput(message, where=path)

    def _people(self) -> None:
        self._keep("users", self._path("users") + "?details=true", must=True)
        self._keep("groups", self._path("groups") + "?details=true", must=True)
        reply = self._keep("roles", self._path("roles"), must=True)
        for name in _texts(reply, "names"):
            self._keep("roles", self._path("roles", name), must=True)
            self.owned.append(("role", name))

    def _catalogs(self) -> None:
        reply = self._keep("catalogs", self._path("catalogs") + "?details=true")
        if reply is None:
            return
        names = _names(reply, "catalogs")
        for item, name in zip(reply["catalogs"], names, strict=True):
            self.owned.append(("catalog", name))
            leaf_kinds = _LEAVES.get(str(item.get("type", "")).lower(), _EVERY_LEAF)
            schemas = self._keep("schemas", self._path("catalogs", name, "schemas"))
            if schemas is not None:
                for schema in _names(schemas, "identifiers"):
                    self.owned.append(("schema", f"{name}.{schema}"))
                    self._schema(name, schema, leaf_kinds)

    def _schema(self, catalog: str, schema: str, usual: Sequence[str]) -> None:
        """Queries every kind: a catalog may hold more than is usual for its type."""
        for leaf_kind in _EVERY_LEAF:
            above = ("catalogs", catalog, "schemas", schema, leaf_kind)
            unserved = () if leaf_kind in usual else _NO_SUCH_KIND
            reply = self._keep(leaf_kind, self._path(*above), unserved=unserved)
            if reply is None:
                continue
            names = _names(reply, "identifiers")
            self.owned += [(leaf_kind[:-1], f"{catalog}.{schema}.{name}") for name in names]
            if leaf_kind == "tables":  # only the single replies contain their columns
                self._keep_all("tables", (self._path(*above, name) for name in names))

    def _labels(self) -> None:
        for path_name, type in _WHOLE.items():
            reply = self._keep(path_name, self._path(path_name) + "?details=true")
            if reply is not None:
                self.owned += [(type, name) for name in _names(reply, path_name)]

    def _jobs(self) -> None:
        reply = self._keep("jobs", self._path("jobs", "templates") + "?details=true")
        if reply is not None:
            self.owned += [("job_template", name) for name in _names(reply, "jobTemplates")]
        reply = self._keep("jobs", self._path("jobs", "runs"))
        if reply is not None:
            self.owned += [("job", name) for name in _names(reply, "jobs", "jobId")]


EXTRACTOR: Final = Extractor(walk, "gravitino-file")

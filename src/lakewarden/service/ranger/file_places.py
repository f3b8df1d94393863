"""At which paths of one file system the files of entities lie, and which lie in which.

A policy on a path covers all that lies below. So whoever is given a folder has to have the same
right on all that is stored in it: of filesets by their own rules, of tables nobody has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from posixpath import normpath
from typing import Final
from urllib.parse import urlsplit

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.tree import Tree
from lakewarden.registry import registry
from lakewarden.service.ports import Reading
from lakewarden.service.residue import Residue, Residues
from lakewarden.service.state import RealmState

_SAID: Final = re.compile(r"(/[A-Za-z0-9_@#~=+:.,-]+)+")
"""Paths that Ranger reads as they are: no wildcard, no macro, no space, not the root."""

_FILE_SYSTEM: Final = re.compile(
    r"[a-z][a-z0-9+.-]*://([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?"
)


class Files:
    """The paths of entities in one file system, by id."""

    def __init__(
        self,
        tree: Tree,
        locations: Iterable[tuple[Entity, Iterable[str]]],
        file_system: str,
        residues: Residues,
    ) -> None:
        self._residues = residues
        self._paths: dict[int, tuple[str, ...]] = {}
        folders: list[tuple[tuple[str, ...], int]] = []
        for entity, addresses in locations:
            id = tree.find(entity)
            paths = [path for one in addresses if (path := _path(one, file_system)) is not None]
            if id is None or not paths:
                continue
            folders += [(_steps(path), id) for path in paths]
            if all(_is_said(path) for path in paths):
                self._paths[id] = tuple(sorted({*paths}))
            else:
                self._left_out("Ranger would read the path in another way", entity)
        self._inside = _inside(folders)
        self._at = {steps: id for steps, id in folders if id in self._paths}
        for outer in self._inside:
            self._left_out("files of others lie in it: it takes the right on them, too",
                           tree.entity(outer))  # fmt: skip

    def paths(self, id: int) -> tuple[str, ...]:
        """The paths of an entity, sorted; none where it has none that can be said."""
        return self._paths.get(id, ())

    def innermost(self, path: str) -> int | None:
        """Of the entities that have a path, one whose folder holds this one, and lies deepest."""
        steps = _steps(normpath("/" + path.lstrip("/")))
        folders = (steps[:depth] for depth in range(len(steps), 0, -1))
        return next((self._at[one] for one in folders if one in self._at), None)

    def with_all_inside(self, ids: BitMap) -> BitMap:
        """Of these entities, those in whose folders lie no files of others than these."""
        return BitMap(
            [id for id in ids if id not in self._inside or self._inside[id].issubset(ids)]
        )

    def _left_out(self, why: str, entity: Entity) -> None:
        self._residues.add(Residue(why, entity=f"{entity.type}:{entity.name}"))


def files_of(reading: Reading, realm: RealmState, file_system: str, residues: Residues) -> Files:
    """The files of what is stored in a realm that lie in one file system, by its address."""
    tree = realm.matrix.snapshot.coded.tree
    return Files(tree, _locations(reading, realm), file_system, residues)


def file_system_of(address: str) -> str:
    """The address of the file system in which an address is; raises `BadInput` without a host.

    >>> file_system_of("hdfs://nn:8020/user/lake"), file_system_of("HDFS://nn/")
    ('hdfs://nn:8020', 'hdfs://nn')
    """
    scheme, separator, rest = address.partition("://")
    found = f"{scheme.lower()}{separator}{rest.partition('/')[0]}"
    if _FILE_SYSTEM.fullmatch(found) is None:
        raise BadInput(f"expected a file system such as `hdfs://HOST:PORT`, got `{address}`")
    return found


def _locations(reading: Reading, realm: RealmState) -> Iterator[tuple[Entity, Sequence[str]]]:
    """What the realm's system says of where files lie."""
    system = registry().of_model(realm.realm.model)
    located = system.load(system.locations) if system.locations else {}
    for type, addresses in located.items():
        for entity, document in reading.documents_of(realm.realm.name, type):
            yield entity, addresses(document)


def _path(address: str, file_system: str) -> str | None:
    """The path of an address, in its shortest form; None in another file system.

    An address without a host is in the file system that is the default one of all, and one with
    another port in the same.

    >>> _path("hdfs://nn:8020/data/a/", "hdfs://nn:8020"), _path("/data//x/../a", "hdfs://nn:8020")
    ('/data/a', '/data/a')
    >>> _path("s3a://bucket/a", "hdfs://nn:8020")
    """
    scheme, _, rest = address.rpartition("://") if "://" in address else ("", "", address)
    host, _, path = rest.partition("/")
    if scheme:
        governed = urlsplit(file_system)
        same_host = not host or host.lower().partition(":")[0] == governed.hostname
        if scheme.lower() != governed.scheme or not same_host:
            return None
    return normpath("/" + path.lstrip("/"))


def _is_said(path: str) -> bool:
    return bool(_SAID.fullmatch(path))


def _steps(path: str) -> tuple[str, ...]:
    return tuple(step for step in path.split("/") if step)


def _inside(folders: Iterable[tuple[tuple[str, ...], int]]) -> Mapping[int, BitMap]:
    """By entity the others that have a folder in one of its own, or at the same place.

    COST: one look at each step of each path.
    """
    at: dict[tuple[str, ...], BitMap] = {}
    for steps, id in folders:
        at.setdefault(steps, BitMap()).add(id)
    inside: dict[int, BitMap] = {}
    for steps, ids in at.items():
        for depth in range(len(steps) + 1):
            for outer in at.get(steps[:depth], ()):
                others = ids - BitMap([outer])
                if others:
                    inside[outer] = inside.get(outer, BitMap()) | others
    return inside

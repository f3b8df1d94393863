"""The paths of entities' files in one file system, and which entities are inside others.

A policy on a path covers everything below it. So a user who gets a right on a folder must have the
same right on all entities stored in it, which must be of one kind: nobody gets it on a schema's
folder, or on a folder with both filesets and tables.
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

_NAMEABLE: Final = re.compile(r"(/[A-Za-z0-9_@#~=+:.,-]+)+")
"""Paths that Ranger takes literally: no wildcard, no macro, no space, not the root."""

_FILE_SYSTEM: Final = re.compile(
    r"[a-z][a-z0-9+.-]*://([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?"
)

_HDFS: Final = {"hdfs": ":8020", "webhdfs": ":9870", "swebhdfs": ":9871"}
"""Schemes that reach the same files, with the default port of an address."""

_PORT: Final = re.compile(r":[0-9]+$")


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
            places = [place for one in addresses for place in _places(one, file_system)]
            if id is None or not places:
                continue
            folders += [(_steps(path), id) for path, _ in places]
            own = {path for path, is_own in places if is_own}
            if not all(is_own for _, is_own in places):
                self._left_out("an address of it names the file system in another way", entity)
            if not all(_is_nameable(path) for path in own):
                self._left_out("Ranger would read the path in another way", entity)
            elif own:
                self._paths[id] = tuple(sorted(own))
        self._inside = _inside(folders)
        self._at = {steps: id for steps, id in folders if id in self._paths}
        for outer, inside in self._inside.items():
            if inside - tree.subtree(outer):
                self._left_out("files of others lie in it: it takes the right on them, too",
                               tree.entity(outer))  # fmt: skip

    def paths(self, id: int) -> tuple[str, ...]:
        """The paths of an entity, sorted; empty if none can be expressed."""
        return self._paths.get(id, ())

    def innermost(self, path: str) -> int | None:
        """An entity with a folder that contains this path, as deep as possible."""
        steps = _steps(_shortest(path))
        folders = (steps[:depth] for depth in range(len(steps), 0, -1))
        return next((self._at[one] for one in folders if one in self._at), None)

    def with_all_inside(self, ids: BitMap) -> BitMap:
        """The entities among these whose folders contain no files of entities outside of these."""
        return BitMap(
            [id for id in ids if id not in self._inside or self._inside[id].issubset(ids)]
        )

    def _left_out(self, why: str, entity: Entity) -> None:
        self._residues.add(Residue(why, entity=str(entity)))


def files_of(reading: Reading, realm: RealmState, file_system: str, residues: Residues) -> Files:
    """The files of a realm's entities in one file system, given by its address."""
    tree = realm.matrix.snapshot.coded.tree
    return Files(tree, _locations(reading, realm), file_system, residues)


def file_system_of(address: str) -> str:
    """The address of the file system in an address; raises `BadInput` without a host.

    >>> file_system_of("hdfs://nn:8020/user/lake"), file_system_of("HDFS://nn/")
    ('hdfs://nn:8020', 'hdfs://nn')
    """
    scheme, separator, rest = address.partition("://")
    found = f"{scheme.lower()}{separator}{rest.partition('/')[0]}"
    if _FILE_SYSTEM.fullmatch(found) is None:
        raise BadInput(f"expected a file system such as `hdfs://HOST:PORT`, got `{address}`")
    return found


def _locations(reading: Reading, realm: RealmState) -> Iterator[tuple[Entity, Sequence[str]]]:
    """The file locations according to the realm's system."""
    system = registry().of_model(realm.realm.model)
    located = system.load(system.locations) if system.locations else {}
    for type, addresses in located.items():
        for entity, document in reading.documents_of(realm.realm.name, type):
            yield entity, addresses(document)


def _places(address: str, file_system: str) -> Iterator[tuple[str, bool]]:
    """The possible paths of an address's files in the file system, in the shortest form.

    True: the files are there, since it is the file system's own address, or one without a host.
    False: the address may mean the same files, with another name of the host, another port or
    another protocol. Aliases of the host are not recognized.

    >>> [*_places("hdfs://nn:8020/data/a/", "hdfs://nn:8020")]
    [('/data/a', True)]
    >>> [*_places("webhdfs://ops@NN.:9870/data//x/../a", "hdfs://nn:8020")]
    [('/data/a', False)]
    >>> [*_places("s3a://bucket/a", "hdfs://nn:8020"), *_places("file:/a", "hdfs://nn:8020")]
    []
    """
    scheme, authority, path = _parts(address)
    governed, own, _ = _parts(file_system)
    if authority and not scheme:  # Hadoop treats the first step as a host, others do not
        yield _shortest(address), False
    if path.startswith("/") or (authority and not path):
        is_same = scheme in ("", governed)
        is_alike = is_same or (scheme in _HDFS and governed in _HDFS)
        port = _HDFS.get(governed, "")
        is_own = is_same and _ported(authority, port) in ("", _ported(own, port))
        if is_own or (is_alike and _host(authority) in ("", _host(own))):
            yield _shortest(path), is_own


def _parts(address: str) -> tuple[str, str, str]:
    """Scheme, host with port, and path, split like Hadoop does: `?` and `#` belong to the path."""
    scheme, path = "", address
    before, colon, after = address.partition(":")
    if colon and "/" not in before:
        scheme, path = before.lower(), after
    if not path.startswith("//"):
        return scheme, "", path
    authority, slash, rest = path[2:].partition("/")
    return scheme, authority.lower(), slash + rest


def _ported(authority: str, port: str) -> str:
    return authority if not authority or _PORT.search(authority) else f"{authority}{port}"


def _host(authority: str) -> str:
    """The host without port and user; empty if it is unreadable, which may be any host."""
    try:
        return (urlsplit(f"//{authority}").hostname or "").removesuffix(".")
    except ValueError:
        return ""


def _shortest(path: str) -> str:
    return normpath("/" + path.lstrip("/"))


def _is_nameable(path: str) -> bool:
    return bool(_NAMEABLE.fullmatch(path))


def _steps(path: str) -> tuple[str, ...]:
    return tuple(step for step in path.split("/") if step)


def _inside(folders: Iterable[tuple[tuple[str, ...], int]]) -> Mapping[int, BitMap]:
    """By entity, the others with a folder inside one of its own, or at the same place.

    COST: one lookup per step of each path.
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

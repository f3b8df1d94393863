"""A stored access index: the content of its folder, and how to read it. Needs no Spark.

OUT/manifest.json                  see `lakewarden.pipeline.product`
OUT/versions/N/blocks/             the rows of every block
OUT/versions/N/matches/            the entities of each block in each scope
OUT/versions/N/principals/, memberships/
OUT/versions/N/statements.jsonl    every statement, except implied ones
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from lakewarden.kernel.blocks import Stored
from lakewarden.kernel.classes import partition
from lakewarden.kernel.edges import Edges
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.facts import Coded
from lakewarden.kernel.grants import Table, table
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.principal import GROUP, Principal
from lakewarden.kernel.scopes import match
from lakewarden.kernel.snapshot import CLASS_LIMIT, Snapshot, decisions, implied
from lakewarden.kernel.statement import Statement, Where
from lakewarden.kernel.statement_file import read_statements
from lakewarden.models import own
from lakewarden.pipeline.index.block import (
    ATTRIBUTE,
    EDGE,
    ENTITY,
    OWNER,
    attributes_of,
    edges_of,
    tree_of,
)
from lakewarden.pipeline.index.columns import flags, ints, numbered, read
from lakewarden.pipeline.index.id_space import IdSpace, IdWidth
from lakewarden.pipeline.index.index_facts import check_facts
from lakewarden.pipeline.index.own_rows import own_rows
from lakewarden.pipeline.index.validity import interval_of
from lakewarden.pipeline.parquet_output import put_columns
from lakewarden.pipeline.product import (
    Input,
    Manifest,
    check_files,
    check_present,
    read_manifest,
    sha256_of,
)
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.version_folder import MANIFEST, folder_of
from lakewarden.service.garbage_collection import collection_paused
from lakewarden.service.state import People
from lakewarden.service.system import System, load_system

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KIND: Final = "index"
BLOCKS: Final = "blocks"
MATCHES: Final = "matches"
PRINCIPALS: Final = "principals"
MEMBERSHIPS: Final = "memberships"
STATEMENTS: Final = "statements.jsonl"
TABLES: Final = (BLOCKS, MATCHES, PRINCIPALS, MEMBERSHIPS)

PRINCIPAL_COLUMNS: Final = pa.schema(
    [("kind", pa.string()), ("name", pa.string()), ("stored", pa.bool_())]
)
MEMBERSHIP_COLUMNS: Final = pa.schema([("member", pa.int32()), ("of", pa.int32())])


@dataclass(frozen=True, slots=True)
class Index:
    """An index whose manifest was read; its tables are read on demand."""

    out: Location
    manifest: Manifest
    system: System

    @property
    def folder(self) -> Location:
        """The folder of its tables."""
        return folder_of(self.out, self.manifest)

    @property
    def version(self) -> tuple[Location, Manifest]:
        """The version, for `check_present`."""
        return self.out, self.manifest

    @property
    def input(self) -> Input:
        """The index as an input of a product."""
        return Input(self.realm, self.manifest.version, sha256_of(self.manifest.text()))

    @property
    def realm(self) -> str:
        """The realm of the directory that it was made from."""
        return str(self.manifest.facts["realm"])

    @property
    def revision(self) -> int | None:
        """The revision of the store that the directory came from; None for another source."""
        revision = self.manifest.facts["revision"]
        return None if revision is None else int(revision)

    @property
    def store(self) -> str:
        """The identity of that store: `lakewarden.service.index_catch_up.mark`."""
        return str(self.manifest.facts["store"])

    def check_is_of_store(self, where: str) -> None:
        """Raises `BadInput` if its directory held something else than the store.

        An index that does not say counts as different: an older release made it without checking.
        """
        differences = self.manifest.facts.get("differs")
        if differences != []:
            words = differences if isinstance(differences, list) else ["what nobody looked for"]
            message = f"differs from the database by {', '.join(map(str, words))}"
            raise BadInput(f"{message}; ingest and index the realm without", where=where)

    @property
    def interval(self) -> tuple[float, float]:
        """Start and end (exclusive) of its validity, in seconds since the epoch."""
        return interval_of(self.manifest.facts)

    @property
    def now(self) -> float:
        """A moment of the interval of its validity."""
        return moment(*self.interval)

    @property
    def space(self) -> IdSpace:
        """Its ids."""
        return IdSpace.in_facts(self.manifest.facts)

    @property
    def ownerships(self) -> tuple[str, ...]:
        """The ownership types that occur in owner rows, by their number."""
        return tuple(self.manifest.facts["ownerships"])

    def statements(self) -> tuple[Statement, ...]:
        """The statements of the realm, except implied ones."""
        file = self.folder / STATEMENTS
        lines = file.read_text("utf-8").split("\n")[:-1]
        tables = [json.loads(line) for line in lines]
        model, spelling = self.system.model, self.system.spelling
        return read_statements(tables, model, spelling, str(file), builtin=True)

    def memberships(self) -> Memberships:
        """The memberships of all principals."""
        people = read(self.folder / PRINCIPALS, *PRINCIPAL_COLUMNS.names)
        kinds, names, stored = (column.to_pylist() for column in people.columns)
        principals = [Principal(*cells) for cells in zip(kinds, names, strict=True)]
        known = frozenset(id for id, is_stored in enumerate(stored) if is_stored)
        edges = read(self.folder / MEMBERSHIPS, *MEMBERSHIP_COLUMNS.names)
        members, groups = (column.to_pylist() for column in edges.columns)
        return Memberships.numbered_as(principals, known, members, groups)


def moment(start: float, end: float) -> float:
    """A moment of the interval from `start` to before `end`, always the same one."""
    if isfinite(start):
        return start
    return end - 1 if isfinite(end) else 0.0


def scopes_digest(grants: Table) -> str:
    """Digest of the scopes of these statements, and of their numbers."""
    text = "\n".join(repr(reaching) for reaching in grants.scopes)
    return sha256_of(text)


def write_people(memberships: Memberships, folder: Location) -> None:
    """Writes the principals and their memberships; `Index.memberships` reads them."""
    principals = memberships.principals
    kinds, names = (
        [principal.kind for principal in principals],
        [principal.name for principal in principals],
    )
    stored = [id in memberships.stored for id in range(len(principals))]
    edges = memberships.edges()
    put_columns([kinds, names, stored], PRINCIPAL_COLUMNS, folder / PRINCIPALS)
    members = [[m for m, _ in edges], [g for _, g in edges]]
    put_columns(members, MEMBERSHIP_COLUMNS, folder / MEMBERSHIPS)


def open_index(out: Location, *, check: bool = True, spark: SparkSession | None = None) -> Index:
    """The index of a folder.

    Raises `BadInput` if there is none, if it was made with another model than this release has,
    and, with `check`, for a file that differs from its digest. `spark` computes the digests of many
    files, if it runs on other machines.
    """
    manifest = read_manifest(out, KIND)
    facts = manifest.facts
    check_facts(facts, out / MANIFEST)
    text = own.of_table(facts.get("model_text"), str(out))
    system = load_system(facts["model"], facts["settings"], text)
    if system.model.digest != facts["digest"]:
        message = f"was made under another version of the model `{system.model.name}`"
        raise BadInput(f"{message}; rebuild the index", where=str(out))
    if check:
        check_files(out, manifest, spark)
    return Index(out, manifest, system)


def snapshot(index: Index, *, people: People | None = None, revision: int = 0) -> Snapshot:
    """The index as a kernel snapshot: as if the directory had been compiled.

    `people` replace those of the directory. Raises `BadInput` if a part of the index does not
    belong to the others, `LimitExceeded` for more entities than the kernel numbers, `Conflict` if
    another process removed the version meanwhile.
    """
    with collection_paused():
        coded = _coded(index, people)
        statements = {s.id: s for s in (*index.statements(), *implied(coded))}
        grants = table(statements, index.system.model, coded.memberships, index.now)
        if scopes_digest(grants) != index.manifest.facts["scopes"]:
            message = "was made of other statements; rebuild the index"
            raise BadInput(message, where=str(index.out))
        block = Stored(coded)
        bitmaps = _bitmaps(index, len(grants.scopes))
        if people is not None:
            bitmaps = _by_groups(index, coded, grants, bitmaps)
        check_present(*index.version)
        return Snapshot(
            coded=coded,
            table=grants,
            block=block,
            bitmaps=bitmaps,
            classes=partition(len(coded.tree), dict(enumerate(bitmaps)), CLASS_LIMIT),
            owned_by=coded.owners.inverted(),
            revision=revision,
            decisions=decisions(revision),
        )


def _bitmaps(index: Index, count: int) -> tuple[BitMap, ...]:
    """The entities of each scope, from all blocks."""
    rows = read(index.folder / MATCHES, "scope", "bits")
    return bitmaps_of(rows, count, index.space.width)


def bitmaps_of(rows: pa.Table, count: int, width: IdWidth) -> tuple[BitMap, ...]:
    """The entities of each of `count` scopes, from rows of scope and bits."""
    parts: list[list[BitMap]] = [[] for _ in range(count)]
    for scope, bits in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        parts[scope].append(width.read_places(bits))
    return tuple(BitMap.union(BitMap(), *of_scope) for of_scope in parts)


def _by_groups(
    index: Index, coded: Coded, grants: Table, bitmaps: tuple[BitMap, ...]
) -> tuple[BitMap, ...]:
    """The bitmaps; those that depend on memberships are matched again if these differ."""
    fields = {n for n, f in index.system.model.fields.items() if f.origin == ("groups",)}
    group_scopes = [
        number
        for number, reaching in enumerate(grants.scopes)
        if isinstance(reaching.scope, Where)
        and any(criterion.field in fields for criterion in reaching.scope.criteria)
    ]
    if not group_scopes or direct_groups(index.memberships()) == direct_groups(coded.memberships):
        return bitmaps
    again = match(Stored(coded), [grants.scopes[number] for number in group_scopes])
    fresh = dict(zip(group_scopes, again, strict=True))
    return tuple(fresh.get(number, rows) for number, rows in enumerate(bitmaps))


def direct_groups(memberships: Memberships) -> set[tuple[Principal, Principal]]:
    """The pairs of a member and its direct group."""
    everyone = memberships.principals
    edges = ((everyone[m], everyone[g]) for m, groups in memberships.of.items() for g in groups)
    return {(member, group) for member, group in edges if group.kind == GROUP}


def _coded(index: Index, people: People | None) -> Coded:
    space = index.space
    count = space.places()
    rows = own_rows(index.folder / BLOCKS, space.bits, count)
    entities, owners, attributes = rows[ENTITY], rows[OWNER], rows[ATTRIBUTE]
    stored = np.flatnonzero(flags(entities.column("flag"))).astype(np.uint32)
    tree = tree_of(
        entities.column("s"),
        entities.column("t").to_pylist(),
        ints(entities.column("a")).astype(np.int32, copy=False),
        ints(entities.column("b")).astype(np.int32, copy=False),
        BitMap(stored),
    )
    memberships, owner = index.memberships(), ints(owners.column("a"))
    if people is not None:
        known = memberships.principals
        memberships = Memberships.build(people.principals, people.memberships, known)
        owner = np.array([memberships.ids[principal] for principal in known], dtype=np.int32)[owner]
    labels = {name: label for label, name in enumerate(index.ownerships)}
    numbers = numbered(owners.column("s"), labels)
    cells = (attributes.column(name).to_pylist() for name in ("id", "s", "t"))
    return Coded(
        model=index.system.model,
        spelling=index.system.spelling,
        tree=tree,
        memberships=memberships,
        relations=_relations(rows[EDGE], count, index.system),
        owners=edges_of(count, ints(owners.column("id")), owner, numbers),
        ownerships=index.ownerships,
        attributes=attributes_of(zip(*cells, strict=True)),
    )


def _relations(edges: pa.Table, count: int, system: System) -> dict[str, Edges]:
    kinds = sorted(system.model.relations)
    codes = numbered(edges.column("s"), {kind: code for code, kind in enumerate(kinds)})
    sources, targets = ints(edges.column("id")), ints(edges.column("a"))
    by_kind = {}
    for code, kind in enumerate(kinds):
        own = codes == code
        by_kind[kind] = edges_of(count, sources[own], targets[own], np.zeros(own.sum(), np.int32))
    return by_kind

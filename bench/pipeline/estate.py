"""A generated world: its size, where it is written, and how its manifest is made."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.pipeline.rows import Rows
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import write_statement
from lakewarden.pipeline.directory_manifest import (
    Content,
    Input,
    Manifest,
    read_manifest,
)
from lakewarden.pipeline.directory_statements import STATEMENT_LINES, lines_content
from lakewarden.pipeline.tables import COLUMNS
from lakewarden.pipeline.version_folder import MANIFEST, VERSIONS
from lakewarden.service.system import load_system

FORMAT = 1
"""Increased when the same seed generates a different world than before."""

SMALL = 10_000
"""Entities of an estate that is small in every respect."""

SOURCE = "drawn"
"""The source in the manifests of generated worlds."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a world.

    `entities` counts containers, the entities in them, and those that describe them. The entities
    of users, groups and roles are added to that, and so are the `columns` of each table. `owned` is
    the share of objects with an owner. `lopsided`: one schema holds half of all objects, and one
    group has every user. Both only apply to the world of grants.
    """

    entities: int
    users: int = 20_000
    groups: int = 1_000
    roles: int = 2_000
    statements: int = 5_000
    columns: int = 0
    owned: float = 0.1
    lopsided: bool = False

    @staticmethod
    def of(entities: int, columns: int = 0) -> Size:
        """The size of a world for measurement: a small estate also has few people."""
        if entities > SMALL:
            return Size(entities, columns=columns)
        return Size(entities, users=500, groups=100, roles=200, statements=500, columns=columns)


@dataclass(frozen=True, slots=True)
class Drawn:
    """The tables that were written to a folder, and the statements of the world."""

    tables: Mapping[str, Content]
    statements: Iterable[Statement]


Draw = Callable[[Path, Size, int], Drawn]
"""Writes the tables of the world with a size and a seed to a folder."""


@dataclass(frozen=True, slots=True)
class World:
    """A kind of world: the model, its settings, and its generator."""

    kind: str
    model: str
    settings: Mapping[str, str]
    draw: Draw

    def write(self, out: Path, size: Size, seed: int) -> Manifest:
        """Writes the world as an ingested directory; does nothing if it already exists."""
        options = self._options(size, seed)
        if (out / MANIFEST).exists():
            before = read_manifest(out)
            if before.source == SOURCE and before.options == options:
                return before
            raise BadInput("holds something else than this world", where=str(out))
        part = out.with_name(f".{out.name}")
        shutil.rmtree(part, ignore_errors=True)
        version = part / VERSIONS / "1"
        version.mkdir(parents=True)
        drawn = self.draw(version, size, seed)
        manifest = Manifest(
            model=self.model,
            settings=load_system(self.model, self.settings).model.settings,
            realm=self.kind,
            source=SOURCE,
            version=1,
            inputs=(_input(options),),
            tables={name: drawn.tables.get(name) or _empty(version, name) for name in COLUMNS},
            statements=_write_statements(version, drawn.statements),
            options=options,
        )
        (part / MANIFEST).write_text(manifest.text(), "utf-8")
        part.rename(out)
        return manifest

    def _options(self, size: Size, seed: int) -> dict[str, str]:
        about = {"kind": self.kind, "seed": seed, "format": FORMAT, **asdict(size)}
        # Recorded as coming from a store, to allow changes to follow.
        about |= {"realm": self.kind, "revision": 1, "store": SOURCE}
        return {key: str(value) for key, value in sorted(about.items())}


def _input(options: Mapping[str, str]) -> Input:
    text = json.dumps(options)
    return Input("seed", hashlib.sha256(text.encode("utf-8")).hexdigest())


def _empty(folder: Path, table: str) -> Content:
    with Rows(folder, table) as rows:
        pass
    return rows.content()


def _write_statements(folder: Path, statements: Iterable[Statement]) -> Content:
    """Writes statements like the pipeline: by id, one JSON object with sorted keys per line."""
    ordered = sorted(statements, key=lambda statement: statement.id)
    tables = map(write_statement, ordered)
    lines = (json.dumps(table, ensure_ascii=False, sort_keys=True) for table in tables)
    text = "".join(f"{line}\n" for line in lines)
    (folder / STATEMENT_LINES).write_text(text, "utf-8")
    return lines_content(text)

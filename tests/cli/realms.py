"""Small ingested directories, written without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakewarden.cli import main
from lakewarden.pipeline.chunk_digests import content_of
from lakewarden.pipeline.directory_manifest import Manifest
from lakewarden.pipeline.directory_statements import lines_content
from lakewarden.pipeline.tables import COLUMNS, arrow_schema
from lakewarden.pipeline.version_folder import MANIFEST
from lakewarden.service.system import load_system

Statement = Mapping[str, object]

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
OTHER = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.returns,PROD)"


def write_realm(
    folder: Path,
    model: str,
    *,
    entities: Sequence[str] = (),
    principals: Sequence[str] = (),
    members: Mapping[str, Sequence[str]] | None = None,
    owners: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
    statements: Iterable[Statement] = (),
) -> Path:
    """Writes a realm with these facts, in the notation of scenario files; returns its folder."""
    system = load_system(model)
    rows: dict[str, list[tuple[str | None, ...]]] = {name: [] for name in COLUMNS}
    for text in entities:
        entity = system.entity(text)
        parent = system.spelling.parent(entity)
        rows["entities"].append((*entity, *(parent or (None, None))))
    rows["principals"] = [tuple(system.principal(text)) for text in principals]
    for of, found in (members or {}).items():
        group = system.principal(of)
        rows["memberships"] += [(*system.principal(member), *group) for member in found]
    for text, owner in (owners or {}).items():
        rows["owners"].append((*system.entity(text), *system.principal(owner), ""))
    for text, tag in (tags or {}).items():
        rows["relations"].append(("tag", *system.entity(text), *system.entity(tag)))
    version = folder / "versions" / "1"
    for name, table in rows.items():
        place = version / name
        place.mkdir(parents=True)
        schema = arrow_schema(name)
        columns = zip(*table, strict=True) if table else ([] for _ in schema)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        pq.write_table(pa.Table.from_arrays(arrays, schema=schema), place / "part-0.parquet")
    lines = "".join(f"{json.dumps(statement)}\n" for statement in statements)
    (version / "statements.jsonl").write_text(lines, "utf-8")
    manifest = Manifest(
        model=model,
        settings=system.model.settings,
        realm=model,
        source="test",
        version=1,
        inputs=(),
        tables={name: content_of(version / name, name) for name in COLUMNS},
        statements=lines_content(lines),
    )
    (folder / MANIFEST).write_text(manifest.text(), "utf-8")
    return folder


def write_gravitino(folder: Path) -> Path:
    """Ana may read everything through a group's role; ben owns a table, but a DENY blocks him."""
    return write_realm(
        folder,
        "gravitino",
        entities=[
            *("metalake:lk", "catalog:lk:c", "schema:lk:c.s", "table:lk:c.s.t", "table:lk:c.s.u"),
            *("tag:lk:pii", "role:lk:readers", "role:lk:blocked"),
        ],
        principals=[
            *("user:ana", "user:ben", "user:eve", "group:staff", "role:lk:readers"),
            "role:lk:blocked",
        ],
        members={
            "members:lk": ["ana", "ben"],
            "group:staff": ["ana"],
            "role:lk:readers": ["group:staff", "ben"],
            "role:lk:blocked": ["ben"],
        },
        owners={"table:lk:c.s.t": "ben"},
        statements=[
            {
                "id": "read",
                "privileges": ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"],
                "to": "role:lk:readers",
                "on": "catalog:lk:c",
            },
            {
                "id": "block",
                "effect": "deny",
                "privileges": ["USE_SCHEMA"],
                "to": "role:lk:blocked",
                "on": "schema:lk:c.s",
                "title": "no raw data",
            },
        ],
    )


def write_datahub(folder: Path) -> Path:
    """Ana may set only the tag `spring`; owners may edit; nobody may read by default."""
    off = {"active": False, "privileges": [], "to": []}
    return write_realm(
        folder,
        "datahub",
        entities=[DATASET, OTHER, "urn:li:tag:spring", "urn:li:tag:pii"],
        principals=["ana", "ben", "urn:li:corpGroup:staff"],
        members={"urn:li:corpGroup:staff": ["ana"]},
        owners={DATASET: "urn:li:corpGroup:staff"},
        tags={DATASET: "urn:li:tag:pii"},
        statements=[
            *(
                {"id": f"urn:li:dataHubPolicy:{name}", **off}
                for name in ("view-entity-page-all", "asset-owners-metadata-policy")
            ),
            {
                "id": "urn:li:dataHubPolicy:tags",
                "title": "Tags of the season",
                "privileges": ["EDIT_ENTITY_TAGS"],
                "to": ["group:urn:li:corpGroup:staff"],
                "where": [{"field": "TYPE", "values": ["dataset"]}],
                "constraint": [{"field": "URN", "values": ["urn:li:tag:spring"]}],
            },
            {
                "id": "urn:li:dataHubPolicy:owners",
                "privileges": ["EDIT_ENTITY"],
                "to": ["owners"],
                "where": [{"field": "TAG", "condition": "NOT_EQUALS", "values": ["x"]}],
            },
        ],
    )


def write_cdap(folder: Path) -> Path:
    """Ana may read all datasets of `sales`, ben one that does not exist."""
    return write_realm(
        folder,
        "cdap",
        entities=["namespace:sales", "dataset:sales.t1", "application:sales.load"],
        principals=["ana", "ben", "role:reader"],
        members={"role:reader": ["ana"]},
        statements=[
            {
                "id": "all",
                "privileges": ["READ"],
                "to": "role:reader",
                "matching": "dataset:sales.*",
            },
            {"id": "gone", "privileges": ["READ"], "to": "user:ben", "on": "dataset:sales.gone"},
            {
                "id": "app",
                "privileges": ["ADMIN"],
                "to": "user:ana",
                "on": "application:sales.load",
            },
        ],
    )


@dataclass(frozen=True)
class Outcome:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> dict[str, object]:
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


@dataclass(frozen=True)
class Cli:
    """The command line, run in this process."""

    capture: pytest.CaptureFixture[str]
    folders: Mapping[str, Path]

    def __call__(self, *words: str) -> Outcome:
        """Runs a verb; a word `@realm` means `--from` and that realm's folder."""
        arguments: list[str] = []
        for word in words:
            if word.startswith("@"):
                arguments += ["--from", str(self.folders[word[1:]])]
            else:
                arguments.append(word)
        code = main(arguments)
        out, err = self.capture.readouterr()
        return Outcome(code, out, err)

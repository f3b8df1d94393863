"""A small estate in two editions, and every job of the pipeline as a command on it.

A place has the sources of the estate and an output folder for each job. Jobs run in the order of
JOBS, because later ones read the outputs of earlier ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from lakewarden.cli import main
from lakewarden.pipeline.storage.files import sha256_of_file
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.version_folder import MANIFEST, VERSIONS

NOW: Final = "1709251200"
DAY: Final = "2024-02-28"

_RULES: Final = """
keeper = "lake"
[[rule]]
name = "tables"
[rule.realms]
lake = "table:lk:c.{schema}.{table}"
app = "dataset:{schema}.{table}"
"""
_POLICY: Final = """
[[statement]]
id = "read"
to = ["role:lk:readers"]
privileges = ["USE_SCHEMA", "SELECT_TABLE"]
on = "schema:lk:c.shop"
"""
_STATEMENTS: Final = (
    {
        "id": "read",
        "to": ["role:lk:readers"],
        "privileges": ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"],
        "on": "catalog:lk:c",
    },
    {
        "id": "write",
        "to": ["role:lk:writers"],
        "privileges": ["USE_CATALOG", "USE_SCHEMA", "MODIFY_TABLE"],
        "on": "catalog:lk:c",
    },
)


class Job(NamedTuple):
    """A verb of the pipeline with its arguments.

    `{place}` is the folder of the estate, `{files}` a local folder with rules and policies. `out`
    is the output folder. `has_spark`: it starts Spark for a small estate, too.
    """

    verb: str
    words: tuple[str, ...]
    out: str
    has_spark: bool = False

    def arguments(self, place: Location, files: Path | None = None) -> list[str]:
        """The command-line arguments; `files` if they are not among the sources."""
        found = str(place / "in" if files is None else files)
        words = (w.replace("{place}", str(place)).replace("{files}", found) for w in self.words)
        return ["pipeline", self.verb, *words, "--out", str(place / self.out)]

    def run(self, place: Location, files: Path | None = None) -> int:
        """Runs it in this process; returns the exit code."""
        return main(["--quiet", *self.arguments(place, files)])


_SOURCE: Final = ("--source", "csv", "--model")
_ALL: Final = ("--operations", "access")
JOBS: Final = (
    Job("ingest", ("{place}/in/lake", *_SOURCE, "gravitino", "--realm", "lake"), "lake"),
    Job("ingest", ("{place}/in/app", *_SOURCE, "cdap", "--realm", "app"), "app"),
    Job(
        "link",
        ("--rules", "{files}/rules.toml", "--from", "{place}/lake", "--from", "{place}/app"),
        "links",
        has_spark=True,
    ),
    Job("index", ("{place}/lake", "--now", NOW), "index"),
    Job("review", ("{place}/index",), "review"),
    Job(
        "diff",
        ("{place}/index", "--statements", "{files}/policy.toml", "--only", "--now", NOW),
        "diff",
    ),
    Job("lint", ("{place}/index",), "lint", has_spark=True),
    Job("export", ("{place}/index", *_ALL), "export", has_spark=True),
    Job("access", ("{place}/export",), "access"),
    Job(
        "unused",
        ("{place}/index", "--log", "usage:{place}/in/usage", "--days", "30", "--now", NOW),
        "unused",
        has_spark=True,
    ),
)
LOCAL: Final = tuple(job for job in JOBS if not job.has_spark and job.verb != "access")
"""The jobs that need no Spark for a small estate."""

FIRST: Final = tuple(job for job in JOBS if job.out in ("lake", "index"))
"""Two of them."""


def sources(edition: int) -> dict[str, str]:
    """The files of an edition by name: the second has an additional schema and people."""
    schemas = ["shop", "staff"][:edition]
    tables = [f"{schema}.t{number}" for schema in schemas for number in range(20)]
    users = ["ana", "ben", "cleo", "dan"][: edition + 2]
    return {
        "lake/entities.csv": _csv(
            "type,name",
            "metalake,lk",
            "catalog,lk:c",
            *(f"schema,lk:c.{schema}" for schema in schemas),
            *(f"table,lk:c.{table}" for table in tables),
        ),
        "lake/principals.csv": _csv(
            "kind,name",
            "group,staff",
            *("role,lk:readers", "role,lk:writers"),
            *(f"user,{user}" for user in users),
        ),
        "lake/memberships.csv": _csv(
            "member_kind,member_name,of_kind,of_name",
            *("group,staff,role,lk:readers", "user,cleo,role,lk:writers"),
            *(f"user,{user},group,staff" for user in users if user != "cleo"),
            *(f"user,{user},implied,members:lk" for user in users),
        ),
        "lake/owners.csv": _csv(
            "type,name,owner_kind,owner_name,ownership",
            *(f"table,lk:c.{table},user,ana," for table in tables[::3]),
        ),
        "lake/statements.jsonl": "".join(f"{json.dumps(one)}\n" for one in _STATEMENTS),
        "app/entities.csv": _csv(
            "type,name",
            *(f"namespace,{schema}" for schema in schemas),
            *(f"dataset,{table}" for table in tables),
        ),
        "rules.toml": _RULES,
        "policy.toml": _POLICY,
        "usage/usage.csv": _csv(
            "day,realm,user,operation,type,name,count",
            *(f"{DAY},lake,ana,table.load,table,lk:c.{table},3" for table in tables[:5]),
        ),
    }


def _csv(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


def write(place: Location, edition: int) -> None:
    """Writes the sources of an edition to a place."""
    for name, text in sources(edition).items():
        file = place / "in" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


Run = Callable[[Job, Location, Path | None], int]
"""Runs a job in a place, with a local folder of rules and policies; returns the exit code."""


def make(
    place: Location,
    jobs: tuple[Job, ...],
    edition: int = 1,
    files: Path | None = None,
    run: Run = Job.run,
) -> None:
    """Writes an edition, and runs the jobs on it."""
    write(place, edition)
    for job in jobs:
        assert run(job, place, files) in (0, 1), job


def tables(out: Location) -> Mapping[str, Any]:
    """The published output of a job: the digests of its tables, read and verified."""
    manifest = json.loads((out / MANIFEST).read_text("utf-8"))
    folder = out / VERSIONS / str(manifest["version"])
    for name, digest in manifest.get("files", {}).items():
        assert sha256_of_file(folder / name) == digest, (out, name)
    said = ("tables", "statements", "rows", "sha256")
    return {name: manifest[name] for name in said if name in manifest}


def versions(out: Location) -> list[int]:
    """The version numbers in the folder of a job."""
    return sorted({int(one.name) for one in (out / VERSIONS).iterdir() if one.name.isdecimal()})


Found = TypeVar("Found")


def followed(
    place: Location,
    good: Location,
    jobs: tuple[Job, ...],
    fail: Callable[[Job], Found],
    files: Path | None = None,
    run: Run = Job.run,
) -> Iterator[tuple[Job, Found]]:
    """Runs each job under faults, from the first edition to the second.

    `place` has the first edition with all jobs done, `good` the second, undisturbed. `fail` runs a
    job under faults, any number of times: it must leave the old version published, or the new one.
    Then the job is run again and must produce the same output as in `good`. Returns the results of
    `fail`.
    """
    write(place, 2)
    for job in jobs:
        out = place / job.out
        before, after = tables(out), tables(good / job.out)
        found = fail(job)
        assert tables(out) in (before, after), (job, found)
        assert run(job, place, files) in (0, 1), job
        assert tables(out) == after, (job, found)
        yield job, found

"""Judges a document by Ranger's own policy engine: the answers of its Trino plugin."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

JUDGE = Path(__file__).parents[4] / "shared/tools/ranger-judge/ranger-judge"
TAG_JUDGE = Path(__file__).with_name("RangerTagJudge.java")
"""The same with tags; Java compiles it at start."""

REQUESTS: Mapping[str, tuple[str, str]] = {
    "AccessCatalog": ("_any", "catalog"),
    "DropCatalog": ("drop", "catalog"),
    "FilterSchemas": ("_any", "schema"),
    "ShowCreateSchema": ("show", "schema"),
    "DropSchema": ("drop", "schema"),
    "CreateTable": ("create", "table"),
    "CreateView": ("create", "table"),
    "CreateSchema": ("create", "schema"),
    "FilterTables": ("_any", "table"),
    "ShowCreateTable": ("show", "table"),
    "SelectFromColumns": ("select", "column"),
    "InsertIntoTable": ("insert", "table"),
    "UpdateTableColumns": ("insert", "table"),
    "DeleteFromTable": ("delete", "table"),
    "TruncateTable": ("delete", "table"),
    "RenameTable": ("alter", "table"),
    "DropTable": ("drop", "table"),
    "DropView": ("drop", "table"),
    "ExecuteFunction": ("execute", "schemafunction"),
    "DropFunction": ("drop", "schemafunction"),
    "ExecuteQuery": ("execute", "queryid"),
    "ReadSystemInformation": ("read_sysinfo", "sysinfo"),
}
"""The plugin's request for an action of Trino: the access, and the last level of the resource."""


def judge_home() -> Path:
    """The folder of Ranger's policy engine, if it is installed."""
    return Path(os.environ.get("RANGER_JUDGE_HOME") or Path.home() / ".cache/ranger-judge")


def judged(
    policies: Mapping[str, Any],
    roles: Mapping[str, Any],
    requests: Sequence[Mapping[str, Any]],
    folder: Path,
    tags: Mapping[str, Any] | None = None,
) -> Iterable[Mapping[str, Any]]:
    """The answers of Ranger's engine, in order; skips the test if it is not installed.

    `tags` is the document of tags that its plugins download.
    """
    is_there = JUDGE.exists() and shutil.which("java")
    if not is_there or not list(judge_home().glob("RangerJudge.class")):
        pytest.skip("Ranger's policy engine is not installed")
    files = []
    for name, value in (("policies", policies), ("requests", requests), ("roles", roles)):
        files.append(folder / f"{name}.json")
        files[-1].write_text(json.dumps(value))
    command: list[str | Path] = [JUDGE, *files]
    if tags is not None:
        files.append(folder / "tags.json")
        files[-1].write_text(json.dumps(tags))
        paths = f"{judge_home()}:{judge_home()}/lib/*:{JUDGE.parent}"
        command = ["java", "-cp", paths, TAG_JUDGE, *files]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]


def without_schedules(policies: Mapping[str, Any]) -> dict[str, Any]:
    """The document without schedules: worlds have their own clock, whose times are long past."""

    def kept(some: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [
            {key: value for key, value in policy.items() if key != "validitySchedules"}
            for policy in some
        ]

    zones = policies.get("securityZones") or {}
    timeless = {name: {**zone, "policies": kept(zone["policies"])} for name, zone in zones.items()}
    own: dict[str, Any] = {"policies": kept(policies["policies"])}
    if "tagPolicies" in policies:
        about = policies["tagPolicies"]
        own["tagPolicies"] = {**about, "policies": kept(about["policies"])}
    return {**policies, **own, **({"securityZones": timeless} if zones else {})}

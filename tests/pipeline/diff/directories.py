"""Random worlds as ingested directories, and their compiled form."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lakewarden.kernel.relations import Facts
from lakewarden.kernel.snapshot import Snapshot, compile
from lakewarden.kernel.statement_file import write_statement
from lakewarden.pipeline.directory import load
from lakewarden.service.system import System
from lakewarden.testing.world_draft import NOW
from tests.pipeline.directories import write_directory


def write_facts(path: Path, system: System, facts: Facts) -> Path:
    """The facts as a directory, with their statements, without the fixed ones of the system."""
    defaults = {str(table["id"]) for table in system.model.defaults}
    stated = {statement.id: statement for statement in facts.statements}
    write_directory(
        path,
        {
            "entities": [(*row.entity, *(row.parent or (None, None))) for row in facts.entities],
            "relations": [(row.kind, *row.source, *row.target) for row in facts.relations],
            "attributes": [(*row.entity, row.attribute, row.value) for row in facts.attributes],
            "owners": [(*row.entity, *row.owner, row.ownership) for row in facts.owners],
            "principals": [tuple(principal) for principal in facts.principals],
            "memberships": [(*row.member, *row.of) for row in facts.memberships],
        },
        statements=[write_statement(s) for id, s in stated.items() if id not in defaults],
        model=system.model.name,
        settings=system.model.settings,
        deleted=sorted(
            str(t["id"])
            for t in system.model.defaults
            if t.get("editable", False) and str(t["id"]) not in stated
        ),
    )
    return path


def sayable(system: System, facts: Facts) -> Facts:
    """The facts without statements that no file can express: those with ungrantable privileges."""
    model = system.model
    kept = [s for s in facts.statements if all(model.privilege(p).grantable for p in s.privileges)]
    return replace(facts, statements=kept)


def compiled(directory: Path) -> Snapshot:
    """The directory, compiled by the kernel in process."""
    found = load(directory)
    return compile(found.facts, found.system.model, found.system.spelling, now=NOW)

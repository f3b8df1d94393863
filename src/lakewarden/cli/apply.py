"""`lakewarden apply`: makes the changes that a plan showed, and no others."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli import policy_file
from lakewarden.cli.admin_target import NOWHERE, At
from lakewarden.cli.outcome import YES, show, show_document
from lakewarden.cli.plan import Adopts, Keeper
from lakewarden.cli.plan_file import pieces
from lakewarden.cli.plan_view import plan_lines
from lakewarden.cli.policy_target import Policies
from lakewarden.cli.question import As
from lakewarden.cli.text_file import read_text
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.service.plan_result import FORMAT


@dataclass(frozen=True)
class Agreed:
    """A plan to apply: its files, its revision and its digest."""

    files: tuple[Path, ...]
    realm: str
    keeper: str
    adopts: bool
    revision: int
    digest: str


def apply(
    *files: Annotated[
        Path, Parameter(help="The plan that `lakewarden plan --out` wrote; or policy files.")
    ],
    realm: Annotated[str | None, Parameter(help="With policy files: the realm.")] = None,
    keeper: Keeper = "policy",
    adopts: Adopts = False,
    revision: Annotated[
        int | None, Parameter(help="With policy files: the revision of the plan.")
    ] = None,
    digest: Annotated[
        str | None, Parameter(help="With policy files: the digest of the plan.")
    ] = None,
    at: At = NOWHERE,
    format: As = "table",
) -> int:
    """Makes exactly the changes of a plan.

    Rejected if the realm, its users and groups, or the files changed since the plan was made: then
    plan again.

    For example:

        lakewarden apply plan.json --database sqlite:///estate.db
    """
    agreed = _of_plan(files[0]) if _is_plan(files) else None
    if agreed is None:
        if realm is None or revision is None or digest is None:
            raise BadInput("policy files need --realm, --revision and --digest of the plan")
        agreed = Agreed(files, realm, keeper, adopts, revision, digest)
    elif realm or revision is not None or digest or adopts or keeper != "policy":
        raise BadInput("the plan contains realm, name, revision and digest; leave the options out")
    policy_files = policy_file.find(agreed.files)
    parts = [(str(file), policy_file.read(file)) for file in policy_files]
    applied, newest = Policies(at, agreed.realm).applied(
        parts,
        keeper=agreed.keeper,
        adopts=agreed.adopts,
        revision=agreed.revision,
        digest=agreed.digest,
    )
    if format == "json":
        show_document(*pieces({**applied.table(), "applied": newest}))
    else:
        show(*plan_lines(applied), "")
        show(f"applied: revision {newest}" if not applied.is_empty else "no changes")
    return YES


def _is_plan(files: tuple[Path, ...]) -> bool:
    return len(files) == 1 and files[0].suffix == ".json"


def _of_plan(file: Path) -> Agreed:
    """The content of a plan file; applying checks its digest, so a changed plan is rejected."""
    where = str(file)
    try:
        section = Section(json.loads(read_text(file)), where)
    except ValueError:
        raise BadInput("expected JSON", where=where) from None
    number = section.number("revision")
    files = section.texts("files")
    if section.take("format") != FORMAT or number is None or not files:
        raise BadInput("is not a plan of this release", where=where)
    return Agreed(
        tuple(map(Path, files)),
        section.text("realm"),
        section.text("keeper"),
        section.flag("adopts"),
        int(number),
        section.text("digest"),
    )

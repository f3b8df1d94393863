"""`lakewarden plan`: what policy files would change, in statements and in access."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli import policy_file
from lakewarden.cli.admin_target import NOWHERE, At, RealmName
from lakewarden.cli.outcome import NO, YES, note, show
from lakewarden.cli.plan_file import pieces
from lakewarden.cli.plan_view import told
from lakewarden.cli.policy_at import Policies
from lakewarden.cli.question import As

Files = Annotated[
    tuple[Path, ...],
    Parameter(help="Policy files, TOML or YAML; of a folder, those in it."),
]
Keeper = Annotated[
    str, Parameter("--name", help="Who keeps these files: the mark on what comes from them.")
]
Adopts = Annotated[
    bool,
    Parameter("--adopt", help="Take over what is there and bears no mark.", show_default=False),
]


def plan(
    *files: Annotated[
        Path, Parameter(help="Policy files, TOML or YAML; of a folder, those in it.")
    ],
    realm: RealmName,
    keeper: Keeper = "policy",
    adopts: Adopts = False,
    out: Annotated[
        Path | None, Parameter(help="File to write the plan to, for `lakewarden apply`.")
    ] = None,
    whole: Annotated[
        bool,
        Parameter(help="Show every line about access, with all operations.", show_default=False),
    ] = False,
    at: At = NOWHERE,
    format: As = "table",
) -> int:
    """Shows what the files would change, and who would gain and lose what. Changes nothing.

    What came from these files before and is in them no more is to go; what others made is left
    alone. Exit code 1 when changes are pending.

    For example:

        lakewarden plan policy.toml --realm gravitino --database sqlite:///estate.db
    """
    found = policy_file.find(files)
    parts = [(str(file), policy_file.read(file)) for file in found]
    made = Policies(at, realm).planned(parts, keeper=keeper, adopts=adopts)
    if out is not None:
        files_read = [str(file.resolve()) for file in found]
        with out.open("w", encoding="utf-8") as file:
            file.writelines(pieces({**made.table(), "files": files_read}))
    if format == "json":
        sys.stdout.writelines(pieces(made.table()))
    else:
        show(*told(made, whole=whole))
        if not made.is_empty:
            note(f"to apply exactly this: --revision {made.revision} --digest {made.digest}")
    return YES if made.is_empty else NO

"""`lakewarden plan`: what policy files would change, in statements and in access."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli import policy_file
from lakewarden.cli.admin_target import NOWHERE, At, RealmName
from lakewarden.cli.outcome import NO, YES, note, show, show_document
from lakewarden.cli.plan_file import pieces
from lakewarden.cli.plan_view import plan_lines
from lakewarden.cli.policy_target import Policies
from lakewarden.cli.question import As
from lakewarden.cli.text_file import STANDARD_INPUT, write_text
from lakewarden.kernel.errors import BadInput

Files = Annotated[
    tuple[Path, ...],
    Parameter(help="Policy files, TOML or YAML; a folder includes its files."),
]
Keeper = Annotated[
    str, Parameter("--name", help="Name under which these files manage their statements.")
]
Adopts = Annotated[
    bool,
    Parameter(
        "--adopt", help="Take over existing statements that no files manage.", show_default=False
    ),
]


def plan(
    *files: Annotated[
        Path, Parameter(help="Policy files, TOML or YAML; a folder includes its files.")
    ],
    realm: RealmName,
    keeper: Keeper = "policy",
    adopts: Adopts = False,
    out: Annotated[
        Path | None, Parameter(help="Output file of the plan, for `lakewarden apply`.")
    ] = None,
    whole: Annotated[
        bool,
        Parameter(help="Show every change of access, with all operations.", show_default=False),
    ] = False,
    at: At = NOWHERE,
    format: As = "table",
) -> int:
    """Shows what policy files would change, and who would gain and lose access.

    Changes nothing. Statements that these files created and no longer contain are removed;
    statements of others are ignored. Exit code 1 if changes are pending.

    For example:

        lakewarden plan policy.toml --realm gravitino --database sqlite:///estate.db
    """
    policy_files = policy_file.find(files)
    if out is not None and STANDARD_INPUT in policy_files:
        raise BadInput("apply policies of standard input with --revision and --digest, not --out")
    parts = [(str(file), policy_file.read(file)) for file in policy_files]
    new_plan = Policies(at, realm).planned(parts, keeper=keeper, adopts=adopts)
    if out is not None:
        files_read = [str(file.resolve()) for file in policy_files]
        write_text(out, pieces({**new_plan.table(), "files": files_read}))
    if format == "json":
        show_document(*pieces(new_plan.table()))
    else:
        show(*plan_lines(new_plan, whole=whole))
        if not new_plan.is_empty:
            note(
                f"to apply exactly this: --revision {new_plan.revision} --digest {new_plan.digest}"
            )
    return YES if new_plan.is_empty else NO

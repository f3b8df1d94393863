"""`lakewarden export`: a realm's policy as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli.admin_target import NOWHERE, At, RealmName
from lakewarden.cli.outcome import YES, note, show_document
from lakewarden.cli.policy_target import Policies
from lakewarden.cli.text_file import write_text
from lakewarden.service.policy_text import Form, written


def export(
    *,
    realm: RealmName,
    form: Annotated[Form, Parameter("--format", help="File format.")] = "toml",
    out: Annotated[
        Path | None, Parameter(help="Output file, replaced if it exists; default: standard output.")
    ] = None,
    at: At = NOWHERE,
) -> int:
    """Writes a realm's statements, roles and memberships as a policy file.

    Leaves out what nobody may change: built-in default statements, and administrators from the
    configuration.

    For example:

        lakewarden export --realm gravitino --database sqlite:///estate.db
    """
    table = Policies(at, realm).exported()
    text = written(table, form)
    if out is None:
        show_document(text)
        return YES
    write_text(out, [text])
    members = sum(map(len, table.get("members", {}).values()))
    statements = sum(len(table.get(key, ())) for key in ("statement", "filter", "mask"))
    counts = statements, len(table.get("roles", ())), members
    note("{}: {:,} statements, {:,} roles, {:,} memberships".format(out, *counts))
    return YES

"""A realm with tables, and policy files for it."""

from __future__ import annotations

from pathlib import Path

from tests.cli.stores import Admin

POLICY = """\
roles = ["lk:analysts"]

[members]
"role:lk:analysts" = ["user:ana", "user:eve"]

[[statement]]
id = "analysts-read"
privileges = ["USE_SCHEMA", "SELECT_TABLE"]
to = ["role:lk:analysts"]
on = "schema:lk:c.s"
"""

AS_YAML = """\
roles: [lk:analysts]
members:
  role:lk:analysts: [user:ana, user:eve]
statement:
  - id: analysts-read
    privileges: [USE_SCHEMA, SELECT_TABLE]
    to: role:lk:analysts
    on: schema:lk:c.s
"""


def furnish(admin: Admin) -> None:
    """Loads the small Gravitino realm."""
    admin("load", str(admin.cli.folders["gravitino"]), "--realm", "gravitino")


def write(folder: Path, text: str = POLICY, name: str = "policy.toml") -> str:
    """A policy file."""
    file = folder / name
    file.write_text(text, "utf-8")
    return str(file)

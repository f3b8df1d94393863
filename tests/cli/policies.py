"""A realm with tables, and policy files for it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from tests.cli.stores import Admin
from tests.http.prepared import digest, prepared

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
    """Loads the small Gravitino realm; byte-identical stores share the result."""
    file = Path(admin.url.removeprefix("sqlite:///"))
    known = digest(file)
    if known is None:
        _load(admin)
        return

    def load(folder: Path) -> None:
        shutil.copy(file, folder)
        _load(replace(admin, url=f"sqlite:///{folder}/{file.name}"))

    prepared(file.parent, ("furnished", file.name, known), load)


def _load(admin: Admin) -> None:
    admin("load", str(admin.cli.folders["gravitino"]), "--realm", "gravitino")


def write(folder: Path, text: str = POLICY, name: str = "policy.toml") -> str:
    """A policy file."""
    file = folder / name
    file.write_text(text, "utf-8")
    return str(file)

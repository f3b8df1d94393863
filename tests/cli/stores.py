"""A fresh store, and the command line for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lakewarden.store import open_store
from tests.cli.realms import Cli, Outcome


@dataclass(frozen=True)
class Admin:
    """The command line with its own database."""

    cli: Cli
    url: str

    def __call__(self, *words: str) -> Outcome:
        """Runs a verb on the database; fails on an error, which keeps setup code short."""
        found = self.ask(*words)
        assert found.code in (0, 1), found.err
        return found

    def ask(self, *words: str) -> Outcome:
        """Runs a verb on the database."""
        return self.cli(*words, "--database", self.url)

    def revision(self) -> int:
        with open_store(self.url) as store:
            return store.revision()


def made(cli: Cli, folder: Path) -> Admin:
    """A store with the usual realms, administered by `root`."""
    admin = Admin(cli, f"sqlite:///{folder / 'store.db'}")
    admin("init", "--admin", "root")
    return admin

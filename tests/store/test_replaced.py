"""A store that is replaced while it is open: by a restored backup, or by nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import sqlalchemy as sa

from lakewarden.kernel.change import PrincipalChanged
from lakewarden.kernel.errors import Unavailable
from lakewarden.kernel.principal import USER, Principal
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.store import SqlStore, open_store, restore
from lakewarden.store.sqlite_file import FileReplaced

BEN = Principal(USER, "ben")
ZOE = Principal(USER, "zoe")


def add(service: DecisionService, person: Principal) -> None:
    service.write(SYSTEM, lambda work: work.change("@main", PrincipalChanged(person, True)))


def opened(store: SqlStore) -> DecisionService:
    service = DecisionService(store)
    service.open()
    return service


def known(service: DecisionService) -> set[Principal]:
    with service.reading() as reading:
        return set(reading.people("@main").principals)


@pytest.mark.parametrize("is_there", [True, False], ids=["replaced", "removed"])
def test_a_file_that_is_no_longer_at_its_path_is_not_used(tmp_path: Path, is_there: bool) -> None:
    path, other = tmp_path / "store.db", tmp_path / "other.db"
    with open_store(f"sqlite:///{path}") as store:
        service = opened(store)
        add(service, BEN)
        if is_there:
            open_store(f"sqlite:///{other}").close()
            os.replace(other, path)
        else:
            path.unlink()
        with pytest.raises(FileReplaced, match="start again"):
            add(service, ZOE)
        with pytest.raises(FileReplaced):
            store.revision()
        # A new connection does not create or open what is there now.
        store.engine.dispose()
        with pytest.raises(FileReplaced):
            service.catch_up()
        assert path.exists() is is_there


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (NotADirectoryError(20, "Not a directory"), FileReplaced),
        (PermissionError(13, "Permission denied"), Unavailable),
        (OSError(5, "Input/output error"), Unavailable),
    ],
    ids=str,
)
def test_a_path_that_cannot_be_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, kind: type[Unavailable]
) -> None:
    """The file may come back, unless its folder is gone."""

    def stat(_: object) -> os.stat_result:
        raise error

    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        with monkeypatch.context() as patched:
            patched.setattr("lakewarden.store.sqlite_file.os.stat", stat)
            with pytest.raises(Unavailable) as raised:
                store.revision()
        assert raised.type is kind
        assert store.revision() == 0


@pytest.mark.postgres
def test_a_restored_database_of_the_same_revision_is_loaded_anew(
    server_url: str, tmp_path: Path
) -> None:
    with open_store(server_url) as store:
        service, idle = opened(store), opened(store)
        store.backup(tmp_path / "backup")
        add(service, BEN)
        assert idle.catch_up().revision == service.state.revision
        with store.engine.begin() as connection:
            connection.execute(sa.text("DROP SCHEMA public CASCADE; CREATE SCHEMA public"))
        restore(tmp_path / "backup", server_url)
        with open_store(server_url) as restored:
            add(opened(restored), ZOE)
        # The revision is the same again, but one was restored and another one was written.
        assert idle.catch_up().revision == service.state.revision
        for other in (idle, service):
            assert ZOE in other.catch_up().people["main"].principals
            assert known(other) == {ZOE}

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
from lakewarden.service.control import SERVER
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import CONTROL
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import SqlStore, open_store, restore
from lakewarden.store.sqlite_file import FileReplaced
from tests.service.test_decision_service import SharedCell

AMY = Principal(USER, "amy")
BEN = Principal(USER, "ben")
ZOE = Principal(USER, "zoe")


def add(service: DecisionService, person: Principal) -> None:
    def write(work: WriteTransaction) -> None:
        work.change("@main", PrincipalChanged(person, True))
        work.audit("person.put", SERVER, "allow", "", CONTROL)

    service.write(SYSTEM, write)


def opened(store: SqlStore, shared_revision: SharedCell | None = None) -> DecisionService:
    service = DecisionService(store, shared_revision=shared_revision)
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


@pytest.mark.postgres
@pytest.mark.parametrize("later", [1, 2], ids=["same revision", "later revision"])
def test_a_standby_without_the_last_write_is_loaded_anew(
    server_url: str, postgres_url: str, later: int
) -> None:
    """Its tables have the numbers of those that it copied."""
    name = sa.make_url(server_url).database
    with open_store(server_url) as store:
        readers, writer = [opened(store), opened(store), opened(store, SharedCell())], opened(store)
        store.engine.dispose()
        server = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with server.begin() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}_standby TEMPLATE {name}")
        add(writer, BEN)
        for other in readers:
            assert BEN in other.catch_up().people["main"].principals
        store.engine.dispose()
        with server.begin() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
            connection.exec_driver_sql(f"ALTER DATABASE {name}_standby RENAME TO {name}")
        with open_store(server_url) as promoted:
            for _ in range(later):
                add(opened(promoted), ZOE)
        add(readers[1], AMY)  # without asking before
        assert known(readers[1]) == {ZOE, AMY}
        store.revision()  # each second, for a server with a shared revision
        for other in (*readers, writer):
            assert known(other) == set(other.catch_up().people["main"].principals) == {ZOE, AMY}

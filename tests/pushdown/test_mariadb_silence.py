"""A MariaDB that no longer responds: no session waits forever."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from lakewarden.kernel.errors import Unavailable
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.mariadb import Database, connected
from tests.pushdown.frozen_process import frozen
from tests.pushdown.mariadb_estate import administrator, execute
from tests.pushdown.silent import silence


@pytest.fixture(name="address")
def _address(mariadb_url: str) -> Address:
    url = sa.make_url(mariadb_url).set(drivername="mariadb")
    return Address(url.render_as_string(hide_password=False), "pg")


@pytest.fixture(name="process")
def _process(address: Address) -> int:
    with administrator(address.url) as connection:
        ((path,),) = execute(connection, "SELECT @@pid_file")
    return int(Path(path).read_text())


def test_a_port_that_does_not_answer() -> None:
    with silence() as port:
        address = Address(f"mariadb://keeper:secret@127.0.0.1:{port.port}", "pg")
        with pytest.raises(Unavailable, match="timed out"), connected(address, timeout_s=1):
            pass


def test_a_server_that_is_frozen_while_it_is_asked(address: Address, process: int) -> None:
    with pytest.raises(Unavailable, match="timed out"):
        _asked_frozen(address, process, lambda database: database.managed_roles())
    with (
        frozen(process),
        pytest.raises(Unavailable, match="timed out"),
        connected(address, timeout_s=1),
    ):
        pass
    with connected(address) as database:
        assert not database.managed_roles().roles


@pytest.mark.parametrize(
    "ask",
    [
        lambda database: database.missing_rights([]),
        lambda database: database._view_text(("sales", "orders")),
    ],
    ids=["rights", "text of a view"],
)
def test_no_answer_is_not_taken_for_a_refusal(
    address: Address, process: int, ask: Callable[[Database], object]
) -> None:
    with pytest.raises(Unavailable, match="timed out"):
        _asked_frozen(address, process, ask)


def _asked_frozen(address: Address, process: int, ask: Callable[[Database], object]) -> None:
    with connected(address, answer_s=1.0) as database, frozen(process):
        ask(database)


def test_a_statement_may_take_longer_than_connecting(address: Address) -> None:
    with connected(address, timeout_s=2) as database:
        assert database._rows("SELECT SLEEP(2.5) AS slept") == [{"slept": 0}]

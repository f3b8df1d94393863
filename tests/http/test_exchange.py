from pathlib import Path

import pytest

from lakewarden.app.open_store import opened_service
from lakewarden.http.exchange import Exchange, Refused, Services
from lakewarden.kernel.errors import BadInput, Unknown, WardenError
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import Realm
from lakewarden.service.realms import establish
from lakewarden.service.write_transaction import WriteTransaction


def _exchange(service: DecisionService, body: bytes = b"") -> Exchange:
    return Exchange(
        method="POST",
        path="/x",
        params={},
        query={"page": ("1", "2"), "empty": ("",)},
        headers={},
        body=body,
        actor=SYSTEM,
        realm="lake",
        state=service.state,
        now=service.clock(),
        service=service,
        services=Services(),
    )


def test_a_write_is_in_the_state_of_its_own_exchange(tmp_path: Path) -> None:
    with opened_service(f"sqlite:///{tmp_path}/store") as service:
        exchange = _exchange(service)
        before = exchange.state.revision
        with pytest.raises(Unknown):
            _ = exchange.realm_state

        def make(transaction: WriteTransaction) -> str:
            establish(transaction, Realm("lake", "gravitino"))
            return "made"

        assert exchange.write(make) == "made"
        assert exchange.state.revision == before + 1
        assert exchange.realm_state.realm.name == "lake"


def test_a_write_that_raises_leaves_the_exchange_as_it_was(tmp_path: Path) -> None:
    with opened_service(f"sqlite:///{tmp_path}/store") as service:
        exchange = _exchange(service)

        def fail(transaction: WriteTransaction) -> None:
            establish(transaction, Realm("lake", "gravitino"))
            raise BadInput("no")

        with pytest.raises(BadInput):
            exchange.write(fail)
        assert exchange.state.revision == 0
        assert not service.state.realms


def test_the_body_is_read_strictly(tmp_path: Path) -> None:
    with opened_service(f"sqlite:///{tmp_path}/store") as service:
        assert _exchange(service, b'{"a": 1}').json() == {"a": 1}
        with pytest.raises(BadInput):
            _exchange(service, b'{"a": 1, "a": 1}').json()


def test_one_takes_the_first_value_of_a_query_parameter(tmp_path: Path) -> None:
    with opened_service(f"sqlite:///{tmp_path}/store") as service:
        exchange = _exchange(service)
        assert exchange.one("page") == "1"
        assert exchange.one("empty", "x") == ""
        assert exchange.one("other", "x") == "x"


def test_a_refusal_is_one_of_our_errors_and_has_a_status() -> None:
    error = Refused(413, "too large")
    assert isinstance(error, WardenError)
    assert error.status == 413

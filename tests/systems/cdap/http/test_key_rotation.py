"""A second key for secrets is added while servers keep responding, and the first is removed."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from lakewarden.cli import main
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Unavailable
from lakewarden.store import open_store
from lakewarden.store.secrets import Keys, new_key
from tests.app.serving import Served
from tests.app.threaded import threaded

KEYS = "/v3/namespaces/default/securekeys"
FIRST, SECOND = new_key(), new_key()


def with_keys(folder: Path, *keys: str) -> AbstractContextManager[Served]:
    """A server on the shared store."""
    return threaded(folder, database=f"sqlite:///{folder.parent}/store.db", secret_keys=[*keys])


def grant(served: Served, name: str) -> None:
    body = {
        "authorizable": {
            "entityType": "SECUREKEY",
            "entityParts": {"NAMESPACE": "default", "SECUREKEY": name},
        },
        "principal": {"name": "dana", "type": "USER"},
        "actions": ["ADMIN", "READ"],
    }
    path = "/v3/security/authorization/privileges/grant"
    assert served.ask("POST", path, body, user="admin").status == 200


def keep(served: Served, name: str, secret: str) -> None:
    grant(served, name)
    body = {"description": "", "data": secret}
    assert served.ask("PUT", f"{KEYS}/{name}", body, user="dana").status == 200


def secret(served: Served, name: str) -> tuple[int, bytes]:
    answer = served.ask("GET", f"{KEYS}/{name}", user="dana")
    return answer.status, answer.body


def sealed(database: str, name: str) -> str:
    with open_store(database) as store, store.reading() as reading:
        (text,) = reading.secrets("cdap", Entity("securekey", f"default.{name}")).values()
    return text


@pytest.mark.slow
def test_a_second_key_rotates_in_while_the_server_goes_on_and_the_first_one_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    database = f"sqlite:///{tmp_path}/store.db"
    with with_keys(tmp_path / "one", FIRST) as old:
        keep(old, "before", "sealed with the first")
        with with_keys(tmp_path / "two", SECOND, FIRST) as new:
            assert secret(new, "before") == (200, b"sealed with the first")
            assert secret(old, "before") == (200, b"sealed with the first")
            keep(new, "after", "sealed with the second")
            assert secret(new, "after") == (200, b"sealed with the second")
            assert secret(old, "before") == (200, b"sealed with the first")
            assert secret(old, "after")[0] == 503
    assert Keys([SECOND]).unseal(sealed(database, "after")) == "sealed with the second"
    with pytest.raises(Unavailable):
        Keys([SECOND]).unseal(sealed(database, "before"))
    monkeypatch.setenv("LAKEWARDEN_SECRET_KEYS", f"{SECOND},{FIRST}")
    assert main(["secrets", "rotate", "--database", database]) == 0
    assert capsys.readouterr().out.startswith("2 secrets")
    with with_keys(tmp_path / "three", SECOND) as last:
        assert secret(last, "before") == (200, b"sealed with the first")
        assert secret(last, "after") == (200, b"sealed with the second")
        keep(last, "later", "sealed without the first")
        assert secret(last, "later") == (200, b"sealed without the first")
    for folder in ("one", "two", "three"):
        text = (tmp_path / folder / "log").read_text()
        assert text
        assert not [word for word in ("sealed with", FIRST, SECOND) if word in text]

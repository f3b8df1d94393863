"""A second key for secrets comes in while servers go on answering, and the first one goes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Unavailable
from lakewarden.store import open_store
from lakewarden.store.secrets import Keys, new_key
from tests.app.serving import Served, server

KEYS = "/v3/namespaces/default/securekeys"
FIRST, SECOND = new_key(), new_key()


def with_keys(*keys: str) -> Mapping[str, str]:
    return {"LAKEWARDEN_SECRET_KEYS": ",".join(keys)}


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


def rotate(database: str, keys: Mapping[str, str]) -> str:
    command = [sys.executable, "-m", "lakewarden.cli", "secrets", "rotate", "--database", database]
    environment = {**os.environ, **keys}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def sealed(database: str, name: str) -> str:
    with open_store(database) as store, store.reading() as reading:
        (text,) = reading.secrets("cdap", Entity("securekey", f"default.{name}")).values()
    return text


@pytest.mark.slow
def test_a_second_key_rotates_in_while_the_server_goes_on_and_the_first_one_out(
    tmp_path: Path,
) -> None:
    database = f"sqlite:///{tmp_path}/store.db"
    with server(tmp_path / "one", environment=with_keys(FIRST), database=database) as old:
        keep(old, "before", "sealed with the first")
        both = with_keys(SECOND, FIRST)
        with server(tmp_path / "two", environment=both, database=database) as new:
            assert secret(new, "before") == (200, b"sealed with the first")
            assert secret(old, "before") == (200, b"sealed with the first")
            keep(new, "after", "sealed with the second")
            assert secret(new, "after") == (200, b"sealed with the second")
            assert secret(old, "before") == (200, b"sealed with the first")
            assert secret(old, "after")[0] == 503
    assert Keys([SECOND]).unseal(sealed(database, "after")) == "sealed with the second"
    with pytest.raises(Unavailable):
        Keys([SECOND]).unseal(sealed(database, "before"))
    assert rotate(database, both).startswith("2 secrets")
    alone = with_keys(SECOND)
    with server(tmp_path / "three", environment=alone, database=database) as last:
        assert secret(last, "before") == (200, b"sealed with the first")
        assert secret(last, "after") == (200, b"sealed with the second")
        keep(last, "later", "sealed without the first")
        assert secret(last, "later") == (200, b"sealed without the first")
    for log in tmp_path.glob("*/log"):
        text = log.read_text()
        assert not [word for word in ("sealed with", FIRST, SECOND) if word in text]

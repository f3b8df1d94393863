"""Settings of the guard that change its decisions, and its start-up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from lakewarden.cli import main
from tests.http.iceberg.guarded import NEW_SCHEMA, Guarded, guarded
from tests.http.iceberg.rest_catalog import TOKEN

SCHEMA = pa.schema([("id", pa.int64())])
TABLES = "shop/namespaces/sales/tables"


@pytest.fixture(name="guard", scope="module")
def _guard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    more = 'locations = "catalog"\nlower_case = true\n'
    with guarded(tmp_path_factory.mktemp("guard"), more) as guard:
        guard.catalog.tables.create_namespace("sales")
        guard.catalog.tables.create_table("sales.orders", SCHEMA)
        yield guard


def test_a_catalog_that_refuses_what_overlaps_may_be_left_to_do_so(guard: Guarded) -> None:
    schema = NEW_SCHEMA
    where = f"file://{guard.served.log.parent}/placed"
    body = {"name": "placed", "schema": schema, "location": where}
    assert guard.ask("sam", "POST", TABLES, body).status == 200


def test_names_that_the_catalog_would_fold_are_refused(guard: Guarded) -> None:
    assert guard.ask("ana", "GET", f"{TABLES}/orders").status == 200
    for name in ("ORDERS", "Orders"):
        assert guard.ask("olga", "GET", f"{TABLES}/{name}").status == 403
    body = {"name": "New", "schema": NEW_SCHEMA}
    assert guard.ask("sam", "POST", TABLES, body).status == 400


def test_a_token_that_changes_is_read_anew_and_one_that_is_gone_denies(guard: Guarded) -> None:
    file = guard.served.log.parent / "token"
    file.write_text("another")
    assert guard.ask("ana", "GET", f"{TABLES}/orders").status == 502
    file.unlink()
    answer = guard.ask("ana", "GET", f"{TABLES}/orders")
    assert answer.status == 503
    assert str(file) not in json.loads(answer.body)["error"]["message"]
    file.write_text(TOKEN)
    assert guard.ask("ana", "GET", f"{TABLES}/orders").status == 200


def test_forms_that_are_no_exchange_of_tokens_are_refused(guard: Guarded) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}

    def exchanged(text: str) -> tuple[int, str]:
        where = "/r/gravitino/iceberg/v1/oauth/tokens"
        answer = guard.served.ask("POST", where, text.encode(), form)
        return answer.status, json.loads(answer.body).get("error", "")

    own = guard.tokens["ana"]
    good = f"grant_type=client_credentials&client_id=ana&client_secret={own}"
    assert exchanged(good) == (200, "")
    assert exchanged(good.replace("ana", "olga", 1)) == (401, "invalid_client")
    assert exchanged(good.replace(own, "lw_x")) == (401, "invalid_client")
    assert exchanged(good.replace("client_credentials", "password"))[0] == 400
    assert exchanged("grant_type")[0] == 400
    assert exchanged("&".join([good] * 20))[0] == 400


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no catalog to guard"),
        ('[iceberg.lake]\nuri = "ftp://x"', "iceberg.lake.uri: expected an address of http"),
        ('[iceberg.lake]\nuri = "http://x"', "iceberg.lake.prefixes: expected at least one"),
        ("[iceberg.lake]\nlocations = 1", "locations"),
    ],
)
def test_a_configuration_that_guards_nothing_is_refused(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "guard.toml").write_text(text)
    assert main(["iceberg-guard", "--config", str(tmp_path / "guard.toml")]) == 2
    assert message in capsys.readouterr().err

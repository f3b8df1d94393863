"""Questions to a server: the same answers as from a directory, over a real connection."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from lakewarden.client.server import Server
from lakewarden.kernel.change import (
    EntityAdded,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
    StatementAdded,
)
from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.kernel.relations import Facts
from lakewarden.pipeline.directory import load as read_directory
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import Realm
from lakewarden.service.realms import establish
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import open_store
from tests.app.threaded import threaded
from tests.cli.realms import Cli

TABLE = "table:lk:c.s.t"
ROOT = "root-token-of-this-test-5Vq8Zt2LxW"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, folders: Mapping[str, Path]) -> Iterator[str]:
    """A server whose realm `lake` has the contents of the directory `gravitino`."""
    folder = tmp_path_factory.mktemp("server")
    url = f"sqlite:///{folder}/store"
    loaded = read_directory(folders["gravitino"])
    with open_store(url) as store:
        service = DecisionService(store)
        service.open()
        service.write(SYSTEM, lambda transaction: fill(transaction, loaded.facts))
    with threaded(folder, database=url, root_token=ROOT) as running:
        yield running.address


def fill(transaction: WriteTransaction, facts: Facts) -> None:
    establish(transaction, Realm("lake", "gravitino"))
    transaction.change("lake", *(EntityAdded(row.entity, row.parent) for row in facts.entities))
    transaction.change("lake", *(PrincipalChanged(person, True) for person in facts.principals))
    transaction.change("lake", *(MembershipChanged(row, True) for row in facts.memberships))
    transaction.change("lake", *(OwnerChanged(row, True) for row in facts.owners))
    transaction.change("lake", *(StatementAdded(one) for one in facts.statements))


@pytest.mark.by_day(18)
@pytest.mark.parametrize(
    "words",
    [
        ("check", "ana", "table.load", TABLE),
        ("check", "eve", "table.load", TABLE),
        ("check", "ana", "table.load", "table:lk:c.s.none"),
        ("list", "ana", "table.load"),
        ("list", "ana", "table.load", "--limit", "1"),
        ("list", "ana", "table.load", "--within", "schema:lk:c.s", "--count"),
        ("list", "eve", "table.load"),
        ("who", "table.load", TABLE),
        ("who", "table.drop", TABLE),
        ("privileges", "ana", TABLE),
        ("privileges", "eve", TABLE),
        ("explain", "ana", "table.load", TABLE),
        ("explain", "ana", "table.load", TABLE, "--full"),
        ("explain", "ben", "table.load", TABLE),
        ("explain", "eve", "table.load", TABLE),
        ("explain", "eve", "table.load", TABLE, "--group", "staff"),
        ("check", "ben", "table.load", TABLE, "--role", "lk:readers"),
        ("operations", "--about", "tag"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("form", ["table", "json"])
def test_a_server_answers_as_a_directory_does(
    cli: Cli, server: str, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], form: str
) -> None:
    monkeypatch.setenv("LAKEWARDEN_TOKEN", ROOT)
    there = cli(*words, "--server", server, "--realm", "lake", "--format", form)
    here = cli(*words, "@gravitino", "--format", form)
    assert (there.code, plain(there.out), there.err) == (here.code, plain(here.out), here.err)


def plain(text: str) -> object:
    """The answer without necessary differences: the revision, and the paging fields."""
    try:
        read = json.loads(text)
    except ValueError:
        return text
    if isinstance(read, dict):
        read.pop("revision", None)
    return read


def test_the_variable_names_the_server(
    cli: Cli, server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LAKEWARDEN_SERVER", server)
    file = tmp_path / "token"
    file.write_text(ROOT + "\n", "utf-8")
    found = cli("check", "ana", "table.load", TABLE, "--realm", "lake", "--token-file", str(file))
    assert (found.code, found.out) == (0, "allow\n")
    file.write_bytes(b"\xff")
    found = cli("check", "ana", "table.load", TABLE, "--realm", "lake", "--token-file", str(file))
    assert (found.code, found.err) == (2, f"lakewarden: {file}: expected UTF-8\n")


def test_a_plain_user_asks_about_itself_alone(cli: Cli, server: str) -> None:
    where = ("--server", server, "--realm", "lake", "--user", "ana")
    assert cli("check", "ana", "table.load", TABLE, *where).code == 0
    refused = cli("check", "ben", "table.load", TABLE, *where)
    assert (refused.code, refused.out) == (2, "")
    assert "it needs ASK on `realm:lake`; it can be granted by admin" in refused.err


def test_without_a_credential_the_server_s_no_is_bad_input(cli: Cli, server: str) -> None:
    found = cli("who", "table.load", TABLE, "--server", server, "--realm", "lake")
    assert found.code == 2
    assert "give a token in LAKEWARDEN_TOKEN" in found.err


def test_a_server_s_trail_is_compared_with_anchors(cli: Cli, server: str, tmp_path: Path) -> None:
    where = ("--server", server, "--user", "admin")
    rows = [json.loads(line) for line in cli("audit", "export", *where).lines]
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    last = {name: rows[-1][name] for name in ("seq", "digest", "seal")}
    assert last["seal"]
    file = tmp_path / "anchors.jsonl"
    for anchor, code in (
        (last, 0),
        ({**last, "digest": "0" * 64}, 1),
        ({**last, "seq": last["seq"] + 99}, 1),
    ):
        file.write_text(json.dumps({"time": 1.0, **anchor}), "utf-8")
        found = cli("audit", "verify", "--against", str(file), *where)
        assert found.code == code, found.out
    assert "anchors" in cli("audit", "verify", *where).err


def test_words_that_are_wrong_are_told_as_the_server_tells_them(cli: Cli, server: str) -> None:
    where = ("--server", server, "--realm", "lake", "--user", "admin")
    found = cli("check", "ana", "table.lload", TABLE, *where)
    assert found.code == 2
    assert "did you mean `table.load`?" in found.err


def test_a_server_that_does_not_answer_could_not_be_asked(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    where = ("--server", f"http://127.0.0.1:{port}", "--realm", "lake")
    found = cli("check", "ana", "table.load", TABLE, *where)
    assert (found.code, found.out) == (3, "")
    assert "no answer from" in found.err


@pytest.mark.parametrize("address", ["", "host", "ftp://a", "http://", "http://a:99999"])
def test_what_is_no_address_is_refused(cli: Cli, address: str) -> None:
    with pytest.raises(BadInput):
        Server(address)


class Page(BaseHTTPRequestHandler):
    """Answers everything with an HTML page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>")

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""


def test_what_is_no_lakewarden_server_could_not_be_asked() -> None:
    with HTTPServer(("127.0.0.1", 0), Page) as page:
        thread = threading.Thread(target=page.handle_request)
        thread.start()
        with pytest.raises(Unavailable, match="no lakewarden server answers"):
            Server(f"http://127.0.0.1:{page.server_port}").ask("GET", "/whoami")
        thread.join()


def test_an_address_with_a_path_too_much_is_told(server: str) -> None:
    with pytest.raises(BadInput, match="this address does not exist"):
        Server(f"{server}/nothing").ask("GET", "/whoami")


def test_one_place_to_ask_is_named(cli: Cli) -> None:
    assert cli("check", "ana", "x", "@gravitino", "--server", "http://a").code == 2
    found = cli("check", "ana", "x", "--server", "http://a")
    assert (found.code, "--realm" in found.err) == (2, True)


def test_a_name_that_basic_cannot_carry_is_refused() -> None:
    with pytest.raises(BadInput, match="--user: expected a name without `:`, got `urn:ana`"):
        Server("http://h", user="urn:ana")


def test_a_refused_address_is_told_without_its_password() -> None:
    with pytest.raises(BadInput, match=r"--server: expected http://HOST:PORT .* got `h`$"):
        Server("ftp://ana:s3cret@h")

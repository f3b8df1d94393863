import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from tests.app.serving import Served, server
from tests.cli.realms import Cli

ROOT = "root-token-of-the-tests-5Vq8Zt2LxW"


Refused = Callable[..., tuple[int, str]]


@pytest.fixture
def refused(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refused:
    """The exit code and the error message of a server with invalid settings."""

    def bind(host: str, port: int) -> NoReturn:
        raise AssertionError(f"it would listen on {host}:{port}")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lakewarden.app.server.bind", bind)

    def serve(*arguments: str) -> tuple[int, str]:
        port = () if "--port" in arguments else ("--port", "0")
        found = cli("serve", *port, *arguments)
        assert found.out == ""
        return found.code, found.err

    return serve


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])  # noqa: S104 — must be refused
def test_simple_authentication_is_refused_on_an_address_that_others_reach(
    refused: Refused, tmp_path: Path, host: str
) -> None:
    code, said = refused("--host", host, "--auth", "simple")
    assert code == 2
    assert said.startswith("lakewarden: `simple` does not authenticate callers")
    assert "--insecure" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        (("--auth", "none"), {}, "auth"),
        (("--auth", ""), {}, "auth"),
        (("--auth", "Token"), {}, "auth"),
        (("--cdap-profile", "none"), {}, "cdap_profile"),
        (("--port", "70000"), {}, "port"),
        (("--database", "mysql://h/d"), {}, "database URL"),
        (("--admin", ".."), {}, "admin"),
        (("--workers", "0"), {}, "workers"),
        (("--config", "wrong.toml"), {}, "unknown setting `prot`"),
        ((), {"LAKEWARDEN_PROT": "1"}, "LAKEWARDEN_PROT"),
        (("--auth", "oidc"), {}, "oidc.issuer"),
    ],
)
def test_bad_input_is_told_in_one_line_and_is_a_2(
    refused: Refused,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    environment: dict[str, str],
    expected: str,
) -> None:
    (tmp_path / "wrong.toml").write_text("prot = 1\n")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    code, said = refused(*arguments)
    assert code == 2
    assert said.count("\n") == 1
    assert expected in said


def test_a_port_that_is_taken_is_a_3(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        found = cli("serve", "--port", str(taken.getsockname()[1]))
    assert (found.code, found.out) == (3, "")
    assert "cannot listen on `127.0.0.1`" in found.err


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with settings from every source, and without protection."""
    folder = tmp_path_factory.mktemp("configured")
    file = folder / "lakewarden.toml"
    file.write_text('admin = "fay"\n[gravitino]\nversion = "1.2.0"\n')
    environment = {"LAKEWARDEN_ADMIN": "eve", "LAKEWARDEN_ROOT_TOKEN": ROOT}
    insecure = ("--host", "0.0.0.0", "--insecure")  # noqa: S104 — to provoke a warning
    words = ("--config", str(file), "--admin", "cleo", *insecure)
    with server(folder / "s", *words, environment=environment) as served:
        yield served


@pytest.mark.slow
def test_serve_prints_its_address_and_exits_with_0(tmp_path: Path) -> None:
    guarded = {"VIEW_AUTHORIZATION_ENABLED": "true"}
    with server(tmp_path / "s", "--auth", "token", environment=guarded) as served:
        assert served.address.startswith("http://127.0.0.1:")
        assert served.ask("GET", "/healthz").json() == {"status": "ok", "warnings": []}
        assert "view_authorization" not in served.log.read_text()
        assert served.stop() == 0


@pytest.mark.slow
def test_whoever_says_insecure_gets_a_warning(configured: Served) -> None:
    assert b"insecure" in configured.ask("GET", "/health").body
    assert "note: `insecure`" in configured.log.read_text()
    assert "note: DataHub: `view_authorization` is off" in configured.log.read_text()


@pytest.mark.slow
def test_settings_come_from_the_file_the_environment_and_the_command_line(
    configured: Served,
) -> None:
    answer = configured.ask("GET", "/api/v1/whoami", token=ROOT)
    assert answer.json()["user"] == "cleo"  # type: ignore[index]
    assert b"1.2.0" in configured.ask("GET", "/api/version", user="cleo").body

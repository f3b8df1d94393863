import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from tests.app.serving import server
from tests.cli.realms import Cli

ROOT = "root-token-of-the-tests-5Vq8Zt2LxW"


Refused = Callable[..., tuple[int, str]]


@pytest.fixture
def refused(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refused:
    """The exit code and the complaint of a server whose settings are refused."""

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


def _serve(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code and the complaint of a server process that does not start."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LAKEWARDEN_")}
    done = subprocess.run(
        [sys.executable, "-m", "lakewarden.cli", "serve", *arguments],
        cwd=folder,
        env=clean,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])  # noqa: S104 — refused
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


def test_a_port_that_is_taken_is_a_3(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, said = _serve(tmp_path, "--port", str(taken.getsockname()[1]))
    assert code == 3
    assert "cannot listen on `127.0.0.1`" in said


@pytest.mark.slow
def test_it_says_where_it_listens_and_stops_with_a_0(tmp_path: Path) -> None:
    guarded = {"VIEW_AUTHORIZATION_ENABLED": "true"}
    with server(tmp_path / "s", "--auth", "token", environment=guarded) as served:
        assert served.address.startswith("http://127.0.0.1:")
        assert served.ask("GET", "/healthz").json() == {"status": "ok", "warnings": []}
        assert "view_authorization" not in served.log.read_text()
        assert served.stop() == 0


@pytest.mark.slow
def test_whoever_says_insecure_gets_a_warning(tmp_path: Path) -> None:
    with server(tmp_path / "s", "--host", "0.0.0.0", "--insecure") as served:  # noqa: S104
        assert b"insecure" in served.ask("GET", "/health").body
        assert "note: `insecure`" in served.log.read_text()
        assert "note: DataHub: `view_authorization` is off" in served.log.read_text()


@pytest.mark.slow
def test_settings_come_from_the_file_the_environment_and_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "lakewarden.toml"
    file.write_text('admin = "fay"\n[gravitino]\nversion = "1.2.0"\n')
    environment = {"LAKEWARDEN_ADMIN": "eve", "LAKEWARDEN_ROOT_TOKEN": ROOT}
    with server(
        tmp_path / "s", "--config", str(file), "--admin", "cleo", environment=environment
    ) as served:
        answer = served.ask("GET", "/api/v1/whoami", token=ROOT)
        assert answer.json()["user"] == "cleo"  # type: ignore[index]
        version = served.ask("GET", "/api/version", user="cleo").body
        assert b"1.2.0" in version

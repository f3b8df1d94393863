import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.app.serving import Answer, Served, basic, server
from tests.app.threaded import threaded
from tests.authn.issuer import AUDIENCE, ISSUER, Issuer, forgeries, serving
from tests.servers import free_port

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def simple(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with server(tmp_path_factory.mktemp("simple"), "--admin", "ana") as served:
        yield served


ROOT = "root-token-of-the-tests-5Vq8Zt2LxW"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    environment = {"LAKEWARDEN_ROOT_TOKEN": ROOT}
    folder = tmp_path_factory.mktemp("guarded")
    arguments = ("--auth", "token", "--admin", "ana", "--workers", "2")
    with server(folder, *arguments, environment=environment) as served:
        yield served


def _make(served: Served, name: str, **who: str) -> Answer:
    body = {"name": name, "comment": "", "properties": {}}
    return served.ask("POST", "/api/metalakes", body, **who)  # type: ignore[arg-type]


def _names(answer: Answer) -> set[str]:
    found = answer.json()
    assert isinstance(found, dict)
    return {metalake["name"] for metalake in found["metalakes"]}


def test_a_fresh_server_lets_its_administrator_in_and_nobody_else(simple: Served) -> None:
    assert _make(simple, "first", user="ana").status == 200
    assert _make(simple, "second", user="eve").status == 403
    assert "first" in _names(simple.ask("GET", "/api/metalakes", user="ana"))


@pytest.mark.parametrize(
    ("request_line", "host", "status"),
    [
        ("GET /api/version HTTP/1.1", "Host: evil.test\r\n", 421),
        ("GET http://evil.test/api/version HTTP/1.1", "Host: localhost\r\n", 421),
        ("GET http://evil.test:80/api/version HTTP/1.1", "", 421),
        ("GET http://localhost@evil.test/api/version HTTP/1.1", "Host: localhost\r\n", 421),
        ("GET http://localhost/api/version HTTP/1.1", "Host: evil.test\r\n", 200),
        ("GET http://localhost:1/api/version HTTP/1.1", "Host: localhost\r\n", 200),
        ("GET http://[::1]/api/version HTTP/1.1", "Host: localhost\r\n", 200),
        ("GET http://localhost/api/version HTTP/1.1", "Host: a\r\nHost: b\r\n", 400),
        ("GET /api/version HTTP/1.1", "", 400),
        ("GET /api/version HTTP/1.0", "", 200),
    ],
)
def test_the_host_of_the_target_counts_before_that_of_the_header(
    simple: Served, request_line: str, host: str, status: int
) -> None:
    sent = f"{request_line}\r\n{host}Connection: close\r\n\r\n".encode()
    for _ in range(2):  # the second one would be answered at once
        assert simple.raw(sent).split(b" ")[1] == str(status).encode()


def test_strangers_learn_that_it_lives_and_what_is_switched_off(simple: Served) -> None:
    for path in ("/healthz", "/health", "/health/live", "/readyz", "/health/ready"):
        answer = simple.ask("GET", path)
        assert answer.status == 200
        assert sorted(answer.json()) == ["status", "warnings"]  # type: ignore[call-overload]
        assert b"simple" in answer.body
        assert b"DataHub: `view_authorization` is off: everybody is shown" in answer.body


def test_weakened_protection_is_in_the_log(simple: Served) -> None:
    warned = [line for line in simple.lines() if line["event"] == "security is weakened"]
    assert len(warned) == 1
    assert warned[0]["level"] == "warning"


def test_figures_are_for_those_who_may_see_them(simple: Served) -> None:
    assert simple.ask("GET", "/api/metalakes", user="first").status == 200
    assert simple.ask("GET", "/metrics").status == 401
    assert simple.ask("GET", "/metrics", user="eve").status == 403
    answer = simple.ask("GET", "/metrics", user="ana")
    assert answer.status == 200
    text = answer.body.decode()
    assert 'lakewarden_requests_total{model="gravitino"' in text
    assert "lakewarden_revision" in text
    for hidden in ("first", "ana", "eve"):
        assert f'"{hidden}"' not in text


def test_figures_of_all_workers_are_added_up(guarded: Served) -> None:
    for _ in range(40):
        guarded.ask("GET", "/api/metalakes", token=ROOT)
    end = time.monotonic() + 30
    while _counted(guarded) < 40:  # each worker writes its counts once a second
        assert time.monotonic() < end
        time.sleep(0.1)


def _counted(served: Served) -> float:
    text = served.ask("GET", "/metrics", token=ROOT).body.decode()
    lines = [line for line in text.splitlines() if 'operation="metalake.list"' in line]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"A: " + b"x" * 200_000, id="endless"
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 40_000, id="many headers"
        ),
    ],
)
def test_a_head_without_end_is_cut_off(simple: Served, sent: bytes) -> None:
    received = b""
    with suppress(ConnectionResetError, BrokenPipeError):
        received = simple.raw(sent)
    assert received == b"" or b" 431 " in received.split(b"\r\n")[0]
    assert simple.ask("GET", "/healthz").status == 200


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"nonsense\r\n\r\n", id="no request"),
        pytest.param(
            b"GET /api/metalakes HTTP/1.1\r\nHost: localhost\r\nA\x00: b\r\n\r\n", id="NUL"
        ),
        pytest.param(
            b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n", id="a path that is not ASCII"
        ),
        pytest.param(
            b"POST /api/metalakes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            id="two lengths",
        ),
        pytest.param(
            b"POST /api/metalakes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
            b"Content-Length: 6\r\n\r\nabcde",
            id="length twice",
        ),
    ],
)
def test_what_is_no_sound_request_is_refused(simple: Served, sent: bytes) -> None:
    received = simple.raw(sent)
    assert received.split(b" ")[1:2] == [b"400"]
    assert b"Traceback" not in received


@pytest.mark.parametrize(
    "path",
    [
        "/api/metalakes/a%5Cb%00",
        "/api/metalakes//a",
        "//api/metalakes",
        "/api/metalakes/../metalakes",
        "/api/metalakes/%2e%2e",
        "/api/metalakes;x=y",
        "/api//metalakes",
    ],
)
def test_a_path_that_could_be_read_in_two_ways_is_gravitino_s_400(
    simple: Served, path: str
) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {basic('ana')}\r\n\r\n"
    received = simple.raw(request.encode())
    assert received.startswith(b"HTTP/1.1 400 ")
    assert b'"code":1001' in received


def test_a_slash_at_the_end_is_accepted(simple: Served) -> None:
    assert simple.ask("GET", "/api/metalakes/", user="ana").status == 200


def test_two_authorization_headers_are_refused(simple: Served) -> None:
    header = f"Authorization: {basic('ana')}\r\n"
    request = f"GET /api/metalakes HTTP/1.1\r\nHost: localhost\r\n{header}{header}\r\n"
    assert simple.raw(request.encode()).startswith(b"HTTP/1.1 401 ")


def test_a_slow_body_is_given_up(tmp_path: Path) -> None:
    with threaded(tmp_path / "s", limits={"request_seconds": 0.5}) as served:
        head = (
            "POST /api/metalakes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Authorization: {basic('admin')}\r\nContent-Length: 100\r\n\r\n{{"
        )
        received = served.raw(head.encode())
        assert received.split(b" ")[1] in (b"400", b"408", b"500", b"503")
        assert not received.startswith(b"HTTP/1.1 2")


def test_only_who_has_a_token_comes_in(guarded: Served) -> None:
    assert guarded.ask("GET", "/api/metalakes").status == 401
    assert guarded.ask("GET", "/api/metalakes", user="ana").status == 401
    assert guarded.ask("GET", "/api/metalakes", token="lw_wrong").status == 401
    assert guarded.ask("GET", "/api/metalakes", token=ROOT).status == 200


def test_a_token_is_good_when_it_is_made_and_not_any_more_when_it_is_revoked(
    guarded: Served,
) -> None:
    made = guarded.ask("POST", "/api/v1/tokens", {"user": "bob"}, token=ROOT)
    assert made.status in (200, 201), made.body
    found = made.json()
    assert isinstance(found, dict)
    text = found["token"]
    for _ in range(10):  # any worker may respond
        assert guarded.ask("GET", "/api/metalakes", token=text).status == 200
    gone = guarded.ask("DELETE", f"/api/v1/tokens/{found['id']}?directory=main", token=ROOT)
    assert gone.status in (200, 204), gone.body
    for _ in range(10):
        assert guarded.ask("GET", "/api/metalakes", token=text).status == 401
    assert text not in guarded.log.read_text()


def test_every_worker_sees_a_write_before_it_is_answered(guarded: Served) -> None:
    for at in range(25):
        made = _make(guarded, f"seen{at}", token=ROOT)
        assert made.status == 200
        for _ in range(4):
            answer = guarded.ask("GET", "/api/metalakes", token=ROOT)
            assert f"seen{at}" in _names(answer)
            assert answer.revision >= made.revision


def test_workers_share_the_work(guarded: Served) -> None:
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(guarded.ask, "GET", "/healthz") for _ in range(80)]
        assert {each.result().status for each in asked} == {200}


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_server_stops_on_a_signal_and_finishes_open_requests(
    tmp_path: Path, workers: str
) -> None:
    """Its confirmed write is there after a restart."""
    with server(tmp_path / "s", "--workers", workers) as served:
        connection = socket.create_connection(("127.0.0.1", served.port), timeout=10)
        body = b'{"name": "late", "comment": "", "properties": {}}'
        head = (
            "POST /api/metalakes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Authorization: {basic('admin')}\r\nContent-Length: {len(body)}\r\n"
            "Expect: 100-continue\r\n\r\n"
        )
        connection.sendall(head.encode())
        # It sends this when it reads the body: from then on the request is in flight.
        assert connection.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body[:10])
        served.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        connection.sendall(body[10:])
        received = connection.recv(65_536)
        connection.close()
        assert received.startswith(b"HTTP/1.1 200 ")
        assert served.process.wait(20) == 0
    with threaded(tmp_path / "s") as served:
        answer = served.ask("GET", "/api/metalakes", user="admin")
        assert _names(answer) == {"late"}
        revision = received.lower().partition(b"lakewarden-revision: ")[2].split()[0]
        assert answer.revision == int(revision)


def test_the_only_worker_stops_on_a_hangup(tmp_path: Path) -> None:
    with server(tmp_path / "s") as served:
        folders = set(Path(tempfile.gettempdir()).glob("lakewarden-metrics-*"))
        served.process.send_signal(signal.SIGHUP)
        assert served.process.wait(20) == 0
        assert len(folders - set(Path(tempfile.gettempdir()).glob("lakewarden-metrics-*"))) >= 1


def test_log_lines_are_json_and_hold_no_credentials(guarded: Served) -> None:
    guarded.ask("GET", "/api/metalakes/none%0Ahere", token=ROOT)
    guarded.ask("GET", "/api/metalakes", headers={"Authorization": "Bearer wrong-but-secret"})
    text = guarded.log.read_text()
    notes = [line for line in text.splitlines() if not line.startswith("{")]
    assert all(line.startswith("note: ") for line in notes)
    assert guarded.lines()
    assert ROOT not in text
    assert "wrong-but-secret" not in text


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with serving(Issuer()) as made:
        yield made


@pytest.fixture(scope="module")
def oidc(tmp_path_factory: pytest.TempPathFactory, issuer: Issuer) -> Iterator[Served]:
    environment = {
        "LAKEWARDEN_OIDC__ISSUER": ISSUER,
        "LAKEWARDEN_OIDC__AUDIENCE": AUDIENCE,
        "LAKEWARDEN_OIDC__JWKS_URL": f"{issuer.address}/keys",
        "LAKEWARDEN_ROOT_TOKEN": ROOT,
    }
    folder = tmp_path_factory.mktemp("oidc")
    with server(folder, "--auth", "oidc", environment=environment) as served:
        yield served


def test_a_token_of_the_identity_provider_is_believed(oidc: Served, issuer: Issuer) -> None:
    answer = oidc.ask("GET", "/api/v1/whoami", token=issuer.token())
    assert answer.status == 200
    assert answer.json()["user"] == "ana"  # type: ignore[index]
    assert oidc.ask("GET", "/api/metalakes", token=ROOT).status == 200


def test_no_forgery_comes_in_and_none_makes_the_server_fetch_anything(
    oidc: Served, issuer: Issuer
) -> None:
    seen = list(issuer.seen)
    for kind, token in forgeries(issuer).items():
        assert oidc.ask("GET", "/api/metalakes", token=token).status == 401, kind
    assert issuer.seen == seen


def test_while_the_store_is_away_it_is_not_ready_and_denies(tmp_path: Path) -> None:
    port = free_port()
    database = f"postgresql://nobody@127.0.0.1:{port}/none"
    with server(tmp_path / "s", database=database, ready=False) as served:
        assert _wait_alive(served) == 200
        assert served.ask("GET", "/readyz").status == 503
        answer = served.ask("GET", "/api/metalakes", user="admin")
        assert answer.status == 503
        assert answer.headers["retry-after"] == "1"


def _wait_alive(served: Served) -> int:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with suppress(OSError):
            return served.ask("GET", "/healthz").status
        time.sleep(0.05)
    return 0


def test_a_worker_that_dies_is_replaced_and_all_end_with_the_process_that_started_them(
    guarded: Served,
) -> None:
    """The last test that uses this server: afterwards no process is left."""
    # It has reported its address: no worker is still reading the store.
    asked = [guarded.ask("GET", "/api/metalakes", token=ROOT) for _ in range(20)]
    assert {answer.status for answer in asked} == {200}
    found = _children(guarded.process.pid)
    assert len(found) >= 2
    for pid in found:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(1.5)  # the parent process waits up to a minute for a ping's response
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    while set(found) & set(_children(guarded.process.pid)):
        time.sleep(0.05)
    guarded.wait_ready(30)
    asked = [guarded.ask("GET", "/api/metalakes", token=ROOT) for _ in range(20)]
    assert {answer.status for answer in asked} == {200}
    guarded.process.kill()
    guarded.process.wait(5)
    end = time.monotonic() + 45  # they detect it within a second, and complete requests in flight
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", guarded.port), timeout=1).close()
        except OSError:
            return
        time.sleep(0.1)
    pytest.fail("somebody still listens")


def _children(pid: int) -> list[int]:
    """Its worker processes, which are its only children: forked ones have no resource tracker."""
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)],
        capture_output=True,
        text=True,
        check=False,  # 1 means that there are none, as between two of them
    )
    return [int(line) for line in listed.stdout.splitlines()]

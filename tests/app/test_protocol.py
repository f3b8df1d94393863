"""A request gets the same response however it arrives: in one or many pieces, or pipelined."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.app.serving import Served, basic
from tests.app.threaded import threaded

pytestmark = pytest.mark.slow

BODY = json.dumps(
    {
        "subject": {"type": "user", "id": "ana"},
        "action": {"name": "metalake.create"},
        "resource": {"type": "platform", "id": "platform", "properties": {"realm": "gravitino"}},
    }
).encode()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with threaded(tmp_path_factory.mktemp("protocol") / "s", admin="ana") as running:
        yield running


@contextmanager
def connected(served: Served) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield sock


def _head(*more: str, version: str = "1.1", length: int | None = len(BODY)) -> bytes:
    lines = [
        f"POST /access/v1/evaluation HTTP/{version}",
        "Host: localhost",
        f"Authorization: {basic('ana')}",
        "Content-Type: application/json",
        *([] if length is None else [f"Content-Length: {length}"]),
        *more,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def _answer(sock: socket.socket, received: bytes = b"") -> tuple[int, dict[str, str], bytes, bytes]:
    """Status, headers and body of the next response, and the bytes after it."""
    while b"\r\n\r\n" not in received:
        received += _more(sock)
    head, _, rest = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (x.partition(": ") for x in lines)}
    length = int(headers.get("content-length", 0))
    while len(rest) < length:
        rest += _more(sock)
    return int(first.split(" ")[1]), headers, rest[:length], rest[length:]


def _more(sock: socket.socket) -> bytes:
    chunk = sock.recv(65_536)
    if not chunk:
        raise ConnectionError("closed")
    return chunk


def _is_closed(sock: socket.socket) -> bool:
    return sock.recv(1) == b""


def _allowed(answer: tuple[int, dict[str, str], bytes, bytes]) -> bool:
    status, headers, body, _ = answer
    assert (status, headers["content-type"]) == (200, "application/json")
    assert "date" in headers
    return json.loads(body)["decision"] is True


def test_one_connection_is_answered_again_and_again(served: Served) -> None:
    with connected(served) as sock:
        found = []
        for _ in range(4):
            sock.sendall(_head() + BODY)
            found.append(_answer(sock))
    assert all(_allowed(answer) for answer in found)
    assert len({answer[1]["x-request-id"] for answer in found}) == 4
    told = [{k: v for k, v in h.items() if k not in ("x-request-id", "date")} for _, h, *_ in found]
    assert all(headers == told[0] for headers in told)


@pytest.mark.parametrize("pieces", [2, 3, 7])
def test_a_request_may_come_in_pieces(served: Served, pieces: int) -> None:
    whole = _head() + BODY
    step = len(whole) // pieces + 1
    with connected(served) as sock:
        for _ in range(2):
            for at in range(0, len(whole), step):
                sock.sendall(whole[at : at + step])
                time.sleep(0.01)
            assert _allowed(_answer(sock))


def test_head_and_body_may_come_apart(served: Served) -> None:
    with connected(served) as sock:
        for _ in range(3):
            sock.sendall(_head())
            time.sleep(0.01)
            sock.sendall(BODY)
            assert _allowed(_answer(sock))


def test_requests_may_be_sent_ahead_and_are_answered_in_order(served: Served) -> None:
    slow = b"GET /api/metalakes HTTP/1.1\r\nHost: localhost\r\nX-Request-ID: list\r\n\r\n"
    asked = [_head(f"X-Request-ID: r-{number}") + BODY for number in range(4)]
    with connected(served) as sock:
        sock.sendall(b"".join([*asked[:2], slow, *asked[2:]]))
        rest, ids = b"", []
        for _ in range(5):
            _, headers, _, rest = _answer(sock, rest)
            ids.append(headers["x-request-id"])
    assert ids == ["r-0", "r-1", "list", "r-2", "r-3"]
    assert rest == b""


def test_a_chunked_body_is_a_body(served: Served) -> None:
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    with connected(served) as sock:
        for _ in range(2):
            sock.sendall(_head("Transfer-Encoding: chunked", length=None) + chunked)
            assert _allowed(_answer(sock))


def test_who_wants_to_close_is_closed(served: Served) -> None:
    for _ in range(2):
        with connected(served) as sock:
            sock.sendall(_head("Connection: close") + BODY)
            answer = _answer(sock)
            assert _allowed(answer)
            assert answer[1]["connection"] == "close"
            assert _is_closed(sock)


def test_an_old_client_is_answered_and_closed(served: Served) -> None:
    for _ in range(2):
        with connected(served) as sock:
            sock.sendall(_head(version="1.0") + BODY)
            assert _allowed(_answer(sock))
            assert _is_closed(sock)


def test_who_waits_for_leave_to_send_the_body_gets_it(served: Served) -> None:
    for _ in range(2):
        with connected(served) as sock:
            sock.sendall(_head("Expect: 100-continue"))
            assert _answer(sock)[0] == 100
            sock.sendall(BODY)
            assert _allowed(_answer(sock))


def test_an_upgrade_is_not_taken_up(served: Served) -> None:
    for _ in range(2):
        with connected(served) as sock:
            sock.sendall(_head("Connection: upgrade", "Upgrade: h2c") + BODY)
            assert _answer(sock)[0] in (200, 400)


def test_what_a_client_asks_is_counted_however_it_was_answered(served: Served) -> None:
    def counted() -> float:
        text = served.ask("GET", "/metrics", user="ana").body.decode()
        lines = [x for x in text.splitlines() if x.startswith("lakewarden_requests_total")]
        return sum(float(x.rsplit(" ", 1)[1]) for x in lines if 'operation="decision.ask_own"' in x)

    before = counted()
    with connected(served) as sock:
        for _ in range(3):
            sock.sendall(_head() + BODY)
            _answer(sock)
        sock.sendall(_head())
        time.sleep(0.01)
        sock.sendall(BODY)
        _answer(sock)
    assert counted() == before + 4
    text = served.ask("GET", "/metrics", user="ana").body.decode()
    lines = [x for x in text.splitlines() if 'wire="authzen"' in x]
    inf = [float(x.rsplit(" ", 1)[1]) for x in lines if 'le="+Inf"' in x]
    counts = [x for x in lines if x.startswith("lakewarden_request_seconds_count{")]
    assert sum(inf) == sum(float(x.rsplit(" ", 1)[1]) for x in counts) >= 4

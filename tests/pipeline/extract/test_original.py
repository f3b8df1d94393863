"""A live original is read with limits and pauses, and everything that it withholds is reported."""

from __future__ import annotations

import gzip

import pytest

from lakewarden.kernel.errors import BadInput, LimitExceeded, Unavailable
from lakewarden.pipeline.extract import original as walks
from lakewarden.pipeline.extract.original import TRIES, Credential, Original, Withheld
from tests.pipeline.extract.scripted import Raw, Scripted, scripted


def asking(server: Scripted, **given: object) -> tuple[Original, list[float]]:
    """The server as an original, and the pauses between requests."""
    pauses: list[float] = []
    return Original(server.address, pause=pauses.append, **given), pauses  # type: ignore[arg-type]


def test_a_busy_server_is_asked_again_when_it_says() -> None:
    with scripted({"/a": [(429, {}), (503, {}), (200, [1])]}) as server:
        original, pauses = asking(server)
        with original:
            assert original.get("/a") == [1]
        assert pauses == [7.0, 1.0]
        assert original.withheld == []
        assert original.requests == 3


def test_a_server_that_stays_broken_ends_the_walk() -> None:
    with scripted({"/a": (500, {})}) as server:
        original, pauses = asking(server)
        with original, pytest.raises(Unavailable, match="answer 500"):
            original.get("/a")
        assert len(server.asked) == TRIES
        assert pauses == sorted(pauses)


def test_a_server_that_is_not_there_is_unavailable() -> None:
    original = Original("http://127.0.0.1:1", pause=lambda _: None)
    with original, pytest.raises(Unavailable, match=r"127\.0\.0\.1:1/a"):
        original.get("/a")


@pytest.mark.parametrize("status", [400, 403, 404, 405, 501])
def test_what_is_refused_is_written_down_with_its_words(status: int) -> None:
    with scripted({"/a": (status, {"message": "not\nfor you"})}) as server:
        original, _ = asking(server)
        with original:
            assert original.get("/a") is None
            assert original.withheld == [Withheld("/a", status, "not for you")]
            assert original.get("/a", unserved={status}) is None
            assert len(original.withheld) == 1


def test_a_refused_credential_and_a_redirect_end_the_walk() -> None:
    with scripted({"/a": (401, {}), "/b": (302, {}), "/c": (418, {})}) as server:
        original, _ = asking(server, credential=Credential(token="secret"))
        with original:
            with pytest.raises(BadInput, match="refuses the credential"):
                original.get("/a")
            with pytest.raises(BadInput, match=r"/b: the original sends elsewhere \(302\)"):
                original.get("/b")
            with pytest.raises(Unavailable, match="unexpected answer 418"):
                original.get("/c")
        assert server.headers == ["Bearer secret"] * 3


DEEP = b"[" * 200_000 + b"]" * 200_000


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"<html>", b"\xff", b'{"a": 1, "a": 2}', b"NaN", b"null", DEEP, b"9" * 10_000],
    ids=lambda body: repr(body[:8]),
)
def test_an_answer_that_is_no_strict_json_is_refused(body: bytes) -> None:
    with scripted({"/a": (200, body)}) as server:
        original, _ = asking(server)
        with original, pytest.raises(BadInput):
            original.get("/a")


def test_walks_and_answers_have_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted({"/a": (200, "long enough")}) as server:
        original, _ = asking(server, limit=2)
        with original:
            original.get("/a")
            original.get("/a")
            with pytest.raises(LimitExceeded, match="more than 2 requests"):
                original.get("/a")
        monkeypatch.setattr(walks, "LARGEST", 4)
        original, _ = asking(server)
        with original, pytest.raises(LimitExceeded, match="more than 4 bytes"):
            original.get("/a")


def test_many_answers_come_in_the_order_of_their_paths() -> None:
    script = {f"/{n}": (200, n) if n % 10 else (404, {}) for n in range(200)}
    with scripted(script) as server:
        original, _ = asking(server)
        with original:
            found = list(original.each(f"/{n}" for n in range(200)))
        assert found == [(f"/{n}", n) for n in range(200) if n % 10]
        assert len(original.withheld) == 20


def test_an_answer_that_stops_in_the_middle_is_asked_for_again() -> None:
    with scripted({"/a": [(200, Raw(b"[1,", missing=9)), (200, [1])]}) as server:
        original, _ = asking(server)
        with original:
            assert original.get("/a") == [1]
    with scripted({"/a": (200, Raw(b"[1]", missing=9))}) as server:
        original, pauses = asking(server)
        with original, pytest.raises(Unavailable, match=f"{TRIES} times"):
            original.get("/a")
        assert len(pauses) == TRIES - 1


def test_an_answer_that_does_not_come_in_time_is_no_answer() -> None:
    with scripted({"/a": (200, Raw(b"[1]", seconds=0.5))}) as server:
        original, _ = asking(server, timeout=0.05)
        with original, pytest.raises(Unavailable, match=f"{TRIES} times"):
            original.get("/a")


def test_an_answer_that_trickles_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walks, "LONGEST_ANSWER", -1.0)
    with scripted({"/a": (200, [1])}) as server:
        original, pauses = asking(server)
        with original, pytest.raises(Unavailable, match="an answer that took more than"):
            original.get("/a")
        assert pauses == []


def test_what_is_packed_is_measured_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(b'["' + b"a" * 10_000 + b'"]')
    script = {
        "/a": (200, Raw(packed, {"Content-Encoding": "gzip"})),
        "/b": (200, Raw(b"\x1b", {"Content-Encoding": "br"})),
        "/c": (200, Raw(b"no gzip", {"Content-Encoding": "gzip"})),
    }
    with scripted(script) as server:
        original, _ = asking(server)
        with original:
            assert original.get("/a") == ["a" * 10_000]
            with pytest.raises(Unavailable, match="an encoding that was not asked for"):
                original.get("/b")
            with pytest.raises(Unavailable, match=f"{TRIES} times"):
                original.get("/c")
            monkeypatch.setattr(walks, "LARGEST", 5_000)
            with pytest.raises(LimitExceeded, match="more than 5,000 bytes"):
                original.get("/a")


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_would_lead_elsewhere_is_no_part_of_a_path(name: str) -> None:
    with pytest.raises(BadInput, match="no name that a path can have"):
        walks.segment(name, "/list")
    assert walks.segment("../a b", "/list") == "..%2Fa%20b"

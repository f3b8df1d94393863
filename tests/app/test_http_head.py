import pytest

from lakewarden.app import http_head
from lakewarden.http.exchange import Exchange, Refused, Reply, Route
from lakewarden.kernel.errors import BadInput


def _handler(_: Exchange) -> Reply:
    return Reply(200)


ROUTE = Route("POST", "/x", "x", _handler)


def _status(caught: pytest.ExceptionInfo[Refused]) -> int:
    return caught.value.status


def test_headers_are_counted_to_the_byte() -> None:
    raw = [(b"a", b"b" * 95)]  # with `: ` and the line end 100 bytes
    assert http_head.read(raw, 100).headers == {"a": "b" * 95}
    with pytest.raises(Refused) as caught:
        http_head.read(raw, 99)
    assert _status(caught) == 431


def test_the_address_is_counted_to_the_byte() -> None:
    http_head.check_address(b"/" + b"a" * 49, b"b" * 49, 100)
    with pytest.raises(Refused) as caught:
        http_head.check_address(b"/" + b"a" * 49, b"b" * 50, 100)
    assert _status(caught) == 414


@pytest.mark.parametrize("name", [b"content-type", b"lakewarden-at-least", b"host"])
def test_a_header_that_decides_something_is_there_once(name: bytes) -> None:
    with pytest.raises(Refused) as caught:
        http_head.read([(name, b"1"), (name, b"1")], 1_000)
    assert _status(caught) == 400


@pytest.mark.parametrize("name", [b"content-length", b"x-request-id", b"traceparent"])
def test_a_header_of_one_request_alone_is_there_once(name: bytes) -> None:
    with pytest.raises(Refused) as caught:
        http_head.parted([(name, b"1"), (name, b"1")])
    assert _status(caught) == 400


def test_what_differs_from_request_to_request_is_set_apart() -> None:
    own, shared = http_head.parted(
        [(b"host", b"h"), (b"content-length", b"2"), (b"accept", b"*/*")]
    )
    assert own == {b"content-length": b"2"}
    assert shared == [(b"host", b"h"), (b"accept", b"*/*")]


def test_other_headers_are_put_together() -> None:
    assert http_head.read([(b"accept", b"a"), (b"accept", b"b")], 1_000).headers["accept"] == "a, b"


def test_credentials_are_kept_apart() -> None:
    found = http_head.read([(b"authorization", b"a"), (b"authorization", b"b")], 1_000)
    assert found.authorization == [b"a", b"b"]
    assert "authorization" not in found.headers


@pytest.mark.parametrize("sent", ["a", "a-b_c.d:e/f+g=", "A" * 128])
def test_a_sound_request_id_is_kept(sent: str) -> None:
    assert http_head.request_id(sent.encode()) == sent


@pytest.mark.parametrize("sent", ["", "a b", "a" * 129, "\x1b[31m", "é", '"', "<"])
def test_an_unsound_request_id_is_replaced(sent: str) -> None:
    found = http_head.request_id(sent.encode("latin-1"))
    assert found != sent
    assert len(found) == 24


def test_request_ids_of_ours_differ() -> None:
    assert len({http_head.request_id(None) for _ in range(100)}) == 100


@pytest.mark.parametrize(
    "sent",
    ["application/json", "Application/JSON; charset=utf-8", "application/vnd.gravitino.v1+json"],
)
def test_json_is_taken_by_every_name_it_has(sent: str) -> None:
    assert http_head.is_accepted({"content-type": sent}, ROUTE)


@pytest.mark.parametrize(
    "sent", ["", "text/plain", "text/json", "application/x-www-form-urlencoded", "json"]
)
def test_another_content_type_is_not_taken(sent: str) -> None:
    assert not http_head.is_accepted({"content-type": sent}, ROUTE)


def test_a_route_may_take_other_content_types() -> None:
    text = Route("POST", "/x", "x", _handler, accepts=("text/plain",))
    assert http_head.is_accepted({"content-type": "text/plain"}, text)
    assert not http_head.is_accepted({"content-type": "text/html"}, text)
    assert http_head.is_accepted({}, Route("POST", "/x", "x", _handler, accepts=("*/*",)))


@pytest.mark.parametrize("sent", ["gzip", "deflate", "br", "identity, gzip", ""])
def test_a_compressed_body_is_refused(sent: str) -> None:
    with pytest.raises(Refused) as caught:
        http_head.check_encoding({"content-encoding": sent})
    assert _status(caught) == 415
    http_head.check_encoding({"content-encoding": "Identity"})
    http_head.check_encoding({})


def test_a_query_is_decoded_once() -> None:
    found = http_head.query_of(b"a=1&a=2&b=%2541&c=&d=x+y")
    assert found == {"a": ("1", "2"), "b": ("%41",), "c": ("",), "d": ("x y",)}


@pytest.mark.parametrize("raw", [b"a=%ff", b"a=\xff", b"%00=a", b"a=%00", b"a=1&" * 201])
def test_a_query_that_cannot_be_read_is_refused(raw: bytes) -> None:
    with pytest.raises(BadInput, match="query"):
        http_head.query_of(raw)

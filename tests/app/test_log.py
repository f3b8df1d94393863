import io
import json
import logging

import pytest

from lakewarden.app import log


@pytest.mark.usefixtures("logs_as_before")
def test_a_line_is_one_json_object_whatever_is_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure("info")
    log.get().info("x", path="/a\r\n{}\x1b[31m\u2028", name="ánä")
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    assert text.isascii()
    assert text[:-1].isprintable()
    assert json.loads(text)["path"] == "/a\r\n{}\x1b[31m\u2028"


@pytest.mark.usefixtures("logs_as_before")
def test_an_error_is_a_line_too(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure("info")
    try:
        raise ValueError("with Bearer lw_abcdefghijkl in it")
    except ValueError as error:
        log.get().error("x", exc_info=error)
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    assert "ValueError" in json.loads(text)["exception"]
    assert "abcdefghijkl" not in text


@pytest.mark.usefixtures("logs_as_before")
def test_libraries_log_the_same_way(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure("info")
    logging.getLogger("uvicorn.error").warning("Invalid HTTP request %s", "received")
    logging.getLogger("some").info("not told")
    assert json.loads(capsys.readouterr().err)["event"] == "Invalid HTTP request received"


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abc.def",
        "basic YW5hOng=",
        "the token lw_0123456789abcdefghij was sent",
        "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbmEifQ.c2ln",
        "postgresql://user:hidden@host/db",
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str) -> None:
    masked = str(log.mask(None, "", {"event": text})["event"])
    assert log.MASKED in masked
    for secret in ("abc.def", "YW5h", "0123456789", "c2ln", "hidden"):
        assert secret not in masked


def test_what_is_named_as_a_secret_is_masked_however_deep() -> None:
    event = {"a": {"db_password": "x", "b": [{"api_secret": "y"}]}, "root_token": b"z", "n": 1}
    assert log.mask(None, "", event) == {
        "a": {"db_password": "***", "b": [{"api_secret": "***"}]},
        "root_token": "***",
        "n": 1,
    }


@pytest.mark.usefixtures("logs_as_before")
def test_a_line_goes_to_what_is_standard_error_now(monkeypatch: pytest.MonkeyPatch) -> None:
    with io.StringIO() as before:
        monkeypatch.setattr("sys.stderr", before)
        log.configure("info")
    now = io.StringIO()
    monkeypatch.setattr("sys.stderr", now)
    log.get().info("x")
    assert json.loads(now.getvalue())["event"] == "x"

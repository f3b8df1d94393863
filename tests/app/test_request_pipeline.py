import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from lakewarden.app import log
from lakewarden.app.build import Application
from lakewarden.config.settings import Limits, Settings
from lakewarden.service.actor import SYSTEM
from lakewarden.service.realm import Realm
from lakewarden.service.realms import establish
from lakewarden.store import open_store
from tests.app.asgi import Asked, close, told
from tests.app.stub import Stub


def _opened(settings: Settings, stub: Stub) -> Asked:
    application = Application(settings, [stub])
    application.open()
    return Asked(application, asyncio.new_event_loop())


def _settings(folder: Path, **changed: object) -> Settings:
    # A busy machine has no part in it: only what never comes is waited for so long.
    limits = Limits(request_seconds=60, wait_seconds=0.2, header_bytes=2_048, url_bytes=512)
    fields = {"database": f"sqlite:///{folder}/store", "limits": limits, **changed}
    return Settings(**fields)


@pytest.fixture(autouse=True)
def logged() -> Iterator[None]:
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    log.configure("info")
    yield
    structlog.reset_defaults()
    logging.getLogger().handlers[:] = handlers
    logging.getLogger().setLevel(level)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    made = _opened(_settings(tmp_path_factory.mktemp("gate")), Stub())

    def more(transaction: object) -> None:
        establish(transaction, Realm("second", "gravitino"))  # type: ignore[arg-type]
        establish(transaction, Realm("others", "gravitino", directory="other"))  # type: ignore[arg-type]

    made.service.write(SYSTEM, more)
    yield made
    close(made)


def test_a_request_reaches_its_handler_with_what_it_said(asked: Asked) -> None:
    answer = asked.ask("POST", "/stub?a=1&a=2", b'{"x": 1}', [("X-Some", "y")])
    assert answer.status == 200
    found = told(answer)
    assert found["query"] == {"a": ["1", "2"]}
    assert (found["realm"], found["user"], found["bytes"]) == ("gravitino", "ana", 8)
    assert found["credential"] == "simple"
    assert "authorization" not in found["headers"]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_every_answer_names_revision_and_request(asked: Asked, method: str) -> None:
    answer = asked.ask(method, "/stub", headers=[("X-Request-ID", "r-1")])
    assert answer.revision == asked.service.state.revision
    assert answer.headers["x-request-id"] == "r-1"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert len(asked.ask(method, "/stub").headers["x-request-id"]) == 24


def test_a_realm_is_also_below_its_name(asked: Asked) -> None:
    assert told(asked.ask("GET", "/r/second/stub"))["realm"] == "second"
    assert told(asked.ask("GET", "/r/second/stub"))["path"] == "/stub"
    assert told(asked.ask("GET", "/r/gravitino/stub"))["realm"] == "gravitino"


def test_in_a_realm_of_another_directory_a_name_is_that_directory_s(asked: Asked) -> None:
    assert told(asked.ask("GET", "/r/others/stub"))["directory"] == "other"


def test_a_realm_that_is_not_there_is_not_told_from_one_of_strangers(asked: Asked) -> None:
    absent = asked.ask("GET", "/r/absent/stub")
    assert absent.status == 401
    nobody = asked.ask("GET", "/r/absent/stub", user=None)
    there = asked.ask("GET", "/r/second/stub", user=None)
    other = asked.ask("GET", "/r/datahub/stub", user=None)
    assert nobody.status == there.status == other.status == 401
    assert nobody.body == there.body == other.body


def test_a_dialect_does_not_speak_for_realms_of_another_model(asked: Asked) -> None:
    assert asked.ask("GET", "/r/datahub/stub").status == 404


def test_a_slash_at_the_end_is_accepted(asked: Asked) -> None:
    assert told(asked.ask("GET", "/stub/"))["path"] == "/stub"
    assert told(asked.ask("GET", "/stub/things/a/"))["params"] == {"thing": "a"}


def test_a_parameter_is_decoded_once(asked: Asked) -> None:
    found = told(asked.ask("GET", "/stub/things/a%20b%2541%C3%A9"))
    assert found["params"] == {"thing": "a b%41é"}


def test_the_closest_pattern_wins(asked: Asked) -> None:
    assert told(asked.ask("GET", "/stub/things/special")) == {"stub": "special"}


def test_a_path_parameter_takes_the_rest(asked: Asked) -> None:
    assert told(asked.ask("GET", "/stub/rest/a/b%20c"))["params"] == {"rest": "a/b c"}


@pytest.mark.parametrize(
    "path",
    [
        "/stub/things/a%2Fb",
        "/stub/things/a%2fb",
        "/stub/things/a%5Cb",
        "/stub/things/a\\b",
        "/stub/things/..",
        "/stub/things/%2e%2e",
        "/stub/things/.",
        "/stub/things/%2E",
        "/stub/things/a;b",
        "/stub/things//a",
        "//stub",
        "/stub//",
        "/stub/things/a%00",
        "/stub/things/a%0A",
        "/stub/things/%ff",
        "/stub/things/%c0%af",
        "/stub/things/%",
        "/stub/things/%zz",
        "/stub/things/%1",
        "/r/gravitino/stub/things/..%2f",
        "/r/../stub",
        "/stub/slashes/..",
        "/stub/slashes/a%00",
        "/stub/rest/a/../b",
        "/stub/rest/a%2Fb",
    ],
)
def test_a_path_that_could_be_read_in_two_ways_gets_the_dialect_s_refusal(
    asked: Asked, path: str
) -> None:
    answer = asked.ask("GET", path)
    assert answer.status == 422
    assert "stub" in told(answer)


def test_a_route_may_declare_that_its_names_hold_slashes(asked: Asked) -> None:
    found = told(asked.ask("GET", "/stub/slashes/a%2Fb%5Cc"))
    assert found["params"] == {"thing": "a/b\\c"}
    assert asked.ask("GET", "/stub/slashes/a/b").status == 404


def test_what_is_not_there_and_what_takes_another_method_are_told_apart(asked: Asked) -> None:
    assert asked.ask("GET", "/stub/nothing/here").status == 404
    answer = asked.ask("PATCH", "/stub")
    assert answer.status == 405
    assert told(answer) == {"stub": "GET,POST"}
    assert asked.ask("GET", "/nowhere").headers["content-type"] == "application/problem+json"


def test_head_is_get_without_its_body(asked: Asked) -> None:
    answer = asked.ask("HEAD", "/stub")
    assert answer.status == 200
    assert answer.body == b""
    assert int(answer.headers["content-length"]) > 0


def test_without_credentials_nobody_comes_in_but_where_everybody_may(asked: Asked) -> None:
    assert asked.ask("GET", "/stub", user=None).status == 401
    found = told(asked.ask("GET", "/stub/public", user=None))
    assert (found["user"], found["credential"]) == ("anonymous", "anonymous")
    wrong = asked.ask("GET", "/stub/public", headers=[("Authorization", "Bearer x")], user=None)
    assert wrong.status == 401


def test_two_authorization_headers_are_refused(asked: Asked) -> None:
    doubled = [("Authorization", "Basic YW5hOng=")]
    assert asked.ask("GET", "/stub", headers=doubled).status == 401


@pytest.mark.parametrize(
    "name",
    [
        "X-Forwarded-User",
        "X-Remote-User",
        "CDAP-UserId",
        "X-DataHub-Actor",
        "X-Gravitino-User",
        "X-User",
        "Remote-User",
        "X-Auth-Request-User",
    ],
)
def test_a_header_that_names_somebody_makes_nobody_that_person(asked: Asked, name: str) -> None:
    assert asked.ask("GET", "/stub", headers=[(name, "admin")], user=None).status == 401
    assert told(asked.ask("GET", "/stub", headers=[(name, "admin")]))["user"] == "ana"


def test_a_token_in_the_address_is_no_credential(asked: Asked) -> None:
    assert asked.ask("GET", "/stub?access_token=lw_x&token=lw_x", user=None).status == 401


LIMIT = 1024 * 1024


@pytest.mark.parametrize(("path", "limit"), [("/stub", LIMIT), ("/stub/large", 2 * LIMIT)])
def test_a_body_may_be_as_long_as_its_route_says(asked: Asked, path: str, limit: int) -> None:
    assert told(asked.ask("POST", path, b"x" * limit))["bytes"] == limit
    assert asked.ask("POST", path, b"x" * (limit + 1)).status == 413


def test_an_announced_length_is_believed_before_the_body_is_there(asked: Asked) -> None:
    sent = [("Content-Length", str(LIMIT + 1))]
    assert asked.ask("POST", "/stub", b"x", sent).status == 413


def test_a_large_body_is_read_for_callers_only_that_are_believed(asked: Asked) -> None:
    answer = asked.ask("POST", "/stub/large", b"x" * (3 * LIMIT), user=None)
    assert answer.status == 401


@pytest.mark.parametrize("sent", ["text/plain", "application/xml", ""])
def test_a_body_that_is_not_json_is_refused(asked: Asked, sent: str) -> None:
    assert asked.ask("POST", "/stub", b"{}", [("Content-Type", sent)]).status == 415


def test_a_compressed_body_is_refused(asked: Asked) -> None:
    assert asked.ask("POST", "/stub", b"{}", [("Content-Encoding", "gzip")]).status == 415


def test_headers_and_address_have_their_limits(asked: Asked) -> None:
    assert asked.ask("GET", "/stub", headers=[("X-Long", "x" * 3_000)]).status == 431
    assert asked.ask("GET", "/stub?" + "a" * 506).status == 200
    assert asked.ask("GET", "/stub?" + "a" * 507).status == 414


def test_a_header_that_decides_is_there_once(asked: Asked) -> None:
    assert asked.ask("GET", "/stub", headers=[("X-Request-ID", "a")] * 2).status == 400


def test_an_error_nobody_foresaw_tells_nothing(
    asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    log.configure("info")
    answer = asked.ask("POST", "/stub/crash", b"{}", [("X-Request-ID", "r-2")])
    assert (answer.status, answer.body) == (599, b'{"stub":"failed"}')
    logged = capsys.readouterr().err
    assert "r-2" in logged
    assert "RuntimeError" in logged
    assert "abcdefghijklmnop" not in logged


def test_a_header_of_a_reply_that_would_split_it_is_not_sent(asked: Asked) -> None:
    answer = asked.ask("GET", "/stub/split")
    assert answer.status == 599
    assert "x-injected" not in answer.headers


def test_what_takes_too_long_is_given_up(tmp_path: Path) -> None:
    stub = Stub()
    asked = _opened(_settings(tmp_path, limits=Limits(request_seconds=0.1)), stub)
    assert asked.ask("POST", "/stub/slow", b"{}").status == 503
    stub.may_answer.set()
    close(asked)


def test_a_write_is_seen_by_whoever_asks_next_and_named_by_its_answer(asked: Asked) -> None:
    before = asked.service.state.revision
    made = asked.ask("POST", "/stub/metalakes/one", b"{}")
    assert (made.status, made.revision) == (201, before + 1)
    assert asked.ask("GET", "/stub").revision == before + 1


def test_an_answer_may_be_asked_to_be_at_least_of_a_revision(asked: Asked) -> None:
    now = asked.service.state.revision
    assert asked.ask("GET", "/stub", headers=[("Lakewarden-At-Least", str(now))]).status == 200
    later = asked.ask("GET", "/stub", headers=[("Lakewarden-At-Least", str(now + 1))])
    assert later.status == 409
    assert asked.ask("GET", "/stub", headers=[("Lakewarden-At-Least", "x")]).status == 422


@pytest.mark.parametrize(("sent", "status"), [("fresh", 200), ("1.5", 200), ("soon", 422)])
def test_an_age_may_be_accepted_by_header_or_query(asked: Asked, sent: str, status: int) -> None:
    assert asked.ask("GET", f"/stub?consistency={sent}").status == status
    headers = [("Lakewarden-Consistency", sent)]
    assert asked.ask("GET", "/stub", headers=headers).status == status


def test_many_at_once_are_all_answered(asked: Asked) -> None:
    assert {answer.status for answer in asked.together(200, "GET", "/stub")} == {200}


def test_before_the_state_is_loaded_every_question_is_refused(tmp_path: Path) -> None:
    application = Application(_settings(tmp_path), [Stub("anonymous")])
    asked = Asked(application, asyncio.new_event_loop())
    for method, path in (("GET", "/stub"), ("POST", "/stub"), ("GET", "/stub/public")):
        answer = asked.ask(method, path)
        assert answer.status == 503
        assert answer.headers["retry-after"] == "1"
    assert asked.ask("GET", "/healthz").status == 200
    assert asked.ask("GET", "/readyz").status == 503
    close(asked)


def test_where_names_are_trusted_the_dialect_may_let_strangers_in(tmp_path: Path) -> None:
    asked = _opened(_settings(tmp_path), Stub("anonymous"))
    assert told(asked.ask("GET", "/stub", user=None))["user"] == "anonymous"
    broken = [("Authorization", "Basic %%%")]
    assert told(asked.ask("GET", "/stub", headers=broken, user=None))["user"] == "anonymous"
    wrong = [("Authorization", "Bearer lw_wrong")]
    assert asked.ask("GET", "/stub", headers=wrong, user=None).status == 401
    close(asked)


def test_two_processes_over_one_file_see_each_other_s_writes(tmp_path: Path) -> None:
    one = _opened(_settings(tmp_path), Stub())
    other = _opened(_settings(tmp_path), Stub())
    for at in range(20):
        writer, reader = (one, other) if at % 2 else (other, one)
        made = writer.ask("POST", f"/stub/metalakes/m{at}", b"{}")
        assert made.status == 201
        assert reader.ask("GET", "/stub").revision == made.revision
    close(one)
    close(other)


def test_a_writer_that_does_not_know_the_word_is_found_out(tmp_path: Path) -> None:
    asked = _opened(_settings(tmp_path), Stub())
    with open_store(f"sqlite:///{tmp_path}/store") as store, store.writing() as writing:
        from lakewarden.kernel.change import PrincipalChanged
        from lakewarden.kernel.principal import Principal

        writing.apply("@main", [PrincipalChanged(Principal("user", "x"), True)])
        revision = writing.commit(())
    asked.application._look_for_strangers()
    assert asked.ask("GET", "/stub").revision == revision
    close(asked)

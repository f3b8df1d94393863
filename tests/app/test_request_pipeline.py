import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden.app import log
from lakewarden.app.build import Application
from lakewarden.config.settings import Limits, Settings
from lakewarden.service.actor import SYSTEM
from lakewarden.service.realm import Realm
from lakewarden.service.realms import establish
from lakewarden.store import open_store
from tests.app.asgi import AppClient, close, json_of
from tests.app.stub import Stub


def _opened(settings: Settings, stub: Stub) -> AppClient:
    application = Application(settings, [stub])
    application.open()
    return AppClient(application, asyncio.new_event_loop())


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., AppClient]]:
    """Opens applications over one store and closes them after the test, even if it fails."""
    made: list[AppClient] = []

    def open_one(stub: Stub | None = None, **changed: Any) -> AppClient:
        made.append(_opened(_settings(tmp_path, **changed), stub or Stub()))
        return made[-1]

    yield open_one
    for one in made:
        close(one)


def _settings(folder: Path, *, wait_seconds: float = 60, **changed: object) -> Settings:
    # A busy machine must not matter: a slow store would count as unavailable.
    limits = Limits(
        request_seconds=60, wait_seconds=wait_seconds, header_bytes=2_048, url_bytes=512
    )
    fields = {"database": f"sqlite:///{folder}/store", "limits": limits, **changed}
    return Settings(**fields)


@pytest.fixture(autouse=True)
def logged(logs_as_before: None) -> None:
    log.configure("info")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppClient]:
    # Nothing else writes to its store; only a revision that never comes is waited for so long.
    made = _opened(_settings(tmp_path_factory.mktemp("gate"), wait_seconds=0.2), Stub())

    def more(transaction: object) -> None:
        establish(transaction, Realm("second", "gravitino"))  # type: ignore[arg-type]
        establish(transaction, Realm("others", "gravitino", directory="other"))  # type: ignore[arg-type]

    made.service.write(SYSTEM, more)
    yield made
    close(made)


def test_a_request_reaches_its_handler_with_what_it_said(client: AppClient) -> None:
    answer = client.ask("POST", "/stub?a=1&a=2", b'{"x": 1}', [("X-Some", "y")])
    assert answer.status == 200
    found = json_of(answer)
    assert found["query"] == {"a": ["1", "2"]}
    assert (found["realm"], found["user"], found["bytes"]) == ("gravitino", "ana", 8)
    assert found["credential"] == "simple"
    assert "authorization" not in found["headers"]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_every_answer_names_revision_and_request(client: AppClient, method: str) -> None:
    answer = client.ask(method, "/stub", headers=[("X-Request-ID", "r-1")])
    assert answer.revision == client.service.state.revision
    assert answer.headers["x-request-id"] == "r-1"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert len(client.ask(method, "/stub").headers["x-request-id"]) == 24


def test_a_realm_is_also_below_its_name(client: AppClient) -> None:
    assert json_of(client.ask("GET", "/r/second/stub"))["realm"] == "second"
    assert json_of(client.ask("GET", "/r/second/stub"))["path"] == "/stub"
    assert json_of(client.ask("GET", "/r/gravitino/stub"))["realm"] == "gravitino"


def test_in_a_realm_of_another_directory_a_name_is_that_directory_s(client: AppClient) -> None:
    assert json_of(client.ask("GET", "/r/others/stub"))["directory"] == "other"


def test_a_realm_that_is_not_there_is_not_told_from_one_of_strangers(client: AppClient) -> None:
    absent = client.ask("GET", "/r/absent/stub")
    assert absent.status == 401
    nobody = client.ask("GET", "/r/absent/stub", user=None)
    there = client.ask("GET", "/r/second/stub", user=None)
    other = client.ask("GET", "/r/datahub/stub", user=None)
    assert nobody.status == there.status == other.status == 401
    assert nobody.body == there.body == other.body


def test_a_dialect_does_not_speak_for_realms_of_another_model(client: AppClient) -> None:
    assert client.ask("GET", "/r/datahub/stub").status == 404


def test_a_slash_at_the_end_is_accepted(client: AppClient) -> None:
    assert json_of(client.ask("GET", "/stub/"))["path"] == "/stub"
    assert json_of(client.ask("GET", "/stub/things/a/"))["params"] == {"thing": "a"}


def test_a_parameter_is_decoded_once(client: AppClient) -> None:
    found = json_of(client.ask("GET", "/stub/things/a%20b%2541%C3%A9"))
    assert found["params"] == {"thing": "a b%41é"}


def test_the_closest_pattern_wins(client: AppClient) -> None:
    assert json_of(client.ask("GET", "/stub/things/special")) == {"stub": "special"}


def test_a_path_parameter_takes_the_rest(client: AppClient) -> None:
    assert json_of(client.ask("GET", "/stub/rest/a/b%20c"))["params"] == {"rest": "a/b c"}


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
    client: AppClient, path: str
) -> None:
    answer = client.ask("GET", path)
    assert answer.status == 422
    assert "stub" in json_of(answer)


def test_a_route_may_declare_that_its_names_hold_slashes(client: AppClient) -> None:
    found = json_of(client.ask("GET", "/stub/slashes/a%2Fb%5Cc"))
    assert found["params"] == {"thing": "a/b\\c"}
    assert client.ask("GET", "/stub/slashes/a/b").status == 404


def test_what_is_not_there_and_what_takes_another_method_are_told_apart(client: AppClient) -> None:
    assert client.ask("GET", "/stub/nothing/here").status == 404
    answer = client.ask("PATCH", "/stub")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, POST")
    assert json_of(answer) == {"stub": "GET,POST"}
    assert client.ask("GET", "/nowhere").headers["content-type"] == "application/problem+json"


def test_head_is_get_without_its_body(client: AppClient) -> None:
    answer = client.ask("HEAD", "/stub")
    assert answer.status == 200
    assert answer.body == b""
    assert int(answer.headers["content-length"]) > 0


def test_without_credentials_nobody_comes_in_but_where_everybody_may(client: AppClient) -> None:
    assert client.ask("GET", "/stub", user=None).status == 401
    found = json_of(client.ask("GET", "/stub/public", user=None))
    assert (found["user"], found["credential"]) == ("anonymous", "anonymous")
    wrong = client.ask("GET", "/stub/public", headers=[("Authorization", "Bearer x")], user=None)
    assert wrong.status == 401


def test_two_authorization_headers_are_refused(client: AppClient) -> None:
    doubled = [("Authorization", "Basic YW5hOng=")]
    assert client.ask("GET", "/stub", headers=doubled).status == 401


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
def test_a_header_that_names_somebody_makes_nobody_that_person(
    client: AppClient, name: str
) -> None:
    assert client.ask("GET", "/stub", headers=[(name, "admin")], user=None).status == 401
    assert json_of(client.ask("GET", "/stub", headers=[(name, "admin")]))["user"] == "ana"


def test_a_token_in_the_address_is_no_credential(client: AppClient) -> None:
    assert client.ask("GET", "/stub?access_token=lw_x&token=lw_x", user=None).status == 401


LIMIT = 1024 * 1024


@pytest.mark.parametrize(("path", "limit"), [("/stub", LIMIT), ("/stub/large", 2 * LIMIT)])
def test_a_body_may_be_as_long_as_its_route_says(client: AppClient, path: str, limit: int) -> None:
    assert json_of(client.ask("POST", path, b"x" * limit))["bytes"] == limit
    assert client.ask("POST", path, b"x" * (limit + 1)).status == 413


def test_an_announced_length_is_believed_before_the_body_is_there(client: AppClient) -> None:
    sent = [("Content-Length", str(LIMIT + 1))]
    assert client.ask("POST", "/stub", b"x", sent).status == 413


def test_a_large_body_is_read_for_callers_only_that_are_believed(client: AppClient) -> None:
    answer = client.ask("POST", "/stub/large", b"x" * (3 * LIMIT), user=None)
    assert answer.status == 401


@pytest.mark.parametrize("sent", ["text/plain", "application/xml", ""])
def test_a_body_that_is_not_json_is_refused(client: AppClient, sent: str) -> None:
    assert client.ask("POST", "/stub", b"{}", [("Content-Type", sent)]).status == 415


def test_a_compressed_body_is_refused(client: AppClient) -> None:
    assert client.ask("POST", "/stub", b"{}", [("Content-Encoding", "gzip")]).status == 415


def test_headers_and_address_have_their_limits(client: AppClient) -> None:
    assert client.ask("GET", "/stub", headers=[("X-Long", "x" * 3_000)]).status == 431
    assert client.ask("GET", "/stub?" + "a" * 506).status == 200
    assert client.ask("GET", "/stub?" + "a" * 507).status == 414


def test_a_header_that_decides_is_there_once(client: AppClient) -> None:
    assert client.ask("GET", "/stub", headers=[("X-Request-ID", "a")] * 2).status == 400


def test_an_error_nobody_foresaw_tells_nothing(
    client: AppClient, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = client.ask("POST", "/stub/crash", b"{}", [("X-Request-ID", "r-2")])
    assert (answer.status, answer.body) == (599, b'{"stub":"failed"}')
    logged = capsys.readouterr().err
    assert "r-2" in logged
    assert "RuntimeError" in logged
    assert "abcdefghijklmnop" not in logged


def test_a_header_of_a_reply_that_would_split_it_is_not_sent(client: AppClient) -> None:
    answer = client.ask("GET", "/stub/split")
    assert answer.status == 599
    assert "x-injected" not in answer.headers


def test_what_takes_too_long_is_given_up(opened: Callable[..., AppClient]) -> None:
    stub = Stub()
    client = opened(stub, limits=Limits(request_seconds=0.1))
    assert client.ask("POST", "/stub/slow", b"{}").status == 503
    stub.may_answer.set()


def test_a_write_is_seen_by_whoever_asks_next_and_named_by_its_answer(client: AppClient) -> None:
    before = client.service.state.revision
    made = client.ask("POST", "/stub/metalakes/one", b"{}")
    assert (made.status, made.revision) == (201, before + 1)
    assert client.ask("GET", "/stub").revision == before + 1


def test_an_answer_may_be_asked_to_be_at_least_of_a_revision(client: AppClient) -> None:
    now = client.service.state.revision
    assert client.ask("GET", "/stub", headers=[("Lakewarden-At-Least", str(now))]).status == 200
    later = client.ask("GET", "/stub", headers=[("Lakewarden-At-Least", str(now + 1))])
    assert later.status == 409
    assert client.ask("GET", "/stub", headers=[("Lakewarden-At-Least", "x")]).status == 422


@pytest.mark.parametrize(("sent", "status"), [("fresh", 200), ("1.5", 200), ("soon", 422)])
def test_an_age_may_be_accepted_by_header_or_query(
    client: AppClient, sent: str, status: int
) -> None:
    assert client.ask("GET", f"/stub?consistency={sent}").status == status
    headers = [("Lakewarden-Consistency", sent)]
    assert client.ask("GET", "/stub", headers=headers).status == status


def test_many_at_once_are_all_answered(client: AppClient) -> None:
    assert {answer.status for answer in client.together(200, "GET", "/stub")} == {200}


def test_before_the_state_is_loaded_every_question_is_refused(tmp_path: Path) -> None:
    application = Application(_settings(tmp_path), [Stub("anonymous")])
    client = AppClient(application, asyncio.new_event_loop())
    for method, path in (("GET", "/stub"), ("POST", "/stub"), ("GET", "/stub/public")):
        answer = client.ask(method, path)
        assert answer.status == 503
        assert answer.headers["retry-after"] == "1"
    assert client.ask("GET", "/healthz").status == 200
    assert client.ask("GET", "/readyz").status == 503
    close(client)


def test_where_names_are_trusted_the_dialect_may_let_strangers_in(
    opened: Callable[..., AppClient],
) -> None:
    client = opened(Stub("anonymous"))
    assert json_of(client.ask("GET", "/stub", user=None))["user"] == "anonymous"
    broken = [("Authorization", "Basic %%%")]
    assert json_of(client.ask("GET", "/stub", headers=broken, user=None))["user"] == "anonymous"
    wrong = [("Authorization", "Bearer lw_wrong")]
    assert client.ask("GET", "/stub", headers=wrong, user=None).status == 401


def test_two_processes_over_one_file_see_each_other_s_writes(
    opened: Callable[..., AppClient],
) -> None:
    one, other = opened(), opened()
    for at in range(20):
        writer, reader = (one, other) if at % 2 else (other, one)
        made = writer.ask("POST", f"/stub/metalakes/m{at}", b"{}")
        assert made.status == 201
        assert reader.ask("GET", "/stub").revision == made.revision


def test_a_writer_that_does_not_know_the_word_is_found_out(
    tmp_path: Path, opened: Callable[..., AppClient]
) -> None:
    client = opened()
    with open_store(f"sqlite:///{tmp_path}/store") as store, store.writing() as writing:
        from lakewarden.kernel.change import PrincipalChanged
        from lakewarden.kernel.principal import Principal

        writing.apply("@main", [PrincipalChanged(Principal("user", "x"), True)])
        revision = writing.commit(())
    client.application.periodic.raise_revision()
    assert client.ask("GET", "/stub").revision == revision


def test_nothing_is_answered_from_the_memory_of_a_replaced_file(
    tmp_path: Path, opened: Callable[..., AppClient], capsys: pytest.CaptureFixture[str]
) -> None:
    client = opened()
    assert client.ask("GET", "/stub").status == 200
    open_store(f"sqlite:///{tmp_path}/restored").close()
    (tmp_path / "restored").replace(tmp_path / "store")
    for _ in range(2):
        client.application.periodic.raise_revision()
    assert client.ask("GET", "/stub").status == 503
    assert capsys.readouterr().err.count("database file replaced") == 1

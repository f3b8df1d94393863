"""The caller's identity: credentials through the whole server, the switches, trusted proxies."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from lakewarden.app.build import Application
from lakewarden.config.settings import Settings
from lakewarden.service import token
from lakewarden.service.actor import SYSTEM
from lakewarden.systems.cdap.settings import CdapAuthorization, CdapSecurity, CdapSettings

PROXY = "10.0.0.9"
STRANGER = "192.0.2.1"
SELF = "/v3/security/authorization/user/{}/privileges"

Answer = tuple[int, dict[str, str], bytes]
Header = tuple[str, str]


class Site:
    """The whole application without a socket: tests set the caller and the address."""

    def __init__(self, application: Application, loop: asyncio.AbstractEventLoop) -> None:
        self.application = application
        self.loop = loop

    def ask(
        self,
        method: str,
        path: str,
        *headers: Header,
        body: bytes = b"",
        peer: str = "127.0.0.1",
    ) -> Answer:
        return self.loop.run_until_complete(self._ask(method, path, headers, body, peer))

    def me(self, name: str, *headers: Header, peer: str = "127.0.0.1") -> int:
        """The status of a request for one's own privileges under this name."""
        return self.ask("GET", SELF.format(name), *headers, peer=peer)[0]

    async def _ask(
        self, method: str, path: str, headers: Iterable[Header], body: bytes, peer: str
    ) -> Answer:
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
            "client": (peer, 1),
        }
        pieces = [{"type": "http.request", "body": body, "more_body": False}]
        told: list[MutableMapping[str, Any]] = []

        async def receive() -> MutableMapping[str, Any]:
            if not pieces:
                await asyncio.Event().wait()  # the caller stays connected until the response
            return pieces.pop(0)

        async def send(message: MutableMapping[str, Any]) -> None:
            told.append(message)

        await self.application(scope, receive, send)
        found = {name.decode(): value.decode() for name, value in told[0]["headers"]}
        return told[0]["status"], found, told[1]["body"]


@contextmanager
def opened(tmp_path: Path, cdap: CdapSettings | None = None, **settings: Any) -> Iterator[Site]:
    """The server with these settings."""
    database = f"sqlite:///{tmp_path}/store"
    application = Application(Settings(database=database, cdap=cdap or CdapSettings(), **settings))
    loop = asyncio.new_event_loop()
    try:
        application.open()
        yield Site(application, loop)
    finally:
        with suppress(RuntimeError):
            application.close()
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def basic(user: str) -> Header:
    return "Authorization", "Basic " + base64.b64encode(f"{user}:".encode()).decode()


def bearer(text: str) -> Header:
    return "Authorization", f"Bearer {text}"


def named(user: str) -> Header:
    return "CDAP-UserId", user


def test_the_name_of_basic_credentials_is_believed_in_simple_mode(tmp_path: Path) -> None:
    with opened(tmp_path) as site:
        assert site.me("dana", basic("dana")) == 200
        assert site.me("dana", basic("eve")) == 403


def test_without_credentials_one_is_told_where_to_get_a_token(tmp_path: Path) -> None:
    security = CdapSecurity(announce_urls=("http://auth:10009/token",))
    with opened(tmp_path, CdapSettings(security=security)) as site:
        status, headers, body = site.ask("GET", "/v3/namespaces")
        assert status == 401
        assert headers["www-authenticate"] == 'Bearer realm="cdap"'
        assert headers["content-type"] == "application/json"
        assert json.loads(body) == {"auth_uri": ["http://auth:10009/token"]}


def test_a_token_that_is_no_good_is_said_to_be_none(tmp_path: Path) -> None:
    with opened(tmp_path) as site:
        status, headers, body = site.ask("GET", "/v3/namespaces", bearer("lw_wrong"))
        assert status == 401
        assert headers["www-authenticate"].startswith(
            'Bearer realm="cdap", error="invalid_token", error_description="'
        )
        told = json.loads(body)
        assert (told["auth_uri"], told["error"]) == ([], "invalid_token")
        assert told["error_description"]


def test_with_tokens_a_name_alone_is_not_believed(tmp_path: Path) -> None:
    with opened(tmp_path, auth="token") as site:
        made = site.application.parts.service.write(
            SYSTEM, lambda transaction: token.issue(transaction, "dana", "cdap", seconds=99)
        )
        assert site.me("dana", bearer(made.text)) == 200
        assert site.me("dana", basic("dana")) == 401
        assert site.me("dana") == 401


def test_whom_a_trusted_proxy_names_is_believed(tmp_path: Path) -> None:
    cdap = CdapSettings(trusted_proxies=("10.0.0.0/8",))
    with opened(tmp_path, cdap, auth="token") as site:
        verified = ("Authorization", "CDAP-verified x")
        assert site.me("dana", named("dana"), peer=PROXY) == 200
        assert site.me("dana", named("dana"), verified, peer=PROXY) == 200
        assert site.me("dana", named("eve"), peer=PROXY) == 403


def test_from_anywhere_else_the_name_is_sent_in_vain(tmp_path: Path) -> None:
    cdap = CdapSettings(trusted_proxies=("10.0.0.0/8",))
    with opened(tmp_path, cdap, auth="token") as site:
        for peer in (STRANGER, "127.0.0.1"):
            forwarded = ("X-Forwarded-For", PROXY)
            assert site.me("dana", named("dana"), forwarded, peer=peer) == 401
    with opened(tmp_path) as site:
        assert site.me("dana", named("dana"), peer=PROXY) == 401
        assert site.me("dana", named("eve"), basic("dana"), peer=PROXY) == 200


def test_credentials_of_the_caller_come_before_what_a_proxy_says(tmp_path: Path) -> None:
    cdap = CdapSettings(trusted_proxies=("10.0.0.0/8",))
    with opened(tmp_path, cdap, auth="token") as site:
        assert site.me("dana", named("dana"), bearer("lw_wrong"), peer=PROXY) == 401


@pytest.mark.parametrize("name", ["", "x" * 257])
def test_a_proxy_that_names_nobody_is_not_believed(tmp_path: Path, name: str) -> None:
    cdap = CdapSettings(trusted_proxies=("10.0.0.0/8",))
    with opened(tmp_path, cdap, auth="token") as site:
        assert site.me("dana", named(name), peer=PROXY) == 401


def test_a_proxy_that_names_two_is_refused(tmp_path: Path) -> None:
    cdap = CdapSettings(trusted_proxies=("10.0.0.0/8",))
    with opened(tmp_path, cdap) as site:
        assert site.me("dana", named("dana"), named("eve"), peer=PROXY) == 400


def test_a_proxy_of_cdap_speaks_for_nobody_in_other_dialects(tmp_path: Path) -> None:
    cdap = CdapSettings(trusted_proxies=("10.0.0.0/8",))
    with opened(tmp_path, cdap, auth="token") as site:
        assert site.ask("GET", "/api/v1/realms", named("admin"), peer=PROXY)[0] == 401


def test_with_security_off_nobody_needs_credentials(tmp_path: Path) -> None:
    with opened(tmp_path, CdapSettings(security=CdapSecurity(enabled=False)), auth="token") as site:
        assert site.ask("PUT", "/v3/namespaces/sales")[0] == 200
        status, _, body = site.ask("GET", "/v3/security/authorization/roles")
        assert status == 501
        assert body.decode() == (
            "Feature 'authentication' is not enabled. Please set 'security.enabled' to 'true' in"
            " the 'cdap-site.xml' to enable this feature."
        )


def test_with_authorization_off_callers_are_still_authenticated(tmp_path: Path) -> None:
    security = CdapSecurity(authorization=CdapAuthorization(enabled=False))
    with opened(tmp_path, CdapSettings(security=security)) as site:
        assert site.ask("PUT", "/v3/namespaces/sales")[0] == 401
        assert site.ask("PUT", "/v3/namespaces/sales", basic("dana"))[0] == 200
        status, _, body = site.ask("GET", "/v3/security/authorization/roles", basic("dana"))
        assert (status, b"'security.authorization.enabled'" in body) == (501, True)


def test_authorization_admins_and_the_master_come_from_the_settings(tmp_path: Path) -> None:
    security = CdapSecurity(authorization=CdapAuthorization(admin_users=("root", "ops")))
    with opened(tmp_path, CdapSettings(security=security, master="hub/host@CORP")) as site:
        for user in ("admin", "root", "ops"):
            assert site.ask("GET", "/v3/security/authorization/roles", basic(user))[0] == 200
        assert site.ask("GET", "/v3/security/authorization/roles", basic("hub"))[0] == 403
        refresh = ("POST", "/v3/namespaces/system/artifacts")
        assert site.ask(*refresh, basic("hub"))[0] == 200
        assert site.ask(*refresh, basic("admin"))[0] == 403


def test_the_knobs_of_the_older_profile_come_from_the_settings(tmp_path: Path) -> None:
    profile: dict[str, Any] = {"cdap_profile": "cdap-parent-write"}
    with opened(tmp_path, **profile) as site:
        assert site.ask("GET", "/v3/namespaces", basic("eve"))[2] != b"[]"
    with opened(tmp_path, CdapSettings(namespace_list="filtered"), **profile) as site:
        assert site.ask("GET", "/v3/namespaces", basic("eve"))[2] == b"[]"


def test_json_is_read_as_clients_send_it_and_text_is_not_json(tmp_path: Path) -> None:
    with opened(tmp_path) as site:
        body = json.dumps(
            {
                "authorizable": {"entityType": "INSTANCE", "entityParts": {"INSTANCE": "cdap"}},
                "principal": {"name": "dana", "type": "USER"},
            }
        ).encode()
        path = "/v3/security/authorization/privileges/grant"
        for said, status in (
            ((), 200),
            ((("Content-Type", "application/x-www-form-urlencoded"),), 200),
            ((("Content-Type", "application/json;charset=utf-8"),), 200),
            ((("Content-Type", "text/plain"),), 415),
            ((("Content-Type", "multipart/form-data; boundary=x"),), 415),
        ):
            assert site.ask("POST", path, basic("admin"), *said, body=body)[0] == status


def test_the_server_says_that_it_is_there_to_everybody_and_its_release_to_callers(
    tmp_path: Path,
) -> None:
    with opened(tmp_path, CdapSettings(version="5.1.1")) as site:
        for path in ("/ping", "/v3/ping"):
            status, headers, body = site.ask("GET", path)
            assert (status, body) == (200, b"OK.\n")
            assert headers["content-type"] == "text/plain; charset=utf-8"
        assert site.ask("GET", "/v3/version")[0] == 401
        assert json.loads(site.ask("GET", "/v3/version", basic("dana"))[2]) == {"version": "5.1.1"}


def test_an_unknown_path_is_404_and_a_wrong_verb_405(tmp_path: Path) -> None:
    with opened(tmp_path) as site:
        status, headers, _ = site.ask("GET", "/v3/nothing", basic("dana"))
        assert (status, headers["content-type"]) == (404, "text/plain; charset=utf-8")
        status, headers, _ = site.ask("PATCH", "/v3/namespaces", basic("dana"))
        assert (status, headers["allow"]) == (405, "GET")


def test_another_realm_of_either_profile_is_reached_below_its_name(tmp_path: Path) -> None:
    with opened(tmp_path) as site:
        assert site.ask("GET", "/r/cdap/v3/namespaces", basic("eve"))[0] == 200
        assert site.ask("GET", "/r/gravitino/v3/namespaces", basic("eve"))[0] == 404

"""A server on which users sign up and in, with complete requests and our own clock.

Callers come through a trusted proxy, so a test sets the address. Passwords are hashed as usual,
but with fewer rounds, and every comparison is counted.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import SecretStr

from lakewarden.authn.password import Passwords
from lakewarden.config.settings import Limits, Settings
from lakewarden.kernel.change import PrincipalChanged
from lakewarden.kernel.principal import USER, Principal
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import DIRECTORY, people_of
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.settings import DataHubSettings
from tests.app.asgi import AppClient, close
from tests.app.cheap_applications import cheap_application, open_cheaply
from tests.app.serving import PATIENT_LIMITS, Answer
from tests.http.prepared import prepared

TOKEN = "lw_root_5Vq8Zt2LxWk7Rn3GdYp9HcMbTs6JfAe1Qu4"
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
HERE = "198.51.100.7"
PASSWORD = "correct horse 7"
START = 1_800_000_000.0

ME = "{ me { corpUser { urn username isNativeUser } } }"
INVITE = "query q($i: GetInviteTokenInput!) { getInviteToken(input: $i) { inviteToken } }"
NEW_INVITE = (
    "mutation m($i: CreateInviteTokenInput!) { createInviteToken(input: $i) { inviteToken } }"
)
RESET = (
    "mutation m($i: CreateNativeUserResetTokenInput!)"
    " { createNativeUserResetToken(input: $i) { resetToken } }"
)
CREATE = (
    "mutation c($i: CreateAccessTokenInput!)"
    " { createAccessToken(input: $i) { accessToken metadata { id } } }"
)


def user(name: str) -> str:
    return f"urn:li:corpuser:{name}"


class Counted(Passwords):
    """Cheap password hashes, with the number of comparisons."""

    def __init__(self) -> None:
        super().__init__(rounds=1, memory_kib=8)
        self.compared = 0

    def verify(self, hashed: str | None, password: str) -> bool:
        self.compared += 1
        return super().verify(hashed, password)


class Site:
    """The server. `now` is its clock; the administrator uses the root token."""

    def __init__(self, database: str, *, now: float = START, **datahub: Any) -> None:
        settings = Settings(
            database=database,
            auth="token",
            root_token=SecretStr(TOKEN),
            secret_keys=(SecretStr(KEY),),
            trusted_proxies=("127.0.0.1/32",),
            datahub=DataHubSettings(**datahub),
            limits=Limits(**PATIENT_LIMITS),
        )
        self.now = now
        self.passwords = Counted()
        _prepare(settings)
        self.application = cheap_application(settings, passwords=self.passwords)
        open_cheaply(self.application)
        self.service.clock = lambda: self.now
        self.asked = AppClient(self.application, asyncio.new_event_loop())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        close(self.asked)

    @property
    def service(self) -> DecisionService:
        return self.application.parts.service

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        cookie: str = "",
        token: str = "",
        address: str = HERE,
        **headers: str,
    ) -> Answer:
        """One request, from an address, with a cookie, a token or neither."""
        sent = [(name.replace("_", "-"), value) for name, value in headers.items()]
        sent.append(("x-forwarded-for", address))
        if cookie:
            sent.append(("cookie", f"actor=urn:li:corpuser:root; PLAY_SESSION={cookie}"))
        if token:
            sent.append(("authorization", f"Bearer {token}"))
        raw = b"" if body is None else json.dumps(body).encode()
        return self.asked.ask(method, path, raw, sent, user=None)

    def graphql(
        self, query: str, *, cookie: str = "", token: str = "", path: str = "", **variables: object
    ) -> Any:
        """The response to a document, by default for the administrator."""
        body = {"query": query, "variables": variables}
        by = token if token or cookie else TOKEN
        return json.loads(
            self.send("POST", path or "/api/v2/graphql", body, cookie=cookie, token=by).body
        )

    def invited(self, **input: str) -> str:
        """An invitation's token."""
        word: str = self.graphql(INVITE, i=input)["data"]["getInviteToken"]["inviteToken"]
        return word

    def sign_up(self, name: str = "ana@x.test", word: str = "", **members: str) -> Answer:
        """Tries to sign up, by default with a new invitation."""
        form = {
            "userUrn": user(name),
            "email": name if "@" in name else f"{name}@x.test",
            "fullName": "Ana Arc",
            "title": "Other",
            "password": PASSWORD,
            "inviteToken": word or self.invited(),
        }
        return self.send("POST", "/signUp", {**form, **members})

    def log_in(
        self, name: str = "ana@x.test", password: str = PASSWORD, address: str = HERE
    ) -> Answer:
        """Tries to sign in."""
        return self.send(
            "POST", "/logIn", {"username": name, "password": password}, address=address
        )

    def session(self, name: str = "ana@x.test", password: str = PASSWORD) -> str:
        """Signs in; returns the cookie."""
        answer = self.log_in(name, password)
        assert answer.status == 200, answer
        return session_of(answer)

    def me(self, cookie: str, path: str = "") -> str | None:
        """The URN of the cookie's user; None: nobody."""
        answer = self.send("POST", path or "/api/graphql", {"query": ME}, cookie=cookie)
        if answer.status == 401:
            return None
        found: str = json.loads(answer.body)["data"]["me"]["corpUser"]["urn"]
        return found

    def put_person(self, name: str) -> None:
        """Adds a user to the directory."""

        def task(transaction: WriteTransaction) -> None:
            transaction.change(people_of(DIRECTORY), PrincipalChanged(Principal(USER, name), True))

        self.service.write(SYSTEM, task)

    def audit(self) -> list[dict[str, Any]]:
        """The audit trail."""
        with self.service.reading() as reading:
            return [json.loads(row.body) for row in reading.audit()]


def _prepare(settings: Settings) -> None:
    """Creates a file that has gone through its first start, if there is none yet."""
    kind, _, file = settings.database.partition(":///")
    if kind != "sqlite" or Path(file).exists():
        return

    def start(folder: Path) -> None:
        database = f"sqlite:///{folder / Path(file).name}"
        application = cheap_application(settings.model_copy(update={"database": database}))
        application.open()
        close(AppClient(application, asyncio.new_event_loop()))

    prepared(Path(file).parent, (__name__, Path(file).name, repr(settings.datahub)), start)


def session_of(answer: Answer) -> str:
    """The session cookie that a response sets."""
    (cookie,) = (one for one in answer.cookies if one.startswith("PLAY_SESSION="))
    return cookie.partition(";")[0].partition("=")[2]


def message(answer: Answer) -> str:
    """The message of an error."""
    found: str = json.loads(answer.body)["message"]
    return found

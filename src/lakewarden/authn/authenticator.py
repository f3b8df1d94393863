"""Authenticates the credentials of a request by the methods that the operator enabled.

| mode   | accepted                                          |
|--------|---------------------------------------------------|
| simple | the name of Basic credentials; tokens of ours      |
| token  | tokens of ours                                     |
| oidc   | tokens of the identity provider; tokens of ours    |

The root token, if there is one, is a token of the administrator in every mode. Every mode also
accepts password logins with a session cookie, users whom a trusted proxy names, and users whom the
client certificate of their connection proves. A token created without proof of identity (in
`simple` mode, or while the authentication of a dialect was off) is valid only while that still
applies. Invalid credentials never become another user: the anonymous user is for requests without
credentials, and in `simple` mode for unreadable Basic credentials.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from lakewarden.authn.header import (
    Basic,
    Bearer,
    Certified,
    Credentials,
    EngineToken,
    Local,
    Nothing,
    ProxyUser,
    Session,
    Unreadable,
)
from lakewarden.authn.oidc import Identity, InvalidToken, Verifier
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import check_text
from lakewarden.registry import registry
from lakewarden.service.actor import ANONYMOUS, Actor
from lakewarden.service.realm import DIRECTORY, Realm, Token
from lakewarden.service.session import (
    CREDENTIAL,
    ROOT,
    TOKEN,
    is_of_root,
    is_open,
    is_session,
    parent_of_root,
)
from lakewarden.service.state import State
from lakewarden.service.token import PREFIX, digest, is_for_engines

NOT_GOOD_HERE: Final = "these credentials are not valid in this realm"
"""The same message as for an unknown realm."""

Mode = Literal["simple", "token", "oidc"]

SIMPLE: Final = "simple"
OPEN: Final = "open"
"""Why a caller was unauthenticated: the mode, or a dialect whose authentication is off."""


@dataclass(frozen=True, slots=True)
class Unauthenticated:
    """The credentials are not accepted. `why` may be shown; `detail` is for the log."""

    why: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Authenticates credentials. `verifier` is set in `oidc` mode.

    `oidc_admins`: the identities of the provider, by name or as `ISSUER#SUBJECT`, that may have the
    administrator's name; any other identity of that name is not the administrator. `open_to`: the
    users for requests without credentials, by dialects whose authentication the operator switched
    off.
    """

    mode: Mode
    admin: str
    root_token: str | None = None
    verifier: Verifier | None = None
    directory: str = DIRECTORY
    open_to: Mapping[str, str] = field(default_factory=dict)
    oidc_admins: tuple[str, ...] = ()

    def authenticate(
        self,
        credentials: Credentials,
        state: State,
        now: float,
        *,
        realm: Realm | None,
        anonymous: str | None = None,
        dialect: str = "",
    ) -> Actor | Unauthenticated:
        """The actor of the credentials.

        `realm` is that of the request, None if it is not known yet; `anonymous` is the user whom
        the dialect accepts without credentials.
        """
        if isinstance(credentials, Nothing) and dialect in self.open_to:
            home = DIRECTORY if realm is None else realm.directory
            user, unproven = self.open_to[dialect], self._simple or OPEN
            return Actor(user, home, credential=ANONYMOUS, unproven=unproven)
        actor = self._authenticated(credentials, state, now, realm, anonymous)
        if isinstance(actor, Actor) and _has_built_in_power(actor):
            return Unauthenticated("this name is reserved")
        if isinstance(actor, Actor) and realm is not None and not actor.is_valid_in(realm):
            return Unauthenticated(NOT_GOOD_HERE)
        return actor

    def actor_of_token(self, text: str, state: State, now: float) -> Actor | None:
        """The actor of a token, for an exchange of tokens; None if invalid."""
        actor = self.authenticate(Bearer(text), state, now, realm=None)
        return actor if isinstance(actor, Actor) else None

    @property
    def anonymous(self) -> Actor:
        """The actor of a request without credentials to a public route."""
        return Actor(ANONYMOUS, credential=ANONYMOUS, unproven=self._simple)

    @property
    def _simple(self) -> str:
        return SIMPLE if self.mode == SIMPLE else ""

    def _is_accepted(self, token: Token) -> bool:
        """Whether the token was issued under the same authentication mode."""
        if not token.unproven or self.mode == SIMPLE:
            return True
        return token.unproven == OPEN and bool(self.open_to)

    def _authenticated(
        self,
        credentials: Credentials,
        state: State,
        now: float,
        realm: Realm | None,
        anonymous: str | None,
    ) -> Actor | Unauthenticated:
        home = DIRECTORY if realm is None else realm.directory
        match credentials:
            case Bearer(text):
                return self._bearer(text, state, now)
            case EngineToken(text, in_query):
                return self._engine(text, state, now, in_query=in_query)
            case Session(text):
                return self._session(text, state, now)
            case Certified(user):
                return Actor(user, credential="certificate", unproven=self._simple)
            case Local(user):
                return Actor(user, credential="loopback", unproven=self._simple)
            case ProxyUser(user):
                return Actor(user, home, credential="proxy", unproven=self._simple)
            case Basic(user) if self.mode == SIMPLE:
                return Actor(user, home, credential=SIMPLE, unproven=SIMPLE)
            case Nothing() | Unreadable(basic=True) if (
                self.mode == SIMPLE and anonymous is not None
            ):
                return Actor(anonymous, home, credential=ANONYMOUS, unproven=SIMPLE)
            case Nothing():
                return Unauthenticated("credentials are required")
            case Unreadable(why):
                return Unauthenticated(why)
            case _:
                return Unauthenticated("expected a bearer token")

    def _bearer(self, text: str, state: State, now: float) -> Actor | Unauthenticated:
        root = self.root_token
        if root is not None and hmac.compare_digest(text.encode(), root.encode()):
            return Actor(self.admin, credential=ROOT, unproven=self._simple)
        # Looked up by digest, so timing does not reveal how much of a guess matches a token.
        token = state.tokens.get(digest(text))
        if token is not None and not is_session(token) and not is_for_engines(token):
            if not _is_valid(token, now):
                return Unauthenticated("the token has expired")
            if not self._is_accepted(token):
                return Unauthenticated("the token was created without authentication")
            return self._token_actor(token, f"{TOKEN}{token.id}")
        if self.verifier is not None and not text.startswith(PREFIX):
            return self._verified(self.verifier, text)
        return Unauthenticated("the token is not valid")

    def _engine(
        self, text: str, state: State, now: float, *, in_query: bool
    ) -> Actor | Unauthenticated:
        """Accepts engine tokens on engine paths; accepts other tokens only in the header."""
        token = state.tokens.get(digest(text))
        if token is not None and is_for_engines(token):
            if not _is_valid(token, now) or not self._is_accepted(token):
                return Unauthenticated("the token has expired")
            return self._token_actor(token, f"{TOKEN}{token.id}")
        if in_query:
            return Unauthenticated("expected a token that was created with `--engine`")
        return self._bearer(text, state, now)

    def _session(self, text: str, state: State, now: float) -> Actor | Unauthenticated:
        token = state.tokens.get(digest(text))
        is_valid = token is not None and is_session(token) and _is_valid(token, now)
        if token is None or not is_valid or not self._is_accepted(token):
            return Unauthenticated("the session has expired")
        if not is_open(state, token, now) or not self._is_in_force(token.parent):
            return Unauthenticated("the token that the session was opened with is no longer valid")
        return self._token_actor(token, f"{CREDENTIAL}{token.id}")

    def _is_in_force(self, parent: str | None) -> bool:
        """Whether the session is not of a root token that the settings no longer have."""
        if parent is None or not is_of_root(parent):
            return True
        return parent == parent_of_root(self.root_token)

    def _token_actor(self, token: Token, credential: str) -> Actor:
        """The user of a token; an unproven token makes its holder unproven."""
        unproven = self._simple or token.unproven or ""
        return Actor(
            token.user, token.directory, token.realm, token.groups, credential, unproven=unproven
        )

    def _verified(self, verifier: Verifier, text: str) -> Actor | Unauthenticated:
        identity = verifier.verify(text)
        if isinstance(identity, InvalidToken):
            return Unauthenticated("the token is not valid", identity.why)
        return self._actor_of_identity(identity)

    def identified(self, identity: Identity) -> Actor | Unauthenticated:
        """The actor for an identity of the provider, at a login."""
        actor = self._actor_of_identity(identity)
        if isinstance(actor, Actor) and _has_built_in_power(actor):
            return Unauthenticated("this name is reserved")
        return actor

    def _actor_of_identity(self, identity: Identity) -> Actor | Unauthenticated:
        try:
            for name in (identity.user, *identity.groups):
                check_text(name)
        except BadInput as error:
            return Unauthenticated("the token is not valid", str(error))
        if identity.user.casefold().startswith(_URNS):
            # Some systems accept a URN for the name in it, which may be another user's.
            return Unauthenticated(
                "the token is not valid", "the user name must not start like a URN"
            )
        listed = {identity.user, identity.account} & set(self.oidc_admins)
        if identity.user == self.admin.removeprefix(_URN) and not listed:
            return Unauthenticated(
                "this name is reserved", "the administrator is not in `oidc.admins`"
            )
        return Actor(identity.user, self.directory, groups=identity.groups, credential="oidc")


_URN = "urn:li:corpuser:"
_URNS = "urn:"


def _has_built_in_power(actor: Actor) -> bool:
    """Whether the user has built-in power that these credentials must not grant.

    Nobody can use the account of a system itself. Its operators are users for whom the operator of
    this server created a token, or whom `simple` mode accepts; an identity provider cannot assert
    them.
    """
    name = actor.user.removeprefix(_URN)
    return any(
        name in system.internal_users
        or (name in system.operator_users and actor.credential == "oidc")
        for system in registry().systems.values()
    )


def _is_valid(token: Token, now: float) -> bool:
    return token.created - _SKEW <= now < token.expires


_SKEW = 60.0
"""How many seconds the clock of the host that created a token may be ahead of ours."""


def named(actor: Actor, request_id: str, wire: str) -> Actor:
    """The caller, with the id and wire of its request."""
    return Actor(
        actor.user,
        actor.directory,
        actor.realm,
        actor.groups,
        actor.credential,
        request_id,
        wire,
        actor.unproven,
    )

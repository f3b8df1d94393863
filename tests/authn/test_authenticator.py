import base64

import pytest

from lakewarden.authn import header
from lakewarden.authn.authenticator import Authenticator, Mode, Unauthenticated
from lakewarden.service.actor import Actor
from lakewarden.service.realm import Realm, Token
from lakewarden.service.state import State
from lakewarden.service.token import digest

GRAVITINO = Realm("gravitino", "gravitino")
DATAHUB = Realm("datahub", "datahub")
ELSEWHERE = Realm("elsewhere", "gravitino", directory="other")

NOW = 1_000_000.0


def _token(text: str, user: str = "ana", **changed: object) -> Token:
    fields: dict[str, object] = {
        "id": f"id-{text}",
        "digest": digest(text),
        "user": user,
        "created": NOW - 10,
        "expires": NOW + 10,
    }
    return Token(**{**fields, **changed})  # type: ignore[arg-type]


TOKENS = [
    _token("lw_ana"),
    _token("lw_bound", realm="datahub"),
    _token("lw_other", directory="other"),
    _token("lw_system", user="__datahub_system"),
    _token("lw_root", user="datahub"),
]
STATE = State(tokens={token.digest: token for token in TOKENS})


def _ask(
    value: bytes | None,
    mode: Mode = "token",
    realm: Realm | None = GRAVITINO,
    *,
    now: float = NOW,
    anonymous: str | None = None,
    root: str | None = None,
) -> Actor | Unauthenticated:
    authenticator = Authenticator(mode, "admin", root)
    values = [] if value is None else [value]
    return authenticator.authenticate(
        header.read(values), STATE, now, realm=realm, anonymous=anonymous
    )


def _basic(user: str) -> bytes:
    return b"Basic " + base64.b64encode(f"{user}:x".encode())


def _user(found: Actor | Unauthenticated) -> str | None:
    return found.user if isinstance(found, Actor) else None


@pytest.mark.parametrize("mode", ["simple", "token", "oidc"])
def test_a_token_of_ours_is_believed_in_every_mode(mode: Mode) -> None:
    unproven = "simple" if mode == "simple" else ""
    expected = Actor("ana", credential="token:id-lw_ana", unproven=unproven)
    assert _ask(b"Bearer lw_ana", mode) == expected


@pytest.mark.parametrize(
    ("now", "believed"),
    [(NOW + 9.9, True), (NOW + 10, False), (NOW - 69, True), (NOW - 71, False)],
)
def test_a_token_is_good_until_it_expires(now: float, believed: bool) -> None:
    assert isinstance(_ask(b"Bearer lw_ana", now=now), Actor) is believed


@pytest.mark.parametrize("value", [b"Bearer lw_an", b"Bearer lw_anaa", b"Bearer LW_ANA"])
@pytest.mark.parametrize("mode", ["simple", "token", "oidc"])
def test_a_token_that_is_not_known_is_nobody_and_never_the_anonymous_user(
    value: bytes, mode: Mode
) -> None:
    assert isinstance(_ask(value, mode, anonymous="anonymous"), Unauthenticated)


@pytest.mark.parametrize("mode", ["simple", "token", "oidc"])
@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("unproven", [None, "simple", "open"])
def test_a_token_is_good_where_its_maker_would_be_believed(
    mode: Mode, is_open: bool, unproven: str | None
) -> None:
    made = [
        _token("lw_t", unproven=unproven),
        _token("lw_s", id="s1", realm="datahub", unproven=unproven),
    ]
    state = State(tokens={token.digest: token for token in made})
    open_to = {"datahub": "datahub"} if is_open else {}
    authenticator = Authenticator(mode, "admin", open_to=open_to)
    expected = unproven is None or mode == "simple" or (unproven == "open" and is_open)
    for credentials in (header.Bearer("lw_t"), header.Session("lw_s")):
        found = authenticator.authenticate(credentials, state, NOW, realm=DATAHUB)
        assert isinstance(found, Actor) is expected
        if isinstance(found, Actor):
            # A credential made with it is no stronger.
            assert found.unproven == ("simple" if mode == "simple" else unproven or "")


def test_who_comes_to_an_open_dialect_is_not_proven() -> None:
    for mode, unproven in (("token", "open"), ("simple", "simple")):
        authenticator = Authenticator(mode, "admin", open_to={"datahub": "datahub"})  # type: ignore[arg-type]
        found = authenticator.authenticate(
            header.Nothing(), STATE, NOW, realm=DATAHUB, dialect="datahub"
        )
        assert isinstance(found, Actor)
        assert found.unproven == unproven


def test_the_digest_of_a_token_is_no_token() -> None:
    assert isinstance(_ask(f"Bearer {digest('lw_ana')}".encode()), Unauthenticated)


def test_a_token_of_one_realm_is_refused_in_every_other() -> None:
    assert _user(_ask(b"Bearer lw_bound", realm=DATAHUB)) == "ana"
    assert isinstance(_ask(b"Bearer lw_bound", realm=GRAVITINO), Unauthenticated)


def test_a_token_of_one_directory_is_refused_in_realms_of_another() -> None:
    assert _user(_ask(b"Bearer lw_other", realm=ELSEWHERE)) == "ana"
    assert isinstance(_ask(b"Bearer lw_other", realm=GRAVITINO), Unauthenticated)
    assert isinstance(_ask(b"Bearer lw_ana", realm=ELSEWHERE), Unauthenticated)


def test_where_the_realm_is_still_to_be_read_the_actor_says_where_it_is_good() -> None:
    found = _ask(b"Bearer lw_bound", realm=None)
    assert isinstance(found, Actor)
    assert found.is_valid_in(DATAHUB)
    assert not found.is_valid_in(GRAVITINO)


@pytest.mark.parametrize("mode", ["simple", "token", "oidc"])
def test_the_root_token_is_the_administrator_in_the_main_directory_only(mode: Mode) -> None:
    unproven = "simple" if mode == "simple" else ""
    expected = Actor("admin", credential="root", unproven=unproven)
    assert _ask(b"Bearer toor", mode, root="toor") == expected
    assert isinstance(_ask(b"Bearer toor", mode, ELSEWHERE, root="toor"), Unauthenticated)
    assert isinstance(_ask(b"Bearer toor", mode), Unauthenticated)
    assert isinstance(_ask(b"Bearer toorx", mode, root="toor"), Unauthenticated)


def test_simple_believes_the_name_in_the_directory_of_the_realm() -> None:
    assert _ask(_basic("ana"), "simple") == Actor("ana", credential="simple", unproven="simple")
    found = _ask(_basic("ana"), "simple", ELSEWHERE)
    assert found == Actor("ana", "other", credential="simple", unproven="simple")


@pytest.mark.parametrize("mode", ["token", "oidc"])
def test_only_simple_believes_a_name(mode: Mode) -> None:
    assert isinstance(_ask(_basic("ana"), mode, anonymous="anonymous"), Unauthenticated)


@pytest.mark.parametrize("value", [None, b"Basic", b"Basic %%%", _basic(":secret")])
def test_nothing_to_believe_is_the_anonymous_user_where_names_are_trusted(
    value: bytes | None,
) -> None:
    found = _ask(value, "simple", anonymous="anonymous")
    assert found == Actor("anonymous", credential="anonymous", unproven="simple")
    assert isinstance(_ask(value, "simple"), Unauthenticated)
    assert isinstance(_ask(value, "token", anonymous="anonymous"), Unauthenticated)


@pytest.mark.parametrize(
    "value", [b"", b"nonsense", b"Negotiate x", b"Digest x", b"Bearer", b"Bearer a b"]
)
def test_another_scheme_is_nobody_even_where_names_are_trusted(value: bytes) -> None:
    """Source: gravitino reference 4.2."""
    assert isinstance(_ask(value, "simple", anonymous="anonymous"), Unauthenticated)


def test_two_headers_are_nobody_even_where_names_are_trusted() -> None:
    authenticator = Authenticator("simple", "admin")
    values = [_basic("ana"), _basic("ana")]
    found = authenticator.authenticate(
        header.read(values), STATE, NOW, realm=GRAVITINO, anonymous="anonymous"
    )
    assert isinstance(found, Unauthenticated)


def test_nobody_signs_in_as_what_the_platform_itself_runs_as() -> None:
    assert isinstance(_ask(_basic("__datahub_system"), "simple", DATAHUB), Unauthenticated)
    assert isinstance(_ask(b"Bearer lw_system", realm=DATAHUB), Unauthenticated)


def test_the_root_user_of_datahub_has_the_token_that_the_operator_made() -> None:
    assert _user(_ask(b"Bearer lw_root", realm=DATAHUB)) == "datahub"
    assert _user(_ask(_basic("datahub"), "simple", DATAHUB)) == "datahub"

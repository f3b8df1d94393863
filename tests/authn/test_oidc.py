import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from joserfc import jwk

from lakewarden.authn import header
from lakewarden.authn.authenticator import Authenticator, Unauthenticated
from lakewarden.authn.oidc import (
    Expected,
    Identity,
    InvalidToken,
    KeySet,
    Verifier,
    from_file,
    from_url,
)
from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.service.actor import Actor
from lakewarden.service.realm import Realm
from lakewarden.service.state import State
from tests.authn.issuer import AUDIENCE, BROKEN, ISSUER, Issuer, claims, encoded, forgeries, serving

REALM = Realm("gravitino", "gravitino")


PUBLIC = jwk.ECKey.generate_key("P-256").as_dict(private=False)


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with serving(Issuer()) as made:
        yield made


@pytest.fixture(scope="module")
def verifier(issuer: Issuer) -> Verifier:
    keys = KeySet(from_url(f"{issuer.address}/keys"))
    keys.refresh()
    return Verifier(keys, Expected(ISSUER, AUDIENCE))


@pytest.mark.parametrize("alg", ["RS256", "ES256", "Ed25519"])
def test_a_token_of_any_key_of_the_set_is_believed(
    issuer: Issuer, verifier: Verifier, alg: str
) -> None:
    assert verifier.verify(issuer.token(alg=alg)) == Identity("ana", ("staff",), f"{ISSUER}#ana")


def test_one_of_several_audiences_is_enough(issuer: Issuer, verifier: Verifier) -> None:
    said = claims(aud=["other", AUDIENCE], groups=None)
    assert verifier.verify(issuer.token(said)) == Identity("ana", (), f"{ISSUER}#ana")


NONCE = "nonce of the login"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, ""),
        ({"aud": [AUDIENCE]}, ""),
        ({"aud": [AUDIENCE, "other"], "azp": AUDIENCE}, ""),
        ({"nonce": "another"}, "the nonce belongs to another login"),
        ({"nonce": None}, "the nonce belongs to another login"),
        ({"aud": "other"}, "unexpected audience"),
        ({"aud": [AUDIENCE, "other"]}, "issued to another client"),
        ({"azp": "other"}, "issued to another client"),
        ({"iss": "https://evil.example"}, "unexpected issuer"),
        ({"exp": 1_000}, "expired"),
    ],
    ids=str,
)
def test_an_id_token_is_for_one_login_at_one_client(
    issuer: Issuer, verifier: Verifier, changes: dict[str, object], why: str
) -> None:
    found = verifier.verify(issuer.token(claims(**{"nonce": NONCE, **changes})), NONCE)
    if why:
        assert found == InvalidToken(why)
    else:
        assert isinstance(found, Identity)


def test_clocks_may_differ_by_the_leeway_and_no_more(issuer: Issuer) -> None:
    keys = KeySet(from_url(f"{issuer.address}/keys"))
    keys.refresh()
    said = claims(nbf=1_000, exp=2_000)
    token, now = issuer.token(said), [0.0]
    verifier = Verifier(keys, Expected(ISSUER, AUDIENCE), clock=lambda: now[0])
    believed = {}
    for moment in (969, 970, 2_029, 2_030):
        now[0] = moment
        believed[moment] = isinstance(verifier.verify(token), Identity)
    assert believed == {969: False, 970: True, 2_029: True, 2_030: False}


@pytest.mark.parametrize("kind", sorted(forgeries(Issuer())))
def test_a_forgery_is_not_believed_and_makes_us_fetch_nothing(
    issuer: Issuer, verifier: Verifier, kind: str
) -> None:
    seen = list(issuer.seen)
    authenticator = Authenticator("oidc", "admin", verifier=verifier)
    token = forgeries(issuer)[kind].encode()
    found = authenticator.authenticate(header.read([b"Bearer " + token]), State(), 0.0, realm=REALM)
    assert isinstance(found, Unauthenticated)
    assert issuer.seen == seen


def test_the_good_token_next_to_the_forgeries_is_believed(
    issuer: Issuer, verifier: Verifier
) -> None:
    authenticator = Authenticator("oidc", "admin", verifier=verifier)
    token = issuer.token().encode()
    found = authenticator.authenticate(header.read([b"Bearer " + token]), State(), 0.0, realm=REALM)
    assert found == Actor("ana", groups=("staff",), credential="oidc")


def test_a_token_without_a_beginning_is_good_at_once(issuer: Issuer, verifier: Verifier) -> None:
    assert isinstance(verifier.verify(issuer.token(claims(nbf=None))), Identity)


@pytest.mark.parametrize("user", ["admin", "urn:li:corpuser:admin"])
@pytest.mark.parametrize(
    ("admins", "believed"),
    [
        ((), False),
        (("ana",), False),
        ((f"{ISSUER}#another",), False),
        (("https://other.example#s-1",), False),
        (("admin",), True),
        ((f"{ISSUER}#s-1",), True),
    ],
)
def test_the_administrator_is_nobody_of_the_provider_unless_that_is_said(
    issuer: Issuer, user: str, admins: tuple[str, ...], believed: bool
) -> None:
    keys = KeySet(from_url(f"{issuer.address}/keys"))
    keys.refresh()
    verifier = Verifier(keys, Expected(ISSUER, AUDIENCE, user_claim="name"))
    authenticator = Authenticator("oidc", "admin", verifier=verifier, oidc_admins=admins)
    token = issuer.token(claims(sub="s-1", name=user)).encode()
    found = authenticator.authenticate(header.read([b"Bearer " + token]), State(), 0.0, realm=REALM)
    # A name that begins like a URN belongs to nobody, in every configuration.
    assert isinstance(found, Actor) is (believed and user == "admin")
    # Our own token still belongs to the administrator.
    root = Authenticator("oidc", "admin", "root", verifier, oidc_admins=admins)
    own = root.authenticate(header.read([b"Bearer root"]), State(), 0.0, realm=REALM)
    assert isinstance(own, Actor)


def test_other_claims_may_name_person_and_groups(issuer: Issuer) -> None:
    keys = KeySet(from_url(f"{issuer.address}/keys"))
    keys.refresh()
    expected = Expected(ISSUER, AUDIENCE, user_claim="name", group_claim="roles")
    said = claims(name="bob", roles=["a", "b", "a"])
    assert Verifier(keys, expected).verify(issuer.token(said)) == Identity(
        "bob", ("a", "b"), f"{ISSUER}#ana"
    )
    assert isinstance(Verifier(keys, expected).verify(issuer.token()), InvalidToken)


@pytest.mark.parametrize(
    "said",
    [
        {"_claim_names": {"groups": "src1"}, "_claim_sources": {"src1": {"endpoint": "https://x"}}},
        {"_claim_names": "unreadable"},
        {"hasgroups": True},
    ],
    ids=str,
)
def test_a_token_whose_groups_are_elsewhere_is_refused(
    issuer: Issuer, verifier: Verifier, said: dict[str, object]
) -> None:
    why = InvalidToken("the claim `groups` is not in the token")
    for groups in (None, list[str]()):
        assert verifier.verify(issuer.token(claims(groups=groups, **said))) == why
    assert isinstance(verifier.verify(issuer.token(claims(**said))), Identity)
    other = {"_claim_names": {"photo": "src1"}, "hasgroups": False}
    assert isinstance(verifier.verify(issuer.token(claims(groups=None, **other))), Identity)
    keys = KeySet(from_url(f"{issuer.address}/keys"))
    keys.refresh()
    as_roles = Verifier(keys, Expected(ISSUER, AUDIENCE, group_claim="roles"))
    assert isinstance(as_roles.verify(issuer.token(claims(groups=None, **said))), InvalidToken)


@pytest.mark.parametrize(
    ("verified", "user"),
    [(None, "ana@x"), (True, "ana@x"), ("true", "ana@x"), (False, ""), ("false", ""), (1.5, "")],
)
def test_an_address_that_is_not_verified_names_nobody(
    issuer: Issuer, verified: object, user: str
) -> None:
    keys = KeySet(from_url(f"{issuer.address}/keys"))
    keys.refresh()
    token = issuer.token(claims(email="ana@x", email_verified=verified))
    found = Verifier(keys, Expected(ISSUER, AUDIENCE, user_claim="email")).verify(token)
    assert found == (
        Identity("ana@x", ("staff",), f"{ISSUER}#ana")
        if user
        else InvalidToken("the e-mail address is not verified")
    )
    assert isinstance(Verifier(keys, Expected(ISSUER, AUDIENCE)).verify(token), Identity)


def test_a_key_that_left_the_set_is_not_believed_after_the_next_look(tmp_path: Path) -> None:
    old, new = Issuer(), Issuer()
    file = tmp_path / "keys.json"
    file.write_bytes(old.key_set())
    keys = KeySet(from_file(file))
    keys.refresh()
    verifier = Verifier(keys, Expected(ISSUER, AUDIENCE))
    assert isinstance(verifier.verify(old.token()), Identity)
    file.write_bytes(new.key_set())
    assert isinstance(verifier.verify(new.token()), InvalidToken)
    keys.refresh()
    assert isinstance(verifier.verify(new.token()), Identity)
    assert isinstance(verifier.verify(old.token()), InvalidToken)


def test_when_the_keys_cannot_be_read_the_old_ones_stay(tmp_path: Path) -> None:
    issuer = Issuer()
    file = tmp_path / "keys.json"
    file.write_bytes(issuer.key_set())
    keys = KeySet(from_file(file))
    keys.refresh()
    file.write_text("{}")
    with pytest.raises(BadInput):
        keys.refresh()
    file.unlink()
    with pytest.raises(Unavailable):
        keys.refresh()
    verifier = Verifier(keys, Expected(ISSUER, AUDIENCE))
    assert isinstance(verifier.verify(issuer.token()), Identity)


def test_a_redirection_is_not_followed(issuer: Issuer) -> None:
    with pytest.raises(Unavailable):
        KeySet(from_url(f"{issuer.address}/elsewhere")).refresh()


@pytest.mark.parametrize("path", BROKEN)
def test_a_broken_answer_says_that_the_keys_cannot_be_read(issuer: Issuer, path: str) -> None:
    with pytest.raises(
        Unavailable, match=f"the keys at `{issuer.address}{path}` cannot be read: ."
    ):
        KeySet(from_url(f"{issuer.address}{path}")).refresh()


def test_the_keys_are_read_again_whatever_came_of_the_last_time() -> None:
    good, failures, read = Issuer().key_set(), list[Exception](), Event()
    answers: list[bytes | Exception] = [RuntimeError("no answer"), b'{"keys": []}']

    def fetch() -> bytes:
        if not answers:
            read.set()
            return good
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    stop = KeySet(fetch).refresh_periodically(0, failures.append)
    assert read.wait(60)
    stop.set()
    assert [type(error) for error in failures] == [RuntimeError, BadInput]


@pytest.mark.parametrize(
    "listed",
    [
        pytest.param([], id="no key"),
        pytest.param([{"kty": "oct", "k": "eA", "kid": "a"}], id="only a shared secret"),
        pytest.param(
            [{"kty": "RSA", "kid": "a", "e": "AQAB", "n": encoded(b"\x81" * 128)}], id="a weak key"
        ),
        pytest.param([{"kty": "RSA", "kid": "a", "n": "x"}], id="half a key"),
        pytest.param([{**PUBLIC, "kid": ["a"]}], id="a kid that is a list"),
    ],
)
@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
def test_a_key_set_that_can_check_nothing_is_refused(tmp_path: Path, listed: list[object]) -> None:
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": listed}))
    with pytest.raises(BadInput, match="key set"):
        KeySet(from_file(file)).refresh()


def test_a_key_set_that_is_nested_too_deep_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_text("[" * 100_000)
    with pytest.raises(BadInput, match="key set"):
        KeySet(from_file(file)).refresh()


def test_two_keys_of_one_name_are_refused(tmp_path: Path) -> None:
    keys = json.loads(Issuer().key_set())["keys"]
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": [keys[0], keys[0]]}))
    with pytest.raises(BadInput, match="two keys"):
        KeySet(from_file(file)).refresh()

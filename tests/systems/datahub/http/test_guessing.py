"""Passwords cannot be guessed: attempts are counted in the store, for all its servers together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from lakewarden.app.client_address import client_address
from lakewarden.kernel.principal import USER, Principal
from lakewarden.service.throttle import Throttle
from tests.http.prepared import prepared
from tests.servers import fresh_database
from tests.systems.datahub.http.native import PASSWORD, Site, message

ANA, BO = "ana@x.test", "bo@x.test"
WRONG = "wrong horse 7"
MINUTES = 5 * 60.0

Opened = Callable[[], Site]


on_both = pytest.mark.parametrize(
    "opened", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True
)
"""By day, too: the store counts the attempts of several servers, or concurrent ones."""


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.nightly]),
    ]
)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """Opens servers on one database, in which two people have signed up."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            url = f"sqlite:///{tmp_path}/store"
            prepared(tmp_path, __name__, lambda fresh: _sign_up(f"sqlite:///{fresh}/store"))
        else:
            postgres = request.getfixturevalue("postgres_url")
            url = stack.enter_context(fresh_database(postgres, stores=True))
            _sign_up(url)
        yield lambda: stack.enter_context(Site(url))


def _sign_up(url: str) -> None:
    with Site(url) as one:
        for name in (ANA, BO):
            assert one.sign_up(name).status == 200


@pytest.fixture
def site(opened: Opened) -> Site:
    return opened()


def guess(site: Site, times: int, name: str = ANA, address: str = "203.0.113.1") -> list[int]:
    return [site.log_in(name, WRONG, address).status for _ in range(times)]


@on_both
def test_after_ten_tries_the_right_password_is_not_looked_at_either(site: Site) -> None:
    assert guess(site, 10) == [400] * 10
    compared = site.passwords.compared
    answer = site.log_in(ANA, PASSWORD, "203.0.113.1")
    assert answer.status == 429
    assert "too many" in message(answer)
    assert 0 < int(answer.headers["retry-after"]) <= MINUTES
    assert guess(site, 30) == [429] * 30
    assert site.passwords.compared == compared


def test_two_ways_to_sign_in_give_no_more_tries_than_one(site: Site) -> None:
    proof = {"user": ANA, "password": WRONG, "realm": "datahub"}
    for _ in range(5):
        assert guess(site, 1) == [400]
        assert site.send("POST", "/api/v1/session", proof, address="203.0.113.1").status == 401
    assert guess(site, 1) == [429]
    assert site.send("POST", "/api/v1/session", proof, address="203.0.113.1").status == 429


def test_a_lockout_ends_after_five_minutes_whatever_was_tried_meanwhile(site: Site) -> None:
    guess(site, 10)
    for _ in range(9):
        site.now += MINUTES / 10
        assert guess(site, 1) == [429]
    site.now += MINUTES / 10
    assert site.log_in(ANA, PASSWORD, "203.0.113.1").status == 200


def test_unknown_users_are_counted_alike(site: Site) -> None:
    assert guess(site, 11, "nobody") == [400] * 10 + [429]


def test_others_are_not_kept_from_signing_in_nor_the_user_from_elsewhere(site: Site) -> None:
    guess(site, 12)
    assert site.log_in(BO, PASSWORD, "203.0.113.1").status == 200
    assert site.log_in(ANA, PASSWORD, "203.0.113.2").status == 200


def test_whoever_signs_in_may_mistype_again(site: Site) -> None:
    for _ in range(3):
        assert guess(site, 9) == [400] * 9
        assert site.log_in(ANA, PASSWORD, "203.0.113.1").status == 200


def test_many_machines_get_no_more_tries_for_one_user(site: Site) -> None:
    found = [guess(site, 10, address=f"203.0.113.{i}") for i in range(6)]
    assert found[:5] == [[400] * 10] * 5
    assert found[5] == [429] * 10
    assert site.log_in(ANA, PASSWORD, "203.0.113.9").status == 429
    assert site.log_in(BO, PASSWORD, "203.0.113.9").status == 200


def test_nobody_is_locked_out_by_others_where_it_signed_in_before(site: Site) -> None:
    home = "192.0.2.8"
    assert site.log_in(ANA, PASSWORD, home).status == 200
    for i in range(6):
        guess(site, 10, address=f"203.0.113.{i}")
    assert site.log_in(ANA, PASSWORD, home).status == 200
    assert guess(site, 11, address=home) == [400] * 10 + [429]


def test_the_addresses_of_one_ipv6_network_are_one(site: Site) -> None:
    assert [guess(site, 1, address=f"2001:db8::{i}")[0] for i in range(11)] == [400] * 10 + [429]
    found = [guess(site, 1, f"user{i}@x.test", f"2001:db8::{i}")[0] for i in range(41)]
    assert found == [400] * 40 + [429]
    assert guess(site, 1, "user@x.test", "2001:db8:0:1::1") == [400]


def test_one_password_is_not_tried_on_everybody(site: Site) -> None:
    found = [guess(site, 1, f"user{i}@x.test")[0] for i in range(52)]
    assert found == [400] * 50 + [429, 429]
    assert site.log_in(BO, PASSWORD, "203.0.113.1").status == 429
    assert site.log_in(BO, PASSWORD, "203.0.113.2").status == 200


@pytest.mark.parametrize("path", ["/signUp", "/resetNativeUserCredentials"])
def test_words_are_not_guessed_either(site: Site, path: str) -> None:
    body = {
        "email": ANA,
        "fullName": "x",
        "title": "x",
        "password": PASSWORD,
        "inviteToken": "lw_x",
        "resetToken": "lw_x",
    }
    found = [site.send("POST", path, body, address="203.0.113.1").status for _ in range(52)]
    assert found == [400] * 50 + [429, 429]


@on_both
def test_servers_on_one_store_count_together(site: Site, opened: Opened) -> None:
    other = opened()
    assert guess(site, 6) == [400] * 6
    assert guess(other, 5) == [400] * 4 + [429]
    assert site.log_in(ANA, PASSWORD, "203.0.113.1").status == 429


def test_what_one_server_opened_the_other_knows_and_ends(site: Site, opened: Opened) -> None:
    other = opened()
    cookie = other.session(ANA)
    assert site.me(cookie) == other.me(cookie)
    site.send("POST", "/logOut", cookie=cookie)
    assert other.me(cookie) is None


@on_both
def test_tries_at_the_same_time_are_no_more(site: Site) -> None:
    """Ten are compared, however many arrive before the first response."""

    def begin(_: int) -> float | None:
        return Throttle(site.service.store, "datahub", ANA, "203.0.113.1").begin(site.now)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(begin, range(40))).count(None) == 10


def test_an_address_that_nobody_vouches_for_is_not_believed(site: Site) -> None:
    """A caller without a trusted proxy has one address, regardless of its headers."""
    assert client_address("203.0.113.1", "192.0.2.8", ()) == "203.0.113.1"
    assert site.application.parts.proxies != ()


def test_the_directory_cannot_be_searched_by_signing_in(site: Site) -> None:
    site.put_person("bob")
    assert Principal(USER, "bob") in site.service.state.people["main"].principals
    bodies = {site.log_in(name, PASSWORD).body for name in ("bob", "nobody", "datahub")}
    assert len(bodies) == 1

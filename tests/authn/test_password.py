"""Passwords: hashed slowly, compared alike, a few at a time."""

from __future__ import annotations

import pytest

from lakewarden.authn import password
from lakewarden.authn.password import Passwords
from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.service.password import check_strength


@pytest.fixture(scope="module")
def quick() -> Passwords:
    return Passwords(rounds=1, memory_kib=8)


def test_a_password_is_known_again_and_no_other(quick: Passwords) -> None:
    hashed = quick.hash("correct horse 7")
    assert quick.verify(hashed, "correct horse 7")
    assert not quick.verify(hashed, "correct horse 8")
    assert not quick.verify(hashed, "")


def test_two_hashes_of_one_password_differ(quick: Passwords) -> None:
    assert quick.hash("correct horse 7") != quick.hash("correct horse 7")


def test_nobodys_password_is_never_right(quick: Passwords) -> None:
    assert not quick.verify(None, "")
    assert not quick.verify(None, "correct horse 7")


def test_what_is_no_hash_is_nobodys(quick: Passwords) -> None:
    assert not quick.verify("correct horse 7", "correct horse 7")


def test_a_password_is_one_however_it_is_typed(quick: Passwords) -> None:
    assert quick.verify(quick.hash("cafe\u0301 horse 7"), "caf\u00e9 horse 7")


def test_a_hash_takes_64_mebibytes_of_argon2id() -> None:
    assert Passwords().hash("correct horse 7").startswith("$argon2id$v=19$m=65536,t=3,p=1$")


def test_more_than_a_few_at_once_wait_and_are_refused(
    quick: Passwords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(password, "PATIENCE_SECONDS", 0.01)
    with quick._slot(), quick._slot(), pytest.raises(Unavailable, match="too many"):
        quick.hash("correct horse 7")
    assert quick.hash("correct horse 7")


@pytest.mark.parametrize(
    "text", ["", "seven77", "x" * 257, "abababab", "12345678", "PASSWORD1", "ana@x.test"]
)
def test_a_password_that_is_easily_guessed_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        check_strength(text, "ana@x.test")
    assert not text or text not in str(refused.value)


@pytest.mark.parametrize("text", ["eight ch", "pässwörter", "x1y2z3w4", "a" * 253 + "bcd"])
def test_any_other_is_taken_whatever_it_is_made_of(text: str) -> None:
    check_strength(text, "ana@x.test")
